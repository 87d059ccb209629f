use super::*;
use image::{DynamicImage, ImageFormat, Rgb, RgbImage};
use proptest::prelude::*;
use std::io::Cursor;

fn judged(suffix: &str, file: &[u8]) -> Ending {
    judge(&mut Bytes::new(&mut Cursor::new(file), file.len() as u64), suffix)
        .expect("memory can be read")
}

/// The file is whole; cut anywhere, or with a beginning of zeros, it is unfinished.
fn whole_and_cut(suffix: &str, file: &[u8]) {
    assert_eq!(judged(suffix, file), Ending::Whole, "{suffix}");
    cuts(suffix, file, |_| false);
}

/// As `whole_and_cut`, where the format says too little to tell each cut.
fn cuts(suffix: &str, file: &[u8], may_be_unknown: impl Fn(usize) -> bool) {
    let size = file.len();
    for cut in [size / 4, size / 2, size * 3 / 4, size - 1] {
        let ending = judged(suffix, &file[..cut]);
        let told = matches!(ending, Ending::Unfinished(_))
            || (ending == Ending::Unknown && may_be_unknown(cut));
        assert!(told, "{suffix} cut at {cut} of {size}: {ending:?}");
    }
    for written in [0, size / 2] {
        let mut zeros = vec![0; size - written];
        zeros.extend_from_slice(&file[size - written..]);
        let said = Ending::unfinished("its beginning is not written yet");
        assert_eq!(judged(suffix, &zeros), said, "{suffix} with its last {written} bytes only");
    }
}

/// Reserved at full length, but only the first half is written yet.
fn half_written(suffix: &str, file: &[u8]) {
    let mut half = file.to_vec();
    half[file.len() / 2..].fill(0);
    let ending = judged(suffix, &half);
    assert!(matches!(ending, Ending::Unfinished(_)), "{suffix}: {ending:?}");
}

