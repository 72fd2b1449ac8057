//! An infilling U-Net over sequences of latents and actions, with an optional GAN loss.

mod cell;
mod masks;
mod network;
#[cfg(test)]
mod parity;
mod unet;
mod unet_cell;

pub use cell::{InfillingCell, InfillingMemory};
pub use network::{Infilling, InfillingConfig};
