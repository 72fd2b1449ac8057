//! Gradients of a whole module: their norm, their scaling, and the first bad one.

use burn::{
    module::{Module, ModuleVisitor, Param},
    optim::GradientsParams,
    tensor::Tensor,
};

/// Walks a module's float parameters with their paths, `encoder.conv1.weight`.
struct Walk<F> {
    path: Vec<String>,
    visit: F,
}

/// Something done with each parameter; a trait, as closures cannot be generic over the rank.
pub(crate) trait VisitParameter {
    fn parameter<const D: usize>(&mut self, path: &str, parameter: &Param<Tensor<D>>);
}

impl<F: VisitParameter> ModuleVisitor for Walk<F> {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, parameter: &Param<Tensor<D>>) {
        let path = self.path.join(".");
        self.visit.parameter(&path, parameter);
    }
}

/// Calls `visit` for each float parameter of `module`, in the order of its fields.
pub(crate) fn visit_parameters<M: Module, F: VisitParameter>(module: &M, visit: F) -> F {
    let mut walk = Walk { path: Vec::new(), visit };
    module.visit(&mut walk);
    walk.visit
}

/// The Euclidean norm over all gradients, and the first that is not finite.
#[derive(Default)]
pub(crate) struct Norm<'a> {
    gradients: Option<&'a GradientsParams>,
    squares: f64,
    pub(crate) not_finite: Option<String>,
}

impl<'a> Norm<'a> {
    /// Measures `gradients` of `module`.
    pub(crate) fn of<M: Module>(module: &M, gradients: &'a GradientsParams) -> Self {
        visit_parameters(module, Self { gradients: Some(gradients), ..Self::default() })
    }

    pub(crate) fn value(&self) -> f64 {
        self.squares.sqrt()
    }
}

impl VisitParameter for Norm<'_> {
    fn parameter<const D: usize>(&mut self, path: &str, parameter: &Param<Tensor<D>>) {
        let Some(gradient) = self.gradients.and_then(|g| g.get::<D>(parameter.id)) else { return };
        // Row by row first: a sum over millions of numbers at once is split among threads, and
        // depends on how many there are.
        let rows = gradient.dims()[0];
        let squares = gradient.square().reshape([rows as i32, -1]).sum_dim(1);
        let square = f64::from(squares.sum().into_scalar::<f32>());
        if !square.is_finite() && self.not_finite.is_none() {
            self.not_finite = Some(format!("the gradient of {path}"));
        }
        self.squares += square;
    }
}

/// Multiplies every gradient by a factor.
pub(crate) struct Scale<'a> {
    pub(crate) gradients: &'a mut GradientsParams,
    pub(crate) factor: f64,
}

impl VisitParameter for Scale<'_> {
    fn parameter<const D: usize>(&mut self, _path: &str, parameter: &Param<Tensor<D>>) {
        if let Some(gradient) = self.gradients.remove::<D>(parameter.id) {
            self.gradients.register(parameter.id, gradient * self.factor);
        }
    }
}

/// The path of the first parameter of `module` that holds a NaN or an infinity.
pub fn first_not_finite<M: Module>(module: &M) -> Option<String> {
    visit_parameters(module, NotFinite(None)).0
}

struct NotFinite(Option<String>);

impl VisitParameter for NotFinite {
    fn parameter<const D: usize>(&mut self, path: &str, parameter: &Param<Tensor<D>>) {
        if self.0.is_none() {
            let sum = parameter.val().detach().abs().sum().into_scalar::<f32>();
            if !sum.is_finite() {
                self.0 = Some(path.to_owned());
            }
        }
    }
}
