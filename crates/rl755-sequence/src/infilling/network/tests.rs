//! The infilling U-Net in training, sessions and gaps.

use ndarray::{Array2, Array3, Axis, s};
use rl755_nn::{Learner, seeded};
use rl755_run::Random;

use super::*;
use crate::{
    Gaps, SequenceModel, trained,
    values::{assert_close, random_array, tensor},
};

fn sizes(latent: usize, action: usize, sequence_length: usize) -> Sizes {
    Sizes { latent, action, sequence_length }
}

/// Sequences of `latents`, `[batch, length + 1, latent]`, with actions that mean nothing.
fn batch_of(latents: &Array3<f32>, device: &Device) -> SequenceBatch {
    let (rows, length) = (latents.len_of(Axis(0)), latents.len_of(Axis(1)) - 1);
    SequenceBatch {
        latents: tensor(&latents.slice(s![.., ..-1, ..]).to_owned(), device),
        actions: Tensor::zeros([rows, length, 1], device),
        targets: tensor(&latents.slice(s![.., 1.., ..]).to_owned(), device),
        rewards: Tensor::zeros([rows, length], device),
        terminals: Tensor::zeros([rows, length], device),
        followed: None,
    }
}

/// Trains on the sequences that `draw` gives for seeds, `[batch, length + 1, latent]`.
fn learn(
    config: &InfillingConfig,
    sizes: Sizes,
    steps: u64,
    draw: fn(u64) -> Array3<f32>,
) -> Box<dyn SequenceModel> {
    let optimizer = OptimizerConfig { learning_rate: 3e-3, ..Infilling::default_optimizer(config) };
    let mut learner = Learner::new(&Device::flex(), 1, &optimizer, |device| {
        Infilling::init(config, &sizes, device).unwrap()
    });
    for step in 1..=steps {
        let loss = |n: &Infilling, device: &Device, _| n.losses(&batch_of(&draw(step), device));
        learner.step(step, step, draw(step).len_of(Axis(0)), loss).unwrap();
    }
    trained(&learner.inference_model(), sizes, false)
}

/// Fills in the latents of `sequence`, `[steps, latent]`, in `hole`.
fn fill(
    model: &dyn SequenceModel,
    sequence: &Array2<f32>,
    hole: std::ops::Range<usize>,
    random: &mut Random,
) -> Array2<f32> {
    let mut latents = sequence.clone();
    latents.slice_mut(s![hole.clone(), ..]).fill(f32::NAN);
    let known: Vec<bool> = (0..sequence.nrows()).map(|step| !hole.contains(&step)).collect();
    let actions = Array2::zeros((sequence.nrows(), 1));
    let gaps = Gaps { latents: latents.view(), actions: actions.view(), known: &known };
    let filled = model.fill(&gaps, 1.0, random).unwrap();
    for step in (0..sequence.nrows()).filter(|step| !hole.contains(step)) {
        assert_eq!(filled.row(step), sequence.row(step), "a known latent was changed");
    }
    filled.slice(s![hole, ..]).to_owned()
}

#[test]
fn sessions_give_what_the_full_pass_gives() {
    let config = InfillingConfig { channels: 6, longest_span: 2, ..InfillingConfig::default() };
    let sizes = sizes(5, 2, 6);
    let network = Infilling::init(&config, &sizes, &Device::flex()).unwrap();
    let inputs = random_array([3, 14, 7], 2);
    let model = trained(&network, sizes, false);
    let mut session = model.session(3);
    let mut randoms = vec![Random::new(0); 3];
    for step in 0..14 {
        let input = inputs.index_axis(Axis(1), step);
        let (latents, actions) = input.split_at(Axis(1), 5);
        session.step(latents, actions).unwrap();
        let found = session.predict(1.0, &mut randoms).unwrap();
        // The last six steps and the masked one, or fewer and hidden ones before them.
        let seen = (step + 1).min(6);
        let mut shown = Array3::zeros((3, 7, 7));
        shown.slice_mut(s![.., 6 - seen..6, ..]).assign(&inputs.slice(s![
            ..,
            step + 1 - seen..=step,
            ..
        ]));
        let mut known = Array3::zeros((3, 7, 1));
        known.slice_mut(s![.., 6 - seen..6, ..]).fill(1.0);
        let mut asked = Array3::zeros((3, 7, 1));
        asked.slice_mut(s![.., 6.., ..]).fill(1.0);
        let on_device = |x: &Array3<f32>| tensor::<3, _>(x, &Device::flex());
        let masks = Masks { known: on_device(&known), asked: on_device(&asked), noise: None };
        let shown = on_device(&shown);
        let (latents, actions) = (shown.clone().narrow(2, 0, 5), shown.narrow(2, 5, 2));
        let last = |x: Tensor<3>| {
            let width = x.dims()[2];
            Array2::from_shape_vec((3, width), values(x.narrow(1, 6, 1))).unwrap()
        };
        let (hidden, filled) = network.generate(latents, actions, &masks);
        assert_close(session.hidden(), last(hidden).view());
        assert_close(found.view(), last(filled).view());
    }
}

