//! Which latents of a training sequence are known, which are to be filled in, and the noise.

use burn::tensor::{Device, Tensor, TensorData};
use rl755_nn::{standard_normal, values};
use rl755_run::Random;

use crate::infilling::InfillingConfig;

/// What the network is told of a batch beside latents and actions.
pub(super) struct Masks {
    /// 1 where the latent is known, `[batch, length, 1]`.
    pub(super) known: Tensor<3>,
    /// 1 where it is to be filled in, `[batch, length, 1]`.
    pub(super) asked: Tensor<3>,
    /// Two draws of standard normal numbers, `[batch, length, noise]` each, where the network takes
    /// some in.
    pub(super) noise: Option<[Tensor<3>; 2]>,
}

impl Masks {
    /// Draws masks and noise for each sequence: of `length` latents, of which as many as `lengths`
    /// says are there. The others are neither known nor asked for.
    ///
    /// In training, which is where the device has gradients, they come from the random stream of
    /// [`rl755_nn::seeded`]. Else they are the same every time, and the last latent is asked for
    /// in each sequence: what validation measures is the prediction of the next latent.
    pub(super) fn draw(
        config: &InfillingConfig,
        lengths: &[usize],
        [length, noise_size]: [usize; 2],
        device: &Device,
    ) -> Self {
        let (training, batch) = (device.is_autodiff(), lengths.len());
        let seeds: Vec<u64> = if training {
            let drawn = values(standard_normal::<2>([batch, 2], &Device::flex()));
            let word = |x: f32| u64::from(x.to_bits());
            drawn.chunks_exact(2).map(|pair| word(pair[0]) << 32 | word(pair[1])).collect()
        } else {
            (0..batch as u64).collect()
        };
        let mut known = vec![0.0f32; batch * length];
        let mut asked = vec![0.0f32; batch * length];
        let mut noise = [Vec::new(), Vec::new()];
        let rows = known.chunks_exact_mut(length).zip(asked.chunks_exact_mut(length));
        for (((known, asked), seed), &there) in rows.zip(seeds).zip(lengths) {
            let mut random = Random::derived(seed, "mask", 0);
            let (known, asked) = (&mut known[..there], &mut asked[..there]);
            if there < 2 {
                // There is nothing that it could follow from.
            } else if !training {
                known[..there - 1].fill(1.0);
                asked[there - 1] = 1.0;
            } else if random.uniform(0.0, 1.0) < config.prediction_rate {
                prediction(&mut random, known, asked);
            } else {
                spans(config, &mut random, known, asked);
            }
            for noise in &mut noise {
                noise.extend((0..length * noise_size).map(|_| random.normal() as f32));
            }
        }
        let tensor = |values: Vec<f32>, size: usize| {
            Tensor::from_data(TensorData::new(values, [batch, length, size]), device)
        };
        let noise = (noise_size > 0).then(|| noise.map(|noise| tensor(noise, noise_size)));
        Self { known: tensor(known, 1), asked: tensor(asked, 1), noise }
    }
}

/// Asks for the last latent. In every other sequence the first steps are hidden: nothing is known
/// of them, nor asked, as at the beginning of an episode.
fn prediction(random: &mut Random, known: &mut [f32], asked: &mut [f32]) {
    let last = known.len() - 1;
    let hidden = if random.below(2) == 0 { 0 } else { random.below(last) };
    known[hidden..last].fill(1.0);
    asked[last] = 1.0;
}

/// Asks for spans until their share of the sequence is reached. One latent at least stays known.
fn spans(config: &InfillingConfig, random: &mut Random, known: &mut [f32], asked: &mut [f32]) {
    let length = known.len();
    let wanted = (config.mask_rate * length as f64).round() as usize;
    let wanted = wanted.clamp(1, length - 1);
    let mut masked = 0;
    while masked < wanted {
        let choices = config.longest_span - config.shortest_span + 1;
        let span = config.shortest_span + random.below(choices);
        let span = span.min(length - 1);
        let begin = random.below(length - span + 1);
        for value in &mut asked[begin..begin + span] {
            if *value == 0.0 && masked + 1 < length {
                *value = 1.0;
                masked += 1;
            }
        }
    }
    for (known, asked) in known.iter_mut().zip(asked) {
        *known = 1.0 - *asked;
    }
}

#[cfg(test)]
mod tests {
    use rl755_nn::seeded;

    use super::*;

    #[test]
    fn every_mask_comes_up() {
        let device = Device::flex().autodiff();
        let config = InfillingConfig { longest_span: 4, ..InfillingConfig::default() };
        let (mut hidden, mut asked) = ([0; 9], [0; 9]);
        for seed in 0..200 {
            let masks = seeded(&device, seed, || Masks::draw(&config, &[9; 16], [9, 0], &device));
            let (known, wanted) = (values(masks.known), values(masks.asked));
            for (known, wanted) in known.chunks_exact(9).zip(wanted.chunks_exact(9)) {
                let begun = (0..9).take_while(|&i| known[i] + wanted[i] == 0.0).count();
                hidden[begun] += 1;
                for (count, wanted) in asked.iter_mut().zip(wanted) {
                    *count += usize::from(*wanted == 1.0);
                }
            }
        }
        // Of 3,200 sequences a quarter has something hidden or nothing by chance, 0 to 7 steps.
        assert!((2_400..2_600).contains(&hidden[0]), "{hidden:?}");
        assert!(hidden[1..8].iter().all(|n| (70..130).contains(n)), "{hidden:?}");
        assert_eq!(hidden[8], 0);
        assert!(asked.iter().all(|n| *n > 200) && asked[8] > 1_600, "{asked:?}");
    }
}
