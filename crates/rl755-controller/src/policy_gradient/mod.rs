//! Policy gradients: TRPO and PPO on multilayer perceptrons, without a world model.
//!
//! | file | what |
//! |---|---|
//! | `config` | settings, and what they must be |
//! | `mlp`, `distribution`, `policy` | what acts, and its derivatives |
//! | `outlook` | sums over the rows of a batch, by threads, in a fixed order |
//! | `action_map` | from the policy's numbers to the environment's actions |
//! | `sampler` | episodes in parallel |
//! | `baseline`, `advantages` | how much better than expected each action was |
//! | `trpo`, `conjugate_gradient`, `ppo`, `adam` | the update |
//! | `train`, `trained_policy` | the run directory |

mod action_map;
mod adam;
mod advantages;
mod baseline;
mod config;
mod conjugate_gradient;
mod distribution;
mod mlp;
mod outlook;
#[cfg(test)]
mod parity;
mod policy;
mod ppo;
mod sampler;
mod train;
mod trained_policy;
mod trpo;

pub use config::{Algorithm, PolicyConfig, PpoConfig, TrainPolicyConfig, TrpoConfig};
pub use train::train_policy;
pub use trained_policy::TrainedPolicy;
