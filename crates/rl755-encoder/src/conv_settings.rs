//! Settings of convolutional encoders for frames of any size, and the layers they lead to.

use rl755_env::Space;
use serde::{Deserialize, Serialize};

use crate::EncoderError;

/// The most channels and latent numbers: with more, a slip of the finger would take all memory.
pub(crate) const MOST: usize = 65_536;

/// The most numbers that a convolution sees of one frame, pixels counted as often as they are seen:
/// a thread keeps as many.
const MOST_SEEN: usize = 1 << 30;

/// The longest side of resized frames.
const LONGEST_SIDE: usize = 4096;

/// The largest kernel.
const LARGEST_KERNEL: usize = 64;

/// The most convolutions.
const DEEPEST: usize = 16;

/// Where the number of convolutions is left open, they end when the shorter side of what is left
/// is at most this.
const SMALL: usize = 5;

/// What the encoders for frames of any size have in common: [`Autoencoder`](crate::Autoencoder),
/// [`FrameVae`](crate::FrameVae) and [`SimClr`](crate::SimClr).
///
/// A stack of convolutions without padding, each with ReLU, then a linear layer. Where there is a
/// decoder, it is a linear layer with ReLU and the convolutions mirrored: transposed ones whose
/// kernels are chosen so that every size comes out exactly (kernel + (size - kernel) mod stride,
/// for each side), ReLU between them and a sigmoid at the end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConvSettings {
    /// Numbers in a latent, 1 to 65,536. Default 32.
    pub latent_size: usize,
    /// Height and width that frames are resized to, by area, 1 to 4096 each; `None` leaves them
    /// as they are, square or not. Default `None`.
    pub input_size: Option<[usize; 2]>,
    /// Whether the model sees luminance alone, 0.2125 red + 0.7154 green + 0.0721 blue (ITU-R
    /// 709, as Gymnasium's `GrayscaleObservation`); what it reconstructs is then grey. Frames of
    /// one channel are grey already, and others need three. Default false: all channels, of which
    /// there may be any number.
    pub grayscale: bool,
    /// Channels after each convolution, 1 to 65,536 each, at most 16 of them. `None`: 32, 64, 128,
    /// 256, 256, … until the shorter side is at most 5 pixels. Default `None`.
    pub channels: Option<Vec<usize>>,
    /// The kernels' sizes, 1 to 64: one for all convolutions, or one for each. Default 4.
    pub kernel_sizes: Vec<usize>,
    /// The strides, 1 to the kernel's size: one for all convolutions, or one for each. Default 2.
    pub strides: Vec<usize>,
}

impl Default for ConvSettings {
    fn default() -> Self {
        Self {
            latent_size: 32,
            input_size: None,
            grayscale: false,
            channels: None,
            kernel_sizes: vec![4],
            strides: vec![2],
        }
    }
}

/// One convolution and, backwards, its transposed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Level {
    /// Height and width of what it takes.
    pub(crate) size_in: [usize; 2],
    /// Height and width of what it gives.
    pub(crate) size_out: [usize; 2],
    pub(crate) channels_in: usize,
    pub(crate) channels_out: usize,
    pub(crate) kernel: usize,
    pub(crate) stride: usize,
}

impl Level {
    /// Height and width of the kernel that turns `size_out` back into `size_in`.
    pub(crate) fn kernel_back(&self) -> [usize; 2] {
        self.size_in.map(|size| self.kernel + (size - self.kernel) % self.stride)
    }

    /// Numbers that the kernel sees of a frame.
    fn seen(&self) -> usize {
        self.size_out[0] * self.size_out[1] * self.kernel * self.kernel * self.channels_in
    }
}

impl ConvSettings {
    /// The space that frames of `space` are brought into.
    pub(crate) fn input_space(&self, encoder: &str, space: &Space) -> Result<Space, EncoderError> {
        let misfit = |expected: &str| EncoderError::Space {
            encoder: encoder.to_owned(),
            expected: expected.to_owned(),
            found: space.to_string(),
        };
        let Space::Image { height, width, channels } = *space else {
            return Err(misfit("frames (vectors: mlp or identity)"));
        };
        if self.grayscale && ![1, 3].contains(&channels) {
            return Err(misfit("frames of 1 or 3 channels where grayscale is true"));
        }
        let [height, width] = self.input_size.unwrap_or([height, width]);
        if self.input_size.is_some()
            && ![height, width].iter().all(|side| (1..=LONGEST_SIDE).contains(side))
        {
            let reason =
                format!("input_size is [{height}, {width}]; each must be from 1 to {LONGEST_SIDE}");
            return Err(wrong(encoder, reason));
        }
        Ok(Space::Image { height, width, channels: if self.grayscale { 1 } else { channels } })
    }

