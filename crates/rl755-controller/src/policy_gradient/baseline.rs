//! What is expected of a state: a linear function of features, fitted to the returns of episodes.

use nalgebra::{DMatrix, DVector};
use ndarray::{Array1, Array2, ArrayView2, s};

/// Observations beyond this are clipped.
const CLIP: f64 = 10.0;
/// Steps are counted in hundreds.
const STEP: f64 = 0.01;
/// The first weight of the squared coefficients.
const RIDGE: f64 = 1e-5;

/// What a fit needs to know of features and returns: sums over all states.
pub(crate) struct Regression {
    products: Array2<f64>,
    targets: Array1<f64>,
}

impl Regression {
    /// Without any states yet, of which so many numbers are observed.
    pub(crate) fn new(observed: usize) -> Self {
        let count = Baseline::num_features(observed);
        Self { products: Array2::zeros((count, count)), targets: Array1::zeros(count) }
    }

    /// Adds states with their `features` and `returns`.
    pub(crate) fn add(&mut self, features: ArrayView2<'_, f64>, returns: &[f64]) {
        self.products += &features.t().dot(&features);
        self.targets += &features.t().dot(&ndarray::ArrayView1::from(returns));
    }
}

/// rllab's `LinearFeatureBaseline`: coefficients of the clipped observation, its squares, the step, its
/// square and cube, and 1. Before it is fitted, nothing is expected of any state.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Baseline {
    /// Empty before it is fitted.
    pub(crate) coefficients: Vec<f64>,
}

impl Baseline {
    /// How many features there are of so many observed numbers.
    pub(crate) fn num_features(observed: usize) -> usize {
        2 * observed + 4
    }

    /// The features of the states of an episode, from its first step on: `[step, feature]`.
    pub(crate) fn features(observations: ArrayView2<'_, f64>) -> Array2<f64> {
        let (steps, observed) = observations.dim();
        let mut features = Array2::ones((steps, Self::num_features(observed)));
        let clipped = observations.mapv(|value| value.clamp(-CLIP, CLIP));
        features.slice_mut(s![.., ..observed]).assign(&clipped);
        features.slice_mut(s![.., observed..2 * observed]).assign(&(&clipped * &clipped));
        for step in 0..steps {
            let time = step as f64 * STEP;
            for (power, value) in [time, time.powi(2), time.powi(3)].into_iter().enumerate() {
                features[[step, 2 * observed + power]] = value;
            }
        }
        features
    }

    /// What is expected of states with these features.
    pub(crate) fn predict(&self, features: &Array2<f64>) -> Array1<f64> {
        if self.coefficients.is_empty() {
            return Array1::zeros(features.nrows());
        }
        features.dot(&ndarray::ArrayView1::from(&self.coefficients))
    }

    /// Fits the coefficients by ridge regression. Where the system cannot be solved, it is with ten
    /// times the ridge. With numbers beyond all bounds it stays as it was.
    pub(crate) fn fit(&mut self, Regression { products, targets }: &Regression) {
        let count = targets.len();
        let mut ridge = RIDGE;
        for _ in 0..20 {
            let matrix = DMatrix::from_fn(count, count, |row, column| {
                products[[row, column]] + if row == column { ridge } else { 0.0 }
            });
            let targets = DVector::from_iterator(count, targets.iter().copied());
            let solution = matrix.cholesky().map(|factors| factors.solve(&targets));
            if let Some(solution) = solution.filter(|s| s.iter().all(|value| value.is_finite())) {
                self.coefficients = solution.as_slice().to_vec();
                return;
            }
            ridge *= 10.0;
        }
    }
}
