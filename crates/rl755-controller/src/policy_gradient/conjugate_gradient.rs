//! Solving a linear system of which only products with vectors are known.

/// A residual of which the square is below this is none.
const SOLVED: f64 = 1e-10;

/// The `x` with A x = `b` after at most so many iterations of conjugate gradients (Hestenes and Stiefel
/// 1952), where `product` multiplies by A, symmetric and positive definite.
pub(crate) fn conjugate_gradient(
    product: impl Fn(&[f64]) -> Vec<f64>,
    b: &[f64],
    iterations: u32,
) -> Vec<f64> {
    let mut x = vec![0.0; b.len()];
    let mut residual = b.to_vec();
    let mut direction = b.to_vec();
    let mut square = dot(&residual, &residual);
    for _ in 0..iterations {
        if square < SOLVED {
            break;
        }
        let along = product(&direction);
        let step = square / dot(&direction, &along);
        add(&mut x, step, &direction);
        add(&mut residual, -step, &along);
        let before = std::mem::replace(&mut square, dot(&residual, &residual));
        let keep = square / before;
        direction.iter_mut().zip(&residual).for_each(|(d, r)| *d = r + keep * *d);
    }
    x
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// `to` += `factor` · `values`.
pub(super) fn add(to: &mut [f64], factor: f64, values: &[f64]) {
    to.iter_mut().zip(values).for_each(|(to, value)| *to += factor * value);
}

#[cfg(test)]
mod tests {
    use nalgebra::{DMatrix, DVector};
    use rl755_run::Random;

    use super::*;

    #[test]
    fn a_full_run_solves_what_nalgebra_solves() {
        let mut random = Random::new(3);
        let n = 12;
        let root = DMatrix::from_fn(n, n, |_, _| random.normal());
        let a = &root * root.transpose() + DMatrix::identity(n, n);
        let b = DVector::from_fn(n, |_, _| random.normal());
        let product = |v: &[f64]| (&a * DVector::from_column_slice(v)).as_slice().to_vec();
        let found = conjugate_gradient(product, b.as_slice(), 40);
        let expected = a.clone().cholesky().unwrap().solve(&b);
        assert!(found.iter().zip(&expected).all(|(x, y)| (x - y).abs() < 1e-5));
        assert_eq!(conjugate_gradient(product, &[0.0; 12], 40), [0.0; 12]);
    }
}
