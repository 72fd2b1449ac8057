//! CMA-ES: the evolution strategy that trains controllers.
//!
//! Hansen, "The CMA Evolution Strategy: A Tutorial", 2016 (arXiv:1604.00772v2), with the default
//! parameters of pycma; with a diagonal covariance, Ros and Hansen, "A Simple Modification in
//! CMA-ES Achieving Linear Time and Space Complexity", 2008.

mod distribution;
mod parameters;
#[cfg(test)]
mod parity;
mod state_file;

use nalgebra::{DMatrix, DVector};
use rl755_run::{Random, SettingError};
use serde::{Deserialize, Serialize};

use distribution::{Distribution, Update};
use parameters::Parameters;

/// What an evolution is begun with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CmaEsConfig {
    /// Whether high or low values are good.
    pub goal: Goal,
    /// The first step size σ: the optimum should lie within a few σ of the first mean.
    pub sigma: f64,
    /// Members of a generation, at least 2; `None` takes 4 + ⌊3 ln n⌋.
    pub population: Option<usize>,
    /// What is learnt of the covariance.
    pub covariance: Covariance,
    /// Whether bad members are learnt from, too.
    pub negative_weights: NegativeWeights,
    /// What the generations are drawn from.
    pub seed: u64,
}

/// Which values are good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Goal {
    /// High values.
    Maximize,
    /// Low values.
    Minimize,
}

/// What is learnt of the covariance of a generation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Covariance {
    /// All n² numbers: for long evolutions, of about 10 n generations or more.
    #[default]
    Full,
    /// The n variances (sep-CMA-ES), n/3 times as fast, in linear time.
    Diagonal,
}

/// What the worse half of a generation does to the covariance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NegativeWeights {
    /// It shrinks the covariance along its steps (active CMA-ES), as pycma does by default.
    #[default]
    Active,
    /// Nothing.
    Zero,
}

/// An evolution could not be begun, advanced, saved or loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CmaEsError {
    /// A setting that nothing can be evolved with.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// Not one value for each member.
    #[error("{got} values for {population} members")]
    NumValues {
        /// How many values came.
        got: usize,
        /// How many members there are.
        population: usize,
    },
    /// A member's value is not a number.
    #[error("the value of member {member} in generation {generation} is NaN")]
    NotANumber {
        /// Which member, from 0.
        member: usize,
        /// In which generation, from 1.
        generation: u64,
    },
    /// The saved state cannot be written or read.
    #[error("{}: {reason}", path.display())]
    State {
        /// The file.
        path: std::path::PathBuf,
        /// What is wrong.
        reason: String,
    },
}

/// An evolution of a vector of n numbers, in generations: [`ask`](Self::ask) for the members,
/// [`tell`](Self::tell) their values.
///
/// ```
/// use rl755_controller::{CmaEs, CmaEsConfig, Covariance, Goal, NegativeWeights};
///
/// let config = CmaEsConfig {
///     goal: Goal::Minimize,
///     sigma: 0.5,
///     population: None,
///     covariance: Covariance::Full,
///     negative_weights: NegativeWeights::Active,
///     seed: 1,
/// };
/// let mut evolution = CmaEs::new(&[3.0, -2.0], &config)?;
/// while evolution.best().is_none_or(|best| best.value > 1e-9) {
///     let members = evolution.ask();
///     let values: Vec<f64> = members.iter().map(|x| x[0] * x[0] + x[1] * x[1]).collect();
///     evolution.tell(&values)?;
/// }
/// assert!(evolution.generation() < 100);
/// # Ok::<(), rl755_controller::CmaEsError>(())
/// ```
///
/// The members of generation g are drawn from a stream of their own, so the state between two
/// generations is all that must be saved.
#[derive(Clone, Debug)]
pub struct CmaEs {
    config: CmaEsConfig,
    parameters: Parameters,
    state: State,
}

