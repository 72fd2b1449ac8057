//! What is to be seen on a part of the screen.

use std::collections::BTreeSet;

pub(crate) struct Picture {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pixels: Vec<[u8; 3]>,
}

impl Picture {
    pub(crate) fn read(png: &[u8]) -> Self {
        let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut bytes).unwrap();
        assert_eq!(info.bit_depth, png::BitDepth::Eight);
        let pixels = bytes[..info.buffer_size()].chunks(info.color_type.samples());
        let pixels = pixels.map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
        Self { width: info.width as usize, height: info.height as usize, pixels }
    }

    /// Which part of the pixels differs visibly.
    pub(crate) fn difference(&self, other: &Self) -> f64 {
        assert_eq!((self.width, self.height), (other.width, other.height));
        let pairs = self.pixels.iter().zip(&other.pixels);
        self.part(pairs.filter(|(a, b)| (0..3).any(|i| a[i].abs_diff(b[i]) > 12)).count())
    }

    /// How many colours there are.
    pub(crate) fn colours(&self) -> usize {
        self.pixels.iter().collect::<BTreeSet<_>>().len()
    }

    /// How bright it is on average, from 0 to 255.
    pub(crate) fn brightness(&self) -> f64 {
        let sum: u64 = self.pixels.iter().flatten().map(|value| u64::from(*value)).sum();
        sum as f64 / (3 * self.pixels.len()) as f64
    }

    /// The pixels of a kind of colour: which part of all they are, and the first and last column and
    /// row that have one.
    pub(crate) fn find(&self, is_wanted: impl Fn([u8; 3]) -> bool) -> Option<Found> {
        let found = self.pixels.iter().enumerate().filter(|(_, pixel)| is_wanted(**pixel));
        let places: Vec<_> = found.map(|(i, _)| (i % self.width, i / self.width)).collect();
        Some(Found {
            part: self.part(places.len()),
            left: places.iter().map(|place| place.0).min()?,
            right: places.iter().map(|place| place.0).max()?,
            top: places.iter().map(|place| place.1).min()?,
            bottom: places.iter().map(|place| place.1).max()?,
        })
    }

    fn part(&self, pixels: usize) -> f64 {
        pixels as f64 / self.pixels.len() as f64
    }
}

#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) part: f64,
    pub(crate) left: usize,
    pub(crate) right: usize,
    pub(crate) top: usize,
    pub(crate) bottom: usize,
}
