//! Writes small `.blend` files for tests: any layout, with a catalogue of its own.

use super::header::{Endian, Layout, PointerSize};
use std::collections::HashMap;

/// A value to be written into a field.
#[derive(Debug, Clone, Copy)]
pub(in crate::stages::formats) enum Value<'a> {
    Int(i64),
    Float(f32),
    Text(&'a str),
    /// An address.
    At(u64),
}
use Value::{At, Float, Int, Text};

type Fields = &'static [(&'static str, &'static str)];

const ID: Fields = &[
    ("void", "*next"),
    ("Library", "*lib"),
    ("char", "name[66]"),
    ("short", "us"),
    ("IDProperty", "*properties"),
];
const RENDER: Fields = &[
    ("int", "sfra"),
    ("int", "efra"),
    ("int", "xsch"),
    ("int", "ysch"),
    ("short", "size"),
    ("short", "frs_sec"),
    ("float", "frs_sec_base"),
    ("int", "frame_step"),
    ("char", "engine[32]"),
];
const PROPERTY: Fields =
    &[("IDProperty", "*next"), ("char", "type"), ("char", "name[64]"), ("IDPropertyData", "data")];
const PROPERTY_DATA: Fields =
    &[("void", "*pointer"), ("ListBase", "group"), ("int", "val"), ("int", "val2")];
const LIBRARY: Fields = &[
    ("ID", "id"),
    ("char", "name[1024]"),
    ("char", "filepath[1024]"),
    ("short", "flag"),
    ("Library", "*archive_parent_library"),
    ("PackedFile", "*packedfile"),
];
const IMAGE: Fields = &[
    ("ID", "id"),
    ("char", "filepath[1024]"),
    ("float", "gen[4][2]"),
    ("void", "(*call)()"),
    ("ListBase", "packedfiles"),
    ("PackedFile", "*packedfile"),
    ("short", "source"),
];
const STRUCTURES: [(&str, Fields); 19] = [
    ("ListBase", &[("void", "*first"), ("void", "*last")]),
    ("ID", ID),
    ("RenderData", RENDER),
    ("SceneEEVEE", &[("int64_t", "spare"), ("int", "taa_render_samples")]),
    ("Scene", &[("ID", "id"), ("Object", "*camera"), ("RenderData", "r"), ("SceneEEVEE", "eevee")]),
    ("Object", &[("ID", "id"), ("short", "type"), ("void", "*data")]),
    ("Library", LIBRARY),
    ("Image", IMAGE),
    ("bSound", &[("ID", "id"), ("char", "name[1024]"), ("PackedFile", "*packedfile")]),
    ("MovieClip", &[("ID", "id"), ("char", "name[1024]"), ("int", "source")]),
    ("VFont", &[("ID", "id"), ("char", "name[1024]"), ("PackedFile", "*packedfile")]),
    ("Volume", &[("ID", "id"), ("char", "filepath[1024]"), ("char", "is_sequence")]),
    ("IDProperty", PROPERTY),
    ("IDPropertyData", PROPERTY_DATA),
    ("Sequence", &[("int", "type"), ("Strip", "*strip")]),
    ("Strip", &[("StripElem", "*stripdata"), ("char", "dir[768]")]),
    ("StripElem", &[("char", "name[16]"), ("int", "width")]),
    ("bScreen", &[("ID", "id"), ("Scene", "*scene")]),
    ("FileGlobal", &[("short", "minversion"), ("bScreen", "*curscreen"), ("Scene", "*curscene")]),
];

/// A file that is being written.
pub(in crate::stages::formats) struct Writer {
    layout: Layout,
    wide: bool,
    pub(super) bytes: Vec<u8>,
}

