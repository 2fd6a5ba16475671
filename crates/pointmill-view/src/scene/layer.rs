//! What is drawn together under one name.

use super::pack::Packed;
use crate::NdtEllipsoids;
use crate::boxes::Solid;
use crate::ndt::{Facing, SIGMAS};
use crate::quantiles::quantiles;
use pointmill_core::Pose;
use pointmill_core::eigen::eigen;
use serde::Serialize;

type V3 = [f64; 3];

/// The most things of a layer. Of more every so many are kept.
const MOST: usize = 1_000_000;
/// The share of the values outside of the colours on each side.
const STRAYS: f64 = 0.02;
/// How many points of a layer say what the page shows.
const SAMPLE: usize = 4096;
pub(crate) const GREY: [u8; 3] = [150, 165, 190];

/// How a layer is drawn; the rasterizer has a function for each, and the page a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Shape {
    Points,
    Line,
    Ball,
    Cube,
    Wire,
}

/// Points, a line, boxes, voxels or ellipsoids of a [`Scene`](super::Scene), under one name.
///
/// **Shapes.** Layers with the same name are shown and hidden together. **Units and frames.**
/// Metres in the frame of the layer, z up; [`moving`](Self::moving) places it in the scene, else
/// both frames are one. Positions are kept to 1/65,535 of the layer's extent. **Order and
/// determinism.** The same input gives the same bytes. **Limits.** Of more than 1,000,000 things
/// every so many are kept; a page has 100,000 boxes, voxels or ellipsoids of a layer at most. What
/// is not finite is left out, and so is what is 20 times as far from the middle as nearly all else.
///
/// ```
/// use pointmill_core::Pose;
/// use pointmill_view::{Layer, Paint, Scene};
/// let mut scene = Scene::new("two sweeps", Paint::Height);
/// for (k, label) in ["first", "second"].into_iter().enumerate() {
///     let frame = scene.frame(label);
///     let world_from_sensor = Pose::from_translation([k as f64, 0.0, 0.0]);
///     scene.push(Layer::points("sweeps", &[[1.0, 2.0, 0.5]]).moving(&[world_from_sensor]).at(frame));
/// }
/// assert!(scene.page().starts_with(b"<!DOCTYPE html>"));
/// ```
#[derive(Clone, Debug)]
pub struct Layer {
    pub(crate) name: String,
    pub(crate) shape: Shape,
    pub(crate) packed: Packed,
    pub(crate) colour: Option<[u8; 3]>,
    pub(crate) colours: Vec<[u8; 3]>,
    /// From the centre of a solid to the middles of three of its sides.
    pub(crate) axes: Vec<[V3; 3]>,
    /// The values in steps of 1/255 from the first to the second.
    pub(crate) values: Option<(Vec<u8>, [f64; 2])>,
    pub(crate) poses: Vec<Pose>,
    pub(crate) at: Option<usize>,
    pub(crate) is_shown: bool,
    /// Whether a page draws it under all else.
    pub(crate) is_beneath: bool,
    /// Of lines and edges in pictures, in pixels.
    pub(crate) width: f64,
    /// How many metres nearer to the camera the layer is than where it stands, in pictures.
    pub(crate) lift: f64,
    /// Whether a line has a place for each frame, and is drawn up to the frame where a picture
    /// keeps earlier ones.
    pub(crate) grows: bool,
}

impl Layer {
    fn new(name: &str, shape: Shape, packed: Packed) -> Self {
        Self {
            name: name.to_owned(),
            shape,
            packed,
            colour: None,
            colours: Vec::new(),
            axes: Vec::new(),
            values: None,
            poses: vec![Pose::IDENTITY],
            at: None,
            is_shown: true,
            is_beneath: false,
            width: 1.0,
            lift: 0.0,
            grows: false,
        }
    }

    /// Points, `[N]`.
    pub fn points(name: &str, points: &[[f64; 3]]) -> Self {
        Self::new(name, Shape::Points, Packed::new(points, MOST, true))
    }

    /// A line from point to point, `[N]`.
    pub fn line(name: &str, points: &[[f64; 3]]) -> Self {
        Self::new(name, Shape::Line, Packed::new(points, MOST, false))
    }

