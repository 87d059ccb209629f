//! Finds profiles: the shipped ones first, a user's own beside them.

use super::profile::{Profile, ProfileError};
use crate::model::limits;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

macro_rules! shipped {
    ($($name:literal),+ $(,)?) => {
        &[$((
            concat!($name, ".toml"),
            include_str!(concat!("../../assets/renderers/", $name, ".toml")),
        ),)+]
    };
}

const SHIPPED: &[(&str, &str)] = shipped![
    "aftereffects",
    "arnold-kick",
    "blender",
    "cinema4d",
    "command",
    "ffmpeg",
    "houdini-hython",
    "husk",
    "maya",
    "nuke",
    "povray",
    "redshift",
    "renderman",
    "vray",
];

/// A profile that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// The folder or a file in it cannot be read.
    #[error("a renderer profile cannot be read: {source}. Check the rights on {path}")]
    Read {
        /// Where.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// No profile is that large.
    #[error("a renderer profile is larger than {max} bytes: {path}", max = limits::PROFILE_BYTES)]
    TooLarge {
        /// Where.
        path: PathBuf,
    },
    /// More files than are read.
    #[error("more than {max} renderer profiles lie in {path}: remove some", max = limits::PROFILES)]
    TooMany {
        /// Where.
        path: PathBuf,
    },
    /// Not TOML, a key that no profile has, a pattern or placeholder that is none. The source
    /// names the line.
    #[error("a renderer profile is wrong: {source}\nin {path}")]
    Parse {
        /// Where.
        path: PathBuf,
        /// Why, with line and column.
        source: Box<toml::de::Error>,
    },
    /// It can be read but contradicts itself.
    #[error("a renderer profile is wrong: {source}. In {path}")]
    Profile {
        /// Where.
        path: PathBuf,
        /// Why.
        source: ProfileError,
    },
}

/// All profiles by name.
#[derive(Debug, Clone, Default)]
pub struct Library {
    profiles: BTreeMap<String, Arc<Profile>>,
}

impl Library {
    /// The shipped profiles, then those of `folder` (which may be absent); an own one replaces a
    /// shipped one of its name.
    pub fn load(folder: Option<&Path>) -> Result<Self, LibraryError> {
        let mut profiles = BTreeMap::new();
        for (name, text) in SHIPPED {
            let profile = parse(text, Path::new(name))?;
            profiles.insert(profile.name.clone(), Arc::new(profile));
        }
        for path in folder.map(own_files).transpose()?.unwrap_or_default() {
            let profile = parse(&read(&path)?, &path)?;
            profiles.insert(profile.name.clone(), Arc::new(profile));
        }
        Ok(Self { profiles })
    }

    /// The profile with this name.
    pub fn get(&self, name: &str) -> Option<Arc<Profile>> {
        self.profiles.get(name).map(Arc::clone)
    }

    /// The profile whose scenes have this suffix.
    pub fn of_suffix(&self, suffix: &str) -> Option<Arc<Profile>> {
        let suffix = suffix.to_ascii_lowercase();
        self.profiles.values().find(|profile| profile.suffixes.contains(&suffix)).map(Arc::clone)
    }

    /// All profiles in the order of their names.
    pub fn profiles(&self) -> impl Iterator<Item = &Arc<Profile>> {
        self.profiles.values()
    }

    /// All names in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.profiles.keys().map(String::as_str)
    }
}

/// Reads one profile; the name of its file is its own name.
pub fn parse(text: &str, path: &Path) -> Result<Profile, LibraryError> {
    let profile: Profile = toml::from_str(text).map_err(|source| LibraryError::Parse {
        path: path.to_owned(),
        source: Box::new(source),
    })?;
    let stem = path.file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
    profile
        .check(&stem)
        .map_err(|source| LibraryError::Profile { path: path.to_owned(), source })?;
    Ok(profile)
}

fn read(path: &Path) -> Result<String, LibraryError> {
    let wrong = |source| LibraryError::Read { path: path.to_owned(), source };
    let file = std::fs::File::open(path).map_err(wrong)?;
    let mut text = String::new();
    file.take(limits::PROFILE_BYTES + 1).read_to_string(&mut text).map_err(wrong)?;
    match u64::try_from(text.len()) {
        Ok(length) if length <= limits::PROFILE_BYTES => Ok(text),
        _ => Err(LibraryError::TooLarge { path: path.to_owned() }),
    }
}

fn own_files(folder: &Path) -> Result<Vec<PathBuf>, LibraryError> {
    let wrong = |source| LibraryError::Read { path: folder.to_owned(), source };
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(wrong(error)),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(wrong)?.path();
        if path.extension().is_some_and(|suffix| suffix == "toml") {
            files.push(path);
        }
        if files.len() > limits::PROFILES {
            return Err(LibraryError::TooMany { path: folder.to_owned() });
        }
    }
    files.sort();
    Ok(files)
}
