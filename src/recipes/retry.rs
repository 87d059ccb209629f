//! How a recipe changes the retries of one stage: attempts and waits for each class of error.

use super::SettingError;
use crate::model::limits;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `[stages.retry]`: what differs from the farm's own policy. There is no table for permanent
/// failures: trying them again gives the same.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RetryRules {
    /// Failures that go away by themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transient: Option<RetryRule>,
    /// Failures that somebody must do something about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intervention: Option<RetryRule>,
    /// Crashes, signals, lost leases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<RetryRule>,
    /// How long a job waits for a licence in all, in seconds, before it is given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub licence_wait_s: Option<u64>,
}

/// The retries of one class.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RetryRule {
    /// Attempts in all, the first one included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// Seconds before the second, third … attempt; the last one repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_s: Option<Vec<u64>>,
}

impl RetryRules {
    /// Checks every bound.
    pub fn check(&self) -> Result<(), SettingError> {
        if let Some(value) = self.licence_wait_s.filter(|wait_s| *wait_s > limits::LICENCE_WAIT_S) {
            return Err(SettingError::OutOfBounds {
                key: "retry.licence_wait_s",
                value,
                bounds: "at most 604800, a week",
            });
        }
        [&self.transient, &self.intervention, &self.unknown]
            .into_iter()
            .flatten()
            .try_for_each(RetryRule::check)
    }
}

impl RetryRule {
    fn check(&self) -> Result<(), SettingError> {
        if let Some(attempts) = self.attempts
            && !(1..=limits::ATTEMPTS_PER_JOB).contains(&attempts)
        {
            return Err(SettingError::OutOfBounds {
                key: "retry.attempts",
                value: attempts.into(),
                bounds: "1 to 50",
            });
        }
        let Some(waits_s) = &self.waits_s else { return Ok(()) };
        let count = u64::try_from(waits_s.len()).unwrap_or(u64::MAX);
        if count == 0 || count > u64::from(limits::ATTEMPTS_PER_JOB) {
            return Err(SettingError::OutOfBounds {
                key: "retry.waits_s",
                value: count,
                bounds: "1 to 50 waits long",
            });
        }
        match waits_s.iter().find(|wait| **wait > limits::RETRY_WAIT_S) {
            None => Ok(()),
            Some(longest) => Err(SettingError::OutOfBounds {
                key: "retry.waits_s",
                value: *longest,
                bounds: "at most 86400 each, a day",
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<(), String> {
        let rules: RetryRules = toml::from_str(text).map_err(|error| error.to_string())?;
        rules.check().map_err(|error| error.to_string())
    }

    #[test]
    fn rules_are_typed_and_bounded_and_unknown_keys_are_refused() {
        for good in [
            "",
            "licence_wait_s = 0",
            "[transient]\nattempts = 6\nwaits_s = [10, 60]",
            "[unknown]\nattempts = 1",
            "[intervention]\nwaits_s = [86400]",
        ] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in [
            "licence_wait_s = 604801",
            "[transient]\nattempts = 0",
            "[transient]\nattempts = 51",
            "[transient]\nwaits_s = []",
            "[transient]\nwaits_s = [86401]",
            "[transient]\nwaits_s = ['soon']",
            "[transient]\ntries = 3",
            "[permanent]\nattempts = 3",
        ] {
            assert!(check(bad).is_err(), "{bad}");
        }
    }
}
