//! What files are by their content, and how others are refused.

use super::sniff::{Format, sniff, sniff_file, sniff_named};
use crate::model::Reason;

fn stl(triangles: u32, bytes: usize) -> Vec<u8> {
    let mut file = b"solid trap: binary files may begin like text".to_vec();
    file.resize(80, b' ');
    file.extend(triangles.to_le_bytes());
    file.resize(bytes, 7);
    file
}

fn zip(first: &str) -> Vec<u8> {
    let mut file = b"PK\x03\x04".to_vec();
    file.resize(26, 0);
    file.extend((first.len() as u16).to_le_bytes());
    file.extend([0, 0]);
    file.extend(first.as_bytes());
    file
}

fn tga_bytes(footer: bool) -> Vec<u8> {
    let mut file = vec![0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 24, 0];
    file.extend([9; 6]);
    if footer {
        file.extend([0; 8]);
        file.extend(b"TRUEVISION-XFILE.\0");
    }
    file
}

#[test]
fn a_tga_without_its_suffix_is_known_by_its_footer_alone() {
    assert_eq!(sniff(&tga_bytes(false), 24, None), None);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("large");
    let mut file = tga_bytes(true);
    file.splice(18..18, vec![3; 100_000]);
    std::fs::write(&path, file).expect("written");
    assert_eq!(sniff_file(&path), Ok(Format::Tga));
}

#[test]
fn content_decides() {
    let cases: Vec<(&str, Vec<u8>, Format)> = vec![
        ("a.glb", b"glTF\x02\0\0\0".to_vec(), Format::Glb),
        ("a.gltf", b"\xef\xbb\xbf {\"asset\":{}}".to_vec(), Format::Gltf),
        ("a.obj", b"# made by hand\nv 0 0 0\nv 1 0 0\nf 1 2 3\n".to_vec(), Format::Obj),
        ("a.obj", b"mtllib a.mtl\r\n".to_vec(), Format::Obj),
        ("a.stl", stl(2, 184), Format::StlBinary),
        ("a.stl", stl(9, 184), Format::StlBinary),
        ("a.stl", b"solid\tname\nfacet normal 0 0 1\n".to_vec(), Format::StlAscii),
        ("a.ply", b"ply\r\nformat ascii 1.0\r\n".to_vec(), Format::Ply),
        ("a.fbx", b"Kaydara FBX Binary  \0\x1a\0".to_vec(), Format::Fbx),
        ("a.fbx", b"; FBX 7.4.0 project file\n".to_vec(), Format::Fbx),
        ("a.FBX", b"; by hand\nFBXHeaderExtension:  {\n".to_vec(), Format::Fbx),
        ("a.usda", b"#usda 1.0\n".to_vec(), Format::Usda),
        ("a.USD", b"#usda 1.0\n".to_vec(), Format::Usda),
        ("a.usd", b"PXR-USDC\0\x08\0".to_vec(), Format::Usdc),
        ("a.usdz", zip("scene.usdc"), Format::Usdz),
        ("a.PNG", b"\x89PNG\r\n\x1a\nrest".to_vec(), Format::Png),
        ("a.jpeg", vec![0xff, 0xd8, 0xff, 0xe0], Format::Jpeg),
        ("a.tif", b"MM\0\x2a".to_vec(), Format::Tiff),
        ("a.exr", vec![0x76, 0x2f, 0x31, 0x01, 2], Format::Exr),
        ("a.hdr", b"#?RADIANCE\n".to_vec(), Format::Hdr),
        ("no-suffix", b"#?RGBE\n".to_vec(), Format::Hdr),
        ("a.webp", b"RIFF\x20\0\0\0WEBPVP8L".to_vec(), Format::Webp),
        ("a.gif", b"GIF89a\x01\0\x01\0".to_vec(), Format::Gif),
        ("a.bmp", b"BM\0\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0".to_vec(), Format::Bmp),
        ("a.dds", b"DDS \x7c\0\0\0".to_vec(), Format::Dds),
        ("a.tga", tga_bytes(false), Format::Tga),
        ("no-suffix", tga_bytes(true), Format::Tga),
    ];
    for (name, bytes, format) in cases {
        assert_eq!(sniff_named(&bytes, bytes.len() as u64, name), Ok(format), "{name}");
    }
}

#[test]
fn refusals_have_the_right_reason_and_say_what_was_found() {
    let cases: [(&str, &[u8], Reason, &str); 9] = [
        ("a.obj", b"\xfe\xff\0v\0 \0", Reason::InputUnsupported, "UTF-16"),
        ("a.png", b"", Reason::InputEmpty, "0 bytes"),
        ("a.png", &[0xff, 0xd8, 0xff], Reason::InputWrongSuffix, "JPEG"),
        ("a.obj", b"glTF\x02\0\0\0", Reason::InputWrongSuffix, ".glb"),
        ("a.stl", b"ply\nformat", Reason::InputWrongSuffix, "PLY"),
        ("a.png", &[0; 64], Reason::InputCorrupt, "00 00 00"),
        ("a.stl", &[0; 256], Reason::InputCorrupt, "00 00"),
        ("a.psd", b"8BPS\0\x01", Reason::InputUnsupported, "Photoshop"),
        ("a.txt", b"dear diary, v is for victory", Reason::InputUnsupported, "64 65"),
    ];
    for (name, bytes, reason, part) in cases {
        let failure = sniff_named(bytes, bytes.len() as u64, name).expect_err(name);
        assert_eq!(failure.reason, reason, "{name}: {}", failure.message);
        assert!(failure.message.contains(part), "{}", failure.message);
    }
}
