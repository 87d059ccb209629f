//! The canonical text of frames.

/// Runs of two are longer as a run than as a list only where the step is not 1.
const SHORTEST_RUN: usize = 3;

/// The text from which the same frames are read: runs as `a-b` and `a-bxN`, the longest first run
/// at each place.
pub(super) fn canonical(frames: &[i32]) -> String {
    let mut parts = Vec::new();
    let mut rest = frames;
    while let Some((first, _)) = rest.split_first() {
        let (length, step) = run_length(rest).unwrap_or((1, 1));
        let is_run = length >= SHORTEST_RUN || (length == 2 && step.unsigned_abs() == 1);
        let taken = if is_run { length } else { 1 };
        let last = rest.get(taken - 1).unwrap_or(first);
        parts.push(match (taken, step.unsigned_abs()) {
            (1, _) => first.to_string(),
            (_, 1) => format!("{first}-{last}"),
            (_, step) => format!("{first}-{last}x{step}"),
        });
        rest = rest.get(taken..).unwrap_or_default();
    }
    parts.join(",")
}

/// How many frames from the first on have one step between them, and which.
pub(super) fn run_length(frames: &[i32]) -> Option<(usize, i32)> {
    let first = *frames.first()?;
    let Some(second) = frames.get(1) else { return Some((1, 1)) };
    let step = second.checked_sub(first)?;
    let steady = |pair: &&[i32]| match pair {
        [a, b] => b.checked_sub(*a) == Some(step),
        _ => false,
    };
    Some((1 + frames.windows(2).take_while(steady).count(), step))
}
