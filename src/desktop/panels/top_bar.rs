//! The bar on top: the farm in a word, counts that filter, search, submit; below it the tabs.

use crate::client::live::Connection;
use crate::desktop::action::{Action, Actions};
use crate::desktop::command::Command;
use crate::desktop::farm_word::farm_word;
use crate::desktop::frame::FrameContext;
use crate::desktop::screen::{Dialog, StateFilter, Tab};
use crate::desktop::theme::{GAP, Tokens, Tone};
use crate::desktop::widgets::{chip, logo, text};
use crate::desktop::words;
use eframe::egui::{
    Align, Button, CornerRadius, Frame, Id, Layout, Margin, Panel, RichText, Role, Sense, Stroke,
    TextEdit, Ui, WidgetInfo, vec2,
};

const SEARCH_WIDTH: f32 = 210.0;
const SEARCH_BYTES: usize = 200;

/// Draws both rows of the bar, and the banner where the connection is lost.
pub fn show(frame: &FrameContext<'_>, ui: &mut Ui, actions: &mut Actions) {
    let tokens = Tokens::of(ui);
    let bar = Frame::new().fill(tokens.raised).inner_margin(Margin::symmetric(12, 8));
    Panel::top("top bar").frame(bar).show_separator_line(false).show(ui, |ui| {
        ui.horizontal(|ui| {
            farm_ui(frame, ui);
            ui.add_space(GAP);
            for filter in StateFilter::ALL {
                chip_ui(frame, ui, filter, actions);
            }
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| tools_ui(frame, ui, actions));
        });
    });
    if let Connection::Lost { why } = frame.connection {
        banner_ui(frame, ui, why);
    }
    // Titles stand under the mark: a tab has 10 points of its own.
    let tabs = Frame::new().fill(tokens.raised).inner_margin(Margin {
        left: 2,
        right: 12,
        ..Margin::ZERO
    });
    Panel::top("tabs").frame(tabs).show_separator_line(true).show(ui, |ui| {
        ui.horizontal(|ui| {
            ui.spacing_mut().item_spacing.x = 4.0;
            for tab in Tab::ALL {
                tab_ui(frame, ui, tab, actions);
            }
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| hints_ui(frame, ui, actions));
        });
    });
}

fn farm_ui(frame: &FrameContext<'_>, ui: &mut Ui) {
    let farm = farm_word(frame.connection, frame.model, frame.index);
    logo::logo(ui, 22.0);
    ui.label(RichText::new("Sawah").size(16.0).strong());
    ui.add_space(GAP);
    text::dot(ui, farm.tone);
    text::toned(ui, farm.tone, farm.word).on_hover_text(&farm.reason);
    let room = ui.available_width() > 900.0;
    if room {
        ui.label(RichText::new(farm.reason).color(Tokens::of(ui).muted));
    }
}

fn chip_ui(frame: &FrameContext<'_>, ui: &mut Ui, filter: StateFilter, actions: &mut Actions) {
    let number = frame.index.count(filter);
    let tone = match filter {
        _ if number == 0 => None,
        StateFilter::Queued => Some(Tone::Calm),
        StateFilter::Running => Some(Tone::Run),
        StateFilter::Retrying => Some(Tone::Wait),
        StateFilter::DeadLetters => Some(Tone::Dead),
    };
    let active = frame.screen.filter == Some(filter);
    let response = chip::chip(ui, filter.title(), &words::count(number as u64), tone, active);
    let hint = if active { "Show all rows" } else { "Show only these" };
    if response.on_hover_text(hint).clicked() {
        actions.push(Action::Filter(filter));
    }
}

fn tools_ui(frame: &FrameContext<'_>, ui: &mut Ui, actions: &mut Actions) {
    let help = Button::new("?").min_size(vec2(28.0, 28.0));
    if with_key(ui.add(help), "Help", Command::Help).clicked() {
        actions.push(Action::Ask(Dialog::Help));
    }
    let history = with_key(
        ui.add(Button::new("Notices").min_size(vec2(0.0, 28.0))),
        "Notices",
        Command::History,
    );
    if history.clicked() {
        actions.push(Action::Ask(Dialog::History));
    }
    let submit = text::primary_button(ui, "Submit…").min_size(vec2(0.0, 28.0));
    if with_key(ui.add(submit), "Submit…", Command::Submit).clicked() {
        actions.push(Action::Ask(Dialog::Submit));
    }
    search_ui(frame, ui, actions);
}

fn with_key(
    response: eframe::egui::Response,
    name: &str,
    command: Command,
) -> eframe::egui::Response {
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, name));
    response.on_hover_text(format!("{} ({})", command.text(), command.key_text()))
}

