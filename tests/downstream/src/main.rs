//! What a crate outside the workspace writes to bring its own environment, encoder, sequence model
//! and controller: one type each, registered in `main`. It gets every stage as a subcommand.
//!
//! The task: a dot on a strip of eight pixels must come under a light and stay there.

use std::process::ExitCode;

use burn::{
    module::Module,
    nn::{Linear, LinearConfig},
    tensor::{Device, Tensor, activation::sigmoid},
};
use ndarray::{ArrayView2, ArrayViewMut2};
use rl755_controller::{Controller, ControllerArchitecture, ControllerError, ControllerInputs};
use rl755_encoder::{EncoderError, EncoderModel, Latents};
use rl755_env::{Env, EnvError, EnvSpec, ObservationMut, Space, Step};
use rl755_nn::Losses;
use rl755_run::Random;
use rl755_sequence::{SequenceBatch, SequenceCell, SequenceError, SequenceNetwork, Sizes};
use serde::{Deserialize, Serialize};

fn main() -> ExitCode {
    rl755_cli::run(|plugins| {
        plugins.environments.add("Dot-v0", || Ok(Box::new(Dot::new())));
        plugins.encoders.add::<Autoencoder>();
        plugins.sequences.add::<OneStep>();
        plugins.controllers.add::<Sums>();
    })
}

const WIDTH: usize = 8;

/// Frames of 2 × 8 grey pixels: the light above, the dot below. Actions: left, stay, right.
struct Dot {
    spec: EnvSpec,
    random: Random,
    dot: usize,
    light: usize,
    /// `None` before the first reset.
    steps_left: Option<u32>,
}

impl Dot {
    fn new() -> Self {
        let spec = EnvSpec {
            id: "Dot-v0".to_owned(),
            observation_space: Space::Image { height: 2, width: WIDTH, channels: 1 },
            action_space: Space::Discrete { n: 3 },
            max_episode_steps: None,
            rules: "1 for each step under the light; ends after 20 steps".to_owned(),
        };
        Self { spec, random: Random::new(0), dot: 0, light: 0, steps_left: None }
    }

    fn draw(&self, observation: ObservationMut<'_>) -> Result<(), EnvError> {
        let pixels = observation.bytes(&self.spec)?;
        pixels.fill(0);
        pixels[self.light] = 255;
        pixels[WIDTH + self.dot] = 255;
        Ok(())
    }
}

impl Env for Dot {
    fn spec(&self) -> &EnvSpec {
        &self.spec
    }

    fn reset(
        &mut self,
        seed: Option<u64>,
        observation: ObservationMut<'_>,
    ) -> Result<(), EnvError> {
        if let Some(seed) = seed {
            self.random = Random::new(seed);
        }
        self.dot = self.random.below(WIDTH);
        self.light = self.random.below(WIDTH);
        self.steps_left = Some(20);
        self.draw(observation)
    }

    fn step(&mut self, action: &[f32], observation: ObservationMut<'_>) -> Result<Step, EnvError> {
        let steps_left = match self.steps_left {
            None => return Err(self.spec.not_reset()),
            Some(0) => return Err(self.spec.episode_over()),
            Some(steps_left) => steps_left - 1,
        };
        self.spec.check_action(action)?;
        self.dot = match action[0] as usize {
            0 => self.dot.saturating_sub(1),
            1 => self.dot,
            _ => (self.dot + 1).min(WIDTH - 1),
        };
        self.draw(observation)?;
        self.steps_left = Some(steps_left);
        let reward = f64::from(u8::from(self.dot == self.light));
        Ok(Step { reward, terminated: steps_left == 0, truncated: false })
    }
}

/// A linear autoencoder.
#[derive(Module, Debug)]
struct Autoencoder {
    encode: Linear,
    decode: Linear,
    latent_size: usize,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct AutoencoderConfig {
    latent_size: usize,
}

impl Default for AutoencoderConfig {
    fn default() -> Self {
        Self { latent_size: 16 }
    }
}

impl EncoderModel for Autoencoder {
    const NAME: &'static str = "linear-autoencoder";
    type Config = AutoencoderConfig;

    fn init(
        config: &AutoencoderConfig,
        input: &Space,
        device: &Device,
    ) -> Result<Self, EncoderError> {
        let AutoencoderConfig { latent_size } = *config;
        Ok(Self {
            encode: LinearConfig::new(input.width(), latent_size).init(device),
            decode: LinearConfig::new(latent_size, input.width()).init(device),
            latent_size,
        })
    }

    fn latent_size(&self) -> usize {
        self.latent_size
    }

    fn losses(&self, observations: Tensor<2>) -> Losses {
        let latents = self.encode.forward(observations.clone());
        let decoded = sigmoid(self.decode.forward(latents));
        Losses { total: (decoded - observations).square().mean(), parts: Vec::new() }
    }