#[test]
fn masked_latents_and_what_is_hidden_are_not_looked_at() {
    let config = InfillingConfig {
        channels: 6,
        longest_span: 3,
        gan_weight: 0.5,
        ..InfillingConfig::default()
    };
    let sizes = sizes(2, 1, 9);
    let device = Device::flex().autodiff();
    let network = Infilling::init(&config, &sizes, &device).unwrap();
    let latents = random_array([40, 10, 2], 1);
    let masks = seeded(&device, 5, || Masks::draw(&config, &[10; 40], [10, 8], &device));
    let actions: Tensor<3> = tensor(&random_array([40, 10, 1], 2), &device);
    let asked = masks.asked.clone();
    let generate = |latents: Tensor<3>, actions: Tensor<3>| {
        let (_, filled) = network.generate(latents, actions, &masks);
        values(filled * asked.clone())
    };
    let seen: Tensor<3> = tensor(&latents, &device);
    let unknown = seen.clone() * masks.known.clone() + (1.0 - masks.known.clone()) * 7.0;
    let hidden: Tensor<3> = 1.0 - masks.known.clone() - masks.asked.clone();
    let expected = generate(seen.clone(), actions.clone());
    assert_eq!(generate(unknown, actions.clone() + hidden.clone() * 7.0), expected);
    assert!(values(hidden).contains(&1.0));
    // Of each sequence something is asked for, and something known.
    for masks in [&masks.asked, &masks.known] {
        assert!(values(masks.clone().sum_dim(1)).iter().all(|n| *n >= 1.0));
    }
}

/// Two sines, one twice as fast as the other, that begin anywhere in their common period: what
/// lies in a hole follows from both its sides.
fn waves(seed: u64) -> Array3<f32> {
    let mut random = Random::new(seed);
    let mut sequences = Array3::zeros((16, 17, 2));
    for mut sequence in sequences.outer_iter_mut() {
        let begin = random.uniform(0.0, 2.0 * std::f64::consts::TAU);
        for (step, mut latent) in sequence.outer_iter_mut().enumerate() {
            let angle = begin + 0.7 * step as f64;
            latent[0] = angle.sin() as f32;
            latent[1] = (0.5 * angle + 1.0).cos() as f32;
        }
    }
    sequences
}

#[test]
fn holes_are_filled_better_than_by_interpolation_and_repetition() {
    let config = InfillingConfig { channels: 16, longest_span: 4, ..Default::default() };
    let model = learn(&config, sizes(2, 1, 16), 250, waves);
    let (mut errors, mut count) = ([0.0f32; 3], 0.0);
    for sequence in waves(1_000_000).outer_iter() {
        let sequence = sequence.to_owned();
        for hole in [3..6, 8..12, 10..11] {
            let (before, after) = (hole.start - 1, hole.end);
            let filled = fill(&*model, &sequence, hole.clone(), &mut Random::new(0));
            for (step, filled) in hole.clone().zip(filled.rows()) {
                let share = (step - before) as f32 / (after - before) as f32;
                let line = &sequence.row(before) * (1.0 - share) + &sequence.row(after) * share;
                let guesses = [filled.to_owned(), line, sequence.row(before).to_owned()];
                for (error, guess) in errors.iter_mut().zip(guesses) {
                    *error += (guess - sequence.row(step)).mapv(|x| x * x).sum();
                }
                count += 2.0;
            }
        }
    }
    let [filled, line, repeated] = errors.map(|error| error / count);
    assert!(filled < 0.1 * line && filled < 0.1 * repeated, "{filled}, {line}, {repeated}");
}

