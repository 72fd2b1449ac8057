//! The memory that sampling takes, early in an epoch and at its end.

use std::{fs, path::Path};

use rl755_data::{Dataset, FrameSampler, FrameSamplerConfig, unit_floats};
use rl755_env::ObservationRef;

use crate::Outcome;

/// Samples an epoch, and prints the most memory that was held until a tenth of it and in all.
pub(crate) fn report(dataset: &Path) -> Outcome<()> {
    let dataset = Dataset::open(dataset)?;
    let bytes: u64 = dataset.manifest().shards.iter().map(|shard| shard.bytes).sum();
    let (rollouts, steps) = (dataset.len(), dataset.manifest().steps());
    let config = FrameSamplerConfig { batch_size: 256, ..FrameSamplerConfig::default() };
    let width = dataset.manifest().environment.observation_space.width();
    let per_epoch = (rollouts * config.obs_sampled_per_rollout / config.batch_size) as u64;
    let mut floats = vec![0.0; config.batch_size * width];
    let sampler = FrameSampler::new(dataset.split("all")?, config)?;
    let mut tenth = 0;
    for step in 0..per_epoch {
        sampler.rows(step, &mut floats, |frame, row| {
            if let ObservationRef::U8(bytes) = frame {
                unit_floats(bytes, row);
            }
        })?;
        if step == per_epoch / 10 {
            tenth = most_memory()?;
        }
    }
    println!(
        "{{\"bytes\": {bytes}, \"rollouts\": {rollouts}, \"frames\": {steps}, \"tenth\": {tenth}, \
         \"all\": {}}}",
        most_memory()?
    );
    Ok(())
}

/// The most that this process has had in memory so far, files that it reads left out.
fn most_memory() -> Outcome<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    Ok(1024 * line.trim().trim_end_matches("kB").trim().parse::<u64>()?)
}
