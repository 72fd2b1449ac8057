//! The infilling U-Net as a network in training.

use burn::{
    module::Module,
    tensor::{Device, Tensor, activation::softplus},
};
use rl755_nn::{Losses, OptimizerConfig, full_precision, values, watch};
use serde::{Deserialize, Serialize};

use crate::{
    InfillingCell, SequenceBatch, SequenceError, SequenceNetwork, Sizes,
    infilling::{
        masks::Masks,
        unet::{UNet, UNetSizes},
    },
    model_config::check_size,
};

/// Levels below the first at most: deeper than the longest sequence has halves.
const MOST_LEVELS: usize = 8;

/// Hyper-parameters of [`Infilling`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct InfillingConfig {
    /// Numbers in a step's features at the first level; each level below has twice as many.
    /// Default 64.
    pub channels: usize,
    /// Levels below the first, each with half the steps of the one above, from 0 to 8. Default 2.
    pub depth: usize,
    /// Latents in the shortest span that is masked. Default 1.
    pub shortest_span: usize,
    /// Latents in the longest span that is masked, at most the sequence length. Default 8.
    pub longest_span: usize,
    /// The share of latents that are masked in sequences with spans, above 0 and below 1: spans
    /// are masked until it is reached. Default 0.25.
    pub mask_rate: f64,
    /// The share of training sequences in which the next latent alone is masked, as sessions do,
    /// from 0 to 1. Default 0.5.
    pub prediction_rate: f64,
    /// The weight of the GAN loss beside the squared error; 0 is without. Default 0.
    pub gan_weight: f64,
    /// Random numbers that the generator takes in with each step, where there is a GAN loss.
    /// Default 8.
    pub noise_size: usize,
    /// The weight, within the GAN loss, of the term that keeps what different noise gives apart;
    /// 0 is without. Default 0.1.
    pub mode_seeking_weight: f64,
}

impl Default for InfillingConfig {
    fn default() -> Self {
        Self {
            channels: 64,
            depth: 2,
            shortest_span: 1,
            longest_span: 8,
            mask_rate: 0.25,
            prediction_rate: 0.5,
            gan_weight: 0.0,
            noise_size: 8,
            mode_seeking_weight: 0.1,
        }
    }
}

impl InfillingConfig {
    fn check(&self, sizes: &Sizes) -> Result<(), SequenceError> {
        let name = Infilling::NAME;
        let check = |sound: bool, field: &str, value: &dyn std::fmt::Display, expected: &str| {
            let reason = || format!("{field} is {value}; it must be {expected}");
            if sound { Ok(()) } else { Err(SequenceError::config(name, reason())) }
        };
        let Self { channels, depth, shortest_span, longest_span, noise_size, .. } = *self;
        check_size(name, "channels", channels)?;
        check_size(name, "noise_size", noise_size)?;
        check(depth <= MOST_LEVELS, "depth", &depth, &format!("from 0 to {MOST_LEVELS}"))?;
        check_size(name, "channels times 2 to the power of depth", channels << depth)?;
        let spans = 1..=sizes.sequence_length;
        let expected = format!("from 1 to the sequence length, {}", sizes.sequence_length);
        check(spans.contains(&longest_span), "longest_span", &longest_span, &expected)?;
        let expected = format!("from 1 to longest_span, {longest_span}");
        let spans = 1..=longest_span;
        check(spans.contains(&shortest_span), "shortest_span", &shortest_span, &expected)?;
        let mask_rate = self.mask_rate;
        check(mask_rate > 0.0 && mask_rate < 1.0, "mask_rate", &mask_rate, "above 0 and below 1")?;
        let rate = self.prediction_rate;
        check((0.0..=1.0).contains(&rate), "prediction_rate", &rate, "from 0 to 1")?;
        for (field, weight) in
            [("gan_weight", self.gan_weight), ("mode_seeking_weight", self.mode_seeking_weight)]
        {
            let sound = weight >= 0.0 && weight.is_finite();
            check(sound, field, &weight, "a finite number, 0 or more")?;
        }
        Ok(())
    }

    /// Random numbers that the generator takes in with each step.
    fn noise(&self) -> usize {
        if self.gan_weight > 0.0 { self.noise_size } else { 0 }
    }

    /// The sizes of the generator, and of the discriminator where there is one.
    fn unets(&self, sizes: &Sizes) -> (UNetSizes, Option<UNetSizes>) {
        let Self { channels, depth, .. } = *self;
        // Whether it is known, whether it is asked for.
        let told = sizes.input() + 2;
        let generator =
            UNetSizes { input: told + self.noise(), channels, depth, output: sizes.latent };
        let discriminator = UNetSizes { input: told, channels, depth, output: 1 };
        (generator, (self.gan_weight > 0.0).then_some(discriminator))
    }
}

