//! Blocks of sampled observations: what is read from disk, held in memory and shuffled together.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

use rayon::prelude::*;
use rl755_run::Random;

use crate::{
    DatasetError, FrameFormat, FrameSamplerConfig, FrameShape, MemoryBudget, SchemaError, Split,
    sampling::reader_threads::read_all,
    sampling::visit_order::{VisitOrder, permutation},
    schema::check_environment,
    schema::raw_record::{RawRecord, frame_shape},
};

/// Bytes beside an observation's own that a block holds for it: where it ends, and its place in the
/// order.
const BYTES_PER_OBSERVATION: u64 = (size_of::<usize>() + size_of::<u32>()) as u64;

/// Bytes beside its observations' that a block holds for a rollout: a [`Sample`], twice while the
/// samples are put in order.
const BYTES_PER_ROLLOUT: u64 = 128;

/// What blocks are made from.
#[derive(Debug)]
pub(crate) struct BlockSource {
    split: Split,
    config: FrameSamplerConfig,
    frame_shape: Option<FrameShape>,
    vector_width: usize,
    order: VisitOrder,
    rollouts_per_block: u64,
}

/// An observation as a block holds it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Held<'a> {
    Frame(FrameFormat, FrameShape, &'a [u8]),
    Vector(&'a [f32]),
}

/// The observations sampled from one visit of a rollout, one after another.
#[derive(Debug)]
enum Sample {
    /// Frames as they are stored, one after another, and where each ends.
    Frames {
        format: FrameFormat,
        bytes: Vec<u8>,
        ends: Vec<usize>,
    },
    Vectors(Vec<f32>),
    /// The block was full; it is read again for each batch that needs it.
    NotHeld,
}

/// The sampled observations of the rollouts that are shuffled together.
#[derive(Debug)]
pub(crate) struct Block {
    first_visit: u64,
    samples: Vec<Sample>,
    /// The observations in shuffled order.
    order: Vec<u32>,
}

impl BlockSource {
    /// # Errors
    /// When the dataset is encoded, the split or a rollout of it is empty, a number in the config is
    /// 0, or the buffer does not hold the observations of one rollout.
    pub(crate) fn new(split: Split, config: FrameSamplerConfig) -> Result<Self, DatasetError> {
        split.dataset().expect_raw()?;
        let path = split.dataset().directory();
        let too_small = |reason| DatasetError::TooSmall { path: path.to_owned(), reason };
        if split.is_empty() {
            return Err(too_small(format!("the split `{}` has no rollouts", split.name())));
        }
        let per_rollout = config.obs_sampled_per_rollout as u64;
        if config.batch_size == 0 || per_rollout == 0 || config.reader_threads == 0 {
            let reason = "a batch, the sample of a rollout and the reader threads cannot be 0";
            return Err(too_small(reason.to_owned()));
        }
        if let Some(empty) = (0..split.len()).find(|&index| split.steps(index) == 0) {
            let name = split.name();
            return Err(too_small(format!("rollout {empty} of the split `{name}` has no steps")));
        }
        let space = &split.dataset().manifest().environment.observation_space;
        let frame_shape = frame_shape(space);
        let stored = match frame_shape {
            Some(_) => mean_bytes_per_step(&split),
            None => (space.width() * size_of::<f32>()) as u64,
        };
        let expected = per_rollout
            .saturating_mul(stored.saturating_add(BYTES_PER_OBSERVATION))
            .saturating_add(BYTES_PER_ROLLOUT);
        let buffer = config.shuffle_buffer_bytes;
        if expected > buffer {
            return Err(too_small(format!(
                "{per_rollout} observations of a rollout take about {expected} bytes; the shuffle \
                 buffer has {buffer}"
            )));
        }
        // A tenth is left for blocks that happen to have larger frames.
        let rollouts = (buffer - buffer / 10) / expected;
        // Observations of a block are counted in 32 bits.
        let most = (split.len() as u64).min(u64::from(u32::MAX) / per_rollout);
        Ok(Self {
            frame_shape,
            vector_width: space.width(),
            order: VisitOrder::new(split.len(), config.seed, "frame order"),
            rollouts_per_block: rollouts.min(most).max(1),
            split,
            config,
        })
    }

    pub(crate) fn config(&self) -> &FrameSamplerConfig {
        &self.config
    }

    pub(crate) fn frame_shape(&self) -> Option<FrameShape> {
        self.frame_shape
    }

    pub(crate) fn vector_width(&self) -> usize {
        self.vector_width
    }

    /// Observations in a block.
    pub(crate) fn block_size(&self) -> u64 {
        self.rollouts_per_block * self.config.obs_sampled_per_rollout as u64
    }

    /// Reads block `block`, unless `stop` is set meanwhile.
    fn read(&self, block: u64, stop: &AtomicBool) -> Result<Block, DatasetError> {
        let first_visit = block * self.rollouts_per_block;
        let budget = MemoryBudget::new(self.config.shuffle_buffer_bytes);
        let count = self.rollouts_per_block as usize;
        let samples = read_all(self.config.reader_threads, count, stop, |index, buffer| {
            self.sample(first_visit + index as u64, Some(&budget), buffer)
        })?;
        let mut random = Random::derived(self.config.seed, "frame shuffle", block);
        let order = permutation(self.block_size() as usize, &mut random);
        Ok(Block { first_visit, samples, order })
    }

    /// The observations sampled in visit `visit`, as far as `budget` has room for them.
    fn sample(
        &self,
        visit: u64,
        budget: Option<&MemoryBudget>,
        buffer: &mut Vec<u8>,
    ) -> Result<Sample, DatasetError> {
        let index = self.order.item(visit);
        let record = self.split.dataset().read_record(self.split.range().start + index, buffer)?;
        self.take(&self.chosen(visit, index), index, record, budget)
            .map_err(|source| self.error(index, source))
    }

    /// Takes the steps `chosen` out of the record of rollout `index`.
    fn take(
        &self,
        chosen: &[u32],
        index: usize,
        record: &[u8],
        budget: Option<&MemoryBudget>,
    ) -> Result<Sample, SchemaError> {
        let raw = RawRecord::parse(record)?;
        check_environment(&raw.parsed.head.environment, self.split.dataset().manifest())?;
        self.split.check_steps(index, raw.parsed.head.steps)?;
        let overhead = chosen.len() as u64 * BYTES_PER_OBSERVATION + BYTES_PER_ROLLOUT;
        let has_room = |bytes: usize| budget.is_none_or(|b| b.take(bytes as u64 + overhead));
        if self.frame_shape.is_none() {
            let (rows, width) = (raw.vectors()?, self.vector_width);
            if !has_room(chosen.len() * width * size_of::<f32>()) {
                return Ok(Sample::NotHeld);
            }
            let mut values = Vec::with_capacity(chosen.len() * width);
            for &step in chosen {
                values.extend_from_slice(&rows[step as usize * width..][..width]);
            }
            return Ok(Sample::Vectors(values));
        }
        let mut end = 0;
        let mut ends = Vec::with_capacity(chosen.len());
        for &step in chosen {
            end += raw.stored(step as usize)?.len();
            ends.push(end);
        }
        if !has_room(end) {
            return Ok(Sample::NotHeld);
        }
        let mut bytes = Vec::with_capacity(end);
        for &step in chosen {
            bytes.extend_from_slice(raw.stored(step as usize)?);
        }
        Ok(Sample::Frames { format: raw.format(), bytes, ends })
    }

    /// The steps taken in visit `visit`, which is of rollout `index`: each at most once, or, where
    /// there are fewer than are taken, each equally often but for the last round.
    fn chosen(&self, visit: u64, index: usize) -> Vec<u32> {
        let mut random = Random::derived(self.config.seed, "frame choice", visit);
        let (steps, wanted) = (self.split.steps(index), self.config.obs_sampled_per_rollout);
        let mut chosen = Vec::with_capacity(wanted);
        while chosen.len() < wanted {
            let missing = wanted - chosen.len();
            chosen.extend(permutation(steps, &mut random).into_iter().take(missing));
        }
        chosen
    }

    /// Gives the observations of `block` from place `start` on to `make`, with a row of `rows` of
    /// `width` values for each, on all threads of the current pool.
    pub(crate) fn fill<T: Send>(
        &self,
        block: &Block,
        start: usize,
        rows: &mut [T],
        width: usize,
        make: impl Fn(Held<'_>, &mut [T]) -> Result<(), SchemaError> + Sync,
    ) -> Result<(), DatasetError> {
        let per_rollout = self.config.obs_sampled_per_rollout;
        let place = |row: usize| {
            let place = block.order[start + row] as usize;
            (place / per_rollout, place % per_rollout)
        };
        let make_row = |sample: &Sample, row: usize, values: &mut [T]| {
            let (of, item) = place(row);
            make(self.held(sample, item), values).map_err(|source| {
                let visit = block.first_visit + of as u64;
                let index = self.order.item(visit);
                self.error(index, at_step(source, self.chosen(visit, index)[item]))
            })
        };
        rows.par_chunks_mut(width).enumerate().try_for_each(|(row, values)| {
            match &block.samples[place(row).0] {
                Sample::NotHeld => Ok(()),
                sample => make_row(sample, row, values),
            }
        })?;
        let mut not_held: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for row in 0..rows.len() / width {
            if matches!(block.samples[place(row).0], Sample::NotHeld) {
                not_held.entry(place(row).0).or_default().push(row);
            }
        }
        let mut buffer = Vec::new();
        for (sample, its_rows) in not_held {
            let sample = self.sample(block.first_visit + sample as u64, None, &mut buffer)?;
            for row in its_rows {
                make_row(&sample, row, &mut rows[row * width..(row + 1) * width])?;
            }
        }
        Ok(())
    }

    fn held<'a>(&self, sample: &'a Sample, item: usize) -> Held<'a> {
        match (sample, self.frame_shape) {
            (Sample::Frames { format, bytes, ends }, Some(shape)) => {
                let start = if item == 0 { 0 } else { ends[item - 1] };
                Held::Frame(*format, shape, &bytes[start..ends[item]])
            }
            (Sample::Vectors(values), _) => {
                Held::Vector(&values[item * self.vector_width..][..self.vector_width])
            }
            _ => unreachable!("samples that are not held are read again first"),
        }
    }

    fn error(&self, index: usize, source: SchemaError) -> DatasetError {
        self.split.dataset().schema_error(self.split.range().start + index, source)
    }
}

