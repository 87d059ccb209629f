//! Decodes EXR pixels block by block, behind the check of [`super::exr_header`].
//!
//! Only the part and the layer that are shown are decoded. What was never written, or is damaged,
//! stays clear.

use super::exr_blocks::{self, Blocks};
use super::exr_header::{self, ExrHeader, ExrPart};
use super::exr_layers::{self, ExrLayer, Shown};
use super::{bounds, corrupt, truncated, unsupported};
use crate::model::Reason;
use crate::preview::LinearImage;
use crate::protocol::work::Failure;
use exr::block::UncompressedBlock;
use exr::block::chunk::Chunk;
use exr::error::Error;
use exr::meta::MetaData;
use exr::meta::attribute::SampleType;
use half::f16;
use std::io::Cursor;
use std::panic::AssertUnwindSafe;

/// What to do about an incomplete file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Incomplete {
    /// A frame that is not whole is no frame.
    Refuse,
    /// What is there is shown, and the rest stays clear.
    Show,
}

/// What becomes of values that are no light.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Values {
    /// Not-a-number becomes black and infinity the greatest half: neither may spread when pixels mix.
    Mended,
    /// They stay, for who wants to see them.
    AsStored,
}

/// What of an EXR is decoded, and how.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// The name of a layer (see [`exr_layers::named`]); the picture itself where there is none.
    pub layer: Option<&'a str>,
    /// What to do about an incomplete file.
    pub incomplete: Incomplete,
    /// What becomes of values that are no light.
    pub values: Values,
}

/// A decoded EXR, and what its pixels no longer tell.
#[derive(Debug)]
pub struct ExrPixels {
    /// The display window.
    pub image: LinearImage,
    /// How many channels are shown, alpha among them.
    pub channels: u8,
    /// Values of shown channels by pixels, before they were mended.
    pub counts: LightCounts,
    /// The name of the layer that is shown; empty for channels without one.
    pub layer: String,
    /// The full name of the one channel that is shown as grey.
    pub grey: Option<String>,
    /// Blocks that were decoded.
    pub blocks: u64,
    /// Blocks that a whole file has.
    pub expected: u64,
    /// Why the first damaged block could not be decoded.
    pub damage: Option<String>,
    /// Whether any pixel lies in the display window.
    pub is_in_view: bool,
}

/// Pixels with values that are no light.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct LightCounts {
    /// With a value that is no number.
    pub nan: u64,
    /// With an infinite value.
    pub infinite: u64,
    /// With a value below zero.
    pub negative: u64,
    /// With a value that is no finite number.
    pub not_finite: u64,
}

impl LightCounts {
    /// Counts one pixel and mends it.
    pub(super) fn mend(&mut self, pixel: &mut [f32; 4]) {
        self.take(pixel, Values::Mended);
    }

    /// Counts one pixel, and mends it where that is wanted.
    pub(super) fn take(&mut self, pixel: &mut [f32; 4], values: Values) {
        let nan = pixel.iter().any(|value| value.is_nan());
        let infinite = pixel.iter().any(|value| value.is_infinite());
        self.nan += u64::from(nan);
        self.infinite += u64::from(infinite);
        self.negative += u64::from(pixel.iter().any(|value| *value < 0.0));
        self.not_finite += u64::from(nan || infinite);
        if values == Values::Mended {
            *pixel = pixel.map(bounds::finite);
        }
    }
}

/// Decodes the display window of the picture's layer; wrong values are mended.
pub fn decode(bytes: &[u8], name: &str, incomplete: Incomplete) -> Result<ExrPixels, Failure> {
    decode_as(bytes, name, Wanted { layer: None, incomplete, values: Values::Mended })
}

