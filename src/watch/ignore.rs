//! Names that are never an asset: what browsers, sync tools, editors and systems leave lying.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use std::ffi::OsStr;
use std::path::Path;

/// Most patterns of one folder.
pub const PATTERNS: usize = 1_000;
/// Longest pattern, in bytes: a file name is not longer.
pub const PATTERN_BYTES: usize = 255;

/// The patterns that a new folder starts with, each with who makes such names. A name has the
/// reason of the first that fits, so the special ones stand before the general ones.
pub const DEFAULTS: &[(&str, &str)] = &[
    // Ours.
    ("*.sawah.txt", "a note of Sawah"),
    ("*.done", "a mark that another file is complete"),
    ("_done", "where Sawah moves what is done"),
    ("_results", "where Sawah puts results"),
    // Systems.
    (".DS_Store", "the Finder's view of a folder"),
    ("._*", "attributes that macOS keeps beside a file"),
    (".AppleDouble", "attributes that a Mac server keeps"),
    ("Icon\r", "the Finder's picture of a folder"),
    ("*.sb-????????-??????", "a file that macOS is just saving"),
    ("Temporary Items", "macOS saving over a network"),
    ("Network Trash Folder", "a Mac's bin on a share"),
    ("Thumbs.db", "small pictures of Windows"),
    ("ehthumbs.db", "small pictures of Windows"),
    ("desktop.ini", "the Explorer's view of a folder"),
    ("$RECYCLE.BIN", "the bin of Windows"),
    ("System Volume Information", "a folder of Windows itself"),
    ("lost+found", "what a disk check found"),
    (".nfs*", "a deleted file that somebody has open over NFS"),
    (".fuse_hidden*", "a deleted file that somebody has open"),
    (".smbdelete*", "a deleted file that somebody has open over SMB"),
    ("~snapshot", "old states kept by a file server"),
    ("@eaDir", "small pictures of a Synology"),
    ("@tmp", "work of a Synology"),
    ("#recycle", "the bin of a Synology"),
    ("@Recycle", "the bin of a QNAP"),
    // Downloads.
    ("*.crdownload", "a download of Chrome or Edge that is not finished"),
    ("*.part", "a download of Firefox that is not finished"),
    ("*.partial", "a download or copy that is not finished"),
    ("*.download", "a download of Safari that is not finished"),
    ("*.opdownload", "a download of Opera that is not finished"),
    ("*.dtapart", "a download of DownThemAll that is not finished"),
    ("*.aria2", "what aria2 has still to load"),
    ("*.filepart", "a transfer of WinSCP that is not finished"),
    ("*.aspera-ckpt", "a transfer of Aspera that is not finished"),
    ("*.!ut", "a torrent that is not finished"),
    ("*.!qB", "a torrent that is not finished"),
    // Folders kept the same on several machines.
    (".syncthing.*", "Syncthing receiving a file"),
    ("~syncthing~*", "Syncthing receiving a file"),
    (".stfolder", "Syncthing's mark of a folder"),
    (".stversions", "old files kept by Syncthing"),
    ("*.!sync", "Resilio receiving a file"),
    ("*.bts", "Resilio receiving a file"),
    (".dropbox*", "Dropbox at work"),
    (".tmp.drive*", "Google Drive at work"),
    (".849C9593-*", "OneDrive at work"),
    ("~RF*.TMP", "OneDrive or Windows replacing a file"),
    // Art programs.
    ("*.blend[0-9]*", "Blender's backup of an older save"),
    ("*.blend@", "Blender just saving"),
    ("*.autosave", "a save made by the program itself"),
    ("*.autosave[0-9]*", "a save made by the program itself"),
    ("*.nk~", "Nuke's backup of an older save"),
    ("*_bak[0-9]*.hip*", "Houdini's backup of an older save"),
    ("crash.*.hip*", "what Houdini saved at a crash"),
    ("*.mantra_checkpoint", "Mantra's way to go on with a picture"),
    ("incrementalSave", "Maya's older saves"),
    ("*.swatches", "Maya's small pictures"),
    ("AutoBackup*.max", "a save made by 3ds Max itself"),
    ("MaxBack*", "the backup of 3ds Max"),
    ("*_autosave_[0-9]*.spp", "a save made by Substance Painter itself"),
    ("*.painter_lock", "Substance Painter has the project open"),
    ("Photoshop Temp*", "Photoshop's scratch space"),
    ("~PST*", "Photoshop's scratch space"),
    ("Adobe * Auto-Save", "saves made by Adobe's programs themselves"),
    ("*-autosave.kra", "a save made by Krita itself"),
    // Editors and offices.
    ("~$*", "Microsoft Office has the file open"),
    (".~lock*", "LibreOffice has the file open"),
    ("*.swp", "Vim has the file open"),
    ("*.swo", "Vim has the file open"),
    ("*.swx", "Vim has the file open"),
    ("4913", "Vim trying whether it may write"),
    (".goutputstream-*", "a Linux program just saving"),
    ("#*#", "Emacs saving by itself"),
    ("*~", "an editor's backup of an older save"),
    ("*.bak", "a backup of an older save"),
    ("__pycache__", "Python's own files"),
    ("*.pyc", "Python's own files"),
    // The general ones.
    ("*.lck", "somebody has the file open"),
    ("*.lock", "somebody has the file open"),
    ("*.tmp", "a temporary file"),
    ("*.temp", "a temporary file"),
    (".*", "a hidden file"),
];

