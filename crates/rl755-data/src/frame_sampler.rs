//! Random observations of raw rollouts, in batches, for training encoders.

use std::sync::{Arc, Mutex, PoisonError};

use ndarray::{Array2, Array4};
use prost::bytes::Bytes;
use rayon::prelude::*;
use rl755_run::Random;
use serde::{Deserialize, Serialize};

use crate::{
    DatasetError, SchemaError, Split,
    png_frame::{FrameShape, decode_frame},
    raw_record::{RawRecord, frame_shape},
    schema::check_environment,
    visit_order::{VisitOrder, permutation},
};

/// Blocks that are kept: a batch shares no more than one with the batch before it.
const CACHED_BLOCKS: usize = 2;

/// How observations are sampled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrameSamplerConfig {
    /// Observations in a batch.
    pub batch_size: usize,
    /// Random observations taken each time a rollout is read. Default 100. A rollout that has
    /// fewer steps gives some of them more than once.
    pub obs_sampled_per_rollout: usize,
    /// Observations that are shuffled together, in whole rollouts: the sampled observations of
    /// `shuffle_buffer / obs_sampled_per_rollout` rollouts, at least one. Default 1000. They are
    /// held in memory as they are stored, 2.4 KB each for CarRacing.
    pub shuffle_buffer: usize,
    /// What the order derives from.
    pub seed: u64,
}

impl Default for FrameSamplerConfig {
    fn default() -> Self {
        Self { batch_size: 64, obs_sampled_per_rollout: 100, shuffle_buffer: 1000, seed: 0 }
    }
}

/// A batch of observations.
#[derive(Clone, Debug, PartialEq)]
pub enum Observations {
    /// `[batch, height, width, channel]`, 0..=255.
    Frames(Array4<u8>),
    /// `[batch, width]`.
    Vectors(Array2<f32>),
}

/// Samples observations from a split of raw rollouts.
///
/// Batch `step` depends on the config and `step` alone: training resumes at any step with the
/// batches it would have had, and threads do not change them. Rollouts are visited in a new
/// random order every epoch.
#[derive(Debug)]
pub struct FrameSampler {
    split: Split,
    config: FrameSamplerConfig,
    frame_shape: Option<FrameShape>,
    vector_width: usize,
    order: VisitOrder,
    rollouts_per_block: u64,
    /// The blocks read last.
    blocks: Mutex<Vec<(u64, Arc<Block>)>>,
}

/// The sampled observations of the rollouts that are shuffled together, in shuffled order.
#[derive(Debug)]
enum Block {
    Frames(Vec<Bytes>),
    Vectors(Vec<f32>),
}

impl FrameSampler {
    /// Samples from `split`.
    ///
    /// # Errors
    /// When the dataset is encoded, the split is empty, or a number in the config is 0.
    pub fn new(split: Split, config: FrameSamplerConfig) -> Result<Self, DatasetError> {
        split.dataset().expect_raw()?;
        let path = split.dataset().directory();
        let too_small = |reason| DatasetError::TooSmall { path: path.to_owned(), reason };
        if split.is_empty() {
            return Err(too_small(format!("the split `{}` has no rollouts", split.name())));
        }
        if config.batch_size == 0 || config.obs_sampled_per_rollout == 0 {
            return Err(too_small("the batch or the sample of a rollout is empty".to_owned()));
        }
        let space = &split.dataset().manifest().environment.observation_space;
        Ok(Self {
            frame_shape: frame_shape(space),
            vector_width: space.width(),
            order: VisitOrder::new(split.len(), config.seed, "frame order"),
            rollouts_per_block: (config.shuffle_buffer / config.obs_sampled_per_rollout).max(1)
                as u64,
            blocks: Mutex::new(Vec::new()),
            split,
            config,
        })
    }

    /// The config it was made with.
    pub fn config(&self) -> &FrameSamplerConfig {
        &self.config
    }

    /// Batch `step`, from 0.
    ///
    /// # Errors
    /// When a shard is damaged or cannot be read.
    pub fn batch(&self, step: u64) -> Result<Observations, DatasetError> {
        let size = self.config.batch_size;
        let per_block = self.rollouts_per_block * self.config.obs_sampled_per_rollout as u64;
        let first = step * size as u64;
        let (first_block, last_block) = (first / per_block, (first + size as u64 - 1) / per_block);
        let blocks = (first_block..=last_block)
            .map(|block| self.block(block))
            .collect::<Result<Vec<_>, _>>()?;
        let at = |i: usize| {
            let item = first + i as u64;
            ((item / per_block - first_block) as usize, (item % per_block) as usize)
        };
        let Some(shape) = self.frame_shape else {
            let width = self.vector_width;
            let mut batch = Array2::zeros((size, width));
            for (i, mut row) in batch.rows_mut().into_iter().enumerate() {
                let (block, item) = at(i);
                let Block::Vectors(values) = &*blocks[block] else { unreachable!("one kind") };
                row.iter_mut().zip(&values[item * width..]).for_each(|(to, from)| *to = *from);
            }
            return Ok(Observations::Vectors(batch));
        };
        let mut bytes = vec![0; size * shape.bytes()];
        bytes.par_chunks_mut(shape.bytes()).enumerate().try_for_each(|(i, frame)| {
            let (block, item) = at(i);
            let Block::Frames(pngs) = &*blocks[block] else { unreachable!("one kind") };
            decode_frame(shape, &pngs[item], frame).map_err(|source| {
                let source = SchemaError::Frame { step: 0, source };
                let visit = (first + i as u64) / self.config.obs_sampled_per_rollout as u64;
                self.error(self.order.item(visit), source)
            })
        })?;
        let dim = (size, shape.height, shape.width, shape.channels);
        let frames = Array4::from_shape_vec(dim, bytes).expect("one frame per observation");
        Ok(Observations::Frames(frames))
    }

