//! Arguments with typed gaps. Each stays one argument: no shell ever reads them.

use super::placeholder::{Placeholder, ValueKind};
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;

/// One argument: texts and placeholders. `{{` and `}}` are plain braces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Gap(Placeholder),
}

/// Why a template is refused.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum TemplateError {
    /// Nobody knows what goes there.
    #[error("no placeholder has the name '{0}'")]
    Unknown(String),
    /// A brace without its other half.
    #[error("a brace has no partner: write {{{{ or }}}} for a plain one")]
    LoneBrace,
    /// Many arguments cannot stand inside one.
    #[error("{0} stands for many arguments and must be alone in its text")]
    ListInText(Placeholder),
}

/// One or more arguments of a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Argument {
    /// Always given.
    Always(Template),
    /// Given together, or left out where one of their values is absent.
    Group(Vec<Template>),
}

impl Template {
    /// Reads `text`.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                '{' | '}' if letters.next_if_eq(&letter).is_some() => plain.push(letter),
                '}' => return Err(TemplateError::LoneBrace),
                '{' => {
                    let mut name = String::new();
                    loop {
                        match letters.next() {
                            Some('}') => break,
                            Some(next) => name.push(next),
                            None => return Err(TemplateError::LoneBrace),
                        }
                    }
                    let found = Placeholder::parse(&name);
                    let gap = found.ok_or_else(|| TemplateError::Unknown(name.clone()))?;
                    if !plain.is_empty() {
                        parts.push(Part::Text(std::mem::take(&mut plain)));
                    }
                    parts.push(Part::Gap(gap));
                }
                _ => plain.push(letter),
            }
        }
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        let template = Self(parts);
        let list = template.gaps().find(|gap| gap.kind() == ValueKind::List);
        match list {
            Some(gap) if template.0.len() > 1 => Err(TemplateError::ListInText(gap)),
            _ => Ok(template),
        }
    }

    /// The placeholders in it.
    pub fn gaps(&self) -> impl Iterator<Item = Placeholder> {
        self.0.iter().filter_map(|part| match part {
            Part::Gap(gap) => Some(*gap),
            Part::Text(_) => None,
        })
    }

    /// The list that it stands for, where it stands for one.
    pub fn list(&self) -> Option<Placeholder> {
        self.gaps().find(|gap| gap.kind() == ValueKind::List)
    }

    /// The argument with `value` in each gap; the gap for which there is none otherwise.
    pub fn fill(
        &self,
        value: impl Fn(Placeholder) -> Option<String>,
    ) -> Result<String, Placeholder> {
        let mut filled = String::new();
        for part in &self.0 {
            match part {
                Part::Text(text) => filled.push_str(text),
                Part::Gap(gap) => filled.push_str(&value(*gap).ok_or(*gap)?),
            }
        }
        Ok(filled)
    }
}

impl Argument {
    /// Its templates.
    pub fn templates(&self) -> &[Template] {
        match self {
            Self::Always(template) => std::slice::from_ref(template),
            Self::Group(templates) => templates,
        }
    }
}

impl<'de> Deserialize<'de> for Template {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Argument {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ArgumentVisitor)
    }
}

/// Written by hand: an untagged enum would lose the line of an error.
struct ArgumentVisitor;

impl<'de> Visitor<'de> for ArgumentVisitor {
    type Value = Argument;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, or a list of texts that are left out together")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Argument, E> {
        Template::parse(text).map(Argument::Always).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Argument, A::Error> {
        let mut templates = Vec::new();
        while let Some(template) = list.next_element::<Template>()? {
            templates.push(template);
        }
        if templates.iter().all(|template| template.gaps().next().is_none()) {
            return Err(A::Error::custom(
                "a group needs a placeholder: without one it always stays",
            ));
        }
        Ok(Argument::Group(templates))
    }
}
