//! Evolution in a run directory.

use std::{fs, path::Path};

use rl755_controller::{
    ControllerRun, Covariance, Resources, TrainControllerConfig, train_controller,
};
use rl755_run::{Outcome, TrainingConfig};

use crate::{
    reach::{ID, Reach, Surroundings, world_model},
    run_files::{RaiseAfter, contents},
};

const FILES: &[&str] = &["metrics.jsonl", "learning_curve.png"];

fn config(generations: u64) -> TrainControllerConfig {
    TrainControllerConfig {
        environment: ID.to_owned(),
        population: 12,
        trials: 4,
        sigma: 1.0,
        horizon: None,
        evaluate_every_n_generations: 3,
        evaluation_episodes: 10,
        training: TrainingConfig {
            train_steps: generations,
            save_every_n_steps: 2,
            log_every_n_steps: 1,
        },
        seed: 5,
        ..TrainControllerConfig::default()
    }
}

fn train(
    config: &TrainControllerConfig,
    path: &Path,
    surroundings: &Surroundings,
    resources: Resources,
) -> Outcome {
    let models = world_model("a");
    train_controller(config, &models, path, true, &surroundings.context(resources)).unwrap()
}

#[test]
fn the_target_is_reached() {
    let directory = tempfile::tempdir().unwrap();
    let surroundings = Surroundings::new();
    train(&config(60), directory.path(), &surroundings, Resources::default());
    let manifest = fs::read_to_string(directory.path().join("manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    let score = manifest["results"]["evaluation_mean"].as_f64().unwrap();
    // Straight to the target at 0.2 a step costs d - 0.2, d - 0.4, … from the distance d: from the
    // mean target 0.5 about 0.5, and step 3 pays 1.
    assert!(score > 0.2, "{score}");
    let run = ControllerRun::open(directory.path()).unwrap();
    assert_eq!(run.parameters.len(), 6);
}

#[test]
fn interrupted_trainings_end_with_the_same_bits_whatever_the_resources() {
    for covariance in [Covariance::Full, Covariance::Diagonal] {
        let config = TrainControllerConfig { covariance, ..config(7) };
        let whole = tempfile::tempdir().unwrap();
        let surroundings = Surroundings::new();
        train(&config, whole.path(), &surroundings, Resources::default());
        // A generation has 48 episodes, an evaluation 10: within generations, within evaluations.
        for episodes in [1, 47, 48, 60, 145, 148, 152, 260] {
            let parts = tempfile::tempdir().unwrap();
            let surroundings = Surroundings::new();
            let resources = Resources { batch: 9, threads: 2, groups: 0 };
            let progress = RaiseAfter::new(&surroundings.interrupt, "episodes", episodes);
            let mut context = surroundings.context(resources);
            context.progress = &progress;
            let models = world_model("a");
            let outcome = train_controller(&config, &models, parts.path(), true, &context).unwrap();
            assert!(matches!(outcome, Outcome::Interrupted { .. }), "after {episodes} episodes");
            train(&config, parts.path(), &Surroundings::new(), resources);
            assert_eq!(
                contents(parts.path(), FILES),
                contents(whole.path(), FILES),
                "after {episodes} episodes"
            );
        }
    }
}

#[test]
fn an_infinite_score_stops_and_names_the_track_and_the_generation() {
    let directory = tempfile::tempdir().unwrap();
    let mut surroundings = Surroundings::new();
    surroundings.environments.add(ID, || Ok(Box::new(Reach::unbounded())));
    let context = surroundings.context(Resources::default());
    let error = train_controller(&config(2), &world_model("a"), directory.path(), true, &context);
    let text = error.unwrap_err().to_string();
    assert!(text.starts_with("the score on the track with seed "), "{text}");
    assert!(text.contains("is not finite at step 1"), "{text}");
    assert!(!directory.path().join("checkpoints").exists());
}

#[test]
fn a_training_goes_on_only_with_its_own_models() {
    let directory = tempfile::tempdir().unwrap();
    let surroundings = Surroundings::new();
    train(&config(2), directory.path(), &surroundings, Resources::default());
    let context = surroundings.context(Resources::default());
    let error =
        train_controller(&config(2), &world_model("other"), directory.path(), true, &context)
            .unwrap_err();
    assert!(error.to_string().contains("it can only be resumed unchanged"), "{error}");
}

#[test]
fn settings_that_nothing_can_be_trained_with_are_refused() {
    let surroundings = Surroundings::new();
    let check = |config: TrainControllerConfig, expected: &str| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run");
        let context = surroundings.context(Resources::default());
        let error =
            train_controller(&config, &world_model("a"), &path, false, &context).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert!(!path.exists(), "{expected}: something was written");
    };
    check(TrainControllerConfig { population: 1, ..config(1) }, "population is 1");
    check(TrainControllerConfig { trials: 0, ..config(1) }, "trials is 0");
    check(TrainControllerConfig { sigma: -1.0, ..config(1) }, "sigma is -1");
    check(TrainControllerConfig { sigma: f64::NAN, ..config(1) }, "sigma is NaN");
    check(TrainControllerConfig { evaluation_episodes: 0, ..config(1) }, "evaluation_episodes");
    let environment = "Reach-v1".to_owned();
    check(TrainControllerConfig { environment, ..config(1) }, "did you mean `Reach-v0`?");
    let controller = "liner".to_owned();
    check(TrainControllerConfig { controller, ..config(1) }, "did you mean `linear`?");
    let controller_config = serde_json::json!({ "squash": ["tanh", "tanh"] });
    check(TrainControllerConfig { controller_config, ..config(1) }, "squash has 2 entries");
}
