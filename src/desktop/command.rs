//! The one list of commands: keys, tooltips and the help sheet come from it.

use super::action::Action;
use super::screen::{Dialog, Tab};
use eframe::egui::{Context, Event, Key, KeyboardShortcut, Modifiers};

/// One command of the keyboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Next row.
    Next,
    /// Previous row.
    Previous,
    /// Ten rows on.
    PageDown,
    /// Ten rows back.
    PageUp,
    /// Select or open.
    Open,
    /// Search field.
    Search,
    /// One step back.
    Back,
    /// Submit dialog.
    Submit,
    /// First tab.
    Pipelines,
    /// Second tab.
    Jobs,
    /// Third tab.
    Workers,
    /// Fourth tab.
    DeadLetters,
    /// Fifth tab.
    Watch,
    /// Replay what is selected.
    Replay,
    /// Take the selected file again.
    Retake,
    /// Let rows follow again.
    Resume,
    /// Notices.
    History,
    /// Help sheet.
    Help,
}

impl Command {
    /// All commands, in the order of the help sheet.
    pub const ALL: [Self; 18] = [
        Self::Next,
        Self::Previous,
        Self::PageDown,
        Self::PageUp,
        Self::Open,
        Self::Search,
        Self::Back,
        Self::Submit,
        Self::Pipelines,
        Self::Jobs,
        Self::Workers,
        Self::DeadLetters,
        Self::Watch,
        Self::Replay,
        Self::Retake,
        Self::Resume,
        Self::History,
        Self::Help,
    ];

    /// What it does.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Next => "Select the next row",
            Self::Previous => "Select the previous row",
            Self::PageDown => "Ten rows down",
            Self::PageUp => "Ten rows up",
            Self::Open => "Select the first row, or open and close the inspector",
            Self::Search => "Search",
            Self::Back => "Close, clear or deselect, one step at a time",
            Self::Submit => "Submit files or a folder",
            Self::Pipelines => "Show pipelines",
            Self::Jobs => "Show jobs",
            Self::Workers => "Show workers",
            Self::DeadLetters => "Show dead letters",
            Self::Watch => "Show watch folders",
            Self::Replay => "Replay the selected dead letter",
            Self::Retake => "Take the selected file of a watch folder again",
            Self::Resume => "Let held rows follow the farm again",
            Self::History => "Show notices",
            Self::Help => "Show this sheet",
        }
    }

    /// The key as written on it.
    pub const fn key_text(self) -> &'static str {
        match self {
            Self::Next => "↓",
            Self::Previous => "↑",
            Self::PageDown => "PgDn",
            Self::PageUp => "PgUp",
            Self::Open => "Enter",
            Self::Search => "/",
            Self::Back => "Esc",
            Self::Submit => "Ctrl+O",
            Self::Pipelines => "1",
            Self::Jobs => "2",
            Self::Workers => "3",
            Self::DeadLetters => "4",
            Self::Watch => "5",
            Self::Replay => "R",
            Self::Retake => "T",
            Self::Resume => "F",
            Self::History => "N",
            Self::Help => "?",
        }
    }

    fn shortcuts(self) -> Vec<KeyboardShortcut> {
        let plain = |key| KeyboardShortcut::new(Modifiers::NONE, key);
        match self {
            Self::Next => vec![plain(Key::ArrowDown)],
            Self::Previous => vec![plain(Key::ArrowUp)],
            Self::PageDown => vec![plain(Key::PageDown)],
            Self::PageUp => vec![plain(Key::PageUp)],
            Self::Open => vec![plain(Key::Enter)],
            Self::Search => vec![plain(Key::Slash)],
            Self::Back => vec![plain(Key::Escape)],
            Self::Submit => vec![KeyboardShortcut::new(Modifiers::COMMAND, Key::O)],
            Self::Pipelines => vec![plain(Key::Num1)],
            Self::Jobs => vec![plain(Key::Num2)],
            Self::Workers => vec![plain(Key::Num3)],
            Self::DeadLetters => vec![plain(Key::Num4)],
            Self::Watch => vec![plain(Key::Num5)],
            Self::Replay => vec![plain(Key::R)],
            Self::Retake => vec![plain(Key::T)],
            Self::Resume => vec![plain(Key::F)],
            Self::History => vec![plain(Key::N)],
            Self::Help => vec![
                KeyboardShortcut::new(Modifiers::SHIFT, Key::Slash),
                plain(Key::Questionmark),
                plain(Key::F1),
            ],
        }
    }

    /// Whether it also works while text is typed or a dialog is open.
    const fn works_everywhere(self) -> bool {
        matches!(self, Self::Back | Self::Submit)
    }

    /// What it asks for, where it needs nothing from the screen.
    pub const fn action(self) -> Option<Action> {
        Some(match self {
            Self::Next => Action::Step(1),
            Self::Previous => Action::Step(-1),
            Self::PageDown => Action::Step(10),
            Self::PageUp => Action::Step(-10),
            Self::Open => Action::Open,
            Self::Search => Action::FocusSearch,
            Self::Back => Action::Back,
            Self::Submit => Action::Ask(Dialog::Submit),
            Self::Pipelines => Action::Show(Tab::Pipelines),
            Self::Jobs => Action::Show(Tab::Jobs),
            Self::Workers => Action::Show(Tab::Workers),
            Self::DeadLetters => Action::Show(Tab::DeadLetters),
            Self::Resume => Action::Resume,
            Self::History => Action::Ask(Dialog::History),
            Self::Help => Action::Ask(Dialog::Help),
            Self::Watch => Action::Show(Tab::Watch),
            // Which dead letter or file is meant, the screen knows.
            Self::Replay | Self::Retake => return None,
        })
    }
}

/// The commands whose keys were pressed in this frame; takes the keys away from widgets.
pub fn pressed(ctx: &Context, dialog_open: bool) -> Vec<Command> {
    let quiet = dialog_open || ctx.text_edit_focused();
    // Enter and the arrows belong to a control that has the focus.
    let control_focused = ctx.memory(|memory| memory.focused().is_some());
    ctx.input_mut(|input| {
        // Question mark before slash: on many keyboards it is shift and slash.
        let order = Command::ALL.iter().rev().copied();
        let mut found: Vec<_> = order
            .filter(|command| command.works_everywhere() || !quiet)
            .filter(|command| !(control_focused && *command == Command::Open))
            .filter(|command| command.shortcuts().iter().any(|keys| input.consume_shortcut(keys)))
            .collect();
        if found.contains(&Command::Search) {
            // The stroke that opens the field is not its first letter.
            input.events.retain(|event| !matches!(event, Event::Text(text) if text == "/"));
        }
        found.reverse();
        found
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_commands_share_a_key() {
        let mut seen = Vec::new();
        for command in Command::ALL {
            for keys in command.shortcuts() {
                assert!(!seen.contains(&keys), "{command:?}");
                seen.push(keys);
            }
        }
    }

    #[test]
    fn every_command_is_explained() {
        for command in Command::ALL {
            assert!(!command.text().ends_with('.') && !command.key_text().is_empty());
        }
    }
}
