//! What every environment promises.

use std::path::Path;

use rl755_env::{Env, EnvError, EnvRegistry, ObservationBuffer, VectorEnv, check_env};
use rl755_env_mujoco::{IDS, MujocoEnv, register, tasks::Swimmer};

fn registry() -> EnvRegistry {
    let mut registry = EnvRegistry::default();
    register(&mut registry);
    registry
}

#[test]
fn every_environment_keeps_every_promise() {
    let registry = registry();
    assert_eq!(registry.ids(), IDS);
    for id in IDS {
        let mut env = registry.make(id).unwrap();
        assert_eq!(env.spec().id, id);
        check_env(&mut env).unwrap();
    }
    // HalfCheetah's model is the one that MuJoCo warns of.
    assert!(!Path::new("MUJOCO_LOG.TXT").exists());
}

#[test]
fn spaces_and_limits_are_gymnasiums() {
    // Observation, action, its bound, steps.
    let expected = [
        (105, 8, 1.0, 1000),
        (17, 6, 1.0, 1000),
        (11, 3, 1.0, 1000),
        (348, 17, 0.4, 1000),
        (9, 1, 1.0, 1000),
        (4, 1, 3.0, 1000),
        (23, 7, 2.0, 100),
        (10, 2, 1.0, 50),
        (8, 2, 1.0, 1000),
        (17, 6, 1.0, 1000),
    ];
    for (id, expected) in IDS.into_iter().zip(expected) {
        let env = registry().make(id).unwrap();
        let spec = env.spec();
        let (low, high) = spec.action_space.bounds(0);
        assert_eq!(low, -high);
        let widths = (spec.observation_space.width(), spec.action_space.width());
        let limit = spec.max_episode_steps.unwrap();
        assert_eq!((widths.0, widths.1, high, limit), expected, "{id}");
    }
}

#[test]
fn two_threads_give_the_bits_of_one() {
    let play = |threads: usize| {
        let mut envs = VectorEnv::make(&registry(), "Hopper-v5", 8, threads).unwrap();
        envs.reset_all(&[1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
        let mut rewards = Vec::new();
        for step in 0..20 {
            let actions: Vec<f32> = (0..24).map(|i| (0.37 * (i + step) as f32).sin()).collect();
            let steps = envs.step(&actions, &[true; 8]).unwrap();
            rewards.extend(steps.rewards.iter().map(|reward| reward.to_bits()));
        }
        (rewards, envs.observations().clone())
    };
    assert_eq!(play(1), play(2));
}

#[test]
fn options_are_gymnasiums_settings() {
    let width = |id: &str| registry().make(id).unwrap().spec().observation_space.width();
    assert_eq!(width("Swimmer-v5:exclude_current_positions_from_observation=false"), 10);
    assert_eq!(width("Ant-v5:include_cfrc_ext_in_observation=false"), 27);
    assert_eq!(width("Humanoid-v5:include_cinert_in_observation=false"), 348 - 130);
    let mut env = registry().make("Hopper-v5:healthy_z_range=[5,6]").unwrap();
    let mut observation = ObservationBuffer::zeros(&env.spec().observation_space, 1);
    env.reset(Some(0), observation.as_mut()).unwrap();
    let step = env.step(&[0.0; 3], observation.as_mut()).unwrap();
    assert!(step.terminated && step.reward < 1.0);
}

#[test]
fn rules_are_those_of_the_settings() {
    #[track_caller]
    fn check(id: &str, rules: &str) {
        assert_eq!(registry().make(id).unwrap().spec().rules, rules);
    }
    check(
        "Swimmer-v5",
        "the speed along x in m/s less 0.0001 of the squared action; ends never but by the time \
         limit",
    );
    check(
        "Ant-v5:healthy_z_range=[0.3,2],forward_reward_weight=2",
        "1 per healthy step and 2 of the speed along x in m/s less 0.5 of the squared action and \
         0.0005 of the squared contact forces; ends outside a height of 0.3 to 2 m",
    );
    check(
        "Hopper-v5:ctrl_cost_weight=0",
        "1 per healthy step and the speed along x in m/s less 0 of the squared action; ends outside \
         a height of 0.7 to ∞ m or an angle of -0.2 to 0.2 or other values of -100 to 100",
    );
    check(
        "Walker2d-v5:terminate_when_unhealthy=false",
        "1 per healthy step and the speed along x in m/s less 0.001 of the squared action; ends \
         never but by the time limit",
    );
    check(
        "Reacher-v5:reward_control_weight=0.1",
        "minus the distance from tip to target in metres and 0.1 of the squared action; ends never \
         but by the time limit",
    );
}

#[test]
fn bad_options_are_named_with_their_range() {
    #[track_caller]
    fn check(id: &str, message: &str) {
        match registry().make(id) {
            Err(EnvError::Options { reason, .. }) => assert!(reason.contains(message), "{reason}"),
            other => panic!("{id}: {:?}", other.map(|_| ())),
        }
    }
    check("Swimmer-v5:frame_skip=0", "frame_skip is 0; it must be 1 to 1000");
    check("Swimmer-v5:frame_skip=1001", "frame_skip is 1001; it must be 1 to 1000");
    check("Swimmer-v5:frame_skip=-1", "`frame_skip=-1`: invalid value: integer `-1`, expected u32");
    check("Swimmer-v5:reset_noise_scale=-1", "reset_noise_scale is -1; it must be 0 to 1e6");
    check("Ant-v5:reset_noise_scale=NaN", "`reset_noise_scale=NaN`: invalid type: string");
    check("Hopper-v5:ctrl_cost_weight=1e10", "ctrl_cost_weight is 10000000000; it must be -1e9 to");
    check("Ant-v5:main_body=14", "main_body is 14; it must be 0 to 13");
    check("Walker2d-v5:healthy_z_range=[2,1]", "healthy_z_range is [2,1]");
    check("Pusher-v5:reward=1", "unknown field `reward`, expected one of `frame_skip`");
}

#[test]
fn settings_that_are_no_numbers_are_refused() {
    let refused = |task: Swimmer| MujocoEnv::new(task).map(|_| ()).unwrap_err().to_string();
    let noise = refused(Swimmer { reset_noise_scale: f64::NAN, ..Swimmer::default() });
    assert!(noise.contains("reset_noise_scale is NaN; it must be 0 to 1e6"), "{noise}");
    let weight = refused(Swimmer { ctrl_cost_weight: f64::INFINITY, ..Swimmer::default() });
    assert!(weight.contains("ctrl_cost_weight is inf; it must be -1e9 to 1e9"), "{weight}");
}

/// MuJoCo starts anew by itself from states that it cannot compute.
#[test]
fn the_widest_settings_keep_every_number_finite() {
    for id in IDS {
        let noise =
            if ["Pusher-v5", "Reacher-v5"].contains(&id) { "" } else { ",reset_noise_scale=1e6" };
        let mut env = registry().make(&format!("{id}:frame_skip=1000{noise}")).unwrap();
        let space = env.spec().action_space.clone();
        let high: Vec<f32> = (0..space.width()).map(|index| space.bounds(index).1).collect();
        let mut observation = ObservationBuffer::zeros(&env.spec().observation_space, 1);
        for seed in 0..3 {
            env.reset(Some(seed), observation.as_mut()).unwrap();
            let step = env.step(&high, observation.as_mut()).unwrap();
            let ObservationBuffer::F32(values) = &observation else { unreachable!() };
            let finite = values.iter().all(|value| value.is_finite()) && step.reward.is_finite();
            assert!(finite, "{id}: {step:?} {values:?}");
        }
    }
}
