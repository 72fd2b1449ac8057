//! The machine's rate of large matrix products, which no model can exceed.

use gemm::Parallelism;

use crate::{Job, Outcome};

/// Rows and columns: three matrices of 4 MB each.
const SIZE: usize = 1024;

/// Multiplies the same two square matrices again and again.
pub(crate) struct MatrixProduct {
    left: Vec<f32>,
    right: Vec<f32>,
    product: Vec<f32>,
}

impl MatrixProduct {
    pub(crate) fn new() -> Self {
        let matrix = |factor: usize| -> Vec<f32> {
            (0..SIZE * SIZE).map(|i| ((i * factor) % 1009) as f32 / 1009.0).collect()
        };
        Self { left: matrix(31), right: matrix(37), product: vec![0.0; SIZE * SIZE] }
    }
}

impl Job for MatrixProduct {
    #[expect(unsafe_code, reason = "gemm takes pointers")]
    fn work(&mut self) -> Outcome<u64> {
        let row = SIZE as isize;
        // SAFETY: each pointer is to the first of SIZE · SIZE numbers, row after row.
        unsafe {
            gemm::gemm(
                SIZE,
                SIZE,
                SIZE,
                self.product.as_mut_ptr(),
                1,
                row,
                false,
                self.left.as_ptr(),
                1,
                row,
                self.right.as_ptr(),
                1,
                row,
                0.0,
                1.0,
                false,
                false,
                false,
                Parallelism::Rayon(0),
            );
        }
        Ok(2 * (SIZE * SIZE * SIZE) as u64)
    }
}