/// `infilling`: a U-Net that fills in masked latents of a sequence from those before and after,
/// and from the actions.
///
/// A training sequence has one latent more than `sequence_length`, the last of them the one that
/// the last action led to. The network takes in, for each step, the latent (zeros where it is
/// masked), the action, whether the latent is known, and whether it is asked for; of hidden steps
/// at the beginning neither is true and all is 0. It gives a latent for each step.
///
/// In a share `prediction_rate` of the sequences the last latent is masked, and in half of those a
/// random part of the beginning is hidden; in the others random spans are masked. The loss is the
/// squared error of the masked latents, averaged over a sequence's masked latents, then over
/// sequences; known latents are not reconstructed. Validation measures the last latent alone,
/// without the GAN loss: the squared error of predictions.
///
/// With a `gan_weight` above 0, the generator also takes in noise, and a second U-Net of the same
/// sizes, the discriminator, tells the masked latents of real sequences from those filled in, with
/// a score for each step (a discriminator with one for each pixel: Schönfeld et al. 2020). The
/// losses are the non-saturating ones (Goodfellow et al. 2014): softplus(-D(fake)) for the
/// generator, softplus(-D(real)) + softplus(D(fake)) for the discriminator, averaged over masked
/// latents. By itself a generator with context soon ignores its noise; so two draws are filled in,
/// and |noise - noise'| / (|fake - fake'| + 0.1), weighted by `mode_seeking_weight`, is added to
/// the generator's loss (Mao et al. 2019, with a bound). That sum is weighted by `gan_weight`. One
/// optimiser lowers all of them together, with β₁ = 0.5: in the generator's, the discriminator's
/// weights have no gradient, in the discriminator's the latents filled in have none. Where gradients
/// are clipped it is by their norm over both networks.
///
/// Following an episode, the network sees the last `sequence_length` latents and actions, with the
/// next latent masked. The prediction is that latent filled in; at a temperature, the noise is
/// scaled by it. The hidden state that controllers see is the features of the masked step, from
/// which it is a linear function, at noise 0. It cannot be trained on differences.
///
/// With latents of 32, actions of 3 and the default sizes it has 856,672 parameters, and
/// 1,712,865 with a GAN loss.
#[derive(Module, Debug)]
pub struct Infilling {
    pub(super) generator: UNet,
    pub(super) discriminator: Option<UNet>,
    /// Latents in a sequence, the masked one at its end among them.
    pub(super) length: usize,
    /// Random numbers that are taken in with each step.
    pub(super) noise_size: usize,
    #[module(skip)]
    config: InfillingConfig,
}

impl Infilling {
    /// The features `[batch, length, channels]` and latents `[batch, length, latent]` that the
    /// generator gives for latents and actions of those shapes.
    pub(super) fn generate(
        &self,
        latents: Tensor<3>,
        actions: Tensor<3>,
        masks: &Masks,
    ) -> (Tensor<3>, Tensor<3>) {
        let noise = masks.noise.as_ref().map(|[noise, _]| noise);
        self.generate_from(noise, latents, actions, masks)
    }

    /// The same from that `noise`, `[batch, length, noise]`.
    fn generate_from(
        &self,
        noise: Option<&Tensor<3>>,
        latents: Tensor<3>,
        actions: Tensor<3>,
        masks: &Masks,
    ) -> (Tensor<3>, Tensor<3>) {
        let mut inputs = shown(latents * masks.known.clone(), actions, masks);
        inputs.extend(noise.cloned());
        self.generator.forward(Tensor::cat(inputs, 2))
    }

    /// The losses for latents `[batch, length, latent]` and actions `[batch, length, action]`.
    pub(super) fn losses_of(
        &self,
        latents: Tensor<3>,
        actions: Tensor<3>,
        masks: &Masks,
    ) -> Losses {
        let (features, filled) = self.generate(latents.clone(), actions.clone(), masks);
        watch("the features of the generator", &features);
        watch("the latents filled in", &filled);
        let apart = |x: Tensor<3>, y: Tensor<3>| full_precision(x) - full_precision(y);
        let errors = apart(filled.clone(), latents.clone()).square();
        let error = masked_mean(errors, &masks.asked);
        let gan = self.discriminator.as_ref().filter(|_| latents.device().is_autodiff());
        let (Some(discriminator), Some([noise, other_noise])) = (gan, &masks.noise) else {
            return Losses { total: error, parts: Vec::new() };
        };
        let apart = |x: Tensor<3>, y: Tensor<3>| apart(x, y).abs().mean_dim(2);
        let filled_again =
            self.generate_from(Some(other_noise), latents.clone(), actions.clone(), masks).1;
        let outputs = apart(filled.clone(), filled_again);
        let noise = apart(noise.clone(), other_noise.clone());
        let alike = masked_mean(noise / (outputs + 0.1), &masks.asked);
        let [generator, told] = Self::gan_losses(discriminator, [latents, filled], &actions, masks);
        let fooling = generator.clone() + alike.clone() * self.config.mode_seeking_weight;
        Losses {
            total: error.clone() + fooling * self.config.gan_weight + told.clone(),
            parts: vec![
                ("latent_loss", error),
                ("generator_loss", generator),
                ("discriminator_loss", told),
                ("mode_seeking_loss", alike),
            ],
        }
    }

