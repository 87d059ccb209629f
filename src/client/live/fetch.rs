//! Fetches what a window looks at: pictures, pipelines in full, log ends.

use super::cache::{Cache, Look};
use super::shared::{Shared, lock};
use super::{Fetched, Pixels};
use crate::model::{Checksum, JobId, PipelineId};
use crate::protocol::view::PipelineDetail;
use std::future::Future;
use std::hash::Hash;
use std::io::Cursor;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Largest picture file fetched.
const PICTURE_FILE_BYTES: usize = 64 << 20;
/// Longest edge of a picture that is decoded, in pixels.
const PICTURE_EDGE: u32 = 16_384;
/// Most memory one picture may take while it is decoded.
const PICTURE_ALLOC_BYTES: u64 = 512 << 20;
/// The end of a log that is shown.
const LOG_BYTES: i64 = 64 << 10;
/// A log that grows while it is sent may be a little longer.
const LOG_LIMIT_BYTES: usize = 8 << 20;

pub(super) fn picture(shared: &Arc<Shared>, checksum: Checksum) -> Fetched<Pixels> {
    look(shared, |shared| &shared.pictures, checksum, false, fetch_picture)
}

pub(super) fn pipeline(shared: &Arc<Shared>, pipeline: PipelineId) -> Fetched<PipelineDetail> {
    look(shared, |shared| &shared.details, pipeline, false, fetch_pipeline)
}

pub(super) fn log_tail(shared: &Arc<Shared>, job: JobId) -> Fetched<String> {
    let runs = shared.model().jobs.get(&job).is_some_and(|row| row.state.is_leased());
    look(shared, |shared| &shared.logs, job, runs, fetch_log)
}

/// What the cache holds now; where it needs a fetch, one is started.
pub(super) fn look<K, V, F>(
    shared: &Arc<Shared>,
    cache: fn(&Shared) -> &Mutex<Cache<K, V>>,
    key: K,
    moving: bool,
    fetch: fn(Arc<Shared>, K) -> F,
) -> Fetched<V>
where
    K: Eq + Hash + Copy + Send + 'static,
    V: Send + Sync + 'static,
    F: Future<Output = Result<(V, usize), String>> + Send + 'static,
{
    let now_ms = shared.now_mono_ms();
    let Look { value, fetch_in_ms } = lock(cache(shared)).look(key, moving, now_ms);
    if let Some(wait_ms) = fetch_in_ms {
        let task = Arc::clone(shared);
        shared.spawn(async move {
            tokio::time::sleep(Duration::from_millis(wait_ms)).await;
            lock(cache(&task)).begin(key);
            let result = fetch(Arc::clone(&task), key).await;
            let now_ms = task.now_mono_ms();
            lock(cache(&task)).finish(key, result, now_ms);
            task.wake();
        });
    }
    value
}

/// What was fetched, and how heavy it is in its cache.
pub(super) type Weighed<T> = Result<(T, usize), String>;

async fn fetch_picture(shared: Arc<Shared>, checksum: Checksum) -> Weighed<Pixels> {
    let _slot = shared.picture_slots.acquire().await.map_err(|error| error.to_string())?;
    let file = shared.client.artifact(checksum, PICTURE_FILE_BYTES).await;
    let file = file.map_err(|error| error.to_string())?;
    let pixels = tokio::task::spawn_blocking(move || decode(&file));
    let pixels = pixels.await.map_err(|error| error.to_string())??;
    let weight = pixels.rgba.len();
    Ok((pixels, weight))
}

async fn fetch_pipeline(shared: Arc<Shared>, pipeline: PipelineId) -> Weighed<PipelineDetail> {
    let detail = shared.client.pipeline(pipeline).await.map_err(|error| error.to_string())?;
    Ok((detail, 1))
}

async fn fetch_log(shared: Arc<Shared>, job: JobId) -> Weighed<String> {
    let part = shared.client.log(job, None, -LOG_BYTES, LOG_LIMIT_BYTES).await;
    let part = part.map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&part.bytes);
    let is_cut = part.size_bytes > part.bytes.len() as u64;
    let whole = match text.split_once('\n') {
        Some((_, rest)) if is_cut => rest.to_owned(),
        _ => text.into_owned(),
    };
    Ok((whole, 1))
}

fn decode(file: &[u8]) -> Result<Pixels, String> {
    let failed = |why: String| format!("the picture cannot be shown: {why}");
    let mut limits = image::Limits::default();
    limits.max_image_width = Some(PICTURE_EDGE);
    limits.max_image_height = Some(PICTURE_EDGE);
    limits.max_alloc = Some(PICTURE_ALLOC_BYTES);
    let mut reader = image::ImageReader::new(Cursor::new(file))
        .with_guessed_format()
        .map_err(|error| failed(error.to_string()))?;
    reader.limits(limits);
    let picture = reader.decode().map_err(|error| failed(error.to_string()))?.into_rgba8();
    let (width, height) = picture.dimensions();
    Ok(Pixels { width, height, rgba: picture.into_raw() })
}
