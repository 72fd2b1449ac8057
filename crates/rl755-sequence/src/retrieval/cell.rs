//! The trained retrieving transformer on the CPU, with the keys and values of an episode's windows.

use std::collections::VecDeque;

use ndarray::{ArrayView2, ArrayViewMut2};
use rl755_run::Random;

use crate::{
    Retrieval, SequenceCell, SequenceNetwork, TransformerCell, TransformerMemory,
    kernel::{Dense, exp, gelu_all},
    latents::Prediction,
    layers::dense,
    retrieval::{
        network::Encoding,
        windows::{Cut, top},
    },
};

/// The trained form of [`Retrieval`].
#[derive(Clone, Debug)]
pub struct RetrievalCell {
    transformer: TransformerCell,
    query: Dense,
    key: CellEncoding,
    value: CellEncoding,
    expansion: Dense,
    contraction: Dense,
    output: Dense,
    prediction: Prediction,
    cut: Cut,
    top_k: usize,
}

#[derive(Clone, Debug)]
struct CellEncoding {
    first: Dense,
    second: Dense,
}

/// What is remembered of an episode.
#[derive(Clone, Debug)]
pub struct RetrievalMemory {
    transformer: TransformerMemory,
    /// Steps taken in.
    steps: usize,
    /// What was taken in at the last steps, `[steps, latent + action]`, from the beginning of the
    /// first window that has no key yet.
    inputs: VecDeque<f32>,
    /// Steps that `inputs` no longer has.
    forgotten: usize,
    /// Windows that have been made.
    made: usize,
    /// Key and value of the newest windows.
    windows: VecDeque<Window>,
    /// That from which the next latent is predicted.
    hidden: Vec<f32>,
}

#[derive(Clone, Debug)]
struct Window {
    key: Vec<f32>,
    value: Vec<f32>,
}

#[cfg(test)]
impl RetrievalMemory {
    /// Windows and steps that are kept.
    pub(super) fn kept(&self) -> [usize; 2] {
        [self.windows.len(), self.steps - self.forgotten]
    }
}

impl CellEncoding {
    fn new(encoding: &Encoding) -> Self {
        Self { first: dense(&encoding.first), second: dense(&encoding.second) }
    }

    fn forward(&self, window: &[f32]) -> Vec<f32> {
        let mut hidden = vec![0.0; self.first.outputs()];
        self.first.forward(window, &mut hidden);
        gelu_all(&mut hidden);
        let mut encoded = vec![0.0; self.second.outputs()];
        self.second.forward(&hidden, &mut encoded);
        encoded
    }
}

impl RetrievalCell {
    pub(super) fn new(network: &Retrieval) -> Self {
        Self {
            transformer: network.transformer.cell(),
            query: dense(&network.query),
            key: CellEncoding::new(&network.key),
            value: CellEncoding::new(&network.value),
            expansion: dense(&network.expansion),
            contraction: dense(&network.contraction),
            output: dense(&network.transformer.output),
            prediction: network.transformer.prediction(),
            cut: network.cut,
            top_k: network.top_k,
        }
    }

    /// Takes in the input of a step, and makes the windows that its context leaves behind.
    fn take_in(&self, memory: &mut RetrievalMemory, input: impl Iterator<Item = f32>) {
        memory.inputs.extend(input);
        memory.steps += 1;
        let Cut { window, stride, most_windows, .. } = self.cut;
        let size = memory.inputs.len() / (memory.steps - memory.forgotten);
        let end = self.cut.windows_before(memory.steps - memory.transformer.steps());
        while memory.made < end {
            // With a stride above the window, the window may begin after what is kept.
            let skipped = (memory.made * stride - memory.forgotten) * size;
            memory.inputs.drain(..skipped);
            memory.forgotten = memory.made * stride;
            let steps: Vec<f32> = memory.inputs.iter().take(window * size).copied().collect();
            if memory.windows.len() == most_windows {
                memory.windows.pop_front();
            }
            memory.windows.push_back(Window {
                key: self.key.forward(&steps),
                value: self.value.forward(&steps),
            });
            memory.made += 1;
        }
    }

