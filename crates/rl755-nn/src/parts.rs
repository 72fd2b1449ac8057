//! A batch in parts, each on a device of its own.

use std::{ops::Range, thread};

use burn::{
    module::Module,
    tensor::{DType, Device},
};

use crate::{
    Losses, first_not_finite, gradients::Gradients, precision::Precision, watch::watched,
    with_examples,
};

/// What is the same for all parts.
#[derive(Clone, Copy)]
pub(crate) struct Batch<'a> {
    pub(crate) seed: u64,
    pub(crate) examples: usize,
    pub(crate) precision: Precision,
    /// What the loss is multiplied by in half precision, in which gradients may then overflow.
    pub(crate) scale: Option<f64>,
    pub(crate) check_numerics: bool,
    /// Where the gradients go, without gradients of its own.
    pub(crate) home: &'a Device,
}

/// What came of a batch, or of a part of it: the share of its examples times the mean over them.
pub(crate) struct Computed {
    pub(crate) metrics: Vec<(String, f64)>,
    pub(crate) gradients: Gradients,
}

impl Batch<'_> {
    /// The losses and gradients of the whole batch. Each of `devices` takes an equal part of the
    /// examples (with one more for some, where they do not divide), on a thread of its own; the
    /// sum is taken in the order of the devices.
    ///
    /// # Errors
    /// The name of the first tensor that is not finite.
    pub(crate) fn compute<M: Module>(
        self,
        model: &M,
        devices: &[Device],
        loss: &(impl Fn(&M, &Device, Range<usize>) -> Losses + Sync),
    ) -> Result<Computed, String> {
        if let [device] = devices {
            return self.part(model, device, 0..self.examples, loss);
        }
        let found: Vec<Result<Computed, String>> = thread::scope(|scope| {
            let parts = split(self.examples, devices.len()).zip(devices).enumerate();
            let busy = parts.filter(|(_, (examples, _))| !examples.is_empty());
            let threads: Vec<_> = busy
                .map(|(index, (examples, device))| {
                    // A graph of its own for each.
                    let replica = model.clone().fork(&device.clone().without_autodiff());
                    scope.spawn(move || {
                        let of = format!("replica {index}, examples {examples:?}");
                        let mut computed = self.part(&replica, device, examples, loss);
                        if self.scale.is_none() {
                            computed = computed.and_then(Computed::checked);
                        }
                        computed.map_err(|tensor| format!("{tensor} ({of})"))
                    })
                })
                .collect();
            let join = |thread: thread::ScopedJoinHandle<'_, _>| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            threads.into_iter().map(join).collect()
        });
        let mut whole: Option<Computed> = None;
        for part in found {
            let part = part?;
            match &mut whole {
                None => whole = Some(part),
                Some(whole) => whole.add(part),
            }
        }
        whole.ok_or_else(|| "a batch without examples".to_owned())
    }

    fn part<M: Module>(
        self,
        model: &M,
        device: &Device,
        examples: Range<usize>,
        loss: &impl Fn(&M, &Device, Range<usize>) -> Losses,
    ) -> Result<Computed, String> {
        let weight = examples.len() as f64 / self.examples.max(1) as f64;
        with_examples(self.seed, examples.clone(), || {
            let computed = self.precision.cast(model.clone());
            let (losses, bad) = watched(self.check_numerics, || loss(&computed, device, examples));
            if let Some(tensor) = bad {
                return Err(tensor);
            }
            let mut metrics = losses.metrics();
            if let Some((name, _)) = metrics.iter().find(|(_, value)| !value.is_finite()) {
                return Err(first_not_finite(model).unwrap_or_else(|| name.clone()));
            }
            metrics.iter_mut().for_each(|(_, value)| *value *= weight);
            let mut total = losses.total;
            if self.precision != Precision::F32 {
                total = total.cast(DType::F32);
            }
            let factor = weight * self.scale.unwrap_or(1.0);
            if factor != 1.0 {
                total = total * factor;
            }
            let gradients = Gradients::of(model, total.backward(), self.home);
            Ok(Computed { metrics, gradients })
        })
    }
}

impl Computed {
    /// Itself, if its gradients are finite.
    fn checked(self) -> Result<Self, String> {
        match self.gradients.norm() {
            Ok(_) => Ok(self),
            Err(path) => Err(format!("the gradient of {path}")),
        }
    }

