//! Both renderers on scenes made in code.

use super::samples;
use super::*;

/// Draws the samples into the folder that `SAWAH_GALLERY` names, to be looked at.
#[test]
#[ignore = "for looking at: SAWAH_GALLERY=/tmp/gallery cargo test gallery -- --ignored"]
fn gallery() {
    let Some(folder) = std::env::var_os("SAWAH_GALLERY").map(std::path::PathBuf::from) else {
        return;
    };
    let size = std::env::var("SAWAH_GALLERY_PX").ok().and_then(|px| px.parse().ok()).unwrap_or(768);
    std::fs::create_dir_all(&folder).unwrap();
    for (name, scene) in [("life", samples::still_life()), ("donut", samples::donut())] {
        for on in [DrawOn::Cpu, DrawOn::Best] {
            let mut artist = Artist::open_on(&scene, on).unwrap();
            let view = artist.still_view(size, size);
            let picture = artist.draw(&view).unwrap();
            let path = folder.join(format!("{name}-{on:?}.png"));
            write_png(&picture, &path).unwrap();
            let notes = artist.notes();
            eprintln!("{}: {} {notes:?}", path.display(), artist.name());
        }
    }
}
