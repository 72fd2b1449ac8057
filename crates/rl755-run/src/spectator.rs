//! Who may watch a training, without it knowing of plots.

/// Is shown a policy as it is trained. The command lines show it to people with `--plot`.
pub trait Spectator: Send + Sync {
    /// The policy has these `parameters` after `step` steps of training. Never waits, whatever
    /// becomes of them.
    fn update(&self, step: u64, parameters: &[f32]);
}

/// Nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSpectator;

impl Spectator for NoSpectator {
    fn update(&self, _step: u64, _parameters: &[f32]) {}
}
