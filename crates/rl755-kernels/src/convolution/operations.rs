//! Convolutions and transposed convolutions with their gradients, as [operations](Operation).

use super::{
    Activation,
    backward::{Backward, Wants},
    geometry::Geometry,
    passes::Passes,
};
use crate::{Operation, View};

/// One of the two layers. Inputs: frames or numbers at each place, weights, bias.
#[derive(Debug)]
pub(crate) struct Layer {
    pub(crate) kind: Kind,
    pub(crate) geometry: Geometry,
    /// Without one, the third input is there and has no meaning.
    pub(crate) has_bias: bool,
    pub(crate) activation: Activation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// From frames to the places on them.
    Convolution,
    /// From places to frames.
    Transposed,
}

impl Layer {
    fn passes(&self, x: View<'_>, weight: View<'_>) -> Passes {
        let Self { geometry, activation, .. } = *self;
        Passes { geometry, batch: x.shape[0], n: weight.shape[0], activation }
    }
}

impl Operation<3> for Layer {
    type Saved = ();

    fn forward(&self, [x, weight, bias]: [View<'_>; 3]) -> (Vec<usize>, Vec<f32>, ()) {
        let passes = self.passes(x, weight);
        let bias = self.has_bias.then_some(bias.values);
        let Geometry { grid, frame, .. } = self.geometry;
        let (size, values) = match self.kind {
            Kind::Convolution => {
                ([grid[0], grid[1], passes.n], passes.convolve(x.values, weight.values, bias))
            }
            Kind::Transposed => (frame, passes.transpose(x.values, weight.values, bias)),
        };
        ([&[passes.batch], size.as_slice()].concat(), values, ())
    }

    fn uses_output(&self) -> bool {
        self.activation == Activation::Relu
    }

    fn backward(
        &self,
        [x, weight, bias]: [View<'_>; 3],
        output: View<'_>,
        (): &(),
        gradient: View<'_>,
        wanted: [bool; 3],
    ) -> [Option<Vec<f32>>; 3] {
        let passes = self.passes(x, weight);
        let given = Backward {
            input: x.values,
            weight: weight.values,
            output: output.values,
            gradient: gradient.values,
            wants: Wants { input: wanted[0], weight: wanted[1], bias: wanted[2] && self.has_bias },
        };
        let [of_input, of_weight, of_bias] = match self.kind {
            Kind::Convolution => passes.convolve_back(given),
            Kind::Transposed => passes.transpose_back(given),
        };
        let none = || wanted[2].then(|| vec![0.0; bias.values.len()]);
        [of_input, of_weight, of_bias.or_else(none)]
    }
}
