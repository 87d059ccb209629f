//! Every refusal in one place: which status, which code, what to do now.

use crate::artifacts::ArtifactError;
use crate::model::Reason;
use crate::protocol::problem::{Problem, ProblemCode};
use crate::recipes::SettingError;
use crate::store::StoreError;
use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::collections::BTreeMap;
use utoipa::openapi::{ContentBuilder, Ref, RefOr, ResponseBuilder};

/// Seconds after which a client that was told "busy" tries again.
const RETRY_AFTER_S: HeaderValue = HeaderValue::from_static("1");
const STORE_DOWN: &str = "See the coordinator's log; restart it if this goes on.";

/// A call that was refused.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) problem: Problem,
}

impl Refusal {
    pub(super) fn new(
        status: StatusCode,
        code: ProblemCode,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let problem =
            Problem { code, message: message.into(), remedy: remedy.into(), reason: None };
        Self { status, problem }
    }

    /// 422: a body or parameter breaks a rule.
    pub(super) fn invalid(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, ProblemCode::Invalid, message, remedy)
    }

    /// 503: a bound is reached.
    pub(super) fn busy(message: impl Into<String>) -> Self {
        let remedy = "Try again in a moment.";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, ProblemCode::Busy, message, remedy)
    }

    /// 500: a fault of the coordinator.
    pub(super) fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, ProblemCode::Internal, message, STORE_DOWN)
    }

    /// 409: the session has ended.
    pub(super) fn unknown_session() -> Self {
        StoreError::UnknownSession.into()
    }

    /// The refusal is about content: names the reason and its remedy.
    pub(super) fn because(mut self, reason: Reason) -> Self {
        self.problem.reason = Some(reason);
        self
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let busy = self.problem.code == ProblemCode::Busy;
        let mut response = (self.status, Json(self.problem)).into_response();
        if busy {
            response.headers_mut().insert(header::RETRY_AFTER, RETRY_AFTER_S);
        }
        if self.status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
            // A stranger keeps no connection.
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        let (status, code, remedy) = match &error {
            StoreError::UnknownSession => (
                StatusCode::CONFLICT,
                ProblemCode::UnknownSession,
                "Stop every job of the session and open a new one.",
            ),
            StoreError::Superseded(_) => (
                StatusCode::CONFLICT,
                ProblemCode::Superseded,
                "Stop the job and report nothing more.",
            ),
            StoreError::Cancelled(_) => (
                StatusCode::CONFLICT,
                ProblemCode::Cancelled,
                "Stop the job and report nothing more.",
            ),
            StoreError::Finished(_) => (
                StatusCode::CONFLICT,
                ProblemCode::Finished,
                "Stop the job and report nothing more.",
            ),
            StoreError::Conflict(_) => (
                StatusCode::CONFLICT,
                ProblemCode::Conflict,
                "Look at its state now and decide again.",
            ),
            StoreError::NotFound(_) => {
                (StatusCode::NOT_FOUND, ProblemCode::NotFound, "Check the id.")
            }
            StoreError::Invalid(_) => {
                (StatusCode::UNPROCESSABLE_ENTITY, ProblemCode::Invalid, "Correct the request.")
            }
            StoreError::Busy(_) | StoreError::Closed => {
                (StatusCode::SERVICE_UNAVAILABLE, ProblemCode::Busy, "Try again in a moment.")
            }
            StoreError::QueueFull { .. } => {
                (StatusCode::TOO_MANY_REQUESTS, ProblemCode::Busy, Reason::QueueFull.remedy())
            }
            StoreError::DiskFull => (
                StatusCode::INSUFFICIENT_STORAGE,
                ProblemCode::StorageFull,
                Reason::StorageFull.remedy(),
            ),
            StoreError::Sqlite(_) | StoreError::Unusable(_) => {
                (StatusCode::INTERNAL_SERVER_ERROR, ProblemCode::Internal, STORE_DOWN)
            }
        };
        let refusal = Self::new(status, code, error.to_string(), remedy);
        match error {
            StoreError::DiskFull => refusal.because(Reason::StorageFull),
            StoreError::QueueFull { .. } => refusal.because(Reason::QueueFull),
            _ => refusal,
        }
    }
}

