//! The [`Operation`] trait: plain arithmetic with its derivative, as part of burn's graph.

use std::{fmt::Debug, sync::Arc};

use burn::{
    backend::{
        Autodiff, Backend, BackendTensor, DispatchKindConversion, Flex,
        autodiff::{
            checkpoint::{base::Checkpointer, strategy::NoCheckpointing},
            grads::Gradients,
            ops::{Backward, Ops, OpsKind},
        },
        flex::{FlexTensor, Layout},
    },
    tensor::{Bytes, DType, Device, DispatchTensor, Shape, Tensor},
};

/// The autodiff backend that devices have unless checkpointing is asked for.
type Tracking = Autodiff<Flex, NoCheckpointing>;

/// Numbers and their shape, row-major.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Numbers along each dimension.
    pub shape: &'a [usize],
    /// The numbers.
    pub values: &'a [f32],
}

/// A differentiable operation on the CPU: one output from `N` inputs.
///
/// Results must not depend on the number of threads.
pub trait Operation<const N: usize>: Debug + Send + Sync + 'static {
    /// What the backward pass needs beside inputs and output.
    type Saved: Debug + Send + Sync + 'static;

    /// The output's shape and numbers, and what to save.
    fn forward(&self, inputs: [View<'_>; N]) -> (Vec<usize>, Vec<f32>, Self::Saved);

    /// Whether [`backward`](Self::backward) looks at the output, which is then kept until it runs.
    /// Where it does not, it is given one without numbers. Default true.
    fn uses_output(&self) -> bool {
        true
    }

    /// The gradient of each input that is `wanted`, in the input's shape, from that of the output.
    /// Those of others are ignored.
    fn backward(
        &self,
        inputs: [View<'_>; N],
        output: View<'_>,
        saved: &Self::Saved,
        gradient: View<'_>,
        wanted: [bool; N],
    ) -> [Option<Vec<f32>>; N];
}

/// Whether `tensor` is one that [`apply`] takes: 32-bit floats on the device `flex`.
pub fn runs_here<const D: usize>(tensor: &Tensor<D>) -> bool {
    let device = tensor.device();
    let plain = device
        .gradient_checkpointing_strategy()
        .is_none_or(|strategy| strategy == burn::tensor::GradientCheckpointingStrategy::Disabled);
    plain && device.without_autodiff() == Device::flex() && tensor.dtype() == DType::F32
}

/// Applies `operation` to tensors (each turned into one without a rank by
/// [`Tensor::into_dispatch`]), which all [run here](runs_here) and are all on the same device, with
/// gradients or without.
///
/// # Panics
/// When a tensor is elsewhere, some are on a device with gradients and some on one without, or the
/// output has another rank than `D`.
pub fn apply<const N: usize, const D: usize, O: Operation<N>>(
    operation: O,
    inputs: [DispatchTensor; N],
) -> Tensor<D> {
    let tracked = inputs
        .each_ref()
        .map(|input| Tensor::<1>::from_dispatch(input.clone()).device().is_autodiff());
    assert!(
        tracked.iter().all(|&other| other == tracked[0]),
        "a kernel was given tensors with gradients and without: {tracked:?}"
    );
    let output = if tracked[0] {
        into_dispatch::<Tracking>(track(operation, inputs.map(from_dispatch::<Tracking>)))
    } else {
        into_dispatch::<Flex>(run(&operation, &inputs.map(from_dispatch::<Flex>).map(contiguous)).0)
    };
    let output = Tensor::from_dispatch(output);
    assert_eq!(output.shape().num_dims(), D, "the rank of an operation's output");
    output
}

fn from_dispatch<B: Backend>(tensor: DispatchTensor) -> B::FloatTensorPrimitive
where
    DispatchTensor: DispatchKindConversion<B>,
{
    match DispatchTensor::try_into_backend(tensor) {
        Ok(BackendTensor::Float(tensor)) => tensor,
        Ok(other) => panic!("a kernel was given a tensor of the kind {}", other.name()),
        Err(reason) => panic!("a kernel was given a tensor of another device: {reason}"),
    }
}

fn into_dispatch<B: Backend>(tensor: B::FloatTensorPrimitive) -> DispatchTensor
where
    DispatchTensor: DispatchKindConversion<B>,
{
    DispatchTensor::from_backend(BackendTensor::<B>::Float(tensor))
}

fn contiguous(tensor: FlexTensor) -> FlexTensor {
    if tensor.as_slice::<f32>().is_some() { tensor } else { tensor.to_contiguous() }
}

fn view(tensor: &FlexTensor) -> View<'_> {
    let values = tensor.as_slice().expect("contiguous floats");
    View { shape: tensor.layout().shape().as_slice(), values }
}

fn from_values(shape: &[usize], values: Vec<f32>) -> FlexTensor {
    let layout = Layout::contiguous(Shape::from(shape.to_vec()));
    assert_eq!(layout.num_elements(), values.len(), "shape {shape:?}");
    FlexTensor::new(Bytes::from_elems(values), layout, DType::F32)
}

fn run<const N: usize, O: Operation<N>>(
    operation: &O,
    inputs: &[FlexTensor; N],
) -> (FlexTensor, O::Saved) {
    let (shape, values, saved) = operation.forward(inputs.each_ref().map(view));
    (from_values(&shape, values), saved)
}

/// What a step of the graph keeps for its backward pass.
#[derive(Debug)]
struct State<const N: usize, O: Operation<N>> {
    operation: O,
    inputs: [FlexTensor; N],
    /// Where the operation uses it.
    output: Option<FlexTensor>,
    saved: O::Saved,
}

/// The backward pass of an operation.
#[derive(Debug)]
struct Step<O>(std::marker::PhantomData<fn() -> O>);

impl<const N: usize, O: Operation<N>> Backward<Flex, N> for Step<O> {
    type State = Arc<State<N, O>>;

    fn backward(
        self,
        ops: Ops<Self::State, N>,
        gradients: &mut Gradients,
        _checkpointer: &mut Checkpointer,
    ) {
        let gradient = contiguous(gradients.consume::<Flex>(&ops.node));
        let State { operation, inputs, output, saved } = &*ops.state;
        let views = inputs.each_ref().map(view);
        let wanted = ops.parents.each_ref().map(Option::is_some);
        let output = output.as_ref().map_or(View { shape: &[], values: &[] }, view);
        let found = operation.backward(views, output, saved, view(&gradient), wanted);
        for ((parent, values), input) in ops.parents.into_iter().zip(found).zip(views) {
            if let Some(parent) = parent {
                let values = values.expect("a gradient that was wanted");
                gradients.register::<Flex>(parent.id, from_values(input.shape, values));
            }
        }
    }
}

fn track<const N: usize, O: Operation<N>>(
    operation: O,
    inputs: [<Tracking as burn::backend::BackendTypes>::FloatTensorPrimitive; N],
) -> <Tracking as burn::backend::BackendTypes>::FloatTensorPrimitive {
    let nodes = inputs.each_ref().map(|input| input.node());
    let inputs = inputs.map(|input| contiguous(input.into_primitive()));
    let (output, saved) = run(&operation, &inputs);
    let step = Step::<O>(std::marker::PhantomData);
    match step.prepare::<NoCheckpointing>(nodes).compute_bound().stateful() {
        OpsKind::Tracked(prepared) => {
            let kept = operation.uses_output().then(|| output.clone());
            let state = State { operation, inputs, output: kept, saved };
            prepared.finish(Arc::new(state), output)
        }
        OpsKind::UnTracked(prepared) => prepared.finish(output),
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{TensorData, Tolerance};

    use super::*;

    /// `a · b`, element by element.
    #[derive(Debug)]
    struct Product;

    impl Operation<2> for Product {
        type Saved = ();

        fn forward(&self, [a, b]: [View<'_>; 2]) -> (Vec<usize>, Vec<f32>, ()) {
            (a.shape.to_vec(), a.values.iter().zip(b.values).map(|(a, b)| a * b).collect(), ())
        }

        fn uses_output(&self) -> bool {
            false
        }

        fn backward(
            &self,
            [a, b]: [View<'_>; 2],
            _output: View<'_>,
            (): &(),
            gradient: View<'_>,
            wanted: [bool; 2],
        ) -> [Option<Vec<f32>>; 2] {
            let times = |other: View<'_>| -> Vec<f32> {
                gradient.values.iter().zip(other.values).map(|(g, v)| g * v).collect()
            };
            [wanted[0].then(|| times(b)), wanted[1].then(|| times(a))]
        }
    }

    fn tensor(device: &Device) -> Tensor<2> {
        let data = TensorData::new((0..6).map(|i| i as f32 - 2.0).collect(), [2, 3]);
        Tensor::from_data(data, device)
    }

    fn product(a: Tensor<2>, b: Tensor<2>) -> Tensor<2> {
        assert!(runs_here(&a) && runs_here(&b));
        apply(Product, [a.into_dispatch(), b.into_dispatch()])
    }

    #[test]
    fn results_are_those_of_burn_on_views_too() {
        let (a, b) = (tensor(&Device::flex()).transpose(), tensor(&Device::flex()).reshape([3, 2]));
        let expected = (a.clone() * b.clone()).into_data();
        product(a, b).into_data().assert_approx_eq::<f32>(&expected, Tolerance::default());
    }

    #[test]
    fn gradients_are_those_of_burn() {
        let device = Device::flex().autodiff();
        let gradients = |f: fn(Tensor<2>, Tensor<2>) -> Tensor<2>| {
            let (a, b) = (tensor(&device).require_grad(), tensor(&device).require_grad());
            // `a` is used twice, and through a view.
            let c = f(a.clone().transpose(), b.clone().reshape([3, 2])) * a.clone().reshape([3, 2]);
            let gradients = c.square().sum().backward();
            [a.grad(&gradients), b.grad(&gradients)].map(|g| g.expect("tracked").into_data())
        };
        let [expected_a, expected_b] = gradients(|a, b| a * b);
        let [a, b] = gradients(product);
        a.assert_approx_eq::<f32>(&expected_a, Tolerance::default());
        b.assert_approx_eq::<f32>(&expected_b, Tolerance::default());
    }

    #[test]
    #[should_panic(expected = "with gradients and without: [true, false]")]
    fn gradients_on_one_input_alone_are_named() {
        product(tensor(&Device::flex().autodiff()), tensor(&Device::flex()));
    }

    #[test]
    #[should_panic(expected = "the rank of an operation's output")]
    fn another_rank_is_noticed() {
        let [a, b] = [(); 2].map(|()| tensor(&Device::flex()).into_dispatch());
        let _: Tensor<3> = apply(Product, [a, b]);
    }

    #[test]
    fn constants_need_no_gradient() {
        let device = Device::flex().autodiff();
        let a = tensor(&device).require_grad();
        let gradients = product(a.clone(), tensor(&device)).sum().backward();
        let gradient = a.grad(&gradients).expect("tracked").into_data();
        gradient.assert_approx_eq::<f32>(&tensor(&device).into_data(), Tolerance::default());
    }
}
