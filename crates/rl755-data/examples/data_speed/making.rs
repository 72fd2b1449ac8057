//! The datasets that the other jobs read.

use std::{fs, path::Path, thread};

use rl755_data::{
    FrameFormat, OnCorrupt, PackConfig, PackInput, PolicyRegistry, Rollout, StoredRollout, collect,
    pack, record::RecordReader,
};
use rl755_env::EnvRegistry;
use rl755_run::{AtomicFile, Interrupt, Silent, write_record};

use crate::{Outcome, collecting};

/// Rollouts in a shard, about as many bytes as is handy for either format.
const ROLLOUTS_PER_SHARD: usize = 5;
/// Of so many rollouts one is stored as tensors, too, which take 13 times the bytes.
const TENSOR_SHARE: u64 = 5;

/// Collects, and packs into `directory/png` and `directory/tensor`.
pub(crate) fn make(directory: &Path, rollouts: u64, steps: u64) -> Outcome<()> {
    let threads = thread::available_parallelism()?.get();
    let config = collecting::config(&directory.join("rollouts"), rollouts, steps, threads);
    let (environments, policies) = (EnvRegistry::with_builtin(), PolicyRegistry::with_builtin());
    collect(&config, &environments, &policies, &Silent, &Interrupt::new())?;

    let tensors = directory.join("tensor-rollouts");
    for index in 0..rollouts.div_ceil(TENSOR_SHARE) {
        let name = format!("rollout-0000-{index:06}.tfrecord");
        let bytes = fs::read(config.out_dir.join(&name))?;
        let mut reader = RecordReader::new(&bytes[..]);
        let rollout = Rollout::from_record(reader.next_record()?.ok_or("an empty file")?)?;
        let mut file = AtomicFile::create(&tensors.join(&name))?;
        write_record(&mut file, &rollout.to_record_as(FrameFormat::Tensor)?)?;
        file.commit()?;
    }
    for (rollout_dir, format) in [(&config.out_dir, "png"), (&tensors, "tensor")] {
        let packing = PackConfig {
            input: PackInput::RolloutDir(rollout_dir.clone()),
            out_dir: directory.join(format),
            out_name: "cars".to_owned(),
            rollouts_per_tfrecord_file: ROLLOUTS_PER_SHARD,
            parallelism: threads,
            validation_fraction: 0.0,
            on_corrupt: OnCorrupt::Fail,
        };
        let report = pack(&packing, &Silent, &Interrupt::new())?;
        let manifest = report.dataset.manifest();
        println!("{format}: {} frames in {} bytes", manifest.steps(), size(&report.dataset));
        fs::remove_dir_all(rollout_dir)?;
    }
    Ok(())
}

/// Bytes in the dataset's shards.
fn size(dataset: &rl755_data::Dataset) -> u64 {
    dataset.manifest().shards.iter().map(|shard| shard.bytes).sum()
}