    fn represent(&self, observations: Tensor<2>) -> Latents {
        Latents {
            mean: self.encode.forward(observations),
            std_dev: None,
            extras: Default::default(),
        }
    }

    fn reconstruct(&self, latents: Tensor<2>) -> Option<Tensor<2>> {
        Some(sigmoid(self.decode.forward(latents)))
    }
}

/// The next latent as a linear map of the latent and the action; the last action is its memory.
#[derive(Module, Debug)]
struct OneStep {
    map: Linear,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OneStepConfig {}

impl SequenceNetwork for OneStep {
    const NAME: &'static str = "one-step";
    type Config = OneStepConfig;
    type Cell = OneStepCell;

    fn init(_: &OneStepConfig, sizes: &Sizes, device: &Device) -> Result<Self, SequenceError> {
        Ok(Self { map: LinearConfig::new(sizes.input(), sizes.latent).init(device) })
    }

    fn losses(&self, batch: &SequenceBatch) -> Losses {
        let predicted = self.map.forward(batch.inputs());
        let total = (predicted - batch.targets.clone()).square().mean();
        Losses { total, parts: Vec::new() }
    }

    fn cell(&self) -> OneStepCell {
        let weight = self.map.weight.val().detach(); // [input, latent]
        let [inputs, outputs] = weight.dims();
        let bias = self.map.bias.as_ref().map(|bias| numbers(bias.val().detach()));
        OneStepCell {
            weight: numbers(weight),
            bias: bias.unwrap_or_else(|| vec![0.0; outputs]),
            inputs,
        }
    }
}

fn numbers<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().iter::<f32>().collect()
}

struct OneStepCell {
    weight: Vec<f32>,
    bias: Vec<f32>,
    inputs: usize,
}

impl SequenceCell for OneStepCell {
    /// The latent and the action of the last step.
    type Memory = Vec<f32>;

    fn hidden_size(&self) -> usize {
        self.inputs
    }

    fn begin(&self) -> Vec<f32> {
        vec![0.0; self.inputs]
    }

    fn step(
        &self,
        memories: &mut [Vec<f32>],
        latents: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
        mut hidden: ArrayViewMut2<'_, f32>,
    ) {
        for (row, memory) in memories.iter_mut().enumerate() {
            *memory = latents.row(row).iter().chain(actions.row(row)).copied().collect();
            hidden.row_mut(row).iter_mut().zip(memory).for_each(|(h, m)| *h = *m);
        }
    }

    fn predict(
        &self,
        memories: &[Vec<f32>],
        _temperature: f64,
        _randoms: &mut [Random],
        mut targets: ArrayViewMut2<'_, f32>,
    ) {
        let outputs = self.bias.len();
        for (row, memory) in memories.iter().enumerate() {
            for (o, target) in targets.row_mut(row).iter_mut().enumerate() {
                let products =
                    memory.iter().enumerate().map(|(i, m)| m * self.weight[i * outputs + o]);
                *target = self.bias[o] + products.sum::<f32>();
            }
        }
    }
}

/// An output for each action, linear in latent and hidden state; the greatest is chosen.
struct Sums {
    inputs: usize,
    actions: usize,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SumsConfig {}

impl ControllerArchitecture for Sums {
    const NAME: &'static str = "sums";
    type Config = SumsConfig;

    fn new(inputs: &ControllerInputs, _: &SumsConfig) -> Result<Self, ControllerError> {
        let Space::Discrete { n } = inputs.action_space else {
            return Err(ControllerError::Config {
                controller: Self::NAME.to_owned(),
                reason: format!("it chooses among actions, not {}", inputs.action_space),
            });
        };
        Ok(Self { inputs: inputs.latent_size + inputs.hidden_size, actions: n })
    }
}

impl Controller for Sums {
    fn num_parameters(&self) -> usize {
        self.inputs * self.actions
    }

    fn act(
        &self,
        parameters: &[&[f32]],
        latents: ArrayView2<'_, f32>,
        hidden: ArrayView2<'_, f32>,
        mut actions: ArrayViewMut2<'_, f32>,
    ) {
        for (row, parameters) in parameters.iter().enumerate() {
            let seen: Vec<f32> = latents.row(row).iter().chain(hidden.row(row)).copied().collect();
            let sums = parameters
                .chunks(self.inputs)
                .map(|weights| weights.iter().zip(&seen).map(|(w, s)| w * s).sum::<f32>());
            let best = sums.enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
            actions[[row, 0]] = best.map_or(0.0, |(action, _)| action as f32);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    #[test]
    fn the_environment_keeps_the_promises_of_one() {
        rl755_env::check_env(&mut super::Dot::new()).unwrap();
    }
}
