//! Random observations of raw rollouts, in batches, for training encoders.

use std::sync::{Arc, Mutex, PoisonError};

use ndarray::{Array2, Array4};
use rl755_env::ObservationRef;
use serde::{Deserialize, Serialize};

use crate::{
    DatasetError, SchemaError, Split,
    sampling::frame_block::{Block, BlockReading, BlockSource, Held},
};

/// How observations are sampled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FrameSamplerConfig {
    /// Observations in a batch. Default 64.
    pub batch_size: usize,
    /// Random observations taken each time a rollout is read. Default 100. A rollout that has
    /// fewer steps gives each of them at least once, and some more often.
    pub obs_sampled_per_rollout: usize,
    /// Bytes of observations that are shuffled together, as they are stored (2 KB each for
    /// CarRacing's PNG frames), in whole samples of rollouts. Default 64 MB. How many rollouts
    /// these are is computed from the dataset's manifest.
    pub shuffle_buffer_bytes: u64,
    /// Threads that read rollouts, at least 1. Default 2. Batches do not depend on it.
    pub reader_threads: usize,
    /// How many batches will be asked for, so that nothing is read ahead in vain; batches after
    /// that are given, too. Default `None`: any number.
    pub batches: Option<u64>,
    /// What the order derives from. Default 0.
    pub seed: u64,
}

