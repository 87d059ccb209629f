//! Finds the side files that an asset's main file names, and keeps them inside its folder.

use super::{bounds, corrupt, fbx, gltf, mtl, read_bounded, sniff, usd};
use crate::model::{Reason, limits};
use crate::protocol::submit::{MissingFile, MissingWhy};
use crate::protocol::work::Failure;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// The side files of an asset.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SideFiles {
    /// Name relative to the asset's folder, with `/`, and where the file lies; sorted, each once.
    pub found: Vec<(String, PathBuf)>,
    /// Named, but not there or outside the folder; as the asset writes them.
    pub missing: Vec<MissingFile>,
}

/// The side files that the file at `path` names, looked for in its own folder.
///
/// Names that leave the folder, also through a symbolic link, are [`MissingWhy::Outside`]. Files
/// of other formats, and files that cannot be understood, have none: inspect says what is wrong.
pub fn side_files(path: &Path) -> io::Result<SideFiles> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut root = SideRoot::of(path, folder);
    root.canonical = Some(folder.canonicalize()?);
    scan(path, &root)
}

/// As [`side_files`], for a copied file set below `root`: links are trusted there, since the farm
/// itself placed the files.
pub fn side_files_below(path: &Path, root: &Path) -> io::Result<SideFiles> {
    scan(path, &SideRoot::of(path, root))
}

/// The folder in which side files are looked up.
#[derive(Debug, Clone)]
pub struct SideRoot {
    root: PathBuf,
    /// Folders from the root to the file that names others.
    base: Vec<String>,
    /// Where set, a file that really lies elsewhere is outside.
    canonical: Option<PathBuf>,
}

/// The result of looking up a written name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    /// There.
    File {
        /// Relative to the root, with `/`.
        name: String,
        /// Where it lies.
        path: PathBuf,
    },
    /// Not there.
    NotFound,
    /// Leaves the root.
    Outside,
}

impl SideRoot {
    /// For the names written in `main`, which lies in or below `root`.
    pub fn of(main: &Path, root: &Path) -> Self {
        let folder = main.parent().and_then(|folder| folder.strip_prefix(root).ok());
        let base = folder.into_iter().flat_map(Path::components);
        let base = base.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
        Self { root: root.to_owned(), base, canonical: None }
    }

    /// For the names written in another file of the set, by its name relative to the root.
    #[must_use]
    pub fn beside(&self, name: &str) -> Self {
        let mut base: Vec<String> = name.split('/').map(str::to_owned).collect();
        base.pop();
        Self { base, ..self.clone() }
    }

    /// A file of the folder that names are written in, relative to the root.
    pub(super) fn own(&self, name: &str) -> String {
        self.base.iter().map(String::as_str).chain([name]).collect::<Vec<_>>().join("/")
    }

    /// Looks a written name up: exactly first, then a unique match without regard to case.
    pub fn find(&self, written: &str) -> Lookup {
        let Some(parts) = self.inside(written) else { return Lookup::Outside };
        if parts.is_empty() || written.len() > limits::FILE_NAME_BYTES {
            return Lookup::NotFound;
        }
        let mut path = self.root.clone();
        let mut names = Vec::new();
        for part in parts {
            let Some(real) = entry(&path, &part) else { return Lookup::NotFound };
            path.push(&real);
            names.push(real);
        }
        if !path.is_file() {
            return Lookup::NotFound;
        }
        if let Some(canonical) = &self.canonical
            && !path.canonicalize().is_ok_and(|real| real.starts_with(canonical))
        {
            return Lookup::Outside;
        }
        Lookup::File { name: names.join("/"), path }
    }

    /// The bytes of a side file; `what` names its use: `the texture`.
    pub fn read(&self, written: &str, what: &str) -> Result<Vec<u8>, Failure> {
        match self.find(written) {
            Lookup::File { path, .. } => read_bounded(&path, bounds::MESH_FILE_BYTES),
            Lookup::NotFound => Err(missing(what, written)),
            Lookup::Outside => Err(outside(what, written)),
        }
    }

    /// The path's parts below the root; none where it leaves the root.
    fn inside(&self, written: &str) -> Option<Vec<String>> {
        let written = written.replace('\\', "/");
        let drive =
            matches!(written.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
        if written.starts_with('/') || drive || written.contains("://") {
            return None;
        }
        let mut parts = self.base.clone();
        for part in written.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    parts.pop()?;
                }
                _ if part.contains('\0') => return Some(Vec::new()),
                _ => parts.push(part.to_owned()),
            }
        }
        Some(parts)
    }
}

/// The failure for a side file that is not there.
pub(super) fn missing(what: &str, written: &str) -> Failure {
    Failure::new(
        Reason::ReferenceMissing,
        format!("{what} is missing. Put it beside the asset and submit it again. {written}"),
    )
}

/// The failure for a side file outside the asset's folder.
pub(super) fn outside(what: &str, written: &str) -> Failure {
    Failure::new(
        Reason::ReferenceOutside,
        format!(
            "{what} lies outside the asset's folder. Put it beside the asset and refer to it by a relative path. {written}"
        ),
    )
}

