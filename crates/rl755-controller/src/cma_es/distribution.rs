//! The shape of the search distribution: a full covariance matrix, or its diagonal.

use nalgebra::{DMatrix, DVector, SymmetricEigen};

use super::Parameters;

/// Eigenvalues below this share of the greatest are raised to it.
const LEAST_EIGENVALUE: f64 = 1e-14;

/// A normal distribution with mean 0, up to the step size.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Distribution {
    /// Any covariance.
    Full {
        /// C, symmetric.
        covariance: DMatrix<f64>,
        /// B: its eigenvectors as columns, when last decomposed.
        eigenvectors: DMatrix<f64>,
        /// D: the roots of its eigenvalues, when last decomposed.
        axes: DVector<f64>,
    },
    /// Independent elements.
    Diagonal {
        /// The diagonal of C.
        variances: DVector<f64>,
    },
}

/// What one generation tells the distribution.
pub(crate) struct Update<'a> {
    /// p_c.
    pub(crate) path: &'a DVector<f64>,
    /// Steps y from best to worst, one per column.
    pub(crate) steps: &'a DMatrix<f64>,
    /// Weights of the steps, times c_μ, negative ones already scaled by their lengths.
    pub(crate) weights: &'a [f64],
    /// What is left of the old C.
    pub(crate) decay: f64,
    /// c_1.
    pub(crate) c_1: f64,
}

impl Distribution {
    pub(crate) fn full(dimension: usize) -> Self {
        let identity = DMatrix::identity(dimension, dimension);
        Self::Full {
            covariance: identity.clone(),
            eigenvectors: identity,
            axes: DVector::from_element(dimension, 1.0),
        }
    }

    pub(crate) fn diagonal(dimension: usize) -> Self {
        Self::Diagonal { variances: DVector::from_element(dimension, 1.0) }
    }

    /// y = B D z for each column z.
    pub(crate) fn transform(&self, mut z: DMatrix<f64>) -> DMatrix<f64> {
        match self {
            Self::Full { eigenvectors, axes, .. } => {
                scale_rows(&mut z, axes);
                eigenvectors * z
            }
            Self::Diagonal { variances } => {
                scale_rows(&mut z, &variances.map(f64::sqrt));
                z
            }
        }
    }

    /// C^(-1/2) y.
    pub(crate) fn whiten(&self, y: &DVector<f64>) -> DVector<f64> {
        match self {
            Self::Full { eigenvectors, axes, .. } => {
                eigenvectors * eigenvectors.tr_mul(y).component_div(axes)
            }
            Self::Diagonal { variances } => y.component_div(&variances.map(f64::sqrt)),
        }
    }

    /// Equation 47: rank one and rank μ.
    pub(crate) fn update(&mut self, update: &Update<'_>) {
        match self {
            Self::Full { covariance, .. } => {
                let mut weighted = update.steps.clone();
                for (mut column, &weight) in weighted.column_iter_mut().zip(update.weights) {
                    column *= weight;
                }
                covariance.gemm(1.0, &weighted, &update.steps.transpose(), update.decay);
                covariance.ger(update.c_1, update.path, update.path, 1.0);
            }
            Self::Diagonal { variances } => {
                for (index, variance) in variances.iter_mut().enumerate() {
                    let row = update.steps.row(index);
                    let rank_mu: f64 = row.iter().zip(update.weights).map(|(y, w)| w * y * y).sum();
                    let path = update.path[index];
                    *variance = update.decay * *variance + update.c_1 * path * path + rank_mu;
                }
                let least = variances.max() * LEAST_EIGENVALUE;
                variances.apply(|v| *v = v.max(least));
            }
        }
    }

    /// Brings the eigenvectors up to date with C.
    pub(crate) fn decompose(&mut self) {
        if let Self::Full { covariance, eigenvectors, axes } = self {
            let symmetric = (&*covariance + covariance.transpose()) * 0.5;
            let eigen = SymmetricEigen::new(symmetric.clone());
            let least = eigen.eigenvalues.max() * LEAST_EIGENVALUE;
            *axes = eigen.eigenvalues.map(|value| value.max(least).sqrt());
            *eigenvectors = eigen.eigenvectors;
            *covariance = symmetric;
        }
    }

    /// How often C is decomposed; never for a diagonal.
    pub(crate) fn decomposition_due(&self, parameters: &Parameters, generations: u64) -> bool {
        matches!(self, Self::Full { .. }) && generations >= parameters.decomposition_gap
    }
}

fn scale_rows(matrix: &mut DMatrix<f64>, factors: &DVector<f64>) {
    for mut column in matrix.column_iter_mut() {
        column.component_mul_assign(factors);
    }
}
