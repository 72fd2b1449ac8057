//! The trained transformer on the CPU, with keys and values kept from step to step.

use ndarray::{ArrayView2, ArrayViewMut2};
use pulp::{Arch, NullaryFnOnce};
use rl755_nn::values;
use rl755_run::Random;

use crate::{
    SequenceCell, Transformer,
    kernel::{Dense, LayerNorm, exp, gelu_all},
    latents::Prediction,
    layers::{bias, dense, norm},
    transformer::block::Block,
};

/// The trained form of [`Transformer`].
#[derive(Clone, Debug)]
pub struct TransformerCell {
    width: usize,
    heads: usize,
    /// Steps in a full context.
    length: usize,
    slide: usize,
    input: Dense,
    /// `[length, width]`.
    positions: Vec<f32>,
    blocks: Vec<CellBlock>,
    norm: LayerNorm,
    output: Dense,
    prediction: Prediction,
}

#[derive(Clone, Debug)]
struct CellBlock {
    attention_norm: LayerNorm,
    /// To query, key and value, side by side.
    attention: Dense,
    projection: Dense,
    feed_forward_norm: LayerNorm,
    expansion: Dense,
    contraction: Dense,
}

/// What the transformer remembers of an episode: its context.
#[derive(Clone, Debug, Default)]
pub struct TransformerMemory {
    /// What each step of the context took in, `[steps, latent + action]`.
    inputs: Vec<f32>,
    /// Steps in the context.
    steps: usize,
    caches: Vec<Cache>,
    /// After the last self-attention, before its normalisation, at the last step.
    residual: Vec<f32>,
    /// The same, normalised.
    hidden: Vec<f32>,
}

/// A layer's keys and values.
#[derive(Clone, Debug)]
struct Cache {
    /// `[width, length]`, so that the scores of all steps are computed side by side.
    keys: Vec<f32>,
    /// `[length, width]`.
    values: Vec<f32>,
}

/// A step that is computed: whose it is, and where in the context.
#[derive(Clone, Copy)]
struct Place {
    row: usize,
    position: usize,
}

impl TransformerMemory {
    /// Steps in the context, the last one taken in among them.
    pub(crate) fn steps(&self) -> usize {
        self.steps
    }
}

impl TransformerCell {
    pub(super) fn new(network: &Transformer) -> Self {
        let [length, width] = network.positions.dims();
        Self {
            width,
            heads: network.heads,
            length,
            slide: network.context_slide,
            input: dense(&network.input),
            positions: values(network.positions.val()),
            blocks: network.blocks.iter().map(CellBlock::new).collect(),
            norm: norm(&network.norm),
            output: dense(&network.output),
            prediction: network.prediction(),
        }
    }

    /// What the last linear layer takes in after each row's last step, `[rows, width]`.
    pub(crate) fn features(&self, memories: &[&TransformerMemory]) -> Vec<f32> {
        let mut x: Vec<f32> = memories.iter().flat_map(|m| m.residual.iter().copied()).collect();
        let hidden: Vec<f32> = memories.iter().flat_map(|m| m.hidden.iter().copied()).collect();
        if let Some(block) = self.blocks.last() {
            block.feed_forward(&hidden, &mut x);
        }
        let mut normed = vec![0.0; x.len()];
        self.norm.forward(&x, &mut normed);
        normed
    }

    /// Takes in `inputs`, one step for each row, and says which steps have to be computed, each
    /// row's last one last.
    fn take_in(&self, memories: &mut [TransformerMemory], inputs: &[f32]) -> Vec<Place> {
        let size = self.input.inputs();
        let mut places = Vec::with_capacity(memories.len());
        for (row, (memory, input)) in memories.iter_mut().zip(inputs.chunks_exact(size)).enumerate()
        {
            let mut first = memory.steps;
            if memory.steps == self.length {
                memory.inputs.drain(..self.slide * size);
                memory.steps -= self.slide;
                first = 0;
            }
            memory.inputs.extend_from_slice(input);
            memory.steps += 1;
            places.extend((first..memory.steps).map(|position| Place { row, position }));
        }
        places
    }

    /// The inputs of `places` with their positions, `[places, width]`.
    fn embed(&self, memories: &[TransformerMemory], places: &[Place]) -> Vec<f32> {
        let size = self.input.inputs();
        let mut inputs = Vec::with_capacity(places.len() * size);
        for place in places {
            inputs.extend_from_slice(&memories[place.row].inputs[place.position * size..][..size]);
        }
        let mut x = vec![0.0; places.len() * self.width];
        self.input.forward(&inputs, &mut x);
        for (x, place) in x.chunks_exact_mut(self.width).zip(places) {
            add(x, &self.positions[place.position * self.width..][..self.width]);
        }
        x
    }

    /// Adds the self-attention of layer `index` to `x`, `[places, width]`.
    fn attend(
        &self,
        index: usize,
        memories: &mut [TransformerMemory],
        places: &[Place],
        x: &mut [f32],
    ) {
        let (block, width) = (&self.blocks[index], self.width);
        let mut normed = vec![0.0; x.len()];
        block.attention_norm.forward(x, &mut normed);
        let mut projected = vec![0.0; 3 * x.len()]; // [places, 3 · width]
        block.attention.forward(&normed, &mut projected);
        for (row, place) in projected.chunks_exact(3 * width).zip(places) {
            let cache = &mut memories[place.row].caches[index];
            for (i, key) in row[width..2 * width].iter().enumerate() {
                cache.keys[i * self.length + place.position] = *key;
            }
            cache.values[place.position * width..][..width].copy_from_slice(&row[2 * width..]);
        }
        let mut attended = vec![0.0; x.len()];
        let rows = projected.chunks_exact(3 * width).zip(attended.chunks_exact_mut(width));
        for ((row, attended), place) in rows.zip(places) {
            Arch::new().dispatch(Attention {
                cell: self,
                query: &row[..width],
                cache: &memories[place.row].caches[index],
                steps: place.position + 1,
                attended,
            });
        }
        block.projection.forward(&attended, &mut normed);
        add(x, &normed);
    }
}

