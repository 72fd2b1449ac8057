//! A trained cell as a [`SequenceModel`], and the sessions that follow episodes with it.

use ndarray::{Array1, Array2, ArrayView2, Axis};
use rayon::prelude::*;
use rl755_run::{Random, SettingError};

use crate::{Gaps, SequenceCell, SequenceError, SequenceModel, SequenceNetwork, Session, Sizes};

/// Rows that one thread takes together: enough to share a pass over the weights.
const CHUNK: usize = 8;

/// A trained sequence model.
struct TrainedModel<C> {
    cell: C,
    sizes: Sizes,
    difference_targets: bool,
}

impl<C: SequenceCell> SequenceModel for TrainedModel<C> {
    fn latent_size(&self) -> usize {
        self.sizes.latent
    }

    fn action_size(&self) -> usize {
        self.sizes.action
    }

    fn hidden_size(&self) -> usize {
        self.cell.hidden_size()
    }

    fn session(&self, batch: usize) -> Box<dyn Session + '_> {
        Box::new(Rows {
            model: self,
            memories: (0..batch).map(|_| self.cell.begin()).collect(),
            hidden: Array2::zeros((batch, self.cell.hidden_size())),
            last: Array2::zeros((batch, self.sizes.latent)),
            begun: vec![false; batch],
        })
    }

    fn fill(
        &self,
        gaps: &Gaps<'_>,
        temperature: f64,
        random: &mut Random,
    ) -> Result<Array2<f32>, SequenceError> {
        check_temperature(temperature)?;
        let steps = gaps.known.len();
        check("latents", gaps.latents.shape(), [steps, self.sizes.latent])?;
        check("actions", gaps.actions.shape(), [steps, self.sizes.action])?;
        self.cell.fill(gaps, temperature, random).ok_or(SequenceError::CannotFill)
    }
}

fn check(what: &'static str, found: &[usize], expected: [usize; 2]) -> Result<(), SequenceError> {
    if found == expected {
        return Ok(());
    }
    Err(SequenceError::Shape { what, found: found.to_vec(), expected: expected.to_vec() })
}

fn check_temperature(temperature: f64) -> Result<(), SettingError> {
    if temperature.is_finite() && temperature >= 0.0 {
        return Ok(());
    }
    Err(SettingError::new("temperature", temperature, "a finite number, 0 or more"))
}

/// Episodes side by side, each with a memory of its own.
struct Rows<'a, C: SequenceCell> {
    model: &'a TrainedModel<C>,
    memories: Vec<C::Memory>,
    hidden: Array2<f32>,
    /// The latents of the last step, `[batch, latent]`.
    last: Array2<f32>,
    /// Which rows have had a step.
    begun: Vec<bool>,
}

impl<C: SequenceCell> Rows<'_, C> {
    fn check_begun(&self) -> Result<(), SequenceError> {
        if self.begun.contains(&false) { Err(SequenceError::NothingSeen) } else { Ok(()) }
    }

    /// Rows in each thread's chunk: with few rows, each thread takes fewer at a time.
    fn chunk(&self) -> usize {
        self.memories.len().div_ceil(rayon::current_num_threads()).clamp(1, CHUNK)
    }
}

