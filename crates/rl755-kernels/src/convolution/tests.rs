//! Both layers and their gradients, by our kernels and by burn's operations, against loops in 64
//! bits.

use burn::tensor::{Device, Tensor, TensorData};

use super::*;
use crate::{Operation, View, reference::close, testing::random};

/// A layer and what it is given.
#[derive(Clone, Copy, Debug)]
struct Case {
    batch: usize,
    size: [usize; 2],
    from: usize,
    to: usize,
    kernel: [usize; 2],
    options: ConvOptions,
}

const fn case(
    [batch, height, width]: [usize; 3],
    [from, to]: [usize; 2],
    kernel: [usize; 2],
    stride: [usize; 2],
    padding: [usize; 2],
    activation: Activation,
) -> Case {
    let options = ConvOptions { stride, padding, activation };
    Case { batch, size: [height, width], from, to, kernel, options }
}

const CASES: [Case; 13] = [
    case([2, 7, 9], [3, 5], [4, 4], [2, 2], [0, 0], Activation::Relu),
    // Rows and columns that no kernel sees.
    case([3, 10, 8], [4, 6], [3, 3], [2, 3], [0, 0], Activation::None),
    // A stride larger than the kernel.
    case([1, 11, 9], [2, 3], [2, 1], [3, 4], [0, 0], Activation::Relu),
    case([4, 5, 6], [7, 9], [1, 1], [1, 1], [0, 0], Activation::Relu),
    case([2, 6, 5], [3, 4], [3, 5], [1, 2], [1, 2], Activation::Relu),
    // A kernel that is partly outside everywhere.
    case([2, 2, 3], [2, 3], [5, 6], [2, 1], [2, 2], Activation::None),
    // One number.
    case([1, 1, 1], [1, 1], [1, 1], [1, 1], [0, 0], Activation::None),
    // Fewer rows than channels, and large enough for several threads.
    case([20, 4, 4], [6, 120], [4, 4], [2, 2], [0, 0], Activation::Relu),
    case([8, 1, 1], [90, 10], [5, 5], [2, 2], [0, 0], Activation::Relu),
    // No frames.
    case([0, 5, 6], [2, 3], [3, 2], [1, 2], [0, 0], Activation::Relu),
    // In several pieces.
    case([37, 14, 13], [5, 8], [4, 4], [2, 2], [0, 0], Activation::Relu),
    // In several pieces for each sum.
    case([17, 40, 42], [3, 2], [6, 5], [1, 1], [0, 1], Activation::Relu),
    case([3, 40, 42], [3, 4], [6, 5], [1, 1], [2, 1], Activation::Relu),
];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Layer {
    Convolution,
    Transposed,
}

impl Layer {
    const BOTH: [Self; 2] = [Self::Convolution, Self::Transposed];

    fn weight_shape(self, case: &Case) -> [usize; 4] {
        let [height, width] = case.kernel;
        match self {
            Self::Convolution => [case.to, case.from, height, width],
            Self::Transposed => [case.from, case.to, height, width],
        }
    }

    fn of(self, x: Tensor<4>, w: Tensor<4>, b: Option<Tensor<1>>, o: ConvOptions) -> Tensor<4> {
        match self {
            Self::Convolution => conv2d(x, w, b, o),
            Self::Transposed => conv_transpose2d(x, w, b, o),
        }
    }

    /// Height and width of the output, by the definition.
    fn output(self, case: &Case) -> [usize; 2] {
        let Case { size, kernel, options: ConvOptions { stride, padding, .. }, .. } = *case;
        [0, 1].map(|i| match self {
            Self::Convolution => (size[i] + 2 * padding[i] - kernel[i]) / stride[i] + 1,
            Self::Transposed => (size[i] - 1) * stride[i] + kernel[i] - 2 * padding[i],
        })
    }
}

/// Output and gradients of frames, weights and bias, for a loss of `Σ output · probe`.
type Results = [Vec<f64>; 4];