fn entry(folder: &Path, part: &str) -> Option<String> {
    if folder.join(part).symlink_metadata().is_ok() {
        return Some(part.to_owned());
    }
    let wanted = part.to_lowercase();
    let mut fits = std::fs::read_dir(folder)
        .ok()?
        .take(bounds::FOLDER_ENTRIES)
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.to_lowercase() == wanted);
    let only = fits.next()?;
    fits.next().is_none().then_some(only)
}

/// What a scan has come to.
struct Scan<'a> {
    found: BTreeMap<String, PathBuf>,
    missing: BTreeMap<String, MissingWhy>,
    root: &'a SideRoot,
}

impl Scan<'_> {
    fn take(&mut self, written: &str, lookup: Lookup) {
        if self.found.len() + self.missing.len() >= bounds::REFERENCES {
            return;
        }
        match lookup {
            Lookup::File { name, path } => {
                self.found.insert(name, path);
            }
            Lookup::NotFound => {
                self.missing.insert(written.to_owned(), MissingWhy::NotFound);
            }
            Lookup::Outside => {
                self.missing.insert(written.to_owned(), MissingWhy::Outside);
            }
        }
    }
}

fn scan(path: &Path, root: &SideRoot) -> io::Result<SideFiles> {
    let mut head = Vec::new();
    let size = File::open(path)?.metadata()?.len();
    File::open(path)?.take(bounds::SNIFF_BYTES as u64).read_to_end(&mut head)?;
    let suffix = path.extension().map(|suffix| suffix.to_string_lossy().into_owned());
    let named = suffix.as_deref().and_then(sniff::Format::by_suffix);
    let mut scan = Scan { found: BTreeMap::new(), missing: BTreeMap::new(), root };
    match sniff::sniff(&head, size, named) {
        Some(sniff::Format::Obj) => scan_obj(path, &mut scan)?,
        Some(sniff::Format::Glb | sniff::Format::Gltf) => {
            for uri in gltf::uris(path)? {
                scan.take(&uri, root.find(&uri));
            }
        }
        Some(sniff::Format::Fbx) => {
            let mut bytes = Vec::new();
            File::open(path)?.take(bounds::MESH_FILE_BYTES).read_to_end(&mut bytes)?;
            for (written, lookup) in fbx::names::scan(&bytes, &super::file_name(path), root) {
                scan.take(&written, lookup);
            }
        }
        Some(sniff::Format::Usda | sniff::Format::Usdc) => {
            for (written, lookup) in usd::names::scan(path, root)? {
                scan.take(&written, lookup);
            }
        }
        _ => {}
    }
    let missing = scan.missing.into_iter().map(|(name, why)| MissingFile { name, why }).collect();
    Ok(SideFiles { found: scan.found.into_iter().collect(), missing })
}

fn scan_obj(path: &Path, scan: &mut Scan<'_>) -> io::Result<()> {
    let mut file = BufReader::new(File::open(path)?.take(bounds::MESH_FILE_BYTES));
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = file.by_ref().take(bounds::LINE_BYTES as u64).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(());
        }
        let Some(rest) = library_names(&String::from_utf8_lossy(&line)) else { continue };
        for (written, lookup) in find_libraries(scan.root, &rest) {
            if let Lookup::File { name, path } = &lookup {
                scan_mtl(name, path, scan)?;
            }
            scan.take(&written, lookup);
        }
    }
}

/// What follows `mtllib` on a line.
pub(super) fn library_names(line: &str) -> Option<String> {
    let (word, rest) = line.trim().split_once(char::is_whitespace)?;
    word.eq_ignore_ascii_case("mtllib").then(|| rest.trim().trim_matches('"').to_owned())
}

/// `mtllib a b.mtl` may mean one name with a space or two names: one first.
pub(super) fn find_libraries(root: &SideRoot, rest: &str) -> Vec<(String, Lookup)> {
    let whole = root.find(rest);
    let is_file = |lookup: &Lookup| matches!(lookup, Lookup::File { .. });
    if is_file(&whole) {
        return vec![(rest.to_owned(), whole)];
    }
    let each: Vec<(String, Lookup)> =
        rest.split_whitespace().map(|name| (name.to_owned(), root.find(name))).collect();
    if each.iter().any(|(_, lookup)| is_file(lookup)) {
        each
    } else {
        vec![(rest.to_owned(), whole)]
    }
}

/// A texture that a material library names: beside the library first, then beside the asset.
pub(super) fn find_map(root: &SideRoot, library: &str, map: &mtl::Map) -> Lookup {
    let beside = root.beside(library);
    let tries = [(&beside, &map.file), (root, &map.file), (&beside, &map.written)];
    let mut found = tries.into_iter().map(|(root, name)| root.find(name));
    let file = found.find(|lookup| matches!(lookup, Lookup::File { .. }));
    file.unwrap_or_else(|| beside.find(&map.file))
}

fn scan_mtl(name: &str, path: &Path, scan: &mut Scan<'_>) -> io::Result<()> {
    let mut bytes = Vec::new();
    File::open(path)?.take(bounds::MTL_BYTES).read_to_end(&mut bytes)?;
    let Ok(materials) = mtl::parse(&bytes, name) else { return Ok(()) };
    for map in materials.iter().flat_map(|material| &material.maps) {
        scan.take(&map.file, find_map(scan.root, name, map));
    }
    Ok(())
}

