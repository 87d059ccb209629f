//! Reads the header of PLY files.

use super::{corrupt, truncated, unsupported};
use crate::protocol::work::Failure;

/// How the body is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Ascii,
    LittleEndian,
    BigEndian,
}

/// A kind of number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Number {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    F32,
    F64,
}

impl Number {
    fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "char" | "int8" => Self::I8,
            "uchar" | "uint8" => Self::U8,
            "short" | "int16" => Self::I16,
            "ushort" | "uint16" => Self::U16,
            "int" | "int32" => Self::I32,
            "uint" | "uint32" => Self::U32,
            "float" | "float32" => Self::F32,
            "double" | "float64" => Self::F64,
            _ => return None,
        })
    }

    /// Bytes of one.
    pub(super) const fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// The greatest value of an integer, to which colours are scaled; 1 for floats.
    pub(super) const fn full(self) -> f64 {
        match self {
            Self::I8 => 127.0,
            Self::U8 => 255.0,
            Self::I16 => 32_767.0,
            Self::U16 => 65_535.0,
            Self::I32 => 2_147_483_647.0,
            Self::U32 => 4_294_967_295.0,
            Self::F32 | Self::F64 => 1.0,
        }
    }
}

/// One property of an element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Property {
    pub name: String,
    /// The kind of the count, for a list.
    pub list: Option<Number>,
    pub number: Number,
}

/// One element: a table of the body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Element {
    pub name: String,
    pub count: u64,
    pub properties: Vec<Property>,
}

impl Element {
    /// The least bytes that one row can take.
    pub(super) fn least_bytes(&self, encoding: Encoding) -> usize {
        let one = |property: &Property| match (encoding, property.list) {
            (Encoding::Ascii, _) => 2,
            (_, Some(count)) => count.size(),
            (_, None) => property.number.size(),
        };
        self.properties.iter().map(one).sum()
    }

    /// Which property has one of these names.
    pub(super) fn find(&self, names: &[&str]) -> Option<usize> {
        self.properties.iter().position(|property| names.contains(&property.name.as_str()))
    }
}

/// The header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Header {
    pub encoding: Encoding,
    pub elements: Vec<Element>,
    /// Where the body begins.
    pub body_at: usize,
}

const HEADER_LINES: usize = 10_000;

/// Reads the header; stray lines are skipped.
pub(super) fn read(bytes: &[u8], name: &str) -> Result<Header, Failure> {
    let mut at = 0;
    let mut encoding = None;
    let mut elements: Vec<Element> = Vec::new();
    for number in 1..=HEADER_LINES {
        let rest = bytes.get(at..).unwrap_or_default();
        let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')).ok_or_else(|| {
            truncated(format!("{name} ends inside its header, before 'end_header'"))
        })?;
        let line = String::from_utf8_lossy(rest.get(..end).unwrap_or_default()).into_owned();
        let ending =
            if rest.get(end..).is_some_and(|rest| rest.starts_with(b"\r\n")) { 2 } else { 1 };
        at += end + ending;
        let words: Vec<&str> = line.split_whitespace().collect();
        let bad = || corrupt(format!("{name}, line {number}: '{}' cannot be read", line.trim()));
        match words.as_slice() {
            ["format", kind, ..] => {
                encoding = Some(match *kind {
                    "ascii" => Encoding::Ascii,
                    "binary_little_endian" => Encoding::LittleEndian,
                    "binary_big_endian" => Encoding::BigEndian,
                    _ => return Err(unsupported(format!("{name} is written as '{kind}'"))),
                });
            }
            ["element", element, count, ..] => elements.push(Element {
                name: (*element).to_owned(),
                count: count.parse().map_err(|_| bad())?,
                properties: Vec::new(),
            }),
            ["property", "list", count, number, property, ..] => {
                let element = elements.last_mut().ok_or_else(bad)?;
                element.properties.push(Property {
                    name: (*property).to_owned(),
                    list: Some(Number::parse(count).ok_or_else(bad)?),
                    number: Number::parse(number).ok_or_else(bad)?,
                });
            }
            ["property", number, property, ..] => {
                let element = elements.last_mut().ok_or_else(bad)?;
                element.properties.push(Property {
                    name: (*property).to_owned(),
                    list: None,
                    number: Number::parse(number).ok_or_else(bad)?,
                });
            }
            ["end_header", ..] => {
                let encoding = encoding.ok_or_else(|| corrupt(format!("{name} says no format")))?;
                return Ok(Header { encoding, elements, body_at: at });
            }
            _ => {}
        }
    }
    Err(corrupt(format!("{name} has more than {HEADER_LINES} lines in its header")))
}
