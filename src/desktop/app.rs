//! The application: takes what came, draws it, carries out what was wished for.

use super::action::{Action, Actions};
use super::carry_out_watch::WatchAction;
use super::command::{self, Command};
use super::frame::FrameContext;
use super::index::{Index, Leases};
use super::lists::Lists;
use super::panels::{
    dead_letters, dialogs, inspector, jobs, overlay, pipelines, status_line, top_bar, watch,
    workers,
};
use super::picker::{FilePicker, OpenPick};
use super::pictures::Pictures;
use super::screen::{Kept, Once, Request, Screen, Tab};
use super::theme;
use super::view::FarmView;
use super::waker::WindowWaker;
use crate::client::live::{Connection, Fetched};
use crate::client::read_model::ReadModel;
use crate::model::{JobId, JobState, PipelineStatus};
use eframe::egui::{CentralPanel, Context, Frame, Margin, Ui, ViewportCommand};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Ages on the screen are right to this.
const AGE_TICK: Duration = Duration::from_mins(1);
/// An order that was answered but has no effect is forgotten after this.
const REQUEST_KEPT_MS: i64 = 10_000;

/// What an application is made of.
pub struct AppParts {
    /// The farm.
    pub farm: Box<dyn FarmView>,
    /// Chooses files.
    pub picker: Box<dyn FilePicker>,
    /// Wakes the window.
    pub waker: WindowWaker,
    /// Recipes to choose from besides the default.
    pub recipes: Vec<String>,
    /// Closes the window when set.
    pub stop: Arc<AtomicBool>,
}

/// The window's application.
pub struct App {
    pub(super) parts: AppParts,
    pub(super) model: Arc<ReadModel>,
    pub(super) connection: Connection,
    pub(super) now_ms: i64,
    pub(super) index: Index,
    pub(super) lists: Lists,
    pub(super) leases: Leases,
    pub(super) pictures: Pictures,
    pub(super) screen: Screen,
    pub(super) open_pick: Option<OpenPick>,
    drawn_before: bool,
}

impl App {
    /// For a window with this context.
    pub fn new(ctx: &Context, parts: AppParts) -> Self {
        theme::install(ctx);
        parts.waker.attach(ctx);
        Self {
            connection: parts.farm.connection(),
            now_ms: parts.farm.now_ms(),
            parts,
            model: Arc::new(ReadModel::default()),
            index: Index::default(),
            lists: Lists::default(),
            leases: Leases::default(),
            pictures: Pictures::default(),
            screen: Screen::default(),
            open_pick: None,
            drawn_before: false,
        }
    }

    /// The window's memory, for tests.
    pub const fn screen(&self) -> &Screen {
        &self.screen
    }

    /// Takes what came from the farm since the last time.
    fn take_news(&mut self) {
        let farm = &self.parts.farm;
        self.now_ms = farm.now_ms();
        self.connection = farm.connection();
        self.screen.lost_since_ms = match self.connection {
            Connection::Lost { .. } => Some(self.screen.lost_since_ms.unwrap_or(self.now_ms)),
            Connection::Connecting | Connection::Live => None,
        };
        let model = farm.model();
        if !self.drawn_before || !Arc::ptr_eq(&model, &self.model) {
            self.leases.follow(&model, self.now_ms);
            self.index = Index::of(&model);
            self.model = model;
            self.drawn_before = true;
            self.relist(self.is_held());
            self.settle_requests();
        }
        self.take_notices();
        self.fetch_detail();
        self.fetch_log();
        // How the folders are is asked for again and again only while somebody looks.
        if self.screen.tab == Tab::Watch || self.screen.watching.folders.value.is_none() {
            self.take_watched();
        }
    }

