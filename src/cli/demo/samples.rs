//! The sample assets, carried inside the program.

use super::super::error::CliError;
use std::path::{Path, PathBuf};

/// The one sample that must fail.
pub(super) const BROKEN: &str = "broken";

macro_rules! samples {
    ($($name:literal,)+) => {
        &[$(($name, include_bytes!(concat!("../../../assets/samples/", $name)).as_slice()),)+]
    };
}

const FILES: &[(&str, &[u8])] = samples![
    "terrace.glb",
    "crate.obj",
    "crate.mtl",
    "wood.png",
    "gear.stl",
    "sunset.exr",
    "broken.glb",
    "rain/rain_0001.png",
    "rain/rain_0002.png",
    "rain/rain_0003.png",
    "rain/rain_0004.png",
    "rain/rain_0005.png",
    "rain/rain_0006.png",
    "rain/rain_0007.png",
    "rain/rain_0008.png",
    "rain/rain_0009.png",
    "rain/rain_0010.png",
    "rain/rain_0011.png",
    "rain/rain_0012.png",
    "rain/rain_0013.png",
    "rain/rain_0014.png",
    "rain/rain_0015.png",
    "rain/rain_0016.png",
    "rain/rain_0017.png",
    "rain/rain_0018.png",
    "rain/rain_0019.png",
    "rain/rain_0020.png",
    "rain/rain_0021.png",
    "rain/rain_0022.png",
    "rain/rain_0023.png",
    "rain/rain_0024.png",
];

/// What is handed in; side files and frames come with these.
const HANDED_IN: [&str; 6] =
    ["terrace.glb", "crate.obj", "gear.stl", "sunset.exr", "rain", "broken.glb"];

/// Writes the samples into `folder` where they are not there yet, and says what to hand in.
pub(super) fn write(folder: &Path) -> Result<Vec<PathBuf>, CliError> {
    for (name, bytes) in FILES {
        let path = folder.join(name);
        if std::fs::read(&path).is_ok_and(|there| there == *bytes) {
            continue;
        }
        let parent = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent).and_then(|()| std::fs::write(&path, bytes)).map_err(
            |error| {
                CliError::failed(&format!(
                    "cannot write a sample: {error}. Name another folder with --farm; this one is {}",
                    path.display()
                ))
            },
        )?;
    }
    Ok(HANDED_IN.iter().map(|name| folder.join(name)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_written_once_and_mended() {
        let folder = tempfile::tempdir().expect("folder");
        let paths = write(folder.path()).expect("written");
        assert!(paths.iter().all(|path| path.exists()));
        let gear = folder.path().join("gear.stl");
        let before = std::fs::read(&gear).expect("read");
        std::fs::write(&gear, b"spoilt").expect("write");
        write(folder.path()).expect("written");
        assert_eq!(std::fs::read(&gear).expect("read"), before);
        let frames = std::fs::read_dir(folder.path().join("rain")).expect("list").count();
        assert_eq!(frames, 24);
    }
}
