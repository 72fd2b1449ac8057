//! Training policies in run directories.

use std::{fs, path::Path, sync::Mutex};

use rl755_controller::{
    Algorithm, EvaluateConfig, PolicyConfig, PolicyPlayer, PpoConfig, Resources, TrainPolicyConfig,
    TrainedPolicy, TrpoConfig, train_policy,
};
use rl755_env::{Env, EnvError, EnvSpec, ObservationMut, ObservationRef, Space, Step};
use rl755_run::{Outcome, Random, Spectator, TrainingConfig};

use crate::{
    reach::{ID, Reach, Surroundings},
    run_files::{RaiseAfter, contents},
};

fn config(algorithm: Algorithm, iterations: u64) -> TrainPolicyConfig {
    TrainPolicyConfig {
        environment: ID.to_owned(),
        algorithm,
        policy: PolicyConfig { hidden: vec![16], initial_std: 1.0 },
        batch_size: 300,
        horizon: Some(20),
        training: TrainingConfig {
            train_steps: iterations,
            save_every_n_steps: 2,
            log_every_n_steps: 1,
        },
        seed: 5,
        ..TrainPolicyConfig::default()
    }
}

fn trpo() -> Algorithm {
    Algorithm::Trpo(TrpoConfig { max_kl: 0.02, ..TrpoConfig::default() })
}

fn ppo() -> Algorithm {
    Algorithm::Ppo(PpoConfig { learning_rate: 3e-3, entropy: 1e-3, ..PpoConfig::default() })
}

fn threads(threads: usize) -> Resources {
    Resources { threads, ..Resources::default() }
}

fn train(config: &TrainPolicyConfig, path: &Path, resources: Resources) -> Outcome {
    train_policy(config, path, true, &Surroundings::new().context(resources)).unwrap()
}

/// A metric over all steps.
fn metric(run: &Path, name: &str) -> Vec<f64> {
    let text = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.map(|line: serde_json::Value| line[name].as_f64().unwrap()).collect()
}

#[test]
fn the_target_is_reached_by_continuous_actions() {
    for algorithm in [trpo(), ppo()] {
        let directory = tempfile::tempdir().unwrap();
        train(&config(algorithm, 60), directory.path(), threads(2));
        let (policy, _) = TrainedPolicy::open(directory.path()).unwrap();
        let surroundings = Surroundings::new();
        let context = surroundings.context(threads(2));
        let player = PolicyPlayer::trained(&policy, &context).unwrap();
        let scores = player.evaluate(&EvaluateConfig::default(), &context).unwrap();
        // Straight to the target is worth about 0.4, and episodes differ by 0.6; policies begin at -6.
        assert!(scores.mean > -0.3, "{}", scores.mean);
    }
}

#[test]
fn the_pole_is_balanced_by_discrete_actions() {
    for algorithm in [Algorithm::Trpo(TrpoConfig::default()), ppo()] {
        let directory = tempfile::tempdir().unwrap();
        let config = TrainPolicyConfig {
            environment: "CartPole-v1".to_owned(),
            batch_size: 1500,
            horizon: None,
            ..config(algorithm, 12)
        };
        train(&config, directory.path(), threads(2));
        let returns = metric(directory.path(), "return_mean");
        assert!(returns[0] < 40.0 && returns[11] > 130.0, "{returns:?}");
    }
}

#[test]
fn updates_of_trpo_stay_in_the_trust_region() {
    let directory = tempfile::tempdir().unwrap();
    // Beyond what the quadratic model is good for.
    let algorithm = Algorithm::Trpo(TrpoConfig { max_kl: 1.0, ..TrpoConfig::default() });
    train(&config(algorithm, 15), directory.path(), threads(1));
    let divergences = metric(directory.path(), "kl");
    assert!(divergences.iter().all(|kl| (0.0..=1.0).contains(kl)), "{divergences:?}");
    assert!(metric(directory.path(), "backtracks").iter().any(|backtracks| *backtracks > 0.0));
}