    /// The GAN losses of generator and discriminator.
    fn gan_losses(
        discriminator: &UNet,
        [real, fake]: [Tensor<3>; 2],
        actions: &Tensor<3>,
        masks: &Masks,
    ) -> [Tensor<1>; 2] {
        // Both see the same where latents are known, and zeros where steps are hidden.
        let sequence = |masked: Tensor<3>| {
            let latents = real.clone() * masks.known.clone() + masked * masks.asked.clone();
            Tensor::cat(shown(latents, actions.clone(), masks), 2)
        };
        let score = |d: &UNet, masked: Tensor<3>| full_precision(d.forward(sequence(masked)).1);
        let fixed = discriminator.clone().no_grad();
        let generator = softplus(-score(&fixed, fake.clone()), 1.0);
        let told = softplus(-score(discriminator, real.clone()), 1.0)
            + softplus(score(discriminator, fake.detach()), 1.0);
        [generator, told].map(|loss| masked_mean(loss, &masks.asked))
    }
}

/// What generator and discriminator take in side by side.
fn shown(latents: Tensor<3>, actions: Tensor<3>, masks: &Masks) -> Vec<Tensor<3>> {
    let (known, asked) = (masks.known.clone(), masks.asked.clone());
    vec![latents, actions * (known.clone() + asked.clone()), known, asked]
}

/// The mean of `loss`, `[batch, length, n]`, over the last dimension, then over the steps of each
/// sequence that are asked for, then over sequences.
fn masked_mean(loss: Tensor<3>, asked: &Tensor<3>) -> Tensor<1> {
    let asked = full_precision(asked.clone());
    let sums = (loss.mean_dim(2) * asked.clone()).sum_dim(1);
    (sums / asked.sum_dim(1).clamp_min(1.0)).mean()
}

impl SequenceNetwork for Infilling {
    const NAME: &'static str = "infilling";

    const DIFFERENCE_TARGETS: bool = false;

    type Config = InfillingConfig;

    type Cell = InfillingCell;

    fn init(
        config: &InfillingConfig,
        sizes: &Sizes,
        device: &Device,
    ) -> Result<Self, SequenceError> {
        config.check(sizes)?;
        let (generator, discriminator) = config.unets(sizes);
        Ok(Self {
            generator: UNet::new(&generator, device),
            discriminator: discriminator.map(|sizes| UNet::new(&sizes, device)),
            length: sizes.sequence_length + 1,
            noise_size: config.noise(),
            config: config.clone(),
        })
    }

    fn activations(config: &InfillingConfig, sizes: &Sizes) -> usize {
        let (generator, discriminator) = config.unets(sizes);
        let length = sizes.sequence_length.saturating_add(1);
        let Some(discriminator) = discriminator else { return generator.activations(length) };
        // Latents are filled in twice; three sequences are told apart, one of them with fixed weights.
        let [generator, discriminator] =
            [generator, discriminator].map(|sizes| sizes.activations(length));
        generator.saturating_mul(2).saturating_add(discriminator.saturating_mul(3))
    }

    fn losses(&self, batch: &SequenceBatch) -> Losses {
        let [rows, length, _] = batch.targets.dims();
        let device = batch.targets.device();
        let last = batch.targets.clone().narrow(1, length - 1, 1);
        let latents = Tensor::cat(vec![batch.latents.clone(), last], 1);
        // The action at the last latent is not known when it is predicted.
        let none = Tensor::zeros([rows, 1, batch.actions.dims()[2]], &device);
        let (mut actions, mut lengths) = (batch.actions.clone(), vec![length + 1; rows]);
        if let Some(followed) = &batch.followed {
            // The last latent is the one before the end, whose action is not known likewise.
            actions = actions * followed.clone().unsqueeze_dim(2);
            let last = values(followed.clone().narrow(1, length - 1, 1));
            lengths
                .iter_mut()
                .zip(last)
                .for_each(|(n, followed)| *n -= usize::from(followed == 0.0));
        }
        let actions = Tensor::cat(vec![actions, none], 1);
        let masks = Masks::draw(&self.config, &lengths, [length + 1, self.noise_size], &device);
        self.losses_of(latents, actions, &masks)
    }

    fn cell(&self) -> InfillingCell {
        InfillingCell::new(self)
    }

    fn default_optimizer(config: &InfillingConfig) -> OptimizerConfig {
        let optimizer =
            OptimizerConfig { max_gradient_norm: Some(1.0), ..OptimizerConfig::default() };
        // GANs train better with less momentum (Radford et al. 2016).
        if config.gan_weight > 0.0 {
            OptimizerConfig { beta_1: 0.5, ..optimizer }
        } else {
            optimizer
        }
    }

    fn baseline(&self, squared_changes: &[f64]) -> Option<f64> {
        Some(squared_changes.iter().sum::<f64>() / squared_changes.len() as f64)
    }
}

#[cfg(test)]
mod tests;
