//! A grid over the field that finds the tiles near a place.

use super::box2d::polygon::Bounds;

/// Side of a cell in metres: a tile is about 13 by 4, the car 3 by 5.
const CELL: f32 = 8.0;

/// For each cell, the tiles whose bounds reach into it.
#[derive(Clone, Debug, Default)]
pub(crate) struct TileGrid {
    left: f32,
    bottom: f32,
    columns: usize,
    rows: usize,
    /// Where each cell's tiles begin in `tiles`; one more entry than cells.
    starts: Vec<usize>,
    tiles: Vec<usize>,
}

impl TileGrid {
    /// Sorts tiles, given by their bounds, into cells.
    pub(crate) fn new(bounds: impl ExactSizeIterator<Item = Bounds> + Clone) -> Self {
        if bounds.len() == 0 {
            return Self::default();
        }
        let all = bounds.clone().fold(Bounds::EMPTY, Bounds::union);
        let cells = |length: f32| (length / CELL) as usize + 1;
        let mut grid = Self {
            left: all.low.x,
            bottom: all.low.y,
            columns: cells(all.high.x - all.low.x),
            rows: cells(all.high.y - all.low.y),
            ..Self::default()
        };
        let mut cells = vec![Vec::new(); grid.columns * grid.rows];
        for (tile, bounds) in bounds.enumerate() {
            grid.visit_cells(bounds, |cell| cells[cell].push(tile));
        }
        grid.starts = vec![0];
        for cell in cells {
            grid.tiles.extend(cell);
            grid.starts.push(grid.tiles.len());
        }
        grid
    }

    /// Calls `visit` with every tile that may overlap `bounds`, some of them more than once.
    pub(crate) fn visit(&self, bounds: Bounds, mut visit: impl FnMut(usize)) {
        self.visit_cells(bounds, |cell| {
            for &tile in &self.tiles[self.starts[cell]..self.starts[cell + 1]] {
                visit(tile);
            }
        });
    }

    fn visit_cells(&self, bounds: Bounds, mut visit: impl FnMut(usize)) {
        let range = |low: f32, high: f32, count: usize| {
            // Conversions from float saturate: what lies left of the grid counts as cell 0.
            let (first, last) = ((low / CELL) as usize, (high / CELL) as usize);
            if high < 0.0 { 0..0 } else { first..count.min(last + 1) }
        };
        for row in range(bounds.low.y - self.bottom, bounds.high.y - self.bottom, self.rows) {
            for column in range(bounds.low.x - self.left, bounds.high.x - self.left, self.columns) {
                visit(row * self.columns + column);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::car_racing::box2d::math::Vec2;

    fn square(x: f32, y: f32, side: f32) -> Bounds {
        Bounds::EMPTY.with(Vec2::new(x, y)).with(Vec2::new(x + side, y + side))
    }

    #[test]
    fn every_overlapping_tile_is_found() {
        let tiles: Vec<Bounds> = (0..40)
            .map(|i| square((i * 37 % 101) as f32 - 50.0, (i * 53 % 97) as f32, 9.0))
            .collect();
        let grid = TileGrid::new(tiles.iter().copied());
        for i in 0..400 {
            let query = square((i % 20) as f32 * 8.0 - 80.0, (i / 20) as f32 * 8.0 - 30.0, 5.0);
            let mut found = Vec::new();
            grid.visit(query, |tile| found.push(tile));
            for (index, tile) in tiles.iter().enumerate() {
                assert!(!tile.overlaps(query) || found.contains(&index), "{query:?} {index}");
            }
        }
    }
}
