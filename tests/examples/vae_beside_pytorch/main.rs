//! What `rl755-train-encoder --model vae-64` begins with and learns from, for `pytorch.py` to do the
//! same with PyTorch.
//!
//! ```text
//! cargo build --release --workspace --examples
//! target/release/examples/vae_beside_pytorch DATASET DIR STEPS BATCH
//! ```
//!
//! writes into DIR, as for the flags `--train-steps STEPS --batch-size BATCH` and otherwise the
//! defaults: `initial.safetensors`, the weights before the first step; `batches.bin`, the frames of
//! all steps as bytes; `validation.bin`, those that checkpoints are measured on; and `shape.json`.

use std::{
    env::args,
    error::Error,
    fs::{self, File},
    io::{BufWriter, Write},
    path::Path,
};

use burn::{module::Module, tensor::Device};
use rl755_data::{Dataset, FrameSampler, FrameSamplerConfig, Observations, Split};
use rl755_encoder::{EncoderModel, TrainEncoderConfig, Vae64, Vae64Config};
use rl755_nn::{Learner, save_weights};
use rl755_run::derive_seed;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = args().skip(1).collect();
    let [dataset, directory, steps, batch] = &words[..] else {
        return Err("see the beginning of tests/examples/vae_beside_pytorch/main.rs".into());
    };
    let (directory, steps, batch): (_, u64, usize) =
        (Path::new(directory), steps.parse()?, batch.parse()?);
    fs::create_dir_all(directory)?;
    let stage = TrainEncoderConfig::default();
    let dataset = Dataset::open(Path::new(dataset))?;
    let space = dataset.manifest().environment.observation_space.clone();

    let config = Vae64Config::default();
    let input = Vae64::input_space(&config, &space)?;
    let seed = derive_seed(stage.seed, "weights", 0);
    let learner = Learner::new(&Device::flex(), seed, &stage.optimizer, |device| {
        Vae64::init(&config, &input, device).expect("the defaults are sound")
    });
    save_weights(&learner.model().valid(), &directory.join("initial.safetensors"))?;

    let sampler = FrameSamplerConfig {
        batch_size: batch,
        obs_sampled_per_rollout: stage.obs_sampled_per_rollout,
        shuffle_buffer_bytes: stage.shuffle_buffer_bytes,
        reader_threads: stage.reader_threads,
        batches: Some(steps),
        seed: derive_seed(stage.seed, "batches", 0),
    };
    write(dataset.split(&stage.split)?, sampler, &directory.join("batches.bin"))?;

    let split = dataset.split(&stage.validation_split)?;
    let sampler = FrameSamplerConfig {
        batch_size: 64,
        obs_sampled_per_rollout: stage.validation_observations.div_ceil(split.len()),
        shuffle_buffer_bytes: u64::MAX,
        batches: Some(stage.validation_observations as u64 / 64),
        seed: derive_seed(stage.seed, "validation", 0),
        ..FrameSamplerConfig::default()
    };
    write(split, sampler, &directory.join("validation.bin"))?;
    let shape = serde_json::json!({ "steps": steps, "batch": batch, "frame": space.shape() });
    fs::write(directory.join("shape.json"), shape.to_string())?;
    Ok(())
}

/// All batches of a sampler, one after another.
fn write(split: Split, config: FrameSamplerConfig, path: &Path) -> Result<(), Box<dyn Error>> {
    let mut file = BufWriter::new(File::create(path)?);
    let batches = config.batches.unwrap_or(0);
    let sampler = FrameSampler::new(split, config)?;
    for batch in 0..batches {
        let Observations::Frames(frames) = sampler.batch(batch)? else {
            return Err("the dataset holds no frames".into());
        };
        file.write_all(frames.as_slice().ok_or("batches are contiguous")?)?;
    }
    file.flush()?;
    Ok(())
}
