//! What an LSTM computes step after step.
//!
//! Sequences do not depend on each other: threads take some of them through all steps. The weights
//! are laid out in panels of columns first, which a processor reads from end to end at every step.

use rayon::prelude::*;

use crate::{
    elementwise::{sigmoid, tanh},
    matrix_product::{Matrix, Store, multiply},
    simd::vectorized,
};

/// Columns of a panel: four of the widest vector registers.
const PANEL: usize = 64;

/// Rows of a panel that are transposed together.
const BLOCK: usize = 16;

/// Sequences that a thread takes together at most: with more, their steps no longer stay in its
/// cache.
const SEQUENCES: usize = 16;

/// The recurrent part of an LSTM, over sequences of `length` steps.
pub(super) struct Recurrence<'a> {
    pub(super) length: usize,
    pub(super) hidden: usize,
    /// `[hidden, 4 · hidden]`.
    pub(super) weight: &'a [f32],
}

/// Sequences in progress.
pub(super) struct Sequences<'a> {
    /// `[sequences, length, 4 · hidden]`: what inputs and biases give, then the gates after their
    /// non-linearities.
    pub(super) gates: &'a mut [f32],
    /// `[sequences, length, hidden]`.
    pub(super) cells: &'a mut [f32],
    /// `[sequences, length, hidden]`.
    pub(super) states: &'a mut [f32],
}

impl Recurrence<'_> {
    /// Fills gates, cells and states.
    pub(super) fn forward(&self, sequences: Sequences<'_>) {
        let panels = Panels::new(self.weight, [self.hidden, 4 * self.hidden]);
        let steps = self.together(sequences.states.len()) * self.length * self.hidden;
        (
            sequences.gates.par_chunks_mut(4 * steps),
            sequences.cells.par_chunks_mut(steps),
            sequences.states.par_chunks_mut(steps),
        )
            .into_par_iter()
            .for_each(|(gates, cells, states)| {
                self.forward_some(&panels, Sequences { gates, cells, states });
            });
    }

    /// How many sequences a thread takes together, of as many as have `states` numbers: no more
    /// than give all threads something to do. No sum has terms of two sequences, so that the number
    /// changes no bit.
    fn together(&self, states: usize) -> usize {
        let batch = states / (self.length * self.hidden);
        batch.div_ceil(rayon::current_num_threads()).clamp(1, SEQUENCES)
    }

    fn forward_some(&self, panels: &Panels, sequences: Sequences<'_>) {
        let Self { length, hidden, .. } = *self;
        let Sequences { gates, cells, states } = sequences;
        let rows = states.len() / (length * hidden);
        let mut recurrent = vec![0.0; rows * 4 * hidden];
        let mut before = vec![0.0; rows * hidden];
        let zeros = vec![0.0; hidden];
        for step in 0..length {
            if step > 0 {
                panels.multiply(&before, &mut recurrent);
            }
            for row in 0..rows {
                let at = row * length + step;
                let gates = &mut gates[at * 4 * hidden..][..4 * hidden];
                panels.add_row(&recurrent, row, gates);
                let (past, now) = cells.split_at_mut(at * hidden);
                let past = if step > 0 { &past[(at - 1) * hidden..] } else { &zeros };
                let state = &mut states[at * hidden..][..hidden];
                step_forward(gates, past, &mut now[..hidden], state);
            }
            for (row, before) in before.chunks_exact_mut(hidden).enumerate() {
                before.copy_from_slice(&states[(row * length + step) * hidden..][..hidden]);
            }
        }
    }

    /// Turns the gates of `forward` into the gradient of what they were before their
    /// non-linearities, from that of the states.
    pub(super) fn backward(&self, gates: &mut [f32], cells: &[f32], gradient: &[f32]) {
        let panels = Panels::transposed(self.weight, [self.hidden, 4 * self.hidden]);
        let steps = self.together(cells.len()) * self.length * self.hidden;
        (gates.par_chunks_mut(4 * steps), cells.par_chunks(steps), gradient.par_chunks(steps))
            .into_par_iter()
            .for_each(|(gates, cells, gradient)| {
                self.backward_some(&panels, gates, cells, gradient);
            });
    }

    fn backward_some(&self, panels: &Panels, gates: &mut [f32], cells: &[f32], gradient: &[f32]) {
        let Self { length, hidden, .. } = *self;
        let rows = cells.len() / (length * hidden);
        let mut of_state = vec![0.0; rows * hidden]; // by panels
        let mut of_cell = vec![0.0; rows * hidden];
        let mut later = vec![0.0; rows * 4 * hidden];
        let mut total = vec![0.0; hidden];
        let zeros = vec![0.0; hidden];
        for step in (0..length).rev() {
            for row in 0..rows {
                let at = row * length + step;
                total.copy_from_slice(&gradient[at * hidden..][..hidden]);
                panels.add_row(&of_state, row, &mut total);
                let gates = &mut gates[at * 4 * hidden..][..4 * hidden];
                let past = if step > 0 { &cells[(at - 1) * hidden..][..hidden] } else { &zeros };
                StepBack { past, cell: &cells[at * hidden..][..hidden], of_state: &total }
                    .run(gates, &mut of_cell[row * hidden..][..hidden]);
                later[row * 4 * hidden..][..4 * hidden].copy_from_slice(gates);
            }
            if step > 0 {
                panels.multiply(&later, &mut of_state);
            }
        }
    }
}