#[test]
fn interrupted_trainings_end_with_the_same_bits_on_any_number_of_threads() {
    for algorithm in [trpo(), ppo()] {
        let config = config(algorithm, 5);
        let whole = tempfile::tempdir().unwrap();
        train(&config, whole.path(), threads(1));
        let expected = contents(whole.path(), &["metrics.jsonl"]);
        for (notes, count) in [(1, 1), (20, 2), (45, 3), (60, 7), (90, 400)] {
            let parts = tempfile::tempdir().unwrap();
            let surroundings = Surroundings::new();
            let progress = RaiseAfter::new(&surroundings.interrupt, "steps", notes);
            let mut context = surroundings.context(threads(count));
            context.progress = &progress;
            let outcome = train_policy(&config, parts.path(), true, &context).unwrap();
            assert!(matches!(outcome, Outcome::Interrupted { .. }), "after {notes} episodes");
            train(&config, parts.path(), threads(count));
            let found = contents(parts.path(), &["metrics.jsonl"]);
            assert!(found == expected, "after {notes} episodes on {count} threads");
        }
    }
}

/// Remembers what it is shown.
#[derive(Default)]
struct Seen(Mutex<Vec<(u64, Vec<f32>)>>);

impl Spectator for Seen {
    fn update(&self, step: u64, parameters: &[f32]) {
        self.0.lock().unwrap().push((step, parameters.to_vec()));
    }
}

#[test]
fn spectators_see_the_policy_after_each_iteration() {
    let directory = tempfile::tempdir().unwrap();
    let surroundings = Surroundings::new();
    let seen = Seen::default();
    let mut context = surroundings.context(threads(1));
    context.spectator = &seen;
    let config = config(trpo(), 3);
    train_policy(&config, directory.path(), true, &context).unwrap();
    let seen = seen.0.into_inner().unwrap();
    assert_eq!(seen.iter().map(|(step, _)| *step).collect::<Vec<_>>(), [1, 2, 3]);

    let (mut trained, _) = TrainedPolicy::open(directory.path()).unwrap();
    let recipe = serde_json::to_value(&config.policy).unwrap();
    let mut shown = TrainedPolicy::new(trained.spec(), &recipe, &seen[2].1).unwrap();
    let observation = ObservationRef::F32(&[0.1, -0.7]);
    let (mut one, mut other) = ([f32::NAN], [f32::NAN]);
    trained.act(observation, &mut one).unwrap();
    shown.act(observation, &mut other).unwrap();
    assert!((one[0] - other[0]).abs() < 1e-6, "{one:?} {other:?}");
    let mut random = Random::new(1);
    trained.sample(observation, &mut random, &mut other).unwrap();
    assert!(one != other && trained.spec().action_space.contains(&other), "{other:?}");

    let error = shown.set_parameters(&seen[2].1[1..]).unwrap_err().to_string();
    assert!(error.contains("the policy has 66") && error.contains("has 65"), "{error}");
    let error = shown.act(ObservationRef::F32(&[0.1]), &mut one).unwrap_err().to_string();
    assert!(error.contains("2 numbers") && error.contains("1 numbers"), "{error}");
    let error = shown.act(observation, &mut [0.0; 2]).unwrap_err().to_string();
    assert!(error.contains("1 numbers") && error.contains("the buffer has 2"), "{error}");
    let recipe = serde_json::json!({ "hiden": [3] });
    let error = TrainedPolicy::new(trained.spec(), &recipe, &[0.0]).unwrap_err().to_string();
    assert!(error.contains("unknown field `hiden`"), "{error}");
}

