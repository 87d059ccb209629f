//! What a panel may look at while it draws. Nothing here can be changed by a panel.

use super::index::{Index, Leases};
use super::lists::Lists;
use super::pictures::Pictures;
use super::screen::Screen;
use super::view::FarmView;
use crate::client::live::Connection;
use crate::client::read_model::ReadModel;

/// One frame's view of everything.
#[derive(Clone, Copy)]
pub struct FrameContext<'a> {
    /// For pictures.
    pub farm: &'a dyn FarmView,
    /// The farm.
    pub model: &'a ReadModel,
    /// Counts of the farm.
    pub index: &'a Index,
    /// Rows of the tables.
    pub lists: &'a Lists,
    /// When leases were renewed.
    pub leases: &'a Leases,
    /// Textures.
    pub pictures: &'a Pictures,
    /// The window's memory.
    pub screen: &'a Screen,
    /// How the connection is.
    pub connection: &'a Connection,
    /// The wall clock in Unix milliseconds.
    pub now_ms: i64,
}
