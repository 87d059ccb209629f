//! Chunks: the frames of one job each.

use super::{FrameList, print};

/// What one start of a renderer can draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChunkShape {
    /// Any frames.
    List,
    /// A first frame, a last frame and one step between them.
    Run,
}

impl FrameList {
    /// The frames cut into chunks of at most `size`, in order; a size of 0 is 1.
    pub fn chunks(&self, size: u32, shape: ChunkShape) -> Vec<FrameList> {
        let size = usize::try_from(size.max(1)).unwrap_or(usize::MAX);
        let mut chunks = Vec::new();
        let mut rest = self.as_slice();
        while !rest.is_empty() {
            let most = size.min(rest.len());
            let length = match shape {
                ChunkShape::List => most,
                ChunkShape::Run => {
                    print::run_length(rest).map_or(1, |(length, _)| length).clamp(1, most)
                }
            };
            let (chunk, after) = rest.split_at(length);
            chunks.push(FrameList(chunk.to_vec()));
            rest = after;
        }
        chunks
    }
}

/// How many frames make a chunk that takes about `target_ms`, where frames took `frame_ms` and a
/// start takes `start_ms` more; `most` bounds it. Without measured frames it is 1, so that the
/// first chunks measure.
pub fn chunk_size(target_ms: u64, start_ms: u64, frame_ms: &[u64], most: u32) -> u32 {
    let count = u64::try_from(frame_ms.len()).unwrap_or(u64::MAX);
    let sum = frame_ms.iter().fold(0_u64, |sum, ms| sum.saturating_add(*ms));
    let Some(mean_ms) = sum.checked_div(count) else { return 1 };
    let frames = target_ms.saturating_sub(start_ms) / mean_ms.max(1);
    u32::try_from(frames).unwrap_or(u32::MAX).clamp(1, most.max(1))
}
