//! Paths of shared storage, which one machine knows by another name than the next.
//!
//! `P:\proj\shot.blend` of a Windows desk is `/mnt/proj/shot.blend` on a Linux worker whose mappings
//! say that `P:\proj` is `/mnt/proj`. Names of Windows match without regard to case and with either
//! slash, servers (`\\server\share`) included; those of other systems match exactly.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a folder of other machines is called on this one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PathMapping {
    /// As others write it: `P:\proj`, `\\server\share\proj` or `/Volumes/proj`.
    pub from: String,
    /// As it is here.
    pub to: String,
}

/// How a system writes paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Posix,
    Windows,
}

/// An absolute path in parts.
#[derive(Debug, PartialEq, Eq)]
struct Parts<'a> {
    style: Style,
    /// A drive (`p:`) or server and share; empty on other systems.
    root: String,
    below: Vec<&'a str>,
}

impl<'a> Parts<'a> {
    /// None where the path is relative, climbs (`..`), or is no path at all.
    fn of(path: &'a str) -> Option<Self> {
        if path.contains('\0') {
            return None;
        }
        let slashes = ['/', '\\'];
        let bytes = path.as_bytes();
        let (style, root, rest) = if let [drive, b':', b'/' | b'\\', ..] = bytes {
            let drive = char::from(*drive).to_ascii_lowercase();
            (
                Style::Windows,
                drive.is_ascii_alphabetic().then(|| format!("{drive}:"))?,
                path.get(3..)?,
            )
        } else if path.starts_with("\\\\") || path.starts_with("//") {
            let mut words = path.get(2..)?.splitn(3, slashes);
            let (server, share) = (words.next()?, words.next()?);
            if server.is_empty() || share.is_empty() {
                return None;
            }
            let root = format!("//{server}/{share}").to_lowercase();
            (Style::Windows, root, words.next().unwrap_or_default())
        } else if path.starts_with('/') {
            (Style::Posix, String::new(), path)
        } else {
            return None;
        };
        let split = |letter: char| letter == '/' || style == Style::Windows && letter == '\\';
        let parts: Vec<&str> =
            rest.split(split).filter(|part| !part.is_empty() && *part != ".").collect();
        (!parts.contains(&"..")).then_some(Self { style, root, below: parts })
    }

    /// What is left of `self` below `folder`.
    fn below(&self, folder: &Parts<'_>) -> Option<&[&'a str]> {
        let same = |(one, other): (&&str, &&str)| match self.style {
            Style::Posix => one == other,
            Style::Windows => one.to_lowercase() == other.to_lowercase(),
        };
        let fits = self.style == folder.style
            && self.root == folder.root
            && self.below.len() >= folder.below.len()
            && self.below.iter().zip(&folder.below).all(same);
        if fits { self.below.get(folder.below.len()..) } else { None }
    }
}

/// Whether a path is absolute on some system and does not climb.
pub fn is_absolute(path: &str) -> bool {
    Parts::of(path).is_some()
}

/// The folder of a file, as written; none where the path names none.
pub fn folder(path: &str) -> Option<&str> {
    let parts = Parts::of(path)?;
    let slash = |letter: char| letter == '/' || parts.style == Style::Windows && letter == '\\';
    let (folder, name) = path.rsplit_once(slash)?;
    (!name.is_empty()).then_some(if folder.is_empty() { "/" } else { folder })
}

