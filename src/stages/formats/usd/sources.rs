//! Finds the layers of a USD, inside the asset's folder or inside its archive and nowhere else.

use super::package::Package;
use super::{crate_file, is_layer, text};
use crate::protocol::work::Failure;
use crate::stages::formats::references::{self, Lookup, SideRoot};
use crate::stages::formats::{bounds, read_bounded, too_large, unsupported};
use openusd::ar::{Asset, ResolvedPath, Resolver};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::{self, Cursor};
use std::rc::Rc;

/// Begins every place that the parser is given. What follows is relative to the asset's folder.
const INSIDE: &str = "asset:/";

/// What the parser was refused, or did not get.
#[derive(Debug, Default)]
pub(super) struct Lacking {
    /// Paths that leave the asset's folder, as they are written.
    pub outside: BTreeSet<String>,
    /// Layers that are not there.
    pub missing: BTreeSet<String>,
    /// Archives within the scene.
    pub packages: BTreeSet<String>,
    /// Layers that were opened.
    pub opened: BTreeSet<String>,
    /// Why a layer cannot be read; the first one.
    pub refused: Option<Failure>,
    bytes: u64,
}

/// Where layers and textures come from.
#[derive(Debug, Clone)]
pub(super) struct Sources {
    sides: SideRoot,
    package: Option<Rc<Package>>,
    lacking: Rc<RefCell<Lacking>>,
}

impl Sources {
    /// For a main file beside its side files, or for the archive that holds all.
    pub(super) fn new(sides: &SideRoot, package: Option<Package>) -> Self {
        Self {
            sides: sides.beside(""),
            package: package.map(Rc::new),
            lacking: Rc::new(RefCell::new(Lacking::default())),
        }
    }

    /// The main layer, as the parser is to call it.
    pub(super) fn root(&self, sides: &SideRoot, name: &str) -> String {
        match &self.package {
            Some(package) => format!("{INSIDE}{}", package.root),
            None => format!("{INSIDE}{}", sides.own(name)),
        }
    }

    /// What was refused so far.
    pub(super) fn lacking(&self) -> Lacking {
        self.lacking.take()
    }

    /// The bytes of a texture, by its place or else as it is written.
    pub(super) fn read(&self, place: &str, what: &str) -> Result<Vec<u8>, Failure> {
        let path = place.strip_prefix(INSIDE).unwrap_or(place);
        if let Some(package) = &self.package {
            let bytes = package.get(path).map(<[u8]>::to_vec);
            return bytes.ok_or_else(|| references::missing(what, path));
        }
        match self.sides.find(path) {
            Lookup::File { path, .. } => read_bounded(&path, bounds::IMAGE_FILE_BYTES),
            Lookup::NotFound => Err(references::missing(what, path)),
            Lookup::Outside => Err(references::outside(what, path)),
        }
    }

    fn layer(&self, path: &str) -> Result<Vec<u8>, Failure> {
        let bytes = self.read(path, "a layer of the scene")?;
        let mut lacking = self.lacking.borrow_mut();
        lacking.bytes = lacking.bytes.saturating_add(bytes.len() as u64);
        if lacking.bytes > bounds::USD_LAYER_BYTES {
            return Err(too_large(format!(
                "the layers take more than {} bytes. Flatten or split the scene",
                bounds::USD_LAYER_BYTES
            )));
        }
        lacking.opened.insert(path.to_owned());
        drop(lacking);
        if bytes.starts_with(crate_file::MAGIC) {
            crate_file::check(&bytes, path)?;
        } else if bytes.starts_with(text::MAGIC) {
            text::check(&bytes, path)?;
        } else {
            return Err(unsupported(format!(
                "{path} is called a USD layer, but is none. Export it again"
            )));
        }
        Ok(bytes)
    }
}

/// A path written in a file of the folder `base`; none where it leaves the asset's folder.
fn joined(base: &str, written: &str) -> Option<String> {
    let written = written.replace('\\', "/");
    let drive = matches!(written.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
    if written.starts_with('/') || drive || written.contains("://") {
        return None;
    }
    let mut parts: Vec<&str> = base.split('/').filter(|part| !part.is_empty()).collect();
    for part in written.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

impl Resolver for Sources {
    fn create_identifier(&self, asset_path: &str, anchor: Option<&ResolvedPath>) -> String {
        if asset_path.is_empty() || asset_path.starts_with(INSIDE) {
            return asset_path.to_owned();
        }
        let anchor = anchor.map(|anchor| anchor.to_string_lossy().into_owned());
        let anchor = anchor.as_deref().and_then(|anchor| anchor.strip_prefix(INSIDE));
        let base = anchor.and_then(|anchor| anchor.rsplit_once('/')).map_or("", |(base, _)| base);
        let Some(path) = joined(base, asset_path) else {
            self.lacking.borrow_mut().outside.insert(asset_path.to_owned());
            return String::new();
        };
        format!("{INSIDE}{path}")
    }

    fn resolve(&self, asset_path: &str) -> Option<ResolvedPath> {
        let path = asset_path.strip_prefix(INSIDE)?;
        let mut lacking = self.lacking.borrow_mut();
        if path.to_ascii_lowercase().contains(".usdz") {
            lacking.packages.insert(path.to_owned());
            return None;
        }
        let found = match &self.package {
            Some(package) => package.get(path).map(|_| path.to_owned()),
            None => match self.sides.find(path) {
                Lookup::File { name, .. } => Some(name),
                Lookup::NotFound => None,
                Lookup::Outside => {
                    lacking.outside.insert(path.to_owned());
                    return None;
                }
            },
        };
        if found.is_none() && is_layer(path) {
            lacking.missing.insert(path.to_owned());
        }
        found.map(|name| ResolvedPath::new(format!("{INSIDE}{name}")))
    }

    fn resolve_for_new_asset(&self, _asset_path: &str) -> Option<ResolvedPath> {
        None
    }

    fn open_asset(&self, resolved_path: &ResolvedPath) -> io::Result<Box<dyn Asset>> {
        let place = resolved_path.to_string_lossy();
        let path = place.strip_prefix(INSIDE).unwrap_or(&place);
        match self.layer(path) {
            Ok(bytes) => Ok(Box::new(Cursor::new(bytes))),
            Err(failure) => {
                let message = failure.message.clone();
                self.lacking.borrow_mut().refused.get_or_insert(failure);
                Err(io::Error::new(io::ErrorKind::InvalidData, message))
            }
        }
    }
}
