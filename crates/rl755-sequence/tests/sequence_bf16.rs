//! Sequence models learn in bfloat16.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod precision;

#[test]
fn sequence_models_learn_in_bfloat16() {
    precision::every_model_learns(rl755_nn::Precision::Bf16);
}