    fn take_notices(&mut self) {
        for notice in self.parts.farm.take_notices() {
            if notice.is_error {
                // Which order failed is only known where it names a pipeline.
                let model = &self.model;
                self.screen.requests.retain(|request, _| {
                    notice.pipeline.is_some() && notice.pipeline != pipeline_of(model, *request)
                });
            }
            self.screen.toasts.add(notice, self.now_ms);
        }
        self.screen.toasts.expire(self.now_ms);
        if self.parts.farm.orders_pending() == 0 {
            let now_ms = self.now_ms;
            self.screen
                .requests
                .retain(|_, sent_ms| now_ms.saturating_sub(*sent_ms) < REQUEST_KEPT_MS);
        }
    }

    /// An order is done when its effect is seen.
    fn settle_requests(&mut self) {
        let model = &self.model;
        self.screen.requests.retain(|request, _| match request {
            Request::Replay(job) | Request::Dismiss(job) => model.dead_letters.contains_key(job),
            Request::Cancel(id) => {
                model.pipelines.get(id).is_some_and(|row| row.status == PipelineStatus::Running)
            }
        });
    }

    /// The order of rows is held while one is selected: nothing moves under the pointer.
    pub(super) const fn is_held(&self) -> bool {
        self.screen.selection.pipeline.is_some() || self.screen.watching.selected.is_some()
    }

    pub(super) fn relist(&mut self, hold: bool) {
        self.lists.follow(&self.model, &self.index, &self.screen, hold);
    }

    fn fetch_detail(&mut self) {
        let key = self.screen.selection.pipeline;
        let kept = &mut self.screen.detail;
        if kept.key != key {
            *kept = Kept { key, ..Kept::default() };
        }
        if let Some(id) = key {
            keep(kept, self.parts.farm.pipeline(id));
        }
    }

    fn fetch_log(&mut self) {
        let key = self.telling_job();
        let kept = &mut self.screen.log;
        if kept.key != key {
            *kept = Kept { key, ..Kept::default() };
        }
        if let Some(job) = key {
            keep(kept, self.parts.farm.log_tail(job));
        }
    }

    /// The job whose log tells most: the selected one, else one that was given up, else one that
    /// runs, else the last that began.
    fn telling_job(&self) -> Option<JobId> {
        let selection = self.screen.selection;
        let pipeline = selection.pipeline?;
        if selection.job.is_some() {
            return selection.job;
        }
        let jobs = self.index.jobs_of(pipeline).iter();
        let jobs: Vec<_> = jobs.filter_map(|id| self.model.jobs.get(id)).collect();
        let last = |wanted: &dyn Fn(JobState) -> bool| {
            jobs.iter().rev().find(|job| wanted(job.state)).map(|job| job.id)
        };
        last(&|state| state == JobState::FailedTerminal)
            .or_else(|| last(&|state| state.is_leased()))
            .or_else(|| jobs.iter().rev().find(|job| job.attempt > 0).map(|job| job.id))
    }