    /// A cube for each voxel, `[N]`, of one size.
    pub fn voxels(name: &str, centres: &[[f64; 3]], size: [f32; 3]) -> Self {
        let mut axes = [[0.0; 3]; 3];
        (0..3).for_each(|k| axes[k][k] = 0.5 * f64::from(size[k]));
        Self::cubes(name, centres, axes)
    }

    /// Cubes of one size and one attitude: from the centre to the middles of three sides.
    pub(crate) fn cubes(name: &str, centres: &[V3], axes: [V3; 3]) -> Self {
        let packed = Packed::new(centres, MOST, false);
        Self { axes: vec![axes], ..Self::new(name, Shape::Cube, packed) }
    }

    /// The edges of boxes with a line from the centre to the front, rows `[N]` of (cx, cy, cz, dx,
    /// dy, dz, heading); `cz` is the height of the centre.
    pub fn boxes(name: &str, rows: &[[f32; 7]]) -> Self {
        let solids: Vec<Solid> = rows.iter().filter_map(|row| Solid::new(*row)).collect();
        let centres: Vec<V3> = solids.iter().map(|solid| solid.centre).collect();
        let packed = Packed::new(&centres, MOST, false);
        let axes = packed.order.iter().map(|i| solids[*i as usize].axes).collect();
        Self { axes, ..Self::new(name, Shape::Wire, packed) }
    }

    /// As [`boxes`](Self::boxes), with faces instead of edges.
    pub fn solid_boxes(name: &str, rows: &[[f32; 7]]) -> Self {
        Self { shape: Shape::Cube, ..Self::boxes(name, rows) }
    }

    /// An ellipsoid of two standard deviations for each cell, coloured by the direction that it
    /// faces.
    pub fn ellipsoids(name: &str, cells: NdtEllipsoids) -> Self {
        Self::ellipsoids_by(name, cells, Facing::colour)
    }

    /// As [`ellipsoids`](Self::ellipsoids), in the colours that a function gives.
    pub(crate) fn ellipsoids_by(name: &str, cells: NdtEllipsoids, colour: fn(&Facing) -> [u8; 3]) -> Self {
        let valid = |(mean, covariance): (&V3, &[f64; 6])| Some((*mean, *covariance, Facing::new(covariance)?));
        let cells: Vec<_> = cells.means.iter().zip(cells.covariances).filter_map(valid).collect();
        let means: Vec<V3> = cells.iter().map(|(mean, ..)| *mean).collect();
        let packed = Packed::new(&means, MOST, false);
        let kept = || packed.order.iter().map(|i| &cells[*i as usize]);
        let axes = kept().map(|(_, covariance, _)| {
            let of = eigen(*covariance);
            [0, 1, 2].map(|k| of.vectors[k].map(|x| SIGMAS * of.values[k].max(0.0).sqrt() * x))
        });
        let (axes, colours) = (axes.collect(), kept().map(|(.., facing)| colour(facing)).collect());
        Self { axes, colours, ..Self::new(name, Shape::Ball, packed) }
    }

    /// One colour for all.
    #[must_use]
    pub const fn colour(mut self, colour: [u8; 3]) -> Self {
        self.colour = Some(colour);
        self
    }

    /// A colour for each point, `[N]`. What has none is grey.
    #[must_use]
    pub fn colours(mut self, colours: &[[u8; 3]]) -> Self {
        let of = |i: &u32| colours.get(*i as usize).copied().unwrap_or(GREY);
        self.colours = self.packed.order.iter().map(of).collect();
        self
    }

    /// A value for each point, `[N]`, such as the intensity. What has none, or is not finite, has
    /// the lowest.
    #[must_use]
    pub fn values(mut self, values: &[f32]) -> Self {
        let of = |i: &u32| values.get(*i as usize).copied().map_or(f64::NAN, f64::from);
        let ends = quantiles(self.packed.order.iter().map(of).collect(), STRAYS);
        self.values = ends.map(|[_, low, high, _]| {
            let step = (high - low).max(f64::MIN_POSITIVE) / 255.0;
            // A cast of what is not a number is 0.
            (self.packed.order.iter().map(|i| ((of(i) - low) / step + 0.5) as u8).collect(), [low, high])
        });
        self
    }

