//! CarRacing as an environment: seeds, episodes, refusals. car_racing_parity.rs has its physics.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use rand_core::{Rng, SeedableRng};
use rl755_env::{CarRacing, CarRacingConfig, Env, EnvError, ObservationMut, Step};

fn env() -> CarRacing {
    CarRacing::new(CarRacingConfig::default()).unwrap()
}

fn reset(env: &mut CarRacing, seed: Option<u64>) {
    env.reset(seed, ObservationMut::U8(&mut vec![0; 96 * 96 * 3])).unwrap();
}

fn step(env: &mut CarRacing, action: &[f32]) -> Result<Step, EnvError> {
    env.step(action, ObservationMut::U8(&mut vec![0; 96 * 96 * 3]))
}

/// Straight on with half gas from the track of seed 40, which leaves the field.
fn leave_the_field(env: &mut CarRacing) -> Step {
    reset(env, Some(40));
    (0..2000)
        .map(|_| step(env, &[0.0, 0.5, 0.0]).unwrap())
        .find(|step| step.terminated)
        .expect("the car goes straight on until the field ends")
}

#[test]
fn same_seed_gives_the_same_episode() {
    let (mut a, mut b) = (env(), env());
    reset(&mut a, Some(3));
    // An environment that has been used before is no different.
    leave_the_field(&mut b);
    reset(&mut b, Some(3));
    for i in 0..100 {
        let action = [(i as f32 / 9.0).sin(), 0.7, 0.0];
        assert_eq!(step(&mut a, &action), step(&mut b, &action));
        assert_eq!(a.state(), b.state());
    }
    assert_eq!(a.track(), b.track());
    assert_eq!(a.road(), b.road());
}

#[test]
fn reset_without_a_seed_goes_on_with_the_stream() {
    let (mut a, mut b) = (env(), env());
    reset(&mut a, Some(3));
    let first = a.track().to_vec();
    reset(&mut a, None);
    assert_ne!(a.track(), first);
    reset(&mut b, Some(3));
    reset(&mut b, None);
    assert_eq!(a.track(), b.track());
}

#[test]
fn first_reset_without_a_seed_is_not_always_the_same() {
    let (mut a, mut b) = (env(), env());
    reset(&mut a, None);
    reset(&mut b, None);
    assert_ne!(a.track(), b.track());
}

#[test]
fn step_needs_a_running_episode() {
    let mut env = env();
    assert!(matches!(env.render(), Err(EnvError::ResetNeeded { .. })));
    let before = step(&mut env, &[0.0; 3]).unwrap_err().to_string();
    assert_eq!(before, "CarRacing-v3: step was called before the first reset; call reset first");
    let last = leave_the_field(&mut env);
    assert_eq!(last.reward, -100.0);
    let after = step(&mut env, &[0.0; 3]).unwrap_err().to_string();
    assert_eq!(after, "CarRacing-v3: step was called after the episode ended; call reset first");
    reset(&mut env, None);
    step(&mut env, &[0.0; 3]).unwrap();
}

#[test]
fn refused_calls_change_nothing() {
    let mut env = env();
    reset(&mut env, Some(5));
    let before = env.state();
    let wrong: [&[f32]; 6] = [
        &[0.0, 0.0],
        &[0.0; 4],
        &[f32::NAN, 0.0, 0.0],
        &[0.0, 1.5, 0.0],
        &[0.0, 0.0, -0.1],
        &[f32::NEG_INFINITY, 0.0, 0.0],
    ];
    for action in wrong {
        let error = step(&mut env, action).unwrap_err();
        assert!(matches!(error, EnvError::InvalidAction { .. }), "{error}");
    }
    let error = env.step(&[0.0; 3], ObservationMut::U8(&mut [0; 12])).unwrap_err();
    assert!(matches!(error, EnvError::ObservationBuffer { .. }), "{error}");
    let error = env.reset(Some(6), ObservationMut::F32(&mut [0.0; 12])).unwrap_err();
    assert!(matches!(error, EnvError::ObservationBuffer { .. }), "{error}");
    assert_eq!(env.state(), before);
}

#[test]
fn a_lap_closes_early_by_a_lower_percentage() {
    // Tile 0 is touched in reset's own step, when it is more than none of the tiles.
    let config = CarRacingConfig { lap_complete_percent: Some(0.0), ..CarRacingConfig::default() };
    let mut env = CarRacing::new(config).unwrap();
    reset(&mut env, Some(1));
    assert!(step(&mut env, &[0.0; 3]).unwrap().terminated);
    assert!(env.spec().rules.contains("(a lap of more than 0 of the tiles closes at the first"));
}

/// An element of an action: valid ones, their bounds, and all that may go wrong.
fn element(rng: &mut impl Rng) -> f32 {
    let word = rng.next_u32();
    let unit = (word >> 8) as f32 / (1 << 24) as f32;
    match word % 16 {
        0 => f32::NAN,
        1 => f32::INFINITY,
        2 => f32::NEG_INFINITY,
        3 => f32::from_bits(rng.next_u32()),
        4 => -0.0,
        5 => f32::MIN_POSITIVE / 2.0,
        6 => (word >> 8) as f32 % 7.0 - 1.0,
        7 => 1.0 + f32::EPSILON,
        8 | 9 => 1.0,
        10 => -1.0,
        _ => unit,
    }
}

#[test]
fn no_sequence_of_actions_panics_or_gives_rewards_that_are_not_finite() {
    let mut rng = rand_pcg::Pcg64Mcg::seed_from_u64(11);
    let (mut taken, mut refused) = (0, 0);
    for sequence in 0..24 {
        let continuous = sequence % 2 == 0;
        let config = CarRacingConfig { continuous, ..CarRacingConfig::default() };
        let mut env = CarRacing::new(config).unwrap();
        let width = env.spec().action_space.width();
        reset(&mut env, Some(sequence));
        for _ in 0..400 {
            let wrong_width = rng.next_u32() % 16 == 0;
            let width = if wrong_width { rng.next_u32() as usize % 5 } else { width };
            let mut action: Vec<f32> = (0..width).map(|_| element(&mut rng)).collect();
            if rng.next_u32() % 2 == 0 {
                // What gets the car anywhere: otherwise most actions would be refused.
                action
                    .iter_mut()
                    .for_each(|v| *v = if continuous { v.clamp(0.0, 1.0) } else { 3.0 });
            }
            let before = env.state();
            match step(&mut env, &action) {
                Ok(step) => {
                    taken += 1;
                    assert!(env.spec().action_space.contains(&action), "{action:?}");
                    assert!(step.reward.is_finite(), "{action:?}: {step:?}");
                    assert!(env.state().unwrap().hull.position.iter().all(|p| p.is_finite()));
                    if step.done() {
                        reset(&mut env, None);
                    }
                }
                Err(error) => {
                    refused += 1;
                    assert!(!env.spec().action_space.contains(&action), "{action:?}");
                    assert!(matches!(error, EnvError::InvalidAction { .. }), "{error}");
                    assert!(error.to_string().contains(&env.spec().action_space.to_string()));
                    assert_eq!(env.state(), before);
                }
            }
        }
    }
    assert!(taken > 3000 && refused > 3000, "{taken} taken, {refused} refused");
}
