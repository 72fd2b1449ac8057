//! `rl755-encode`.

use std::path::PathBuf;

use anyhow::{Context, bail};
use rl755_data::{Dataset, DatasetRegistry};
use rl755_encoder::{EncodeConfig, StageContext, encode};
use rl755_run::{Choice, Outcome};

use crate::{
    Desk, Plugins, Stage,
    dataset_flags::DatasetFlags,
    device::DeviceFlags,
    flag_values::{checkpoint, count},
};

/// Turn rollouts of frames into rollouts of latents, sharded over GPUs and jobs
///
/// To split the work, run it `--num-outer-shards` times with `--outer-shard-index` 0, 1, 2, …, at
/// once or one after another, on one machine or many. The dataset is complete when all are done,
/// and is the same however it was split. A run that was interrupted goes on when it is started
/// again.
#[derive(Clone, Debug, clap::Args)]
pub struct Encode {
    /// The trained encoder: a directory that rl755-train-encoder wrote
    #[arg(long, value_name = "DIR")]
    model: PathBuf,
    /// Its checkpoint: a number, `best` (the lowest validation loss) or `last` [default: the one that
    /// the finished training names: the last, or with --early-stopping the best]
    #[arg(long, value_name = "N|best|last", value_parser = checkpoint)]
    checkpoint: Option<Choice>,
    #[command(flatten)]
    dataset: DatasetFlags,
    /// The split to encode; `all` keeps the splits
    #[arg(long, default_value = "all", value_name = "NAME")]
    split: String,
    /// Where the encoded rollouts go [default: where the environment's EncodedRollouts are]
    #[arg(long, value_name = "DIR")]
    out_dir: Option<PathBuf>,
    /// What the shards are called: NAME.tfrecord-00003-of-00074
    #[arg(long, default_value = "encoded", value_name = "NAME")]
    out_name: String,
    /// Shards that this instance writes; there are outer times sub shards in all
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = count)]
    num_sub_shards: usize,
    /// Instances that share the work
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = count)]
    num_outer_shards: usize,
    /// Which of them this is, from 0
    #[arg(long, default_value_t = 0, value_name = "N")]
    outer_shard_index: usize,
    /// The GPU to use with `--device cuda`; the same as `--device cuda:N`
    #[arg(long, value_name = "N")]
    gpu_index: Option<usize>,
    #[command(flatten)]
    device: DeviceFlags,
}

impl Stage for Encode {
    const NAME: &'static str = "rl755-encode";
    const UNIT: &'static str = "rollouts";

    fn run(mut self, plugins: &Plugins, desk: &Desk) -> anyhow::Result<Outcome> {
        if self.outer_shard_index >= self.num_outer_shards {
            bail!(
                "--outer-shard-index is {}; with --num-outer-shards {} it goes from 0 to {}",
                self.outer_shard_index,
                self.num_outer_shards,
                self.num_outer_shards - 1
            );
        }
        let dataset = self.dataset.find(plugins)?;
        if let Some(index) = self.gpu_index {
            self.device.select_gpu(index)?;
        }
        let out_dir = match self.out_dir {
            Some(out_dir) => out_dir,
            None => {
                let environment = Dataset::open(&dataset)?.manifest().environment.id.clone();
                self.dataset.place(plugins, DatasetRegistry::ENCODED, &environment)?
            }
        };
        let device = self.device.open()?;
        let number = |choice: Choice| choice.number(&self.model, "train-encoder");
        let checkpoint = self.checkpoint.map(number).transpose()?;
        let config = EncodeConfig {
            model_dir: self.model,
            checkpoint,
            dataset,
            split: self.split,
            out_dir,
            out_name: self.out_name,
            num_outer_shards: self.num_outer_shards,
            outer_shard_index: self.outer_shard_index,
            num_sub_shards: self.num_sub_shards,
        };
        let context =
            StageContext { device: &device, progress: &*desk.progress, interrupt: &desk.interrupt };
        let outcome = encode(&config, &plugins.encoders, &context)
            .with_context(|| format!("encoding into {}", config.out_dir.display()))?;
        // There is a dataset when the other parts are complete, too.
        if outcome == Outcome::Complete
            && let Ok(dataset) = Dataset::open(&config.out_dir)
        {
            let (rollouts, steps) = (dataset.len(), dataset.manifest().steps());
            let directory = config.out_dir.display();
            desk.print(&format!(
                "{rollouts} rollouts with {steps} steps are encoded in {directory}"
            ))?;
        }
        Ok(outcome)
    }
}
