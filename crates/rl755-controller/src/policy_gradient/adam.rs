//! Adam (Kingma and Ba 2015) on a vector of 64 bits.

const DECAY: (f64, f64) = (0.9, 0.999);
/// As PPO's authors have it.
const EPSILON: f64 = 1e-5;

/// Moving averages of gradients and of their squares, and how many there were.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Adam {
    pub(crate) first: Vec<f64>,
    pub(crate) second: Vec<f64>,
    pub(crate) steps: u64,
}

impl Adam {
    pub(crate) fn new(parameters: usize) -> Self {
        Self { first: vec![0.0; parameters], second: vec![0.0; parameters], steps: 0 }
    }

    /// Moves `parameters` up the `gradient`.
    pub(crate) fn ascend(&mut self, parameters: &mut [f64], gradient: &[f64], rate: f64) {
        self.steps += 1;
        let correction = |decay: f64| 1.0 - decay.powf(self.steps as f64);
        let (of_first, of_second) = (correction(DECAY.0), correction(DECAY.1));
        let moments = self.first.iter_mut().zip(&mut self.second);
        for ((parameter, gradient), (first, second)) in
            parameters.iter_mut().zip(gradient).zip(moments)
        {
            *first += (1.0 - DECAY.0) * (gradient - *first);
            *second += (1.0 - DECAY.1) * (gradient * gradient - *second);
            *parameter += rate * (*first / of_first) / ((*second / of_second).sqrt() + EPSILON);
        }
    }
}
