//! Any cloud, coloured by what its points have.

use crate::Camera;
use crate::framing::{ABOVE, fitted, spans, sweep_reach};
use crate::layout::{Panel, Sheet, areas};
use crate::quantiles::quantiles;
use crate::scene::{Layer, Paint, Scene};
use std::collections::BTreeMap;

use crate::voxels::ring;

type V3 = [f64; 3];

/// The picture in pixels, and an animation.
const SIZE: [u32; 2] = [1600, 1000];
const MOVING: [u32; 2] = [800, 600];
/// The frames of an animation, one turn.
const TURN: usize = 36;
const TURN_MS: u32 = 150;
/// Degrees that a view at an angle is turned and looks down, and that of an object.
const ASIDE: f64 = 30.0;
const DOWN: f64 = 38.0;
const DOWN_ON_OBJECT: f64 = 20.0;
/// The part of the points that may be outside of the picture on each side.
const STRAYS: f64 = 0.005;
/// Objects are at most so many metres wide, and so deep along z by their width.
const OBJECT: f64 = 3.0;
const DEEP: f64 = 0.2;
/// A cloud that is so many times as long as wide has its views below each other.
const LONG: f64 = 1.7;
/// The part of the points of a sweep that lie below its ground.
const GROUND: f64 = 0.05;
/// Pixels of the legend beside range rings.
const LEGEND_ROOM: usize = 1400;

