//! Trained LSTM models on the CPU.

use ndarray::{ArrayView2, ArrayViewMut2};
use pulp::{Arch, NullaryFnOnce};
use rl755_run::Random;

use super::{lstm::Lstm, outcome::OutcomeCells};
use crate::{
    SequenceCell,
    kernel::{Dense, sigmoid, tanh},
    latents::Prediction,
};

/// The trained form of [`RecurrentNetwork`](crate::RecurrentNetwork).
#[derive(Clone, Debug)]
pub struct LstmCell {
    hidden_size: usize,
    /// Latent, action and hidden state to the four gates.
    gates: Dense,
    /// Hidden state to what latents are predicted from.
    head: Dense,
    prediction: Prediction,
    outcome: OutcomeCells,
}

/// What an LSTM remembers of an episode.
#[derive(Clone, Debug, PartialEq)]
pub struct LstmMemory {
    hidden: Vec<f32>,
    cell: Vec<f32>,
}

impl LstmCell {
    pub(super) fn new(
        lstm: &Lstm,
        head: Dense,
        prediction: Prediction,
        outcome: OutcomeCells,
    ) -> Self {
        let hidden_size = lstm.hidden_size;
        Self { hidden_size, gates: lstm.gates(), head, prediction, outcome }
    }
}

/// The hidden states side by side, `[rows, hidden]`.
fn hidden(memories: &[LstmMemory]) -> Vec<f32> {
    memories.iter().flat_map(|memory| memory.hidden.iter().copied()).collect()
}

impl SequenceCell for LstmCell {
    type Memory = LstmMemory;

    fn hidden_size(&self) -> usize {
        self.hidden_size
    }

    fn begin(&self) -> LstmMemory {
        let zeros = vec![0.0; self.hidden_size];
        LstmMemory { hidden: zeros.clone(), cell: zeros }
    }

    fn step(
        &self,
        memories: &mut [LstmMemory],
        latents: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
        mut hidden: ArrayViewMut2<'_, f32>,
    ) {
        let mut inputs = Vec::with_capacity(memories.len() * self.gates.inputs());
        for ((memory, latent), action) in memories.iter().zip(latents.rows()).zip(actions.rows()) {
            inputs.extend(latent.iter().chain(action.iter()).chain(&memory.hidden));
        }
        let mut gates = vec![0.0; memories.len() * self.gates.outputs()];
        self.gates.forward(&inputs, &mut gates);
        Arch::new().dispatch(Update { memories, gates: &gates });
        for (memory, mut row) in memories.iter().zip(hidden.rows_mut()) {
            for (to, from) in row.iter_mut().zip(&memory.hidden) {
                *to = *from;
            }
        }
    }

    fn predict(
        &self,
        memories: &[LstmMemory],
        temperature: f64,
        randoms: &mut [Random],
        targets: ArrayViewMut2<'_, f32>,
    ) {
        let mut raw = vec![0.0; memories.len() * self.head.outputs()];
        self.head.forward(&hidden(memories), &mut raw);
        self.prediction.predict(&raw, temperature, randoms, targets);
    }

    fn predict_rewards(&self, memories: &[LstmMemory]) -> Option<Vec<f32>> {
        self.outcome.rewards(|| hidden(memories))
    }

    fn predict_dones(&self, memories: &[LstmMemory]) -> Option<Vec<f32>> {
        self.outcome.dones(|| hidden(memories))
    }
}

/// The new cell and hidden states from the gates, compiled for each set of vector instructions.
struct Update<'a> {
    memories: &'a mut [LstmMemory],
    gates: &'a [f32],
}

impl NullaryFnOnce for Update<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for (index, memory) in self.memories.iter_mut().enumerate() {
            let size = memory.cell.len();
            let gate = |which: usize| &self.gates[(4 * index + which) * size..][..size];
            let (input, forget, candidate, output) = (gate(0), gate(1), gate(2), gate(3));
            let (cell, hidden) = (&mut memory.cell[..size], &mut memory.hidden[..size]);
            for i in 0..size {
                let kept = sigmoid(forget[i]) * cell[i];
                cell[i] = sigmoid(input[i]).mul_add(tanh(candidate[i]), kept);
                hidden[i] = sigmoid(output[i]) * tanh(cell[i]);
            }
        }
    }
}
