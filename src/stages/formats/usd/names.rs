//! The files that a USD names, found without composing it, since this runs where an asset is handed
//! in. Layers that are found are searched in turn.

use super::{crate_file, is_layer, text};
use crate::stages::formats::references::{Lookup, SideRoot};
use crate::stages::formats::{Format, bounds};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// What the layers of the scene at `main` name: each path as written, with where it is.
pub(in crate::stages::formats) fn scan(
    main: &Path,
    root: &SideRoot,
) -> io::Result<Vec<(String, Lookup)>> {
    let mut found = Vec::new();
    let mut known = BTreeSet::new();
    let mut waiting = vec![(read(main)?, root.clone())];
    while let Some((bytes, beside)) = waiting.pop() {
        for written in written(&bytes) {
            let lookup = beside.find(&written);
            if let Lookup::File { name, path } = &lookup
                && known.insert(name.clone())
                && is_layer(name)
            {
                waiting.push((read(path)?, beside.beside(name)));
            }
            found.push((written, lookup));
            if found.len() >= bounds::REFERENCES {
                return Ok(found);
            }
        }
    }
    Ok(found)
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(bounds::MESH_FILE_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A path may lead into an archive: `box.usdz[top.usda]`. Paths of pictures for many tiles name no
/// single file.
fn written(bytes: &[u8]) -> Vec<String> {
    let names = if bytes.starts_with(crate_file::MAGIC) {
        let names = crate_file::tokens(bytes).into_iter();
        names.filter(|name| is_file_name(name)).collect()
    } else if bytes.starts_with(text::MAGIC) {
        text::paths(bytes)
    } else {
        Vec::new()
    };
    let outer =
        |name: String| name.split_once('[').map_or(name.clone(), |(file, _)| file.to_owned());
    let names = names.into_iter().map(outer);
    names.filter(|name| !name.trim().is_empty() && !name.contains("<UDIM>")).collect()
}

/// In a binary file nothing tells a path from other words but how it ends.
fn is_file_name(token: &str) -> bool {
    let Some((stem, suffix)) = token.rsplit_once('.') else { return false };
    let is_known = Format::by_suffix(suffix).is_some() || suffix.eq_ignore_ascii_case("usdz");
    is_known && !stem.is_empty() && !token.contains(['\n', '<', '>', '"'])
}
