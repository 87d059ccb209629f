//! Looks for a profile's program in the path and asks it for its version.

use crate::renderers::profile::{Probe, ProgramRules};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// How long a program may take to say its version; large ones load for a while.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Bytes read of what it says.
const SAID_BYTES: u64 = 64 << 10;

/// What is known of a program on this machine.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum State {
    /// Each job names its own.
    GivenByJob,
    /// None of its names is in the path.
    Missing,
    /// There; the version only where it was asked for and understood.
    Found {
        /// Where.
        path: PathBuf,
        /// Its version.
        version: Option<String>,
    },
    /// There, but it says nothing in time or cannot be run.
    Broken {
        /// Where.
        path: PathBuf,
        /// Why.
        why: String,
    },
}

impl State {
    /// Its version, where it said one.
    pub fn version(&self) -> Option<&str> {
        match self {
            Self::Found { version, .. } => version.as_deref(),
            _ => None,
        }
    }

    /// For people.
    pub fn words(&self) -> String {
        match self {
            Self::GivenByJob => "each job names its program".to_owned(),
            Self::Missing => "not in the path".to_owned(),
            Self::Found { path, .. } => path.display().to_string(),
            Self::Broken { path, why } => format!("{}: {why}", path.display()),
        }
    }
}

/// Looks for the program in the path and asks it.
pub async fn look(rules: &ProgramRules) -> State {
    if rules.names.is_empty() {
        return State::GivenByJob;
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&folders).collect();
    match rules.names.iter().find_map(|name| find(name, &folders)) {
        Some(path) => ask(path, rules.probe.as_ref()).await,
        None => State::Missing,
    }
}

fn find(name: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    folders.iter().map(|folder| folder.join(&file)).find(|path| path.is_file())
}

async fn ask(path: PathBuf, probe: Option<&Probe>) -> State {
    let Some(probe) = probe else { return State::Found { path, version: None } };
    match tokio::time::timeout(TIMEOUT, say(&path, &probe.arguments)).await {
        Ok(Ok(said)) => State::Found { version: probe.read(&said), path },
        Ok(Err(error)) => State::Broken { path, why: format!("does not run ({error})") },
        Err(_) => State::Broken { path, why: "does not answer".to_owned() },
    }
}

/// What the program writes, to either output: some say their version among the errors.
async fn say(path: &Path, arguments: &[String]) -> std::io::Result<String> {
    let mut child = tokio::process::Command::new(path)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let (out, err) = tokio::join!(read(out), read(err));
    Ok(format!("{}\n{}", out?, err?))
}

async fn read(pipe: Option<impl AsyncRead + Unpin>) -> std::io::Result<String> {
    let mut said = Vec::new();
    if let Some(pipe) = pipe {
        pipe.take(SAID_BYTES).read_to_end(&mut said).await?;
    }
    Ok(String::from_utf8_lossy(&said).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::renderers::pattern::Pattern;

    fn rules(name: &str, arguments: &[&str]) -> ProgramRules {
        let probe = Probe {
            arguments: arguments.iter().map(|&one| one.to_owned()).collect(),
            version: Pattern::new(r"^Own (?<version>\d+\.\d+)").unwrap(),
        };
        ProgramRules { names: vec!["sawah-none".to_owned(), name.to_owned()], probe: Some(probe) }
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_program_is_found_and_says_its_version_on_either_output() {
        let state = look(&rules("sh", &["-c", "echo; echo 'Own 4.2 x' >&2"])).await;
        assert_eq!(state.version(), Some("4.2"), "{state:?}");
        let state = look(&rules("sh", &["-c", "echo other"])).await;
        assert!(matches!(state, State::Found { version: None, .. }), "{state:?}");
    }

    #[tokio::test]
    async fn what_is_not_there_is_said_and_a_job_may_name_its_own() {
        let mut none = rules("sawah-none-either", &[]);
        assert_eq!(look(&none).await, State::Missing);
        none.names.clear();
        assert_eq!(look(&none).await, State::GivenByJob);
    }
}