    /// The convolutions for frames of `input`, at least one.
    pub(crate) fn levels(&self, encoder: &str, input: &Space) -> Result<Vec<Level>, EncoderError> {
        let space = self.input_space(encoder, input)?;
        let Space::Image { height, width, channels: colours } = space else {
            unreachable!("checked just now")
        };
        if space != *input {
            return Err(EncoderError::Space {
                encoder: encoder.to_owned(),
                expected: space.to_string(),
                found: input.to_string(),
            });
        }
        self.check(encoder)?;
        let mut levels: Vec<Level> = Vec::new();
        let (mut size, mut channels_in) = ([height, width], colours);
        let at = |list: &[usize], index: usize| if list.len() == 1 { list[0] } else { list[index] };
        loop {
            let index = levels.len();
            let channels_out = match &self.channels {
                Some(channels) if index == channels.len() => break,
                Some(channels) => channels[index],
                None if index > 0 && size[0].min(size[1]) <= SMALL => break,
                None if index >= self.most_levels() => break,
                None => 32 << index.min(3),
            };
            let (kernel, stride) = (at(&self.kernel_sizes, index), at(&self.strides, index));
            if size.iter().any(|&side| side < kernel) {
                if self.channels.is_none() && index > 0 {
                    break;
                }
                let [height, width] = size;
                let reason = format!(
                    "frames of {}×{} are too small: convolution {} of kernel {kernel} would see \
                     {height}×{width}; give fewer convolutions (`channels`), smaller kernel_sizes or \
                     strides, or a larger input_size",
                    self.side(input, 0),
                    self.side(input, 1),
                    index + 1,
                );
                return Err(wrong(encoder, reason));
            }
            let size_out = size.map(|side| (side - kernel) / stride + 1);
            levels.push(Level {
                size_in: size,
                size_out,
                channels_in,
                channels_out,
                kernel,
                stride,
            });
            (size, channels_in) = (size_out, channels_out);
        }
        if let Some(index) = levels.iter().position(|level| level.seen() > MOST_SEEN) {
            let reason = format!(
                "convolution {} would see {} numbers of a frame, of which {MOST_SEEN} are allowed; \
                 give fewer channels, smaller kernel_sizes, larger strides, or a smaller input_size",
                index + 1,
                levels[index].seen(),
            );
            return Err(wrong(encoder, reason));
        }
        Ok(levels)
    }

    fn side(&self, input: &Space, index: usize) -> usize {
        input.shape()[index]
    }

    /// How many convolutions there can be where `channels` does not say.
    fn most_levels(&self) -> usize {
        let listed = [&self.kernel_sizes, &self.strides].map(|list| list.len());
        listed.into_iter().filter(|&len| len > 1).min().unwrap_or(DEEPEST)
    }

    fn check(&self, encoder: &str) -> Result<(), EncoderError> {
        let Self { latent_size, channels, kernel_sizes, strides, .. } = self;
        if !(1..=MOST).contains(latent_size) {
            let reason = format!("latent_size is {latent_size}; it must be from 1 to {MOST}");
            return Err(wrong(encoder, reason));
        }
        if let Some(channels) = channels
            && !((1..=DEEPEST).contains(&channels.len())
                && channels.iter().all(|channels| (1..=MOST).contains(channels)))
        {
            let reason = format!(
                "channels are {channels:?}; there must be 1 to {DEEPEST}, each from 1 to {MOST}"
            );
            return Err(wrong(encoder, reason));
        }
        for (name, list) in [("kernel_sizes", kernel_sizes), ("strides", strides)] {
            let fits = match channels {
                _ if list.len() == 1 => true,
                Some(channels) => list.len() == channels.len(),
                None => (1..=DEEPEST).contains(&list.len()),
            };
            if !(fits && list.iter().all(|n| (1..=LARGEST_KERNEL).contains(n))) {
                let reason = format!(
                    "{name} are {list:?}; there must be one for all convolutions or one for each, \
                     from 1 to {LARGEST_KERNEL}"
                );
                return Err(wrong(encoder, reason));
            }
        }
        let count = kernel_sizes.len().max(strides.len());
        for index in 0..count {
            let at = |list: &[usize]| list.get(index).or(list.last()).copied().unwrap_or(1);
            if at(strides) > at(kernel_sizes) {
                let reason = format!(
                    "strides are {strides:?} and kernel_sizes {kernel_sizes:?}; a stride above its \
                     kernel's size would leave pixels out"
                );
                return Err(wrong(encoder, reason));
            }
        }
        Ok(())
    }
}

