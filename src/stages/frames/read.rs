//! Reads a frame's file: is it there, is it a picture, does it decode.

use super::Expected;
use crate::model::Reason;
use crate::preview::DecodedImage;
use crate::protocol::work::Failure;
use crate::stages::failure::failure_from_io;
use crate::stages::formats::images::{self, Examined};
use crate::stages::formats::sniff::{self, Format};
use crate::stages::formats::{bounds, image_facts};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The least that any picture has; below it a file is empty whatever a check says.
const ONE_BYTE: u64 = 1;

/// A frame's file, opened, with its first bytes read.
pub(super) struct Opened<'a> {
    path: &'a Path,
    name: String,
    file: File,
    head: Vec<u8>,
    size_bytes: u64,
}

/// What reading a frame's file gave.
pub(super) struct FrameFile {
    pub(super) name: String,
    pub(super) format: String,
    pub(super) size_bytes: u64,
    pub(super) content: Content,
    pub(super) notes: Vec<String>,
}

/// How far a frame could be read.
pub(super) enum Content {
    /// All of it.
    Pixels(Examined),
    /// Its header: width, height, channels.
    Header(u32, u32, u8),
    /// Nothing but its size.
    Unknown,
}

/// The last part of a path, for messages.
pub(super) fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

fn invalid(message: impl Into<String>) -> Failure {
    Failure::new(Reason::OutputInvalid, message)
}

/// Opens the file and checks what needs no decoder: there, new, large enough.
pub(super) fn open<'a>(path: &'a Path, expected: &Expected<'_>) -> Result<Opened<'a>, Failure> {
    let name = name_of(path);
    let disk = |error: &io::Error| failure_from_io(error, "a frame could not be read", path);
    let meta = match std::fs::metadata(path) {
        Ok(meta) => meta,
        Err(error) if is_absent(&error) => return Err(missing(&name)),
        Err(error) => return Err(disk(&error)),
    };
    if !meta.is_file() {
        return Err(invalid(format!(
            "{name} is no regular file. Free its name and render it again"
        )));
    }
    if let (true, Some(since)) = (expected.check.newer, expected.made_since)
        && meta.modified().is_ok_and(|made| made < since)
    {
        let why = "was there before and has not been written again: the program skipped it or wrote elsewhere";
        return Err(Failure::new(Reason::OutputMissing, format!("{name} {why}. See the log")));
    }
    let least = expected.check.least_bytes.max(ONE_BYTE);
    if meta.len() < least {
        let why = "the program stopped while it wrote it, or the disk is full. Render it again";
        return Err(invalid(format!(
            "{name} has {} bytes, a whole frame has at least {least}: {why}",
            meta.len()
        )));
    }
    let mut file = File::open(path).map_err(|error| disk(&error))?;
    let mut head = Vec::new();
    file.by_ref()
        .take(bounds::SNIFF_BYTES as u64)
        .read_to_end(&mut head)
        .map_err(|error| disk(&error))?;
    if head.iter().all(|byte| *byte == 0) {
        return Err(invalid(format!(
            "{name} holds only zero bytes where a picture begins ({} bytes in all). Render it again",
            meta.len()
        )));
    }
    Ok(Opened { path, name, file, head, size_bytes: meta.len() })
}

/// Also where a part of the path is a file instead of a folder.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn missing(name: &str) -> Failure {
    let why = "the program ended without writing it. See the log for where it wrote";
    Failure::new(Reason::OutputMissing, format!("{name} is not there: {why}"))
}

/// Decodes the file as far as the check asks and the farm can.
pub(super) fn pixels(opened: Opened<'_>, expected: &Expected<'_>) -> Result<FrameFile, Failure> {
    let mut read = FrameFile {
        name: opened.name.clone(),
        format: String::new(),
        size_bytes: opened.size_bytes,
        content: Content::Unknown,
        notes: Vec::new(),
    };
    let Some(format) = known_format(&opened)? else {
        read.format = sniff::foreign_name(&opened.head)
            .map_or_else(|| starts_with(&opened.head), str::to_owned);
        let why = "is of a format that is not decoded here: only its size was checked";
        read.notes.push(format!("{} {why}", read.name));
        return Ok(read);
    };
    format.name().clone_into(&mut read.format);
    if !expected.check.decode {
        read.content = header(opened.path, &read.name)?;
        return Ok(read);
    }
    let path = opened.path;
    match examine(opened, format) {
        Ok(examined) => read.content = Content::Pixels(examined),
        // A right picture that this reader cannot take is no fault of the frame.
        Err(failure) if is_beyond_us(failure.reason) => {
            read.notes.push(format!("only the header was checked: {}", failure.message));
            read.content = header(path, &read.name)?;
        }
        Err(failure) => return Err(of_output(failure, &read.name)),
    }
    Ok(read)
}