/// What colours the points of a cloud.
#[derive(Clone, Debug)]
pub enum CloudColours<'a> {
    /// The height.
    Height,
    /// A value for each point, `[N]`, and what it is. What is not finite has the lowest.
    Values(&'a str, &'a [f32]),
    /// A colour for each point, `[N]`.
    Rgb(&'a [[u8; 3]]),
    /// A number for each point, `[N]`, with the name and the colour of a number.
    Kinds(&'a [u8], fn(u8) -> (String, [u8; 3])),
}

/// The scene of a cloud; `is_turning` is for an animation of one turn around it.
///
/// **Shapes.** `points` is `[N, 3]`. Of more than 1,000,000 points a layer keeps every so many: a
/// caller with more takes those of [`shown_points`]. **Units and frames.** Lengths in `units`, of
/// x and y and of z, such as `m` or `ft`. Up is z, except for an object: at most 3 m wide and
/// flattest along z, but no flatter than a fifth of its width, as scans of objects are that a
/// camera saw from the front; there it is y. Colours of values end where 2 % of the points lie
/// beyond. A sweep, with the sensor among its points, is seen from behind the sensor, and nearly
/// all of it from above, with range rings where lengths are in `m`; any other cloud from above, or
/// an object from the front, and at an angle. **Order and determinism, limits.** As [`Scene`] and
/// [`Layer`].
///
/// ```
/// use pointmill_view::{CloudColours, class_colour, cloud_scene};
/// let points = [[637_000.0, 851_000.0, 420.0], [637_100.0, 851_050.0, 425.0]];
/// let class = |class| (format!("class {class}"), class_colour(class));
/// let scene = cloud_scene("2 points", &points, &CloudColours::Kinds(&[2, 6], class), ["m"; 2], false);
/// assert_eq!((scene.frames(), scene.picture().height()), (0, 1000));
/// ```
pub fn cloud_scene(
    title: &str,
    points: &[V3],
    colours: &CloudColours<'_>,
    units: [&str; 2],
    is_turning: bool,
) -> Scene {
    let has_values = matches!(colours, CloudColours::Values(..) | CloudColours::Height);
    let paint = if has_values { Paint::Intensity } else { Paint::Own };
    let mut scene =
        Scene { frame_ms: TURN_MS, units: units.map(|unit| unit.to_owned().into()), ..Scene::new(title, paint) };
    match colours {
        CloudColours::Height => {
            let layer = Layer::points("points", points);
            let up = up_axis(&layer.extent(0).collect::<Vec<_>>());
            scene.values = format!("height, {}", scene.units[usize::from(up == 2)]).into();
            scene.push(layer.values(&points.iter().map(|p| p[up] as f32).collect::<Vec<_>>()));
        }
        CloudColours::Values(name, values) => {
            scene.values = (*name).to_owned().into();
            scene.push(Layer::points("points", points).values(values));
        }
        CloudColours::Rgb(rgb) => scene.push(Layer::points("points", points).colours(rgb)),
        CloudColours::Kinds(kinds, key) => layers(points, kinds, *key).into_iter().for_each(|l| scene.push(l)),
    }
    let places = scene.places(0, &[]);
    scene.up = up_axis(&places);
    if is_turning {
        for k in 0..TURN {
            scene.frame(&format!("{} degrees", 360 * k / TURN));
        }
        scene.moving = turning(title, &places, scene.up, points.len());
    }
    let rings = rings(&places).filter(|_| units[0] == "m");
    let (rings, marks) = rings.unwrap_or_default();
    rings.into_iter().for_each(|ring| scene.push(ring));
    scene.still = still(title, &places, scene.up, (points.len(), &marks));
    scene
}

/// The points that are shown of so many: all, or of more than 1,000,000 one of each stretch of the
/// file, by a fixed rule that follows no pattern of a sensor.
///
/// ```
/// assert!(pointmill_view::shown_points(3).eq(0..3));
/// assert_eq!(pointmill_view::shown_points(2_500_000).count(), 833_334);
/// ```
pub fn shown_points(count: usize) -> impl Iterator<Item = usize> {
    thinned(count, 1_000_000)
}

/// At most so many of the points, by the rule of [`shown_points`].
///
/// ```
/// assert!(pointmill_view::thinned(9, 3).eq([0, 4, 6]) && pointmill_view::thinned(3, 0).eq(0..1));
/// ```
pub fn thinned(count: usize, most: usize) -> impl Iterator<Item = usize> {
    const GOLDEN: f64 = 0.618_033_988_749_894_8;
    let every = count.div_ceil(most.max(1)).max(1);
    (0..count).step_by(every).map(move |first| {
        // At a share that moves by the golden ratio: a sensor's rings come round in a fixed number of points.
        let share = ((first / every) as f64 * GOLDEN).fract();
        let room = every.min(count - first);
        first + ((share * room as f64) as usize).min(room - 1)
    })
}

/// The colour of a class of the ASPRS, LAS 1.4 R15, table 17.
pub fn class_colour(class: u8) -> [u8; 3] {
    match class {
        0 => [84, 92, 108],    // never classified
        1 => [112, 122, 140],  // unclassified
        2 => [186, 140, 92],   // ground
        3 => [190, 220, 110],  // low vegetation
        4 => [110, 190, 90],   // medium vegetation
        5 => [40, 140, 80],    // high vegetation
        6 => [238, 96, 66],    // building
        7 => [255, 60, 170],   // low noise
        8 => [255, 236, 80],   // model key-point
        9 => [70, 160, 240],   // water
        10 => [150, 110, 210], // rail
        11 => [206, 206, 214], // road surface
        12 => [98, 108, 160],  // overlap
        13 => [250, 190, 240], // wire - guard
        14 => [255, 214, 120], // wire - conductor
        15 => [220, 150, 250], // transmission tower
        16 => [140, 230, 230], // wire connector
        17 => [255, 178, 120], // bridge deck
        18 => [255, 130, 200], // high noise
        _ => numbered(class),
    }
}

/// The name and the colour of the number of a return.
pub fn return_number(number: u8) -> (String, [u8; 3]) {
    (format!("return {number}"), numbered(number.wrapping_sub(1)))
}

/// Eight colours that eyes tell apart which do not see red and green: M. Okabe and K. Ito, 2008.
fn numbered(number: u8) -> [u8; 3] {
    const COLOURS: [[u8; 3]; 8] = [
        [86, 180, 233],
        [230, 159, 0],
        [0, 158, 115],
        [240, 228, 66],
        [204, 121, 167],
        [213, 94, 0],
        [60, 130, 210],
        [235, 235, 235],
    ];
    COLOURS[usize::from(number) % COLOURS.len()]
}

/// A layer for each kind, by its number. Those that the legend has no room for, the rarest, are one.
fn layers(points: &[V3], kinds: &[u8], key: fn(u8) -> (String, [u8; 3])) -> Vec<Layer> {
    let mut of: BTreeMap<u8, Vec<V3>> = BTreeMap::new();
    points.iter().zip(kinds).for_each(|(p, kind)| of.entry(*kind).or_default().push(*p));
    let mut by_count: Vec<u8> = of.keys().copied().collect();
    by_count.sort_by_key(|kind| (usize::MAX - of[kind].len(), *kind));
    let mut room = LEGEND_ROOM - 120;
    let mut named = Vec::new();
    for kind in by_count {
        let width = 50 + 10 * key(kind).0.len();
        if width > room {
            break;
        }
        room -= width;
        named.push(kind);
    }
    let mut rest = Vec::new();
    let mut out = Vec::new();
    for (kind, points) in of {
        if named.contains(&kind) {
            let (name, colour) = key(kind);
            out.push(Layer::points(&name, &points).colour(colour));
        } else {
            rest.extend(points);
        }
    }
    if !rest.is_empty() {
        out.push(Layer::points("others", &rest).colour([92, 102, 120]));
    }
    out
}

/// The axis that is up.
fn up_axis(places: &[V3]) -> usize {
    let [x, y, z] = spans(places, ABOVE, STRAYS).map(|[low, high]| high - low);
    let wide = x.max(y);
    if !places.is_empty() && wide.max(z) <= OBJECT && z < x.min(y) && z >= DEEP * wide { 1 } else { 2 }
}

/// Right, up and ahead of a view that is turned about what is up and looks down, in degrees.
fn turned(up: usize, aside: f64, down: f64) -> [V3; 3] {
    let [(sa, ca), (sd, cd)] = [aside, down].map(|a| (libm::sin(a.to_radians()), libm::cos(a.to_radians())));
    let axes = [[ca, sa, 0.0], [-sa * sd, ca * sd, cd], [-sa * cd, ca * cd, -sd]];
    // With y up, z comes towards the eye.
    if up == 1 { axes.map(|[u, v, w]| [u, w, -v]) } else { axes }
}

/// Points as large as the picture has room for: sparse clouds have larger ones.
fn point_size([_, _, width, height]: [u32; 4], count: usize) -> u32 {
    let pixels = 4.0 * f64::from(width) * f64::from(height) / count.max(1) as f64;
    (0.9 * pixels.sqrt()).clamp(3.0, 8.0) as u32
}

fn still(title: &str, places: &[V3], up: usize, (count, marks): (usize, &[Mark])) -> Sheet {
    let is_sweep = !places.is_empty() && sweep_reach(places).is_some();
    let [x, y, _] = spans(places, ABOVE, STRAYS).map(|[low, high]| high - low);
    let is_long = x > LONG * y;
    let areas = areas(SIZE, if is_long { &[(60, 1), (40, 1)] } else { &[(1, 2)] });
    let (cameras, labels) = if is_sweep {
        let behind = Camera::perspective([-16.0, 0.0, 9.0], [12.0, 0.0, -1.7], 62.0);
        let cameras = [behind, fitted(places, ABOVE, STRAYS)];
        (cameras, ["from behind the sensor", "from above, x to the right"])
    } else if up == 1 {
        let cameras = [turned(1, 0.0, 0.0), turned(1, ASIDE, DOWN_ON_OBJECT)];
        (cameras.map(|axes| fitted(places, axes, STRAYS)), ["from the front, y up", "at an angle, y up"])
    } else {
        let cameras = [turned(2, ASIDE, DOWN), ABOVE].map(|axes| fitted(places, axes, STRAYS));
        (cameras, ["at an angle", "from above, x to the right"])
    };
    let panel = |(k, area): (usize, [u32; 4])| Panel {
        label: labels[k].into(),
        point: point_size(area, count),
        is_shaded: true,
        marks: marks.to_vec(),
        ..Panel::new(area, cameras[k], &[])
    };
    let panels = areas.into_iter().enumerate().map(panel).collect();
    Sheet { size: SIZE, titles: vec![title.to_owned()], panels, ..Sheet::default() }
}

/// A place, and what is written there.
type Mark = (V3, &'static str);

/// Rings on the ground around a sensor among the places, and where their radii are written.
fn rings(places: &[V3]) -> Option<(Vec<Layer>, Vec<Mark>)> {
    const RINGS: [(f64, &str); 4] = [(10.0, "10 m"), (20.0, "20 m"), (40.0, "40 m"), (80.0, "80 m")];
    sweep_reach(places).filter(|_| !places.is_empty())?;
    let [x, y, _] = spans(places, ABOVE, STRAYS);
    let ground = quantiles(places.iter().map(|p| p[2]).collect(), GROUND)?[1];
    let reach = x[1].max(-x[0]).max(y[1]).max(-y[0]);
    let shown = RINGS.into_iter().filter(|(radius, _)| *radius <= reach);
    let marks = shown.clone().map(|(radius, text)| ([radius, 0.0, ground], text)).collect();
    Some((shown.map(|(radius, _)| ring(radius, ground)).collect(), marks))
}

/// One turn about what is up, at one scale.
fn turning(title: &str, places: &[V3], up: usize, count: usize) -> Sheet {
    let down = if up == 1 { DOWN_ON_OBJECT } else { DOWN };
    let axes = |k: usize| turned(up, 360.0 * k as f64 / TURN as f64, down);
    let ends: Vec<_> = (0..TURN).map(|k| spans(places, axes(k), STRAYS)).collect();
    let size = [0, 1].map(|k| ends.iter().map(|ends| 1.06 * (ends[k][1] - ends[k][0])).fold(1e-6, f64::max));
    let camera = |(k, ends): (usize, &[[f64; 2]; 3])| {
        Camera::parallel(axes(k), [0, 1].map(|k| 0.5 * ends[k][0] + 0.5 * ends[k][1]), size)
    };
    let cameras: Vec<Camera> = ends.iter().enumerate().map(camera).collect();
    let area = areas(MOVING, &[(1, 1)])[0];
    let (first, point) = (cameras[0], point_size(area, count));
    let panels = vec![Panel { cameras, point, is_shaded: true, ..Panel::new(area, first, &[]) }];
    Sheet { size: MOVING, titles: vec![title.to_owned()], panels, ..Sheet::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BACKGROUND;

    /// A bumpy surface of `size` metres along x, y and z.
    fn surface(size: V3) -> Vec<V3> {
        let at = |i: u32| (f64::from(i % 50) / 49.0, f64::from(i / 50) / 49.0);
        let bump = |a: f64, b: f64| 0.5 + 0.5 * libm::sin(9.0 * a) * libm::cos(7.0 * b);
        (0..2500).map(at).map(|(a, b)| [size[0] * a, size[1] * b, size[2] * bump(a, b)]).collect()
    }

    fn class(class: u8) -> (String, [u8; 3]) {
        (format!("class {class}"), class_colour(class))
    }

    #[test]
    fn up_is_y_for_objects_seen_from_the_front_and_else_z() {
        for (size, up) in [
            ([0.16, 0.15, 0.12], 1),
            ([0.08, 0.2, 0.07], 1),
            ([0.4, 0.4, 1.7], 2),
            ([2.0, 2.0, 0.1], 2),
            ([1200.0, 900.0, 300.0], 2),
            ([80.0, 40.0, 6.0], 2),
        ] {
            assert_eq!(up_axis(&surface(size)), up, "{size:?}");
        }
        assert_eq!((up_axis(&[]), up_axis(&[[1.0, 2.0, f64::NAN]])), (2, 2));
    }

    #[test]
    fn views_have_unit_axes_and_show_up_as_up() {
        let dot = |a: V3, b: V3| (0..3).map(|k| a[k] * b[k]).sum::<f64>();
        for up in [1, 2] {
            for aside in [0.0, 30.0, 200.0] {
                let axes = turned(up, aside, 25.0);
                for i in 0..3 {
                    for j in 0..3 {
                        assert!((dot(axes[i], axes[j]) - f64::from(u8::from(i == j))).abs() < 1e-12);
                    }
                }
                assert!(axes[1][up] > 0.9 && axes[2][up] < -0.4 && axes[0][up].abs() < 1e-12, "{axes:?}");
                // Right, up and towards the eye are a right-handed frame.
                let [r, u, a] = axes;
                let cross = [0, 1, 2].map(|k| r[(k + 1) % 3] * u[(k + 2) % 3] - r[(k + 2) % 3] * u[(k + 1) % 3]);
                assert!((dot(cross, a) + 1.0).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn shown_points_are_few_ascending_and_in_no_step() {
        for count in [0, 1, 999_999, 1_000_000, 1_000_001, 7_300_000] {
            let shown: Vec<usize> = shown_points(count).collect();
            assert!(shown.len() <= 1_000_000 && shown.len() * 2 >= count.min(1_000_000), "{count}");
            assert!(shown.is_sorted_by(|a, b| a < b) && shown.iter().all(|i| *i < count));
        }
        let rings = |every: usize| {
            let mut of = [0; 64];
            shown_points(64 * 1_000_000 / 16 * every / 4).for_each(|i| of[i % 64] += 1);
            of
        };
        // Each of 64 rings that come round has its share.
        assert!(rings(16).iter().all(|n| (10_000..22_000).contains(n)), "{:?}", rings(16));
        // The end of any count is far from memory.
        assert!(shown_points(usize::MAX).next().is_some());
    }

    #[test]
    fn values_are_clipped_where_two_percent_lie_beyond() {
        let points = surface([100.0, 80.0, 9.0]);
        let mut values: Vec<f32> = (0..2500).map(|i| i as f32).collect();
        (values[0], values[1], values[2]) = (f32::NAN, f32::INFINITY, -1e30);
        let scene = cloud_scene("", &points, &CloudColours::Values("range", &values), ["m"; 2], false);
        assert_eq!((scene.paint, &*scene.values, scene.up), (Paint::Intensity, "range", 2));
        let [low, high] = scene.intensities();
        assert!((45.0..60.0).contains(&low) && (2440.0..2455.0).contains(&high), "{low} {high}");
    }

    #[test]
    fn kinds_have_a_layer_each_as_far_as_the_legend_reaches() {
        let points: Vec<V3> = surface([100.0, 80.0, 9.0]).iter().map(|p| [p[0] + 500.0, p[1], p[2]]).collect();
        let kinds: Vec<u8> = (0..2500u32).map(|i| if i < 2000 { 2 } else { (i % 19) as u8 }).collect();
        let scene = cloud_scene("", &points, &CloudColours::Kinds(&kinds, class), ["m"; 2], false);
        let names: Vec<&str> = scene.layers.iter().map(|layer| &*layer.name).collect();
        assert!(names.contains(&"class 2") && names.last() == Some(&"others"), "{names:?}");
        assert_eq!(scene.layers.iter().map(Layer::len).sum::<usize>(), 2500);
        let width: usize = names.iter().map(|name| 50 + 10 * name.len()).sum();
        assert!(width <= LEGEND_ROOM, "{width}");
        let is_lit = |colour: [u8; 3]| scene.picture().rgb().as_chunks::<3>().0.contains(&colour);
        assert!(is_lit(class_colour(2)) && is_lit([92, 102, 120]));
        // Fewer kinds than points, and no kind.
        assert_eq!(cloud_scene("", &points, &CloudColours::Kinds(&[], class), ["m"; 2], false).layers.len(), 0);
        assert_ne!(return_number(1).1, return_number(2).1);
    }

    #[test]
    fn a_sweep_is_whole_from_above_over_rings_of_its_range() {
        let sweep: Vec<V3> =
            surface([130.0, 60.0, 6.0]).iter().map(|p| [p[0] - 60.0, p[1] - 30.0, p[2] - 3.0]).collect();
        let draw = |points: &[V3], unit| cloud_scene("", points, &CloudColours::Height, [unit; 2], false);
        let scene = draw(&sweep, "m");
        let rings: Vec<&Layer> = scene.layers.iter().filter(|layer| &*layer.name == "range rings").collect();
        let radius = |layer: &&Layer| layer.places(0).map(|p| libm::hypot(p[0], p[1])).fold(0.0, f64::max);
        let radii: Vec<f64> = rings.iter().map(|ring| libm::round(radius(ring))).collect();
        assert_eq!(radii, [10.0, 20.0, 40.0]);
        let above = &scene.still.panels[1];
        let [_, _, width, height] = above.area;
        let view = above.camera.view(width, height);
        let is_seen = |p: &&V3| {
            let at = view.project(**p).unwrap();
            (0.0..width.into()).contains(&at.x) && (0.0..height.into()).contains(&at.y)
        };
        assert!(sweep.iter().filter(is_seen).count() * 100 >= 98 * sweep.len());
        // Feet are no metres, and what a sensor is not among has no range.
        let far: Vec<V3> = sweep.iter().map(|p| [p[0] + 900.0, p[1], p[2]]).collect();
        assert_eq!([draw(&sweep, "ft"), draw(&far, "m"), draw(&[], "m")].map(|scene| scene.layers.len()), [1; 3]);
    }

    #[test]
    fn every_cloud_is_drawn_whole_and_alike() {
        let sweep: Vec<V3> =
            surface([120.0, 60.0, 6.0]).iter().map(|p| [p[0] - 60.0, p[1] - 30.0, p[2] - 3.0]).collect();
        let far: Vec<V3> = surface([900.0, 800.0, 50.0]).iter().map(|p| [p[0] + 5e5, p[1] + 5e6, p[2]]).collect();
        let odd = vec![[f64::NAN; 3], [f64::INFINITY, 0.0, 0.0], [1e300; 3]];
        for points in [sweep, far, surface([0.16, 0.15, 0.12]), vec![], vec![[3.0; 3]], odd] {
            let rgb = vec![[250, 120, 10]; points.len()];
            let draw = || cloud_scene("a", &points, &CloudColours::Rgb(&rgb), ["m"; 2], true);
            let (scene, picture) = (draw(), draw().picture());
            let lit = picture.rgb().as_chunks::<3>().0.iter().filter(|c| c[0] > 60 && c[2] < c[0] / 3).count();
            assert!(lit > 20_000 || points.len() < 9, "{lit}");
            assert_eq!(picture.rgb(), scene.picture().rgb());
            assert_eq!(scene.frames(), TURN);
            assert!(picture.rgb().as_chunks::<3>().0.contains(&BACKGROUND));
        }
        let scene = cloud_scene("a", &surface([0.16, 0.15, 0.12]), &CloudColours::Height, ["m"; 2], true);
        // Heights are along y.
        let [low, high] = scene.intensities();
        assert!(low < 0.01 && (0.14..0.15).contains(&high), "{low} {high}");
        let gif = scene.animation().encode().unwrap();
        assert_eq!(gif, scene.animation().encode().unwrap());
        assert!(String::from_utf8(scene.page()).unwrap().contains("\"up\":1"));
    }
}
