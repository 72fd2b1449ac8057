//! A trained model as an [`ObservationEncoder`].

use std::collections::BTreeMap;

use burn::tensor::{Device, Tensor, TensorData};
use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;
use rl755_env::{ObservationBuffer, ObservationRef, Space};
use rl755_nn::values;

use crate::{
    CpuEncoder, EncoderError, EncoderModel, ObservationEncoder, Representation,
    input_form::InputForm,
};

/// Frames that one thread encodes together, on the CPU.
const CPU_CHUNK: usize = 8;

/// Observations that an accelerator encodes together, always exactly that many.
const DEVICE_CHUNK: usize = 64;

/// A model with trained weights.
///
/// The result for an observation does not depend on its batch. Matrix products of different sizes
/// round differently, so a batch is encoded in chunks of a fixed size: one observation at a time
/// on the CPU (over all threads), 64 with padding elsewhere. Models with a [`CpuEncoder`] use it
/// on the CPU.
pub(crate) struct TrainedEncoder<M> {
    model: M,
    form: InputForm,
    device: Device,
    cpu: Option<Box<dyn CpuEncoder>>,
}

/// The results of one chunk.
type Chunk = (Vec<f32>, Option<Vec<f32>>, BTreeMap<String, (Vec<f32>, usize)>);

impl<M: EncoderModel> TrainedEncoder<M> {
    /// `model`, without gradients, whose input form is `form`.
    pub(crate) fn new(model: M, form: InputForm, device: &Device) -> Self {
        // Encoders without tensors give no extras.
        let cpu = is_flex(device) && model.extras().is_empty();
        let cpu = if cpu { model.on_cpu() } else { None };
        Self { model, form, device: device.clone(), cpu }
    }

    /// Calls `work` with each chunk of `rows`, as a tensor `[chunk, width]`, and the number of
    /// its rows that count.
    fn chunks<T: Send>(
        &self,
        rows: &[f32],
        width: usize,
        work: impl Fn(Tensor<2>, usize) -> T + Sync,
    ) -> Vec<T> {
        let tensor = |rows: Vec<f32>| {
            let count = rows.len() / width;
            Tensor::from_data(TensorData::new(rows, [count, width]), &self.device)
        };
        if is_flex(&self.device) {
            return rows.par_chunks(width).map(|row| work(tensor(row.to_vec()), 1)).collect();
        }
        let chunk = |rows: &[f32]| {
            let mut padded = rows.to_vec();
            padded.resize(DEVICE_CHUNK * width, 0.0);
            work(tensor(padded), rows.len() / width)
        };
        rows.chunks(DEVICE_CHUNK * width).map(chunk).collect()
    }

    fn represent(&self, rows: &[f32]) -> Result<Representation, EncoderError> {
        let chunks = self.chunks(rows, self.form.input().width(), |rows, count| -> Chunk {
            let latents = self.model.represent(rows);
            let extras = latents.extras.into_iter().map(|(name, values)| {
                let width = values.dims()[1];
                (name, (values_of(values, count), width))
            });
            let std_dev = latents.std_dev.map(|values| values_of(values, count));
            (values_of(latents.mean, count), std_dev, extras.collect())
        });
        let count = rows.len() / self.form.input().width().max(1);
        let array = |values: Vec<f32>, width: usize| {
            Array2::from_shape_vec((count, width), values).expect("one row per observation")
        };
        let mut means = Vec::new();
        let mut std_devs: Option<Vec<f32>> = None;
        let mut extras: BTreeMap<String, (Vec<f32>, usize)> = BTreeMap::new();
        for (mean, std_dev, more) in chunks {
            means.extend(mean);
            if let Some(std_dev) = std_dev {
                std_devs.get_or_insert_default().extend(std_dev);
            }
            for (name, (values, width)) in more {
                extras.entry(name).or_insert_with(|| (Vec::new(), width)).0.extend(values);
            }
        }
        let latent = self.model.latent_size();
        let expected = self.model.extras();
        if count == 0 {
            extras = expected.iter().map(|(name, &n)| (name.clone(), (Vec::new(), n))).collect();
        }
        let found: BTreeMap<_, _> =
            extras.iter().map(|(name, (_, width))| (name.clone(), *width)).collect();
        if found != expected {
            return Err(EncoderError::Extras { encoder: M::NAME.to_owned(), found, expected });
        }
        Ok(Representation {
            mean: array(means, latent),
            std_dev: std_devs.map(|values| array(values, latent)),
            extras: extras
                .into_iter()
                .map(|(name, (values, width))| (name, array(values, width)))
                .collect(),
        })
    }