impl SequenceCell for TransformerCell {
    type Memory = TransformerMemory;

    fn hidden_size(&self) -> usize {
        self.width
    }

    fn begin(&self) -> TransformerMemory {
        let zeros = || vec![0.0; self.length * self.width];
        TransformerMemory {
            inputs: Vec::with_capacity(self.length * self.input.inputs()),
            steps: 0,
            caches: self.blocks.iter().map(|_| Cache { keys: zeros(), values: zeros() }).collect(),
            residual: vec![0.0; self.width],
            hidden: vec![0.0; self.width],
        }
    }

    fn step(
        &self,
        memories: &mut [TransformerMemory],
        latents: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
        mut hidden: ArrayViewMut2<'_, f32>,
    ) {
        let mut inputs = Vec::with_capacity(memories.len() * self.input.inputs());
        for (latent, action) in latents.rows().into_iter().zip(actions.rows()) {
            inputs.extend(latent.iter().chain(action.iter()));
        }
        let places = self.take_in(memories, &inputs);
        let mut x = self.embed(memories, &places);
        let last = self.blocks.len() - 1;
        for index in 0..last {
            self.attend(index, memories, &places, &mut x);
            let block = &self.blocks[index];
            let mut normed = vec![0.0; x.len()];
            block.feed_forward_norm.forward(&x, &mut normed);
            block.feed_forward(&normed, &mut x);
        }
        self.attend(last, memories, &places, &mut x);
        // What follows the last self-attention is needed at each row's last step only.
        for (x, place) in x.chunks_exact(self.width).zip(&places) {
            let memory = &mut memories[place.row];
            if place.position + 1 == memory.steps {
                memory.residual.copy_from_slice(x);
                self.blocks[last].feed_forward_norm.forward(x, &mut memory.hidden);
            }
        }
        for (memory, mut row) in memories.iter().zip(hidden.rows_mut()) {
            for (to, from) in row.iter_mut().zip(&memory.hidden) {
                *to = *from;
            }
        }
    }

    fn predict(
        &self,
        memories: &[TransformerMemory],
        temperature: f64,
        randoms: &mut [Random],
        targets: ArrayViewMut2<'_, f32>,
    ) {
        let memories: Vec<&TransformerMemory> = memories.iter().collect();
        let mut raw = vec![0.0; memories.len() * self.output.outputs()];
        self.output.forward(&self.features(&memories), &mut raw);
        self.prediction.predict(&raw, temperature, randoms, targets);
    }
}

impl CellBlock {
    fn new(block: &Block) -> Self {
        let [width, _] = block.query.weight.dims();
        let parts = [&block.query, &block.key, &block.value];
        let weights = parts.map(|part| values(part.weight.val()));
        let mut weight = Vec::with_capacity(3 * width * width);
        for row in 0..width {
            for part in &weights {
                weight.extend_from_slice(&part[row * width..][..width]);
            }
        }
        let bias: Vec<f32> = parts.iter().flat_map(|part| bias(part)).collect();
        Self {
            attention_norm: norm(&block.attention_norm),
            attention: Dense::new(&weight, &bias),
            projection: dense(&block.projection),
            feed_forward_norm: norm(&block.feed_forward_norm),
            expansion: dense(&block.expansion),
            contraction: dense(&block.contraction),
        }
    }

    /// Adds what the feed-forward network makes of `normed` to `x`, both `[rows, width]`.
    fn feed_forward(&self, normed: &[f32], x: &mut [f32]) {
        let rows = x.len() / self.contraction.outputs();
        let mut wide = vec![0.0; rows * self.expansion.outputs()];
        self.expansion.forward(normed, &mut wide);
        gelu_all(&mut wide);
        let mut narrow = vec![0.0; x.len()];
        self.contraction.forward(&wide, &mut narrow);
        add(x, &narrow);
    }
}

/// The attention of one step to `steps` steps, itself the last.
struct Attention<'a> {
    cell: &'a TransformerCell,
    query: &'a [f32],
    cache: &'a Cache,
    steps: usize,
    /// `[width]`, zeros.
    attended: &'a mut [f32],
}

impl NullaryFnOnce for Attention<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { cell, query, cache, steps, attended } = self;
        let size = cell.width / cell.heads;
        let scale = 1.0 / (size as f32).sqrt();
        let mut weights = vec![0.0f32; steps];
        for head in 0..cell.heads {
            let columns = head * size..(head + 1) * size;
            weights.fill(0.0);
            for i in columns.clone() {
                let keys = &cache.keys[i * cell.length..][..steps];
                for (weight, key) in weights.iter_mut().zip(keys) {
                    *weight = query[i].mul_add(*key, *weight);
                }
            }
            let largest = weights.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            for weight in &mut weights {
                *weight = exp((*weight - largest) * scale);
            }
            let total: f32 = weights.iter().sum();
            let attended = &mut attended[columns.clone()];
            for (position, weight) in weights.iter().enumerate() {
                let values = &cache.values[position * cell.width..][columns.clone()];
                for (sum, value) in attended.iter_mut().zip(values) {
                    *sum = weight.mul_add(*value, *sum);
                }
            }
            for sum in attended {
                *sum /= total;
            }
        }
    }
}

fn add(x: &mut [f32], y: &[f32]) {
    for (x, y) in x.iter_mut().zip(y) {
        *x += y;
    }
}
