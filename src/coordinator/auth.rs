//! The token that every call carries, kept in the farm's folder for this machine's own clients.

use super::problem::Refusal;
use crate::protocol::problem::ProblemCode;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{ErrorKind, Read, Write as _};
use std::path::{Path, PathBuf};

/// The token's file in the farm's folder.
pub const TOKEN_FILE: &str = "token";
/// Digits of a token: 32 random bytes.
const TOKEN_DIGITS: usize = 64;

/// The token file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// It cannot be read or written.
    #[error("the token file cannot be used: {source}. Check the rights on {path}")]
    File {
        /// Where.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It holds something else.
    #[error(
        "the token file does not hold 64 hexadecimal digits: remove it to get a new token. {path}"
    )]
    Content {
        /// Where.
        path: PathBuf,
    },
    /// The system gave no random bytes.
    #[error("the system gives no random bytes: {0}")]
    Random(getrandom::Error),
}

/// Reads the farm's token; makes one where there is none. Only the owner may read the file.
pub fn load_or_create(farm: &Path) -> Result<String, TokenError> {
    let path = farm.join(TOKEN_FILE);
    let file_error = |source| TokenError::File { path: path.clone(), source };
    match File::open(&path) {
        Ok(file) => {
            keep_private(&file).map_err(file_error)?;
            read(file, &path)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let mut bytes = [0_u8; TOKEN_DIGITS / 2];
            getrandom::fill(&mut bytes).map_err(TokenError::Random)?;
            let mut token = String::with_capacity(TOKEN_DIGITS);
            for byte in bytes {
                // Writing to a string cannot fail.
                let _ = write!(token, "{byte:02x}");
            }
            // Written beside and renamed, so that nobody reads half a token.
            let temporary = farm.join(".token.new");
            write_private(&temporary, &token).map_err(file_error)?;
            std::fs::rename(&temporary, &path).map_err(file_error)?;
            Ok(token)
        }
        Err(error) => Err(file_error(error)),
    }
}

fn read(file: File, path: &Path) -> Result<String, TokenError> {
    let mut text = String::new();
    file.take(1_024)
        .read_to_string(&mut text)
        .map_err(|source| TokenError::File { path: path.to_owned(), source })?;
    let token = text.trim();
    if token.len() == TOKEN_DIGITS && token.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        Ok(token.to_owned())
    } else {
        Err(TokenError::Content { path: path.to_owned() })
    }
}

fn write_private(path: &Path, token: &str) -> std::io::Result<()> {
    if let Err(error) = std::fs::remove_file(path)
        && error.kind() != ErrorKind::NotFound
    {
        return Err(error);
    }
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(token.as_bytes())?;
    file.sync_all()
}

#[cfg(unix)]
fn keep_private(file: &File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    if file.metadata()?.permissions().mode() & 0o077 != 0 {
        tracing::warn!("others could read the token file: its rights are set to the owner alone");
        file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the same signature as on Unix")]
fn keep_private(_file: &File) -> std::io::Result<()> {
    Ok(())
}

/// What is kept of the token to compare with: its hash, so that the time tells nothing.
#[derive(Clone, Copy)]
pub(super) struct TokenHash(blake3::Hash);

impl TokenHash {
    pub(super) fn of(token: &str) -> Self {
        Self(blake3::hash(token.as_bytes()))
    }

    fn admits(self, headers: &HeaderMap) -> bool {
        let given = headers
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .map(|(_, token)| token.trim());
        // Hashes compare in constant time.
        given.is_some_and(|token| blake3::hash(token.as_bytes()) == self.0)
    }
}

/// Lets only calls with the token through, whatever their route.
pub(super) async fn require_token(
    State(token): State<TokenHash>,
    request: Request,
    next: Next,
) -> Result<Response, Refusal> {
    if token.admits(request.headers()) {
        return Ok(next.run(request).await);
    }
    Err(Refusal::new(
        StatusCode::UNAUTHORIZED,
        ProblemCode::Unauthorized,
        "the call has no token, or a wrong one",
        "Pass the content of the file 'token' in the farm's folder: --token, SAWAH_TOKEN, or \
         the header Authorization: Bearer TOKEN.",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_made_once_and_private() {
        let farm = tempfile::tempdir().unwrap();
        let token = load_or_create(farm.path()).unwrap();
        assert_eq!(token.len(), TOKEN_DIGITS);
        assert_eq!(load_or_create(farm.path()).unwrap(), token);
        let other = tempfile::tempdir().unwrap();
        assert_ne!(load_or_create(other.path()).unwrap(), token);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let path = farm.path().join(TOKEN_FILE);
            let mode = || std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(), 0o600);
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
            load_or_create(farm.path()).unwrap();
            assert_eq!(mode(), 0o600);
        }
    }

    #[test]
    fn a_file_that_is_no_token_is_refused_not_replaced() {
        let farm = tempfile::tempdir().unwrap();
        std::fs::write(farm.path().join(TOKEN_FILE), "secret").unwrap();
        assert!(matches!(load_or_create(farm.path()), Err(TokenError::Content { .. })));
        assert_eq!(std::fs::read(farm.path().join(TOKEN_FILE)).unwrap(), b"secret");
    }

    #[test]
    fn only_the_whole_token_admits() {
        let token = TokenHash::of("00ff");
        let admits = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, value.parse().unwrap());
            token.admits(&headers)
        };
        assert!(admits("Bearer 00ff") && admits("bearer 00ff"));
        for bad in ["00ff", "Basic 00ff", "Bearer", "Bearer 00f", "Bearer 00ff0", "Bearer 00FF"] {
            assert!(!admits(bad), "{bad}");
        }
        assert!(!token.admits(&HeaderMap::new()));
    }
}
