//! A curve of as many points as one likes, in bounded memory.

use crate::server::Curve;

/// No curve has more points.
const MOST_POINTS: usize = 2000;

/// Means of `each` values in a row; when there are too many points, each two become one.
#[derive(Clone, Debug)]
pub(super) struct Series {
    points: Vec<Point>,
    each: usize,
    /// The point that has not got all its values yet.
    growing: Point,
}

/// The sum of some values.
#[derive(Clone, Copy, Debug, Default)]
struct Point {
    x: f64,
    y: f64,
    /// How many values there are.
    count: usize,
    /// How many of them are numbers.
    finite: usize,
}

impl Default for Series {
    fn default() -> Self {
        Self { points: Vec::new(), each: 1, growing: Point::default() }
    }
}

impl Series {
    /// The next value.
    pub(super) fn push(&mut self, x: f64, y: f64) {
        self.growing.add(Point { x, y, count: 1, finite: 1 }.counted());
        if self.growing.count < self.each {
            return;
        }
        self.points.push(std::mem::take(&mut self.growing));
        // One place is for the point that grows.
        if self.points.len() == MOST_POINTS - 1 {
            let points = std::mem::take(&mut self.points);
            for pair in points.chunks(2) {
                let mut point = Point::default();
                pair.iter().for_each(|p| point.add(*p));
                self.points.push(point);
            }
            self.each *= 2;
            // Where their number is odd, the last has half of its values.
            if let Some(last) = self.points.pop_if(|p| p.count < self.each) {
                self.growing = last;
            }
        }
    }

    /// Its points, with that which grows.
    pub(super) fn curve(&self, name: &str) -> Curve {
        let growing = Some(&self.growing).filter(|p| p.count > 0);
        let points = self.points.iter().chain(growing);
        let (x, y) = points.map(|p| (p.x / p.count as f64, p.y / p.finite as f64)).unzip();
        Curve { name: name.to_owned(), x, y }
    }
}

impl Point {
    /// What is no number counts as none, so that it leaves a gap only if it is alone.
    fn counted(self) -> Self {
        if self.y.is_finite() { self } else { Self { y: 0.0, finite: 0, ..self } }
    }

    fn add(&mut self, other: Self) {
        self.x += other.x;
        self.y += other.y;
        self.count += other.count;
        self.finite += other.finite;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_points_are_kept_as_they_are() {
        let mut series = Series::default();
        for i in 0..1998 {
            series.push(f64::from(i), f64::from(i * i));
        }
        let curve = series.curve("a/b");
        assert_eq!(curve.name, "a/b");
        assert!(curve.x.iter().enumerate().all(|(i, x)| *x == i as f64));
        assert_eq!((curve.x.len(), curve.y[1997]), (1998, 1997.0 * 1997.0));
    }

    #[test]
    fn many_points_become_means_of_equally_many() {
        let mut series = Series::default();
        for i in 0..1_000_001 {
            series.push(f64::from(i), 2.0 * f64::from(i));
            if i % 1000 == 0 {
                let curve = series.curve("");
                assert!(curve.x.len() <= MOST_POINTS && curve.x.len() == curve.y.len());
                assert!(curve.x.is_sorted());
                assert!(curve.x.iter().zip(&curve.y).all(|(x, y)| *y == 2.0 * x));
            }
        }
        let x = series.curve("").x;
        assert!(x.len() > 900);
        // Each but the last is the mean of 512 values.
        let expected = (0..x.len() - 1).map(|i| 512.0 * i as f64 + 255.5);
        assert!(x.iter().copied().zip(expected).all(|(x, expected)| x == expected));
    }

    #[test]
    fn what_is_no_number_leaves_a_gap_only_if_it_is_alone() {
        let mut series = Series::default();
        series.push(1.0, f64::NAN);
        assert!(series.curve("").y[0].is_nan());
        for i in 0..3000 {
            series.push(f64::from(i), if i % 2 == 0 { 1.0 } else { f64::INFINITY });
        }
        let y = series.curve("").y;
        // The last value is alone, and no number.
        assert_eq!(y.iter().position(|y| *y != 1.0), Some(y.len() - 1));
    }
}
