//! Retrieval in training and sessions.

use ndarray::{Array3, Axis, s};
use rl755_nn::Learner;
use rl755_run::Random;

use super::*;
use crate::{
    trained,
    values::{assert_close, random_array, tensor},
};

const SIZES: Sizes = Sizes { latent: 5, action: 2, sequence_length: 23 };

fn config() -> RetrievalConfig {
    RetrievalConfig {
        context: 6,
        window: 3,
        stride: 2,
        top_k: 2,
        key_size: 4,
        most_windows: 4,
        transformer: TransformerConfig {
            layers: 2,
            hidden_size: 24,
            heads: 4,
            feed_forward_size: 40,
            mixtures: 0,
            dropout: 0.0,
            context_slide: 4,
        },
    }
}

fn full_pass(network: &Retrieval, inputs: &Array3<f32>) -> [Array3<f32>; 2] {
    let (hidden, predicted) = network.forward(tensor(inputs, &Device::flex()));
    [hidden, predicted].map(|x| Array3::from_shape_vec(x.dims(), values(x)).unwrap())
}

#[test]
fn sessions_give_what_the_full_pass_gives() {
    let change = |f: fn(&mut RetrievalConfig)| {
        let mut config = config();
        f(&mut config);
        config
    };
    for config in [
        config(),
        change(|c| c.transformer.context_slide = 1),
        change(|c| c.transformer.context_slide = 9),
        // Windows with gaps between them; a single one; all of them.
        change(|c| (c.window, c.stride) = (1, 3)),
        change(|c| c.top_k = 1),
        change(|c| (c.top_k, c.most_windows) = (9, 9)),
    ] {
        let network = Retrieval::init(&config, &SIZES, &Device::flex()).unwrap();
        let inputs = random_array([3, 23, 7], 2);
        let [hidden, predicted] = full_pass(&network, &inputs);
        let model = trained(&network, SIZES, false);
        let mut session = model.session(3);
        let mut randoms = vec![Random::new(0); 3];
        for step in 0..23 {
            let input = inputs.index_axis(Axis(1), step);
            let (latents, actions) = input.split_at(Axis(1), 5);
            session.step(latents, actions).unwrap();
            let found = session.predict(1.0, &mut randoms).unwrap();
            assert_close(session.hidden(), hidden.index_axis(Axis(1), step));
            assert_close(found.view(), predicted.index_axis(Axis(1), step));
        }
    }
}

#[test]
fn later_steps_do_not_change_earlier_predictions_and_far_earlier_ones_do_change_later_ones() {
    let network = Retrieval::init(&config(), &SIZES, &Device::flex()).unwrap();
    let inputs = random_array([2, 23, 7], 3);
    let [_, before] = full_pass(&network, &inputs);
    for changed in 0..23 {
        let mut others = inputs.clone();
        others.slice_mut(s![.., changed, ..]).fill(9.0);
        let [_, after] = full_pass(&network, &others);
        let differs: Vec<bool> = (0..23)
            .map(|step| before.slice(s![.., step, ..]) != after.slice(s![.., step, ..]))
            .collect();
        assert!(differs[..changed].iter().all(|d| !d), "step {changed}: {differs:?}");
        assert!(differs[changed], "step {changed}: {differs:?}");
    }
    // Step 0 is in the context up to step 5, and in the first window from step 6 to step 17,
    // when the context begins at 12 and the four windows before it at 2, 4, 6 and 8.
    let mut others = inputs.clone();
    others.slice_mut(s![.., 0, ..]).mapv_inplace(|x| 3.0 * x);
    let [_, after] = full_pass(&network, &others);
    let same = |step: usize| before.slice(s![.., step, ..]) == after.slice(s![.., step, ..]);
    assert!((6..14).any(|step| !same(step)));
    assert!((18..23).all(same));
}

#[test]
fn memory_stays_bounded() {
    let network = Retrieval::init(&config(), &SIZES, &Device::flex()).unwrap();
    let inputs = random_array([1, 400, 7], 4);
    let cell = network.cell();
    let mut memories = [crate::SequenceCell::begin(&cell)];
    for step in 0..400 {
        let input = inputs.index_axis(Axis(1), step);
        let (latents, actions) = input.split_at(Axis(1), 5);
        let mut hidden = ndarray::Array2::zeros((1, 24));
        crate::SequenceCell::step(&cell, &mut memories, latents, actions, hidden.view_mut());
        let [windows, steps] = memories[0].kept();
        assert!(windows <= 4 && steps <= 6 + 3 + 2, "{windows} windows, {steps} steps");
    }
}

/// Latents that are drawn anew for 12 steps and then come again in the same order.
fn recall_batch(seed: u64, device: &Device) -> SequenceBatch {
    const PERIOD: usize = 12;
    let mut random = Random::new(seed);
    let fresh: Vec<f32> = (0..16 * PERIOD * 6).map(|_| random.normal() as f32).collect();
    let latents = Array3::from_shape_fn((16, 25, 6), |(row, step, i)| {
        fresh[(row * PERIOD + step % PERIOD) * 6 + i]
    });
    SequenceBatch {
        latents: tensor(&latents.slice(s![.., ..24, ..]).to_owned(), device),
        actions: Tensor::zeros([16, 24, 1], device),
        targets: tensor(&latents.slice(s![.., 1.., ..]).to_owned(), device),
        rewards: Tensor::zeros([16, 24], device),
        terminals: Tensor::zeros([16, 24], device),
        followed: None,
    }
}

