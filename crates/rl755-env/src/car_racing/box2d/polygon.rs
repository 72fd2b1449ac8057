//! Convex polygons: their vertex order, mass and bounds.

use super::math::{Transform, Vec2};

/// A convex polygon in a body's local coordinates, its vertices counter-clockwise from the
/// right-most one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Polygon {
    vertices: Vec<Vec2>,
}

/// Mass properties of a polygon about its body's origin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MassData {
    pub(crate) mass: f32,
    pub(crate) center: Vec2,
    pub(crate) inertia: f32,
}

impl Polygon {
    /// The convex hull of `points`, by gift wrapping as in `b2PolygonShape::Set`.
    ///
    /// The order decides the order of the sums in [`Polygon::mass`], hence their last bits.
    pub(crate) fn hull(points: &[Vec2]) -> Self {
        let mut rightmost = 0;
        for (i, p) in points.iter().enumerate().skip(1) {
            let best = points[rightmost];
            if p.x > best.x || (p.x == best.x && p.y < best.y) {
                rightmost = i;
            }
        }
        let mut vertices = Vec::with_capacity(points.len());
        let mut current = rightmost;
        loop {
            vertices.push(points[current]);
            let mut next = 0;
            for j in 1..points.len() {
                if next == current {
                    next = j;
                    continue;
                }
                let r = points[next] - points[current];
                let v = points[j] - points[current];
                let turn = r.cross(v);
                if turn < 0.0 || (turn == 0.0 && v.length_squared() > r.length_squared()) {
                    next = j;
                }
            }
            current = next;
            // Repeated points could otherwise wrap for ever.
            if current == rightmost || vertices.len() == points.len() {
                break;
            }
        }
        Self { vertices }
    }

    pub(crate) fn vertices(&self) -> &[Vec2] {
        &self.vertices
    }

    /// Mass, centre and moment of inertia, as `b2PolygonShape::ComputeMass`.
    pub(crate) fn mass(&self, density: f32) -> MassData {
        const THIRD: f32 = 1.0 / 3.0;
        let vertices = &self.vertices;
        let sum = vertices.iter().fold(Vec2::ZERO, |sum, v| sum + *v);
        let reference = sum.scaled(1.0 / vertices.len() as f32);

        let (mut area, mut center, mut inertia) = (0.0f32, Vec2::ZERO, 0.0f32);
        for (i, vertex) in vertices.iter().enumerate() {
            let e1 = *vertex - reference;
            let e2 = *vertices.get(i + 1).unwrap_or(&vertices[0]) - reference;
            let doubled = e1.cross(e2);
            let triangle = 0.5 * doubled;
            area += triangle;
            center = center + (e1 + e2).scaled(triangle * THIRD);
            let x2 = e1.x * e1.x + e2.x * e1.x + e2.x * e2.x;
            let y2 = e1.y * e1.y + e2.y * e1.y + e2.y * e2.y;
            inertia += (0.25 * THIRD * doubled) * (x2 + y2);
        }
        let mass = density * area;
        let center = center.scaled(1.0 / area);
        let shifted = center + reference;
        let about_reference = density * inertia;
        MassData {
            mass,
            center: shifted,
            inertia: about_reference + mass * (shifted.dot(shifted) - center.dot(center)),
        }
    }

    /// The axis-aligned box around the transformed polygon.
    pub(crate) fn bounds(&self, transform: Transform) -> Bounds {
        self.vertices.iter().fold(Bounds::EMPTY, |bounds, v| bounds.with(transform.apply(*v)))
    }
}

/// An axis-aligned box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bounds {
    pub(crate) low: Vec2,
    pub(crate) high: Vec2,
}

impl Bounds {
    /// A box that holds nothing.
    pub(crate) const EMPTY: Self = Self {
        low: Vec2 { x: f32::INFINITY, y: f32::INFINITY },
        high: Vec2 { x: f32::NEG_INFINITY, y: f32::NEG_INFINITY },
    };

    /// The box around this one and `point`.
    pub(crate) fn with(self, point: Vec2) -> Self {
        Self {
            low: Vec2::new(self.low.x.min(point.x), self.low.y.min(point.y)),
            high: Vec2::new(self.high.x.max(point.x), self.high.y.max(point.y)),
        }
    }

    /// The box around both.
    pub(crate) fn union(self, other: Self) -> Self {
        self.with(other.low).with(other.high)
    }

    /// The box with `margin` added on each side.
    pub(crate) fn grown(self, margin: f32) -> Self {
        let m = Vec2::new(margin, margin);
        Self { low: self.low - m, high: self.high + m }
    }

    pub(crate) fn overlaps(self, other: Self) -> bool {
        self.low.x <= other.high.x
            && other.low.x <= self.high.x
            && self.low.y <= other.high.y
            && other.low.y <= self.high.y
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn polygon(points: &[(f32, f32)]) -> Polygon {
        Polygon::hull(&points.iter().map(|&(x, y)| Vec2::new(x, y)).collect::<Vec<_>>())
    }

    fn order(polygon: &Polygon) -> Vec<(f32, f32)> {
        polygon.vertices().iter().map(|v| (v.x, v.y)).collect()
    }

    #[test]
    fn hull_starts_at_the_lowest_rightmost_point_and_turns_left() {
        let square = polygon(&[(-1.0, 2.0), (1.0, 2.0), (1.0, -2.0), (-1.0, -2.0)]);
        assert_eq!(order(&square), [(1.0, -2.0), (1.0, 2.0), (-1.0, 2.0), (-1.0, -2.0)]);
    }

    #[test]
    fn hull_drops_inner_and_collinear_points() {
        let p = polygon(&[(0.0, 0.0), (2.0, 0.0), (1.0, 0.0), (1.0, 0.5), (2.0, 2.0), (0.0, 2.0)]);
        assert_eq!(order(&p), [(2.0, 0.0), (2.0, 2.0), (0.0, 2.0), (0.0, 0.0)]);
    }

    #[test]
    fn hull_of_one_repeated_point_ends() {
        assert!(polygon(&[(1.0, 1.0); 4]).vertices().len() <= 4);
    }

    #[test]
    fn mass_of_a_rectangle() {
        let m = polygon(&[(1.0, 1.0), (3.0, 1.0), (3.0, 5.0), (1.0, 5.0)]).mass(0.5);
        assert!((m.mass - 4.0).abs() < 1e-5);
        assert!((m.center - Vec2::new(2.0, 3.0)).length() < 1e-5);
        // m (w² + h²) / 12 about the centre, plus m d² about the origin.
        assert!((m.inertia - (4.0 * 20.0 / 12.0 + 4.0 * 13.0)).abs() < 1e-3);
    }
}