    /// What is retrieved for `query`, zeros where there is no history.
    fn retrieve(&self, memory: &RetrievalMemory, query: &[f32], retrieved: &mut [f32]) {
        let scale = 1.0 / (query.len() as f32).sqrt();
        let score = |window: &Window| {
            query.iter().zip(&window.key).fold(0.0f32, |sum, (q, k)| q.mul_add(*k, sum)) * scale
        };
        let scores: Vec<f32> = memory.windows.iter().map(score).collect();
        let chosen = top(&scores, self.top_k);
        let largest = chosen.iter().map(|&i| scores[i]).fold(f32::NEG_INFINITY, f32::max);
        let weights: Vec<f32> = chosen.iter().map(|&i| exp(scores[i] - largest)).collect();
        let total: f32 = weights.iter().sum();
        for (&index, weight) in chosen.iter().zip(&weights) {
            for (sum, value) in retrieved.iter_mut().zip(&memory.windows[index].value) {
                *sum = (weight / total).mul_add(*value, *sum);
            }
        }
    }
}

impl SequenceCell for RetrievalCell {
    type Memory = RetrievalMemory;

    fn hidden_size(&self) -> usize {
        self.transformer.hidden_size()
    }

    fn begin(&self) -> RetrievalMemory {
        RetrievalMemory {
            transformer: self.transformer.begin(),
            steps: 0,
            inputs: VecDeque::new(),
            forgotten: 0,
            made: 0,
            windows: VecDeque::new(),
            hidden: vec![0.0; self.hidden_size()],
        }
    }

    fn step(
        &self,
        memories: &mut [RetrievalMemory],
        latents: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
        mut hidden: ArrayViewMut2<'_, f32>,
    ) {
        let mut recent: Vec<_> =
            memories.iter_mut().map(|m| std::mem::take(&mut m.transformer)).collect();
        self.transformer.step(&mut recent, latents, actions, hidden.view_mut());
        for (memory, recent) in memories.iter_mut().zip(recent) {
            memory.transformer = recent;
        }
        let width = self.hidden_size();
        let (rows, size) = (memories.len(), self.query.outputs());
        let mut queries = vec![0.0; rows * size];
        let states: Vec<f32> = hidden.iter().copied().collect();
        self.query.forward(&states, &mut queries);
        let recent: Vec<_> = memories.iter().map(|m| &m.transformer).collect();
        let mut joined = self.transformer.features(&recent);
        let mut both = vec![0.0; rows * 2 * width];
        for (row, memory) in memories.iter_mut().enumerate() {
            let input = latents.row(row).into_iter().chain(actions.row(row)).copied();
            self.take_in(memory, input);
            let (features, retrieved) = both[row * 2 * width..][..2 * width].split_at_mut(width);
            features.copy_from_slice(&joined[row * width..][..width]);
            self.retrieve(memory, &queries[row * size..][..size], retrieved);
        }
        let mut wide = vec![0.0; rows * self.expansion.outputs()];
        self.expansion.forward(&both, &mut wide);
        gelu_all(&mut wide);
        let mut narrow = vec![0.0; rows * width];
        self.contraction.forward(&wide, &mut narrow);
        for (x, y) in joined.iter_mut().zip(&narrow) {
            *x += y;
        }
        let all = memories.iter_mut().zip(joined.chunks_exact(width)).zip(hidden.rows_mut());
        for ((memory, joined), mut hidden) in all {
            memory.hidden.copy_from_slice(joined);
            hidden.iter_mut().zip(joined).for_each(|(to, from)| *to = *from);
        }
    }

    fn predict(
        &self,
        memories: &[RetrievalMemory],
        temperature: f64,
        randoms: &mut [Random],
        targets: ArrayViewMut2<'_, f32>,
    ) {
        let hidden: Vec<f32> = memories.iter().flat_map(|m| m.hidden.iter().copied()).collect();
        let mut raw = vec![0.0; memories.len() * self.output.outputs()];
        self.output.forward(&hidden, &mut raw);
        self.prediction.predict(&raw, temperature, randoms, targets);
    }
}
