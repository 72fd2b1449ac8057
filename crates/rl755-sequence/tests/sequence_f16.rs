//! Sequence models learn in IEEE half precision, whose range is small.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod precision;

#[test]
fn sequence_models_learn_in_half_precision() {
    precision::every_model_learns(rl755_nn::Precision::F16);
}