/// A pattern that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the pattern '{pattern}' for ignored names cannot be used: {why}")]
pub struct BadPattern {
    /// The pattern as it was written.
    pub pattern: String,
    /// What is wrong with it, and what to do.
    pub why: String,
}

/// The patterns of one folder, ready to match.
///
/// `*` stands for any bytes, `?` for one byte, `[a-z]` for one of a range, `{a,b}` for one of several; `\`
/// takes the next letter as it is. Case is ignored for the letters A to Z only. A pattern is held
/// against one name, never against a path, byte by byte, so that a name that is no UTF-8 has a
/// rule too.
#[derive(Debug, Clone)]
pub struct IgnoreList {
    patterns: Vec<String>,
    set: GlobSet,
}

impl IgnoreList {
    /// Fails with the first pattern that is empty, too long, names a path or cannot be read.
    pub fn new(patterns: &[String]) -> Result<Self, BadPattern> {
        let bad = |pattern: &str, why: String| {
            let pattern = pattern.chars().take(PATTERN_BYTES).collect();
            BadPattern { pattern, why }
        };
        if let Some(extra) = patterns.get(PATTERNS) {
            return Err(bad(extra, format!("there may be {PATTERNS} at most. Remove some")));
        }
        let mut builder = GlobSetBuilder::new();
        for pattern in patterns {
            if pattern.is_empty() {
                return Err(bad(pattern, "it is empty. Remove it".to_owned()));
            }
            if pattern.len() > PATTERN_BYTES {
                let why = format!("it is longer than {PATTERN_BYTES} bytes. Shorten it");
                return Err(bad(pattern, why));
            }
            if pattern.contains('/') {
                let why = "it has a '/', but is held against one name, not a path. Write the name of the file or folder";
                return Err(bad(pattern, why.to_owned()));
            }
            let glob = GlobBuilder::new(pattern)
                .case_insensitive(true)
                .backslash_escape(true)
                .build()
                .map_err(|error| bad(pattern, format!("{}. Mend or remove it", error.kind())))?;
            builder.add(glob);
        }
        let last = patterns.last().map_or("", String::as_str);
        let set = builder.build().map_err(|error| bad(last, error.kind().to_string()))?;
        Ok(Self { patterns: patterns.to_vec(), set })
    }

    /// The patterns of [`DEFAULTS`], for people to edit.
    pub fn default_patterns() -> Vec<String> {
        DEFAULTS.iter().map(|(pattern, _)| (*pattern).to_owned()).collect()
    }

    /// The first rule that `name` falls under. `name` is one part of a path, without `/`.
    pub fn matches(&self, name: &OsStr) -> Option<&str> {
        let first = self.set.matches(Path::new(name)).into_iter().min()?;
        self.patterns.get(first).map(String::as_str)
    }

    /// The patterns in their order.
    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }
}

