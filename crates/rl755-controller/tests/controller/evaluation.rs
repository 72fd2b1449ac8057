//! Scores and films of finished controllers.

use rl755_controller::{
    ControllerRun, EvaluateConfig, Evaluation, Player, PolicyPlayer, Resources, Scores, TrackSet,
    TrainControllerConfig, WorldModel, train_controller,
};
use rl755_data::PolicyRegistry;
use rl755_run::{RunDir, TrainingConfig};

use crate::reach::{ID, Surroundings, world_model};

fn trained(surroundings: &Surroundings, models: &WorldModel) -> (tempfile::TempDir, ControllerRun) {
    let directory = tempfile::tempdir().unwrap();
    let config = TrainControllerConfig {
        environment: ID.to_owned(),
        population: 12,
        trials: 3,
        sigma: 1.0,
        training: TrainingConfig { train_steps: 20, save_every_n_steps: 20, log_every_n_steps: 1 },
        ..TrainControllerConfig::default()
    };
    let context = surroundings.context(Resources::default());
    train_controller(&config, models, directory.path(), false, &context).unwrap();
    let run = ControllerRun::open(directory.path()).unwrap();
    (directory, run)
}

#[test]
fn scores_have_the_statistics_of_their_episodes_and_survive_their_file() {
    let surroundings = Surroundings::new();
    let models = world_model("a");
    let (directory, run) = trained(&surroundings, &models);
    let config = EvaluateConfig { episodes: 4, horizon: Some(6), seed: 3 };
    let context = surroundings.context(Resources::default());
    let player = Player::new(&run, &models, &context).unwrap();
    let scores = player.evaluate(&config, &context).unwrap();

    let [a, b, c, d] = scores.scores[..] else { panic!("four scores") };
    let mean = (a + b + c + d) / 4.0;
    let variance = [a, b, c, d].iter().map(|s| (s - mean).powi(2)).sum::<f64>() / 3.0;
    assert!((scores.mean - mean).abs() < 1e-12);
    assert!((scores.std - variance.sqrt()).abs() < 1e-12);
    assert!((scores.standard_error - (variance / 4.0).sqrt()).abs() < 1e-12);
    assert!(scores.episodes.iter().all(|e| e.steps <= 6));

    let out = directory.path().join("evaluation");
    let begin = |out: &std::path::Path| {
        Evaluation::begin(out, &player.subject(), ID, &config, player.inputs())
    };
    let evaluation = begin(&out).unwrap();
    assert!(RunDir::read(&out, "evaluate").is_err());
    evaluation.finish(&scores).unwrap();
    let text = std::fs::read(out.join("scores.json")).unwrap();
    assert_eq!(serde_json::from_slice::<Scores>(&text).unwrap(), scores);
    let manifest = RunDir::read(&out, "evaluate").unwrap();
    assert_eq!((manifest.seed, &manifest.config["episodes"]), (3, &4.into()));
    assert_eq!(manifest.inputs.len(), 3);
    assert_eq!(manifest.results["mean"], mean);
    // The controller's own directory is not overwritten.
    assert!(begin(directory.path()).is_err());
    ControllerRun::open(directory.path()).unwrap();
    let shown = scores.to_string();
    assert!(shown.contains("Reach-v0") && shown.contains("minus the distance"), "{shown}");

    let context = surroundings.context(Resources { batch: 3, threads: 2, groups: 0 });
    assert_eq!(player.evaluate(&config, &context).unwrap(), scores);
}

#[test]
fn a_controller_beats_the_uniform_policy_on_the_same_tracks() {
    let surroundings = Surroundings::new();
    let models = world_model("a");
    let (_directory, run) = trained(&surroundings, &models);
    let config = EvaluateConfig { episodes: 50, horizon: None, seed: 0 };
    let context = surroundings.context(Resources::default());
    let controller = Player::new(&run, &models, &context).unwrap();
    let controller = controller.evaluate(&config, &context).unwrap();
    let policies = PolicyRegistry::with_builtin();
    let policy = PolicyPlayer::new("uniform", ID, &policies, &context).unwrap();
    let policy = policy.evaluate(&config, &context).unwrap();
    let seeds = |s: &Scores| s.episodes.iter().map(|e| e.seed).collect::<Vec<_>>();
    assert_eq!(seeds(&controller), seeds(&policy));
    let error = controller.standard_error.hypot(policy.standard_error);
    assert!(controller.mean - policy.mean > 5.0 * error, "{controller}\n{policy}");

    let unknown = PolicyPlayer::new("unifrom", ID, &policies, &context).map(|_| ()).unwrap_err();
    assert!(unknown.to_string().contains("did you mean `uniform`?"), "{unknown}");
}

#[test]
fn a_controller_plays_only_with_the_models_it_was_trained_with() {
    let surroundings = Surroundings::new();
    let models = world_model("a");
    let (_directory, run) = trained(&surroundings, &models);
    let context = surroundings.context(Resources::default());
    let check = |models: &WorldModel, expected: &str| {
        let error = Player::new(&run, models, &context).map(|_| ()).unwrap_err().to_string();
        assert!(error.starts_with("the controller was trained with the "), "{error}");
        assert!(error.contains(expected), "{error}");
    };
    check(&world_model("other"), "encoder passing (");
    check(&WorldModel { sequence: None, ..world_model("a") }, "not with none");
}

#[test]
fn observations_without_frames_are_not_filmed() {
    let surroundings = Surroundings::new();
    let models = world_model("a");
    let (directory, run) = trained(&surroundings, &models);
    let context = surroundings.context(Resources::default());
    let path = directory.path().join("film.webm");
    let player = Player::new(&run, &models, &context).unwrap();
    let error = player.film(&EvaluateConfig::default(), &context, &path).unwrap_err();
    assert!(error.to_string().starts_with("Reach-v0 has no frames to film"), "{error}");
    assert!(!path.exists());
}

#[test]
fn the_pictures_that_an_environment_draws_are_filmed() {
    let surroundings = Surroundings::new();
    let context = surroundings.context(Resources::default());
    let policies = PolicyRegistry::with_builtin();
    let player = PolicyPlayer::new("uniform", "CartPole-v1", &policies, &context).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("film.webm");
    let config = EvaluateConfig { episodes: 1, horizon: Some(3), seed: 0 };
    let filmed = player.film(&config, &context, &path).unwrap();
    assert_eq!(filmed, player.evaluate(&config, &context).unwrap().episodes[0]);
    let film = std::fs::read(&path).unwrap();
    assert!(film.starts_with(b"\x1a\x45\xdf\xa3"), "no EBML");
    // A frame of the start and one after each of the steps, each a key frame of VP8.
    let key_frames = film.windows(3).filter(|bytes| *bytes == [0x9d, 0x01, 0x2a]).count();
    assert_eq!(key_frames, 1 + filmed.steps as usize);
}

#[test]
fn no_track_is_in_two_sets() {
    for (set, prefix) in
        [(TrackSet::Training, 0..=0), (TrackSet::Validation, 2..=2), (TrackSet::Test, 3..=3)]
    {
        for index in 0..1000 {
            let seed = set.seed(9, index);
            assert!(seed <= u64::from(u32::MAX) && prefix.contains(&(seed >> 30)), "{set:?}");
        }
    }
}
