//! Mixed precision: computing in 16 bits with weights of 32 (Micikevicius et al. 2018).

use burn::{
    module::{Module, ModuleMapper, Param},
    tensor::{DType, Device, DeviceConfig, FloatDType, Tensor},
};
use serde::{Deserialize, Serialize};

/// What a training computes its forward and backward passes in. Weights, their gradients and the
/// optimiser are always of 32 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32-bit floats.
    #[default]
    F32,
    /// bfloat16: the range of 32 bits, 8 bits of precision.
    Bf16,
    /// IEEE half precision: 11 bits of precision, a small range. The loss is scaled up so that small
    /// gradients are not lost.
    F16,
}

impl Precision {
    /// Lets tensors that `device` makes be of this precision, for the whole process. Must come
    /// before any other use of the device; not needed for 32 bits.
    ///
    /// # Errors
    /// When the device does not know it or was used before; says so.
    pub fn configure(self, device: &Device) -> Result<(), String> {
        let float = match self {
            Self::F32 => return Ok(()),
            Self::Bf16 => FloatDType::BF16,
            Self::F16 => FloatDType::F16,
        };
        let config = DeviceConfig::default().float_dtype(float);
        device.clone().configure(config).map_err(|error| error.to_string())
    }

    /// Its name among burn's types.
    pub fn dtype(self) -> DType {
        match self {
            Self::F32 => DType::F32,
            Self::Bf16 => DType::BF16,
            Self::F16 => DType::F16,
        }
    }

    /// `model` with its weights in this precision, in the same graph: gradients reach the weights
    /// of 32 bits.
    pub(crate) fn cast<M: Module>(self, model: M) -> M {
        if self == Self::F32 { model } else { model.map(&mut Cast(self.dtype())) }
    }
}

struct Cast(DType);

impl ModuleMapper for Cast {
    fn map_float<const D: usize>(&mut self, parameter: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let (id, value, mapper) = parameter.consume();
        Param::from_mapped_value(id, value.cast(self.0), mapper)
    }
}

/// `tensor` in 32 bits, for what 16 are too few: sums over many numbers, logarithms, exponentials. A
/// tensor of 32 bits stays as it is.
pub fn full_precision<const D: usize>(tensor: Tensor<D>) -> Tensor<D> {
    if tensor.dtype() == DType::F32 { tensor } else { tensor.cast(DType::F32) }
}

/// What the loss is multiplied by, so that small gradients are numbers of 16 bits. Falls by half when
/// they are too large, and the step is then left out; doubles after many good steps, as PyTorch's
/// `GradScaler`, but never beyond its first value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LossScale {
    pub(crate) scale: f64,
    /// Good steps since it changed.
    pub(crate) good: u64,
}

/// Good steps until the scale doubles.
const PATIENCE: u64 = 2000;

impl LossScale {
    pub(crate) fn new() -> Self {
        Self { scale: 32_768.0, good: 0 }
    }

    pub(crate) fn good_step(&mut self) {
        self.good += 1;
        if self.good == PATIENCE {
            *self = Self { scale: (self.scale * 2.0).min(32_768.0), good: 0 };
        }
    }

    /// Says whether there is hope for the next step.
    pub(crate) fn bad_step(&mut self) -> bool {
        *self = Self { scale: self.scale / 2.0, good: 0 };
        self.scale >= 2f64.powi(-10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_falls_at_once_and_rises_slowly() {
        let mut scale = LossScale::new();
        assert!(scale.bad_step() && scale.bad_step());
        assert_eq!(scale, LossScale { scale: 8192.0, good: 0 });
        for _ in 0..PATIENCE {
            scale.good_step();
        }
        assert_eq!(scale, LossScale { scale: 16_384.0, good: 0 });
        // From 2^14 to 2^-10, and the next one is too small.
        assert_eq!((0..40).take_while(|_| scale.bad_step()).count(), 24);
    }
}