fn sample(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/samples").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Noise, so that no compression makes it short.
fn picture(side: u32) -> DynamicImage {
    let mut state = 7_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    DynamicImage::ImageRgb8(RgbImage::from_fn(side, side, |_, _| Rgb([next(), next(), next()])))
}

fn encoded(format: ImageFormat, side: u32) -> Vec<u8> {
    let mut file = Cursor::new(Vec::new());
    picture(side).write_to(&mut file, format).expect("it can be written");
    file.into_inner()
}

#[test]
fn pictures_end_where_their_format_says() {
    for (suffix, format) in [
        ("png", ImageFormat::Png),
        ("jpg", ImageFormat::Jpeg),
        ("gif", ImageFormat::Gif),
        ("webp", ImageFormat::WebP),
        ("bmp", ImageFormat::Bmp),
        ("tif", ImageFormat::Tiff),
    ] {
        for side in [9, 300] {
            whole_and_cut(suffix, &encoded(format, side));
        }
        if !matches!(format, ImageFormat::WebP | ImageFormat::Bmp) {
            half_written(suffix, &encoded(format, 300));
        }
    }
    whole_and_cut("png", &sample("wood.png"));
}

#[test]
fn bytes_behind_the_end_are_allowed_within_reason() {
    for format in [ImageFormat::Png, ImageFormat::Jpeg] {
        let mut file = encoded(format, 30);
        file.extend_from_slice(b"a trailer of some camera");
        assert_eq!(judged("png", &file), Ending::Whole);
        file.extend(vec![0; TAIL_BYTES + 20]);
        assert!(matches!(judged("png", &file), Ending::Unfinished(_)));
    }
    let mut gif = encoded(ImageFormat::Gif, 30);
    gif.extend_from_slice(b"\0\0\r\n");
    assert_eq!(judged("gif", &gif), Ending::Whole);
}

#[test]
fn the_end_of_a_preview_inside_is_not_the_end_of_a_jpeg() {
    let plain = encoded(ImageFormat::Jpeg, 60);
    let mut preview = b"Exif\0\0".to_vec();
    preview.extend_from_slice(&encoded(ImageFormat::Jpeg, 20));
    let mut file = b"\xff\xd8\xff\xe1".to_vec();
    file.extend_from_slice(&(preview.len() as u16 + 2).to_be_bytes());
    file.extend_from_slice(&preview);
    file.extend_from_slice(&plain[2..]);
    whole_and_cut("jpg", &file);
}

#[test]
fn a_jpeg_with_a_film_behind_it_is_not_called_unfinished() {
    let mut file = encoded(ImageFormat::Jpeg, 60);
    file.extend((0..2 * TAIL_BYTES).map(|at| if at % 97 == 0 { 0xff } else { (at % 89) as u8 }));
    assert_eq!(judged("jpg", &file), Ending::Unknown);
}

#[test]
fn a_bmp_is_measured_by_its_pixels_where_its_header_says_nothing() {
    let mut file = encoded(ImageFormat::Bmp, 30);
    file[2..6].fill(0);
    whole_and_cut("bmp", &file);
    file[2..6].fill(0xff);
    assert_eq!(judged("bmp", &file), Ending::Whole);
    // From the top down the height is negative.
    file[22..26].copy_from_slice(&(-30_i32).to_le_bytes());
    whole_and_cut("bmp", &file);
}

#[test]
fn a_tiff_with_its_table_first_or_not_written_is_seen() {
    let file = encoded(ImageFormat::Tiff, 40);
    let mut early = file.clone();
    early[4..8].fill(0);
    assert!(matches!(judged("tif", &early), Ending::Unfinished(why) if why.contains("table")));
    // By hand: the table at 8, one strip of 100 bytes behind it.
    let mut first = b"MM\0\x2a\0\0\0\x08\0\x02".to_vec();
    for (tag, value) in [(273_u16, 38_u32), (279, 100)] {
        first.extend_from_slice(&tag.to_be_bytes());
        first.extend_from_slice(&[0, 4, 0, 0, 0, 1]);
        first.extend_from_slice(&value.to_be_bytes());
    }
    first.extend_from_slice(&[0; 4]);
    first.extend_from_slice(&[9; 100]);
    whole_and_cut("tif", &first);
}

mod exr_files {
    use super::*;
    use ::exr::prelude::*;

    fn written(size: usize, encoding: Encoding, layers: usize) -> Vec<u8> {
        let layer = |index: usize| {
            let channels = SpecificChannels::rgb(move |at: Vec2<usize>| {
                let value = ((at.x() * 31 + at.y() * 17 + index) % 97) as f32 / 97.0;
                (value, value * 0.5, f32::sqrt(value))
            });
            let attributes = LayerAttributes::named(format!("layer {index}").as_str());
            Layer::new(Vec2(size, size), attributes, encoding, channels)
        };
        let mut file = Cursor::new(Vec::new());
        let attributes = ImageAttributes::new(IntegerBounds::from_dimensions((size, size)));
        if layers == 1 {
            Image::from_layer(layer(0)).write().non_parallel().to_buffered(&mut file)
        } else {
            let layers: Vec<_> = (0..layers).map(layer).collect();
            Image::from_layers(attributes, layers).write().non_parallel().to_buffered(&mut file)
        }
        .expect("it can be written");
        file.into_inner()
    }

    fn encoding(compression: Compression, blocks: Blocks) -> Encoding {
        Encoding { compression, blocks, line_order: LineOrder::Increasing }
    }

    #[test]
    fn an_exr_is_whole_when_its_last_block_is() {
        for compression in [
            Compression::Uncompressed,
            Compression::RLE,
            Compression::ZIP1,
            Compression::ZIP16,
            Compression::PIZ,
            Compression::PXR24,
            Compression::B44,
        ] {
            for blocks in [Blocks::ScanLines, Blocks::Tiles(Vec2(16, 16))] {
                let file = written(70, encoding(compression, blocks), 1);
                whole_and_cut("exr", &file);
                half_written("exr", &file);
            }
        }
        whole_and_cut("exr", &sample("sunset.exr"));
    }

    #[test]
    fn an_exr_of_several_parts_is_cut_where_they_are() {
        let file = written(70, encoding(Compression::ZIP16, Blocks::ScanLines), 3);
        assert_eq!(judged("exr", &file), Ending::Whole);
        let size = file.len();
        // Of the last block only its own length tells, and it may be of another kind.
        cuts("exr", &file, |cut| cut == size - 1);
    }

    #[test]
    fn an_exr_whose_table_is_not_filled_is_being_rendered() {
        let mut file = written(70, encoding(Compression::ZIP1, Blocks::ScanLines), 1);
        let table = file.windows(8).position(|at| {
            let first = u64::from_le_bytes(at.try_into().unwrap());
            first > 100 && first < 1_500 && first % 8 != 1 && {
                let at = at.as_ptr() as usize - file.as_ptr() as usize;
                first as usize == at + 8 * 70
            }
        });
        let table = table.expect("the first line lies behind the table");
        file[table + 8 * 40..table + 8 * 70].fill(0);
        assert!(matches!(judged("exr", &file), Ending::Unfinished(why) if why.contains("lines")));
    }
}

#[test]
fn models_end_where_their_format_says() {
    whole_and_cut("glb", &sample("terrace.glb"));
    whole_and_cut("stl", &sample("gear.stl"));
    let json = br#"{"asset":{"version":"2.0"},"nodes":[{"name":"a"},{"name":"b"}]}"#;
    whole_and_cut("gltf", &[json.as_slice(), b"\r\n\n "].concat()[..json.len()]);
    assert_eq!(judged("gltf", &[json.as_slice(), b"\r\n\n "].concat()), Ending::Whole);
    let long = format!("{{\"a\":\"{}\"}}\n", "x".repeat(2 * TAIL_BYTES));
    assert_eq!(judged("gltf", long.as_bytes()), Ending::Whole);
    assert!(matches!(judged("gltf", &long.as_bytes()[..long.len() - 2]), Ending::Unfinished(_)));
    let text = "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid a";
    assert_eq!(judged("stl", text.as_bytes()), Ending::Whole);
    assert!(matches!(judged("stl", &text.as_bytes()[..90]), Ending::Unfinished(_)));
    let mut counted_last = sample("gear.stl");
    counted_last[80..84].fill(0);
    assert!(matches!(judged("stl", &counted_last), Ending::Unfinished(_)));
    let mut reserved = sample("terrace.glb");
    reserved[2_000..].fill(0);
    let json = u32::from_le_bytes(reserved[12..16].try_into().unwrap());
    assert!(json > 1_980, "the first part must be longer for this test");
    assert!(matches!(judged("glb", &reserved), Ending::Unfinished(_)));
}

#[test]
fn texts_say_nothing_but_that_zeros_are_no_text() {
    for (name, suffix) in [("crate.obj", "obj"), ("crate.mtl", "mtl")] {
        let file = sample(name);
        assert_eq!(judged(suffix, &file), Ending::Unknown);
        half_written(suffix, &file);
        cuts(suffix, &file, |_| true);
    }
    assert_eq!(judged("usda", b"#usda 1.0\n"), Ending::Unknown);
    assert_eq!(judged("csv", &[0; 100]), Ending::Unknown);
    assert_eq!(judged("", b"whatever"), Ending::Unknown);
}

#[test]
fn a_ply_has_the_bytes_that_its_header_counts() {
    let points = |count: usize| {
        let header = format!(
            "ply\nformat binary_little_endian 1.0\nelement vertex {count}\nproperty float x\nproperty double y\nproperty uchar r\nend_header\n"
        );
        [header.as_bytes(), &vec![7; 13 * count]].concat()
    };
    whole_and_cut("ply", &points(90));
    let faces = "ply\nformat binary_big_endian 1.0\nelement vertex 90\nproperty float x\nelement face 20\nproperty list uchar int vertex_indices\nend_header\n";
    let faces = [faces.as_bytes(), &[7; 360 + 20 * 13]].concat();
    assert_eq!(judged("ply", &faces), Ending::Unknown);
    cuts("ply", &faces, |cut| cut > 500);
    let text = b"ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nend_header\n1\n";
    assert_eq!(judged("ply", text), Ending::Unknown);
}

#[test]
fn an_archive_ends_with_its_table_of_contents() {
    let stored = b"#usda 1.0\n".repeat(20);
    let name = b"scene.usda";
    let fields = |file: &mut Vec<u8>| {
        file.extend_from_slice(&[0; 8]);
        file.extend_from_slice(&(stored.len() as u32).to_le_bytes());
        file.extend_from_slice(&(stored.len() as u32).to_le_bytes());
        file.extend_from_slice(&(name.len() as u16).to_le_bytes());
    };
    let mut file = b"PK\x03\x04\x14\0\0\0\0\0".to_vec();
    fields(&mut file);
    file.extend_from_slice(&[0, 0]);
    file.extend_from_slice(name);
    file.extend_from_slice(&stored);
    let directory = file.len();
    file.extend_from_slice(b"PK\x01\x02\x14\0\x14\0\0\0\0\0");
    fields(&mut file);
    file.extend_from_slice(&[0; 16]);
    file.extend_from_slice(name);
    let size = file.len() - directory;
    file.extend_from_slice(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    file.extend_from_slice(&(size as u32).to_le_bytes());
    file.extend_from_slice(&(directory as u32).to_le_bytes());
    file.extend_from_slice(&[0, 0]);
    whole_and_cut("usdz", &file);
    half_written("zip", &file);
    let last = file.len() - 2;
    file[last] = 5;
    assert!(matches!(judged("zip", &file), Ending::Unfinished(_)), "its comment is missing");
    file.extend_from_slice(b"hello");
    assert_eq!(judged("zip", &file), Ending::Whole);
}

#[test]
fn an_fbx_ends_with_its_mark_or_with_its_last_node() {
    let mark: [u8; 16] = [
        0xf8, 0x5a, 0x8c, 0x6a, 0xde, 0xf5, 0xd9, 0x7e, 0xec, 0xe9, 0x0c, 0xe3, 0x75, 0x8f, 0x29,
        0x0b,
    ];
    for version in [7_400_u32, 7_700] {
        let wide = if version >= 7_500 { 8 } else { 4 };
        let mut file = b"Kaydara FBX Binary  \0\x1a\0".to_vec();
        file.extend_from_slice(&version.to_le_bytes());
        for _ in 0..5 {
            let end = (file.len() + 100) as u64;
            file.extend_from_slice(&end.to_le_bytes()[..wide]);
            file.resize(end as usize, 3);
        }
        file.extend(vec![0; 3 * wide + 1]);
        let without_footer = file.clone();
        whole_and_cut("fbx", &without_footer);
        file.extend_from_slice(&[1; 16]);
        file.extend_from_slice(&[0; 140]);
        file.extend_from_slice(&mark);
        whole_and_cut("fbx", &file);
        half_written("fbx", &file);
    }
}

#[test]
fn a_blender_file_ends_with_its_last_block() {
    for (head, head_bytes) in
        [(&b"BLENDER_v279"[..], 20), (b"BLENDER-v402", 24), (b"BLENDER17-01v0500", 32)]
    {
        let mut file = head.to_vec();
        file.extend_from_slice(&[5; 400]);
        file.extend_from_slice(b"ENDB");
        file.resize(file.len() + head_bytes - 4, 0);
        whole_and_cut("blend", &file);
        half_written("blend", &file);
    }
    let mut packed = b"\x28\xb5\x2f\xfd".to_vec();
    packed.extend_from_slice(&[5; 400]);
    packed.extend_from_slice(b"\xb1\xea\x92\x8f");
    whole_and_cut("blend", &packed);
    assert_eq!(judged("zst", &packed[..90]), Ending::Unknown);
    assert_eq!(
        judged("blend", &[0x1f, 0x8b, 8, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]),
        Ending::Unknown
    );
}

fn boxed(kind: [u8; 4], content: &[u8]) -> Vec<u8> {
    let size = (content.len() as u32 + 8).to_be_bytes();
    [&size[..], &kind, content].concat()
}

#[test]
fn a_film_has_an_index_and_boxes_that_add_up() {
    let start = boxed(*b"ftyp", b"isomxxxx");
    let pixels = boxed(*b"mdat", &[7; 900]);
    let index = boxed(*b"moov", &[1; 300]);
    whole_and_cut("mp4", &[&start[..], &pixels, &index].concat());
    whole_and_cut("mov", &[&start[..], &index, &pixels].concat());
    whole_and_cut("mov", &[&pixels[..], &index].concat());
    half_written("mp4", &[&start[..], &index, &pixels, &pixels].concat());
    let recording = [&start[..], &pixels].concat();
    assert!(matches!(judged("mp4", &recording), Ending::Unfinished(why) if why.contains("index")));
    let mut large = boxed(*b"mdat", &[7; 900]);
    large.splice(0..4, 1_u32.to_be_bytes());
    large.splice(8..8, 916_u64.to_be_bytes());
    whole_and_cut("mp4", &[&start[..], &index, &large].concat());
    let mut open_end = pixels.clone();
    open_end[..4].fill(0);
    assert_eq!(judged("mp4", &[&start[..], &index, &open_end].concat()), Ending::Whole);
    assert_eq!(judged("txt", &pixels), Ending::Unknown);
}

#[test]
fn a_binary_usd_ends_with_its_list_of_sections() {
    let mut file = b"PXR-USDC\0\x08\0\0\0\0\0\0".to_vec();
    let list_at = 600_u64;
    file.extend_from_slice(&list_at.to_le_bytes());
    file.resize(list_at as usize, 9);
    file.extend_from_slice(&3_u64.to_le_bytes());
    for (start, size) in [(88_u64, 100_u64), (188, 200), (388, 212)] {
        file.extend_from_slice(b"TOKENS\0\0\0\0\0\0\0\0\0\0");
        file.extend_from_slice(&start.to_le_bytes());
        file.extend_from_slice(&size.to_le_bytes());
    }
    whole_and_cut("usdc", &file);
    whole_and_cut("usd", &file);
    half_written("usdc", &file);
    file[16..24].fill(0);
    assert!(matches!(judged("usdc", &file), Ending::Unfinished(_)));
}

#[test]
fn a_texture_ends_behind_its_last_level() {
    let mut file = b"\xabKTX 20\xbb\r\n\x1a\n".to_vec();
    file.resize(80, 0);
    file[40..44].copy_from_slice(&2_u32.to_le_bytes());
    file[48..52].copy_from_slice(&128_u32.to_le_bytes());
    file[52..56].copy_from_slice(&44_u32.to_le_bytes());
    for (at, length) in [(240_u64, 256_u64), (176, 64)] {
        for number in [at, length, length] {
            file.extend_from_slice(&number.to_le_bytes());
        }
    }
    file.resize(496, 8);
    whole_and_cut("ktx2", &file);
    file[80..88].fill(0);
    assert!(matches!(judged("ktx2", &file), Ending::Unfinished(_)));
}

#[test]
fn an_alembic_file_is_whole_once_it_is_closed() {
    let mut file = b"Ogawa\xff\0\x01".to_vec();
    file.extend_from_slice(&[1; 50]);
    assert_eq!(judged("abc", &file), Ending::Whole);
    file[5] = 0;
    assert!(matches!(judged("abc", &file), Ending::Unfinished(_)));
}

#[test]
fn a_tga_has_a_mark_or_nothing() {
    let file = encoded(ImageFormat::Tga, 20);
    assert_eq!(judged("tga", &file), Ending::Unknown);
    let marked = [&file[..], &[0; 8], b"TRUEVISION-XFILE.\0"].concat();
    assert_eq!(judged("tga", &marked), Ending::Whole);
    cuts("tga", &marked, |_| true);
}

#[test]
fn content_decides_and_the_name_only_where_there_is_none() {
    let png = encoded(ImageFormat::Png, 30);
    assert_eq!(judged("exr", &png), Ending::Whole);
    assert!(matches!(judged("txt", &png[..200]), Ending::Unfinished(_)));
    assert_eq!(judged("png", b"no picture, but a text"), Ending::Unknown);
    assert_eq!(judged("png", b"short"), Ending::unfinished("only 5 bytes of it are here"));
}

#[test]
fn a_file_on_the_disk_is_judged_by_the_length_that_was_seen() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let path = folder.path().join("Wood.PNG");
    let file = sample("wood.png");
    std::fs::write(&path, &file).unwrap();
    let size = file.len() as u64;
    assert_eq!(check(&path, size).unwrap(), Ending::Whole);
    let why = Ending::unfinished("its end is missing: a PNG ends with IEND");
    assert_eq!(check(&path, size - 1).unwrap(), why);
    std::fs::write(&path, &file[..99]).unwrap();
    assert!(matches!(check(&path, size).unwrap(), Ending::Unfinished(_)), "it became shorter");
    std::fs::remove_file(&path).unwrap();
    assert_eq!(check(&path, size).unwrap_err().kind(), io::ErrorKind::NotFound);
}

/// Counts what is read.
struct Counted(Cursor<Vec<u8>>, u64, u64);

impl io::Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(buffer)?;
        self.1 += read as u64;
        Ok(read)
    }
}

