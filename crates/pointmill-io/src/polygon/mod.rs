//! Polygons in the plane of x and y, and their text files.

mod slabs;

use crate::error::{IoError, excerpt};
use crate::fault::{bail, fault};
use crate::files::open_named;
use crate::window::{UTF16, is_utf16};
use slabs::{Slabs, is_right};
use std::fmt;
use std::io::Read;
use std::path::Path;

/// The most corners: each pair of edges is compared.
const MOST_CORNERS: usize = 10_000;
/// The farthest corner, in metres: products of farther ones do not decide where a point is.
const FARTHEST: f64 = 1e12;
/// The most bytes of a file.
const MOST_BYTES: u64 = 1 << 20;

/// A polygon in the plane of x and y, in metres, that does not cross itself.
///
/// The sums are `f64`. A point is inside if a ray from it towards larger x crosses an odd number of
/// edges. A point on an edge is inside if the polygon continues from there towards larger x, on an
/// edge along x towards larger y. So polygons that share an edge have no point twice, and lose none.
///
/// ```
/// use pointmill_io::Polygon;
/// let square = Polygon::new("square", vec![[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]])?;
/// assert!(square.contains([1.0, 1.0]) && square.contains([0.0, 0.0]) && !square.contains([2.0, 1.0]));
/// # Ok::<(), pointmill_io::IoError>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct Polygon {
    corners: Vec<[f64; 2]>,
    min: [f64; 2],
    max: [f64; 2],
    /// The edges by y, where they are many.
    slabs: Option<Slabs>,
}

/// Two corners.
type Edge = [[f64; 2]; 2];

impl fmt::Debug for Polygon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { corners, min, max, slabs: _ } = self;
        f.debug_struct("Polygon").field("corners", corners).field("min", min).field("max", max).finish()
    }
}

impl Polygon {
    /// A polygon of corners in either direction; errors have the name. The last corner may be the
    /// first one again.
    ///
    /// # Errors
    /// A corner that is not finite or farther than 1e12 m, less than 3 or more than 10,000 corners, and edges that meet
    /// elsewhere than in the corner between them.
    pub fn new(name: impl AsRef<Path>, mut corners: Vec<[f64; 2]>) -> Result<Self, IoError> {
        let name = name.as_ref();
        corners.dedup();
        if corners.len() > 1 && corners.first() == corners.last() {
            corners.pop();
        }
        let found = corners.len();
        if found < 3 {
            bail!(name, MissingField, "polygon", "3 or more different corners", found);
        }
        if found > MOST_CORNERS {
            bail!(name, LimitExceeded, "polygon", "at most {MOST_CORNERS} corners", found);
        }
        if let Some(i) = corners.iter().position(|corner| !corner.iter().all(|v| v.is_finite())) {
            let [x, y] = corners[i];
            bail!(name, BadValue, "corner {i}", "finite numbers", "{x}, {y}");
        }
        if let Some(i) = corners.iter().position(|corner| !corner.iter().all(|v| v.abs() <= FARTHEST)) {
            let [x, y] = corners[i];
            let wanted = format!("at most {FARTHEST:e} m from zero, beyond which a crop needs no polygon");
            bail!(name, BadValue, "corner {i}", wanted, "{x:e}, {y:e}");
        }
        if let Some([a, b]) = crossing(&corners) {
            let [i, j] = [a, b].map(|i| {
                let [[x, y], [u, v]] = edge(&corners, i);
                format!("{x} {y} to {u} {v}")
            });
            bail!(name, BadValue, "polygon", "edges that meet only in the corner between them", "{i} meets {j}");
        }
        let bound = |best: fn(f64, f64) -> f64| {
            [0, 1].map(|axis| corners.iter().map(|corner| corner[axis]).reduce(best).unwrap_or_default())
        };
        let slabs = Slabs::new((0..found).map(|i| upwards(edge(&corners, i))));
        Ok(Self { min: bound(f64::min), max: bound(f64::max), corners, slabs })
    }

