//! The shapes of the score's characters.

/// Rows and columns of a character's shape.
pub(super) const GRID: usize = 7;

/// A character in pixels of Gymnasium's window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Glyph {
    /// Width of its ink.
    pub(super) width: f32,
    /// How much of each of 7 rows of 5 fields is inked, in ninths, as digits of text.
    shape: [&'static str; GRID],
}

/// Columns of a character's shape.
pub(super) const COLUMNS: usize = 5;

impl Glyph {
    /// The shape of a digit or the minus sign; of anything else, nothing.
    pub(super) fn of(character: char) -> Self {
        let wide = |shape| Self { width: 21.0, shape };
        match character {
            '0' => wide(["17971", "78087", "95059", "95059", "95059", "78087", "17971"]),
            '1' => Self {
                width: 14.0,
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