impl Held<'_> {
    /// Decodes a frame to `frame`.
    ///
    /// # Panics
    /// When it is a vector.
    pub(crate) fn decode(self, frame: &mut [u8]) -> Result<(), SchemaError> {
        let Self::Frame(format, shape, stored) = self else {
            unreachable!("vectors are not decoded")
        };
        format.decode(shape, stored, frame).map_err(|source| SchemaError::Frame { step: 0, source })
    }
}

/// Says at which step of the rollout a frame cannot be decoded.
fn at_step(error: SchemaError, step: u32) -> SchemaError {
    match error {
        SchemaError::Frame { source, .. } => SchemaError::Frame { step: step as usize, source },
        error => error,
    }
}

/// Bytes of the shards that have rollouts of `split`, for each step.
fn mean_bytes_per_step(split: &Split) -> u64 {
    let shards = split.shards().iter();
    let (bytes, steps) = shards
        .fold((0u64, 0u64), |(b, s), shard| (b.saturating_add(shard.bytes), s + shard.steps()));
    bytes.div_ceil(steps.max(1))
}

/// A block that is being read by threads of its own.
#[derive(Debug)]
pub(crate) struct BlockReading {
    block: u64,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<Block, DatasetError>>>,
}

impl BlockReading {
    pub(crate) fn begin(source: &Arc<BlockSource>, block: u64) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (source, stopped) = (Arc::clone(source), Arc::clone(&stop));
        let thread = Some(thread::spawn(move || source.read(block, &stopped)));
        Self { block, stop, thread }
    }

    /// Which block it is.
    pub(crate) fn block(&self) -> u64 {
        self.block
    }

    /// The block, as soon as it is read.
    pub(crate) fn finish(mut self) -> Result<Block, DatasetError> {
        let thread = self.thread.take().expect("a block is asked for once");
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Drop for BlockReading {
    /// Nobody needs the block: its memory is free when this returns.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            // It may have failed; nobody would have seen its block.
            drop(thread.join());
        }
    }
}
