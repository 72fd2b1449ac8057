//! The contrastive loss of SimCLR (Chen et al. 2020, equation 1).

use burn::tensor::{Tensor, TensorData};

/// What the loss says of a batch.
pub(crate) struct Contrast {
    /// The normalised temperature-scaled cross entropy, averaged over all views, `[1]`.
    pub(crate) loss: Tensor<1>,
    /// The share of views that are more similar to the other view of their frame than to any other,
    /// `[1]`.
    pub(crate) top_1: Tensor<1>,
}

/// Compares `views`, `[2 · frames, width]`: rows `i` and `frames + i` are views of one frame.
/// Similarity is the cosine over `temperature`.
pub(crate) fn nt_xent(views: Tensor<2>, temperature: f64) -> Contrast {
    let [count, _] = views.dims();
    let device = views.device();
    let norm = views.clone().square().sum_dim(1).add_scalar(1e-12).sqrt();
    let views = views / norm;
    let similarity = views.clone().matmul(views.transpose()).div_scalar(temperature);
    let matrix = |one_at: &dyn Fn(usize) -> usize| -> Tensor<2> {
        let mut values = vec![0.0f32; count * count];
        for row in 0..count {
            values[row * count + one_at(row)] = 1.0;
        }
        Tensor::from_data(TensorData::new(values, [count, count]), &device)
    };
    let (itself, other) = (matrix(&|row| row), matrix(&|row| (row + count / 2) % count));
    let far = similarity.clone() - itself.mul_scalar(1e9);
    let positive = (similarity * other.clone()).sum_dim(1); // [count, 1]
    let negative = (far.clone() - other.mul_scalar(1e9)).max_dim(1);
    let top_1 = positive.clone().greater(negative).float().mean();
    let most = far.clone().max_dim(1).detach();
    let all = (far - most.clone()).exp().sum_dim(1).log() + most;
    Contrast { loss: (all - positive).mean(), top_1 }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    fn check(views: &[[f64; 3]], temperature: f64) {
        let n = views.len();
        let unit: Vec<Vec<f64>> = views
            .iter()
            .map(|v| v.iter().map(|x| x / v.iter().map(|x| x * x).sum::<f64>().sqrt()).collect())
            .collect();
        let similarity =
            |i: usize, j: usize| unit[i].iter().zip(&unit[j]).map(|(a, b)| a * b).sum::<f64>();
        let (mut loss, mut right) = (0.0, 0);
        for i in 0..n {
            let pair = (i + n / 2) % n;
            let others = (0..n).filter(|&k| k != i);
            let sum: f64 = others.clone().map(|k| (similarity(i, k) / temperature).exp()).sum();
            loss -= ((similarity(i, pair) / temperature).exp() / sum).ln() / n as f64;
            let best = others.clone().filter(|&k| k != pair);
            right += usize::from(best.map(|k| similarity(i, k)).all(|s| s < similarity(i, pair)));
        }
        let flat: Vec<f32> = views.iter().flatten().map(|&v| v as f32).collect();
        let tensor = Tensor::from_data(TensorData::new(flat, [n, 3]), &Device::flex());
        let found = nt_xent(tensor, temperature);
        let found_loss = f64::from(found.loss.into_scalar::<f32>());
        assert!((found_loss - loss).abs() < 1e-5 * loss.abs() + 1e-6, "{found_loss} for {loss}");
        let share = right as f64 / n as f64;
        assert!((f64::from(found.top_1.into_scalar::<f32>()) - share).abs() < 1e-6);
    }

    #[test]
    fn the_loss_is_that_of_its_definition() {
        let views = [
            [1.0, 0.2, 0.0],
            [0.0, 3.0, 1.0],
            [-0.5, 0.1, 0.4],
            [0.9, 0.4, -0.2],
            [0.3, -1.0, 0.2],
            [-1.0, 0.0, 0.9],
        ];
        for temperature in [0.05, 0.5, 1.0] {
            check(&views, temperature);
        }
        check(&views[..2], 0.5);
    }

    #[test]
    fn views_that_are_all_alike_are_told_apart_by_nobody() {
        let same = Tensor::<2>::ones([6, 3], &Device::flex());
        let found = nt_xent(same, 0.5);
        assert_eq!(found.top_1.into_scalar::<f32>(), 0.0);
        assert!((found.loss.into_scalar::<f32>() - 5f32.ln()).abs() < 1e-5);
    }
}