    fn add(&mut self, other: Self) {
        assert_eq!(self.metrics.len(), other.metrics.len(), "a loss has the same parts everywhere");
        for ((_, sum), (_, value)) in self.metrics.iter_mut().zip(other.metrics) {
            *sum += value;
        }
        self.gradients.add(other.gradients);
    }
}

/// `examples` in `parts` ranges whose lengths differ by at most one.
fn split(examples: usize, parts: usize) -> impl Iterator<Item = Range<usize>> {
    let border = move |part: usize| (examples as u128 * part as u128 / parts as u128) as usize;
    (0..parts).map(move |part| border(part)..border(part + 1))
}

#[cfg(test)]
mod tests {
    use burn::{
        nn::{Linear, LinearConfig},
        tensor::{Tensor, TensorData},
    };

    use super::*;
    use crate::{dropout_mask, seeded, standard_normal};

    #[test]
    fn parts_are_as_even_as_possible() {
        assert_eq!(split(7, 3).collect::<Vec<_>>(), [0..2, 2..4, 4..7]);
        assert_eq!(split(1, 3).collect::<Vec<_>>(), [0..0, 0..0, 0..1]);
        assert_eq!(split(8, 2).collect::<Vec<_>>(), [0..4, 4..8]);
    }

    /// A loss with noise and dropout, of 11 examples that differ.
    fn loss(linear: &Linear, device: &Device, part: Range<usize>) -> Losses {
        let values: Vec<f32> =
            part.clone().flat_map(|i| (0..6).map(move |j| (i * j) as f32)).collect();
        let x = Tensor::<2>::from_data(TensorData::new(values, [part.len(), 6]), device) * 0.05;
        let mask = TensorData::new(dropout_mask(&x.shape(), 0.4), x.dims());
        let y = linear.forward(x * Tensor::from_data(mask, device));
        let y = y.clone() + standard_normal::<2>(y.shape(), device);
        let total = y.clone().square().sum_dim(1).mean();
        Losses { total, parts: vec![("mean", y.mean())] }
    }

    fn compute(
        replicas: usize,
        examples: usize,
        loss: impl Fn(&Linear, &Device, Range<usize>) -> Losses + Sync,
    ) -> Result<Computed, String> {
        let device = Device::flex().autodiff();
        let linear: Linear = seeded(&device, 1, || {
            let linear = LinearConfig::new(6, 5).init(&device);
            first_not_finite(&linear);
            linear
        });
        let batch = Batch {
            seed: 3,
            examples,
            precision: Precision::F32,
            scale: None,
            check_numerics: false,
            home: &Device::flex(),
        };
        batch.compute(&linear, &vec![device; replicas], &loss)
    }

    #[test]
    fn gradients_are_those_of_one_device() {
        for examples in [11, 12, 1] {
            let whole = compute(1, examples, loss).unwrap();
            for replicas in [2, 3, 20] {
                let parts = compute(replicas, examples, loss).unwrap();
                assert_eq!([parts.metrics.len(), parts.gradients.0.len()], [2, 2]);
                for (whole, parts) in whole.metrics.iter().zip(&parts.metrics) {
                    assert!((whole.1 - parts.1).abs() <= 1e-5 * whole.1.abs());
                }
                let gradients = whole.gradients.0.iter().zip(&parts.gradients.0);
                for ((path, whole), (_, parts)) in gradients {
                    let (whole, parts) = (whole.values(), parts.values());
                    let size = whole.iter().fold(0.0f32, |most, v| most.max(v.abs()));
                    for (a, b) in whole.iter().zip(parts) {
                        assert!((a - b).abs() <= 1e-5 * size, "{path}, {replicas}: {a} {b}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_bad_number_of_a_part_is_named() {
        let bad = |in_loss: bool| {
            move |linear: &Linear, device: &Device, part: Range<usize>| {
                let mut losses = loss(linear, device, part.clone());
                if part.contains(&10) {
                    let zero = linear.weight.val().sum() * 0.0;
                    losses.total = losses.total + if in_loss { zero.log() } else { zero.sqrt() };
                }
                losses
            }
        };
        let error = |in_loss| compute(2, 11, bad(in_loss)).err().unwrap();
        assert_eq!(error(true), "loss (replica 1, examples 5..11)");
        assert_eq!(error(false), "the gradient of weight (replica 1, examples 5..11)");
    }
}