/// By the definition, in 64 bits: every product of the sums, one by one.
fn reference(layer: Layer, case: &Case, x: &[f32], w: &[f32], b: &[f32], probe: &[f32]) -> Results {
    let Case { batch, size, from, to, kernel, options } = *case;
    let [height, width] = layer.output(case);
    let wide = |values: &[f32]| -> Vec<f64> { values.iter().map(|&v| f64::from(v)).collect() };
    let (x, w, b, probe) = (wide(x), wide(w), wide(b), wide(probe));
    let (small, large) = match layer {
        Layer::Convolution => ([height, width], size),
        Layer::Transposed => (size, [height, width]),
    };
    // Visits each product: its index in the output, in the input and in the weights.
    let for_each_product = |visit: &mut dyn FnMut(usize, usize, usize)| {
        for sample in 0..batch {
            for y in 0..small[0] {
                for column in 0..small[1] {
                    for ky in 0..kernel[0] {
                        for kx in 0..kernel[1] {
                            let row = y * options.stride[0] + ky;
                            let across = column * options.stride[1] + kx;
                            let (Some(row), Some(across)) = (
                                row.checked_sub(options.padding[0]),
                                across.checked_sub(options.padding[1]),
                            ) else {
                                continue;
                            };
                            if row >= large[0] || across >= large[1] {
                                continue;
                            }
                            let near = (sample * small[0] + y) * small[1] + column;
                            let far = (sample * large[0] + row) * large[1] + across;
                            for i in 0..from {
                                for o in 0..to {
                                    let (out, input, outer, inner) = match layer {
                                        Layer::Convolution => (near * to + o, far * from + i, o, i),
                                        Layer::Transposed => (far * to + o, near * from + i, i, o),
                                    };
                                    let inners = layer.weight_shape(case)[1];
                                    let tap = (outer * inners + inner) * kernel[0] * kernel[1];
                                    visit(out, input, tap + ky * kernel[1] + kx);
                                }
                            }
                        }
                    }
                }
            }
        }
    };
    let mut output: Vec<f64> = (0..batch * height * width).flat_map(|_| b.clone()).collect();
    for_each_product(&mut |out, input, tap| output[out] += x[input] * w[tap]);
    let mut passed = probe;
    if options.activation == Activation::Relu {
        passed.iter_mut().zip(&output).for_each(|(g, y)| *g = if *y > 0.0 { *g } else { 0.0 });
        output.iter_mut().for_each(|value| *value = value.max(0.0));
    }
    let (mut dx, mut dw, mut db) = (vec![0.0; x.len()], vec![0.0; w.len()], vec![0.0; to]);
    for_each_product(&mut |out, input, tap| {
        dx[input] += passed[out] * w[tap];
        dw[tap] += passed[out] * x[input];
    });
    passed.chunks(to).for_each(|pixel| db.iter_mut().zip(pixel).for_each(|(d, g)| *d += g));
    [output, dx, dw, db]
}

/// By the function on tensors, on a device with gradients.
fn by_tensors(
    device: &Device,
    layer: Layer,
    case: &Case,
    [x, w, b, probe]: [&[f32]; 4],
) -> [Vec<f32>; 4] {
    let [height, width] = layer.output(case);
    let tensor = |values: &[f32], shape: [usize; 4]| {
        Tensor::<4>::from_data(TensorData::new(values.to_vec(), shape), device)
    };
    let x = tensor(x, [case.batch, case.size[0], case.size[1], case.from]).require_grad();
    let w = tensor(w, layer.weight_shape(case)).require_grad();
    let b = Tensor::<1>::from_data(TensorData::new(b.to_vec(), [case.to]), device).require_grad();
    let probe = tensor(probe, [case.batch, height, width, case.to]);
    let y = layer.of(x.clone(), w.clone(), Some(b.clone()), case.options);
    assert_eq!(y.dims(), [case.batch, height, width, case.to]);
    let gradients = (y.clone() * probe).sum().backward();
    let values = |data: TensorData| data.try_into_vec::<f32>().unwrap();
    [
        values(y.into_data()),
        values(x.grad(&gradients).unwrap().into_data()),
        values(w.grad(&gradients).unwrap().into_data()),
        values(b.grad(&gradients).unwrap().into_data()),
    ]
}

