//! A profile: all that is known of one program.

use super::command::{CommandRules, EnvironmentRules};
use super::output::OutputCheck;
use super::pattern::Pattern;
use super::progress::Tells;
use super::rules::{ExitRule, LogRules, SuccessRule};
use super::warm::WarmRules;
use crate::model::limits;
use serde::Deserialize;

/// One program: how it is called and how its log is read.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// What users type: `blender`; the name of its file.
    pub name: String,
    /// What people call it.
    pub title: String,
    /// One sentence for people.
    pub description: String,
    /// Suffixes of its scene files, in small letters: `blend`.
    #[serde(default)]
    pub suffixes: Vec<String>,
    /// The program.
    pub program: ProgramRules,
    /// Its command line.
    pub command: CommandRules,
    /// How it is kept running, where it can be.
    #[serde(default)]
    pub warm: Option<WarmRules>,
    /// Its environment.
    #[serde(default)]
    pub environment: EnvironmentRules,
    /// Its log.
    #[serde(default)]
    pub log: LogRules,
    /// Its exit codes; 0 is good.
    #[serde(default)]
    pub exit: Vec<ExitRule>,
    /// Its last words.
    #[serde(default)]
    pub success: Option<SuccessRule>,
    /// The check of its pictures.
    #[serde(default)]
    pub output: OutputCheck,
}

/// How a program is found.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramRules {
    /// Names to look for, the first that is there counts; none where each job names its own.
    pub names: Vec<String>,
    /// How it is asked for its version.
    #[serde(default)]
    pub probe: Option<Probe>,
}

/// How a program is asked for its version.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Finds the version in what it writes: the group `version`.
    pub version: Pattern,
}

/// Why a profile that can be read cannot be used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ProfileError {
    /// Two names for one thing.
    #[error(
        "its name is '{name}', but its file is called '{stem}': give both the same name, of small letters, digits and '-'"
    )]
    Name {
        /// The name in it.
        name: String,
        /// The name of its file.
        stem: String,
    },
    /// Too many patterns to try on every line.
    #[error("it has {count} patterns: at most {max}", max = limits::PATTERNS_PER_PROFILE)]
    TooManyPatterns {
        /// How many.
        count: usize,
    },
    /// A probe that finds nothing.
    #[error("the pattern of its program's version needs the group 'version'")]
    VersionGroup,
    /// Program names are looked up in the path, never run by a shell.
    #[error("'{0}' is no name of a program")]
    ProgramName(String),
    /// 0 means that all is well.
    #[error("the exit code {0} is 0 or stands twice")]
    ExitCode(i32),
    /// Scripts are shipped, not read from the disk.
    #[error("no script to keep a program running is called '{0}'")]
    WarmScript(String),
}

impl Probe {
    /// The version in what the program wrote.
    pub fn read(&self, text: &str) -> Option<String> {
        text.split(['\n', '\r']).find_map(|line| {
            let found = self.version.captures(line)?;
            Some(found.name("version")?.as_str().chars().take(limits::VERSION_CHARS).collect())
        })
    }
}

impl Profile {
    /// Checks what the types cannot; `stem` is the name of its file without suffix.
    pub fn check(&self, stem: &str) -> Result<(), ProfileError> {
        let good =
            |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
        if self.name != stem || stem.is_empty() || !stem.chars().all(good) {
            return Err(ProfileError::Name { name: self.name.clone(), stem: stem.to_owned() });
        }
        let log = &self.log;
        let lists = [
            log.strip.len(),
            log.ignore.len(),
            log.progress.len(),
            log.error.len(),
            log.warning.len(),
        ];
        let count = lists.iter().sum();
        if count > limits::PATTERNS_PER_PROFILE {
            return Err(ProfileError::TooManyPatterns { count });
        }
        let probe = self.program.probe.as_ref();
        if probe.is_some_and(|probe| !probe.version.groups().any(|group| group == "version")) {
            return Err(ProfileError::VersionGroup);
        }
        let wrong = |name: &&String| {
            name.is_empty() || name.chars().any(|letter| letter.is_control() || letter == ' ')
        };
        if let Some(name) = self.program.names.iter().find(wrong) {
            return Err(ProfileError::ProgramName(name.clone()));
        }
        if let Some(warm) = self.warm.as_ref().filter(|warm| warm.text().is_none()) {
            return Err(ProfileError::WarmScript(warm.script.clone()));
        }
        let mut codes: Vec<i32> = vec![0];
        for rule in &self.exit {
            if codes.contains(&rule.code) {
                return Err(ProfileError::ExitCode(rule.code));
            }
            codes.push(rule.code);
        }
        Ok(())
    }

    /// Whether its log tells when a frame is done; where not, the next frame's begin tells.
    pub fn tells_ends(&self) -> bool {
        let ends = [Tells::Finished, Tells::Saved, Tells::Count];
        self.log.progress.iter().any(|rule| ends.contains(&rule.tells))
    }
}
