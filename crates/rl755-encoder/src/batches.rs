//! Batches of observations, prepared while the step before them runs.

use std::{sync::Arc, thread::JoinHandle};

use rl755_data::{DatasetError, FrameSampler, Observations};
use rl755_env::ObservationRef;

use crate::input_form::InputForm;

/// The batches of a training by number. A batch depends on its number alone.
pub(crate) struct Batches {
    source: Arc<Source>,
    /// The batch that is being prepared.
    next: Option<(u64, JoinHandle<Rows>)>,
    /// How many batches will be asked for.
    count: u64,
}

/// Observations in the input space, one row after another.
type Rows = Result<Vec<f32>, DatasetError>;

struct Source {
    sampler: FrameSampler,
    form: InputForm,
}

impl Source {
    fn rows(&self, batch: u64) -> Rows {
        Ok(rows_of(&self.sampler.batch(batch)?, &self.form))
    }
}

impl Batches {
    /// The first `count` batches of `sampler`.
    pub(crate) fn new(sampler: FrameSampler, form: InputForm, count: u64) -> Self {
        Self { source: Arc::new(Source { sampler, form }), next: None, count }
    }

    /// Batch `number`, from 0. Begins to prepare the one after it.
    pub(crate) fn rows(&mut self, number: u64) -> Rows {
        let prepared = self.next.take().filter(|(batch, _)| *batch == number);
        let rows = match prepared {
            Some((_, thread)) => {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            }
            None => self.source.rows(number),
        }?;
        let next = number + 1;
        if next < self.count {
            let source = Arc::clone(&self.source);
            self.next = Some((next, std::thread::spawn(move || source.rows(next))));
        }
        Ok(rows)
    }
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
