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
        [257, 700, 3],
        [3, 700, 257],
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

/// Depths and numbers of columns (or rows) of products that are cut.
const CUT: [(usize, usize); 9] = [
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

#[test]
fn rows_and_columns_do_not_depend_on_the_others() {
    for ((depth, across), store) in
        CUT.into_iter().flat_map(|cut| [(cut, Store::Set), (cut, Store::Add)])
    {
        let (long, other) = (random(300 * depth, 3), random(depth * across, 4));
        let before = random(300 * across, 5);
        for turned in [false, true] {
            // Many rows, times a few columns.
            let (left, right) =
                (Matrix::new(&long, [300, depth]), view(&other, [depth, across], turned));
            let mut all = before.clone();
            multiply(left, right, &mut all, store);
            // A few rows, times many columns.
            let (top, wide) = (right.transposed(), left.transposed());
            let mut all_columns = vec![0.0; 300 * across];
            turn(&before, across, &mut all_columns);
            multiply(top, wide, &mut all_columns, store);
            for count in [1, 2, 3, 7, 16, 63, 64, 65, 129, 299] {
                for range in [0..count, 300 - count..300] {
                    let mut some = before[range.start * across..range.end * across].to_vec();
                    multiply(left.rows(range.clone()), right, &mut some, store);
                    let expected = &all[range.start * across..range.end * across];
                    let what = format!("{range:?}, {depth}x{across}, {store:?}");
                    assert!(some == expected, "rows {what}");
                    let cut = |rows: &[f32]| -> Vec<f32> {
                        rows.chunks(300).flat_map(|row| row[range.clone()].to_vec()).collect()
                    };
                    let mut turned_before = vec![0.0; 300 * across];
                    turn(&before, across, &mut turned_before);
                    let mut some = cut(&turned_before);
                    multiply(top, wide.columns(range.clone()), &mut some, store);
                    assert!(some == cut(&all_columns), "columns {what}");
                }
            }
        }
    }
}

/// The transpose of rows of `width` numbers.
fn turn(rows: &[f32], width: usize, turned: &mut [f32]) {
    let height = rows.len() / width;
    for (at, value) in rows.iter().enumerate() {
        turned[(at % width) * height + at / width] = *value;
    }
}