/// Who makes names like this, for a rule of [`DEFAULTS`]; nothing for a rule that people wrote.
pub fn reason_of(rule: &str) -> Option<&'static str> {
    DEFAULTS.iter().find(|(pattern, _)| *pattern == rule).map(|(_, reason)| *reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn list(patterns: &[&str]) -> Result<IgnoreList, BadPattern> {
        let patterns: Vec<String> = patterns.iter().map(|text| (*text).to_owned()).collect();
        IgnoreList::new(&patterns)
    }

    fn defaults() -> IgnoreList {
        IgnoreList::new(&IgnoreList::default_patterns()).expect("the defaults are right")
    }

    #[test]
    fn temporary_names_are_ignored_by_the_rule_that_says_why() {
        let defaults = defaults();
        for (name, rule) in [
            ("tree.png.sawah.txt", "*.sawah.txt"),
            ("tree.png.done", "*.done"),
            ("_done", "_done"),
            ("_Results", "_results"),
            ("._tree.png", "._*"),
            (".DS_Store", ".DS_Store"),
            ("Icon\r", "Icon\r"),
            ("THUMBS.DB", "Thumbs.db"),
            ("$Recycle.Bin", "$RECYCLE.BIN"),
            ("scene.blend1", "*.blend[0-9]*"),
            ("scene.blend32", "*.blend[0-9]*"),
            ("scene.blend@", "*.blend@"),
            ("movie.mov.crdownload", "*.crdownload"),
            ("tree.exr.part", "*.part"),
            ("tree.1a2b3c4d.partial", "*.partial"),
            ("tree.png.!sync", "*.!sync"),
            ("tree.png.!QB", "*.!qB"),
            (".syncthing.tree.png.tmp", ".syncthing.*"),
            ("~syncthing~tree.png.tmp", "~syncthing~*"),
            ("tree.png.sb-1a2b3c4d-AbCdEf", "*.sb-????????-??????"),
            ("~$list.docx", "~$*"),
            (".~lock.list.odt#", ".~lock*"),
            ("shot.nk.autosave", "*.autosave"),
            ("shot.nk.autosave3", "*.autosave[0-9]*"),
            ("shot_bak12.hiplc", "*_bak[0-9]*.hip*"),
            ("crash.shot.mia_4711.hip", "crash.*.hip*"),
            ("AutoBackup01.max", "AutoBackup*.max"),
            ("tree_autosave_0.spp", "*_autosave_[0-9]*.spp"),
            ("Photoshop Temp65432", "Photoshop Temp*"),
            ("Adobe Premiere Pro Auto-Save", "Adobe * Auto-Save"),
            ("notes.txt~", "*~"),
            ("#notes#", "#*#"),
            ("__pycache__", "__pycache__"),
            (".tree.png.AbC123", ".*"),
            ("tree.TMP", "*.tmp"),
        ] {
            assert_eq!(defaults.matches(OsStr::new(name)), Some(rule), "{name:?}");
        }
    }

    #[test]
    fn assets_are_not_ignored() {
        let defaults = defaults();
        for name in [
            "tree.png",
            "scene.blend",
            "my tree (conflicted copy).png",
            "shot_v012.nk",
            "part.obj",
            "tmp.png",
            "donkey",
            "donE.gif",
            "a~b.exr",
            "frame.0001.exr",
            "shot_back1.hip",
            "40913",
            "ファイル.glb",
            "…png",
        ] {
            assert_eq!(defaults.matches(OsStr::new(name)), None, "{name:?}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn names_that_are_no_utf_8_and_names_of_two_lines_match_too() {
        use std::os::unix::ffi::OsStrExt;
        let defaults = defaults();
        assert_eq!(defaults.matches(OsStr::from_bytes(b"\xff\xfe.tmp")), Some("*.tmp"));
        assert_eq!(defaults.matches(OsStr::from_bytes(b".\xff")), Some(".*"));
        assert_eq!(defaults.matches(OsStr::from_bytes(b"two\nlines.part")), Some("*.part"));
        assert_eq!(defaults.matches(OsStr::from_bytes(b"\xff\xfe.png")), None);
    }

    #[test]
    fn each_default_stands_once_and_has_a_reason() {
        let names: BTreeSet<&str> = DEFAULTS.iter().map(|(pattern, _)| *pattern).collect();
        assert_eq!(names.len(), DEFAULTS.len());
        assert!(DEFAULTS.iter().all(|(_, reason)| !reason.is_empty()));
        assert_eq!(reason_of("*~"), Some("an editor's backup of an older save"));
        assert_eq!(reason_of("mine*"), None);
    }

    #[test]
    fn the_list_is_data() {
        let own = list(&["WIP_*", "*.psd", "[#]*"]).expect("these can be used");
        assert_eq!(own.matches(OsStr::new("wip_tree.png")), Some("WIP_*"));
        assert_eq!(own.matches(OsStr::new("tree.PSD")), Some("*.psd"));
        assert_eq!(own.matches(OsStr::new(".hidden")), None);
        assert_eq!(list(&[]).expect("none is fine").matches(OsStr::new(".x")), None);
    }

    #[test]
    fn a_bad_pattern_is_named() {
        for (pattern, why) in [("", "empty"), ("a/b", "one name"), ("[a", "class"), ("{a", "group")]
        {
            let bad = list(&["*.ok", pattern]).expect_err("it cannot be used");
            assert_eq!(bad.pattern, pattern);
            assert!(bad.to_string().contains(why), "{bad}");
        }
        let long = "a".repeat(PATTERN_BYTES + 1);
        assert!(list(&[long.as_str()]).is_err());
        let many = vec!["a"; PATTERNS + 1];
        assert!(list(&many).is_err());
    }
}