/// What `path` is called on a machine with these mappings and this system (`linux`, `macos`,
/// `windows`). The mapping with the longest `from` counts. Without one the path stays as it is,
/// where that system writes paths so; otherwise it leads nowhere.
pub fn map(path: &str, mappings: &[PathMapping], os: &str) -> Option<String> {
    let parts = Parts::of(path)?;
    let fitting = mappings.iter().filter_map(|mapping| {
        let from = Parts::of(&mapping.from)?;
        let rest = parts.below(&from)?;
        Some((from.below.len(), rest, &mapping.to))
    });
    // Of two equally long ones the first counts.
    let best = fitting.reduce(|best, next| if next.0 > best.0 { next } else { best });
    if let Some((_, rest, to)) = best {
        let is_windows = Parts::of(to).is_some_and(|to| to.style == Style::Windows);
        let (slash, slashes) =
            if is_windows { ("\\", &['/', '\\'][..]) } else { ("/", &['/'][..]) };
        let to = to.trim_end_matches(slashes);
        let mut mapped = to.to_owned();
        for part in rest {
            mapped.push_str(slash);
            mapped.push_str(part);
        }
        return Some(if mapped.is_empty() { "/".to_owned() } else { mapped });
    }
    let style = if os == "windows" { Style::Windows } else { Style::Posix };
    (parts.style == style).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mappings(pairs: &[(&str, &str)]) -> Vec<PathMapping> {
        let one =
            |(from, to): &(&str, &str)| PathMapping { from: (*from).into(), to: (*to).into() };
        pairs.iter().map(one).collect()
    }

    #[test]
    fn the_longest_fitting_mapping_counts() {
        let here = mappings(&[
            ("P:\\", "/mnt/p"),
            ("P:\\proj", "/srv/proj"),
            ("\\\\NAS\\share", "/nas"),
            ("/Volumes/proj", "/srv/proj"),
            ("/", "/all"),
        ]);
        let cases = [
            ("P:\\proj\\a\\b.blend", Some("/srv/proj/a/b.blend")),
            ("p:/PROJ/a.blend", Some("/srv/proj/a.blend")),
            ("P:\\project\\a.blend", Some("/mnt/p/project/a.blend")),
            ("\\\\nas\\Share\\x\\y.exr", Some("/nas/x/y.exr")),
            ("//nas/share/x.exr", Some("/nas/x.exr")),
            ("/Volumes/proj/x", Some("/srv/proj/x")),
            ("/volumes/proj/x", Some("/all/volumes/proj/x")),
            ("Q:\\x.blend", None),
            ("P:\\proj\\..\\x.blend", None),
            ("x.blend", None),
            ("P:x.blend", None),
            ("\\\\nas", None),
            ("/a/../b", None),
        ];
        for (path, mapped) in cases {
            assert_eq!(map(path, &here, "linux").as_deref(), mapped, "{path}");
        }
    }

    #[test]
    fn without_a_mapping_only_the_systems_own_paths_lead_somewhere() {
        for (path, os, leads) in [
            ("/mnt/x.blend", "linux", true),
            ("/mnt/x.blend", "macos", true),
            ("/mnt/x.blend", "windows", false),
            ("C:\\x.blend", "windows", true),
            ("\\\\nas\\share\\x", "windows", true),
            ("C:\\x.blend", "linux", false),
        ] {
            let mapped = map(path, &[], os);
            assert_eq!(mapped.as_deref(), leads.then_some(path), "{path} on {os}");
        }
    }

    #[test]
    fn a_mapping_onto_windows_writes_its_slashes() {
        let here = mappings(&[("/mnt/proj", "P:\\proj\\"), ("/nas", "\\\\nas\\share")]);
        assert_eq!(map("/mnt/proj/a/b", &here, "windows").as_deref(), Some("P:\\proj\\a\\b"));
        assert_eq!(map("/nas/a/b", &here, "windows").as_deref(), Some("\\\\nas\\share\\a\\b"));
        assert_eq!(map("/mnt/project/a", &here, "windows"), None);
    }

    #[test]
    fn a_file_has_its_folder_as_written() {
        for (path, of) in [
            ("/mnt/p/x.blend", Some("/mnt/p")),
            ("/x.blend", Some("/")),
            ("P:\\proj\\x.blend", Some("P:\\proj")),
            ("P:/proj/x.blend", Some("P:/proj")),
            ("/mnt/a\\b.blend", Some("/mnt")),
            ("x.blend", None),
            ("/mnt/", None),
        ] {
            assert_eq!(folder(path), of, "{path}");
        }
    }
}
