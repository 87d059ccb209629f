//! From a range with a step to its frames.

/// What is taken of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Take {
    /// Every `step`-th frame, from the first on.
    Every,
    /// All frames but those.
    AllBut,
    /// Every `step`-th first, then with half the step those not taken yet, down to step 1.
    Interleaved,
}

/// How many frames a range from `first` to `last` gives; counted without making them.
pub(super) fn count(first: i32, last: i32, take: Take, step: u32) -> u64 {
    let span = u64::from(last.abs_diff(first)) + 1;
    let every = span.div_ceil(u64::from(step.max(1)));
    match take {
        Take::Every => every,
        Take::AllBut => span - every,
        Take::Interleaved => span,
    }
}

/// The frames of a range in order; the caller has bounded their count.
pub(super) fn expand(first: i32, last: i32, take: Take, step: u32) -> Vec<i32> {
    let span = last.abs_diff(first);
    let step = step.max(1);
    let at = |offset: u32| {
        let offset = i64::from(offset);
        let frame = i64::from(first) + if last < first { -offset } else { offset };
        i32::try_from(frame).unwrap_or(last)
    };
    let all = 0..=span;
    match take {
        Take::Every => all.step_by(step as usize).map(at).collect(),
        Take::AllBut => all.filter(|offset| offset % step != 0).map(at).collect(),
        Take::Interleaved => {
            let mut taken = vec![false; span as usize + 1];
            let mut frames = Vec::with_capacity(taken.len());
            let mut step = step;
            while step > 0 {
                for offset in (0..=span).step_by(step as usize) {
                    if let Some(taken) = taken.get_mut(offset as usize)
                        && !std::mem::replace(taken, true)
                    {
                        frames.push(at(offset));
                    }
                }
                step /= 2;
            }
            frames
        }
    }
}