impl<C: SequenceCell> Session for Rows<'_, C> {
    fn hidden(&self) -> ArrayView2<'_, f32> {
        self.hidden.view()
    }

    fn step(
        &mut self,
        latents: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
    ) -> Result<(), SequenceError> {
        let batch = self.memories.len();
        check("latents", latents.shape(), [batch, self.model.sizes.latent])?;
        check("actions", actions.shape(), [batch, self.model.sizes.action])?;
        self.last.assign(&latents);
        self.begun.fill(true);
        let (cell, chunk) = (&self.model.cell, self.chunk());
        if self.memories.len() <= chunk {
            cell.step(&mut self.memories, latents, actions, self.hidden.view_mut());
            return Ok(());
        }
        (
            self.memories.par_chunks_mut(chunk),
            latents.axis_chunks_iter(Axis(0), chunk).into_par_iter(),
            actions.axis_chunks_iter(Axis(0), chunk).into_par_iter(),
            self.hidden.axis_chunks_iter_mut(Axis(0), chunk).into_par_iter(),
        )
            .into_par_iter()
            .for_each(|(memories, latents, actions, hidden)| {
                cell.step(memories, latents, actions, hidden);
            });
        Ok(())
    }

    fn predict(
        &mut self,
        temperature: f64,
        randoms: &mut [Random],
    ) -> Result<Array2<f32>, SequenceError> {
        let batch = self.memories.len();
        if randoms.len() != batch {
            return Err(SequenceError::Shape {
                what: "randoms",
                found: vec![randoms.len()],
                expected: vec![batch],
            });
        }
        check_temperature(temperature)?;
        self.check_begun()?;
        let (cell, chunk) = (&self.model.cell, self.chunk());
        let mut targets = Array2::zeros((batch, self.model.sizes.latent));
        (
            self.memories.par_chunks(chunk),
            randoms.par_chunks_mut(chunk),
            targets.axis_chunks_iter_mut(Axis(0), chunk).into_par_iter(),
        )
            .into_par_iter()
            .for_each(|(memories, randoms, targets)| {
                cell.predict(memories, temperature, randoms, targets);
            });
        if self.model.difference_targets {
            targets += &self.last;
        }
        Ok(targets)
    }

    fn predicted_rewards(&self) -> Result<Option<Array1<f32>>, SequenceError> {
        self.check_begun()?;
        Ok(self.model.cell.predict_rewards(&self.memories).map(Array1::from))
    }

    fn predicted_dones(&self) -> Result<Option<Array1<f32>>, SequenceError> {
        self.check_begun()?;
        Ok(self.model.cell.predict_dones(&self.memories).map(Array1::from))
    }

    fn reset_row(&mut self, row: usize) {
        self.memories[row] = self.model.cell.begin();
        self.hidden.row_mut(row).fill(0.0);
        self.begun[row] = false;
    }

    fn select(&mut self, rows: &[usize]) {
        self.memories = rows.iter().map(|&row| self.memories[row].clone()).collect();
        self.hidden = self.hidden.select(Axis(0), rows);
        self.last = self.last.select(Axis(0), rows);
        self.begun = rows.iter().map(|&row| self.begun[row]).collect();
    }
}

