//! Random batches of datasets, for training.

mod ahead;
mod frame_block;
mod frame_sampler;
mod reader_threads;
mod visit_order;
mod window_sampler;

pub use self::{
    ahead::Ahead,
    frame_sampler::{FrameSampler, FrameSamplerConfig, Observations, unit_floats},
    reader_threads::MemoryBudget,
    window_sampler::{WindowSampler, WindowSamplerConfig, Windows},
};
