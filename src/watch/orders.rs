//! What operators ask for: take a file anew, or take it back.

use super::engine::Engine;
use super::tracked::{Noted, Stage};
use crate::protocol::watch::{WatchFileState, WatchOrder};
use crate::store::{PendingWatchOrder, StoreError};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

impl Engine {
    /// Begins what was ordered. An order to take anew stays until the file was taken, so that a
    /// restart begins it again.
    pub(super) fn carry_out_orders(&mut self, now_ms: u64) -> Result<(), StoreError> {
        let store = self.tools.store.clone();
        let begun: BTreeSet<i64> =
            self.orders.values().flat_map(|ordered| ordered.ids.iter().copied()).collect();
        for order in self.tools.handle.block_on(store.watch_orders(self.id))? {
            if !begun.contains(&order.id) {
                self.carry_out(order, now_ms)?;
            }
        }
        Ok(())
    }

    fn carry_out(&mut self, pending: PendingWatchOrder, now_ms: u64) -> Result<(), StoreError> {
        let store = self.tools.store.clone();
        let path = pending.path.map(super::path);
        match (pending.order, path) {
            (WatchOrder::Retake { recipe, .. }, Some(path)) => {
                if !self.retake(&path, pending.id, recipe, now_ms) {
                    self.tools.handle.block_on(store.watch_order_done(pending.id))?;
                }
                Ok(())
            }
            (WatchOrder::Withdraw { file }, Some(_)) => {
                let done = store.withdraw(file, pending.id, &pending.actor);
                for path in self.tools.handle.block_on(done)? {
                    self.withdrawn(&super::path(path));
                }
                Ok(())
            }
            // The file was forgotten since, or the order was cut into one for each file.
            (WatchOrder::Retake { .. } | WatchOrder::Withdraw { .. }, None)
            | (WatchOrder::RetakeAll { .. }, _) => {
                self.tools.handle.block_on(store.watch_order_done(pending.id))
            }
        }
    }

    /// Whether there is something to take anew.
    fn retake(&mut self, path: &Path, order: i64, recipe: Option<String>, now_ms: u64) -> bool {
        let Some(sight) = self.get(path).map(|tracked| tracked.sight) else { return false };
        let key = self.key_of(path);
        let ordered = self.orders.entry(key.clone()).or_default();
        ordered.ids.push(order);
        ordered.recipe = recipe;
        let main = if self.get(&key).is_some() { key } else { path.to_owned() };
        let sight = self.get(&main).map_or(sight, |tracked| tracked.sight);
        if !self.taking.contains(&main) {
            self.begin(&main, sight, now_ms);
        }
        true
    }

    /// The unit that a file is taken with.
    fn key_of(&self, path: &Path) -> PathBuf {
        self.claims.of(path).or_else(|| self.parts.get(path)).map_or(path, |key| key).to_owned()
    }

    fn withdrawn(&mut self, path: &Path) {
        let Some(tracked) = self.get_mut(path) else { return };
        let before = std::mem::replace(&mut tracked.stage, Stage::Ended(WatchFileState::Withdrawn));
        let state = Some(WatchFileState::Withdrawn);
        tracked.noted = Noted { state, why: None, reason: None };
        if let Stage::Settling { look_at_ms, .. } = before {
            self.due.remove(&(look_at_ms, path.to_owned()));
        }
        self.plan_folder_of(path);
    }

    /// The orders that a unit was taken for are carried out.
    pub(super) fn finish_orders(&mut self, key: &Path) {
        let Some(ordered) = self.orders.remove(key) else { return };
        let store = self.tools.store.clone();
        for id in ordered.ids {
            if let Err(error) = self.tools.handle.block_on(store.watch_order_done(id)) {
                tracing::warn!(%error, "an order that was carried out cannot be crossed out");
            }
        }
    }
}
