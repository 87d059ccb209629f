//! Flags that say what of a mesh is shown.

use super::look::{number_within, one_of};
use crate::model::Pass;
use crate::preview::Backdrop;
use crate::stages::formats::Moment;
use crate::stages::glance::SceneWish;
use clap::Args;

/// Longest time of an animation that can be asked for, in seconds.
const MAX_TIME_S: f32 = 86_400.0;

/// What of a mesh is shown.
#[derive(Debug, Clone, Args)]
pub(super) struct SceneArguments {
    /// What of a mesh is drawn: its light, its colours alone, normals, texture coordinates or edges
    #[arg(long, value_name = "NAME", default_value = "beauty", value_parser = passes())]
    pass: Pass,
    /// Draw a mesh before nothing, with alpha
    #[arg(long)]
    transparent: bool,
    /// Show a glTF at this second of its animation
    #[arg(long, value_name = "SECONDS", value_parser = time_s)]
    time: Option<f32>,
    /// Which animation, counted from 0
    #[arg(long, value_name = "NUMBER", default_value_t = 0, requires = "time")]
    animation: usize,
}

impl SceneArguments {
    pub(super) fn wish(&self) -> SceneWish {
        SceneWish {
            pass: self.pass,
            backdrop: if self.transparent { Backdrop::Transparent } else { Backdrop::Studio },
            moment: self
                .time
                .map_or(Moment::Rest, |time_s| Moment::At { animation: self.animation, time_s }),
        }
    }
}

fn time_s(text: &str) -> Result<f32, String> {
    number_within(text, 0.0, MAX_TIME_S)
}

fn passes() -> impl clap::builder::TypedValueParser<Value = Pass> {
    one_of(Pass::ALL, Pass::as_str)
}
