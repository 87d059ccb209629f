//! The parts of the window. Each draws what the frame context says and returns wishes.

pub mod dead_letters;
pub mod dialogs;
pub mod empty;
pub mod inspector;
pub mod inspector_work;
pub mod jobs;
pub mod overlay;
pub mod pipelines;
pub mod status_line;
pub mod submit;
pub mod top_bar;
pub mod watch;
pub mod watch_dialogs;
pub mod watch_file;
pub mod watch_form;
pub mod workers;
