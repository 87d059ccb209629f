//! Damaged files of every format: an answer or a reason, never a panic.

use super::tests::{Quiet, exr, png, rich_scene};
use super::*;
use proptest::prelude::*;

const OBJ: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 1\nvt 0 0\nvn 0 0 1\nusemtl x\nf 1/1/1 2/1/1 3/1/1\nf -1 -2 -3 -4\n";
const PLY: &str = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n";

fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let mut stl = vec![b' '; 80];
    stl.extend(2_u32.to_le_bytes());
    stl.extend((0..100).map(|at| (at * 37 % 256) as u8));
    let glb = glb_writer::glb_bytes(&rich_scene()).expect("written");
    let text = image::DynamicImage::ImageRgb8(image::RgbImage::new(24, 24));
    let encoded = |format| {
        let mut bytes = std::io::Cursor::new(Vec::new());
        text.write_to(&mut bytes, format).expect("encoded");
        bytes.into_inner()
    };
    vec![
        ("a.glb", glb),
        ("a.obj", OBJ.into()),
        ("a.ply", PLY.into()),
        ("a.stl", stl),
        ("a.png", png()),
        ("a.exr", exr()),
        ("a.jpg", encoded(image::ImageFormat::Jpeg)),
        ("a.tif", encoded(image::ImageFormat::Tiff)),
        ("a.blend", blend::testing::film("BLENDER17-01v0500")),
        ("a.fbx", fbx::tests::text("", "", "").into_bytes()),
        ("a.usda", usd::tests::painted("</World/paint.inputs:tint>").into_bytes()),
        ("a.usdc", usd::tests::binary(&usd::tests::painted("</World/paint.inputs:tint>"))),
    ]
}

fn read_any(name: &str, bytes: &[u8]) -> Option<Failure> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).expect("written");
    side_files(&path).expect("the folder is readable");
    if name == "a.blend" {
        return blend::read(&path)
            .err()
            .map(|error| Failure::new(error.reason(), error.to_string()));
    }
    let picture = ["png", "exr", "jpg", "tif"].iter().any(|suffix| name.ends_with(suffix));
    if picture {
        image_facts(&path).err();
        load_image(&path).err()
    } else {
        load_scene(&path, folder.path(), &Quiet).err()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn damaged_files_get_a_reason_and_no_panic(
        which in 0_usize..12,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        cut in prop::option::of(any::<prop::sample::Index>()),
        doubled in any::<bool>(),
    ) {
        let (name, mut bytes) = seeds().swap_remove(which);
        for (place, value) in changes {
            let at = place.index(bytes.len());
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            let size = cut.index(bytes.len() + 1);
            bytes.truncate(size);
        }
        if doubled {
            let copy = bytes.clone();
            bytes.extend(copy);
        }
        if let Some(failure) = read_any(name, &bytes) {
            prop_assert!(
                !failure.message.contains("breaks the program"),
                "a decoder panicked on {name}: {}", failure.message
            );
        }
    }
}
