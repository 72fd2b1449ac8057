//! Whether two convex polygons touch, by Box2D's GJK distance in single precision.

use super::{
    math::{Transform, Vec2, scalar_cross},
    polygon::Polygon,
};

/// The skin around every polygon, in metres (`b2_polygonRadius`).
const POLYGON_RADIUS: f32 = 0.01;
const MAX_ITERATIONS: usize = 20;

/// `b2TestOverlap`: whether the polygons' skins touch.
pub(crate) fn touches(a: (&Polygon, Transform), b: (&Polygon, Transform)) -> bool {
    let mut distance = distance(a, b);
    let skins = POLYGON_RADIUS + POLYGON_RADIUS;
    distance = if distance > skins && distance > f32::EPSILON { distance - skins } else { 0.0 };
    distance < 10.0 * f32::EPSILON
}

/// `b2Distance` without skins and with an empty cache; 0 when the polygons overlap.
fn distance(a: (&Polygon, Transform), b: (&Polygon, Transform)) -> f32 {
    let mut simplex = Simplex { vertices: [SimplexVertex::at(a, b, 0, 0); 3], count: 1 };
    simplex.vertices[0].weight = 1.0;
    for _ in 0..MAX_ITERATIONS {
        let saved = simplex.vertices.map(|v| (v.index_a, v.index_b));
        let saved = &saved[..simplex.count];
        match simplex.count {
            2 => simplex.solve2(),
            3 => simplex.solve3(),
            _ => {}
        }
        if simplex.count == 3 {
            break;
        }
        let direction = simplex.search_direction();
        if direction.length_squared() < f32::EPSILON * f32::EPSILON {
            break;
        }
        let index_a = support(a.0, a.1.rotation.apply_inverse(-direction));
        let index_b = support(b.0, b.1.rotation.apply_inverse(direction));
        let vertex = SimplexVertex::at(a, b, index_a, index_b);
        simplex.vertices[simplex.count] = vertex;
        // A support point that was there before brings the origin no closer.
        if saved.contains(&(index_a, index_b)) {
            break;
        }
        simplex.count += 1;
    }
    let (on_a, on_b) = simplex.witness_points();
    (on_a - on_b).length()
}

/// The vertex farthest along `direction`, the first of several.
fn support(polygon: &Polygon, direction: Vec2) -> usize {
    let vertices = polygon.vertices();
    let (mut best, mut farthest) = (0, vertices[0].dot(direction));
    for (i, vertex) in vertices.iter().enumerate().skip(1) {
        let along = vertex.dot(direction);
        if along > farthest {
            best = i;
            farthest = along;
        }
    }
    best
}

/// A vertex of the Minkowski difference.
#[derive(Clone, Copy, Debug)]
struct SimplexVertex {
    on_a: Vec2,
    on_b: Vec2,
    /// `on_b - on_a`.
    difference: Vec2,
    /// Barycentric coordinate of the closest point.
    weight: f32,
    index_a: usize,
    index_b: usize,
}

impl SimplexVertex {
    fn at(
        a: (&Polygon, Transform),
        b: (&Polygon, Transform),
        index_a: usize,
        index_b: usize,
    ) -> Self {
        let on_a = a.1.apply(a.0.vertices()[index_a]);
        let on_b = b.1.apply(b.0.vertices()[index_b]);
        Self { on_a, on_b, difference: on_b - on_a, weight: 0.0, index_a, index_b }
    }
}

struct Simplex {
    vertices: [SimplexVertex; 3],
    count: usize,
}

impl Simplex {
    fn search_direction(&self) -> Vec2 {
        let w1 = self.vertices[0].difference;
        if self.count == 1 {
            return -w1;
        }
        let edge = self.vertices[1].difference - w1;
        if edge.cross(-w1) > 0.0 { scalar_cross(1.0, edge) } else { edge.cross_scalar(1.0) }
    }

    fn witness_points(&self) -> (Vec2, Vec2) {
        let [v1, v2, v3] = &self.vertices;
        match self.count {
            1 => (v1.on_a, v1.on_b),
            2 => (
                v1.on_a.scaled(v1.weight) + v2.on_a.scaled(v2.weight),
                v1.on_b.scaled(v1.weight) + v2.on_b.scaled(v2.weight),
            ),
            _ => {
                let inside = v1.on_a.scaled(v1.weight)
                    + v2.on_a.scaled(v2.weight)
                    + v3.on_a.scaled(v3.weight);
                (inside, inside)
            }
        }
    }