/// `network`, without gradients, as a [`SequenceModel`]; it was trained with those `sizes` and
/// `difference_targets`.
pub fn trained<N: SequenceNetwork>(
    network: &N,
    sizes: Sizes,
    difference_targets: bool,
) -> Box<dyn SequenceModel> {
    Box::new(TrainedModel { cell: network.cell(), sizes, difference_targets })
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;
    use ndarray::{Array3, s};

    use super::*;
    use crate::{
        Infilling, InfillingConfig, LstmConfig, LstmNetwork, MdnRnn, MdnRnnConfig, NullConfig,
        NullNetwork, Retrieval, RetrievalConfig, Transformer, TransformerConfig,
        values::random_array,
    };

    const SIZES: Sizes = Sizes { latent: 5, action: 2, sequence_length: 4 };

    /// Small models of each kind.
    fn models() -> Vec<Box<dyn SequenceModel>> {
        let device = Device::flex();
        let transformer = TransformerConfig {
            layers: 2,
            hidden_size: 36,
            heads: 2,
            feed_forward_size: 40,
            context_slide: 2,
            ..TransformerConfig::default()
        };
        let mixed = TransformerConfig { mixtures: 2, ..transformer.clone() };
        let mdn_rnn = MdnRnnConfig { hidden_size: 37, mixtures: 3, ..MdnRnnConfig::default() };
        let lstm = LstmConfig { hidden_size: 20, ..LstmConfig::default() };
        let retrieval = RetrievalConfig {
            context: 2,
            window: 2,
            stride: 1,
            top_k: 2,
            key_size: 3,
            most_windows: 4,
            transformer: TransformerConfig { context_slide: 1, ..transformer.clone() },
        };
        let infilling = InfillingConfig {
            channels: 6,
            longest_span: 2,
            gan_weight: 0.1,
            noise_size: 2,
            ..InfillingConfig::default()
        };
        vec![
            trained(&Transformer::init(&transformer, &SIZES, &device).unwrap(), SIZES, false),
            trained(&Transformer::init(&mixed, &SIZES, &device).unwrap(), SIZES, true),
            trained(&LstmNetwork::init(&lstm, &SIZES, &device).unwrap(), SIZES, false),
            trained(&Retrieval::init(&retrieval, &SIZES, &device).unwrap(), SIZES, false),
            trained(&Infilling::init(&infilling, &SIZES, &device).unwrap(), SIZES, false),
            trained(&MdnRnn::init(&mdn_rnn, &SIZES, &device).unwrap(), SIZES, true),
            trained(&NullNetwork::init(&NullConfig {}, &SIZES, &device).unwrap(), SIZES, true),
        ]
    }

    fn randoms(rows: &[usize]) -> Vec<Random> {
        rows.iter().map(|&row| Random::new(row as u64)).collect()
    }

    /// Takes `rows` of `inputs`, `[episodes, steps, latent + action]`, through a session: the bits
    /// of hidden state and prediction after each step, `[steps, rows, hidden + latent]`.
    fn follow(model: &dyn SequenceModel, inputs: &Array3<f32>, rows: &[usize]) -> Array3<u32> {
        let inputs = inputs.select(Axis(0), rows);
        let (steps, hidden) = (inputs.len_of(Axis(1)), model.hidden_size());
        let mut bits = Array3::zeros((steps, rows.len(), hidden + SIZES.latent));
        let mut session = model.session(rows.len());
        let mut randoms = randoms(rows);
        for (step, mut bits) in bits.outer_iter_mut().enumerate() {
            let input = inputs.index_axis(Axis(1), step);
            let (latents, actions) = input.split_at(Axis(1), SIZES.latent);
            session.step(latents, actions).unwrap();
            let predicted = session.predict(0.8, &mut randoms).unwrap();
            bits.slice_mut(s![.., ..hidden]).assign(&session.hidden().mapv(f32::to_bits));
            bits.slice_mut(s![.., hidden..]).assign(&predicted.mapv(f32::to_bits));
        }
        bits
    }

    #[test]
    fn a_row_s_bits_depend_on_nothing_else() {
        let inputs = random_array([40, 11, 7], 1);
        for model in models() {
            let all: Vec<usize> = (0..40).collect();
            let expected = follow(&*model, &inputs, &all);
            for threads in [1, 2, 3, 7] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                for rows in [&all[..], &[17], &[39, 0, 17], &[5, 6, 7, 8, 9, 10, 11, 12, 13]] {
                    let found = pool.install(|| follow(&*model, &inputs, rows));
                    assert!(found == expected.select(Axis(1), rows), "{threads}: {rows:?}");
                }
            }
        }
    }

    #[test]
    fn rows_can_be_dropped_and_begun_anew() {
        let inputs = random_array([5, 9, 7], 2);
        for model in models() {
            let whole = follow(&*model, &inputs, &[0, 1, 2, 3, 4]);
            let late = follow(&*model, &inputs.slice(s![.., 3.., ..]).to_owned(), &[0, 1, 2, 3, 4]);
            let mut session = model.session(5);
            let mut rows = vec![0, 1, 2, 3, 4];
            for step in 0..9 {
                if step == 3 {
                    session.reset_row(2);
                    assert!(session.hidden().row(2).iter().all(|h| *h == 0.0));
                    rows = vec![4, 2, 0];
                    session.select(&rows);
                }
                let input = inputs.index_axis(Axis(1), step).select(Axis(0), &rows);
                let (latents, actions) = input.view().split_at(Axis(1), SIZES.latent);
                session.step(latents, actions).unwrap();
                for (hidden, &row) in session.hidden().rows().into_iter().zip(&rows) {
                    let begun_anew = row == 2 && step >= 3;
                    let expected = if begun_anew {
                        late.slice(s![step - 3, row, ..hidden.len()])
                    } else {
                        whole.slice(s![step, row, ..hidden.len()])
                    };
                    assert_eq!(hidden.mapv(f32::to_bits), expected, "row {row}, step {step}");
                }
            }
        }
    }

    #[test]
    fn difference_targets_are_added_to_the_last_latent() {
        let device = Device::flex();
        let network = NullNetwork::init(&NullConfig {}, &SIZES, &device).unwrap();
        let model = trained(&network, SIZES, true);
        let mut session = model.session(2);
        let latents = Array2::from_shape_fn((2, 5), |(row, i)| (10 * row + i) as f32);
        session.step(latents.view(), Array2::zeros((2, 2)).view()).unwrap();
        assert_eq!(session.predict(1.0, &mut randoms(&[0, 1])).unwrap(), latents);
    }

    #[test]
    fn wrong_shapes_and_calls_are_refused() {
        for model in models() {
            let mut session = model.session(2);
            let (latents, actions) = (Array2::zeros((2, 5)), Array2::zeros((2, 2)));
            let error = session.predict(1.0, &mut randoms(&[0, 1])).unwrap_err();
            assert!(matches!(error, SequenceError::NothingSeen));
            let error = session.step(latents.view(), latents.view()).unwrap_err().to_string();
            assert_eq!(error, "actions has shape [2, 5], the model needs [2, 2]");
            session.step(latents.view(), actions.view()).unwrap();
            let error = session.predict(1.0, &mut randoms(&[0])).unwrap_err().to_string();
            assert_eq!(error, "randoms has shape [1], the model needs [2]");
            for temperature in [-1.0, f64::NAN, f64::INFINITY] {
                let result = session.predict(temperature, &mut randoms(&[0, 1]));
                let expected = "it must be a finite number, 0 or more";
                let expected = format!("temperature is {temperature}; {expected}");
                assert_eq!(result.unwrap_err().to_string(), expected);
            }
        }
    }
}