fn inputs(layer: Layer, case: &Case) -> [Vec<f32>; 4] {
    let pixels = case.batch * case.size[0] * case.size[1];
    let [height, width] = layer.output(case);
    [
        random(pixels * case.from, 1),
        random(layer.weight_shape(case).iter().product(), 2),
        random(case.to, 3),
        random(case.batch * height * width * case.to, 4),
    ]
}

/// Where our kernels run, and where burn's operations do.
fn devices() -> [Device; 2] {
    let ours = Device::flex().autodiff();
    let burns = Device::flex().autodiff().gradient_checkpointing();
    let runs = |device: &Device| runs_here(&Tensor::<1>::zeros([1], device));
    assert!(runs(&ours) && !runs(&burns));
    [ours, burns]
}

#[test]
fn values_and_gradients_are_those_of_the_definition() {
    for case in CASES {
        for layer in Layer::BOTH.into_iter().filter(|layer| fits(*layer, &case)) {
            let [x, w, b, probe] = inputs(layer, &case);
            let expected = reference(layer, &case, &x, &w, &b, &probe);
            for device in devices() {
                let found = by_tensors(&device, layer, &case, [&x, &w, &b, &probe]);
                let names = ["output", "dx", "dw", "db"];
                for ((found, expected), name) in found.iter().zip(&expected).zip(names) {
                    close(&format!("{layer:?} {case:?} {device:?}, {name}"), found, expected);
                }
            }
        }
    }
}

/// Every choice of gradients gives those that all together give.
#[test]
fn gradients_that_nobody_wants_change_nothing() {
    for case in CASES {
        for layer in Layer::BOTH.into_iter().filter(|layer| fits(*layer, &case)) {
            let [x, w, b, probe] = inputs(layer, &case);
            let [height, width] = layer.output(&case);
            let frames =
                |[height, width]: [usize; 2], channels| [case.batch, height, width, channels];
            let shapes = [frames(case.size, case.from), layer.weight_shape(&case)];
            let large = if layer == Layer::Convolution {
                [case.size[0], case.size[1], case.from]
            } else {
                [height, width, case.to]
            };
            let small = if layer == Layer::Convolution { [height, width] } else { case.size };
            let operation = operations::Layer {
                kind: if layer == Layer::Convolution {
                    Kind::Convolution
                } else {
                    Kind::Transposed
                },
                geometry: Geometry {
                    frame: large,
                    grid: small,
                    kernel: case.kernel,
                    stride: case.options.stride,
                    padding: case.options.padding,
                },
                has_bias: true,
                activation: case.options.activation,
            };
            let bias_shape = [case.to];
            let views = [
                View { shape: &shapes[0], values: &x },
                View { shape: &shapes[1], values: &w },
                View { shape: &bias_shape, values: &b },
            ];
            let (shape, output, ()) = operation.forward(views);
            let output = if operation.uses_output() { &output[..] } else { &[] };
            let gradients = |wanted| {
                let of = |values| View { shape: &shape, values };
                operation.backward(views, of(output), &(), of(&probe), wanted)
            };
            let all = gradients([true; 3]);
            for choice in 0..8 {
                let wanted = [0, 1, 2].map(|i| choice >> i & 1 == 1);
                let some = gradients(wanted);
                for ((some, all), wanted) in some.into_iter().zip(&all).zip(wanted) {
                    assert!(some == all.clone().filter(|_| wanted), "{layer:?} {case:?}");
                }
            }
        }
    }
}