    /// Keeps vertex `i` alone.
    fn keep(&mut self, i: usize) {
        self.vertices[i].weight = 1.0;
        self.vertices[0] = self.vertices[i];
        self.count = 1;
    }

    /// Keeps the edge between vertices `i` and `j`, whose unnormalised weights are given.
    fn keep_edge(&mut self, (i, weight_i): (usize, f32), (j, weight_j): (usize, f32)) {
        let inverse = 1.0 / (weight_i + weight_j);
        self.vertices[i].weight = weight_i * inverse;
        self.vertices[j].weight = weight_j * inverse;
        self.count = 2;
    }

    /// The point of a segment that is closest to the origin.
    fn solve2(&mut self) {
        let (w1, w2) = (self.vertices[0].difference, self.vertices[1].difference);
        let e12 = w2 - w1;
        let d12_2 = -w1.dot(e12);
        if d12_2 <= 0.0 {
            return self.keep(0);
        }
        let d12_1 = w2.dot(e12);
        if d12_1 <= 0.0 {
            return self.keep(1);
        }
        self.keep_edge((0, d12_1), (1, d12_2));
    }

    /// The point of a triangle that is closest to the origin.
    fn solve3(&mut self) {
        let [w1, w2, w3] = self.vertices.map(|v| v.difference);
        let e12 = w2 - w1;
        let (d12_1, d12_2) = (w2.dot(e12), -w1.dot(e12));
        let e13 = w3 - w1;
        let (d13_1, d13_2) = (w3.dot(e13), -w1.dot(e13));
        let e23 = w3 - w2;
        let (d23_1, d23_2) = (w3.dot(e23), -w2.dot(e23));
        let n123 = e12.cross(e13);
        let d123_1 = n123 * w2.cross(w3);
        let d123_2 = n123 * w3.cross(w1);
        let d123_3 = n123 * w1.cross(w2);

        if d12_2 <= 0.0 && d13_2 <= 0.0 {
            self.keep(0);
        } else if d12_1 > 0.0 && d12_2 > 0.0 && d123_3 <= 0.0 {
            self.keep_edge((0, d12_1), (1, d12_2));
        } else if d13_1 > 0.0 && d13_2 > 0.0 && d123_2 <= 0.0 {
            self.keep_edge((0, d13_1), (2, d13_2));
            self.vertices[1] = self.vertices[2];
        } else if d12_1 <= 0.0 && d23_2 <= 0.0 {
            self.keep(1);
        } else if d13_1 <= 0.0 && d23_1 <= 0.0 {
            self.keep(2);
        } else if d23_1 > 0.0 && d23_2 > 0.0 && d123_1 <= 0.0 {
            self.keep_edge((1, d23_1), (2, d23_2));
            self.vertices[0] = self.vertices[2];
        } else {
            let inverse = 1.0 / (d123_1 + d123_2 + d123_3);
            for (vertex, weight) in self.vertices.iter_mut().zip([d123_1, d123_2, d123_3]) {
                vertex.weight = weight * inverse;
            }
            self.count = 3;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::car_racing::box2d::math::Rot;

    /// A square of side 2, its middle at `x`, `y`, against one at the origin.
    fn check(x: f32, y: f32, angle: f32, expected: bool) {
        let corners = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)];
        let square = Polygon::hull(&corners.map(|(x, y)| Vec2::new(x, y)));
        let moved = Transform { position: Vec2::new(x, y), rotation: Rot::new(angle) };
        let (a, b) = ((&square, Transform::IDENTITY), (&square, moved));
        assert_eq!(touches(a, b), expected, "{x} {y} {angle}");
        assert_eq!(touches(b, a), expected, "{x} {y} {angle}, the other way round");
    }

    #[test]
    fn edges_touch_within_two_skins() {
        check(2.0199, 0.3, 0.0, true);
        check(2.0201, 0.3, 0.0, false);
    }

    #[test]
    fn corners_touch_within_two_skins() {
        // Half a diagonal reaches √2; the gap is to the right edge at 1.
        let reach = 2.0f32.sqrt() + 1.0;
        check(reach + 0.0199, 0.0, std::f32::consts::FRAC_PI_4, true);
        check(reach + 0.0201, 0.0, std::f32::consts::FRAC_PI_4, false);
        // From corner to corner the gap is √2 times the offset of each axis.
        check(2.014, 2.014, 0.0, true);
        check(2.0143, 2.0143, 0.0, false);
    }

    #[test]
    fn overlapping_shapes_touch() {
        check(0.0, 0.0, 0.0, true);
        check(0.4, -0.7, 1.0, true);
    }
}
