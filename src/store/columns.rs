//! How the model's words stand in columns.

use super::StoreError;
use crate::model::{
    AssetKind, AssetName, Checksum, Chunk, Epoch, ErrorClass, JobId, JobState, Mode, Name,
    PipelineId, PipelineStatus, ProjectId, Reason, SessionId, Stage, StageStatus, TraceId,
    WatchFileId, WatchFolderId,
};
use crate::protocol::view::AttemptOutcome;
use crate::protocol::watch::{DropOutcome, WatchFileState};
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};

macro_rules! number_column {
    ($($name:ident),+) => { $(
        impl ToSql for $name {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok(self.0.into())
            }
        }
        impl FromSql for $name {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                FromSql::column_result(value).map(Self)
            }
        }
    )+ };
}

number_column!(PipelineId, JobId, ProjectId, Epoch, WatchFolderId, WatchFileId);

macro_rules! text_column {
    ($($name:ident: $parse:expr;)+) => { $(
        impl ToSql for $name {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok(self.as_str().into())
            }
        }
        impl FromSql for $name {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                let text = value.as_str()?;
                let parse: fn(&str) -> Option<Self> = $parse;
                parse(text).ok_or_else(|| FromSqlError::Other(
                    format!("'{text}' is no {}", stringify!($name)).into(),
                ))
            }
        }
    )+ };
}

text_column! {
    Stage: |text| text.parse().ok();
    StageStatus: Self::parse;
    PipelineStatus: Self::parse;
    JobState: Self::parse;
    ErrorClass: Self::parse;
    AssetKind: Self::parse;
    AssetName: |text| text.parse().ok();
    SessionId: Self::parse;
    TraceId: Self::parse;
    AttemptOutcome: Self::parse;
    Mode: Self::parse;
    Name: |text| text.parse().ok();
    WatchFileState: Self::parse;
    DropOutcome: Self::parse;
}

impl ToSql for Reason {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.code().into())
    }
}

impl FromSql for Reason {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        // A code of a newer version must not hide the row.
        Ok(Self::parse(value.as_str()?).unwrap_or(Self::Unexpected))
    }
}

impl ToSql for Chunk {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.to_string().into())
    }
}

impl FromSql for Chunk {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value.as_str()?.parse().map_err(FromSqlError::other)
    }
}

impl ToSql for Checksum {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.as_bytes().as_slice().into())
    }
}

impl FromSql for Checksum {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        <[u8; 32]>::column_result(value).map(Self::from_bytes)
    }
}

/// JSON that we write ourselves.
pub(super) fn to_json<T: serde::Serialize>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Sqlite(error.to_string()))
}

/// JSON that we wrote ourselves.
pub(super) fn from_json<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|error| StoreError::Sqlite(error.to_string()))
}

/// A size for an INTEGER column.
pub(super) fn size_column(size_bytes: u64) -> i64 {
    i64::try_from(size_bytes).unwrap_or(i64::MAX)
}

/// A size from an INTEGER column.
pub(super) fn size_value(column: i64) -> u64 {
    u64::try_from(column).unwrap_or(0)
}
