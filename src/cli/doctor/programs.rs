//! Programs that stages call.

use super::Check;
use std::io::ErrorKind;
use std::process::Stdio;
use std::time::Duration;

/// How long a program may take to say its version.
const TIMEOUT: Duration = Duration::from_secs(10);
/// A version that is longer is no version.
const VERSION_CHARS: usize = 60;

const PROGRAMS: [(&str, &str); 2] = [
    ("ffmpeg", "films of sequences and turntables are left out"),
    ("ffprobe", "films are not checked frame by frame"),
];

pub(super) async fn check() -> Vec<Check> {
    let mut checks = Vec::new();
    for (program, lack) in PROGRAMS {
        checks.push(check_one(program, lack).await);
    }
    checks
}

async fn check_one(program: &str, lack: &str) -> Check {
    let mut command = tokio::process::Command::new(program);
    command.arg("-version").stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let check = |found: &str| Check::ok("programs", program, found);
    match tokio::time::timeout(TIMEOUT, command.output()).await {
        Ok(Ok(output)) if output.status.success() => {
            check(&version(&String::from_utf8_lossy(&output.stdout)))
        }
        Ok(Ok(output)) => check(&format!("does not run ({})", output.status))
            .warn(format!("{lack}; install it again: {}", install_command())),
        Ok(Err(error)) if error.kind() == ErrorKind::NotFound => {
            check("not installed").warn(format!("{lack}; install it: {}", install_command()))
        }
        Ok(Err(error)) => {
            check(&format!("does not run ({error})")).warn(format!("{lack}; check its rights"))
        }
        Err(_) => check("does not answer").warn(format!("{lack}; run it by hand to see why")),
    }
}

/// `ffmpeg version 5.1.9-0+deb12u1 Copyright …` → `5.1.9-0+deb12u1`.
fn version(text: &str) -> String {
    let first = text.lines().next().unwrap_or_default();
    let word = first.split_whitespace().skip_while(|word| *word != "version").nth(1);
    word.unwrap_or(first).chars().take(VERSION_CHARS).collect()
}

fn install_command() -> &'static str {
    if cfg!(target_os = "macos") {
        "brew install ffmpeg"
    } else if cfg!(target_os = "windows") {
        "winget install ffmpeg"
    } else {
        "apt install ffmpeg"
    }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;

    #[test]
    fn versions_are_read() {
        assert_eq!(version("ffmpeg version 5.1.9-0+deb12u1 Copyright (c) 2000"), "5.1.9-0+deb12u1");
        assert_eq!(version("something else\nmore"), "something else");
        assert_eq!(version(""), "");
    }

    #[tokio::test]
    async fn an_absent_program_says_how_to_install_it() {
        let check = check_one("sawah-no-such-program", "nothing works").await;
        assert_eq!((check.verdict, check.found.as_str()), (Verdict::Warn, "not installed"));
        assert!(check.advice.contains(install_command()));
    }
}