    /// Reads a text file: a line with x and y for each corner, with blanks, tabs, commas or
    /// semicolons between them. Empty lines, and what follows a #, are skipped.
    ///
    /// # Errors
    /// As [`Polygon::new`]; a file of more than 1 MiB; a line of anything else.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, IoError> {
        let path = path.as_ref();
        let mut bytes = Vec::new();
        open_named(path)?.0.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(IoError::io(path, "read"))?;
        if bytes.len() as u64 > MOST_BYTES {
            bail!(path, LimitExceeded, "length", "at most {MOST_BYTES} bytes of a polygon", "more");
        }
        if is_utf16(&bytes) {
            bail!(path, UnsupportedFormat, "text", "UTF-8", UTF16);
        }
        let text = std::str::from_utf8(&bytes)
            .map_err(|_| fault!(path, BadValue, "text", "lines with x and y", "bytes that are not UTF-8"))?;
        // Lines of old editors end in \r alone.
        let old = (!text.contains('\n')).then(|| text.replace('\r', "\n"));
        let text = old.as_deref().unwrap_or(text);
        let mut corners = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim_start_matches('\u{feff}');
            let is_between = |c: char| c.is_whitespace() || matches!(c, ',' | ';');
            let words: Vec<_> = line.split(is_between).filter(|word| !word.is_empty()).take(3).collect();
            if words.is_empty() {
                continue;
            }
            let numbers: Vec<f64> = words.iter().filter_map(|word| word.parse().ok()).collect();
            match (numbers.as_slice(), words.len()) {
                (&[x, y], 2) if x.is_finite() && y.is_finite() => corners.push([x, y]),
                _ => {
                    bail!(path, BadValue, ("line {}", i + 1), "x and y, two finite numbers", (excerpt(line.as_bytes())))
                }
            }
        }
        Self::new(path, corners)
    }

    /// Whether a point is inside.
    pub fn contains(&self, [x, y]: [f64; 2]) -> bool {
        let is_near = x >= self.min[0] && x <= self.max[0] && y >= self.min[1] && y <= self.max[1];
        if !is_near {
            return false;
        }
        let crosses = |i: &usize| {
            let [low, high] = upwards(edge(&self.corners, *i));
            low[1] <= y && y < high[1] && is_right(&[low, high], [x, y])
        };
        let one_by_one = || (0..self.corners.len()).filter(crosses).count();
        self.slabs.as_ref().map_or_else(one_by_one, |slabs| slabs.crossed([x, y])) % 2 == 1
    }
}

/// The edge from a corner to the next.
fn edge(corners: &[[f64; 2]], i: usize) -> Edge {
    [corners[i], corners[(i + 1) % corners.len()]]
}

/// The edge from its lower corner to the other.
fn upwards([a, b]: Edge) -> Edge {
    if a[1] <= b[1] { [a, b] } else { [b, a] }
}

/// Two edges that meet elsewhere than in the corner between them.
fn crossing(corners: &[[f64; 2]]) -> Option<[usize; 2]> {
    let count = corners.len();
    for i in 0..count {
        let [a, b] = edge(corners, i);
        let next = corners[(i + 2) % count];
        // Back along the same line.
        if side(a, b, next) == 0.0 && (next[0] - b[0]) * (a[0] - b[0]) + (next[1] - b[1]) * (a[1] - b[1]) > 0.0 {
            return Some([i, (i + 1) % count]);
        }
        let last = if i == 0 { count - 1 } else { count };
        if let Some(j) = (i + 2..last).find(|&j| meet([a, b], edge(corners, j))) {
            return Some([i, j]);
        }
    }
    None
}

/// On which side of the line from a to b a point is.
fn side(a: [f64; 2], b: [f64; 2], p: [f64; 2]) -> f64 {
    (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0])
}

