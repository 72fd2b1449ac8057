//! The environments beside Gymnasium's, and against their promises.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod golden;
mod promises;
mod scene;
