//! Gradients of a whole module, by parameter.

use burn::{
    module::{Module, ModuleMapper, ModuleVisitor, Param},
    optim::GradientsParams,
    tensor::{Device, Gradients as Graph, Tensor},
};

use crate::{numbers::Numbers, watch::is_finite};

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

/// What each parameter becomes; a trait, as closures cannot be generic over the rank.
pub(crate) trait MapParameter {
    fn parameter<const D: usize>(
        &mut self,
        path: String,
        parameter: Param<Tensor<D>>,
    ) -> Param<Tensor<D>>;
}

impl<F: MapParameter> ModuleMapper for Walk<F> {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.pop();
    }

    fn map_float<const D: usize>(&mut self, parameter: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let path = self.path.join(".");
        self.visit.parameter(path, parameter)
    }
}

/// `module` with what `map` makes of each float parameter.
pub(crate) fn map_parameters<M: Module>(module: M, map: impl MapParameter) -> M {
    module.map(&mut Walk { path: Vec::new(), visit: map })
}

/// The gradients of those parameters that have one, with their paths, in the order of the fields.
#[derive(Debug)]
pub(crate) struct Gradients(pub(crate) Vec<(String, Numbers)>);

impl Gradients {
    /// Those of `module` in `graph`, on `device`.
    pub(crate) fn of<M: Module>(module: &M, graph: Graph, device: &Device) -> Self {
        let found = GradientsParams::from_grads(graph, module);
        let gathered = Gather { found, gradients: Vec::new(), device };
        Self(visit_parameters(module, gathered).gradients)
    }

    /// Adds those of another part of the batch. A parameter may have a gradient in one part alone.
    pub(crate) fn add(&mut self, others: Self) {
        for (path, numbers) in others.0 {
            match self.0.iter_mut().find(|(known, _)| *known == path) {
                Some((_, sum)) => sum.add(numbers),
                None => self.0.push((path, numbers)),
            }
        }
    }

    /// The Euclidean norm of all of them together.
    ///
    /// # Errors
    /// The path of the first that is not finite.
    pub(crate) fn norm(&self) -> Result<f64, &str> {
        let mut squares = 0.0;
        for (path, numbers) in &self.0 {
            let square = numbers.sum_of_squares();
            if !square.is_finite() {
                return Err(path);
            }
            squares += square;
        }
        Ok(squares.sqrt())
    }
}

struct Gather<'a> {
    found: GradientsParams,
    gradients: Vec<(String, Numbers)>,
    device: &'a Device,
}

impl VisitParameter for Gather<'_> {
    fn parameter<const D: usize>(&mut self, path: &str, parameter: &Param<Tensor<D>>) {
        if let Some(gradient) = self.found.remove::<D>(parameter.id) {
            let numbers = Numbers::of(gradient).moved_to(self.device);
            self.gradients.push((path.to_owned(), numbers));
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
        if self.0.is_none() && !is_finite(&parameter.val()) {
            self.0 = Some(path.to_owned());
        }
    }
}