/// Whether two edges have a point in common.
fn meet(p: [[f64; 2]; 2], q: [[f64; 2]; 2]) -> bool {
    let span = |[a, b]: [[f64; 2]; 2], axis: usize| [a[axis].min(b[axis]), a[axis].max(b[axis])];
    let are_near = [0, 1].into_iter().all(|axis| {
        let ([p0, p1], [q0, q1]) = (span(p, axis), span(q, axis));
        p0 <= q1 && q0 <= p1
    });
    let splits = |[a, b]: [[f64; 2]; 2], of: [[f64; 2]; 2]| {
        let [s, t] = of.map(|corner| side(a, b, corner));
        !(s > 0.0 && t > 0.0 || s < 0.0 && t < 0.0)
    };
    are_near && splits(p, q) && splits(q, p)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(corners: &[[f64; 2]]) -> String {
        Polygon::new("p", corners.to_vec()).unwrap_err().to_string()
    }

    #[test]
    fn points_are_in_one_of_two_neighbours() {
        // A notch, in both directions, far away.
        let far = |corners: &[[f64; 2]]| -> Vec<_> {
            corners.iter().map(|[x, y]| [x + 691_764.0, y + 5_335_880.0]).collect()
        };
        let notched = [[0.0, 0.0], [4.0, 0.0], [4.0, 4.0], [2.0, 1.0], [0.0, 4.0]];
        let rest = [[0.0, 4.0], [2.0, 1.0], [4.0, 4.0]];
        let square = [[0.0, 0.0], [4.0, 0.0], [4.0, 4.0], [0.0, 4.0]];
        let of = |corners: &[[f64; 2]]| Polygon::new("p", far(corners)).unwrap();
        let backwards: Vec<_> = notched.iter().rev().copied().collect();
        let [a, b, both, again] = [of(&notched), of(&rest), of(&square), of(&backwards)];
        let mut inside = 0;
        for i in -2..19 {
            for j in -2..19 {
                let p = far(&[[f64::from(i) * 0.25, f64::from(j) * 0.25]])[0];
                assert!(!(a.contains(p) && b.contains(p)), "{p:?}");
                assert_eq!(a.contains(p) || b.contains(p), both.contains(p), "{p:?}");
                assert_eq!(a.contains(p), again.contains(p), "{p:?}");
                inside += usize::from(both.contains(p));
            }
        }
        assert_eq!(inside, 256);
        assert!(!both.contains([f64::NAN, 5_335_881.0]));
    }

    /// Corners of a circle with notches, a comb, and a long spike through them.
    fn of_many(n: usize) -> [Vec<[f64; 2]>; 2] {
        let star = (0..n).map(|i| {
            let (sin, cos) = (i as f64 * std::f64::consts::TAU / n as f64).sin_cos();
            let radius = if i % 2 == 0 { 9.0 } else { 0.5 };
            [500_000.0 + radius * cos, 5_000_000.0 + radius * sin]
        });
        let mut comb: Vec<_> = (0..n - 2).map(|i| [i as f64, if i % 2 == 0 { 0.0 } else { 10.0 }]).collect();
        comb.extend([[n as f64, 0.0], [n as f64 - 1.5, -1.0]]);
        [star.collect(), comb]
    }

    #[test]
    fn many_corners_give_what_each_edge_gives() {
        for corners in of_many(400) {
            let polygon = Polygon::new("p", corners.clone()).unwrap();
            let plain = Polygon { slabs: None, ..polygon.clone() };
            let mut inside = 0;
            let mut check = |p: [f64; 2]| {
                assert_eq!(polygon.contains(p), plain.contains(p), "{p:?}");
                inside += usize::from(plain.contains(p));
            };
            // Corners, points on edges, and points next to both.
            for i in 0..corners.len() {
                let [a, b] = edge(&corners, i);
                for t in [0.0, 0.125, 0.3, 0.5, 0.9] {
                    let on = [a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])];
                    for [dx, dy] in [[0.0, 0.0], [1e-9, 0.0], [-1e-9, 0.0], [0.0, 1e-9], [0.01, -0.01], [-0.3, 0.2]] {
                        check([on[0] + dx, on[1] + dy]);
                    }
                    check([on[0].next_up(), on[1]]);
                    check([on[0], on[1].next_down()]);
                }
            }
            assert!(inside > 1000, "{inside}");
        }
    }

    /// A point costs the logarithm of the corners, also where a ray crosses all of them.
    #[test]
    fn many_corners_cost_little() {
        let cost = |corners: Vec<[f64; 2]>| {
            let polygon = Polygon::new("p", corners).unwrap();
            let ([x0, y0], [x1, y1]) = (polygon.min, polygon.max);
            let start = std::time::Instant::now();
            let inside = (0..100_000).filter(|i| {
                let (a, b) = (f64::from(*i) * 0.618 % 1.0, f64::from(*i) * 0.414 % 1.0);
                polygon.contains([x0 + a * (x1 - x0), y0 + b * (y1 - y0)])
            });
            assert!(inside.count() > 1000);
            start.elapsed().as_secs_f64()
        };
        let square = cost(vec![[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]]);
        let circle = (0..10_000).map(|i| {
            let (sin, cos) = (f64::from(i) * std::f64::consts::TAU / 10_000.0).sin_cos();
            [cos, sin]
        });
        let [star, comb] = of_many(10_000);
        // One by one each costs 200 squares and more.
        for (corners, most) in [(circle.collect(), 30.0), (star, 100.0), (comb, 60.0)] {
            let many = cost(corners);
            println!("{:.1} squares", many / square);
            assert!(many < most * square.max(0.002), "{many} s, a square {square} s");
        }
    }

    #[test]
    fn corners_that_are_too_far_are_refused() {
        for far in [1.1e12, 1e155, 1e308] {
            let told = refused(&[[-far, -far], [far, -far], [0.0, far]]);
            let wanted = "p: corner 0: expected at most 1e12 m from zero, beyond which a crop needs no polygon, got";
            assert_eq!(told, format!("{wanted} {:e}, {:e}", -far, -far));
        }
        let large = Polygon::new("p", vec![[-1e12, -1e12], [1e12, -1e12], [0.0, 1e12]]).unwrap();
        assert!(large.contains([3.0, -7.0]) && !large.contains([9e11, 9e11]));
    }

    #[test]
    fn polygons_that_meet_themselves_are_refused() {
        let [o, a, b, c] = [[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]];
        let meets = "p: polygon: expected edges that meet only in the corner between them, got";
        assert_eq!(refused(&[o, b, a, c]), format!("{meets} 0 0 to 2 2 meets 2 0 to 0 2"));
        // A corner on another edge, back on the same line, and no area.
        assert_eq!(refused(&[o, a, b, [1.0, 0.0], c]), format!("{meets} 0 0 to 2 0 meets 2 2 to 1 0"));
        assert_eq!(refused(&[o, a, b, [2.0, 1.0], c]), format!("{meets} 2 0 to 2 2 meets 2 2 to 2 1"));
        assert!(refused(&[o, a, [4.0, 0.0]]).starts_with(meets));
        assert_eq!(refused(&[o, o, a, o]), "p: polygon: expected 3 or more different corners, got 2");
        assert_eq!(refused(&[o, a, [f64::INFINITY, 0.0]]), "p: corner 2: expected finite numbers, got inf, 0");
        let many = (0..10_001).map(|i| [f64::from(i), 0.0]).collect();
        let told = Polygon::new("p", many).unwrap_err().to_string();
        assert_eq!(told, "p: polygon: expected at most 10000 corners, got 10001");
        // The first corner again is no edge.
        assert_eq!(Polygon::new("p", vec![o, a, b, o]).unwrap(), Polygon::new("p", vec![o, a, b]).unwrap());
    }

    #[test]
    fn text_has_a_corner_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let read = |text: &[u8]| {
            let path = folder.path().join("p.txt");
            std::fs::write(&path, text).unwrap();
            Polygon::read(&path).map_err(|e| e.to_string().split_once("p.txt: ").unwrap().1.to_owned())
        };
        let square = Polygon::new("p", vec![[0.0, 0.0], [2.5, 0.0], [2.5, -1e3]]).unwrap();
        assert_eq!(read("\u{feff}# a part\n0 0\r\n\n2.5,0 # corner\n2.5;\t-1e3\n".as_bytes()), Ok(square));
        assert_eq!(read(b"0 0\n1 x\n"), Err("line 2: expected x and y, two finite numbers, got `1 x`".into()));
        assert!(read(b"0 0 0\n").unwrap_err().starts_with("line 1: expected x and y"));
        assert!(read(b"0 nan\n").unwrap_err().starts_with("line 1: expected x and y"));
        assert!(read(b"\xff\n").unwrap_err().starts_with("text: expected lines with x and y"));
        assert_eq!(read(b""), Err("polygon: expected 3 or more different corners, got 0".into()));
        assert!(read(&vec![b'\n'; (1 << 20) + 1]).unwrap_err().starts_with("length: expected at most 1048576 bytes"));
        assert_eq!(Polygon::read(folder.path().join("none")).unwrap_err().class(), "Io");
    }
}
