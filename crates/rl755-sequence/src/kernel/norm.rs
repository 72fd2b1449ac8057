//! Layer normalisation of a few rows (Ba, Kiros & Hinton 2016).

/// Partial sums, added up last, so that compilers can use vectors.
const LANES: usize = 16;

/// `(x - mean) / sqrt(variance + epsilon) · scale + shift` for each row.
#[derive(Clone, Debug)]
pub(crate) struct LayerNorm {
    scale: Vec<f32>,
    shift: Vec<f32>,
    epsilon: f32,
}

impl LayerNorm {
    pub(crate) fn new(scale: Vec<f32>, shift: Vec<f32>, epsilon: f32) -> Self {
        Self { scale, shift, epsilon }
    }

    /// Fills `y` from `x`, both `[rows, width]`.
    pub(crate) fn forward(&self, x: &[f32], y: &mut [f32]) {
        let width = self.scale.len();
        for (x, y) in x.chunks_exact(width).zip(y.chunks_exact_mut(width)) {
            let mean = sum(x, |v| v) / width as f32;
            let variance = sum(x, |v| (v - mean) * (v - mean)) / width as f32;
            let factor = 1.0 / (variance + self.epsilon).sqrt();
            for ((y, x), (scale, shift)) in
                y.iter_mut().zip(x).zip(self.scale.iter().zip(&self.shift))
            {
                *y = (x - mean) * factor * scale + shift;
            }
        }
    }
}

#[inline(always)]
fn sum(x: &[f32], f: impl Fn(f32) -> f32) -> f32 {
    let mut lanes = [0.0; LANES];
    for part in x.chunks(LANES) {
        for (lane, x) in lanes.iter_mut().zip(part) {
            *lane += f(*x);
        }
    }
    lanes.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_the_moments_of_scale_and_shift() {
        let x: Vec<f32> = (0..40).map(|i| (i * i) as f32).collect();
        let mut y = vec![0.0; 40];
        LayerNorm::new(vec![2.0; 20], vec![1.0; 20], 1e-5).forward(&x, &mut y);
        for row in y.chunks(20) {
            let mean = row.iter().sum::<f32>() / 20.0;
            let variance = row.iter().map(|v| (v - mean).powi(2)).sum::<f32>() / 20.0;
            assert!((mean - 1.0).abs() < 1e-5 && (variance - 4.0).abs() < 1e-4);
        }
    }
}
