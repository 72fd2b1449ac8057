//! MuJoCo's library: its version, its messages, and the models that are loaded.
#![allow(unsafe_code, reason = "MuJoCo keeps its handler of messages in a global")]

use std::{
    collections::HashMap,
    io::Write,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use mujoco_rs::{
    mujoco_version,
    prelude::{MjLogMessage, MjModel, MjtLogLevel, set_log_handler},
};

/// The version whose states are Gymnasium's, when Gymnasium uses it too.
const VERSION: &str = "3.17.0";

/// The model of `xml`, of which there is one in the process.
pub(crate) fn model(xml: &'static str) -> Result<Arc<MjModel>, String> {
    static MODELS: OnceLock<Mutex<HashMap<&'static str, Arc<MjModel>>>> = OnceLock::new();
    if mujoco_version() != VERSION {
        return Err(format!("MuJoCo's library is {}, not {VERSION}", mujoco_version()));
    }
    let models = MODELS.get_or_init(|| {
        // SAFETY: nothing in this crate uses MuJoCo before its first model. Who uses it elsewhere in the
        // process makes a model of ours first.
        unsafe { set_log_handler(take_message) };
        Mutex::default()
    });
    let mut models = models.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(model) = models.get(xml) {
        return Ok(model.clone());
    }
    let model = MjModel::from_xml_string(xml).map_err(|error| error.to_string())?;
    let model = Arc::new(model);
    models.insert(xml, model.clone());
    Ok(model)
}

/// MuJoCo would print warnings and write them to a file in the working directory, whatever they are
/// about; half of the models give one when they are loaded. Errors end the process, which must say
/// why.
fn take_message(message: &MjLogMessage) {
    if message.level() == MjtLogLevel::mjLOG_ERROR {
        let _ = writeln!(std::io::stderr(), "MuJoCo: {}", message.subject());
    }
}
