//! The trained infilling U-Net on the CPU, with the last steps of an episode.

use std::collections::VecDeque;

use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis};
use rl755_run::Random;

use crate::{Gaps, Infilling, SequenceCell, infilling::unet_cell::UNetCell};

/// The trained form of [`Infilling`].
#[derive(Clone, Debug)]
pub struct InfillingCell {
    generator: UNetCell,
    /// Latents in a sequence, the masked one at its end among them.
    length: usize,
    noise_size: usize,
}

/// The last steps of an episode.
#[derive(Clone, Debug)]
pub struct InfillingMemory {
    /// Latents and actions one after another, as many steps as the network sees at most.
    steps: VecDeque<f32>,
    /// The features of the next step, whose latent is masked, at noise 0.
    features: Vec<f32>,
}

impl InfillingCell {
    pub(super) fn new(network: &Infilling) -> Self {
        Self {
            generator: UNetCell::new(&network.generator),
            length: network.length,
            noise_size: network.noise_size,
        }
    }

    /// Latent and action.
    fn step_size(&self) -> usize {
        self.generator.input_size() - 2 - self.noise_size
    }

    /// What the network takes in of an episode, the next latent masked, at noise 0:
    /// `[length, input]`.
    fn sequence(&self, memory: &InfillingMemory) -> Vec<f32> {
        let size = self.step_size();
        let hidden = self.length - 1 - memory.steps.len() / size;
        let mut sequence = vec![0.0; self.length * self.generator.input_size()];
        let mut steps = memory.steps.iter();
        for (step, row) in sequence.chunks_exact_mut(self.generator.input_size()).enumerate() {
            if step + 1 == self.length {
                row[size + 1] = 1.0;
            } else if step >= hidden {
                row[..size].iter_mut().zip(&mut steps).for_each(|(to, from)| *to = *from);
                row[size] = 1.0;
            }
        }
        sequence
    }

    /// Puts noise into `sequence`, `[steps, input]`.
    fn add_noise(&self, sequence: &mut [f32], temperature: f64, random: &mut Random) {
        let first = self.step_size() + 2;
        for row in sequence.chunks_exact_mut(self.generator.input_size()) {
            row[first..].fill_with(|| (temperature * random.normal()) as f32);
        }
    }

    /// The features of the last step of each of `sequences`, `[rows, length, input]`.
    fn last_features(&self, sequences: &[f32]) -> Vec<f32> {
        let channels = self.generator.channels();
        let features = self.generator.features(sequences, self.length);
        let rows = features.chunks_exact(self.length * channels);
        rows.flat_map(|row| row[(self.length - 1) * channels..].iter().copied()).collect()
    }
}

impl SequenceCell for InfillingCell {
    type Memory = InfillingMemory;

    fn hidden_size(&self) -> usize {
        self.generator.channels()
    }

    fn begin(&self) -> InfillingMemory {
        InfillingMemory { steps: VecDeque::new(), features: vec![0.0; self.hidden_size()] }
    }

    fn step(
        &self,
        memories: &mut [InfillingMemory],
        latents: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
        mut hidden: ArrayViewMut2<'_, f32>,
    ) {
        let size = self.step_size();
        let mut sequences = Vec::new();
        for ((memory, latent), action) in
            memories.iter_mut().zip(latents.rows()).zip(actions.rows())
        {
            if memory.steps.len() == (self.length - 1) * size {
                memory.steps.drain(..size);
            }
            memory.steps.extend(latent.iter().chain(action));
            sequences.extend(self.sequence(memory));
        }
        let features = self.last_features(&sequences);
        let rows = features.chunks_exact(self.hidden_size()).zip(hidden.rows_mut());
        for (memory, (features, mut hidden)) in memories.iter_mut().zip(rows) {
            memory.features.copy_from_slice(features);
            hidden.iter_mut().zip(features).for_each(|(to, from)| *to = *from);
        }
    }

    fn predict(
        &self,
        memories: &[InfillingMemory],
        temperature: f64,
        randoms: &mut [Random],
        mut targets: ArrayViewMut2<'_, f32>,
    ) {
        let features = if self.noise_size == 0 || temperature == 0.0 {
            memories.iter().flat_map(|m| m.features.iter().copied()).collect()
        } else {
            let mut sequences = Vec::new();
            for (memory, random) in memories.iter().zip(randoms) {
                let mut sequence = self.sequence(memory);
                self.add_noise(&mut sequence, temperature, random);
                sequences.extend(sequence);
            }
            self.last_features(&sequences)
        };
        let predictions = self.generator.output(&features);
        targets.iter_mut().zip(&predictions).for_each(|(to, from)| *to = *from);
    }

    fn fill(&self, gaps: &Gaps<'_>, temperature: f64, random: &mut Random) -> Option<Array2<f32>> {
        let mut filled = gaps.latents.to_owned();
        let (length, latent) = filled.dim();
        if !gaps.known.contains(&false) {
            return Some(filled);
        }
        let size = self.step_size();
        let mut sequence = vec![0.0; length * self.generator.input_size()];
        let rows = sequence.chunks_exact_mut(self.generator.input_size());
        for (step, (row, &known)) in rows.zip(gaps.known).enumerate() {
            if known {
                let latents = gaps.latents.row(step);
                row[..latent].iter_mut().zip(latents).for_each(|(to, from)| *to = *from);
            }
            // What the last action led to is not in the sequence.
            if step + 1 < length {
                let actions = gaps.actions.row(step);
                row[latent..size].iter_mut().zip(actions).for_each(|(to, from)| *to = *from);
            }
            row[if known { size } else { size + 1 }] = 1.0;
        }
        self.add_noise(&mut sequence, temperature, random);
        let outputs = self.generator.output(&self.generator.features(&sequence, length));
        let rows = filled.axis_iter_mut(Axis(0)).zip(outputs.chunks_exact(latent));
        for ((mut row, output), &known) in rows.zip(gaps.known) {
            if !known {
                row.iter_mut().zip(output).for_each(|(to, from)| *to = *from);
            }
        }
        Some(filled)
    }
}
