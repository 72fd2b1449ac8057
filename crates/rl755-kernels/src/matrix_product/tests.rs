//! Products against the definition in 64 bits, and the independence of their elements.

use super::*;
use crate::testing::random;

/// `matrix`, in one of the two orders.
fn view(values: &[f32], [rows, columns]: [usize; 2], transposed: bool) -> Matrix<'_> {
    if transposed {
        Matrix::new(values, [columns, rows]).transposed()
    } else {
        Matrix::new(values, [rows, columns])
    }
}

#[test]
fn products_are_those_of_the_definition() {
    let shapes = [
        [1, 1, 1],
        [3, 48, 32],
        [1, 700, 64],
        [5, 1100, 7],
        [9, 514, 1],
        [1, 3, 1],
        [4, 0, 3],
        [200, 130, 90],
        [33, 130, 900],
    ];
    for [rows, depth, columns] in shapes {
        for (turned_left, turned_right, store) in [
            (false, false, Store::Set),
            (true, false, Store::Add),
            (false, true, Store::Set),
            (true, true, Store::Add),
        ] {
            let (left, right) = (random(rows * depth, 1), random(depth * columns, 2));
            let left = view(&left, [rows, depth], turned_left);
            let right = view(&right, [depth, columns], turned_right);
            let before = if store == Store::Add { 1.0 } else { f32::NAN };
            let mut product = vec![before; rows * columns];
            multiply(left, right, &mut product, store);
            let mut parallel = vec![before; rows * columns];
            par_multiply(left, right, &mut parallel, store);
            assert!(product == parallel, "{rows}x{depth}x{columns}: threads matter");
            let at = |m: Matrix<'_>, i: usize, j: usize| {
                f64::from(m.values[i * m.row_stride + j * m.column_stride])
            };
            for (i, row) in product.chunks(columns).enumerate() {
                for (j, &value) in row.iter().enumerate() {
                    let sum: f64 = (0..depth).map(|k| at(left, i, k) * at(right, k, j)).sum();
                    let expected = sum + if store == Store::Add { 1.0 } else { 0.0 };
                    let error = (f64::from(value) - expected).abs();
                    assert!(error < 1e-4, "{rows}x{depth}x{columns}: {value} for {expected}");
                }
            }
        }
    }
}

#[test]
fn a_row_does_not_depend_on_the_other_rows() {
    let shapes = [
        (48, 32),
        (512, 64),
        (1024, 128),
        (2048, 256),
        (1024, 64),
        (3, 5),
        (514, 2),
        (700, 1),
        (300, 9),
    ];
    for (depth, columns) in shapes {
        for turned in [false, true] {
            let (left, right) = (random(300 * depth, 3), random(depth * columns, 4));
            let right = view(&right, [depth, columns], turned);
            let left = Matrix::new(&left, [300, depth]);
            let mut all = vec![0.0; 300 * columns];
            multiply(left, right, &mut all, Store::Set);
            for rows in [1, 2, 3, 7, 16, 63, 64, 65, 129, 299] {
                for first in [0, 300 - rows] {
                    let mut some = vec![0.0; rows * columns];
                    multiply(left.rows(first..first + rows), right, &mut some, Store::Set);
                    let expected = &all[first * columns..(first + rows) * columns];
                    assert!(some == expected, "{rows} rows from {first}, {depth}x{columns}");
                }
            }
        }
    }
}
