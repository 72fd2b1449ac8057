//! Matrix products of which no element depends on how many others there are.
//!
//! The one place of this crate with `unsafe`: the `gemm` crate takes raw pointers, and blocks of
//! one product that different threads fill are no slices.
#![expect(unsafe_code, reason = "gemm's only function takes raw pointers; bounds are checked here")]

use std::ops::Range;

use rayon::prelude::*;

/// Terms that are summed in one go. `gemm` sums at least this many without splitting them, so
/// that where it splits longer sums (which depends on the size of the product) does not matter.
const DEPTH: usize = 512;

/// Up to this many elements, `gemm` sums rows times columns that are both contiguous in another
/// order.
const FEW: usize = 16 * 16;

/// Products with fewer terms than this are not worth a second thread.
const SMALL: usize = 1 << 17;

/// A matrix within a slice: row-major, or a view of one.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a> {
    /// From the first element on.
    values: &'a [f32],
    rows: usize,
    columns: usize,
    /// From a row to the next.
    row_stride: usize,
    /// From a column to the next.
    column_stride: usize,
}

impl<'a> Matrix<'a> {
    /// A row-major matrix.
    ///
    /// # Panics
    /// When the slice has another length.
    pub fn new(values: &'a [f32], [rows, columns]: [usize; 2]) -> Self {
        assert_eq!(values.len(), rows * columns, "a matrix of {rows}×{columns}");
        Self { values, rows, columns, row_stride: columns, column_stride: 1 }
    }

    /// Rows and columns.
    pub fn shape(&self) -> [usize; 2] {
        [self.rows, self.columns]
    }

    /// Its transpose.
    #[must_use]
    pub fn transposed(self) -> Self {
        let Self { values, rows, columns, row_stride, column_stride } = self;
        Self {
            values,
            rows: columns,
            columns: rows,
            row_stride: column_stride,
            column_stride: row_stride,
        }
    }

    /// Some of its rows.
    ///
    /// # Panics
    /// When it has fewer.
    #[must_use]
    pub fn rows(self, range: Range<usize>) -> Self {
        assert!(range.start <= range.end && range.end <= self.rows, "rows {range:?}");
        let begin = (range.start * self.row_stride).min(self.values.len());
        Self { values: &self.values[begin..], rows: range.len(), ..self }
    }

    /// Some of its columns.
    ///
    /// # Panics
    /// When it has fewer.
    #[must_use]
    pub fn columns(self, range: Range<usize>) -> Self {
        self.transposed().rows(range).transposed()
    }

    /// Whether every element is within the slice.
    fn is_sound(&self) -> bool {
        let last = |count: usize, stride| count.saturating_sub(1) * stride;
        let empty = self.rows == 0 || self.columns == 0;
        empty
            || last(self.rows, self.row_stride) + last(self.columns, self.column_stride)
                < self.values.len()
    }

    fn to_row_major(self) -> Vec<f32> {
        let Self { rows, columns, row_stride, column_stride, .. } = self;
        let places =
            (0..rows).flat_map(|i| (0..columns).map(move |j| i * row_stride + j * column_stride));
        places.map(|at| self.values[at]).collect()
    }
}

/// What becomes of the numbers that are there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// They are overwritten.
    Set,
    /// The product is added to them.
    Add,
}

/// Where a block of a row-major product begins.
#[derive(Clone, Copy)]
struct Block {
    first: *mut f32,
    row_stride: usize,
}

// SAFETY: threads write to disjoint blocks; `par_multiply` sees to that.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

impl Block {
    fn skip(&self, rows: usize, columns: usize) -> Self {
        let first = self.first.wrapping_add(rows * self.row_stride + columns);
        Self { first, ..*self }
    }
}

/// The row-major `product`, set to `left · right` or increased by it, on the calling thread.
///
/// An element has the same bits whatever the other rows and columns are.
///
/// # Panics
/// When the shapes do not fit.
pub fn multiply(left: Matrix<'_>, right: Matrix<'_>, product: &mut [f32], store: Store) {
    check(&left, &right, product);
    let block = Block { first: product.as_mut_ptr(), row_stride: right.columns };
    // SAFETY: `product` is `[left.rows, right.columns]`, as checked above, and borrowed mutably.
    unsafe { multiply_block(left, right, block, store) }
}

