//! Matrix products whose rows do not depend on how many other rows there are.
//!
//! The one place of this crate with `unsafe`: the `gemm` crate takes raw pointers.
#![expect(
    unsafe_code,
    reason = "gemm's only function takes raw pointers; lengths are checked here"
)]

/// Terms that are summed in one go. `gemm` sums at least this many without splitting them, so
/// that where it splits longer sums (which depends on the number of rows) does not matter.
const DEPTH: usize = 512;

/// `product = left · right`, all row-major: `left` is `[rows, depth]`, `right` is
/// `[depth, columns]`, `product` is `[rows, columns]`.
///
/// A row of the product has the same bits whatever the other rows are.
///
/// # Panics
/// When a slice has another length, or `depth` is 0.
pub(crate) fn multiply(
    [rows, depth, columns]: [usize; 3],
    left: &[f32],
    right: &[f32],
    product: &mut [f32],
) {
    assert!(depth > 0, "a sum of no terms");
    assert_eq!(left.len(), rows * depth, "left is [{rows}, {depth}]");
    assert_eq!(right.len(), depth * columns, "right is [{depth}, {columns}]");
    assert_eq!(product.len(), rows * columns, "product is [{rows}, {columns}]");
    if rows == 1 {
        // For one row gemm has another method, which rounds differently: give it two.
        let mut two = vec![0.0; 2 * columns];
        multiply([2, depth, columns], &left.repeat(2), right, &mut two);
        product.copy_from_slice(&two[..columns]);
        return;
    }
    for begin in (0..depth).step_by(DEPTH) {
        let terms = DEPTH.min(depth - begin);
        // SAFETY: `left` is read at rows < `rows` and columns begin..begin + terms <= `depth`,
        // `right` at rows begin..begin + terms <= `depth` and columns < `columns`, `product` is
        // read and written at rows < `rows` and columns < `columns`; the lengths were checked
        // above. `product` is borrowed mutably, so it overlaps neither.
        unsafe {
            gemm::gemm(
                rows,
                columns,
                terms,
                product.as_mut_ptr(),
                1,
                columns as isize,
                begin > 0,
                left.as_ptr().add(begin),
                1,
                depth as isize,
                right.as_ptr().add(begin * columns),
                1,
                columns as isize,
                1.0,
                1.0,
                false,
                false,
                false,
                gemm::Parallelism::None,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use rl755_run::Random;

    use super::*;

    fn random(len: usize, seed: u64) -> Vec<f32> {
        let mut random = Random::new(seed);
        (0..len).map(|_| random.normal() as f32).collect()
    }

    #[test]
    fn products_are_those_of_the_definition() {
        for [rows, depth, columns] in [[1, 1, 1], [3, 48, 32], [1, 700, 64], [5, 1100, 7]] {
            let (left, right) = (random(rows * depth, 1), random(depth * columns, 2));
            let mut product = vec![f32::NAN; rows * columns];
            multiply([rows, depth, columns], &left, &right, &mut product);
            for (i, row) in product.chunks(columns).enumerate() {
                for (j, &value) in row.iter().enumerate() {
                    let terms = (0..depth).map(|k| {
                        f64::from(left[i * depth + k]) * f64::from(right[k * columns + j])
                    });
                    let expected: f64 = terms.sum();
                    let error = (f64::from(value) - expected).abs();
                    assert!(error < 1e-4, "{rows}x{depth}x{columns}: {value} for {expected}");
                }
            }
        }
    }

    #[test]
    fn a_row_does_not_depend_on_the_other_rows() {
        for (depth, columns) in [(48, 32), (512, 64), (1024, 128), (2048, 256), (1024, 64), (3, 5)]
        {
            let (left, right) = (random(300 * depth, 3), random(depth * columns, 4));
            let mut all = vec![0.0; 300 * columns];
            multiply([300, depth, columns], &left, &right, &mut all);
            for rows in [1, 2, 3, 7, 16, 63, 64, 65, 129, 299] {
                for first in [0, 300 - rows] {
                    let mut some = vec![0.0; rows * columns];
                    let left = &left[first * depth..(first + rows) * depth];
                    multiply([rows, depth, columns], left, &right, &mut some);
                    let expected = &all[first * columns..(first + rows) * columns];
                    assert!(some == expected, "{rows} rows from {first}, {depth}x{columns}");
                }
            }
        }
    }
}
