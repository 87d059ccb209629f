//! Names and paths of this system between two processes of it: text where they are text, the
//! system's own units where they are not, so that none is lost.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ffi::{OsStr, OsString};

/// What a name is made of.
#[cfg(windows)]
type Unit = u16;
#[cfg(not(windows))]
type Unit = u8;

/// One name on its way.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Wire {
    Text(String),
    Units(Vec<Unit>),
}

impl Wire {
    fn of(name: &OsStr) -> Self {
        name.to_str().map_or_else(|| Self::Units(units(name)), |text| Self::Text(text.to_owned()))
    }

    fn name(self) -> OsString {
        match self {
            Self::Text(text) => text.into(),
            Self::Units(units) => of_units(units),
        }
    }
}

#[cfg(unix)]
fn units(name: &OsStr) -> Vec<Unit> {
    std::os::unix::ffi::OsStrExt::as_bytes(name).to_vec()
}

#[cfg(unix)]
fn of_units(units: Vec<Unit>) -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(units)
}

#[cfg(windows)]
fn units(name: &OsStr) -> Vec<Unit> {
    std::os::windows::ffi::OsStrExt::encode_wide(name).collect()
}

#[cfg(windows)]
fn of_units(units: Vec<Unit>) -> OsString {
    std::os::windows::ffi::OsStringExt::from_wide(&units)
}

/// A path.
pub(crate) mod path {
    use super::{Deserialize, Deserializer, Serialize, Serializer, Wire};
    use std::path::{Path, PathBuf};

    pub(crate) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        Wire::of(path.as_os_str()).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        Ok(Wire::deserialize(from)?.name().into())
    }
}

/// One name.
pub(super) mod name {
    use super::{Deserialize, Deserializer, Serialize, Serializer, Wire};
    use std::ffi::{OsStr, OsString};

    pub(in super::super) fn serialize<S: Serializer>(
        name: &OsStr,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        Wire::of(name).serialize(to)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<OsString, D::Error> {
        Ok(Wire::deserialize(from)?.name())
    }
}

/// Several names.
pub(super) mod names {
    use super::{Deserialize, Deserializer, Serializer, Wire};
    use std::ffi::OsString;

    pub(in super::super) fn serialize<S: Serializer>(
        names: &[OsString],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_seq(names.iter().map(|name| Wire::of(name)))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<OsString>, D::Error> {
        Ok(Vec::<Wire>::deserialize(from)?.into_iter().map(Wire::name).collect())
    }
}
