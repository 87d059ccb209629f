//! Finds a coordinator and its token: named ones, or those of a farm's folder.

use super::error::ClientError;
use super::http::{Client, Token};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// The file in a farm's folder that says where its coordinator listens.
pub const RUNTIME_FILE: &str = "runtime.json";
/// The file in a farm's folder that holds its token.
pub const TOKEN_FILE: &str = "token";
/// Largest of the two files.
const FILE_BYTES: u64 = 64 << 10;

/// Where to look.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// `--coordinator`: wins over the farm's folder.
    pub coordinator: Option<String>,
    /// `--token`: wins over the farm's folder.
    pub token: Option<Token>,
    /// The farm's folder.
    pub farm: PathBuf,
}

/// Why no coordinator was found.
#[derive(Debug, thiserror::Error)]
pub enum DiscoverError {
    /// The folder says that nobody serves it.
    #[error(
        "no coordinator serves this farm: start one with 'sawah serve --farm {farm}', or name another with --coordinator and --token",
        farm = shown(farm)
    )]
    NotServed {
        /// The farm's folder.
        farm: PathBuf,
    },
    /// The folder names a coordinator that does not answer.
    #[error(
        "the coordinator of this farm does not answer at {url} ({why}): it ended without a goodbye. Start it again with 'sawah serve --farm {farm}'",
        farm = shown(farm)
    )]
    Stale {
        /// The farm's folder.
        farm: PathBuf,
        /// Where it should be.
        url: String,
        /// What the connection said.
        why: String,
    },
    /// A coordinator is named, a token is not and the farm's folder has none.
    #[error(
        "no token for {url}: give it with --token or SAWAH_TOKEN; it is in the file 'token' of the coordinator's farm folder"
    )]
    NoToken {
        /// The coordinator.
        url: String,
    },
    /// A file of the folder cannot be used.
    #[error("cannot read what the farm's folder says: {why}. Check the rights on {path}", path = path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// The coordinator refuses, or is none.
    #[error(transparent)]
    Client(#[from] ClientError),
}

fn shown(farm: &Path) -> String {
    let text = farm.display().to_string();
    if text.contains(' ') { format!("\"{text}\"") } else { text }
}

#[derive(Deserialize)]
struct Runtime {
    url: String,
}

/// Finds the coordinator and checks that it answers and knows the token.
pub async fn find(wanted: &Wanted) -> Result<Client, DiscoverError> {
    let client = locate(wanted)?;
    match client.status().await {
        Ok(_) => Ok(client),
        Err(ClientError::Unreachable { url, why }) if wanted.coordinator.is_none() => {
            Err(DiscoverError::Stale { farm: wanted.farm.clone(), url, why })
        }
        Err(error) => Err(error.into()),
    }
}

/// Finds where the coordinator should be, without asking it.
pub fn locate(wanted: &Wanted) -> Result<Client, DiscoverError> {
    let url = match &wanted.coordinator {
        Some(url) => url.clone(),
        None => runtime_url(&wanted.farm)?,
    };
    let token = match &wanted.token {
        Some(token) => token.clone(),
        None => match read(&wanted.farm.join(TOKEN_FILE))? {
            Some(text) => Token::new(&text),
            None => return Err(DiscoverError::NoToken { url }),
        },
    };
    Ok(Client::new(&url, token)?)
}

fn runtime_url(farm: &Path) -> Result<String, DiscoverError> {
    let path = farm.join(RUNTIME_FILE);
    let text = read(&path)?.ok_or_else(|| DiscoverError::NotServed { farm: farm.to_owned() })?;
    serde_json::from_str::<Runtime>(&text)
        .map(|runtime| runtime.url)
        .map_err(|error| DiscoverError::File { path, why: error.to_string() })
}

fn read(path: &Path) -> Result<Option<String>, DiscoverError> {
    use std::io::Read as _;
    let failed = |error: std::io::Error| DiscoverError::File {
        path: path.to_owned(),
        why: error.to_string(),
    };
    let file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let mut text = String::new();
    file.take(FILE_BYTES).read_to_string(&mut text).map_err(failed)?;
    Ok(Some(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(farm: &Path) -> Wanted {
        Wanted { coordinator: None, token: None, farm: farm.to_owned() }
    }

    #[tokio::test]
    async fn a_stale_runtime_file_names_the_command_that_helps() {
        let farm = tempfile::tempdir().expect("temporary folder");
        let error = find(&wanted(farm.path())).await.expect_err("nobody serves").to_string();
        assert!(error.contains("sawah serve --farm"), "{error}");

        // A port that was free a moment ago: nobody answers there.
        let port = std::net::TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .expect("free port")
            .port();
        let runtime = format!("{{\"url\":\"http://127.0.0.1:{port}\",\"pid\":1}}");
        std::fs::write(farm.path().join(RUNTIME_FILE), runtime).expect("runtime file");
        std::fs::write(farm.path().join(TOKEN_FILE), "abc\n").expect("token file");
        let error = find(&wanted(farm.path())).await.expect_err("nobody answers");
        assert!(matches!(error, DiscoverError::Stale { .. }), "{error}");
        assert!(error.to_string().contains("sawah serve --farm"), "{error}");
    }

    #[test]
    fn flags_win_and_a_missing_token_is_named() {
        let farm = tempfile::tempdir().expect("temporary folder");
        let named = Wanted {
            coordinator: Some("http://farm:1".to_owned()),
            token: Some(Token::new("x")),
            farm: farm.path().to_owned(),
        };
        assert_eq!(locate(&named).expect("named").url(), "http://farm:1");
        let error = locate(&Wanted { token: None, ..named }).expect_err("no token").to_string();
        assert!(error.contains("SAWAH_TOKEN"), "{error}");
    }

    #[test]
    fn a_broken_runtime_file_is_named() {
        let farm = tempfile::tempdir().expect("temporary folder");
        std::fs::write(farm.path().join(RUNTIME_FILE), "{").expect("runtime file");
        let error = locate(&wanted(farm.path())).expect_err("broken").to_string();
        assert!(error.contains(RUNTIME_FILE), "{error}");
    }
}
