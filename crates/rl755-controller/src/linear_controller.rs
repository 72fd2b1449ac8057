//! The controller of World Models: one linear map of latent and hidden state.

use ndarray::{ArrayView2, ArrayViewMut2};
use rl755_env::Space;
use serde::{Deserialize, Serialize};

use crate::{
    Controller, ControllerArchitecture, ControllerError, ControllerInputs, Squash,
    squash::{argmax, num_outputs},
};

/// Settings of a [`LinearController`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LinearConfig {
    /// How outputs become actions: one for all elements, or one for each. Default `["tanh"]`.
    /// World Models drives CarRacing with `["tanh", "sigmoid", "clipped_tanh"]`. Without effect
    /// where actions are discrete.
    pub squash: Vec<Squash>,
}

impl Default for LinearConfig {
    fn default() -> Self {
        Self { squash: vec![Squash::Tanh] }
    }
}

/// `W [z, h] + b` (Ha and Schmidhuber 2018, equation 1), squashed into the bounds of a box, or the
/// greatest of n outputs for n discrete actions.
///
/// The parameters are W, `[output, latent + hidden]` row-major, and then b, `[output]`: 867 for
/// 32 + 256 inputs and 3 outputs.
#[derive(Clone, Debug)]
pub struct LinearController {
    latent_size: usize,
    hidden_size: usize,
    action_space: Space,
    squash: Vec<Squash>,
    num_outputs: usize,
}

impl LinearController {
    fn outputs(&self, parameters: &[f32], latent: &[f32], hidden: &[f32], outputs: &mut [f32]) {
        let num_inputs = self.latent_size + self.hidden_size;
        let (weights, biases) = parameters.split_at(num_inputs * self.num_outputs);
        for (index, output) in outputs.iter_mut().enumerate() {
            let row = &weights[index * num_inputs..(index + 1) * num_inputs];
            let (for_latent, for_hidden) = row.split_at(self.latent_size);
            *output = biases[index] + dot(for_latent, latent) + dot(for_hidden, hidden);
        }
    }
}

/// In a fixed order of additions, eight side by side.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0f32; 8];
    let (a_blocks, a_rest) = a.as_chunks::<8>();
    let (b_blocks, b_rest) = b.as_chunks::<8>();
    for (x, y) in a_blocks.iter().zip(b_blocks) {
        for lane in 0..8 {
            lanes[lane] += x[lane] * y[lane];
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(x, y)| x * y).sum();
    lanes.iter().sum::<f32>() + rest
}

impl ControllerArchitecture for LinearController {
    const NAME: &'static str = "linear";
    type Config = LinearConfig;

    fn new(inputs: &ControllerInputs, config: &LinearConfig) -> Result<Self, ControllerError> {
        let space = &inputs.action_space;
        let Some(num_outputs) = num_outputs(space) else {
            return Err(ControllerError::ActionSpace {
                controller: Self::NAME.to_owned(),
                space: space.to_string(),
                reason: "its actions are pictures".to_owned(),
            });
        };
        let squash = match config.squash.as_slice() {
            [one] => vec![*one; num_outputs],
            each if each.len() == num_outputs => each.to_vec(),
            each => {
                return Err(ControllerError::Config {
                    controller: Self::NAME.to_owned(),
                    reason: format!(
                        "squash has {} entries; {space} needs 1 or {num_outputs}",
                        each.len()
                    ),
                });
            }
        };
        Ok(Self {
            latent_size: inputs.latent_size,
            hidden_size: inputs.hidden_size,
            action_space: space.clone(),
            squash,
            num_outputs,
        })
    }
}

impl Controller for LinearController {
    fn num_parameters(&self) -> usize {
        (self.latent_size + self.hidden_size + 1) * self.num_outputs
    }

    fn act(
        &self,
        parameters: &[&[f32]],
        latents: ArrayView2<'_, f32>,
        hidden: ArrayView2<'_, f32>,
        mut actions: ArrayViewMut2<'_, f32>,
    ) {
        let mut outputs = vec![0.0; self.num_outputs];
        let (latents, hidden) = (latents.as_standard_layout(), hidden.as_standard_layout());
        for (index, &parameters) in parameters.iter().enumerate() {
            let (latent, hidden) = (latents.row(index), hidden.row(index));
            // Rows of the standard layout are contiguous.
            let (latent, hidden) = (latent.as_slice(), hidden.as_slice());
            let (latent, hidden) = (latent.unwrap_or_default(), hidden.unwrap_or_default());
            self.outputs(parameters, latent, hidden, &mut outputs);
            let mut action = actions.row_mut(index);
            if let Space::Discrete { .. } = self.action_space {
                action[0] = argmax(&outputs) as f32;
                continue;
            }
            for (element, &output) in outputs.iter().enumerate() {
                let (low, high) = self.action_space.bounds(element);
                action[element] = self.squash[element].apply(output, low, high);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};

    use super::*;

    fn controller(action_space: Space, config: &LinearConfig) -> LinearController {
        let inputs = ControllerInputs { latent_size: 2, hidden_size: 1, action_space };
        LinearController::new(&inputs, config).unwrap()
    }

    fn car() -> Space {
        Space::Box { low: vec![-1.0, 0.0, 0.0], high: vec![1.0; 3] }
    }

    #[test]
    fn each_row_acts_by_its_own_parameters() {
        let linear = controller(
            Space::Box { low: vec![-9.0], high: vec![9.0] },
            &LinearConfig { squash: vec![Squash::Clip] },
        );
        assert_eq!(linear.num_parameters(), 4);
        let mut actions = Array2::zeros((2, 1));
        linear.act(
            &[&[1.0, 10.0, 100.0, 0.5], &[0.0, 1.0, 0.0, -1.0]],
            array![[0.01, 0.2], [5.0, 3.0]].view(),
            array![[0.03], [7.0]].view(),
            actions.view_mut(),
        );
        assert!((actions[[0, 0]] - 5.51f32).abs() < 1e-6);
        assert_eq!(actions[[1, 0]], 2.0);
    }

    #[test]
    fn discrete_actions_are_the_greatest_output() {
        let linear = controller(Space::Discrete { n: 3 }, &LinearConfig::default());
        let mut parameters = vec![0.0; 12];
        parameters[10] = 0.1;
        let mut actions = Array2::zeros((1, 1));
        let (latents, hidden) = (Array2::zeros((1, 2)), Array2::zeros((1, 1)));
        linear.act(&[&parameters], latents.view(), hidden.view(), actions.view_mut());
        assert_eq!(actions[[0, 0]], 1.0);
    }

    #[test]
    fn actions_lie_in_the_space() {
        let config =
            LinearConfig { squash: vec![Squash::Tanh, Squash::Sigmoid, Squash::ClippedTanh] };
        let linear = controller(car(), &config);
        let mut actions = Array2::zeros((1, 3));
        for scale in [-1e30, -1.0, 0.0, 1.0, 1e30] {
            let parameters = vec![scale; 12];
            let latents = array![[1.0, -0.5]];
            let hidden = array![[0.25]];
            linear.act(&[&parameters], latents.view(), hidden.view(), actions.view_mut());
            assert!(car().contains(&actions.row(0).to_vec()), "{actions}");
        }
    }

    #[test]
    fn a_wrong_number_of_squashes_is_rejected() {
        let inputs = ControllerInputs { latent_size: 2, hidden_size: 1, action_space: car() };
        let config = LinearConfig { squash: vec![Squash::Tanh; 2] };
        let error = LinearController::new(&inputs, &config).unwrap_err().to_string();
        assert!(error.contains("squash has 2 entries") && error.contains("1 or 3"), "{error}");
    }
}
