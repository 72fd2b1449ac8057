//! Sampling frames as floats in [0, 1].

use std::path::Path;

use rl755_data::{Dataset, FrameSampler, FrameSamplerConfig, unit_floats};
use rl755_env::ObservationRef;

use crate::{Job, Outcome};

/// Frames in a batch.
const BATCH: usize = 256;

/// Takes one batch after another, as training does.
pub(crate) struct Sampling {
    sampler: FrameSampler,
    step: u64,
    floats: Vec<f32>,
}

impl Sampling {
    pub(crate) fn new(threads: usize, dataset: &Path) -> Outcome<Self> {
        let dataset = Dataset::open(dataset)?;
        let width = dataset.manifest().environment.observation_space.width();
        let config = FrameSamplerConfig {
            batch_size: BATCH,
            reader_threads: threads,
            ..FrameSamplerConfig::default()
        };
        let sampler = FrameSampler::new(dataset.split("all")?, config)?;
        Ok(Self { sampler, step: 0, floats: vec![0.0; BATCH * width] })
    }
}

impl Job for Sampling {
    fn work(&mut self) -> Outcome<u64> {
        self.sampler.rows(self.step, &mut self.floats, |frame, row| {
            if let ObservationRef::U8(bytes) = frame {
                unit_floats(bytes, row);
            }
        })?;
        self.step += 1;
        Ok(BATCH as u64)
    }
}
