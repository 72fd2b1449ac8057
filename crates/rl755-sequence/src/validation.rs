//! The loss on rollouts that a model was not trained on.

use burn::tensor::Device;
use ndarray::Array1;
use rl755_data::DatasetError;

use crate::{SequenceNetwork, batches::Batches};

/// Measures models on the same batches every time.
#[derive(Debug)]
pub(crate) struct Validation {
    pub(crate) batches: Batches,
    /// How many batches.
    pub(crate) count: u64,
}

impl Validation {
    /// `validation_loss` of `network`, without dropout, and `validation_baseline`, the loss of
    /// repeating the last latent.
    ///
    /// # Errors
    /// When a rollout is damaged or cannot be read.
    pub(crate) fn measure<N: SequenceNetwork>(
        &self,
        network: &N,
        device: &Device,
    ) -> Result<Vec<(String, f64)>, DatasetError> {
        let mut loss = 0.0;
        let mut changes: Option<Array1<f64>> = None;
        for step in 0..self.count {
            let sequences = self.batches.sequences(step)?;
            let losses =
                network.losses(&self.batches.tensors(&sequences, 0..sequences.len(), device));
            loss += f64::from(losses.total.into_scalar::<f32>()) / self.count as f64;
            let more = sequences.squared_changes() / self.count as f64;
            changes = Some(changes.map_or_else(|| more.clone(), |sum| sum + &more));
        }
        let mut metrics = vec![("validation_loss".to_owned(), loss)];
        if let Some(baseline) = changes.and_then(|c| network.baseline(&c.to_vec())) {
            metrics.push(("validation_baseline".to_owned(), baseline));
        }
        Ok(metrics)
    }
}