    /// Block `block`, from memory or from disk.
    fn block(&self, block: u64) -> Result<Arc<Block>, DatasetError> {
        let cached = |blocks: &[(u64, Arc<Block>)]| {
            blocks.iter().find(|(known, _)| *known == block).map(|(_, found)| Arc::clone(found))
        };
        if let Some(found) = cached(&self.blocks.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(found);
        }
        // Not locked while reading: a thread that waits for its share of the reading may take up
        // another call of `batch` meanwhile. At worst a block is read twice.
        let read = Arc::new(self.read_block(block)?);
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = cached(&blocks) {
            return Ok(found);
        }
        if blocks.len() >= CACHED_BLOCKS {
            blocks.remove(0);
        }
        blocks.push((block, Arc::clone(&read)));
        Ok(read)
    }

    fn read_block(&self, block: u64) -> Result<Block, DatasetError> {
        let visits = block * self.rollouts_per_block..(block + 1) * self.rollouts_per_block;
        let samples: Vec<Block> =
            visits.into_par_iter().map(|visit| self.sample(visit)).collect::<Result<_, _>>()?;
        let mut random = Random::derived(self.config.seed, "frame shuffle", block);
        let per_rollout = self.config.obs_sampled_per_rollout;
        let order = permutation(samples.len() * per_rollout, &mut random);
        let items = order.iter().map(|&i| (i as usize / per_rollout, i as usize % per_rollout));
        if self.frame_shape.is_some() {
            let pick = |(rollout, item): (usize, usize)| {
                let Block::Frames(pngs) = &samples[rollout] else { unreachable!("one kind") };
                pngs[item].clone()
            };
            return Ok(Block::Frames(items.map(pick).collect()));
        }
        let width = self.vector_width;
        let mut values = Vec::with_capacity(order.len() * width);
        for (rollout, item) in items {
            let Block::Vectors(rows) = &samples[rollout] else { unreachable!("one kind") };
            values.extend_from_slice(&rows[item * width..(item + 1) * width]);
        }
        Ok(Block::Vectors(values))
    }

    /// The observations sampled from the rollout of visit `visit`.
    fn sample(&self, visit: u64) -> Result<Block, DatasetError> {
        let index = self.order.item(visit);
        let record = self.split.dataset().record(self.split.range().start + index)?;
        let raw = RawRecord::parse(&record).map_err(|source| self.error(index, source))?;
        let steps = raw.parsed.head.steps;
        check_environment(&raw.parsed.head.environment, self.split.dataset().manifest())
            .map_err(|source| self.error(index, source))?;
        let mut random = Random::derived(self.config.seed, "frame choice", visit);
        let mut chosen = Vec::with_capacity(self.config.obs_sampled_per_rollout);
        if steps == 0 {
            let source = SchemaError::Shape {
                key: "observations",
                step: None,
                found: "0 steps".to_owned(),
                expected: "at least 1".to_owned(),
            };
            return Err(self.error(index, source));
        }
        while chosen.len() < self.config.obs_sampled_per_rollout {
            let missing = self.config.obs_sampled_per_rollout - chosen.len();
            chosen.extend(permutation(steps, &mut random).into_iter().take(missing));
        }
        if self.frame_shape.is_none() {
            let rows = raw.vectors().map_err(|source| self.error(index, source))?;
            let width = self.vector_width;
            let rows = chosen.iter().flat_map(|&s| &rows[s as usize * width..][..width]);
            return Ok(Block::Vectors(rows.copied().collect()));
        }
        let pngs = chosen
            .iter()
            // A copy, so that the rest of the record can go.
            .map(|&step| raw.stored(step as usize).map(Bytes::copy_from_slice))
            .collect::<Result<_, _>>()
            .map_err(|source| self.error(index, source))?;
        Ok(Block::Frames(pngs))
    }

    fn error(&self, index: usize, source: SchemaError) -> DatasetError {
        self.split.dataset().schema_error(self.split.range().start + index, source)
    }
}