/// The mean squared error where the latents have come before: 1 for whoever cannot know.
fn recall_error(predicted: Tensor<3>, batch: &SequenceBatch) -> f32 {
    let again = |x: Tensor<3>| x.narrow(1, 16, 8);
    (again(predicted) - again(batch.targets.clone())).square().mean().into_scalar()
}

#[test]
fn what_came_before_the_context_is_recalled_which_the_transformer_alone_cannot() {
    let sizes = Sizes { latent: 6, action: 1, sequence_length: 24 };
    let transformer = TransformerConfig {
        layers: 1,
        hidden_size: 32,
        heads: 2,
        feed_forward_size: 64,
        mixtures: 0,
        dropout: 0.0,
        context_slide: 2,
    };
    let config = RetrievalConfig {
        context: 4,
        window: 2,
        stride: 1,
        top_k: 3,
        key_size: 16,
        most_windows: 64,
        transformer: transformer.clone(),
    };
    let device = Device::flex();
    let held_out = recall_batch(1_000_000, &device);
    let optimizer =
        OptimizerConfig { learning_rate: 3e-3, ..Retrieval::default_optimizer(&config) };

    let mut retrieval = Learner::new(&device, 1, &optimizer, |device| {
        Retrieval::init(&config, &sizes, device).unwrap()
    });
    for step in 1..=STEPS {
        let loss = |n: &Retrieval, device: &Device, _| n.losses(&recall_batch(step, device));
        retrieval.step(step, step, 16, loss).unwrap();
    }
    let (_, predicted) = retrieval.inference_model().forward(held_out.inputs());
    let error = recall_error(predicted, &held_out);

    // With the context of the bare transformer, whose sequences are its contexts.
    let context = Sizes { sequence_length: 4, ..sizes };
    let mut bare = Learner::new(&device, 1, &optimizer, |device| {
        Transformer::init(&transformer, &context, device).unwrap()
    });
    let contexts = |x: Tensor<3>| {
        let size = x.dims()[2];
        x.reshape([16 * 6, 4, size])
    };
    for step in 1..=STEPS {
        let loss = |n: &Transformer, device: &Device, _| {
            let batch = recall_batch(step, device);
            n.losses(&SequenceBatch {
                latents: contexts(batch.latents),
                actions: contexts(batch.actions),
                targets: contexts(batch.targets),
                ..batch
            })
        };
        bare.step(step, step, 16, loss).unwrap();
    }
    let (_, features) = bare.inference_model().features(contexts(held_out.inputs()));
    let predicted = bare.inference_model().output.forward(features).reshape([16, 24, 6]);
    let bare_error = recall_error(predicted, &held_out);
    assert!(error < 0.4 && bare_error > 0.8, "{error}, without retrieval {bare_error}");
}

const STEPS: u64 = 300;

#[test]
fn the_default_model_has_as_many_parameters_as_its_documentation_says() {
    let sizes = Sizes { latent: 32, action: 3, sequence_length: 32 };
    let network = Retrieval::init(&RetrievalConfig::default(), &sizes, &Device::flex());
    assert_eq!(rl755_nn::num_parameters(&network.unwrap()), 5_719_200);
}

#[test]
fn bad_settings_are_refused() {
    let check = |change: fn(&mut RetrievalConfig), expected: &str| {
        let mut config = config();
        change(&mut config);
        let error = Retrieval::init(&config, &SIZES, &Device::flex()).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    };
    check(|c| c.top_k = 0, "config of retrieval: top_k is 0; it must be from 1 to 65536");
    check(|c| c.stride = 0, "config of retrieval: stride is 0");
    check(|c| c.window = usize::MAX, "config of retrieval: window is 18446744073709551615");
    check(|c| c.transformer.heads = 5, "config of transformer: 5 heads cannot share");
    check(
        |c| c.context = 23,
        "config of retrieval: no window of 3 steps lies before a context of 23 in training \
         sequences of 23: the sequence length must be at least ",
    );
}

#[test]
fn the_sequence_length_that_is_asked_for_is_enough() {
    for (slide, window) in [(1, 1), (1, 5), (4, 4), (4, 5), (6, 1), (6, 13)] {
        let mut config = RetrievalConfig { window, ..config() };
        config.transformer.context_slide = slide;
        let init = |sequence_length| {
            let sizes = Sizes { sequence_length, ..SIZES };
            Retrieval::init(&config, &sizes, &Device::flex())
        };
        let error = init(1).unwrap_err().to_string();
        let (_, rest) = error.split_once("at least ").unwrap();
        let enough: usize = rest.split(',').next().unwrap().parse().unwrap();
        assert!(init(enough - 1).is_err() && init(enough).is_ok(), "{slide}, {window}");
    }
}