    fn represent_on_cpu(
        &self,
        encoder: &dyn CpuEncoder,
        observations: ObservationRef<'_>,
        count: usize,
    ) -> Representation {
        let latent = self.model.latent_size();
        let (from, to) = (self.form.space().width(), self.form.input().width());
        let mut mean = Array2::zeros((count, latent));
        let mut std_dev = encoder.is_stochastic().then(|| Array2::zeros((count, latent)));
        // With few frames, each thread takes fewer at a time.
        let chunk = count.div_ceil(rayon::current_num_threads()).clamp(1, CPU_CHUNK);
        let means = mean.as_slice_mut().expect("made just now").par_chunks_mut(chunk * latent);
        let encode = |index: usize, mean: &mut [f32], std_dev: Option<&mut [f32]>| {
            let rows = mean.len() / latent;
            let range = index * chunk * from..(index * chunk + rows) * from;
            let observations = match observations {
                ObservationRef::U8(values) => ObservationRef::U8(&values[range]),
                ObservationRef::F32(values) => ObservationRef::F32(&values[range]),
            };
            let mut input = vec![0.0; rows * to];
            self.form.fill(observations, &mut input);
            encoder.encode(&input, mean, std_dev);
        };
        match &mut std_dev {
            None => means.enumerate().for_each(|(index, mean)| encode(index, mean, None)),
            Some(std_dev) => {
                let std_devs = std_dev.as_slice_mut().expect("made just now");
                means
                    .zip(std_devs.par_chunks_mut(chunk * latent))
                    .enumerate()
                    .for_each(|(index, (mean, std_dev))| encode(index, mean, Some(std_dev)));
            }
        }
        Representation { mean, std_dev, extras: BTreeMap::new() }
    }
}

impl<M: EncoderModel> ObservationEncoder for TrainedEncoder<M> {
    fn latent_size(&self) -> usize {
        self.model.latent_size()
    }

    fn extras(&self) -> BTreeMap<String, usize> {
        self.model.extras()
    }

    fn observation_space(&self) -> &Space {
        self.form.space()
    }

    fn encode(&self, observations: ObservationRef<'_>) -> Result<Representation, EncoderError> {
        let count = self.form.count(observations)?;
        match &self.cpu {
            Some(encoder) => Ok(self.represent_on_cpu(&**encoder, observations, count)),
            None => self.represent(&self.form.rows(observations)),
        }
    }

    fn decode(
        &self,
        latents: ArrayView2<'_, f32>,
    ) -> Result<Option<ObservationBuffer>, EncoderError> {
        let latent = self.model.latent_size();
        if latents.ncols() != latent {
            return Err(EncoderError::Batch {
                found: format!("latents of {} numbers", latents.ncols()),
                expected: format!("latents of {latent}"),
            });
        }
        let rows: Vec<f32> = latents.iter().copied().collect();
        let chunks = self.chunks(&rows, latent, |rows, count| {
            self.model.reconstruct(rows).map(|values| values_of(values, count))
        });
        let rows: Option<Vec<Vec<f32>>> = chunks.into_iter().collect();
        Ok(rows.map(|rows| self.form.restore(&rows.concat())))
    }
}

/// Whether `device` is the CPU device that needs nothing but this program.
fn is_flex(device: &Device) -> bool {
    *device == Device::flex()
}

/// The first `count` rows of `tensor`, one after another.
pub(crate) fn values_of(tensor: Tensor<2>, count: usize) -> Vec<f32> {
    let width = tensor.dims()[1];
    let mut values = values(tensor);
    values.truncate(count.saturating_mul(width));
    values
}