#[test]
fn predictions_are_better_than_repeating_the_last_latent() {
    let config =
        InfillingConfig { channels: 16, prediction_rate: 1.0, ..InfillingConfig::default() };
    let model = learn(&config, sizes(2, 1, 16), 250, waves);
    let sequences = waves(2_000_000);
    let mut session = model.session(16);
    let (mut errors, mut repeated) = (Vec::new(), Vec::new());
    for step in 0..16 {
        let [latents, next] = [step, step + 1].map(|i| sequences.index_axis(Axis(1), i));
        session.step(latents, Array2::zeros((16, 1)).view()).unwrap();
        let found = session.predict(0.0, &mut vec![Random::new(0); 16]).unwrap();
        errors.push((&found - &next).mapv(|x| x * x).mean().unwrap());
        repeated.push((&latents - &next).mapv(|x| x * x).mean().unwrap());
    }
    // At the beginning of an episode, too.
    for step in 2..16 {
        assert!(errors[step] < 0.3 * repeated[step], "{step}: {errors:?}, {repeated:?}");
    }
}

/// Each latent is 1 or -1, whatever the others are.
fn coins(seed: u64) -> Array3<f32> {
    let mut random = Random::new(seed);
    Array3::from_shape_simple_fn((32, 9, 1), || if random.below(2) == 0 { 1.0 } else { -1.0 })
}

#[test]
fn with_a_gan_loss_what_is_filled_in_is_near_the_modes_and_without_between_them() {
    let fill = |gan_weight: f64| {
        let config = InfillingConfig {
            channels: 16,
            depth: 1,
            longest_span: 2,
            gan_weight,
            noise_size: 4,
            ..Default::default()
        };
        let model = learn(&config, sizes(1, 1, 8), 400, coins);
        let mut random = Random::new(3);
        let sequences = coins(1_000_000);
        let filled: Vec<f32> = sequences
            .outer_iter()
            .chain(sequences.outer_iter())
            .map(|sequence| fill(&*model, &sequence.to_owned(), 4..5, &mut random)[[0, 0]])
            .collect();
        filled
    };
    let count = |filled: &[f32], is: fn(f32) -> bool| {
        filled.iter().filter(|x| is(**x)).count() as f64 / filled.len() as f64
    };
    let squared = fill(0.0);
    assert!(count(&squared, |x| x.abs() < 0.4) > 0.9, "{squared:?}");
    let gan = fill(10.0);
    assert!(count(&gan, |x| (x.abs() - 1.0).abs() < 0.4) > 0.8, "{gan:?}");
    // Both modes.
    assert!(count(&gan, |x| x > 0.0) > 0.2 && count(&gan, |x| x < 0.0) > 0.2, "{gan:?}");
}