    /// The pose of the layer in the page: one for all frames, or one for each frame, of which the
    /// last one holds for all later frames. Without a pose nothing changes. Boxes, voxels and
    /// ellipsoids do not move.
    #[must_use]
    pub fn moving(mut self, page_from_layer: &[Pose]) -> Self {
        if !page_from_layer.is_empty() && self.axes.is_empty() {
            self.poses = page_from_layer.to_vec();
        }
        self
    }

    /// Shows the layer at one frame only, by the number that [`Scene::frame`](super::Scene::frame)
    /// returned.
    #[must_use]
    pub const fn at(mut self, frame: usize) -> Self {
        self.at = Some(frame);
        self
    }

    /// Hides the layer until the reader asks for it.
    #[must_use]
    pub const fn hidden(mut self) -> Self {
        self.is_shown = false;
        self
    }

    /// Draws the layer under all else in pages; in pictures what comes later is over it.
    #[must_use]
    pub(crate) const fn beneath(mut self) -> Self {
        self.is_beneath = true;
        self
    }

    /// Draws lines and edges so many pixels wide in pictures.
    #[must_use]
    pub(crate) const fn width(mut self, pixels: f64) -> Self {
        self.width = pixels;
        self
    }

    /// Draws the layer so many metres nearer to the camera in pictures: over what would hide it.
    #[must_use]
    pub(crate) const fn lifted(mut self, metres: f64) -> Self {
        self.lift = metres;
        self
    }

    /// A line with a place for each frame, drawn up to the frame where a picture keeps earlier ones.
    #[must_use]
    pub(crate) const fn growing(mut self) -> Self {
        self.grows = true;
        self
    }

    /// Whether each solid has axes of its own.
    pub(crate) fn has_axes(&self) -> bool {
        matches!(self.shape, Shape::Ball | Shape::Wire) || self.axes.len() > 1
    }

    /// Where the values lie.
    pub(crate) fn range(&self) -> Option<[f64; 2]> {
        self.values.as_ref().map(|(_, range)| *range)
    }

    pub(crate) const fn len(&self) -> usize {
        self.packed.cells.len()
    }

    /// The colour of a thing where the layer has colours.
    pub(crate) fn own(&self, k: usize) -> [u8; 3] {
        self.colours.get(k).copied().or(self.colour).unwrap_or(GREY)
    }

    /// The value of a thing, from 0 to 1.
    pub(crate) fn value(&self, k: usize) -> Option<f64> {
        self.values.as_ref().map(|(values, _)| f64::from(values[k]) / 255.0)
    }

    /// Whether the layer is drawn at a frame: by its name, or without names if it is shown.
    pub(crate) fn is_drawn(&self, frame: usize, names: &[&str]) -> bool {
        let is_named = if names.is_empty() { self.is_shown } else { names.contains(&&*self.name) };
        is_named && self.at.is_none_or(|at| at == frame)
    }

    /// Where all things are in the scene at a frame.
    pub(crate) fn places(&self, frame: usize) -> impl Iterator<Item = V3> {
        let pose = self.poses[frame.min(self.poses.len() - 1)];
        self.packed.cells.iter().map(move |cell| pose.apply(self.packed.place(*cell)))
    }

    /// From the centre of a solid to the middles of three of its sides.
    pub(crate) fn axes(&self, k: usize) -> [V3; 3] {
        self.axes[if self.has_axes() { k } else { 0 }]
    }

    /// Some of the places in the scene at a frame, and how far solids reach there.
    pub(crate) fn extent(&self, frame: usize) -> impl Iterator<Item = V3> {
        let every = self.len().div_ceil(SAMPLE).max(1);
        self.places(frame).enumerate().step_by(every).flat_map(move |(k, p)| {
            let axes = if self.axes.is_empty() { [[0.0; 3]; 3] } else { self.axes(k) };
            let signs = if self.axes.is_empty() { &[0.0][..] } else { &[-1.0, 1.0] };
            let ends = axes.into_iter().take(if self.axes.is_empty() { 1 } else { 3 });
            ends.flat_map(move |axis| signs.iter().map(move |sign| [0, 1, 2].map(|k| p[k] + sign * axis[k])))
        })
    }

    /// Some of the places in the page.
    pub(crate) fn sample(&self) -> impl Iterator<Item = V3> {
        let every = self.packed.cells.len().div_ceil(SAMPLE).max(1);
        self.packed.cells.iter().step_by(every).map(|cell| self.poses[0].apply(self.packed.place(*cell)))
    }
}