/// Decodes the display window of one layer.
///
/// Fails with `setting.invalid` where there is no layer of the wanted name: the message lists those
/// that there are.
pub fn decode_as(bytes: &[u8], name: &str, wanted: Wanted<'_>) -> Result<ExrPixels, Failure> {
    let incomplete = wanted.incomplete;
    let header = exr_header::read(bytes, name)?;
    if incomplete == Incomplete::Refuse {
        header.check_blocks(bytes, name)?;
    }
    let nothing = || unsupported(format!("{name} has no channel that can be shown"));
    let layers = exr_layers::layers(&header);
    let layer = &chosen(&header, &layers, wanted.layer, name)?.ok_or_else(nothing)?;
    let part = header.parts.get(layer.part).ok_or_else(nothing)?;
    let blocks = exr_blocks::find(&header, bytes, layer.part);
    if blocks.found.is_empty() {
        return Err(truncated(format!(
            "{name} has none of its {} blocks of pixels: the render was stopped before the first one. Render it again",
            blocks.expected
        )));
    }
    let meta = exr::block::read(Cursor::new(bytes), false)
        .map(exr::block::reader::Reader::into_meta_data)
        .map_err(|error| failure(&error, name))?;
    let mut canvas = Canvas::of(part, layer);
    let damage = fill(&mut canvas, &blocks, &meta, layer, bytes);
    match (damage.first, incomplete) {
        (Some(failure_of_block), Incomplete::Refuse) => Err(failure_of_block.said_of(name)),
        (Some(failure_of_block), _) if damage.decoded == 0 => Err(failure_of_block.said_of(name)),
        (first, _) => {
            let mut pixels = canvas.finished(&header, layer, damage.decoded, wanted.values);
            pixels.expected = blocks.expected;
            pixels.damage = first.map(|error| error.text());
            Ok(pixels)
        }
    }
}