#[test]
fn a_reward_that_is_not_finite_stops_and_is_named() {
    for count in [1, 3] {
        let directory = tempfile::tempdir().unwrap();
        let mut surroundings = Surroundings::new();
        surroundings.environments.add(ID, || Ok(Box::new(Reach::unbounded())));
        let context = surroundings.context(threads(count));
        let error = train_policy(&config(trpo(), 2), directory.path(), true, &context);
        let text = error.unwrap_err().to_string();
        assert!(text.starts_with("the reward of step 1 of the episode with seed "), "{text}");
        assert!(text.contains(" is not finite at step 1"), "{text}");
        assert!(!directory.path().join("checkpoints").exists());
    }
}

/// Panics in some episodes.
struct Panicking(Reach);

impl Env for Panicking {
    fn spec(&self) -> &EnvSpec {
        self.0.spec()
    }

    fn reset(&mut self, seed: Option<u64>, o: ObservationMut<'_>) -> Result<(), EnvError> {
        assert!(!seed.unwrap().is_multiple_of(5), "out of order");
        self.0.reset(seed, o)
    }

    fn step(&mut self, action: &[f32], o: ObservationMut<'_>) -> Result<Step, EnvError> {
        self.0.step(action, o)
    }
}

#[test]
fn an_environment_that_panics_ends_the_training_with_an_error() {
    for count in [1, 3] {
        let directory = tempfile::tempdir().unwrap();
        let mut surroundings = Surroundings::new();
        surroundings.environments.add(ID, || Ok(Box::new(Panicking(Reach::new()))));
        let context = surroundings.context(threads(count));
        let error = train_policy(&config(trpo(), 2), directory.path(), true, &context).unwrap_err();
        assert_eq!(error.to_string(), "a thread that plays episodes panicked: out of order");
    }
}

/// Shows nothing, and pays for the second of two choices.
struct Bandit(EnvSpec);

impl Bandit {
    fn new(max_episode_steps: Option<u32>) -> Self {
        Self(EnvSpec {
            id: ID.to_owned(),
            observation_space: Space::Box { low: vec![], high: vec![] },
            action_space: Space::Discrete { n: 2 },
            max_episode_steps,
            rules: "1 for the second choice".to_owned(),
        })
    }
}

impl Env for Bandit {
    fn spec(&self) -> &EnvSpec {
        &self.0
    }

    fn reset(&mut self, _: Option<u64>, _: ObservationMut<'_>) -> Result<(), EnvError> {
        Ok(())
    }

    fn step(&mut self, action: &[f32], _: ObservationMut<'_>) -> Result<Step, EnvError> {
        Ok(Step { reward: action[0].into(), terminated: true, truncated: false })
    }
}

#[test]
fn choices_are_learnt_where_nothing_is_observed() {
    for algorithm in [trpo(), ppo()] {
        let directory = tempfile::tempdir().unwrap();
        let mut surroundings = Surroundings::new();
        surroundings.environments.add(ID, || Ok(Box::new(Bandit::new(None))));
        let context = surroundings.context(threads(2));
        train_policy(&config(algorithm, 12), directory.path(), true, &context).unwrap();
        let returns = metric(directory.path(), "return_mean");
        assert!(returns[0] < 0.6 && returns[11] > 0.8, "{returns:?}");
    }
}

#[test]
fn an_environment_without_steps_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let mut surroundings = Surroundings::new();
    surroundings.environments.add(ID, || Ok(Box::new(Bandit::new(Some(0)))));
    let context = surroundings.context(threads(1));
    let error = train_policy(&config(trpo(), 1), directory.path(), true, &context).unwrap_err();
    assert_eq!(
        error.to_string(),
        "max_episode_steps is 0; it must be at least 1 for Reach-v0 to have a step"
    );
}

#[test]
fn a_policy_is_only_evaluated_where_it_was_trained() {
    let directory = tempfile::tempdir().unwrap();
    train(&config(trpo(), 1), directory.path(), threads(1));
    let (policy, _) = TrainedPolicy::open(directory.path()).unwrap();
    let mut surroundings = Surroundings::new();
    let cartpole = || rl755_env::EnvRegistry::with_builtin().make("CartPole-v1");
    surroundings.environments.add(ID, cartpole);
    let context = surroundings.context(threads(1));
    let error = PolicyPlayer::trained(&policy, &context).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("the policy has Box([-9, -9], [9, 9]) and "), "{error}");
    assert!(error.contains("Reach-v0 has ") && error.contains("Discrete(2)"), "{error}");
}