/// All that changes.
#[derive(Clone, Debug, PartialEq)]
struct State {
    /// Generations done.
    generation: u64,
    /// The generation after which C was last decomposed.
    decomposed_at: u64,
    sigma: f64,
    mean: DVector<f64>,
    /// p_σ.
    sigma_path: DVector<f64>,
    /// p_c.
    covariance_path: DVector<f64>,
    distribution: Distribution,
    best: Option<BestMember>,
}

/// The best member of all generations so far.
#[derive(Clone, Debug, PartialEq)]
pub struct BestMember {
    /// Its numbers.
    pub parameters: Vec<f64>,
    /// The value it was told with.
    pub value: f64,
    /// Its generation, from 1.
    pub generation: u64,
}

impl CmaEs {
    /// Begins an evolution around `mean`.
    ///
    /// # Errors
    /// When `mean` is empty or not finite, the step size is not positive, or the population has
    /// fewer than 2 members.
    pub fn new(mean: &[f64], config: &CmaEsConfig) -> Result<Self, CmaEsError> {
        let n = mean.len();
        SettingError::check_not_zero([("dimension", n as u64)])?;
        if let Some(bad) = mean.iter().find(|x| !x.is_finite()) {
            return Err(SettingError::new("mean", bad, "finite").into());
        }
        if !(config.sigma > 0.0 && config.sigma.is_finite()) {
            return Err(SettingError::new("sigma", config.sigma, "a number above 0").into());
        }
        let population = config.population.unwrap_or(4 + (3.0 * (n as f64).ln()) as usize);
        if population < 2 {
            return Err(SettingError::new("population", population, "at least 2").into());
        }
        let config = CmaEsConfig { population: Some(population), ..config.clone() };
        let parameters = Parameters::new(n, population, config.covariance, config.negative_weights);
        let state = State {
            generation: 0,
            decomposed_at: 0,
            sigma: config.sigma,
            mean: DVector::from_column_slice(mean),
            sigma_path: DVector::zeros(n),
            covariance_path: DVector::zeros(n),
            distribution: match config.covariance {
                Covariance::Full => Distribution::full(n),
                Covariance::Diagonal => Distribution::diagonal(n),
            },
            best: None,
        };
        Ok(Self { config, parameters, state })
    }

    /// Numbers in a member.
    pub fn dimension(&self) -> usize {
        self.state.mean.len()
    }

    /// Members of a generation.
    pub fn population(&self) -> usize {
        self.parameters.weights.len()
    }

    /// Generations done.
    pub fn generation(&self) -> u64 {
        self.state.generation
    }

    /// The step size σ.
    pub fn sigma(&self) -> f64 {
        self.state.sigma
    }

    /// The mean of the search distribution: the best guess at the optimum.
    pub fn mean(&self) -> &[f64] {
        self.state.mean.as_slice()
    }

    /// The best member so far; `None` before the first generation is told.
    pub fn best(&self) -> Option<&BestMember> {
        self.state.best.as_ref()
    }

