//! The loss on rollouts that a model was not trained on.

use burn::tensor::Device;
use ndarray::Array1;
use rl755_data::DatasetError;
use rl755_nn::seeded;
use rl755_run::derive_seed;

use crate::{SequenceNetwork, batches::Batches};

/// Measures models on the same batches every time.
#[derive(Debug)]
pub(crate) struct Validation {
    pub(crate) batches: Batches,
    /// How many batches.
    pub(crate) count: u64,
}

impl Validation {
    /// `validation_loss` of `network`, without dropout, its parts, and `validation_baseline`, the
    /// loss of repeating the last latent: to be compared with `validation_latent_loss` where the
    /// loss has that part.
    ///
    /// # Errors
    /// When a rollout is damaged or cannot be read.
    pub(crate) fn measure<N: SequenceNetwork>(
        &self,
        network: &N,
        device: &Device,
    ) -> Result<Vec<(String, f64)>, DatasetError> {
        let mut sums: Vec<(String, f64)> = Vec::new();
        let mut changes: Option<Array1<f64>> = None;
        for step in 0..self.count {
            let sequences = self.batches.sequences(step)?;
            let batch = self.batches.tensors(&sequences, 0..sequences.len(), device);
            let seed = derive_seed(self.batches.seed, "losses", step);
            let losses = seeded(device, seed, || network.losses(&batch)).metrics();
            sums.resize_with(losses.len(), Default::default);
            for (sum, (name, value)) in sums.iter_mut().zip(losses) {
                *sum = (name, sum.1 + value);
            }
            let more = sequences.squared_changes() / self.count as f64;
            changes = Some(changes.map_or_else(|| more.clone(), |sum| sum + &more));
        }
        let mean = |(name, sum)| (format!("validation_{name}"), sum / self.count as f64);
        let mut metrics: Vec<(String, f64)> = sums.into_iter().map(mean).collect();
        if let Some(baseline) = changes.and_then(|c| network.baseline(&c.to_vec())) {
            metrics.push(("validation_baseline".to_owned(), baseline));
        }
        Ok(metrics)
    }
}
