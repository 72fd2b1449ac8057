//! An encoder whose latents tell where they are from, and what an instance of encoding does.

use std::path::Path;

use ndarray::Array2;
use rl755_data::{Dataset, EncodedPart, EncodedRollout, EncoderSource, PartConfig, Rollout};
use rl755_run::digest_bytes;

/// Where [`encode`]'s latents come from.
pub(crate) fn encoder() -> EncoderSource {
    EncoderSource {
        name: "test".to_owned(),
        path: "encoder".into(),
        digest: digest_bytes(b"weights"),
        latent_width: 2,
        extras: [("place".to_owned(), 3)].into(),
    }
}

/// Replaces observations by recognisable latents: rollout, step.
pub(crate) fn encode(rollout: Rollout, index: usize) -> EncodedRollout {
    let steps = rollout.steps();
    let latents =
        Array2::from_shape_fn((steps, 2), |(t, i)| if i == 0 { index as f32 } else { t as f32 });
    EncodedRollout {
        environment: rollout.environment,
        seed: rollout.seed,
        policy: rollout.policy,
        encoder: encoder().digest,
        std_devs: latents.mapv(|v| v + 0.5),
        extras: [("place".to_owned(), Array2::from_elem((steps, 3), index as f32))].into(),
        latents,
        actions: rollout.actions,
        rewards: rollout.rewards,
        terminated: rollout.terminated,
        truncated: rollout.truncated,
    }
}

/// Part `index` of `outer` with `sub` shards each.
pub(crate) fn part_config(
    out_dir: &Path,
    (outer, sub): (usize, usize),
    index: usize,
) -> PartConfig {
    PartConfig {
        out_dir: out_dir.to_owned(),
        out_name: "latents".to_owned(),
        num_outer_shards: outer,
        outer_shard_index: index,
        num_sub_shards: sub,
    }
}

/// Writes what is missing of part `index` of `(outer, sub)` shards; gives how many shards that was,
/// and the dataset where the part was the last.
pub(crate) fn encode_into(
    data: &Path,
    out_dir: &Path,
    shards: (usize, usize),
    index: usize,
) -> (usize, Option<Dataset>) {
    let source = Dataset::open(data).unwrap().split("all").unwrap();
    let mut part =
        EncodedPart::begin(part_config(out_dir, shards, index), source, encoder()).unwrap();
    let remaining = part.remaining();
    for shard in &remaining {
        let mut writer = part.writer(shard).unwrap();
        for index in shard.rollouts.clone() {
            writer.push(&encode(part.source().rollout(index).unwrap(), index)).unwrap();
        }
        part.finish_shard(shard, writer).unwrap();
    }
    (remaining.len(), part.finish().unwrap())
}
