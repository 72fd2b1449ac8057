//! `check_env` finds what is wrong with deliberately broken environments, and nothing in ours.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use rl755_env::{
    CartPole, CheckError, Env, EnvError, EnvRegistry, EnvSpec, ObservationMut, Space, Step,
    check_env,
};

/// What is broken.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    SpecWithoutVersion,
    EmptyBox,
    StepBeforeReset,
    StepAfterEnd,
    AnyBuffer,
    AnyAction,
    NoGreatestAction,
    Drift,
    InfiniteReward,
    OutOfSpace,
    Unwritten,
}

/// CartPole with a fault.
struct Faulty {
    inner: CartPole,
    spec: EnvSpec,
    fault: Fault,
    started: bool,
    resets: u32,
}

impl Faulty {
    fn new(fault: Fault) -> Self {
        let inner = CartPole::new();
        let mut spec = inner.spec().clone();
        match fault {
            Fault::SpecWithoutVersion => spec.id = "CartPole".to_owned(),
            Fault::EmptyBox => {
                spec.observation_space = Space::Box { low: vec![1.0; 4], high: vec![0.0; 4] };
            }
            _ => {}
        }
        Self { inner, spec, fault, started: false, resets: 0 }
    }
}

impl Env for Faulty {
    fn spec(&self) -> &EnvSpec {
        &self.spec
    }

    fn reset(&mut self, seed: Option<u64>, out: ObservationMut<'_>) -> Result<(), EnvError> {
        self.started = true;
        self.resets += 1;
        let seed = if self.fault == Fault::Drift { Some(u64::from(self.resets)) } else { seed };
        match out {
            ObservationMut::F32(values) if self.fault == Fault::Unwritten && values.len() == 4 => {
                self.inner.reset(seed, ObservationMut::F32(&mut [0.0; 4]))
            }
            ObservationMut::F32(values) if self.fault == Fault::AnyBuffer => {
                self.inner.reset(seed, ObservationMut::F32(&mut values[..4]))
            }
            other => self.inner.reset(seed, other),
        }
    }

    fn step(&mut self, action: &[f32], out: ObservationMut<'_>) -> Result<Step, EnvError> {
        let ObservationMut::F32(values) = out else { panic!("only floats come here") };
        let mut allowed = action;
        match self.fault {
            Fault::StepBeforeReset if !self.started => return Ok(Step::default()),
            Fault::AnyAction if !self.inner.spec().action_space.contains(action) => {
                allowed = &[0.0];
            }
            Fault::NoGreatestAction if action == [1.0] => {
                let message = "I do not like 1".to_owned();
                return Err(EnvError::Other { env: self.spec.id.clone(), message });
            }
            _ => {}
        }
        let step = self.inner.step(allowed, ObservationMut::F32(values));
        if self.fault == Fault::StepAfterEnd
            && self.started
            && matches!(step, Err(EnvError::ResetNeeded { .. }))
        {
            return Ok(Step { terminated: true, ..Step::default() });
        }
        let mut step = step?;
        match self.fault {
            Fault::InfiniteReward => step.reward = f64::INFINITY,
            Fault::OutOfSpace => values[2] = 1.0,
            _ => {}
        }
        Ok(step)
    }
}

fn findings(fault: Fault) -> Vec<String> {
    match check_env(&mut Faulty::new(fault)) {
        Ok(()) => Vec::new(),
        Err(CheckError { findings, .. }) => findings.into_iter().map(|f| f.to_string()).collect(),
    }
}

/// The fault is found, once, and described by `problem`.
#[track_caller]
fn check(fault: Fault, problem: &str) {
    let findings = findings(fault);
    assert!(findings.iter().any(|f| f.starts_with(problem)), "{findings:#?}");
}

#[test]
fn builtin_environments_have_no_faults() {
    let registry = EnvRegistry::with_builtin();
    for id in registry.ids() {
        check_env(&mut registry.make(&id).unwrap()).unwrap();
    }
    assert_eq!(findings(Fault::None), Vec::<String>::new());
}

#[test]
fn every_fault_is_found() {
    check(Fault::SpecWithoutVersion, "the id `CartPole` has no version");
    check(Fault::EmptyBox, "the observation space Box([1, 1, 1, 1], [0, 0, 0, 0]) has no value");
    check(Fault::StepBeforeReset, "step before the first reset was not refused");
    check(Fault::StepAfterEnd, "step after the end of an episode was not refused");
    check(Fault::AnyBuffer, "an observation buffer with one element too many was not refused");
    check(Fault::AnyAction, "the invalid action [NaN] was not refused");
    check(Fault::NoGreatestAction, "step failed with the valid action [1.0]");
    check(Fault::Drift, "reset with the same seed and the same actions gave another episode");
    check(Fault::InfiniteReward, "a reward was inf");
    check(Fault::OutOfSpace, "an observation after step is not in its space: element 2 is 1");
    check(Fault::Unwritten, "an observation after reset is not in its space: element 0 is NaN");
}

#[test]
fn the_error_lists_every_mistake_with_a_remedy() {
    let error = check_env(&mut Faulty::new(Fault::InfiniteReward)).unwrap_err();
    let expected = "CartPole-v1 fails 1 checks:\n- a reward was inf; look for a division by zero \
                    or an overflow";
    assert_eq!(error.to_string(), expected);
}
