//! The optimiser's state on disk.
//!
//! burn keeps it by parameter id, and ids are drawn anew in each process: a checkpoint therefore
//! remembers which id each parameter had, and a loaded model gets these ids back.

use std::{collections::BTreeMap, fs, path::Path};

use burn::{
    module::{Module, ModuleMapper, Param, ParamId},
    optim::ModuleOptimizer,
    tensor::Tensor,
};

use crate::{
    WeightsError,
    gradients::{VisitParameter, visit_parameters},
};

const IDS: &str = "parameter_ids.json";
const STATE: &str = "optimizer.burnpack";

pub(crate) fn save_optimizer<M: Module>(
    model: &M,
    optimizer: &ModuleOptimizer,
    directory: &Path,
) -> Result<(), WeightsError> {
    let ids = visit_parameters(model, Ids::default()).0;
    let path = directory.join(IDS);
    let text = serde_json::to_vec_pretty(&ids).map_err(|e| WeightsError::new(&path, e))?;
    fs::write(&path, text).map_err(|e| WeightsError::new(&path, e))?;
    let path = directory.join(STATE);
    optimizer.save(&path).map_err(|e| WeightsError::new(&path, e))
}

pub(crate) fn load_optimizer<M: Module>(
    model: M,
    optimizer: ModuleOptimizer,
    directory: &Path,
) -> Result<(M, ModuleOptimizer), WeightsError> {
    let path = directory.join(IDS);
    let text = fs::read(&path).map_err(|e| WeightsError::new(&path, e))?;
    let ids = serde_json::from_slice(&text).map_err(|e| WeightsError::new(&path, e))?;
    let mut renumber = Renumber { path: Vec::new(), ids, missing: None };
    let model = model.map(&mut renumber);
    if let Some(missing) = renumber.missing {
        return Err(WeightsError::new(&path, format!("it does not know {missing}")));
    }
    let path = directory.join(STATE);
    let optimizer = optimizer.load(&path).map_err(|e| WeightsError::new(&path, e))?;
    Ok((model, optimizer))
}

#[derive(Default)]
struct Ids(BTreeMap<String, u64>);

impl VisitParameter for Ids {
    fn parameter<const D: usize>(&mut self, path: &str, parameter: &Param<Tensor<D>>) {
        self.0.insert(path.to_owned(), parameter.id.val());
    }
}

struct Renumber {
    path: Vec<String>,
    ids: BTreeMap<String, u64>,
    missing: Option<String>,
}

impl ModuleMapper for Renumber {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.pop();
    }

    fn map_float<const D: usize>(&mut self, parameter: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let path = self.path.join(".");
        let Some(id) = self.ids.get(&path).copied() else {
            self.missing.get_or_insert(path);
            return parameter;
        };
        let (_, value, mapper) = parameter.consume();
        Param::from_mapped_value(ParamId::from(id), value, mapper)
    }
}