/// Some cases are for one of the layers only.
fn fits(layer: Layer, case: &Case) -> bool {
    let fits = |i: usize| match layer {
        Layer::Convolution => case.size[i] + 2 * case.options.padding[i] >= case.kernel[i],
        Layer::Transposed => {
            (case.size[i] - 1) * case.options.stride[i] + case.kernel[i]
                > 2 * case.options.padding[i]
        }
    };
    fits(0) && fits(1)
}

#[test]
fn threads_do_not_matter() {
    for case in CASES {
        for layer in Layer::BOTH.into_iter().filter(|layer| fits(*layer, &case)) {
            let given = inputs(layer, &case);
            let [one, three] = [1, 3].map(|threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| {
                    by_tensors(&devices()[0], layer, &case, given.each_ref().map(Vec::as_slice))
                })
            });
            assert!(one == three, "{layer:?} {case:?}");
        }
    }
}

#[test]
fn the_packed_convolution_gives_the_same_whatever_else_is_convolved() {
    for case in CASES.into_iter().filter(|case| fits(Layer::Convolution, case)) {
        let [x, w, b, _] = inputs(Layer::Convolution, &case);
        let [height, width] = case.size;
        let shape = Layer::Convolution.weight_shape(&case);
        let packed =
            PackedConvolution::new([height, width, case.from], (shape, &w), Some(&b), case.options);
        let device = Device::flex();
        let tensor = |values: &[f32], shape: [usize; 4]| {
            Tensor::<4>::from_data(TensorData::new(values.to_vec(), shape), &device)
        };
        let bias = Tensor::from_data(TensorData::new(b.clone(), [case.to]), &device);
        let frames = tensor(&x, [case.batch, height, width, case.from]);
        let expected = conv2d(frames, tensor(&w, shape), Some(bias), case.options).into_data();
        let (mut all, mut one, mut each) = (Vec::new(), Vec::new(), Vec::new());
        packed.forward(&x, &mut all);
        for frame in x.chunks(height * width * case.from) {
            packed.forward(frame, &mut one);
            each.extend_from_slice(&one);
        }
        assert!(all == each, "{case:?}");
        let [height, width, to] = packed.output();
        let found = TensorData::new(all, [case.batch, height, width, to]);
        found.assert_approx_eq::<f32>(&expected, burn::tensor::Tolerance::default());
    }
}

#[test]
fn a_layer_without_bias_has_none() {
    let case = CASES[0];
    let device = Device::flex();
    for layer in Layer::BOTH {
        let [x, w, ..] = inputs(layer, &case);
        let [height, width] = case.size;
        let x = TensorData::new(x, [case.batch, height, width, case.from]);
        let x = Tensor::<4>::from_data(x, &device);
        let w = Tensor::<4>::from_data(TensorData::new(w, layer.weight_shape(&case)), &device);
        let zeros = Tensor::zeros([case.to], &device);
        let expected = layer.of(x.clone(), w.clone(), Some(zeros), case.options).into_data();
        assert_eq!(layer.of(x, w, None, case.options).into_data(), expected);
    }
}

#[test]
#[should_panic(expected = "frames of [0, 2, 1]")]
fn frames_without_rows_are_refused() {
    let x = Tensor::<4>::zeros([1, 0, 2, 1], &Device::flex());
    let options = ConvOptions { padding: [1, 1], ..ConvOptions::default() };
    conv2d(x, Tensor::ones([1, 1, 1, 1], &Device::flex()), None, options);
}

#[test]
fn what_is_no_number_stays_visible() {
    let device = Device::flex();
    let options = ConvOptions { activation: Activation::Relu, ..ConvOptions::default() };
    let x = Tensor::<4>::full([1, 2, 2, 1], f32::NAN, &device);
    let y = conv2d(x, Tensor::ones([1, 1, 1, 1], &device), None, options);
    assert!(y.into_data().iter::<f32>().all(f32::is_nan));
}
