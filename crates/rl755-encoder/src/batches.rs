//! Batches of observations, prepared while the step before them runs.

use rl755_data::{Ahead, DatasetError, FrameSampler, Observations};
use rl755_env::ObservationRef;

use crate::input_form::InputForm;

/// The batches of a training by number: observations in the input space, one row after another.
pub(crate) type Batches = Ahead<Result<Vec<f32>, DatasetError>>;

/// The first `count` batches of `sampler`.
pub(crate) fn batches(sampler: FrameSampler, form: InputForm, count: u64) -> Batches {
    Ahead::new(count, move |batch| {
        let mut rows = vec![0.0; sampler.config().batch_size * form.input().width()];
        sampler.rows(batch, &mut rows, |observation, row| form.fill(observation, row))?;
        Ok(rows)
    })
}

/// Sampled observations in the input space.
pub(crate) fn rows_of(observations: &Observations, form: &InputForm) -> Vec<f32> {
    const CONTIGUOUS: &str = "batches are made contiguous";
    match observations {
        Observations::Frames(frames) => {
            form.rows(ObservationRef::U8(frames.as_slice().expect(CONTIGUOUS)))
        }
        Observations::Vectors(vectors) => {
            form.rows(ObservationRef::F32(vectors.as_slice().expect(CONTIGUOUS)))
        }
    }
}