/// A URI of a glTF as a path: percent-decoded. None for `data:` URIs, which name no file.
pub(super) fn uri_path(uri: &str) -> Result<Option<String>, Failure> {
    if uri.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:")) {
        return Ok(None);
    }
    percent_encoding::percent_decode_str(uri)
        .decode_utf8()
        .map(|path| Some(path.into_owned()))
        .map_err(|_| corrupt(format!("the URI {uri} is not UTF-8 when decoded")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn names(side: &SideFiles) -> Vec<&str> {
        side.found.iter().map(|(name, _)| name.as_str()).collect()
    }

    fn whys(side: &SideFiles) -> Vec<(&str, MissingWhy)> {
        side.missing.iter().map(|missing| (missing.name.as_str(), missing.why)).collect()
    }

    #[test]
    fn an_obj_names_its_libraries_and_their_textures() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        fs::create_dir_all(root.join("mats/Tex")).expect("folders");
        fs::write(
            root.join("a.obj"),
            "mtllib two words.mtl\nmtllib mats/b.mtl gone.mtl\nv 0 0 0\n",
        )
        .expect("written");
        fs::write(root.join("two words.mtl"), "newmtl x\nmap_Kd -s 1 1 1 WOOD.png\n")
            .expect("written");
        fs::write(
            root.join("mats/b.mtl"),
            "newmtl y\nmap_Kd tex\\a b.png\nbump -bm 2 ../wood.png\nmap_Ke ../../up.png\nnorm C:\\x.png\nmap_d /etc/passwd\nmap_Ks no.png\n",
        )
        .expect("written");
        fs::write(root.join("wood.png"), "x").expect("written");
        fs::write(root.join("mats/Tex/a b.png"), "x").expect("written");
        let side = side_files(&root.join("a.obj")).expect("readable");
        assert_eq!(names(&side), ["mats/Tex/a b.png", "mats/b.mtl", "two words.mtl", "wood.png"]);
        assert_eq!(
            whys(&side),
            [
                ("../../up.png", MissingWhy::Outside),
                ("/etc/passwd", MissingWhy::Outside),
                ("C:\\x.png", MissingWhy::Outside),
                ("gone.mtl", MissingWhy::NotFound),
                ("no.png", MissingWhy::NotFound),
            ]
        );
    }

    #[test]
    fn a_gltf_names_percent_encoded_uris_and_no_data() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        fs::write(
            root.join("a.gltf"),
            r#"{"asset":{"version":"2.0"},"buffers":[{"uri":"my%20mesh.bin"},{"uri":"data:,x"}],
               "images":[{"uri":"../secret.png"},{"uri":"https://x/y.png"},{"uri":"%E2%9D%A4.png"}]}"#,
        )
        .expect("written");
        fs::write(root.join("my mesh.bin"), "x").expect("written");
        let side = side_files(&root.join("a.gltf")).expect("readable");
        assert_eq!(names(&side), ["my mesh.bin"]);
        assert_eq!(
            whys(&side),
            [
                ("../secret.png", MissingWhy::Outside),
                ("https://x/y.png", MissingWhy::Outside),
                ("❤.png", MissingWhy::NotFound),
            ]
        );
    }

    #[cfg(unix)]
    #[test]
    fn links_that_leave_the_folder_are_outside_and_others_are_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let inside = folder.path().join("asset");
        fs::create_dir(&inside).expect("a folder");
        fs::write(folder.path().join("secret.mtl"), "x").expect("written");
        fs::write(inside.join("real.mtl"), "newmtl x\n").expect("written");
        std::os::unix::fs::symlink("../secret.mtl", inside.join("out.mtl")).expect("a link");
        std::os::unix::fs::symlink("real.mtl", inside.join("in.mtl")).expect("a link");
        std::os::unix::fs::symlink("loop.mtl", inside.join("loop.mtl")).expect("a link");
        fs::write(
            inside.join("a.obj"),
            "mtllib out.mtl\nmtllib in.mtl\nmtllib loop.mtl\nv 1 1 1\n",
        )
        .expect("written");
        let side = side_files(&inside.join("a.obj")).expect("readable");
        assert_eq!(names(&side), ["in.mtl"]);
        assert_eq!(
            whys(&side),
            [("loop.mtl", MissingWhy::NotFound), ("out.mtl", MissingWhy::Outside)]
        );
    }

    #[test]
    fn two_names_that_differ_only_in_case_fit_neither() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["Wood.png", "wOOd.png"] {
            fs::write(folder.path().join(name), "x").expect("written");
        }
        let root = SideRoot::of(&folder.path().join("a.obj"), folder.path());
        if fs::read_dir(folder.path()).expect("readable").count() == 2 {
            assert_eq!(root.find("WOOD.PNG"), Lookup::NotFound);
        }
        assert!(matches!(root.find("Wood.png"), Lookup::File { name, .. } if name == "Wood.png"));
    }
}
