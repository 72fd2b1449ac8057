//! How many parameters the models have at their defaults.

use burn::tensor::Device;
use rl755_encoder::{Autoencoder, EncoderModel, FrameVae, Identity, Mlp, SimClr, Vae64, Vae96};
use rl755_env::Space;
use rl755_nn::num_parameters;
use rl755_sequence::{
    Infilling, LstmNetwork, MdnRnn, NullNetwork, Retrieval, SequenceNetwork, Sizes, Transformer,
};

/// The sizes of World Models' car racing, in sequences of 32 steps.
pub const SIZES: Sizes = Sizes { latent: 32, action: 3, sequence_length: 32 };

/// The name of each encoder and sequence model, and how many parameters it has at its defaults, for
/// the frames of CarRacing or vectors of 8 numbers, latents of 32 numbers and actions of 3.
pub fn counts() -> Vec<(&'static str, usize)> {
    let frames = Space::Image { height: 96, width: 96, channels: 3 };
    let vectors = Space::Box { low: vec![-1.0; 8], high: vec![1.0; 8] };
    vec![
        encoder::<Autoencoder>(&frames),
        encoder::<Identity>(&vectors),
        encoder::<Mlp>(&vectors),
        encoder::<SimClr>(&frames),
        encoder::<FrameVae>(&frames),
        encoder::<Vae64>(&frames),
        encoder::<Vae96>(&frames),
        sequence::<Infilling>(),
        sequence::<LstmNetwork>(),
        sequence::<MdnRnn>(),
        sequence::<NullNetwork>(),
        sequence::<Retrieval>(),
        sequence::<Transformer>(),
    ]
}

/// A table of them in Markdown.
pub fn table() -> String {
    let mut table = String::from("| model | parameters |\n| --- | ---: |\n");
    for (name, count) in counts() {
        table += &format!("| `{name}` | {} |\n", grouped(count));
    }
    table
}

fn encoder<M: EncoderModel>(space: &Space) -> (&'static str, usize) {
    let config = M::Config::default();
    let input = M::input_space(&config, space).expect("such observations suit it");
    let model = M::init(&config, &input, &Device::flex()).expect("the defaults are sound");
    (M::NAME, num_parameters(&model))
}

fn sequence<N: SequenceNetwork>() -> (&'static str, usize) {
    let network = N::init(&N::Config::default(), &SIZES, &Device::flex());
    (N::NAME, num_parameters(&network.expect("the defaults are sound")))
}

/// With commas.
fn grouped(count: usize) -> String {
    let digits = count.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}
