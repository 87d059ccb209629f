//! One way to build tables: only the rows in sight are built, whatever their number.

use super::text;
use crate::desktop::theme::{ROW_HEADER, Tokens};
use eframe::egui::{
    Align, CornerRadius, Layout, Rect, Response, Role, Sense, Stroke, Ui, WidgetInfo, vec2,
};
use egui_extras::{Column, TableBuilder, TableRow};

/// One column.
#[derive(Debug, Clone, Copy)]
pub struct Head {
    /// Its title.
    pub title: &'static str,
    /// Its width in points; none takes what is left.
    pub width: Option<f32>,
}

/// A column of a width.
pub const fn head(title: &'static str, width: f32) -> Head {
    Head { title, width: Some(width) }
}

/// The column that takes what is left.
pub const fn rest(title: &'static str) -> Head {
    Head { title, width: None }
}

/// A table.
#[derive(Debug, Clone, Copy)]
pub struct Table<'a> {
    /// Keeps its scroll position.
    pub id: &'static str,
    /// Its columns.
    pub heads: &'a [Head],
    /// Height of a row in points.
    pub row_height: f32,
    /// How many rows.
    pub rows: usize,
    /// Scroll there.
    pub scroll_to: Option<usize>,
}

impl Table<'_> {
    /// Draws it; `row` is called for the rows in sight.
    pub fn show(self, ui: &mut Ui, mut row: impl FnMut(&mut TableRow<'_, '_>)) {
        ui.style_mut().interaction.selectable_labels = false;
        ui.spacing_mut().item_spacing.y = 0.0;
        let hover = Tokens::of(ui).hover;
        ui.visuals_mut().widgets.hovered.bg_fill = hover;
        // Text of a selected row stays text; the mark and the ground tell the selection.
        ui.visuals_mut().selection.stroke.color = Tokens::of(ui).text;
        let mut table = TableBuilder::new(ui)
            .id_salt(self.id)
            .striped(true)
            .sense(Sense::click())
            .auto_shrink([false, false])
            .animate_scrolling(false)
            .cell_layout(Layout::left_to_right(Align::Center));
        for head in self.heads {
            table = table.column(match head.width {
                Some(width) => Column::exact(width).clip(true),
                None => Column::remainder().at_least(120.0).clip(true),
            });
        }
        if let Some(at) = self.scroll_to {
            table = table.scroll_to_row(at, None);
        }
        table
            .header(ROW_HEADER, |mut header| {
                for (place, head) in self.heads.iter().enumerate() {
                    header.col(|ui| {
                        if place == 0 {
                            ui.add_space(12.0);
                        }
                        text::small(ui, head.title);
                        let rect = ui.max_rect();
                        let line = Stroke::new(1.0, Tokens::of(ui).outline);
                        ui.painter().hline(rect.x_range().expand(8.0), rect.bottom(), line);
                    });
                }
            })
            .body(|body| body.rows(self.row_height, self.rows, |mut line| row(&mut line)));
    }
}

/// Names a row for screen readers and tells whether it was clicked. Call it after the cells.
pub fn finish_row(row: &TableRow<'_, '_>, name: &str, selected: bool) -> Response {
    let response = row.response();
    response.widget_info(|| WidgetInfo::selected(Role::Row, true, selected, name));
    response
}

/// The mark at the left edge of a selected row, so that colour alone does not tell it.
pub fn selected_mark(ui: &Ui, selected: bool) {
    if selected {
        let cell = ui.max_rect();
        let mark = Rect::from_min_size(cell.left_top(), vec2(3.0, cell.height()));
        ui.painter().rect_filled(mark, CornerRadius::ZERO, Tokens::of(ui).accent);
    }
}
