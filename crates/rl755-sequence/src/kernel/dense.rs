//! A dense layer on a few rows.

use pulp::{Arch, NullaryFnOnce};

/// Outputs that are computed together: two or four vector registers.
const PANEL: usize = 16;

/// Rows that share a pass over the weights.
const ROWS: usize = 4;

/// Panels that are computed together for a row by itself: one sum waits for the last, four do not.
const GROUP: usize = 4;

/// `y = x·W + b` for row-major `x`, `[rows, inputs]`.
///
/// Each output starts from its bias and adds the products in the order of the inputs.
#[derive(Clone, Debug)]
pub(crate) struct Dense {
    inputs: usize,
    outputs: usize,
    /// `[outputs / PANEL, inputs, PANEL]`, the last panel filled up with zeros.
    panels: Vec<f32>,
    /// `[outputs / PANEL, PANEL]`, likewise.
    bias: Vec<f32>,
}

impl Dense {
    /// A layer with `weight`, row-major `[inputs, outputs]`, and `bias`, `[outputs]`.
    ///
    /// # Panics
    /// When `weight` is no whole number of rows as long as `bias`.
    pub(crate) fn new(weight: &[f32], bias: &[f32]) -> Self {
        let outputs = bias.len();
        let inputs = weight.len() / outputs;
        assert_eq!(weight.len(), inputs * outputs, "weight is [{inputs}, {outputs}]");
        let count = outputs.div_ceil(PANEL);
        let mut panels = vec![0.0; count * inputs * PANEL];
        let mut padded = vec![0.0; count * PANEL];
        padded[..outputs].copy_from_slice(bias);
        for (i, row) in weight.chunks_exact(outputs).enumerate() {
            for (p, part) in row.chunks(PANEL).enumerate() {
                let at = (p * inputs + i) * PANEL;
                panels[at..at + part.len()].copy_from_slice(part);
            }
        }
        Self { inputs, outputs, panels, bias: padded }
    }

    /// Numbers in a row of the input.
    pub(crate) fn inputs(&self) -> usize {
        self.inputs
    }

    /// Numbers in a row of the output.
    pub(crate) fn outputs(&self) -> usize {
        self.outputs
    }

    /// Fills `y`, `[rows, outputs]`, from `x`, `[rows, inputs]`.
    ///
    /// # Panics
    /// When the two have different numbers of rows.
    pub(crate) fn forward(&self, x: &[f32], y: &mut [f32]) {
        let rows = y.len() / self.outputs;
        assert_eq!(x.len(), rows * self.inputs, "x is [{rows}, {}]", self.inputs);
        assert_eq!(y.len(), rows * self.outputs, "y is [{rows}, {}]", self.outputs);
        Arch::new().dispatch(Forward { layer: self, x, y });
    }
}

/// What is compiled for each set of vector instructions.
struct Forward<'a> {
    layer: &'a Dense,
    x: &'a [f32],
    y: &'a mut [f32],
}

impl NullaryFnOnce for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Dense { inputs, outputs, panels, bias } = self.layer;
        let rows = self.y.len() / outputs;
        let whole = rows - rows % ROWS;
        let x = |row: usize| &self.x[row * inputs..][..*inputs];
        let count = bias.len() / PANEL;
        let panel = |p: usize| &panels[p * inputs * PANEL..][..inputs * PANEL];
        let bias = |p: usize| &bias[p * PANEL..][..PANEL];
        let mut put = |row: usize, p: usize, sums: &[f32; PANEL]| {
            let columns = p * PANEL..(*outputs).min((p + 1) * PANEL);
            let sums = &sums[..columns.len()];
            self.y[row * outputs..][columns].copy_from_slice(sums);
        };
        // A panel stays in the nearest cache for all rows.
        for p in 0..count {
            for row in (0..whole).step_by(ROWS) {
                let x: [&[f32]; ROWS] = std::array::from_fn(|r| x(row + r));
                let sums = rows_product(panel(p), bias(p), x);
                for (r, sums) in sums.iter().enumerate() {
                    put(row + r, p, sums);
                }
            }
        }
        for row in whole..rows {
            let grouped = count - count % GROUP;
            for first in (0..grouped).step_by(GROUP) {
                let group: [&[f32]; GROUP] = std::array::from_fn(|p| panel(first + p));
                let bias: [&[f32]; GROUP] = std::array::from_fn(|p| bias(first + p));
                let sums = row_product(group, bias, x(row));
                for (p, sums) in sums.iter().enumerate() {
                    put(row, first + p, sums);
                }
            }
            for p in grouped..count {
                let [sums] = rows_product(panel(p), bias(p), [x(row)]);
                put(row, p, &sums);
            }
        }
    }
}

/// The outputs of one panel for some rows.
#[inline(always)]
fn rows_product<const R: usize>(panel: &[f32], bias: &[f32], x: [&[f32]; R]) -> [[f32; PANEL]; R] {
    let mut sums = [[0.0; PANEL]; R];
    for sums in &mut sums {
        sums.copy_from_slice(bias);
    }
    for (i, weights) in panel.chunks_exact(PANEL).enumerate() {
        for (sums, x) in sums.iter_mut().zip(x) {
            for (sum, weight) in sums.iter_mut().zip(weights) {
                *sum = x[i].mul_add(*weight, *sum);
            }
        }
    }
    sums
}

/// The outputs of some panels for one row.
#[inline(always)]
fn row_product(panels: [&[f32]; GROUP], bias: [&[f32]; GROUP], x: &[f32]) -> [[f32; PANEL]; GROUP] {
    let mut sums = [[0.0; PANEL]; GROUP];
    for (sums, bias) in sums.iter_mut().zip(bias) {
        sums.copy_from_slice(bias);
    }
    let [a, b, c, d] = panels.map(|panel| panel.chunks_exact(PANEL));
    for ((((x, a), b), c), d) in x.iter().zip(a).zip(b).zip(c).zip(d) {
        for (sums, weights) in sums.iter_mut().zip([a, b, c, d]) {
            for (sum, weight) in sums.iter_mut().zip(weights) {
                *sum = x.mul_add(*weight, *sum);
            }
        }
    }
    sums
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
    fn products_are_those_of_the_definition_in_their_order() {
        for [rows, inputs, outputs] in
            [[1, 1, 1], [3, 7, 16], [6, 35, 33], [9, 291, 64], [7, 20, 150]]
        {
            let (x, weight) = (random(rows * inputs, 1), random(inputs * outputs, 2));
            let bias = random(outputs, 3);
            let mut y = vec![f32::NAN; rows * outputs];
            Dense::new(&weight, &bias).forward(&x, &mut y);
            for (i, value) in y.iter().enumerate() {
                let (row, output) = (i / outputs, i % outputs);
                let expected = (0..inputs).fold(bias[output], |sum, k| {
                    x[row * inputs + k].mul_add(weight[k * outputs + output], sum)
                });
                assert_eq!(*value, expected, "{rows}x{inputs}x{outputs} at {row}, {output}");
            }
        }
    }
}