fn examine(opened: Opened<'_>, format: Format) -> Result<Examined, Failure> {
    let Opened { path, name, mut file, head: mut bytes, size_bytes } = opened;
    if size_bytes > bounds::IMAGE_FILE_BYTES {
        let most = bounds::IMAGE_FILE_BYTES;
        let why = format!("{name} has {size_bytes} bytes; at most {most} can be read");
        return Err(Failure::new(Reason::InputTooLarge, why));
    }
    let rest = bounds::IMAGE_FILE_BYTES.saturating_sub(bytes.len() as u64);
    bytes.reserve(usize::try_from(size_bytes).unwrap_or(0).saturating_sub(bytes.len()));
    file.by_ref()
        .take(rest)
        .read_to_end(&mut bytes)
        .map_err(|error| failure_from_io(&error, "a frame could not be read", path))?;
    images::examine(format, &bytes, &name)
}

/// The picture format by the first bytes; none where it is none that is known. A name that says
/// one format and bytes that say another, or nothing, are a broken frame.
fn known_format(opened: &Opened<'_>) -> Result<Option<Format>, Failure> {
    let is_picture = |format: &Format| format.kind() == crate::model::AssetKind::Image;
    let suffix = opened.path.extension().map(|suffix| suffix.to_string_lossy().into_owned());
    let named = suffix.as_deref().and_then(Format::by_suffix).filter(is_picture);
    match sniff::sniff_named(&opened.head, opened.size_bytes, &opened.name) {
        Ok(format) if is_picture(&format) => Ok(Some(format)),
        Err(failure) if named.is_some() => Err(of_output(failure, &opened.name)),
        Ok(_) | Err(_) => Ok(None),
    }
}

fn header(path: &Path, name: &str) -> Result<Content, Failure> {
    match image_facts(path) {
        Ok(facts) => {
            let channels = u8::try_from(facts.channels.len()).unwrap_or(u8::MAX);
            Ok(Content::Header(facts.width, facts.height, channels))
        }
        Err(failure) if is_beyond_us(failure.reason) => Ok(Content::Unknown),
        Err(failure) => Err(of_output(failure, name)),
    }
}

const fn is_beyond_us(reason: Reason) -> bool {
    matches!(reason, Reason::InputUnsupported | Reason::InputTooLarge)
}

/// What is wrong with an input, said of an output.
pub(super) fn of_output(failure: Failure, name: &str) -> Failure {
    match failure.reason {
        Reason::InputEmpty
        | Reason::InputTruncated
        | Reason::InputCorrupt
        | Reason::InputWrongSuffix => {
            invalid(format!("the frame {name} is no whole picture: {}", failure.message))
        }
        _ => failure,
    }
}

fn starts_with(head: &[u8]) -> String {
    let start: Vec<String> = head.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    format!("unknown ({})", start.join(" "))
}

impl FrameFile {
    /// Width and height, where they are known.
    pub(super) fn size(&self) -> Option<(u32, u32)> {
        match &self.content {
            Content::Pixels(examined) => Some(match &examined.image {
                DecodedImage::Display(picture) => (picture.width, picture.height),
                DecodedImage::Light(light) => (light.width, light.height),
            }),
            Content::Header(width, height, _) => Some((*width, *height)),
            Content::Unknown => None,
        }
    }

    /// How many channels are shown, where that is known.
    pub(super) fn channels(&self) -> Option<u8> {
        match &self.content {
            Content::Pixels(examined) => Some(examined.channels),
            Content::Header(_, _, channels) => Some(*channels),
            Content::Unknown => None,
        }
    }
}