#[test]
fn each_part_of_the_gan_has_its_own_gradients() {
    let config = InfillingConfig {
        channels: 4,
        longest_span: 3,
        gan_weight: 0.5,
        ..InfillingConfig::default()
    };
    let device = Device::flex().autodiff();
    let network = Infilling::init(&config, &sizes(2, 1, 9), &device).unwrap();
    // Parameters are made when first looked at.
    assert_eq!(rl755_nn::first_not_finite(&network), None);
    let losses = || network.losses(&batch_of(&random_array([3, 10, 2], 1), &device));
    let names: Vec<_> = losses().parts.iter().map(|(name, _)| *name).collect();
    let expected = ["latent_loss", "generator_loss", "discriminator_loss", "mode_seeking_loss"];
    assert_eq!(names, expected);
    let discriminator = network.discriminator.as_ref().unwrap();
    for (index, name) in names.into_iter().enumerate() {
        let gradients = losses().parts.swap_remove(index).1.backward();
        let found = [&network.generator, discriminator]
            .map(|part| part.output.weight.val().grad(&gradients).is_some());
        let expected = [name != "discriminator_loss", name == "discriminator_loss"];
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn validation_is_the_error_of_the_next_latent_every_time() {
    let config = InfillingConfig { channels: 4, gan_weight: 1.0, ..Default::default() };
    let sizes = sizes(2, 1, 9);
    let network = Infilling::init(&config, &sizes, &Device::flex()).unwrap();
    let latents = random_array([3, 10, 2], 1);
    let loss = || {
        let losses = network.losses(&batch_of(&latents, &Device::flex()));
        assert!(losses.parts.is_empty());
        losses.total.into_scalar::<f32>()
    };
    assert_eq!(loss(), loss());
    let config = InfillingConfig { gan_weight: 0.0, ..config };
    let network = Infilling::init(&config, &sizes, &Device::flex()).unwrap();
    let found = network.losses(&batch_of(&latents, &Device::flex())).total;
    let model = trained(&network, sizes, false);
    let mut session = model.session(3);
    for step in 0..9 {
        let latents = latents.index_axis(Axis(1), step);
        session.step(latents, Array2::zeros((3, 1)).view()).unwrap();
    }
    let predicted = session.predict(0.0, &mut vec![Random::new(0); 3]).unwrap();
    let error = (predicted - latents.index_axis(Axis(1), 9)).mapv(|x| x * x).mean().unwrap();
    assert!((found.into_scalar::<f32>() - error).abs() < 1e-5);
}

#[test]
fn what_lies_beyond_an_end_does_not_matter() {
    for gan_weight in [0.0, 1.0] {
        let config =
            InfillingConfig { channels: 4, gan_weight, longest_span: 3, ..Default::default() };
        let network = Infilling::init(&config, &sizes(2, 1, 9), &Device::flex()).unwrap();
        let latents = random_array([3, 10, 2], 1);
        let loss = |beyond: f32, action: f32, device: &Device| {
            let mut latents = latents.clone();
            latents.slice_mut(s![1, 9, ..]).fill(beyond);
            let mut actions = random_array([3, 9, 1], 2);
            actions[[1, 8, 0]] = action;
            let mut followed = Array2::ones((3, 9));
            followed[[1, 8]] = 0.0;
            let batch = SequenceBatch {
                actions: tensor(&actions, device),
                followed: Some(tensor(&followed, device)),
                ..batch_of(&latents, device)
            };
            let network = network.clone().fork(&device.clone().without_autodiff());
            let network = if device.is_autodiff() { network.train() } else { network };
            seeded(device, 4, || network.losses(&batch).total.into_scalar::<f32>())
        };
        for device in [Device::flex(), Device::flex().autodiff()] {
            let expected = loss(0.0, 0.0, &device);
            assert!(expected.is_finite());
            assert_eq!(loss(9.0, 0.0, &device), expected);
            assert_eq!(loss(0.0, 5.0, &device), expected);
        }
    }
}

#[test]
fn the_default_model_has_as_many_parameters_as_its_documentation_says() {
    for (gan_weight, expected) in [(0.0, 856_672), (1.0, 1_712_865)] {
        let config = InfillingConfig { gan_weight, ..Default::default() };
        let network = Infilling::init(&config, &sizes(32, 3, 32), &Device::flex()).unwrap();
        assert_eq!(rl755_nn::num_parameters(&network), expected);
    }
}

#[test]
fn bad_settings_are_refused() {
    let check = |change: fn(&mut InfillingConfig), expected: &str| {
        let mut config = InfillingConfig::default();
        change(&mut config);
        let error = Infilling::init(&config, &sizes(5, 2, 9), &Device::flex()).unwrap_err();
        assert_eq!(error.to_string(), format!("config of infilling: {expected}"));
    };
    check(|c| c.channels = 0, "channels is 0; it must be from 1 to 65536");
    check(|c| c.depth = 9, "depth is 9; it must be from 0 to 8");
    check(
        |c| (c.channels, c.depth) = (60_000, 8),
        "channels times 2 to the power of depth is 15360000; it must be from 1 to 65536",
    );
    check(
        |c| c.longest_span = 10,
        "longest_span is 10; it must be from 1 to the sequence length, 9",
    );
    check(|c| c.shortest_span = 0, "shortest_span is 0; it must be from 1 to longest_span, 8");
    check(|c| c.shortest_span = 9, "shortest_span is 9; it must be from 1 to longest_span, 8");
    check(|c| c.mask_rate = 1.0, "mask_rate is 1; it must be above 0 and below 1");
    check(|c| c.mask_rate = f64::NAN, "mask_rate is NaN; it must be above 0 and below 1");
    check(|c| c.prediction_rate = 1.5, "prediction_rate is 1.5; it must be from 0 to 1");
    check(|c| c.gan_weight = -1.0, "gan_weight is -1; it must be a finite number, 0 or more");
    check(|c| c.noise_size = 0, "noise_size is 0; it must be from 1 to 65536");
}

#[test]
fn momentum_is_less_with_a_gan_loss_only() {
    let beta = |gan_weight| {
        Infilling::default_optimizer(&InfillingConfig { gan_weight, ..Default::default() }).beta_1
    };
    assert_eq!([beta(0.0), beta(0.1)], [0.9, 0.5]);
}