impl From<ArtifactError> for Refusal {
    fn from(error: ArtifactError) -> Self {
        let message = error.to_string();
        match error {
            ArtifactError::Mismatch { .. } => {
                Self::invalid(message, "Send the file again.").because(Reason::ArtifactMismatch)
            }
            ArtifactError::TooLarge { .. } => Self::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                ProblemCode::Invalid,
                message,
                "Make the file smaller.",
            )
            .because(Reason::InputTooLarge),
            ArtifactError::Interrupted(_) => Self::new(
                StatusCode::BAD_REQUEST,
                ProblemCode::Invalid,
                message,
                "Send the file again.",
            ),
            ArtifactError::DiskFull { .. } => Self::new(
                StatusCode::INSUFFICIENT_STORAGE,
                ProblemCode::StorageFull,
                message,
                Reason::StorageFull.remedy(),
            )
            .because(Reason::StorageFull),
            ArtifactError::Missing(_) => Self::new(
                StatusCode::NOT_FOUND,
                ProblemCode::NotFound,
                message,
                "Upload the bytes, or check the checksum.",
            )
            .because(Reason::ArtifactMissing),
            ArtifactError::Name(_) | ArtifactError::SameName(_) => {
                Self::invalid(message, "Rename the file.")
            }
            ArtifactError::Damaged { .. }
            | ArtifactError::Read { .. }
            | ArtifactError::Write { .. }
            | ArtifactError::Random(_)
            | ArtifactError::Stopped => Self::internal(message),
        }
    }
}

impl From<SettingError> for Refusal {
    fn from(error: SettingError) -> Self {
        Self::invalid(error.to_string(), Reason::SettingInvalid.remedy())
            .because(Reason::SettingInvalid)
    }
}

/// Documents the refusals that every call can get.
pub(super) struct Refusals;

impl utoipa::IntoResponses for Refusals {
    fn responses() -> BTreeMap<String, RefOr<utoipa::openapi::Response>> {
        [
            ("400", "The body is not JSON or ended early"),
            ("401", "No token, or a wrong one"),
            ("404", "Nothing has this id"),
            ("413", "The body is too large"),
            ("422", "The body or a parameter breaks a rule"),
            ("500", "A fault of the coordinator"),
            ("503", "A bound is reached: try again after `Retry-After` seconds"),
        ]
        .into_iter()
        .map(|(status, text)| (status.to_owned(), documented(text)))
        .collect()
    }
}

/// Documents the refusals that calls which change something can get besides [`Refusals`].
pub(super) struct Conflicts;

impl utoipa::IntoResponses for Conflicts {
    fn responses() -> BTreeMap<String, RefOr<utoipa::openapi::Response>> {
        [
            ("409", "The session, claim or state does not allow it; see the code"),
            ("429", "As many jobs wait in a queue as may"),
            ("507", "The coordinator's disk is full"),
        ]
        .into_iter()
        .map(|(status, text)| (status.to_owned(), documented(text)))
        .collect()
    }
}

fn documented(text: &str) -> RefOr<utoipa::openapi::Response> {
    let content = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
    ResponseBuilder::new().description(text).content("application/json", content).build().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::JobId;

    #[test]
    fn each_store_error_has_its_status() {
        let job = JobId(7);
        for (error, status) in [
            (StoreError::UnknownSession, 409),
            (StoreError::Superseded(job), 409),
            (StoreError::Cancelled(job), 409),
            (StoreError::Finished(job), 409),
            (StoreError::Conflict("x".into()), 409),
            (StoreError::NotFound("x".into()), 404),
            (StoreError::Invalid("x".into()), 422),
            (StoreError::Busy(9), 503),
            (StoreError::DiskFull, 507),
            (StoreError::QueueFull { queue: "x".into(), queued: 1, max_queued: 1 }, 429),
            (StoreError::Sqlite("x".into()), 500),
        ] {
            let refusal = Refusal::from(error);
            assert_eq!(refusal.status.as_u16(), status, "{refusal:?}");
            assert!(!refusal.problem.remedy.is_empty());
        }
    }

    #[test]
    fn busy_tells_when_to_try_again() {
        let response = Refusal::from(StoreError::Busy(9)).into_response();
        assert_eq!(response.headers().get(header::RETRY_AFTER), Some(&RETRY_AFTER_S));
    }
}
