//! Gives frames to ffmpeg as raw pixels over a pipe.
//!
//! A pipe and not numbered files: nothing is encoded twice or written to disk, a frame that is
//! held is only sent again, and every format that the farm reads can be joined, tone-mapped as the
//! stills are.

use super::frames::Frames;
use super::gaps::Shown;
use crate::model::Reason;
use crate::preview::{Grade, Picture, fit};
use crate::protocol::work::Failure;
use crate::recipes::FilmAlpha;
use crate::stages::formats::load_image;
use crate::stages::render::{finished_picture, on_black};
use std::borrow::Cow;
use std::io::{self, Write};

const BLACK: [u8; 4] = [0, 0, 0, 255];

/// Frames in the order in which they are shown, and how their pixels are made.
#[derive(Debug)]
pub(super) struct Feed<'a> {
    pub(super) frames: &'a Frames,
    /// What each place of the film shows.
    pub(super) shown: Cow<'a, [Shown]>,
    /// How light becomes colours, the same in all frames.
    pub(super) grade: Grade,
    /// Longest edge of a picture in pixels.
    pub(super) longest_px: u32,
    pub(super) alpha: FilmAlpha,
}

impl Feed<'_> {
    /// How many pictures are sent.
    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.shown.len()).unwrap_or(u32::MAX)
    }

    /// Width and height of each picture.
    pub(super) fn size(&self) -> Result<(u32, u32), Failure> {
        let first = self.frames.wanted.iter().position(|wanted| wanted.file.is_some());
        let picture = self.picture(first.unwrap_or(0))?;
        Ok((picture.width, picture.height))
    }

    /// Sends all pictures. A program that reads no more ends this without an error: how it ended
    /// says why.
    pub(super) fn send(&self, size: (u32, u32), mut pipe: impl Write) -> Result<(), Failure> {
        let black = BLACK.repeat(size.0 as usize * size.1 as usize);
        let mut held: Option<(usize, Picture)> = None;
        for shown in self.shown.iter() {
            let sent = match *shown {
                Shown::Black => pipe.write_all(&black),
                Shown::Frame(at) => {
                    let picture = match held.take() {
                        Some((known, picture)) if known == at => picture,
                        _ => self.picture(at)?,
                    };
                    if (picture.width, picture.height) != size {
                        return Err(self.changed(at));
                    }
                    let sent = pipe.write_all(&picture.rgba);
                    held = Some((at, picture));
                    sent
                }
            };
            match sent {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
                Err(error) => {
                    let why = format!("a frame could not be given to ffmpeg: {error}");
                    return Err(Failure::new(Reason::ProgramFailed, why));
                }
            }
        }
        Ok(())
    }

    fn picture(&self, at: usize) -> Result<Picture, Failure> {
        let file = self.frames.wanted.get(at).and_then(|wanted| wanted.file.as_ref());
        let path = file.map(|file| file.path.clone()).unwrap_or_default();
        // It was read a moment ago.
        let image = load_image(&path)
            .map_err(|failure| Failure { message: failure.message, ..self.changed(at) })?;
        let picture = fit(&finished_picture(image, self.grade), self.longest_px);
        Ok(match self.alpha {
            FilmAlpha::Black => on_black(picture),
            FilmAlpha::Keep => picture,
        })
    }

    fn changed(&self, at: usize) -> Failure {
        let file = self.frames.wanted.get(at).and_then(|wanted| wanted.file.as_ref());
        let name = file.map_or("a frame", |file| file.name.as_str());
        let why = format!("a frame has changed while the film was made. Replay the job. {name}");
        Failure::new(Reason::OutputInvalid, why)
    }
}