#[test]
fn settings_that_no_policy_can_be_trained_with_are_refused() {
    let surroundings = Surroundings::new();
    let check = |config: TrainPolicyConfig, expected: &str| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run");
        let context = surroundings.context(threads(1));
        let error = train_policy(&config, &path, false, &context).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(!path.exists(), "{expected}: something was written");
    };
    let good = || config(trpo(), 1);
    check(TrainPolicyConfig { batch_size: 0, ..good() }, "batch_size is 0; it must be from 1 to");
    check(TrainPolicyConfig { batch_size: usize::MAX, ..good() }, "it must be from 1 to 1000000");
    check(TrainPolicyConfig { horizon: Some(0), ..good() }, "horizon is 0");
    check(TrainPolicyConfig { horizon: None, ..good() }, "Reach-v0 does not end its episodes");
    check(TrainPolicyConfig { discount: 1.1, ..good() }, "discount is 1.1; it must be from 0 to 1");
    check(TrainPolicyConfig { gae_lambda: f64::NAN, ..good() }, "gae_lambda is NaN");
    let environment = "CarRacing-v3".to_owned();
    check(TrainPolicyConfig { environment, ..good() }, "a policy sees vectors");
    let environment = "Reach-v1".to_owned();
    check(TrainPolicyConfig { environment, ..good() }, "did you mean `Reach-v0`?");

    let policy = |hidden: &[usize], initial_std| TrainPolicyConfig {
        policy: PolicyConfig { hidden: hidden.to_vec(), initial_std },
        ..good()
    };
    check(policy(&[0], 1.0), "hidden is 0; it must be from 1 to 1024");
    check(policy(&[8, 100_000], 1.0), "hidden is 100000");
    check(policy(&[2; 9], 1.0), "hidden is 9 layers");
    check(policy(&[2], 0.0), "initial_std is 0; it must be from 0.001 to 10");
    let huge = TrainPolicyConfig { batch_size: 1_000_000, ..policy(&[1024; 4], 1.0) };
    check(huge, "batch_size is 1000000; it must be so small that");
    // Both the old policy and the new one have outputs for each step.
    let twice = TrainPolicyConfig { batch_size: 1_000_000, ..policy(&[300], 1.0) };
    check(twice, "now it is 612");

    let trpo = |change: fn(&mut TrpoConfig)| {
        let mut settings = TrpoConfig::default();
        change(&mut settings);
        config(Algorithm::Trpo(settings), 1)
    };
    check(trpo(|c| c.max_kl = 0.0), "max_kl is 0");
    check(trpo(|c| c.cg_iterations = 0), "cg_iterations is 0");
    check(trpo(|c| c.damping = -1.0), "damping is -1");
    check(
        trpo(|c| c.backtrack_ratio = 1.0),
        "backtrack_ratio is 1; it must be above 0 and below 1",
    );
    check(trpo(|c| c.max_backtracks = 0), "max_backtracks is 0");
    let ppo = |change: fn(&mut PpoConfig)| {
        let mut settings = PpoConfig::default();
        change(&mut settings);
        config(Algorithm::Ppo(settings), 1)
    };
    check(ppo(|c| c.clip = 0.0), "clip is 0");
    check(ppo(|c| c.epochs = 0), "epochs is 0");
    check(ppo(|c| c.minibatch_size = 0), "minibatch_size is 0");
    check(ppo(|c| c.learning_rate = 0.0), "learning_rate is 0; it must be above 0 and at most 1");
    check(ppo(|c| c.entropy = f64::INFINITY), "entropy is inf");
    check(ppo(|c| c.max_gradient_norm = 0.0), "max_gradient_norm is 0");
}
