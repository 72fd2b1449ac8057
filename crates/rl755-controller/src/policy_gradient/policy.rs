//! A policy with its derivatives, summed over the rows of a batch.

use ndarray::{Array2, ArrayView2, Axis};
use rl755_env::{EnvSpec, Space};
use rl755_run::Random;

use super::{
    action_map::ActionMap,
    config::PolicyConfig,
    distribution::Distribution,
    mlp::Mlp,
    outlook::{Outlook, STANDARD},
};
use crate::ControllerError;

/// The architecture of a policy. Its parameters are a vector: those of the perceptron, then the
/// logarithm of the standard deviation of each continuous action.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    mlp: Mlp,
    distribution: Distribution,
    actions: ActionMap,
}

impl Policy {
    /// For the environment of `spec`.
    ///
    /// # Errors
    /// When a setting is out of its range, observations are not vectors, or there is nothing to act
    /// with.
    pub(crate) fn new(spec: &EnvSpec, config: &PolicyConfig) -> Result<Self, ControllerError> {
        config.check()?;
        let Space::Box { low, .. } = &spec.observation_space else {
            return Err(ControllerError::NoVector {
                env: spec.id.clone(),
                space: spec.observation_space.to_string(),
            });
        };
        let actions =
            ActionMap::new(&spec.action_space).ok_or_else(|| ControllerError::ActionSpace {
                controller: "a policy".to_owned(),
                space: spec.action_space.to_string(),
                reason: "it needs numbers or choices".to_owned(),
            })?;
        let distribution = actions.distribution();
        let mlp = Mlp::new(low.len(), &config.hidden, distribution.outputs());
        Ok(Self { mlp, distribution, actions })
    }

    pub(crate) fn num_parameters(&self) -> usize {
        self.mlp.num_parameters() + self.distribution.num_log_std()
    }

    /// What a training keeps of a step: observation and action as they were played and in the batch;
    /// later what each layer gives before and after an update; reward, advantage, return and value.
    pub(crate) fn numbers_per_row(&self) -> usize {
        2 * (self.mlp.numbers_per_row() + self.distribution.action_width()) + 4
    }

    pub(crate) fn distribution(&self) -> Distribution {
        self.distribution
    }

    /// The parameters that a training begins with.
    pub(crate) fn initial(&self, initial_std: f64, random: &mut Random) -> Vec<f64> {
        let mut parameters = self.mlp.initial(random);
        parameters.resize(self.num_parameters(), initial_std.ln());
        parameters
    }

