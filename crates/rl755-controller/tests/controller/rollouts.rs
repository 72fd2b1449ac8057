//! Episodes played in batches are those played one by one.

use ndarray::{Array2, ArrayView2};
use rl755_controller::{
    Controller, ControllerRegistry, Episode, EpisodeEnd, EpisodeLimits, EpisodeTask, Resources,
    Rollouts, WorldModel,
};
use rl755_env::{Env, ObservationBuffer};
use rl755_run::{Interrupt, Random};

use crate::reach::{ID, Reach, Surroundings, world_model};

/// A linear controller and `count` members.
fn members(models: &WorldModel, count: usize) -> (Box<dyn Controller>, Vec<Vec<f32>>) {
    let inputs = models.controller_inputs(Reach::new().spec()).unwrap();
    let registry = ControllerRegistry::with_builtin();
    let controller = registry.make("linear", &inputs, &serde_json::Value::Null).unwrap();
    let mut random = Random::new(1);
    let size = controller.num_parameters();
    let members = (0..count).map(|_| (0..size).map(|_| random.normal() as f32).collect()).collect();
    (controller, members)
}

/// One episode, as its definition says: no batches, no reuse.
fn by_definition(
    models: &WorldModel,
    controller: &dyn Controller,
    task: EpisodeTask<'_>,
    limits: EpisodeLimits,
) -> Episode {
    let mut env = Reach::new();
    let mut observation = ObservationBuffer::zeros(&env.spec().observation_space, 1);
    env.reset(Some(task.seed), observation.as_mut()).unwrap();
    let mut session = models.sequence.as_ref().unwrap().model.session(1);
    let (mut score, mut steps, mut unrewarded) = (0.0, 0, 0);
    let end = loop {
        let latent = models.encoder.model.encode(observation.as_ref()).unwrap().mean;
        let mut action = Array2::zeros((1, 1));
        controller.act(&[task.parameters], latent.view(), session.hidden(), action.view_mut());
        session.step(latent.view(), action.view()).unwrap();
        let step = env.step(&[action[[0, 0]]], observation.as_mut()).unwrap();
        score += step.reward;
        steps += 1;
        unrewarded = if step.reward > 0.0 { 0 } else { unrewarded + 1 };
        if step.terminated {
            break EpisodeEnd::Terminated;
        } else if step.truncated {
            break EpisodeEnd::Truncated;
        } else if Some(steps) == limits.horizon {
            break EpisodeEnd::Horizon;
        } else if Some(unrewarded) == limits.patience_steps {
            break EpisodeEnd::OutOfPatience;
        }
    };
    Episode { seed: task.seed, score, steps, end }
}

#[test]
fn every_batch_and_number_of_threads_gives_the_episodes_played_one_by_one() {
    let surroundings = Surroundings::new();
    let models = world_model("a");
    let (controller, members) = members(&models, 9);
    let tasks: Vec<EpisodeTask<'_>> = members
        .iter()
        .flat_map(|parameters| (0..30).map(move |seed| EpisodeTask { parameters, seed }))
        .collect();
    for limits in
        [EpisodeLimits::default(), EpisodeLimits { horizon: Some(7), patience_steps: Some(5) }]
    {
        let expected: Vec<Episode> =
            tasks.iter().map(|task| by_definition(&models, &*controller, *task, limits)).collect();
        let ends = |end| expected.iter().filter(|e| e.end == end).count();
        assert!(ends(EpisodeEnd::Terminated) > 0 && ends(EpisodeEnd::Truncated) > 0);
        assert_eq!(ends(EpisodeEnd::Horizon) > 0, limits.horizon.is_some());
        assert_eq!(ends(EpisodeEnd::OutOfPatience) > 0, limits.patience_steps.is_some());
        for (batch, threads, groups) in
            [(1, 1, 1), (3, 1, 0), (7, 2, 0), (7, 2, 1), (64, 2, 0), (64, 1, 3), (36, 3, 2)]
        {
            let resources = (Resources { batch, threads, groups }, tasks.len());
            let environments = &surroundings.environments;
            let mut rollouts =
                Rollouts::new(environments, ID, &models, &*controller, resources).unwrap();
            rollouts.set_limits(limits);
            // Twice: environments are reused.
            for _ in 0..2 {
                let found = rollouts.play(&tasks, &|_| (), &Interrupt::new()).unwrap();
                assert_eq!(found, expected, "batch {batch}, threads {threads}, groups {groups}");
            }
        }
    }
}

/// Counts the rows it acts for.
struct Counting(std::sync::atomic::AtomicUsize);

impl Controller for Counting {
    fn num_parameters(&self) -> usize {
        0
    }

    fn act(
        &self,
        parameters: &[&[f32]],
        latents: ArrayView2<'_, f32>,
        hidden: ArrayView2<'_, f32>,
        actions: ndarray::ArrayViewMut2<'_, f32>,
    ) {
        let rows = parameters.len();
        assert_eq!([latents.nrows(), hidden.nrows(), actions.nrows()], [rows; 3]);
        self.0.fetch_add(rows, std::sync::atomic::Ordering::Relaxed);
    }
}

#[test]
fn finished_episodes_cost_nothing() {
    let surroundings = Surroundings::new();
    let models = world_model("a");
    let controller = Counting(0.into());
    let tasks: Vec<_> = (0..20).map(|seed| EpisodeTask { parameters: &[], seed }).collect();
    let resources = (Resources { batch: 8, threads: 1, groups: 1 }, tasks.len());
    let mut rollouts =
        Rollouts::new(&surroundings.environments, ID, &models, &controller, resources).unwrap();
    let episodes = rollouts.play(&tasks, &|_| (), &Interrupt::new()).unwrap();
    let steps: u32 = episodes.iter().map(|e| e.steps).sum();
    assert_eq!(controller.0.into_inner(), steps as usize);
}

#[test]
fn a_request_to_stop_ends_the_episodes() {
    let surroundings = Surroundings::new();
    let models = world_model("a");
    let (controller, members) = members(&models, 1);
    let tasks = [EpisodeTask { parameters: &members[0], seed: 1 }; 10];
    let resources = (Resources { batch: 4, threads: 2, groups: 0 }, tasks.len());
    let mut rollouts =
        Rollouts::new(&surroundings.environments, ID, &models, &*controller, resources).unwrap();
    let interrupt = Interrupt::new();
    interrupt.raise();
    let error = rollouts.play(&tasks, &|_| (), &interrupt).unwrap_err();
    assert_eq!(error.to_string(), "interrupted");
    assert!(rollouts.play(&tasks, &|_| (), &Interrupt::new()).is_ok());
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let surroundings = Surroundings::new();
    let models = world_model("a");
    let (controller, members) = members(&models, 1);
    let environments = &surroundings.environments;
    let resources = (Resources::default(), 1);
    let error = Rollouts::new(environments, "CartPole-v1", &models, &*controller, resources)
        .map(|_| ())
        .unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("observation does not fit: CartPole-v1 has Box("), "{text}");

    let mut rollouts = Rollouts::new(environments, ID, &models, &*controller, resources).unwrap();
    let tasks = [EpisodeTask { parameters: &members[0][1..], seed: 1 }];
    let text = rollouts.play(&tasks, &|_| (), &Interrupt::new()).unwrap_err().to_string();
    assert!(text.contains("the controller has 6, a member has 5"), "{text}");
}
