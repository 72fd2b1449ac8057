//! The road's tiles: where they are, their colours, and which parts of the car touch them.

use super::{
    box2d::{
        distance::touches,
        math::{Transform, Vec2},
        polygon::{Bounds, Polygon},
    },
    car::{CarBodies, WHEELS},
    colors::CarRacingColors,
    sign,
    tile_grid::TileGrid,
    track::{BORDER, TRACK_WIDTH, TrackPoint, kerbs},
};

/// The bits of [`Tile::touching`] that belong to wheels.
const WHEEL_BITS: u8 = (1 << WHEELS) - 1;
/// More than the skins of two polygons together, in metres.
const TOUCH_MARGIN: f32 = 0.1;

/// A polygon of the road as it is drawn: a tile or a piece of kerb.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoadPolygon {
    /// Left and right corner at one track point, right and left at the one before; metres.
    pub corners: [[f64; 2]; 4],
    /// Red, green, blue; a tile's changes when the car first touches it.
    pub color: [u8; 3],
}

/// A sensor of the road.
#[derive(Clone, Debug)]
struct Tile {
    shape: Polygon,
    bounds: Bounds,
    /// Which entry of [`Road::polygons`] shows it.
    polygon: usize,
    /// A wheel has touched it in this episode.
    visited: bool,
    /// One bit for each fixture of the car that touches it now.
    touching: u8,
}

/// The road of one episode.
#[derive(Clone, Debug)]
pub(crate) struct Road {
    /// In Gymnasium's drawing order: each tile, followed by its kerb where it has one.
    pub(crate) polygons: Vec<RoadPolygon>,
    tiles: Vec<Tile>,
    grid: TileGrid,
    /// Tiles with a bit set in `touching`; room for all of them.
    touched: Vec<usize>,
    visited: usize,
    /// The colour of a tile from the moment that any part of the car touches it.
    touched_color: [u8; 3],
}

/// What [`Road::sense`] found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Visits {
    /// Tiles that a wheel touched for the first time in the episode.
    pub(crate) new: usize,
    /// The first tile was one of them.
    pub(crate) first_tile: bool,
}

impl Road {
    /// Lays the road along `track`.
    pub(crate) fn new(track: &[TrackPoint], colors: &CarRacingColors) -> Self {
        let kerbs = kerbs(track);
        let mut polygons = Vec::with_capacity(2 * track.len());
        let mut tiles = Vec::with_capacity(track.len());
        for (i, point) in track.iter().enumerate() {
            let previous = &track[(i + track.len() - 1) % track.len()];
            let corners = strip(point, previous, -TRACK_WIDTH, TRACK_WIDTH);
            let shape = Polygon::hull(&corners.map(Vec2::from_f64));
            let bounds = shape.bounds(Transform::IDENTITY);
            tiles.push(Tile {
                shape,
                bounds,
                polygon: polygons.len(),
                visited: false,
                touching: 0,
            });
            polygons.push(RoadPolygon { corners, color: colors.shades[i % 3] });
            if kerbs[i] {
                let side = sign(previous.beta - point.beta);
                let inner = side * TRACK_WIDTH;
                let outer = side * (TRACK_WIDTH + BORDER);
                let color = if i % 2 == 0 { [255, 255, 255] } else { [255, 0, 0] };
                polygons.push(RoadPolygon { corners: strip(point, previous, inner, outer), color });
            }
        }
        let grid = TileGrid::new(tiles.iter().map(|t| t.bounds));
        let touched = Vec::with_capacity(tiles.len());
        Self { polygons, tiles, grid, touched, visited: 0, touched_color: colors.road }
    }

    /// How many tiles the road has.
    pub(crate) fn len(&self) -> usize {
        self.tiles.len()
    }

    /// How many of them wheels have touched.
    pub(crate) fn visited(&self) -> usize {
        self.visited
    }

    /// How many tiles wheel `wheel` touches now.
    pub(crate) fn tiles_under_wheel(&self, wheel: usize) -> usize {
        self.touched.iter().filter(|&&i| self.tiles[i].touching >> wheel & 1 == 1).count()
    }

    /// Finds which tiles the car touches: Box2D's `Collide` for the car's sensor contacts.
    pub(crate) fn sense(&mut self, car: &CarBodies) -> Visits {
        let parts = Parts::new(car);
        let mut visits = Visits::default();
        let mut touched = std::mem::take(&mut self.touched);
        touched.retain(|&i| {
            self.update(i, &parts, &mut visits);
            self.tiles[i].touching != 0
        });
        let grid = std::mem::take(&mut self.grid);
        grid.visit(parts.bounds, |i| {
            // A tile of several cells comes up several times; touched ones have had their turn.
            if self.tiles[i].touching == 0 && self.tiles[i].bounds.overlaps(parts.bounds) {
                self.update(i, &parts, &mut visits);
                if self.tiles[i].touching != 0 {
                    touched.push(i);
                }
            }
        });
        self.grid = grid;
        self.touched = touched;
        visits
    }

    fn update(&mut self, index: usize, parts: &Parts<'_>, visits: &mut Visits) {
        let tile = &mut self.tiles[index];
        let colored = self.polygons[tile.polygon].color == self.touched_color;
        tile.touching = 0;
        for (bit, part) in parts.all.iter().enumerate() {
            // All that the hull's touch can do is to give the tile its colour.
            if (bit < WHEELS || !colored) && part.touches(tile) {
                tile.touching |= 1 << bit;
            }
        }
        if tile.touching == 0 {
            return;
        }
        self.polygons[tile.polygon].color = self.touched_color;
        if !tile.visited && tile.touching & WHEEL_BITS != 0 {
            tile.visited = true;
            self.visited += 1;
            visits.new += 1;
            visits.first_tile |= index == 0;
        }
    }
}

/// A fixture of the car in the world.
#[derive(Clone, Copy)]
struct Part<'a> {
    polygon: &'a Polygon,
    transform: Transform,
    bounds: Bounds,
}

impl<'a> Part<'a> {
    fn new(polygon: &'a Polygon, transform: Transform) -> Self {
        Self { polygon, transform, bounds: polygon.bounds(transform).grown(TOUCH_MARGIN) }
    }

    fn touches(&self, tile: &Tile) -> bool {
        self.bounds.overlaps(tile.bounds)
            && touches((&tile.shape, Transform::IDENTITY), (self.polygon, self.transform))
    }
}

/// The wheels in order, then the hull's polygons.
struct Parts<'a> {
    all: [Part<'a>; 2 * WHEELS],
    bounds: Bounds,
}

impl<'a> Parts<'a> {
    fn new(car: &'a CarBodies) -> Self {
        let all = std::array::from_fn(|i| {
            let (body, polygon) =
                if i < WHEELS { (&car.wheels[i], 0) } else { (&car.hull, i - WHEELS) };
            Part::new(&body.polygons[polygon], body.transform)
        });
        let bounds = all.iter().fold(Bounds::EMPTY, |b, p: &Part<'_>| b.union(p.bounds));
        Self { all, bounds }
    }
}

/// The quadrilateral between two track points, from `from` to `to` metres right of the centre.
fn strip(point: &TrackPoint, previous: &TrackPoint, from: f64, to: f64) -> [[f64; 2]; 4] {
    let at =
        |p: &TrackPoint, offset: f64| [p.x + offset * p.beta.cos(), p.y + offset * p.beta.sin()];
    [at(point, from), at(point, to), at(previous, to), at(previous, from)]
}