impl io::Seek for Counted {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        self.2 += 1;
        self.0.seek(to)
    }
}

#[test]
fn little_of_a_large_file_is_read() {
    for (suffix, format) in [
        ("png", ImageFormat::Png),
        ("jpg", ImageFormat::Jpeg),
        ("tif", ImageFormat::Tiff),
        ("bmp", ImageFormat::Bmp),
    ] {
        let file = encoded(format, 1_500);
        let size = file.len() as u64;
        let mut counted = Counted(Cursor::new(file), 0, 0);
        assert_eq!(judge(&mut Bytes::new(&mut counted, size), suffix).unwrap(), Ending::Whole);
        assert!(counted.1 < 128 << 10 && counted.2 < 40, "{suffix}: {} bytes", counted.1);
    }
}

const MAGIC: [&[u8]; 20] = [
    b"glTF\x02\0\0\0",
    b"\x89PNG\r\n\x1a\n",
    b"\xff\xd8\xff\xe0",
    b"GIF89a",
    b"RIFF\x10\0\0\0WEBP",
    b"BM\0\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0",
    b"II\x2a\0\x08\0\0\0",
    b"MM\0\x2a\0\0\0\x08",
    b"II\x2b\0\x08\0\0\0\x10\0\0\0\0\0\0\0",
    b"\x76\x2f\x31\x01\x02\0\0\0channels\0chlist\0\x02\0\0\0",
    b"\x76\x2f\x31\x01\x02\x10\0\0dataWindow\0box2i\0\x10\0\0\0",
    b"PK\x03\x04",
    b"Kaydara FBX Binary  \0\x1a\0\x4c\x1d\0\0",
    b"BLENDER-v402",
    b"\x28\xb5\x2f\xfd",
    b"ply\nformat binary_little_endian 1.0\nelement vertex 9\nproperty float x\nend_header\n",
    b"PXR-USDC\0\x08\0\0\0\0\0\0\x20\0\0\0\0\0\0\0",
    b"\xabKTX 20\xbb\r\n\x1a\n",
    b"\0\0\0\x10ftypisom",
    b"",
];

proptest! {
    #[test]
    fn any_bytes_behind_any_magic_are_survived(
        magic in 0..MAGIC.len(),
        rest in proptest::collection::vec(prop_oneof![Just(0_u8), Just(0xff), any::<u8>()], 0..600),
        suffix in 0..BINARY.len(),
        longer in 0_u64..2_000,
    ) {
        let file = [MAGIC[magic], rest.as_slice()].concat();
        let size = file.len() as u64 + longer.saturating_sub(1_000) * 1_000;
        let mut cursor = Cursor::new(file);
        judge(&mut Bytes::new(&mut cursor, size), BINARY[suffix]).expect("memory can be read");
    }

    #[test]
    fn changed_files_are_survived(at in 0_usize..3_000, value: u8, kind in 0_usize..4) {
        let mut file = match kind {
            0 => sample("sunset.exr"),
            1 => sample("terrace.glb"),
            2 => encoded(ImageFormat::Tiff, 9),
            _ => encoded(ImageFormat::Jpeg, 9),
        };
        let place = at % file.len();
        file[place] = value;
        judged("exr", &file);
    }
}