    /// Parameters of the perceptron, and logarithms of standard deviations.
    fn split<'a>(&self, parameters: &'a [f64]) -> (&'a [f64], &'a [f64]) {
        parameters.split_at(self.mlp.num_parameters())
    }

    /// The logarithms of standard deviations; none with discrete actions.
    pub(crate) fn log_std<'a>(&self, parameters: &'a [f64]) -> &'a [f64] {
        self.split(parameters).1
    }

    /// Chooses an `action` on `observation`: a random one, or without `random` the likeliest. Writes
    /// what the environment takes into `to`. `memory` is working memory.
    pub(crate) fn act(
        &self,
        parameters: &[f64],
        observation: &[f64],
        random: Option<&mut Random>,
        action: &mut [f64],
        to: &mut [f32],
        memory: &mut Vec<f64>,
    ) {
        let (weights, log_std) = self.split(parameters);
        let outputs = self.mlp.forward_row(weights, observation, memory);
        match random {
            Some(random) => self.distribution.sample(outputs, log_std, random, action),
            None => self.distribution.mode(outputs, action),
        }
        self.actions.apply(action, to);
    }

    /// What `parameters` make of `observations` `[row, observation]`.
    pub(crate) fn look<'a>(
        &self,
        parameters: &'a [f64],
        observations: ArrayView2<'a, f64>,
    ) -> Outlook<'a> {
        let (weights, _) = self.split(parameters);
        Outlook::new(parameters, observations, |inputs| self.mlp.forward(weights, inputs))
    }

    /// The log-probability of each action `[row, action]`.
    pub(crate) fn log_probabilities(
        &self,
        outlook: &Outlook<'_>,
        actions: ArrayView2<'_, f64>,
    ) -> Vec<f64> {
        let log_std = self.log_std(outlook.parameters);
        outlook.per_row(|row, outputs| {
            self.distribution.log_probability(outputs, log_std, row_of(actions, row))
        })
    }

    /// The gradient of Σ `weights` · log-probability + `entropy` · entropy over all rows.
    pub(crate) fn gradient(
        &self,
        outlook: &Outlook<'_>,
        actions: ArrayView2<'_, f64>,
        weights: &[f64],
        entropy: f64,
    ) -> Vec<f64> {
        let log_std = self.log_std(outlook.parameters);
        self.pull_back(outlook, |row, outputs, of_outputs, of_log_std| {
            let action = (row_of(actions, row), weights[row]);
            self.distribution
                .log_probability_gradient(outputs, log_std, action, of_outputs, of_log_std);
            if entropy != 0.0 {
                self.distribution.add_entropy_gradient(outputs, entropy, of_outputs, of_log_std);
            }
        })
    }

    /// The Fisher information matrix, the mean over all rows, times `direction`: exactly, by one pass
    /// forwards and one backwards, J^T M (J v).
    pub(crate) fn times_fisher(&self, outlook: &Outlook<'_>, direction: &[f64]) -> Vec<f64> {
        let (weights, log_std) = self.split(outlook.parameters);
        let (along, along_log_std) = self.split(direction);
        let scale = 1.0 / outlook.observations.nrows() as f64;
        let mut product = outlook.sum(|part| {
            let inputs = part.inputs(outlook.observations);
            let mut tangents = self.mlp.tangents(weights, inputs, &part.values, along);
            for (mut tangents, outputs) in tangents.rows_mut().into_iter().zip(part.outputs()) {
                let tangents = tangents.as_slice_mut().expect(STANDARD);
                self.distribution.times_fisher(outputs, log_std, tangents);
            }
            tangents *= scale;
            let mut sum = vec![0.0; self.num_parameters()];
            self.mlp.add_gradient(weights, inputs, &part.values, tangents, &mut sum);
            sum
        });
        let of_log_std = &mut product[self.mlp.num_parameters()..];
        of_log_std.iter_mut().zip(along_log_std).for_each(|(sum, along)| *sum += 2.0 * along);
        product
    }

    /// The mean divergence of what `new` makes of the same observations: KL(old ‖ new).
    pub(crate) fn mean_divergence(&self, old: &Outlook<'_>, new: &Outlook<'_>) -> f64 {
        let (old_log_std, new_log_std) =
            (self.log_std(old.parameters), self.log_std(new.parameters));
        let divergences = old.per_row_with(new, |old, new| {
            self.distribution.divergence((old, old_log_std), (new, new_log_std))
        });
        mean(&divergences)
    }

    pub(crate) fn mean_entropy(&self, outlook: &Outlook<'_>) -> f64 {
        let log_std = self.log_std(outlook.parameters);
        mean(&outlook.per_row(|_, outputs| self.distribution.entropy(outputs, log_std)))
    }

    /// The gradient of a sum over rows, from `row`, which writes the gradient with respect to a row's
    /// outputs and adds the one with respect to the logarithms of standard deviations.
    fn pull_back(
        &self,
        outlook: &Outlook<'_>,
        row: impl Fn(usize, &[f64], &mut [f64], &mut [f64]) + Send + Sync,
    ) -> Vec<f64> {
        let (weights, _) = self.split(outlook.parameters);
        outlook.sum(|part| {
            let mut sum = vec![0.0; self.num_parameters()];
            let (of_weights, of_log_std) = sum.split_at_mut(self.mlp.num_parameters());
            let mut cotangents = Array2::zeros((part.rows.len(), self.distribution.outputs()));
            let outputs = part.rows.clone().zip(part.outputs());
            for ((index, outputs), mut cotangents) in outputs.zip(cotangents.rows_mut()) {
                let cotangents = cotangents.as_slice_mut().expect(STANDARD);
                row(index, outputs, cotangents, of_log_std);
            }
            let inputs = part.inputs(outlook.observations);
            self.mlp.add_gradient(weights, inputs, &part.values, cotangents, of_weights);
            sum
        })
    }
}