    fn frame(&self) -> FrameContext<'_> {
        FrameContext {
            farm: self.parts.farm.as_ref(),
            model: &self.model,
            index: &self.index,
            lists: &self.lists,
            leases: &self.leases,
            pictures: &self.pictures,
            screen: &self.screen,
            connection: &self.connection,
            now_ms: self.now_ms,
        }
    }

    fn draw(&self, ui: &mut Ui, actions: &mut Actions) {
        let frame = self.frame();
        top_bar::show(&frame, ui, actions);
        status_line::show(&frame, ui);
        inspector::show(&frame, ui, actions);
        let central = Frame::new().fill(ui.visuals().panel_fill).inner_margin(Margin::ZERO);
        CentralPanel::default().frame(central).show(ui, |ui| {
            if matches!(self.connection, Connection::Lost { .. }) {
                ui.multiply_opacity(0.7);
            }
            match self.screen.tab {
                Tab::Pipelines => pipelines::show(&frame, ui, actions),
                Tab::Jobs => jobs::show(&frame, ui, actions),
                Tab::Workers => workers::show(&frame, ui, actions),
                Tab::DeadLetters => dead_letters::show(&frame, ui, actions),
                Tab::Watch => watch::show(&frame, ui, actions),
            }
        });
        dialogs::show(&frame, ui.ctx(), &self.parts.recipes, actions);
        overlay::toasts(&frame, ui, actions);
        overlay::drop_sign(ui);
    }

    fn take_keys(&self, ctx: &Context, actions: &mut Actions) {
        for command in command::pressed(ctx, self.screen.dialog.is_some()) {
            if command == Command::Back && ctx.text_edit_focused() && self.screen.dialog.is_none() {
                ctx.memory_mut(|memory| {
                    if let Some(id) = memory.focused() {
                        memory.surrender_focus(id);
                    }
                });
            } else if let Some(action) = command.action() {
                actions.push(action);
            } else if command == Command::Retake && self.screen.tab == Tab::Watch {
                actions.push(Action::Watch(WatchAction::RetakeSelected));
            } else if command == Command::Replay
                && let Some(job) = self.selected_dead_letter()
            {
                actions.push(Action::Replay(job));
            }
        }
    }

    /// The selected dead letter, or the only one of the selected pipeline.
    fn selected_dead_letter(&self) -> Option<JobId> {
        let selection = self.screen.selection;
        let letters = &self.model.dead_letters;
        let by_job = selection.job.filter(|job| letters.contains_key(job));
        let mut of_pipeline = letters
            .values()
            .filter(|letter| Some(letter.pipeline) == selection.pipeline)
            .map(|letter| letter.job);
        by_job.or_else(|| of_pipeline.next().filter(|_| of_pipeline.next().is_none()))
    }

    /// Asks for the next look at the latest time that keeps the screen true.
    fn schedule(&self, ctx: &Context) {
        if !self.model.pipelines.is_empty() {
            ctx.request_repaint_after(AGE_TICK);
        }
        let toast = self.screen.toasts.next_expiry_ms(self.now_ms);
        let request = (!self.screen.requests.is_empty()).then_some(REQUEST_KEPT_MS);
        for wait_ms in toast.into_iter().chain(request) {
            // A little late rather than a little early.
            let wait = u64::try_from(wait_ms).unwrap_or_default().saturating_add(20);
            ctx.request_repaint_after(Duration::from_millis(wait));
        }
    }
}

fn pipeline_of(model: &ReadModel, request: Request) -> Option<crate::model::PipelineId> {
    match request {
        Request::Replay(job) | Request::Dismiss(job) => {
            model.dead_letters.get(&job).map(|letter| letter.pipeline)
        }
        Request::Cancel(pipeline) => Some(pipeline),
    }
}

pub(super) fn keep<K, T>(kept: &mut Kept<K, T>, fetched: Fetched<T>) {
    match fetched {
        Fetched::Pending => {}
        Fetched::Ready(value) => {
            kept.value = Some(value);
            kept.failed = None;
        }
        Fetched::Failed(why) => kept.failed = Some(why),
    }
}

impl eframe::App for App {
    fn logic(&mut self, ctx: &Context, _frame: &mut eframe::Frame) {
        if self.parts.stop.load(Ordering::Relaxed) {
            ctx.send_viewport_cmd(ViewportCommand::Close);
        }
        self.take_news();
        self.take_picked();
    }

    fn ui(&mut self, ui: &mut Ui, _frame: &mut eframe::Frame) {
        let ctx = ui.ctx().clone();
        let mut actions = Actions::default();
        self.take_keys(&ctx, &mut actions);
        let dropped: Vec<_> = ctx.input(|input| {
            input.raw.dropped_files.iter().map(|file| file.path().to_path_buf()).collect()
        });
        if !dropped.is_empty() {
            actions.push(Action::Submit(dropped));
        }
        self.draw(ui, &mut actions);
        self.screen.once = Once::default();
        let wishes = actions.take();
        if wishes.iter().any(|wish| !matches!(wish, Action::Tick(_))) {
            ctx.request_repaint();
        }
        for wish in wishes {
            self.carry_out(&ctx, wish);
        }
        self.schedule(&ctx);
    }
}
