//! Names of logical effects: the same work has the same key, so it is done once.

use crate::model::{AssetName, Checksum, Chunk, PipelineId, Stage};
use crate::protocol::submit::SourceFile;
use std::collections::BTreeMap;

/// The checksum of a file set: of every name, size and content, whatever their order.
pub fn file_set_checksum(main_file: &str, files: &[SourceFile]) -> Checksum {
    let mut sorted: Vec<&SourceFile> = files.iter().collect();
    sorted.sort_by(|a, b| a.name.cmp(&b.name));
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"sawah file set 1\n");
    for text in std::iter::once(main_file).chain(sorted.iter().map(|file| file.name.as_str())) {
        hasher.update(&u64::try_from(text.len()).unwrap_or(u64::MAX).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    for file in sorted {
        hasher.update(&file.size_bytes.to_le_bytes());
        hasher.update(file.checksum.as_bytes());
    }
    Checksum::from_bytes(*hasher.finalize().as_bytes())
}

/// The key of a job's effect, stable over attempts and pipelines:
/// `render:dragon:v7:preview-1a2b3c4d:still:blake3:…`.
pub fn idempotency_key(
    stage: Stage,
    asset: &AssetName,
    asset_version: u32,
    profile: &str,
    chunk: Chunk,
    source: Checksum,
) -> String {
    format!("{stage}:{asset}:v{asset_version}:{profile}:{chunk}:blake3:{source}")
}

/// The key of an effect with changed settings: another result has another name.
pub fn edited_key(key: String, settings: &BTreeMap<String, String>) -> String {
    if settings.is_empty() {
        return key;
    }
    let mut hasher = blake3::Hasher::new();
    for text in settings.iter().flat_map(|(name, value)| [name, value]) {
        hasher.update(&u64::try_from(text.len()).unwrap_or(u64::MAX).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    format!("{key}:edit-{}", Checksum::from_bytes(*hasher.finalize().as_bytes()).short())
}

/// Which of the publishes of an asset version an export is. Earlier ones count for ever, also those
/// of pipelines that were cancelled after their pointers moved: their folders are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportTurn {
    /// The first of the version.
    First,
    /// The first of its recipe and settings, but not of the version.
    FirstOfProfile,
    /// An earlier pipeline published the same version by the same recipe and settings.
    Again(PipelineId),
}

/// The folder of an export among those of its asset, so that no publish replaces the files of
/// another: `v0007` for the first of a version, `v0007-quick-1a2b3c4d` for another recipe or other
/// settings, `v0007-quick-1a2b3c4d-p12` for pipeline 12 that does the same once more.
pub fn export_folder(asset_version: u32, profile: &str, turn: ExportTurn) -> String {
    match turn {
        ExportTurn::First => format!("v{asset_version:04}"),
        ExportTurn::FirstOfProfile => format!("v{asset_version:04}-{profile}"),
        ExportTurn::Again(pipeline) => format!("v{asset_version:04}-{profile}-p{pipeline}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, content: &[u8]) -> SourceFile {
        let size_bytes = u64::try_from(content.len()).unwrap();
        SourceFile { name: name.into(), checksum: Checksum::of(content), size_bytes }
    }

    #[test]
    fn folders_of_versions_sort_as_text_and_profiles_keep_apart() {
        let folder = |turn| export_folder(7, "quick-00000000", turn);
        assert_eq!(folder(ExportTurn::First), "v0007");
        assert_eq!(folder(ExportTurn::FirstOfProfile), "v0007-quick-00000000");
        assert_eq!(folder(ExportTurn::Again(PipelineId(12))), "v0007-quick-00000000-p12");
    }

    #[test]
    fn changed_settings_have_a_key_of_their_own() {
        let change = |value: &str| BTreeMap::from([("fps".to_owned(), value.to_owned())]);
        assert_eq!(edited_key("key".into(), &BTreeMap::new()), "key");
        let one = edited_key("key".into(), &change("12"));
        assert!(one.starts_with("key:edit-") && one != edited_key("key".into(), &change("13")));
    }

    #[test]
    fn a_file_set_is_its_names_and_contents_in_any_order() {
        let (a, b) = (file("a.obj", b"1"), file("b.mtl", b"2"));
        let set = file_set_checksum("a.obj", &[a.clone(), b.clone()]);
        assert_eq!(set, file_set_checksum("a.obj", &[b.clone(), a.clone()]));
        assert_ne!(set, file_set_checksum("a.obj", &[a.clone(), file("c.mtl", b"2")]));
        assert_ne!(set, file_set_checksum("a.obj", &[a.clone(), file("b.mtl", b"3")]));
        assert_ne!(set, file_set_checksum("b.mtl", &[a, b]));
    }
}