fn row_of<'a>(actions: ArrayView2<'a, f64>, row: usize) -> &'a [f64] {
    actions.index_axis_move(Axis(0), row).to_slice().expect(STANDARD)
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(action_space: Space) -> Policy {
        let spec = EnvSpec {
            id: "Test-v0".to_owned(),
            observation_space: Space::Box { low: vec![-9.0; 2], high: vec![9.0; 2] },
            action_space,
            max_episode_steps: None,
            rules: String::new(),
        };
        let config = PolicyConfig { hidden: vec![3], initial_std: 0.5 };
        Policy::new(&spec, &config).unwrap()
    }

    fn spaces() -> [Space; 2] {
        [Space::Box { low: vec![-1.0; 2], high: vec![1.0; 2] }, Space::Discrete { n: 3 }]
    }

    fn normal(random: &mut Random, rows: usize, columns: usize) -> Array2<f64> {
        Array2::from_shape_simple_fn((rows, columns), || random.normal())
    }

    /// Actions with weights, the sum over which is the expectation of a polynomial of up to the fifth
    /// degree: each choice with its probability, or Gauss and Hermite's three points in each dimension.
    fn quadrature(policy: &Policy, outputs: &[f64], log_std: &[f64]) -> Vec<(Vec<f64>, f64)> {
        match policy.distribution {
            Distribution::Categorical { choices } => (0..choices)
                .map(|choice| vec![choice as f64])
                .map(|action| {
                    let log = policy.distribution.log_probability(outputs, log_std, &action);
                    (action, log.exp())
                })
                .collect(),
            Distribution::Gaussian { .. } => {
                let points =
                    [(-3f64.sqrt(), 1.0 / 6.0), (0.0, 2.0 / 3.0), (3f64.sqrt(), 1.0 / 6.0)];
                let pairs = points.iter().flat_map(|x| points.iter().map(move |y| (x, y)));
                pairs
                    .map(|(x, y)| {
                        let at = |index: usize, point: f64| {
                            outputs[index] + log_std[index].exp() * point
                        };
                        (vec![at(0, x.0), at(1, y.0)], x.1 * y.1)
                    })
                    .collect()
            }
        }
    }

    #[test]
    fn products_are_those_of_the_explicit_fisher_matrix() {
        for space in spaces() {
            let policy = policy(space);
            let mut random = Random::new(6);
            let n = policy.num_parameters();
            let parameters = normal(&mut random, 1, n).into_raw_vec_and_offset().0;
            let observations = normal(&mut random, 5, 2);
            // The expected square of the score, row by row.
            let mut fisher = Array2::<f64>::zeros((n, n));
            for row in 0..5 {
                let one = observations.slice(ndarray::s![row..row + 1, ..]);
                let outlook = policy.look(&parameters, one);
                let outputs = policy.mlp.forward(policy.split(&parameters).0, one).pop().unwrap();
                let outputs = outputs.row(0).to_vec();
                for (action, weight) in quadrature(&policy, &outputs, policy.log_std(&parameters)) {
                    let action = ArrayView2::from_shape((1, action.len()), &action).unwrap();
                    let score = policy.gradient(&outlook, action, &[1.0], 0.0);
                    let score = Array2::from_shape_vec((n, 1), score).unwrap();
                    fisher.scaled_add(weight / 5.0, &score.dot(&score.t()));
                }
            }
            let outlook = policy.look(&parameters, observations.view());
            for index in 0..n {
                let mut direction = vec![0.0; n];
                direction[index] = 1.0;
                let product = policy.times_fisher(&outlook, &direction);
                for (found, expected) in product.iter().zip(fisher.column(index)) {
                    assert!((found - expected).abs() < 1e-12, "{index}: {found}, not {expected}");
                }
            }
        }
    }

    #[test]
    fn the_number_of_threads_changes_no_bit() {
        for space in spaces() {
            let policy = policy(space);
            let mut random = Random::new(7);
            let parameters = policy.initial(0.5, &mut random);
            let observations = normal(&mut random, 3 * 256 + 17, 2);
            let rows = observations.nrows();
            let actions = Array2::from_elem((rows, policy.distribution.action_width()), 1.0);
            let weights: Vec<f64> = (0..rows).map(|_| random.normal()).collect();
            let on = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| {
                    let outlook = policy.look(&parameters, observations.view());
                    let gradient = policy.gradient(&outlook, actions.view(), &weights, 0.1);
                    (policy.times_fisher(&outlook, &gradient), policy.mean_entropy(&outlook))
                })
            };
            assert_eq!(on(1), on(2));
        }
    }
}
