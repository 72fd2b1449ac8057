//! What makes an autoencoder variational: a posterior, and the price of its difference from the
//! prior (Kingma & Welling 2014).

use burn::tensor::{Tensor, activation::log_sigmoid};
use rl755_nn::{Losses, full_precision, standard_normal, watch};
use serde::{Deserialize, Serialize};

use crate::{EncoderError, conv_settings::wrong, frozen_conv::Spread};

/// Settings of a variational autoencoder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VariationalSettings {
    /// The weight of the KL divergence (Higgins et al. 2017), at least 0. Default 1.
    pub beta: f64,
    /// Free bits, in nats per latent dimension (Kingma et al. 2016), at least 0: the KL divergence
    /// of an observation costs at least this times the latent size, as in World Models' released
    /// code. Default 0.5, World Models'.
    pub free_nats: f64,
    /// How the network gives the standard deviation: `log_variance` as in World Models, or
    /// `softplus` as in the original project. Default `log_variance`.
    pub std_dev: Spread,
}

impl Default for VariationalSettings {
    fn default() -> Self {
        Self { beta: 1.0, free_nats: 0.5, std_dev: Spread::LogVariance }
    }
}

impl VariationalSettings {
    pub(crate) fn check(&self, encoder: &str) -> Result<(), EncoderError> {
        for (field, value) in [("beta", self.beta), ("free_nats", self.free_nats)] {
            if !(value.is_finite() && value >= 0.0) {
                let reason = format!("{field} is {value}; it must be at least 0");
                return Err(wrong(encoder, reason));
            }
        }
        Ok(())
    }

    /// The nats of KL divergence that cost nothing.
    pub(crate) fn kl_floor(&self, latent_size: usize) -> f64 {
        self.free_nats * latent_size as f64
    }

    /// σ from what the network gives.
    pub(crate) fn deviation(&self, spread: Tensor<2>) -> Tensor<2> {
        match self.std_dev {
            Spread::LogVariance => spread.mul_scalar(0.5).exp(),
            // softplus(x) = -ln sigmoid(-x), which does not overflow.
            Spread::Softplus => log_sigmoid(spread.neg()).neg(),
        }
    }

    /// The KL divergence of N(μ, σ²) from N(0, 1) for each row, `[batch, 1]` (Kingma & Welling
    /// 2014, appendix B).
    fn kl(&self, mean: &Tensor<2>, spread: Tensor<2>, deviation: Tensor<2>) -> Tensor<2> {
        let log_variance = match self.std_dev {
            Spread::LogVariance => spread,
            // A σ that rounds to 0 must not give an infinite loss.
            Spread::Softplus => deviation.clone().add_scalar(1e-12).log().mul_scalar(2.0),
        };
        let terms = mean.clone().square() + deviation.square() - log_variance - 1.0;
        terms.sum_dim(1).mul_scalar(0.5)
    }

    /// The squared error of what `reconstruct` makes of drawn latents, summed over an observation
    /// of `target`, plus β times the KL divergence, floored for each observation at the free nats;
    /// both averaged over the batch. `mean` and `spread` are `[batch, latent]`.
    pub(crate) fn losses(
        &self,
        target: Tensor<2>,
        (mean, spread): (Tensor<2>, Tensor<2>),
        reconstruct: impl FnOnce(Tensor<2>) -> Tensor<2>,
    ) -> Losses {
        let noise = standard_normal(mean.shape(), &mean.device());
        self.losses_with(noise, target, (mean, spread), reconstruct)
    }

    /// [`losses`](Self::losses) with the noise of the latents, `[batch, latent]`.
    pub(crate) fn losses_with(
        &self,
        noise: Tensor<2>,
        target: Tensor<2>,
        (mean, spread): (Tensor<2>, Tensor<2>),
        reconstruct: impl FnOnce(Tensor<2>) -> Tensor<2>,
    ) -> Losses {
        let deviation = self.deviation(spread.clone());
        watch("the latents' mean", &mean);
        watch("the latents' standard deviation", &deviation);
        let kl = self.kl(
            &full_precision(mean.clone()),
            full_precision(spread),
            full_precision(deviation.clone()),
        );
        let floor = self.kl_floor(mean.dims()[1]);
        let reconstruction = squared_error(reconstruct(mean + deviation * noise), target);
        let floored = kl.clone().clamp_min(floor).mean();
        let total = reconstruction.clone() + floored.mul_scalar(self.beta);
        Losses { total, parts: vec![("reconstruction", reconstruction), ("kl", kl.mean())] }
    }
}

/// Squared error summed over an observation and averaged over the batch.
pub(crate) fn squared_error(found: Tensor<2>, target: Tensor<2>) -> Tensor<1> {
    // Rows first: a sum over the whole batch at once would depend on the number of threads.
    watch("the reconstruction", &found);
    (full_precision(found) - full_precision(target)).square().sum_dim(1).mean()
}
