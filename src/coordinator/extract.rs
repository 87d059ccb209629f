//! What calls carry: a path, a query, a JSON body. Whatever is wrong with them is a [`Refusal`].

use super::problem::Refusal;
use crate::model::limits;
use crate::protocol::problem::ProblemCode;
use crate::store::Page;
use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use futures_util::StreamExt;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::time::Duration;

/// A JSON body must be here within this time.
const JSON_BODY_TIME: Duration = Duration::from_secs(30);
/// Rows of a listing when the call does not say.
const DEFAULT_ROWS: u32 = 100;

/// A JSON body of at most [`limits::JSON_BODY_BYTES`].
pub(super) struct JsonBody<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Refusal> {
        let reading = collect(request.into_body(), limits::JSON_BODY_BYTES);
        let bytes = tokio::time::timeout(JSON_BODY_TIME, reading)
            .await
            .map_err(|_| bad_request("the body did not arrive within 30 s"))??;
        parse(&bytes).map(Self)
    }
}

async fn collect(body: Body, max_bytes: usize) -> Result<Vec<u8>, Refusal> {
    let mut stream = body.into_data_stream();
    let mut bytes = Vec::new();
    while let Some(piece) = stream.next().await {
        let piece = piece.map_err(|error| bad_request(format!("the body broke off: {error}")))?;
        if bytes.len().saturating_add(piece.len()) > max_bytes {
            return Err(Refusal::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                ProblemCode::Invalid,
                format!("the body is larger than {max_bytes} bytes"),
                "Send less in one call.",
            ));
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(bytes).map_err(|error| {
        if error.is_data() {
            let message = format!("the body does not fit: {error}");
            Refusal::invalid(message, "Correct the body; see /v1/openapi.json for its form.")
        } else {
            bad_request(format!("the body is not JSON: {error}"))
        }
    })
}

fn bad_request(message: impl Into<String>) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, ProblemCode::Invalid, message, "Send the call again.")
}

/// The parameters in the path.
pub(super) struct At<T>(pub(super) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for At<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let Path(value) = Path::<T>::from_request_parts(parts, state)
            .await
            .map_err(|error| Refusal::invalid(error.body_text(), "Correct the path."))?;
        Ok(Self(value))
    }
}

/// The parameters in the query.
pub(super) struct Params<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Params<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Refusal> {
        let Query(value) = Query::<T>::try_from_uri(&parts.uri)
            .map_err(|error| Refusal::invalid(error.body_text(), "Correct the query."))?;
        Ok(Self(value))
    }
}

/// One page of a listing.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct PageParams {
    pub(super) before: Option<i64>,
    pub(super) limit: Option<u32>,
}

impl From<PageParams> for Page {
    fn from(params: PageParams) -> Self {
        let limit = params.limit.unwrap_or(DEFAULT_ROWS).clamp(1, limits::ROWS_PER_PAGE);
        Self { before: params.before, limit }
    }
}

/// Cuts a text to at most `max_bytes`, at the border of a letter.
pub(super) fn cut(mut text: String, max_bytes: usize) -> String {
    text.truncate(text.floor_char_boundary(max_bytes));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::submit::Order;

    #[test]
    fn a_body_that_is_not_json_differs_from_one_that_does_not_fit() {
        let broken = parse::<Order>(b"{\"actor\":").map_err(|refusal| refusal.status);
        assert_eq!(broken.err(), Some(StatusCode::BAD_REQUEST));
        let refusal = parse::<Order>(b"{\"actor\":\"ana\"}").err().unwrap();
        assert_eq!(refusal.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert!(refusal.problem.message.contains("reason"), "{}", refusal.problem.message);
    }

    #[tokio::test]
    async fn a_body_over_its_bound_is_refused() {
        let refusal = collect(Body::from(vec![b' '; 11]), 10).await.err().unwrap();
        assert_eq!(refusal.status, StatusCode::PAYLOAD_TOO_LARGE);
        assert_eq!(collect(Body::from("0123456789"), 10).await.unwrap().len(), 10);
    }

    #[test]
    fn pages_are_bounded() {
        let page = Page::from(PageParams { before: None, limit: Some(u32::MAX) });
        assert_eq!(page.limit, limits::ROWS_PER_PAGE);
        assert_eq!(Page::from(PageParams { before: None, limit: Some(0) }).limit, 1);
    }

    #[test]
    fn texts_are_cut_between_letters() {
        assert_eq!(cut("aä".to_owned(), 2), "a");
        assert_eq!(cut("aä".to_owned(), 3), "aä");
    }
}
