//! The stage that turns raw rollouts into encoded ones.

use std::path::PathBuf;

use rl755_data::{
    Dataset, EncodedPart, EncodedRollout, EncoderSource, PartConfig, Rollout, SubShard,
};
use rl755_run::{Digest, Outcome};
use serde::{Deserialize, Serialize};

use crate::{EncoderError, EncoderRegistry, ObservationEncoder, StageContext, run::EncoderRun};

/// What to encode, with what, and where to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EncodeConfig {
    /// The encoder's run directory.
    pub model_dir: PathBuf,
    /// Which of its checkpoints; `None` takes the newest of a finished training.
    pub checkpoint: Option<u64>,
    /// The raw dataset: its directory or its manifest.
    pub dataset: PathBuf,
    /// The split to encode: `train`, `validation`, or `all`, which keeps the splits. Default `all`.
    pub split: String,
    /// The directory of the encoded dataset.
    pub out_dir: PathBuf,
    /// What its shards are called: `NAME.tfrecord-00003-of-00120`. Default `encoded`.
    pub out_name: String,
    /// Parts that processes or machines write independently, at least 1. Default 1.
    pub num_outer_shards: usize,
    /// Which part this is, below `num_outer_shards`. Default 0.
    pub outer_shard_index: usize,
    /// Shards in each part, at least 1. Default 1.
    pub num_sub_shards: usize,
}

impl Default for EncodeConfig {
    fn default() -> Self {
        Self {
            model_dir: PathBuf::new(),
            checkpoint: None,
            dataset: PathBuf::new(),
            split: "all".to_owned(),
            out_dir: PathBuf::new(),
            out_name: "encoded".to_owned(),
            num_outer_shards: 1,
            outer_shard_index: 0,
            num_sub_shards: 1,
        }
    }
}

/// Encodes one part of a dataset; the part that finishes last completes the encoded dataset.
///
/// Shards that an earlier, interrupted call finished are kept. The shards depend on the encoder,
/// the rollouts and the product of `num_outer_shards` and `num_sub_shards` alone.
///
/// # Errors
/// When the encoder cannot be loaded, does not suit the dataset, or a file cannot be read or
/// written. Finished shards stay.
pub fn encode(
    config: &EncodeConfig,
    registry: &EncoderRegistry,
    context: &StageContext<'_>,
) -> Result<Outcome, EncoderError> {
    let run = EncoderRun::open(&config.model_dir, config.checkpoint)?;
    let dataset = Dataset::open(&config.dataset)?;
    dataset.expect_raw()?;
    let space = &dataset.manifest().environment.observation_space;
    if run.config.observation_space != *space {
        return Err(EncoderError::Misfit {
            path: config.model_dir.clone(),
            expected: run.config.observation_space.to_string(),
            found: space.to_string(),
        });
    }
    let encoder = registry.load_run(&run, context.device)?;
    let source = EncoderSource {
        name: run.config.model.clone(),
        path: run.run.path().to_owned(),
        digest: run.run.identity()?.digest,
        latent_width: encoder.latent_size(),
        extras: encoder.extras(),
    };
    let digest = source.digest.clone();
    let mut part = EncodedPart::begin(part_config(config), dataset.split(&config.split)?, source)?;
    let rollouts = |shards: &[SubShard]| shards.iter().map(|s| s.rollouts.len() as u64).sum();
    let (total, remaining): (u64, _) = (rollouts(&part.sub_shards()), part.remaining());
    let left: u64 = rollouts(&remaining);
    let mut done = total - left;
    if done > 0 {
        context.progress.line(&format!("{done} of {total} rollouts are encoded already"));
    }
    context.progress.set(done, total);
    for shard in remaining {
        let mut writer = part.writer(&shard)?;
        let mut ahead = None;
        for index in shard.rollouts.clone() {
            if context.interrupt.is_raised() {
                return Ok(Outcome::Interrupted { step: done });
            }
            let rollout = ahead.take().unwrap_or_else(|| part.source().rollout(index))?;
            // The next rollout's frames are decoded while this one's are encoded.
            let (encoded, next) = rayon::join(
                || encode_rollout(&*encoder, rollout, &digest),
                || shard.rollouts.contains(&(index + 1)).then(|| part.source().rollout(index + 1)),
            );
            writer.push(&encoded?)?;
            ahead = next;
            done += 1;
            context.progress.set(done, total);
        }
        part.finish_shard(&shard, writer)?;
    }
    if part.finish()?.is_none() {
        context.progress.line("this part is complete; other parts have still to be encoded");
    }
    Ok(Outcome::Complete)
}

fn part_config(config: &EncodeConfig) -> PartConfig {
    PartConfig {
        out_dir: config.out_dir.clone(),
        out_name: config.out_name.clone(),
        num_outer_shards: config.num_outer_shards,
        outer_shard_index: config.outer_shard_index,
        num_sub_shards: config.num_sub_shards,
    }
}

fn encode_rollout(
    encoder: &dyn ObservationEncoder,
    rollout: Rollout,
    digest: &Digest,
) -> Result<EncodedRollout, EncoderError> {
    let latents = encoder.encode(rollout.observations.as_ref())?;
    let std_devs =
        latents.std_dev.unwrap_or_else(|| ndarray::Array2::zeros(latents.mean.raw_dim()));
    Ok(EncodedRollout {
        environment: rollout.environment,
        seed: rollout.seed,
        policy: rollout.policy,
        encoder: digest.clone(),
        latents: latents.mean,
        std_devs,
        extras: latents.extras,
        actions: rollout.actions,
        rewards: rollout.rewards,
        terminated: rollout.terminated,
        truncated: rollout.truncated,
    })
}