fn search_ui(frame: &FrameContext<'_>, ui: &mut Ui, actions: &mut Actions) {
    let mut typed = frame.screen.search.clone();
    if !typed.is_empty() {
        let clear = ui.add(text::close_button());
        clear.widget_info(|| WidgetInfo::labeled(Role::Button, true, "Clear search"));
        if clear.clicked() {
            actions.push(Action::Search(String::new()));
        }
    }
    let hint = format!("Search  {}", Command::Search.key_text());
    // A fixed id: the field must not lose the cursor when the cross beside it comes and goes.
    let field = TextEdit::singleline(&mut typed)
        .id(Id::unique("search"))
        .hint_text(RichText::new(hint).color(Tokens::of(ui).muted))
        .char_limit(SEARCH_BYTES)
        .margin(Margin::symmetric(8, 5))
        .desired_width(SEARCH_WIDTH.min((ui.available_width() - 2.0 * GAP).max(90.0)));
    let response = ui.add(field);
    response.widget_info(|| {
        let mut info = WidgetInfo::labeled(Role::SearchInput, true, "Search");
        info.current_text_value = Some(typed.clone());
        info
    });
    if frame.screen.once.focus_search {
        response.request_focus();
    }
    if response.changed() {
        actions.push(Action::Search(typed));
    }
}

fn banner_ui(frame: &FrameContext<'_>, ui: &mut Ui, why: &str) {
    let since_ms = frame.screen.lost_since_ms.unwrap_or(frame.now_ms);
    let since = words::ago(frame.now_ms, since_ms);
    let tokens = Tokens::of(ui);
    let banner = Frame::new().fill(tokens.soft(Tone::Dead)).inner_margin(Margin::symmetric(12, 6));
    Panel::top("banner").frame(banner).show_separator_line(false).show(ui, |ui| {
        ui.horizontal(|ui| {
            text::dot(ui, Tone::Dead);
            ui.label(RichText::new("Cut off from the coordinator").color(tokens.tone(Tone::Dead)));
            text::plain(ui, format!("The rows are as they were {since}. Trying again: {why}"))
                .on_hover_text(why);
        });
    });
}

fn tab_ui(frame: &FrameContext<'_>, ui: &mut Ui, tab: Tab, actions: &mut Actions) {
    let number = match tab {
        Tab::Pipelines => frame.lists.pipelines.shown.len(),
        Tab::Jobs => frame.lists.jobs.shown.len(),
        Tab::Workers => frame.lists.workers.len(),
        Tab::DeadLetters => frame.lists.dead_letters.shown.len(),
        Tab::Watch => frame.screen.watching.folders.value.as_ref().map_or(0, |all| all.len()),
    };
    let tokens = Tokens::of(ui);
    let active = frame.screen.tab == tab;
    let color = if active { tokens.text } else { tokens.muted };
    let font = eframe::egui::FontId::proportional(13.5);
    let title = ui.painter().layout_no_wrap(tab.title().to_owned(), font.clone(), color);
    let count = words::count(number as u64);
    let number = ui.painter().layout_no_wrap(count.clone(), font, tokens.muted);
    let width = title.size().x + number.size().x + 6.0 + 20.0;
    let (rect, response) = ui.allocate_exact_size(vec2(width, 32.0), Sense::click());
    let name = tab.title();
    response.widget_info(|| WidgetInfo::selected(Role::Tab, true, active, format!("{name} tab")));
    let painter = ui.painter();
    if response.hovered() || response.has_focus() {
        painter.rect_filled(rect.shrink2(vec2(0.0, 3.0)), CornerRadius::same(5), tokens.hover);
    }
    if active {
        let y = rect.bottom() - 1.0;
        let line = rect.shrink2(vec2(10.0, 0.0)).x_range();
        painter.hline(line, y, Stroke::new(2.0, tokens.accent));
    }
    let top = rect.center().y - title.size().y / 2.0;
    let left = rect.left() + 10.0;
    let next = left + title.size().x + 6.0;
    painter.galley(eframe::egui::pos2(left, top), title, color);
    painter.galley(eframe::egui::pos2(next, top), number, tokens.muted);
    if response.clicked() {
        actions.push(Action::Show(tab));
    }
}

/// What hides rows now, each with its way back.
fn hints_ui(frame: &FrameContext<'_>, ui: &mut Ui, actions: &mut Actions) {
    let screen = frame.screen;
    let waiting = match screen.tab {
        Tab::Pipelines => frame.lists.pipelines.waiting,
        Tab::Jobs => frame.lists.jobs.waiting,
        Tab::DeadLetters => frame.lists.dead_letters.waiting,
        Tab::Watch => frame.lists.watched.waiting,
        Tab::Workers => 0,
    };
    if waiting > 0 {
        let text = format!("{} new · show", words::count(waiting as u64));
        let color = Tokens::of(ui).tone(Tone::Run);
        let button = ui.add(Button::new(RichText::new(text).small().color(color)));
        let why = "The order is held while a row is selected";
        if button.on_hover_text(format!("{why} ({})", Command::Resume.key_text())).clicked() {
            actions.push(Action::Resume);
        }
    }
    let state = screen.watching.state.filter(|_| screen.tab == Tab::Watch);
    if screen.filter.is_some() || state.is_some() || !screen.search.trim().is_empty() {
        if ui.add(text::small_button("Show all")).clicked() {
            actions.push(Action::ShowAll);
        }
        let mut parts = Vec::new();
        parts.extend(screen.filter.map(|filter| filter.title().to_lowercase()));
        parts.extend(state.map(|state| super::watch::state_word(state).0.to_lowercase()));
        if !screen.search.trim().is_empty() {
            parts.push(format!("“{}”", screen.search.trim()));
        }
        text::small(ui, format!("Only {}", parts.join(" with ")));
    }
}
