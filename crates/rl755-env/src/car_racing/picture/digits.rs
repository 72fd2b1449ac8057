//! The score's characters: their shapes, and where they stand.

/// Rows and columns of a character's shape.
pub(super) const GRID: usize = 7;

/// Middle of the score and its height, in pixels of Gymnasium's window (y down).
const SCORE_CENTER: f32 = 60.0;
pub(super) const SCORE_TOP: f32 = 731.7;
pub(super) const SCORE_HEIGHT: f32 = 31.5;

/// Pixels of the window from a digit's left to that of the digit after it; measured with the font
/// of pygame 2.6.1, whose digits stand apart by shape.
const ADVANCES: [[u8; 10]; 10] = [
    [25, 23, 26, 26, 23, 26, 23, 23, 25, 26],
    [23, 19, 23, 23, 23, 23, 23, 20, 23, 23],
    [26, 23, 23, 25, 23, 23, 26, 23, 25, 26],
    [25, 23, 25, 26, 23, 26, 25, 23, 26, 26],
    [26, 23, 25, 26, 23, 26, 26, 23, 27, 26],
    [23, 23, 23, 26, 23, 26, 23, 23, 25, 26],
    [25, 23, 23, 26, 23, 26, 25, 23, 26, 26],
    [23, 23, 23, 23, 20, 23, 23, 23, 23, 23],
    [25, 23, 25, 26, 23, 26, 25, 23, 25, 26],
    [23, 23, 25, 25, 23, 25, 23, 23, 23, 25],
];
/// The same of a digit with no digit after it, and of a minus sign.
const DIGIT_ADVANCE: u8 = 23;
const MINUS_ADVANCE: u8 = 14;

/// The characters of a score, each with the window's column where its ink begins.
pub(super) fn score_glyphs(text: &str) -> impl Iterator<Item = (Glyph, f32)> {
    let next = text.chars().skip(1).map(Some).chain([None]);
    let advances = text.chars().zip(next).map(|(character, next)| advance(character, next));
    let width: f32 = advances.clone().sum();
    let mut left = SCORE_CENTER - (width / 2.0).floor();
    text.chars().zip(advances).map(move |(character, advance)| {
        let glyph = Glyph::of(character);
        let begin = left + glyph.bearing;
        left += advance;
        (glyph, begin)
    })
}

fn advance(character: char, next: Option<char>) -> f32 {
    let digit = |character: char| character.to_digit(10).map(|digit| digit as usize);
    f32::from(match (digit(character), next.and_then(digit)) {
        (Some(digit), Some(next)) => ADVANCES[digit][next],
        (Some(_), None) => DIGIT_ADVANCE,
        (None, _) => MINUS_ADVANCE,
    })
}

/// A character in pixels of Gymnasium's window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Glyph {
    /// Width of its ink.
    pub(super) width: f32,
    /// How far its ink is from its left.
    bearing: f32,
    /// How much of each of 7 rows of 5 fields is inked, in ninths, as digits of text.
    shape: [&'static str; GRID],
}

/// Columns of a character's shape.
pub(super) const COLUMNS: usize = 5;

impl Glyph {
    /// The shape of a digit or the minus sign; of anything else, nothing.
    pub(super) fn of(character: char) -> Self {
        let wide = |shape| Self { width: 21.0, bearing: 1.0, shape };
        match character {
            '0' => wide(["17971", "78087", "95059", "95059", "95059", "78087", "17971"]),
            '1' => Self {
                width: 14.0,
                bearing: 2.0,
                shape: ["00069", "13799", "99999", "00099", "00099", "00099", "00099"],
            },
            '2' => wide(["17972", "84048", "00058", "00285", "05930", "49200", "99999"]),
            '3' => wide(["27971", "83058", "00058", "00894", "00059", "93059", "27971"]),
            '4' => wide(["00096", "00696", "04596", "36096", "99999", "00096", "00096"]),
            '5' => wide(["49998", "65000", "89971", "63057", "00059", "94058", "27971"]),
            '6' => wide(["05982", "58035", "96974", "98058", "95059", "68058", "06971"]),
            '7' => wide(["99999", "00058", "00192", "00650", "01920", "04700", "06600"]),
            '8' => wide(["17971", "68086", "58085", "17971", "85058", "95059", "27972"]),
            '9' => wide(["17960", "85086", "95059", "85089", "47969", "53085", "28950"]),
            '-' => Self {
                width: 12.0,
                bearing: 1.0,
                shape: ["00000", "00000", "00000", "55555", "77777", "00000", "00000"],
            },
            _ => wide(["00000"; GRID]),
        }
    }

    /// How much of a field is inked, 0 to 1.
    pub(super) fn ink(&self, row: usize, column: usize) -> f32 {
        f32::from(self.shape[row].as_bytes()[column] - b'0') / 9.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_begin_where_pygames_do() {
        let begins = [
            ("0000", 12.0),
            ("0123", 14.0),
            ("1111", 22.0),
            ("-012", 20.0),
            ("-100", 19.0),
            ("1000", 14.0),
            ("0987", 14.0),
        ];
        for (text, begin) in begins {
            assert_eq!(score_glyphs(text).next().unwrap().1, begin, "{text}");
            assert_eq!(score_glyphs(text).count(), 4);
        }
        assert_eq!(score_glyphs("").count(), 0);
    }
}
