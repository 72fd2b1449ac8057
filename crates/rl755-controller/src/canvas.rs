//! Lines, dots and small text on a white picture.

/// Red, green, blue.
pub(crate) type Color = [u8; 3];

/// A picture being drawn; what lies outside of it is left out.
pub(crate) struct Canvas {
    height: usize,
    width: usize,
    pixels: Vec<u8>,
}

impl Canvas {
    /// White, of that height and width.
    pub(crate) fn new([height, width]: [usize; 2]) -> Self {
        Self { height, width, pixels: vec![255; height * width * 3] }
    }

    fn set(&mut self, x: f64, y: f64, color: Color) {
        let (x, y) = (x.round(), y.round());
        if x >= 0.0 && y >= 0.0 && (x as usize) < self.width && (y as usize) < self.height {
            let at = (y as usize * self.width + x as usize) * 3;
            self.pixels[at..at + 3].copy_from_slice(&color);
        }
    }

    /// A line two pixels wide.
    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64), color: Color) {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let steps = dx.abs().max(dy.abs()).ceil().max(1.0);
        for step in 0..=steps as usize {
            let part = step as f64 / steps;
            let (x, y) = (from.0 + part * dx, from.1 + part * dy);
            self.set(x, y, color);
            // Thickened across its direction.
            if dx.abs() > dy.abs() {
                self.set(x, y + 1.0, color)
            } else {
                self.set(x + 1.0, y, color)
            }
        }
    }

    /// A round dot.
    pub(crate) fn dot(&mut self, at: (f64, f64), color: Color) {
        for dy in -4..=4 {
            for dx in -4..=4 {
                if dx * dx + dy * dy <= 18 {
                    self.set(at.0 + f64::from(dx), at.1 + f64::from(dy), color);
                }
            }
        }
    }

    /// Text whose upper left corner is `at`: letters of 10 × 14 pixels, 12 apart.
    pub(crate) fn text(&mut self, at: (f64, f64), text: &str, color: Color) {
        for (place, letter) in text.chars().enumerate() {
            for (row, bits) in glyph(letter).into_iter().enumerate() {
                for column in (0..5).filter(|column| bits >> (4 - column) & 1 == 1) {
                    let (x, y) = (place * 12 + column * 2, row * 2);
                    for (dx, dy) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                        self.set(at.0 + (x + dx) as f64, at.1 + (y + dy) as f64, color);
                    }
                }
            }
        }
    }

    /// The picture as PNG.
    pub(crate) fn png(&self) -> Vec<u8> {
        let mut png = Vec::new();
        let mut encoder = png::Encoder::new(&mut png, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        let written = encoder.write_header().and_then(|mut w| w.write_image_data(&self.pixels));
        written.expect("a picture of the right size is written to memory");
        png
    }
}

/// Seven rows of five pixels, the highest of five bits to the left.
fn glyph(letter: char) -> [u8; 7] {
    match letter {
        '0' => [14, 17, 19, 21, 25, 17, 14],
        '1' => [4, 12, 4, 4, 4, 4, 14],
        '2' => [14, 17, 1, 2, 4, 8, 31],
        '3' => [31, 2, 4, 2, 1, 17, 14],
        '4' => [2, 6, 10, 18, 31, 2, 2],
        '5' => [31, 16, 30, 1, 1, 17, 14],
        '6' => [6, 8, 16, 30, 17, 17, 14],
        '7' => [31, 1, 2, 4, 8, 8, 8],
        '8' => [14, 17, 17, 14, 17, 17, 14],
        '9' => [14, 17, 17, 15, 1, 2, 12],
        '-' => [0, 0, 0, 31, 0, 0, 0],
        '.' => [0, 0, 0, 0, 0, 12, 12],
        'a' => [0, 0, 14, 1, 15, 17, 15],
        'b' => [16, 16, 30, 17, 17, 17, 30],
        'c' => [0, 0, 14, 16, 16, 17, 14],
        'e' => [0, 0, 14, 17, 31, 16, 14],
        'f' => [6, 9, 8, 28, 8, 8, 8],
        'g' => [0, 15, 17, 17, 15, 1, 14],
        'i' => [4, 0, 12, 4, 4, 4, 14],
        'l' => [12, 4, 4, 4, 4, 4, 14],
        'm' => [0, 0, 26, 21, 21, 17, 17],
        'n' => [0, 0, 22, 25, 17, 17, 17],
        'o' => [0, 0, 14, 17, 17, 17, 14],
        'r' => [0, 0, 22, 25, 16, 16, 16],
        's' => [0, 0, 14, 16, 14, 1, 30],
        't' => [8, 8, 28, 8, 8, 9, 6],
        'u' => [0, 0, 17, 17, 17, 19, 13],
        'v' => [0, 0, 17, 17, 17, 10, 4],
        _ => [0; 7],
    }
}