/// A bad value in the config of `encoder`.
pub(crate) fn wrong(encoder: &str, reason: String) -> EncoderError {
    EncoderError::Config { encoder: encoder.to_owned(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(height: usize, width: usize) -> Space {
        Space::Image { height, width, channels: 3 }
    }

    fn sizes(settings: &ConvSettings, height: usize, width: usize) -> Vec<[usize; 2]> {
        let levels = settings.levels("vae", &image(height, width)).unwrap();
        levels.iter().map(|level| level.size_out).collect()
    }

    #[test]
    fn the_depth_follows_from_the_size() {
        let default = ConvSettings::default();
        let square = |side: usize| -> Vec<usize> {
            sizes(&default, side, side).into_iter().map(|[height, _]| height).collect()
        };
        assert_eq!(square(64), [31, 14, 6, 2]); // the paper's
        assert_eq!(square(96), [47, 22, 10, 4]);
        assert_eq!(square(84), [41, 19, 8, 3]);
        assert_eq!(square(28), [13, 5]);
        assert_eq!(square(4), [1]);
        assert_eq!(square(224), [111, 54, 26, 12, 5]);
        assert_eq!(sizes(&default, 210, 160), [[104, 79], [51, 38], [24, 18], [11, 8], [4, 3]]);
        assert_eq!(sizes(&default, 4, 4096), [[1, 2047]]);
    }

    #[test]
    fn transposed_convolutions_give_back_every_size() {
        let settings = ConvSettings {
            channels: Some(vec![8, 8, 8]),
            kernel_sizes: vec![5, 4, 3],
            strides: vec![3, 2, 1],
            ..Default::default()
        };
        for (height, width) in [(64, 64), (61, 47), (33, 90), (96, 128), (29, 31)] {
            for level in settings.levels("vae", &image(height, width)).unwrap() {
                for (side, back) in level.kernel_back().into_iter().enumerate() {
                    let size = (level.size_out[side] - 1) * level.stride + back;
                    assert_eq!(size, level.size_in[side], "{level:?}");
                }
            }
        }
    }

    #[test]
    fn bad_settings_are_named() {
        let check = |settings: ConvSettings, space: Space, expected: &str| {
            let input = settings.input_space("vae", &space);
            let error = input.and_then(|input| settings.levels("vae", &input)).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        };
        let default = ConvSettings::default;
        let channels = |channels: &[usize]| Some(channels.to_vec());
        check(default(), image(3, 30), "frames of 3×30 are too small: convolution 1 of kernel 4");
        let five = ConvSettings { channels: channels(&[8; 5]), ..default() };
        check(five, image(64, 64), "convolution 5 of kernel 4 would see 2×2");
        let many = ConvSettings { channels: channels(&[8; 17]), ..default() };
        check(many, image(64, 64), "there must be 1 to 16");
        let none = ConvSettings { channels: channels(&[8, 0]), ..default() };
        check(none, image(64, 64), "channels are [8, 0]");
        let deep = ConvSettings {
            channels: channels(&[65_536; 2]),
            kernel_sizes: vec![4, 64],
            strides: vec![1],
            ..default()
        };
        check(deep, image(512, 512), "convolution 2 would see");
        let zero = ConvSettings { latent_size: 0, ..default() };
        check(zero, image(64, 64), "latent_size is 0; it must be from 1 to 65536");
        let size = ConvSettings { input_size: Some([0, 9]), ..default() };
        check(size, image(64, 64), "input_size is [0, 9]");
        let kernels =
            ConvSettings { kernel_sizes: vec![4, 4], channels: channels(&[8; 3]), ..default() };
        check(kernels, image(64, 64), "kernel_sizes are [4, 4]");
        let strides = ConvSettings { strides: vec![5], ..default() };
        check(strides, image(64, 64), "a stride above its kernel's size");
        let empty = ConvSettings { strides: vec![], ..default() };
        check(empty, image(64, 64), "strides are []");
        let grey = ConvSettings { grayscale: true, ..default() };
        let four = Space::Image { height: 64, width: 64, channels: 4 };
        check(grey, four, "frames of 1 or 3 channels where grayscale is true");
        let vectors = Space::Box { low: vec![0.0], high: vec![1.0] };
        check(default(), vectors, "vae takes frames (vectors: mlp or identity), not Box");
    }
}
