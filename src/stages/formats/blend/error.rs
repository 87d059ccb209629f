//! Why a `.blend` file cannot be read.

use crate::model::Reason;

/// A `.blend` file that cannot be read; each kind has one [`Reason`].
#[derive(Debug, thiserror::Error)]
pub enum BlendError {
    /// The operating system cannot read the file.
    #[error("the file cannot be read: {0}. Check that it exists and that you may read it")]
    Unreadable(#[source] std::io::Error),
    /// The first bytes belong to something else.
    #[error(
        "this is no Blender file: it does not begin with BLENDER, also not when decompressed. Submit the scene that Blender saved"
    )]
    NotBlend,
    /// A file layout of a later time.
    #[error(
        "the file has layout {layout}, which is not known here. Save the scene with Blender 5.0 or older"
    )]
    UnknownLayout {
        /// What the header says, as written.
        layout: String,
    },
    /// The end is missing.
    #[error(
        "the file ends too early: {what}. Copy it again, or save the scene again (Blender may still be writing it)"
    )]
    Truncated {
        /// What was being read.
        what: &'static str,
    },
    /// The bytes contradict each other.
    #[error("the file is damaged: {what}. Open it in Blender and save it again, or take a backup")]
    Corrupt {
        /// What is wrong.
        what: String,
    },
    /// More of something than is read.
    #[error("the file has too many or too large {what}: at most {limit} are read. Split the scene")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How much is read.
        limit: u64,
    },
}

impl BlendError {
    /// The farm's reason for this failure.
    pub const fn reason(&self) -> Reason {
        match self {
            Self::Unreadable(_) => Reason::InputUnreadable,
            Self::NotBlend | Self::UnknownLayout { .. } => Reason::InputUnsupported,
            Self::Truncated { .. } => Reason::InputTruncated,
            Self::Corrupt { .. } => Reason::SceneCorrupt,
            Self::TooLarge { .. } => Reason::InputTooLarge,
        }
    }

    pub(super) fn corrupt(what: impl Into<String>) -> Self {
        Self::Corrupt { what: what.into() }
    }
}
