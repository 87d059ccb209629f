//! The places of a worker: so many attempts are at work at once, each with its own graphics cards
//! where the worker was told which.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::{Semaphore, SemaphorePermit};

/// All places.
#[derive(Debug)]
pub(super) struct Slots {
    semaphore: Semaphore,
    free: Mutex<BTreeSet<usize>>,
}

/// One place, free again when dropped.
#[derive(Debug)]
pub(super) struct Place<'a> {
    slots: &'a Slots,
    number: usize,
    _permit: SemaphorePermit<'a>,
}

impl Slots {
    /// `count` places.
    pub(super) fn new(count: usize) -> Self {
        Self { semaphore: Semaphore::new(count), free: Mutex::new((0..count).collect()) }
    }

    /// A place, if one is free.
    pub(super) fn try_enter(&self) -> Option<Place<'_>> {
        Some(self.place(self.semaphore.try_acquire().ok()?))
    }

    /// Waits for a place.
    pub(super) async fn enter(&self) -> Option<Place<'_>> {
        Some(self.place(self.semaphore.acquire().await.ok()?))
    }

    fn place<'a>(&'a self, permit: SemaphorePermit<'a>) -> Place<'a> {
        // There are as many numbers as permits.
        let number = self.free().pop_first().unwrap_or_default();
        Place { slots: self, number, _permit: permit }
    }

    fn free(&self) -> MutexGuard<'_, BTreeSet<usize>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place<'_> {
    /// Its number, from 0.
    pub(super) fn number(&self) -> usize {
        self.number
    }

    /// Which of the cards that the worker was told of are this place's.
    pub(super) fn gpu_mask<'m>(&self, masks: &'m [String]) -> Option<&'m String> {
        masks.get(self.number.checked_rem(masks.len())?)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        // Before the permit is free: whoever gets it finds a number.
        self.slots.free().insert(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn each_place_has_its_own_cards_and_places_beyond_share_them() {
        let slots = Slots::new(3);
        let masks = ["0".to_owned(), "1".to_owned()];
        let [one, two, three] = [(); 3].map(|()| slots.try_enter().unwrap());
        assert!(slots.try_enter().is_none());
        let cards = [&one, &two, &three].map(|place| place.gpu_mask(&masks).unwrap().as_str());
        assert_eq!(cards, ["0", "1", "0"]);
        assert_eq!(one.gpu_mask(&[]), None);
        drop(two);
        let again = slots.enter().await.unwrap();
        assert_eq!(again.gpu_mask(&masks).map(String::as_str), Some("1"));
    }
}