fn chosen(
    header: &ExrHeader,
    layers: &[ExrLayer],
    wanted: Option<&str>,
    name: &str,
) -> Result<Option<ExrLayer>, Failure> {
    let Some(wanted) = wanted else { return Ok(exr_layers::beauty(header, layers).cloned()) };
    let found = exr_layers::named(header, layers, wanted);
    let absent = || {
        let mut titles: Vec<String> =
            layers.iter().map(|layer| exr_layers::title(header, layer)).collect();
        let more = titles.len().saturating_sub(bounds::EXR_LAYERS_NAMED);
        titles.truncate(bounds::EXR_LAYERS_NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let why = format!(
            "{name} has no layer '{wanted}'. Its layers are: {}{more}. Name one channel as LAYER.CHANNEL",
            titles.join(", ")
        );
        Failure::new(Reason::SettingInvalid, why)
    };
    found.ok_or_else(absent).map(Some)
}

/// Why a block could not be decoded.
enum BlockError {
    Told(Error),
    /// The decoder broke.
    Broke,
}

impl BlockError {
    fn said_of(&self, name: &str) -> Failure {
        match self {
            Self::Told(error) => failure(error, name),
            Self::Broke => corrupt(format!(
                "{name} cannot be decoded: a block of pixels is damaged. Render or export it again"
            )),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Told(error) => error.to_string(),
            Self::Broke => "a block of pixels is damaged".to_owned(),
        }
    }
}

#[derive(Default)]
struct Damage {
    decoded: u64,
    first: Option<BlockError>,
}

fn fill(
    canvas: &mut Canvas,
    blocks: &Blocks,
    meta: &MetaData,
    layer: &ExrLayer,
    bytes: &[u8],
) -> Damage {
    let mut damage = Damage::default();
    let Some(header) = meta.headers.get(layer.part) else { return damage };
    let slots: Vec<Slot> = header
        .channels
        .list
        .iter()
        .map(|channel| Slot::of(layer, &channel.name.to_string(), channel.sample_type))
        .collect();
    for offset in blocks.found.values() {
        match block(bytes, *offset, meta, layer.part) {
            Ok(block) => {
                for line in block.lines(&header.channels) {
                    if let Some(slot) = slots.get(line.location.channel) {
                        let at = [line.location.position.x(), line.location.position.y()];
                        canvas.line(at, *slot, line.value);
                    }
                }
                damage.decoded += 1;
            }
            Err(error) => {
                damage.first.get_or_insert(error);
            }
        }
    }
    damage
}

fn block(
    bytes: &[u8],
    offset: usize,
    meta: &MetaData,
    part: usize,
) -> Result<UncompressedBlock, BlockError> {
    let mut source = bytes.get(offset..).unwrap_or_default();
    let decoded = std::panic::catch_unwind(AssertUnwindSafe(|| {
        let chunk = Chunk::read(&mut source, meta)?;
        if chunk.layer_index != part {
            return Err(Error::Invalid("block of another part".into()));
        }
        UncompressedBlock::decompress_chunk(chunk, meta, false)
    }));
    decoded.map_or(Err(BlockError::Broke), |block| block.map_err(BlockError::Told))
}

/// Where the values of a channel go.
#[derive(Debug, Clone, Copy)]
struct Slot {
    /// Red to alpha; three at once for grey.
    targets: [bool; 4],
    sample: SampleType,
}

impl Slot {
    fn of(layer: &ExrLayer, channel: &str, sample: SampleType) -> Self {
        let is_alpha = layer.alpha.as_deref() == Some(channel);
        let [red, green, blue] = match &layer.shown {
            Shown::Colour(names) => {
                [0, 1, 2].map(|at: usize| names.get(at).is_some_and(|name| name == channel))
            }
            Shown::Grey(name) => [name == channel; 3],
        };
        Self { targets: [red, green, blue, is_alpha], sample }
    }
}

impl Slot {
    /// A sample's value; the decoder gives them in the order of this machine.
    fn value(self, sample: &[u8]) -> f32 {
        match (sample, self.sample) {
            (&[a, b], _) => f16::from_ne_bytes([a, b]).to_f32(),
            (&[a, b, c, d], SampleType::U32) => u32::from_ne_bytes([a, b, c, d]) as f32,
            (&[a, b, c, d], _) => f32::from_ne_bytes([a, b, c, d]),
            _ => 0.0,
        }
    }
}

/// Pixels of the display window; what the data window does not cover stays clear.
struct Canvas {
    size: [i64; 2],
    offset: [i64; 2],
    pixels: Vec<[f32; 4]>,
    has_alpha: bool,
    is_in_view: bool,
}

impl Canvas {
    fn of(part: &ExrPart, layer: &ExrLayer) -> Self {
        let size = part.display.size();
        let [data, display] = [part.data.min, part.display.min].map(|corner| corner.map(i64::from));
        let ([data_x, data_y], [x, y]) = (data, display);
        let [width, height] = size.map(|edge| usize::try_from(edge).unwrap_or(0));
        Self {
            size,
            offset: [data_x - x, data_y - y],
            pixels: vec![[0.0; 4]; width.saturating_mul(height)],
            has_alpha: layer.alpha.is_some(),
            is_in_view: false,
        }
    }

    /// Takes in a line of one channel that begins at `at` in the data window.
    fn line(&mut self, at: [usize; 2], slot: Slot, bytes: &[u8]) {
        let ([width, height], [left, top]) = (self.size, self.offset);
        let [x, y] = at.map(|place| i64::try_from(place).unwrap_or(i64::MAX));
        let (left, y) = (x.saturating_add(left), y.saturating_add(top));
        if !slot.targets.contains(&true) || y < 0 || y >= height {
            return;
        }
        let row = usize::try_from(y * width).unwrap_or(usize::MAX);
        let size = if slot.sample == SampleType::F16 { 2 } else { 4 };
        for (x, sample) in (left..).zip(bytes.chunks_exact(size)) {
            if x < 0 || x >= width {
                continue;
            }
            let Some(pixel) = self.pixels.get_mut(row + x as usize) else { continue };
            let value = slot.value(sample);
            for (target, is_one) in pixel.iter_mut().zip(slot.targets) {
                if is_one {
                    *target = value;
                }
            }
            if let (false, [.., alpha]) = (self.has_alpha, pixel) {
                *alpha = 1.0;
            }
            self.is_in_view = true;
        }
    }

    fn finished(
        mut self,
        header: &ExrHeader,
        layer: &ExrLayer,
        decoded: u64,
        values: Values,
    ) -> ExrPixels {
        let mut counts = LightCounts::default();
        self.pixels.iter_mut().for_each(|pixel| counts.take(pixel, values));
        let [width, height] = self.size.map(|edge| u32::try_from(edge).unwrap_or(0));
        let colours = if matches!(layer.shown, Shown::Colour(_)) { 3 } else { 1 };
        let part_name = header.parts.get(layer.part).map_or("", |part| part.name.as_str());
        let names = [part_name, layer.name.as_str()];
        let names: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
        ExrPixels {
            image: LinearImage { width, height, pixels: self.pixels },
            channels: colours + u8::from(self.has_alpha),
            counts,
            layer: names.join(": "),
            grey: match &layer.shown {
                Shown::Colour(_) => None,
                Shown::Grey(channel) => Some(channel.clone()),
            },
            blocks: decoded,
            expected: decoded,
            damage: None,
            is_in_view: self.is_in_view,
        }
    }
}

fn failure(error: &Error, name: &str) -> Failure {
    match error {
        Error::NotSupported(what) => {
            unsupported(format!("{name} cannot be read: {what}. Save it as a plain EXR with ZIP"))
        }
        Error::Io(source) if source.kind() == std::io::ErrorKind::UnexpectedEof => {
            truncated(format!("{name} ends before its last pixel. Render or copy it again"))
        }
        other => corrupt(format!("{name} cannot be decoded: {other}. Render or export it again")),
    }
}