impl Default for FrameSamplerConfig {
    fn default() -> Self {
        Self {
            batch_size: 64,
            obs_sampled_per_rollout: 100,
            shuffle_buffer_bytes: 64_000_000,
            reader_threads: 2,
            batches: None,
            seed: 0,
        }
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
/// Batch `step` depends on the dataset, the config and `step` alone: training resumes at any step
/// with the batches it would have had, and threads do not change them. Rollouts are visited in a
/// new random order every epoch. The observations of as many visits as the shuffle buffer holds are
/// a block, which is shuffled; while batches are taken from one, the next is read.
///
/// However large the dataset is, a sampler holds at most
///
/// ```text
/// 2 · shuffle_buffer_bytes
/// + (reader_threads + 1) · (2 · the longest record + 24 bytes for each of its steps)
/// + 24 bytes for each rollout of the dataset: where it lies, and the order of visits
/// + two decoded frames, and 12 KB for unpacking, for each thread of the current rayon pool
/// ```
///
/// while one thread asks for batches, beside the batch that it gives. Where a block's frames happen
/// to be so much larger than the dataset's mean that the buffer is full, the rest of its rollouts
/// are read again for each batch that needs them.
#[derive(Debug)]
pub struct FrameSampler {
    source: Arc<BlockSource>,
    blocks: Mutex<Blocks>,
}

#[derive(Debug, Default)]
struct Blocks {
    current: Option<(u64, Arc<Block>)>,
    ahead: Option<BlockReading>,
}

impl FrameSampler {
    /// Samples from `split`.
    ///
    /// # Errors
    /// When the dataset is encoded, the split is empty or has a rollout without steps, a number in
    /// the config is 0, or the shuffle buffer does not hold the observations of one rollout.
    pub fn new(split: Split, config: FrameSamplerConfig) -> Result<Self, DatasetError> {
        let source = Arc::new(BlockSource::new(split, config)?);
        Ok(Self { source, blocks: Mutex::default() })
    }

    /// The config it was made with.
    pub fn config(&self) -> &FrameSamplerConfig {
        self.source.config()
    }

    /// Batch `step`, from 0, as the rollouts have it.
    ///
    /// # Errors
    /// When a shard is damaged or cannot be read.
    pub fn batch(&self, step: u64) -> Result<Observations, DatasetError> {
        let size = self.config().batch_size;
        let Some(shape) = self.source.frame_shape() else {
            let mut batch = Array2::zeros((size, self.source.vector_width()));
            let rows = batch.as_slice_mut().expect("a new array is contiguous");
            self.fill(step, rows, |held, row| {
                copy_vector(held, row);
                Ok(())
            })?;
            return Ok(Observations::Vectors(batch));
        };
        let mut batch = Array4::zeros((size, shape.height, shape.width, shape.channels));
        let rows = batch.as_slice_mut().expect("a new array is contiguous");
        self.fill(step, rows, |held, row| held.decode(row))?;
        Ok(Observations::Frames(batch))
    }

    /// Batch `step`, from 0, as floats: `form` writes each observation into its row of `rows`, all
    /// of which are of the same width. [`unit_floats`] is such a `form` for frames. Each frame is
    /// still in the core's cache when it is formed, so that this is faster than to form a
    /// [`batch`](Self::batch), and faster still where `rows` was used before.
    ///
    /// # Errors
    /// When a shard is damaged or cannot be read.
    ///
    /// # Panics
    /// When `rows` cannot be divided into a row for each observation of the batch.
    pub fn rows(
        &self,
        step: u64,
        rows: &mut [f32],
        form: impl Fn(ObservationRef<'_>, &mut [f32]) + Sync,
    ) -> Result<(), DatasetError> {
        let Some(shape) = self.source.frame_shape() else {
            return self.fill(step, rows, |held, row| {
                if let Held::Vector(values) = held {
                    form(ObservationRef::F32(values), row);
                }
                Ok(())
            });
        };
        thread_local! {
            static FRAME: std::cell::RefCell<Vec<u8>> = const { std::cell::RefCell::new(Vec::new()) };
        }
        self.fill(step, rows, |held, row| {
            // Taken out while it is used: `form` may come here again.
            let mut frame = FRAME.take();
            frame.resize(shape.bytes(), 0);
            let decoded = held.decode(&mut frame);
            if decoded.is_ok() {
                form(ObservationRef::U8(&frame), row);
            }
            FRAME.set(frame);
            decoded
        })
    }

    /// Makes the rows of batch `step` from its observations.
    fn fill<T: Send>(
        &self,
        step: u64,
        rows: &mut [T],
        make: impl Fn(Held<'_>, &mut [T]) -> Result<(), SchemaError> + Sync,
    ) -> Result<(), DatasetError> {
        let (size, block_size) = (self.config().batch_size, self.source.block_size());
        let width = rows.len() / size;
        assert!(width > 0 && width * size == rows.len(), "{} values for {size} rows", rows.len());
        let mut rest = rows;
        while !rest.is_empty() {
            let item = step * size as u64 + (size - rest.len() / width) as u64;
            let (block, start) = (item / block_size, (item % block_size) as usize);
            let count = (rest.len() / width).min(block_size as usize - start);
            let (these, others) = rest.split_at_mut(count * width);
            self.source.fill(&*self.block(block)?, start, these, width, &make)?;
            rest = others;
        }
        Ok(())
    }

    /// Block `block`; the one after it is then being read.
    fn block(&self, block: u64) -> Result<Arc<Block>, DatasetError> {
        // Held while reading: others would need the same block, or another one's memory. Those who
        // read never wait for this lock.
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, found)) = &blocks.current
            && *known == block
        {
            return Ok(Arc::clone(found));
        }
        // Whatever is not needed goes before anything else is read.
        blocks.current = None;
        let ahead = blocks.ahead.take().filter(|ahead| ahead.block() == block);
        let reading = ahead.unwrap_or_else(|| BlockReading::begin(&self.source, block));
        let found = Arc::new(reading.finish()?);
        blocks.current = Some((block, Arc::clone(&found)));
        let size = self.config().batch_size as u64;
        let items = self.config().batches.map(|count| count.saturating_mul(size));
        if items.is_none_or(|items| (block + 1) * self.source.block_size() < items) {
            blocks.ahead = Some(BlockReading::begin(&self.source, block + 1));
        }
        Ok(found)
    }
}

fn copy_vector(held: Held<'_>, row: &mut [f32]) {
    if let Held::Vector(values) = held {
        row.copy_from_slice(values);
    }
}

/// Bytes 0..=255 as the floats in 0..=1 that dividing by 255 gives.
///
/// # Panics
/// When the lengths differ.
pub fn unit_floats(bytes: &[u8], floats: &mut [f32]) {
    // A product and a sum take half the time of a division. 1/255 is split so that the first
    // product is exact; then the sum is rounded as the quotient is, for each of the 256 bytes.
    const HIGH: f32 = 257.0 / 65536.0;
    const LOW: f32 = (1.0 / 255.0 - 257.0 / 65536.0) as f32;
    assert_eq!(bytes.len(), floats.len(), "a float for each byte");
    for (float, &byte) in floats.iter_mut().zip(bytes) {
        let byte = f32::from(byte);
        *float = byte * HIGH + byte * LOW;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unit_floats_are_the_quotients_to_the_last_bit() {
        let bytes: Vec<u8> = (0..=255).collect();
        let mut floats = vec![f32::NAN; 256];
        unit_floats(&bytes, &mut floats);
        for (byte, float) in bytes.into_iter().zip(floats) {
            assert_eq!(float.to_bits(), (f32::from(byte) / 255.0).to_bits(), "{byte}");
        }
    }
}
