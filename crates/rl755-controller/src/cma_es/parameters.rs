//! Weights and learning rates of CMA-ES, from the dimension and the population size.

use super::{Covariance, NegativeWeights};

/// Strategy parameters with their default values: Hansen 2016 (arXiv:1604.00772v2), table 1, with
/// its numbers and pycma's few changes to them (a rank-μ offset of 1/4, and rank one in proportion
/// to populations below 6).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Parameters {
    /// For each member from best to worst; the first `mu` are positive and sum to 1.
    pub(crate) weights: Vec<f64>,
    /// How many weights are positive.
    pub(crate) mu: usize,
    /// Variance-effective selection mass of the positive weights, μ_eff.
    pub(crate) mu_eff: f64,
    /// Decay of the step size's path, c_σ.
    pub(crate) c_sigma: f64,
    /// Damping of the step size, d_σ.
    pub(crate) d_sigma: f64,
    /// Decay of the covariance's path, c_c.
    pub(crate) c_c: f64,
    /// Rank-one learning rate, c_1.
    pub(crate) c_1: f64,
    /// Rank-μ learning rate, c_μ.
    pub(crate) c_mu: f64,
    /// The expected length of a standard normal vector, χ_n.
    pub(crate) chi_n: f64,
    /// Generations between two eigendecompositions.
    pub(crate) decomposition_gap: u64,
}

impl Parameters {
    pub(crate) fn new(
        dimension: usize,
        population: usize,
        covariance: Covariance,
        negative: NegativeWeights,
    ) -> Self {
        let n = dimension as f64;
        let lambda = population as f64;
        let raw: Vec<f64> =
            (1..=population).map(|i| ((lambda + 1.0) / 2.0).ln() - (i as f64).ln()).collect();
        let mu = raw.iter().filter(|w| **w > 0.0).count();
        let (positive, rest) = raw.split_at(mu);
        let mu_eff = effective_mass(positive);

        let c_sigma = ((mu_eff + 2.0) / (n + mu_eff + 3.0)).min(0.5);
        let d_sigma = 1.0 + 2.0 * (((mu_eff - 1.0) / (n + 1.0)).sqrt() - 1.0).max(0.0) + c_sigma;
        let c_c = match covariance {
            Covariance::Full => (4.0 + mu_eff / n) / (n + 4.0 + 2.0 * mu_eff / n),
            // As pycma: a diagonal is learnt about √n times as fast, and so is its path.
            Covariance::Diagonal => {
                (1.0 + 1.0 / n + mu_eff / n) / (n.sqrt() + 1.0 / n + 2.0 * mu_eff / n)
            }
        };
        let mut c_1 = (lambda / 6.0).min(1.0) * 2.0 / ((n + 1.3).powi(2) + mu_eff);
        let mut c_mu = 2.0 * (0.25 + mu_eff + 1.0 / mu_eff - 2.0) / ((n + 2.0).powi(2) + mu_eff);
        if covariance == Covariance::Diagonal {
            // Ros and Hansen 2008, section 3: n instead of n² numbers are learnt.
            c_1 *= (n + 2.0) / 3.0;
            c_mu *= (n + 2.0) / 3.0;
        }
        c_1 = c_1.min(1.0);
        c_mu = c_mu.min(1.0 - c_1);

        let mut weights = scaled(positive, 1.0);
        match negative {
            NegativeWeights::Zero => weights.resize(population, 0.0),
            NegativeWeights::Active => {
                let mass = effective_mass(rest);
                // Equations 50 to 53: no decay of C on average; in proportion to their own
                // effective mass; and small enough to keep C positive definite.
                let sum = (1.0 + c_1 / c_mu)
                    .min(1.0 + 2.0 * mass / (mu_eff + 2.0))
                    .min((1.0 - c_1 - c_mu) / (n * c_mu));
                weights.extend(scaled(rest, sum));
            }
        }
        // √2 Γ((n + 1) / 2) / Γ(n / 2): the product of two neighbours is the lesser's n.
        let chi_1 = std::f64::consts::FRAC_2_PI.sqrt();
        let chi_n = (1..dimension).fold(chi_1, |chi, k| k as f64 / chi);
        let decomposition_gap = (1.0 / ((c_1 + c_mu) * n * 10.0)).ceil().max(1.0) as u64;
        Self { weights, mu, mu_eff, c_sigma, d_sigma, c_c, c_1, c_mu, chi_n, decomposition_gap }
    }
}

/// `(Σw)² / Σw²`; 0 of none.
fn effective_mass(weights: &[f64]) -> f64 {
    let squares: f64 = weights.iter().map(|w| w * w).sum();
    if squares == 0.0 { 0.0 } else { weights.iter().sum::<f64>().powi(2) / squares }
}

/// The weights with absolute values that sum to `sum`, in the same proportions.
fn scaled(weights: &[f64], sum: f64) -> Vec<f64> {
    let total: f64 = weights.iter().map(|w| w.abs()).sum();
    weights.iter().map(|w| if total == 0.0 { 0.0 } else { w / total * sum }).collect()
}
