//! Dreams follow the dynamics, and are shown.

use burn::tensor::Device;
use ndarray::{Array4, ArrayView2, s};
use rl755_run::{Interrupt, Silent, TrainingConfig};
use rl755_sequence::{SequenceRegistry, StageContext, TrainSequenceConfig, dream};

use crate::synthetic::{at_rate, config, dataset, rollout, train};

#[test]
fn dreams_go_on_along_the_circle() {
    let directory = tempfile::tempdir().unwrap();
    let data = dataset(directory.path(), 24);
    for model in ["transformer", "mdn-rnn"] {
        let config = TrainSequenceConfig {
            training: TrainingConfig {
                train_steps: 500,
                save_every_n_steps: 500,
                log_every_n_steps: 100,
            },
            optimizer: at_rate(model, 5e-3),
            sample_observations: false,
            validation_batches: 0,
            ..config(model, &data)
        };
        let run = directory.path().join(model);
        train(&config, &run, false, &Interrupt::new()).unwrap();
        let model_trained =
            SequenceRegistry::with_builtin().load(&run, None, &Device::flex()).unwrap();
        let real = rollout(1000);
        let (seen, actions) = (real.latents.slice(s![..6, ..]), real.actions.slice(s![..15, ..]));
        let dreamt = dream(&*model_trained, seen, actions, 0.0, 3).unwrap();
        assert_eq!(dreamt.dim(), (10, 2));
        let error = (&dreamt - &real.latents.slice(s![6..16, ..])).mapv(|e| e * e).mean().unwrap();
        // Two points at random on the circle differ by 1 on average.
        assert!(error < 0.2, "{model}: {error}");
        let again = dream(&*model_trained, seen, actions, 1.0, 3).unwrap();
        assert_eq!(again, dream(&*model_trained, seen, actions, 1.0, 3).unwrap());
        if model == "mdn-rnn" {
            assert_ne!(again, dream(&*model_trained, seen, actions, 1.0, 4).unwrap());
        }
        assert!(dream(&*model_trained, seen.slice(s![..0, ..]), actions, 0.0, 3).is_err());
        assert!(dream(&*model_trained, seen, actions.slice(s![..5, ..]), 0.0, 3).is_err());
    }
}

#[test]
fn checkpoints_show_their_dreams() {
    let directory = tempfile::tempdir().unwrap();
    let data = dataset(directory.path(), 8);
    let decode = |latents: ArrayView2<'_, f32>| {
        Some(Array4::from_shape_fn((latents.nrows(), 4, 4, 1), |(n, ..)| {
            (latents[[n, 0]] * 100.0 + 100.0).clamp(0.0, 255.0) as u8
        }))
    };
    let (device, interrupt) = (Device::flex(), Interrupt::new());
    let context = StageContext {
        device: &device,
        progress: &Silent,
        interrupt: &interrupt,
        decode: Some(&decode),
    };
    let run = directory.path().join("run");
    let registry = SequenceRegistry::with_builtin();
    registry.train(&config("mdn-rnn", &data), &run, false, &context).unwrap();
    for (file, size) in [("dream.png", [12 * 8 - 4, 12]), ("dream_latents.png", [60 * 6, 28])] {
        let png = std::fs::read(run.join(file)).unwrap();
        // Width and height in the header of a PNG file.
        let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
        assert_eq!([number(16), number(20)], size, "{file}");
    }
}