    /// The members of the next generation. Asked again before [`tell`](Self::tell), they are the
    /// same.
    pub fn ask(&self) -> Vec<Vec<f64>> {
        let steps = self.state.distribution.transform(self.draws());
        let member = |y: nalgebra::DVectorView<'_, f64>| -> Vec<f64> {
            self.state.mean.iter().zip(y.iter()).map(|(m, y)| m + self.state.sigma * y).collect()
        };
        steps.column_iter().map(member).collect()
    }

    /// Takes in the values of the members that [`ask`](Self::ask) gives, in that order.
    ///
    /// # Errors
    /// When there is not one value for each member, or one is NaN; nothing has changed then.
    pub fn tell(&mut self, values: &[f64]) -> Result<(), CmaEsError> {
        let population = self.population();
        let generation = self.state.generation + 1;
        if values.len() != population {
            return Err(CmaEsError::NumValues { got: values.len(), population });
        }
        if let Some(member) = values.iter().position(|v| v.is_nan()) {
            return Err(CmaEsError::NotANumber { member, generation });
        }
        let mut order: Vec<usize> = (0..population).collect();
        // Stable, so that equal values have one order.
        order.sort_by(|&a, &b| match self.config.goal {
            Goal::Maximize => values[b].total_cmp(&values[a]),
            Goal::Minimize => values[a].total_cmp(&values[b]),
        });
        self.remember_best(order[0], values[order[0]]);
        let draws = self.draws().select_columns(&order);
        self.learn(&draws);
        Ok(())
    }

    /// Standard normal numbers for the next generation, a member per column.
    fn draws(&self) -> DMatrix<f64> {
        let mut random = Random::derived(self.config.seed, "cma-es", self.state.generation);
        // Filled column by column: a member's numbers follow each other.
        DMatrix::from_fn(self.dimension(), self.population(), |_, _| random.normal())
    }

    fn remember_best(&mut self, member: usize, value: f64) {
        let better = match (&self.state.best, self.config.goal) {
            (None, _) => true,
            (Some(best), Goal::Maximize) => value > best.value,
            (Some(best), Goal::Minimize) => value < best.value,
        };
        if better {
            let parameters = self.ask().swap_remove(member);
            let generation = self.state.generation + 1;
            self.state.best = Some(BestMember { parameters, value, generation });
        }
    }

    /// One update, from draws sorted from best to worst; numbers of equations are the tutorial's.
    fn learn(&mut self, draws: &DMatrix<f64>) {
        let p = &self.parameters;
        let state = &mut self.state;
        let n = state.mean.len() as f64;
        let steps = state.distribution.transform(draws.clone());
        state.generation += 1;

        // Equations 41, 42: the new mean.
        let mut step = DVector::zeros(state.mean.len());
        for (y, &weight) in steps.column_iter().zip(&p.weights[..p.mu]) {
            step.axpy(weight, &y, 1.0);
        }
        state.mean.axpy(state.sigma, &step, 1.0);

        // Equation 43: the step size's path.
        let whitened = state.distribution.whiten(&step);
        let gain = (p.c_sigma * (2.0 - p.c_sigma) * p.mu_eff).sqrt();
        state.sigma_path.axpy(gain, &whitened, 1.0 - p.c_sigma);
        let squared_length = state.sigma_path.norm_squared();

        // Equation 45: the covariance's path, which stalls while the step size still grows.
        let settled = 1.0 - (1.0 - p.c_sigma).powf(2.0 * state.generation as f64);
        let stalled = squared_length / settled / n >= 2.0 + 4.0 / (n + 1.0);
        let gain = if stalled { 0.0 } else { (p.c_c * (2.0 - p.c_c) * p.mu_eff).sqrt() };
        state.covariance_path.axpy(gain, &step, 1.0 - p.c_c);

        // Equations 46, 47: the covariance. Negative steps count by their direction alone.
        let weights: Vec<f64> = p
            .weights
            .iter()
            .zip(draws.column_iter())
            .map(|(&weight, z)| {
                if weight < 0.0 { p.c_mu * weight * n / z.norm_squared() } else { p.c_mu * weight }
            })
            .collect();
        let lost = if stalled { p.c_1 * p.c_c * (2.0 - p.c_c) } else { 0.0 };
        let decay = 1.0 + lost - p.c_1 - p.c_mu * p.weights.iter().sum::<f64>();
        state.distribution.update(&Update {
            path: &state.covariance_path,
            steps: &steps,
            weights: &weights,
            decay,
            c_1: p.c_1,
        });

        // Equation 44: the step size.
        let change = p.c_sigma / p.d_sigma * (squared_length.sqrt() / p.chi_n - 1.0);
        state.sigma *= change.min(1.0).exp();

        if state.distribution.decomposition_due(p, state.generation - state.decomposed_at) {
            state.distribution.decompose();
            state.decomposed_at = state.generation;
        }
    }
}
