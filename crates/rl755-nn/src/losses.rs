//! What a model's loss function gives.

use burn::tensor::Tensor;

/// What a model's loss function gives.
#[derive(Clone, Debug)]
pub struct Losses {
    /// What is minimised, `[1]`.
    pub total: Tensor<1>,
    /// Its parts by name, to log, `[1]` each.
    pub parts: Vec<(&'static str, Tensor<1>)>,
}

impl Losses {
    /// The values as metrics: `loss`, then each part.
    pub fn metrics(&self) -> Vec<(String, f64)> {
        let total = std::iter::once(("loss", &self.total));
        total
            .chain(self.parts.iter().map(|(name, value)| (*name, value)))
            .map(|(name, value)| {
                (name.to_owned(), f64::from(value.clone().detach().into_scalar::<f32>()))
            })
            .collect()
    }
}
