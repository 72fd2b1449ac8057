//! A trained cell as a [`SequenceModel`], and the sessions that follow episodes with it.

use ndarray::{Array2, ArrayView2, Axis};
use rayon::prelude::*;
use rl755_run::Random;

use crate::{SequenceCell, SequenceError, SequenceModel, SequenceNetwork, Session, Sizes};

/// Rows that one thread takes together: enough to share a pass over the weights.
const CHUNK: usize = 8;

/// A trained sequence model.
struct TrainedModel<C> {
    cell: C,
    sizes: Sizes,
    difference_targets: bool,
}

impl<C: SequenceCell> SequenceModel for TrainedModel<C> {
    fn latent_size(&self) -> usize {
        self.sizes.latent
    }

    fn action_size(&self) -> usize {
        self.sizes.action
    }

    fn hidden_size(&self) -> usize {
        self.cell.hidden_size()
    }

    fn session(&self, batch: usize) -> Box<dyn Session + '_> {
        Box::new(Rows {
            model: self,
            memories: (0..batch).map(|_| self.cell.begin()).collect(),
            hidden: Array2::zeros((batch, self.cell.hidden_size())),
            last: Array2::zeros((batch, self.sizes.latent)),
            begun: vec![false; batch],
        })
    }
}

/// Episodes side by side, each with a memory of its own.
struct Rows<'a, C: SequenceCell> {
    model: &'a TrainedModel<C>,
    memories: Vec<C::Memory>,
    hidden: Array2<f32>,
    /// The latents of the last step, `[batch, latent]`.
    last: Array2<f32>,
    /// Which rows have had a step.
    begun: Vec<bool>,
}

impl<C: SequenceCell> Rows<'_, C> {
    fn check(
        &self,
        what: &'static str,
        found: &[usize],
        width: usize,
    ) -> Result<(), SequenceError> {
        let expected = [self.memories.len(), width];
        if found == expected {
            return Ok(());
        }
        Err(SequenceError::Shape { what, found: found.to_vec(), expected: expected.to_vec() })
    }

    /// Rows in each thread's chunk: with few rows, each thread takes fewer at a time.
    fn chunk(&self) -> usize {
        self.memories.len().div_ceil(rayon::current_num_threads()).clamp(1, CHUNK)
    }
}

impl<C: SequenceCell> Session for Rows<'_, C> {
    fn hidden(&self) -> ArrayView2<'_, f32> {
        self.hidden.view()
    }

    fn step(
        &mut self,
        latents: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
    ) -> Result<(), SequenceError> {
        self.check("latents", latents.shape(), self.model.sizes.latent)?;
        self.check("actions", actions.shape(), self.model.sizes.action)?;
        self.last.assign(&latents);
        self.begun.fill(true);
        let (cell, chunk) = (&self.model.cell, self.chunk());
        if self.memories.len() <= chunk {
            cell.step(&mut self.memories, latents, actions, self.hidden.view_mut());
            return Ok(());
        }
        (
            self.memories.par_chunks_mut(chunk),
            latents.axis_chunks_iter(Axis(0), chunk).into_par_iter(),
            actions.axis_chunks_iter(Axis(0), chunk).into_par_iter(),
            self.hidden.axis_chunks_iter_mut(Axis(0), chunk).into_par_iter(),
        )
            .into_par_iter()
            .for_each(|(memories, latents, actions, hidden)| {
                cell.step(memories, latents, actions, hidden);
            });
        Ok(())
    }

    fn predict(
        &mut self,
        temperature: f64,
        randoms: &mut [Random],
    ) -> Result<Array2<f32>, SequenceError> {
        let batch = self.memories.len();
        if randoms.len() != batch {
            return Err(SequenceError::Shape {
                what: "randoms",
                found: vec![randoms.len()],
                expected: vec![batch],
            });
        }
        if temperature.is_nan() || temperature < 0.0 {
            return Err(SequenceError::Setting {
                field: "temperature",
                value: temperature.to_string(),
                expected: "0 or more",
            });
        }
        if self.begun.contains(&false) {
            return Err(SequenceError::NothingSeen);
        }
        let (cell, chunk) = (&self.model.cell, self.chunk());
        let mut targets = Array2::zeros((batch, self.model.sizes.latent));
        (
            self.memories.par_chunks(chunk),
            randoms.par_chunks_mut(chunk),
            targets.axis_chunks_iter_mut(Axis(0), chunk).into_par_iter(),
        )
            .into_par_iter()
            .for_each(|(memories, randoms, targets)| {
                cell.predict(memories, temperature, randoms, targets);
            });
        if self.model.difference_targets {
            targets += &self.last;
        }
        Ok(targets)
    }

    fn reset_row(&mut self, row: usize) {
        self.memories[row] = self.model.cell.begin();
        self.hidden.row_mut(row).fill(0.0);
        self.begun[row] = false;
    }

    fn select(&mut self, rows: &[usize]) {
        self.memories = rows.iter().map(|&row| self.memories[row].clone()).collect();
        self.hidden = self.hidden.select(Axis(0), rows);
        self.last = self.last.select(Axis(0), rows);
        self.begun = rows.iter().map(|&row| self.begun[row]).collect();
    }
}

/// `network`, without gradients, as a [`SequenceModel`]; it was trained with those `sizes` and
/// `difference_targets`.
pub fn trained<N: SequenceNetwork>(
    network: &N,
    sizes: Sizes,
    difference_targets: bool,
) -> Box<dyn SequenceModel> {
    Box::new(TrainedModel { cell: network.cell(), sizes, difference_targets })
}