/// As [`multiply`], by all threads.
///
/// # Panics
/// When the shapes do not fit.
pub fn par_multiply(left: Matrix<'_>, right: Matrix<'_>, product: &mut [f32], store: Store) {
    check(&left, &right, product);
    let [rows, columns] = [left.rows, right.columns];
    let block = Block { first: product.as_mut_ptr(), row_stride: columns };
    if rows.saturating_mul(columns).saturating_mul(left.columns) < SMALL {
        // SAFETY: as in `multiply`.
        return unsafe { multiply_block(left, right, block, store) };
    }
    // As few pieces as there are threads: gemm copies the other operand for each of them.
    let threads = rayon::current_num_threads();
    let pieces = |count: usize| count.div_ceil(threads).next_multiple_of(64);
    if rows >= columns {
        let size = pieces(rows);
        (0..rows.div_ceil(size)).into_par_iter().for_each(|i| {
            let range = i * size..((i + 1) * size).min(rows);
            // SAFETY: as in `multiply`; each thread has rows of its own.
            unsafe {
                multiply_block(left.rows(range.clone()), right, block.skip(range.start, 0), store);
            }
        });
    } else {
        let size = pieces(columns);
        (0..columns.div_ceil(size)).into_par_iter().for_each(|i| {
            let range = i * size..((i + 1) * size).min(columns);
            let right = right.columns(range.clone());
            // SAFETY: as in `multiply`; each thread has columns of its own.
            unsafe { multiply_block(left, right, block.skip(0, range.start), store) };
        });
    }
}

fn check(left: &Matrix<'_>, right: &Matrix<'_>, product: &[f32]) {
    assert_eq!(left.columns, right.rows, "the depth of a product");
    assert!(left.is_sound() && right.is_sound(), "views stay within their slices");
    let [rows, columns] = [left.rows, right.columns];
    assert_eq!(product.len(), rows * columns, "a product of {rows}×{columns}");
}

/// # Safety
/// `block` must be that of `left.rows` rows of `right.columns` numbers which nobody else uses.
unsafe fn multiply_block(left: Matrix<'_>, right: Matrix<'_>, block: Block, store: Store) {
    let [rows, depth, columns] = [left.rows, left.columns, right.columns];
    if rows == 0 || columns == 0 {
        return;
    }
    if rows == 1 || columns == 1 {
        // gemm has other methods for vectors, which round differently: give it two of them.
        let twice = |count: usize, stride| if count == 1 { (2, 0) } else { (count, stride) };
        let (two_rows, row_stride) = twice(rows, left.row_stride);
        let (two_columns, column_stride) = twice(columns, right.column_stride);
        let left = Matrix { rows: two_rows, row_stride, ..left };
        let right = Matrix { columns: two_columns, column_stride, ..right };
        let mut wide = vec![0.0; two_rows * two_columns];
        let each = || (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j)));
        for (i, j) in each() {
            // SAFETY: within the block.
            wide[i * two_columns + j] = unsafe { *block.skip(i, j).first };
        }
        multiply(left, right, &mut wide, store);
        for (i, j) in each() {
            // SAFETY: within the block.
            unsafe { *block.skip(i, j).first = wide[i * two_columns + j] };
        }
        return;
    }
    if right.row_stride == 1 && rows * columns <= FEW {
        let copy = right.to_row_major();
        // SAFETY: the same block.
        return unsafe { multiply_block(left, Matrix::new(&copy, [depth, columns]), block, store) };
    }
    for begin in (0..depth.max(1)).step_by(DEPTH) {
        let range = begin..(begin + DEPTH).min(depth);
        let (left, right) = (left.columns(range.clone()), right.rows(range.clone()));
        // SAFETY: both operands stay within their slices (`check`), which the mutably borrowed
        // block does not overlap; the block is as large as the product.
        unsafe {
            gemm::gemm(
                rows,
                columns,
                range.len(),
                block.first,
                1,
                block.row_stride as isize,
                begin > 0 || store == Store::Add,
                left.values.as_ptr(),
                left.column_stride as isize,
                left.row_stride as isize,
                right.values.as_ptr(),
                right.column_stride as isize,
                right.row_stride as isize,
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
mod tests;