impl Writer {
    /// With the header `BLENDER…`, which also says the layout.
    pub(in crate::stages::formats) fn new(header: &str) -> Self {
        let small = header.contains('_');
        let big = header.contains('V');
        let layout = Layout {
            pointer_size: if small { PointerSize::Bits32 } else { PointerSize::Bits64 },
            endian: if big { Endian::Big } else { Endian::Little },
        };
        Self { layout, wide: header.len() == 17, bytes: header.as_bytes().to_vec() }
    }

    fn number(&self, value: i64, bytes: usize) -> Vec<u8> {
        let mut all = value.to_le_bytes()[..bytes].to_vec();
        if self.layout.endian == Endian::Big {
            all.reverse();
        }
        all
    }

    /// One structure; fields that are not named are zero.
    pub(super) fn structure(&self, name: &str, values: &[(&str, Value<'_>)]) -> Vec<u8> {
        let mut values: HashMap<&str, Value<'_>> = values.iter().copied().collect();
        let mut out = Vec::new();
        self.fields(name, "", &mut values, &mut out);
        assert!(values.is_empty(), "{name} has no {:?}", values.keys());
        out
    }

    fn fields(
        &self,
        name: &str,
        prefix: &str,
        values: &mut HashMap<&str, Value<'_>>,
        out: &mut Vec<u8>,
    ) {
        for (kind, written) in fields_of(name).expect("a known structure") {
            let plain = written.trim_start_matches(['(', '*']).split(['[', ')']).next();
            let path = format!("{prefix}{}", plain.expect("a name"));
            let pointer = written.starts_with(['*', '(']);
            if !pointer && fields_of(kind).is_some() {
                self.fields(kind, &format!("{path}."), values, out);
                continue;
            }
            let one = if pointer { self.layout.pointer_size.bytes() } else { size_of(kind) };
            let mut field = match values.remove(path.as_str()) {
                None => Vec::new(),
                Some(Int(value)) => self.number(value, one),
                Some(At(address)) => self.number(address.cast_signed(), one),
                Some(Float(value)) => self.number(i64::from(value.to_bits()), one),
                Some(Text(text)) => text.as_bytes().to_vec(),
            };
            field.resize(one * count_of(written), 0);
            out.extend(field);
        }
    }

    /// A block of one structure.
    pub(in crate::stages::formats) fn add(
        &mut self,
        code: &str,
        structure: &str,
        old: u64,
        values: &[(&str, Value<'_>)],
    ) {
        let bytes = self.structure(structure, values);
        self.block(code, structure, old, 1, &bytes);
    }

    /// A block of any bytes.
    pub(super) fn block(&mut self, code: &str, structure: &str, old: u64, n: i64, bytes: &[u8]) {
        let index = STRUCTURES.iter().position(|(name, _)| *name == structure).unwrap_or(0);
        self.head(code, whole(bytes.len()), whole(index), old, n);
        self.bytes.extend(bytes);
    }

    /// The head of a block alone.
    pub(super) fn head(&mut self, code: &str, length: i64, index: i64, old: u64, count: i64) {
        let mut head = code.as_bytes().to_vec();
        head.resize(4, 0);
        if code.len() == 2 && self.layout.endian == Endian::Big {
            head.rotate_right(2);
        }
        let pointer = self.number(old.cast_signed(), self.layout.pointer_size.bytes());
        let (length, index, count) = if self.wide {
            (self.number(length, 8), self.number(index, 4), self.number(count, 8))
        } else {
            (self.number(length, 4), self.number(index, 4), self.number(count, 4))
        };
        let parts = if self.wide {
            [index, pointer, length, count]
        } else {
            [length, pointer, index, count]
        };
        head.extend(parts.concat());
        self.bytes.extend(head);
    }

    /// The catalogue.
    pub(super) fn dna(&mut self) {
        let names: Vec<&str> =
            STRUCTURES.iter().flat_map(|(_, fields)| fields.iter().map(|field| field.1)).collect();
        let mut types: Vec<&str> = STRUCTURES.iter().map(|(name, _)| *name).collect();
        for (kind, _) in STRUCTURES.iter().flat_map(|(_, fields)| fields.iter()) {
            if !types.contains(kind) {
                types.push(kind);
            }
        }
        let at = |list: &[&str], one: &str| list.iter().position(|other| *other == one);
        let short = |value: usize| self.number(whole(value), 2);
        let mut out = b"SDNA".to_vec();
        for (mark, texts) in [("NAME", &names), ("TYPE", &types)] {
            out.extend(mark.as_bytes());
            out.extend(self.number(whole(texts.len()), 4));
            out.extend(texts.iter().flat_map(|text| format!("{text}\0").into_bytes()));
            out.resize(out.len().next_multiple_of(4), 0);
        }
        out.extend(b"TLEN");
        for kind in &types {
            let known = fields_of(kind).is_some();
            let bytes = if known { self.structure(kind, &[]).len() } else { size_of(kind) };
            out.extend(short(bytes));
        }
        out.resize(out.len().next_multiple_of(4), 0);
        out.extend(b"STRC");
        out.extend(self.number(whole(STRUCTURES.len()), 4));
        for (name, fields) in STRUCTURES {
            out.extend(short(at(&types, name).expect("listed")));
            out.extend(short(fields.len()));
            for (kind, name) in fields {
                out.extend(short(at(&types, kind).expect("listed")));
                out.extend(short(at(&names, name).expect("listed")));
            }
        }
        self.block("DNA1", "", 0, 1, &out);
    }

    /// The catalogue, the end, and all bytes.
    pub(in crate::stages::formats) fn finish(mut self) -> Vec<u8> {
        self.dna();
        self.head("ENDB", 0, 0, 0, 0);
        self.bytes
    }
}

fn whole(count: usize) -> i64 {
    i64::try_from(count).expect("small")
}

fn fields_of(name: &str) -> Option<Fields> {
    STRUCTURES.iter().find(|(own, _)| *own == name).map(|(_, fields)| *fields)
}

fn size_of(kind: &str) -> usize {
    match kind {
        "char" => 1,
        "short" => 2,
        "int" | "float" => 4,
        "int64_t" => 8,
        _ => 0,
    }
}

fn count_of(written: &str) -> usize {
    let dimension = |part: &str| part.trim_end_matches(']').parse::<usize>().expect("a number");
    written.split('[').skip(1).map(dimension).product()
}

/// A scene with two cameras, a linked library, pictures of all kinds and a video strip.
pub(in crate::stages::formats) fn film(header: &str) -> Vec<u8> {
    let mut file = Writer::new(header);
    file.block("REND", "", 1, 1, &[0; 72]);
    file.block("TEST", "", 2, 1, &[9; 72]);
    let global = [("minversion", Int(245)), ("curscene", At(0x20)), ("curscreen", At(0x90))];
    file.add("GLOB", "FileGlobal", 3, &global);
    file.add("SC", "Scene", 0x10, &[("id.name", Text("SCOther")), ("camera", At(0x81))]);
    add_shot(&mut file);
    file.add("OB", "Object", 0x30, &[("id.name", Text("OBCam B")), ("type", Int(11))]);
    file.add("OB", "Object", 0x31, &[("id.name", Text("OBCube")), ("type", Int(1))]);
    file.add("OB", "Object", 0x32, &[("id.name", Text("OBCam A")), ("type", Int(11))]);
    add_files(&mut file);
    let library = [("name", Text("//lib.blend")), ("filepath", Text("/home/anna/lib.blend"))];
    file.add("LI", "Library", 0x80, &library);
    file.add("ID", "ID", 0x81, &[("name", Text("OBLibCam")), ("lib", At(0x80))]);
    file.finish()
}

fn add_shot(file: &mut Writer) {
    let shot = [
        ("id.name", Text("SCShot ü")),
        ("id.properties", At(0x60)),
        ("camera", At(0x30)),
        ("r.sfra", Int(-5)),
        ("r.efra", Int(17)),
        ("r.frame_step", Int(3)),
        ("r.frs_sec", Int(24)),
        ("r.frs_sec_base", Float(1.001)),
        ("r.xsch", Int(640)),
        ("r.ysch", Int(360)),
        ("r.size", Int(50)),
        ("r.engine", Text("CYCLES")),
        ("eevee.taa_render_samples", Int(64)),
    ];
    file.add("SC", "Scene", 0x20, &shot);
    let part = |file: &mut Writer, structure: &str, old: u64, values: &[(&str, Value<'_>)]| {
        file.add("DATA", structure, old, values);
    };
    part(file, "IDProperty", 0x60, &[("type", Int(6)), ("data.group.first", At(0x61))]);
    let other = [("name", Text("other")), ("type", Int(6)), ("next", At(0x62))];
    part(file, "IDProperty", 0x61, &other);
    let cycles = [("name", Text("cycles")), ("type", Int(6)), ("data.group.first", At(0x63))];
    part(file, "IDProperty", 0x62, &cycles);
    let samples =
        [("name", Text("samples")), ("type", Int(1)), ("data.val", Int(77)), ("next", At(0x64))];
    part(file, "IDProperty", 0x63, &samples);
    let denoising = [("name", Text("use_denoising")), ("type", Int(10)), ("data.val", Int(0))];
    part(file, "IDProperty", 0x64, &denoising);
    part(file, "Sequence", 0x70, &[("strip", At(0x71))]);
    part(file, "Strip", 0x71, &[("stripdata", At(0x72)), ("dir", Text("//plates/"))]);
    let pictures = ["a.png", "b.png"]
        .map(|name| file.structure("StripElem", &[("name", Text(name))]))
        .concat();
    file.block("DATA", "StripElem", 0x72, 2, &pictures);
    file.block("DATA", "", 0x73, 1, &[7; 5_000]);
}

fn add_files(file: &mut Writer) {
    let images = [
        ("//tex/wood.png", 1, 0),
        ("//tex/wood.png", 1, 0),
        ("//tex/packed.png", 1, 0x55),
        ("//tex/seq.0001.png", 2, 0),
        ("//tex/tile.<UDIM>.exr", 6, 0),
        ("C:\\x\\y.png", 1, 0),
        ("//generated.png", 4, 0),
        ("//viewer.png", 5, 0),
        ("", 1, 0),
    ];
    for (number, (path, source, packed)) in images.into_iter().enumerate() {
        let values =
            [("filepath", Text(path)), ("source", Int(source)), ("packedfiles.first", At(packed))];
        file.add("IM", "Image", 0x40 + number as u64, &values);
    }
    let sound = [("name", Text("//snd.wav")), ("packedfile", At(0x56))];
    file.add("SO", "bSound", 0x50, &sound);
    file.add("MC", "MovieClip", 0x51, &[("name", Text("//clip_001.jpg")), ("source", Int(1))]);
    file.add("VF", "VFont", 0x52, &[("name", Text("<builtin>"))]);
    file.add("VF", "VFont", 0x53, &[("name", Text("//font.ttf"))]);
    let volume = [("filepath", Text("//smoke_0001.vdb")), ("is_sequence", Int(1))];
    file.add("VO", "Volume", 0x54, &volume);
}

/// A scene with nothing but a picture: its width and height, and its pixels.
pub(in crate::stages) fn pictured(header: &str, edges: [u32; 2], pixels: &[u8]) -> Vec<u8> {
    let is_big = header.contains('V');
    let bytes = |edge: u32| if is_big { edge.to_be_bytes() } else { edge.to_le_bytes() };
    let mut block: Vec<u8> = edges.into_iter().flat_map(bytes).collect();
    block.extend(pixels);
    let mut file = Writer::new(header);
    file.block("REND", "", 1, 1, &[0; 72]);
    file.block("TEST", "", 2, 1, &block);
    file.add("GLOB", "FileGlobal", 3, &[]);
    file.finish()
}
