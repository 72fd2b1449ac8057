//! What else an LSTM can predict of a step: its reward, and whether the task ends with it.

use burn::{
    module::Module,
    nn::Linear,
    tensor::{Device, Tensor},
};
use rl755_nn::{Losses, full_precision};

use super::RecurrentSettings;
use crate::{
    SequenceBatch,
    kernel::{Dense, sigmoid},
    layers::{apply_linear, dense, linear},
};

/// Linear layers from the hidden state.
#[derive(Module, Debug)]
pub(super) struct OutcomeHeads {
    reward: Option<Linear>,
    done: Option<Linear>,
    terminal_weight: f64,
}

impl OutcomeHeads {
    pub(super) fn new(settings: &RecurrentSettings, device: &Device) -> Self {
        let head = |wanted: bool| wanted.then(|| linear(settings.hidden_size, 1, device));
        Self {
            reward: head(settings.predict_reward),
            done: head(settings.predict_done),
            terminal_weight: settings.terminal_weight,
        }
    }

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.reward.is_none() && self.done.is_none()
    }

    /// The loss of the latents, plus the squared error of the rewards and the binary cross-entropy
    /// of the ends, where they are predicted. `hidden` is `[batch · length, hidden]`.
    pub(super) fn losses(
        &self,
        latent: Tensor<1>,
        hidden: &Tensor<2>,
        batch: &SequenceBatch,
    ) -> Losses {
        if self.is_empty() {
            return Losses { total: latent, parts: Vec::new() };
        }
        let rows = hidden.dims()[0];
        let mut parts = vec![("latent_loss", latent)];
        if let Some(head) = &self.reward {
            let rewards = full_precision(batch.rewards.clone().reshape([rows, 1]));
            let errors = full_precision(apply_linear(head, hidden.clone())) - rewards;
            parts.push(("reward_loss", errors.square().mean()));
        }
        if let Some(head) = &self.done {
            let dones = full_precision(batch.terminals.clone().reshape([rows, 1]));
            let logits = full_precision(apply_linear(head, hidden.clone()));
            parts.push(("done_loss", self.cross_entropy(logits, dones).mean()));
        }
        let totals: Vec<Tensor<1>> = parts.iter().map(|(_, loss)| loss.clone()).collect();
        Losses { total: Tensor::cat(totals, 0).sum(), parts }
    }

    /// `-w y ln σ(x) - (1 - y) ln(1 - σ(x))` for logits x, ends y and their weight w.
    fn cross_entropy(&self, logits: Tensor<2>, dones: Tensor<2>) -> Tensor<2> {
        // -ln(1 - σ(x)) is ln(1 + e^x), and -ln σ(x) is that less x.
        let likely = (logits.clone().abs().neg().exp() + 1.0).log() + logits.clone().clamp_min(0.0);
        let weights = dones.clone() * (self.terminal_weight - 1.0) + 1.0;
        weights * likely - logits * dones * self.terminal_weight
    }

    /// After training.
    pub(super) fn cells(&self) -> OutcomeCells {
        OutcomeCells {
            reward: self.reward.as_ref().map(dense),
            done: self.done.as_ref().map(dense),
            offset: self.terminal_weight.ln() as f32,
        }
    }
}

/// Trained heads.
#[derive(Clone, Debug)]
pub(super) struct OutcomeCells {
    reward: Option<Dense>,
    done: Option<Dense>,
    /// By how much weighted ends made logits too large.
    offset: f32,
}

impl OutcomeCells {
    /// The reward of each row of `hidden`, `[rows, hidden]`.
    pub(super) fn rewards(&self, hidden: impl FnOnce() -> Vec<f32>) -> Option<Vec<f32>> {
        self.reward.as_ref().map(|head| column(head, &hidden()))
    }

    /// The probability that the task ends, of each row of `hidden`, `[rows, hidden]`.
    pub(super) fn dones(&self, hidden: impl FnOnce() -> Vec<f32>) -> Option<Vec<f32>> {
        let logits = self.done.as_ref().map(|head| column(head, &hidden()))?;
        Some(logits.into_iter().map(|logit| sigmoid(logit - self.offset)).collect())
    }
}

fn column(head: &Dense, hidden: &[f32]) -> Vec<f32> {
    let mut values = vec![0.0; hidden.len() / head.inputs()];
    head.forward(hidden, &mut values);
    values
}

#[cfg(test)]
mod tests {
    use burn::tensor::TensorData;
    use rl755_nn::values;

    use super::*;
    use crate::{LstmConfig, RecurrentConfig};

    #[test]
    fn the_cross_entropy_is_that_of_the_definition() {
        let device = Device::flex();
        let config = LstmConfig {
            hidden_size: 1,
            predict_done: true,
            terminal_weight: 3.0,
            ..Default::default()
        };
        let heads = OutcomeHeads::new(&config.settings(), &device);
        let (logits, dones) = ([-4.0f32, -0.5, 0.0, 2.0, 90.0], [0.0f32, 1.0, 1.0, 0.0, 0.0]);
        let tensor = |values: [f32; 5]| {
            Tensor::<2>::from_data(TensorData::new(values.to_vec(), [5, 1]), &device)
        };
        let found = values(heads.cross_entropy(tensor(logits), tensor(dones)));
        for ((found, x), y) in found.iter().zip(logits).zip(dones) {
            let log_sigmoid = |x: f64| -(1.0 + (-x).exp()).ln();
            let (x, y) = (f64::from(x), f64::from(y));
            let expected = -3.0 * y * log_sigmoid(x) - (1.0 - y) * log_sigmoid(-x);
            assert!((f64::from(*found) - expected).abs() < 1e-5, "{found} for {expected}");
        }
    }

    #[test]
    fn probabilities_do_not_depend_on_the_weight_of_ends() {
        // With ends of probability p, weighted by w, the best logit is ln(w p / (1 - p)).
        let (p, weight) = (0.2f64, 10.0f64);
        let logit = (weight * p / (1.0 - p)).ln() as f32;
        let cells = OutcomeCells {
            reward: None,
            done: Some(Dense::new(&[1.0], &[0.0])),
            offset: weight.ln() as f32,
        };
        let found = cells.dones(|| vec![logit]).unwrap();
        assert!((found[0] - 0.2).abs() < 1e-6, "{found:?}");
        assert!(cells.rewards(Vec::new).is_none());
    }
}
