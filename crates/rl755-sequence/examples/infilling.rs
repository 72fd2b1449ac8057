//! Fills in masked latents with a trained `infilling` model, and compares with a straight line.
//!
//! `cargo run --release --example infilling -- MODEL_DIR ENCODED_DATASET [FIRST LAST]` masks the
//! latents of steps FIRST to LAST (100 to 107 unless they are given) in the rollouts of the
//! validation split.

use std::{error::Error, path::Path};

use burn::tensor::Device;
use ndarray::Array2;
use rl755_data::{Dataset, EncodedRollout};
use rl755_run::Random;
use rl755_sequence::{Gaps, SequenceRegistry};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let usage = "MODEL_DIR ENCODED_DATASET [FIRST LAST]";
    let (run, dataset) = (arguments.first().ok_or(usage)?, arguments.get(1).ok_or(usage)?);
    let step = |index: usize, default: usize| {
        arguments.get(index).map_or(Ok(default), |text| text.parse::<usize>())
    };
    let (first, last) = (step(2, 100)?, step(3, 107)?);
    if first == 0 || last < first {
        return Err("FIRST must be at least 1 and LAST no less than it".into());
    }
    let model = SequenceRegistry::with_builtin().load(Path::new(run), None, &Device::flex())?;
    let split = Dataset::open(Path::new(dataset))?.split("validation")?;
    let (mut errors, mut count) = ([0.0f64; 2], 0u32);
    for index in (0..split.len()).filter(|&index| split.steps(index) > last + 1) {
        let rollout: EncodedRollout = split.rollout(index)?;
        let latents: &Array2<f32> = &rollout.latents;
        let known: Vec<bool> =
            (0..latents.nrows()).map(|step| !(first..=last).contains(&step)).collect();
        let gaps = Gaps { latents: latents.view(), actions: rollout.actions.view(), known: &known };
        let filled = model.fill(&gaps, 1.0, &mut Random::new(index as u64))?;
        for step in first..=last {
            let share = (step + 1 - first) as f32 / (last + 2 - first) as f32;
            let line = &latents.row(first - 1) * (1.0 - share) + &latents.row(last + 1) * share;
            for (error, guess) in errors.iter_mut().zip([filled.row(step), line.view()]) {
                let squares = (&guess - &latents.row(step)).mapv(|x| f64::from(x).powi(2));
                *error += squares.mean().unwrap_or(0.0);
            }
            count += 1;
        }
    }
    if count == 0 {
        return Err(format!("no rollout has more than {} steps", last + 1).into());
    }
    let [filled, line] = errors.map(|error| error / f64::from(count));
    #[expect(clippy::print_stdout, reason = "an example")]
    {
        println!(
            "squared error per latent dimension: filled in {filled:.4}, a straight line {line:.4}"
        );
    }
    Ok(())
}