/// A matrix cut into panels of columns, each row-major.
struct Panels {
    rows: usize,
    columns: usize,
    values: Vec<f32>,
}

impl Panels {
    /// Of a row-major matrix.
    fn new(matrix: &[f32], [rows, columns]: [usize; 2]) -> Self {
        let mut values = Vec::with_capacity(rows * columns);
        for begin in (0..columns).step_by(PANEL) {
            let panel = begin..columns.min(begin + PANEL);
            for row in matrix.chunks_exact(columns) {
                values.extend_from_slice(&row[panel.clone()]);
            }
        }
        Self { rows, columns, values }
    }

    /// Of the transpose of a row-major matrix, `[columns, rows]`.
    fn transposed(matrix: &[f32], [columns, rows]: [usize; 2]) -> Self {
        let mut values = vec![0.0; rows * columns];
        let panels = values.chunks_mut(rows * PANEL).zip(matrix.chunks(rows * PANEL));
        for (panel, matrix) in panels {
            let width = panel.len() / rows;
            // Some rows at a time, so that both sides stay in the nearest cache.
            for (block, panel) in panel.chunks_mut(BLOCK * width).enumerate() {
                for (column, matrix) in matrix.chunks_exact(rows).enumerate() {
                    let values = &matrix[block * BLOCK..];
                    for (row, value) in panel.chunks_exact_mut(width).zip(values) {
                        row[column] = *value;
                    }
                }
            }
        }
        Self { rows, columns, values }
    }

    /// The product of `left`, `[n, rows]`, with the matrix, in panels too: `[n, width]` for each.
    fn multiply(&self, left: &[f32], product: &mut [f32]) {
        let n = left.len() / self.rows;
        let left = Matrix::new(left, [n, self.rows]);
        let panels = self.values.chunks(self.rows * PANEL).zip(product.chunks_mut(n * PANEL));
        for (panel, product) in panels {
            let width = panel.len() / self.rows;
            multiply(left, Matrix::new(panel, [self.rows, width]), product, Store::Set);
        }
    }

    /// Adds row `row` of a product of [`multiply`](Self::multiply) to `to`.
    fn add_row(&self, product: &[f32], row: usize, to: &mut [f32]) {
        let n = product.len() / self.columns;
        for (panel, to) in product.chunks(n * PANEL).zip(to.chunks_mut(PANEL)) {
            for (to, from) in to.iter_mut().zip(&panel[row * (panel.len() / n)..]) {
                *to += from;
            }
        }
    }
}

/// A step of one sequence, from the gates before their non-linearities, which become those after them.
fn step_forward(gates: &mut [f32], past: &[f32], cell: &mut [f32], state: &mut [f32]) {
    vectorized(
        #[inline(always)]
        move || {
            let size = cell.len();
            let [input, forget, candidate, output] = split(gates, size);
            let (past, cell, state) = (&past[..size], &mut cell[..size], &mut state[..size]);
            for i in 0..size {
                input[i] = sigmoid(input[i]);
                forget[i] = sigmoid(forget[i]);
                candidate[i] = tanh(candidate[i]);
                output[i] = sigmoid(output[i]);
                cell[i] = input[i].mul_add(candidate[i], forget[i] * past[i]);
                state[i] = output[i] * tanh(cell[i]);
            }
        },
    );
}

/// The way back through a step of one sequence.
struct StepBack<'a> {
    /// The cell before the step.
    past: &'a [f32],
    /// The cell after it.
    cell: &'a [f32],
    /// The gradient of the state.
    of_state: &'a [f32],
}

impl StepBack<'_> {
    /// Turns gates after their non-linearities into the gradients of what they were before, and the
    /// gradient of the cell through later steps into that through this one.
    fn run(self, gates: &mut [f32], of_cell: &mut [f32]) {
        vectorized(
            #[inline(always)]
            move || {
                let size = self.cell.len();
                let [input, forget, candidate, output] = split(gates, size);
                let (past, cell) = (&self.past[..size], &self.cell[..size]);
                let (of_state, of_cell) = (&self.of_state[..size], &mut of_cell[..size]);
                for k in 0..size {
                    let (i, f, g, o) = (input[k], forget[k], candidate[k], output[k]);
                    let squashed = tanh(cell[k]);
                    let of_c = of_cell[k] + of_state[k] * o * (1.0 - squashed * squashed);
                    input[k] = of_c * g * i * (1.0 - i);
                    forget[k] = of_c * past[k] * f * (1.0 - f);
                    candidate[k] = of_c * i * (1.0 - g * g);
                    output[k] = of_state[k] * squashed * o * (1.0 - o);
                    of_cell[k] = of_c * f;
                }
            },
        );
    }
}

#[inline(always)]
fn split(gates: &mut [f32], size: usize) -> [&mut [f32]; 4] {
    let (input, rest) = gates.split_at_mut(size);
    let (forget, rest) = rest.split_at_mut(size);
    let (candidate, output) = rest.split_at_mut(size);
    [input, forget, candidate, &mut output[..size]]
}
