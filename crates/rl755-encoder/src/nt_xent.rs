//! The contrastive loss of SimCLR (Chen et al. 2020, equation 1).

use burn::tensor::{Bool, Int, Tensor, TensorData};
use rl755_nn::full_precision;

/// What the loss says of a batch.
pub(crate) struct Contrast {
    /// The normalised temperature-scaled cross entropy, averaged over all views, `[1]`.
    pub(crate) loss: Tensor<1>,
    /// The share of views that are more similar to the other view of their frame than to any other,
    /// `[1]`.
    pub(crate) top_1: Tensor<1>,
}

/// A similarity below any.
const FAR: f32 = -1e9;

/// Compares `views`, `[2 · frames, width]`: rows `i` and `frames + i` are views of one frame.
/// Similarity is the cosine over `temperature`. Computed in 32 bits.
pub(crate) fn nt_xent(views: Tensor<2>, temperature: f64) -> Contrast {
    let [count, _] = views.dims();
    let device = views.device();
    let views = full_precision(views);
    let norm = views.clone().square().sum_dim(1).add_scalar(1e-12).sqrt();
    let views = views / norm;
    let similarity = views.clone().matmul(views.transpose()).div_scalar(temperature);
    let other = |row: usize| (row + count / 2) % count;
    let only = |one: &dyn Fn(usize) -> usize| -> Tensor<2, Bool> {
        let places = (0..count * count).map(|at| at % count == one(at / count)).collect();
        Tensor::from_data(TensorData::new(places, [count, count]), &device)
    };
    let far = similarity.clone().mask_fill(only(&|row| row), FAR);
    let others: Vec<i32> = (0..count).map(|row| other(row) as i32).collect();
    let others = Tensor::<2, Int>::from_data(TensorData::new(others, [count, 1]), &device);
    let positive = similarity.gather(1, others); // [count, 1]
    let negative = far.clone().mask_fill(only(&other), FAR).max_dim(1);
    let top_1 = full_precision(positive.clone().greater(negative).float()).mean();
    let most = far.clone().max_dim(1).detach();
    let all = (far - most.clone()).exp().sum_dim(1).log() + most;
    Contrast { loss: (all - positive).mean(), top_1 }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, Device};

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
        let tensor = Tensor::<2>::from_data(TensorData::new(flat, [n, 3]), &Device::flex());
        for (dtype, error) in [(DType::F32, 1e-5), (DType::BF16, 3e-2), (DType::F16, 3e-3)] {
            let found = nt_xent(tensor.clone().cast(dtype), temperature);
            let found_loss = f64::from(found.loss.into_scalar::<f32>());
            let limit = error * (loss.abs() + 1.0 / temperature);
            assert!((found_loss - loss).abs() < limit, "{dtype:?}: {found_loss} for {loss}");
            let share = right as f64 / n as f64;
            assert!((f64::from(found.top_1.into_scalar::<f32>()) - share).abs() < 1e-6);
        }
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
