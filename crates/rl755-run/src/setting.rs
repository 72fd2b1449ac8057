//! Settings that cannot be worked with.

use std::fmt::Display;

/// A setting that cannot be worked with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {value}; it must be {expected}")]
pub struct SettingError {
    /// The setting.
    pub field: &'static str,
    /// Its value.
    pub value: String,
    /// What it must be.
    pub expected: String,
}

impl SettingError {
    /// Says that `field` is `value` and must be what `expected` says.
    pub fn new(field: &'static str, value: impl Display, expected: impl Into<String>) -> Self {
        Self { field, value: value.to_string(), expected: expected.into() }
    }

    /// Rejects the first of `settings` that is not from 1 to `most`.
    ///
    /// # Errors
    /// When one is not.
    pub fn check_range<const N: usize>(
        most: u64,
        settings: [(&'static str, u64); N],
    ) -> Result<(), Self> {
        match settings.into_iter().find(|(_, value)| !(1..=most).contains(value)) {
            Some((field, value)) if most == u64::MAX => Err(Self::new(field, value, "at least 1")),
            Some((field, value)) => Err(Self::new(field, value, format!("from 1 to {most}"))),
            None => Ok(()),
        }
    }

    /// Rejects the first of `settings` that is 0.
    ///
    /// # Errors
    /// When one is.
    pub fn check_not_zero<const N: usize>(settings: [(&'static str, u64); N]) -> Result<(), Self> {
        Self::check_range(u64::MAX, settings)
    }
}
