//! Boxes and points of one call, and what must hold of them.

use crate::device::Stream;
use crate::{Argument, Dtype, Result, Rows, ensure, rows};

/// Values a box has.
pub(super) const BOX_COLUMNS: usize = 7;
/// Most values a point may have.
pub const MAX_COLUMNS: usize = 64;
/// The types of boxes, points and features.
pub(super) const FEATURES: [Dtype; 3] = [Dtype::F32, Dtype::F16, Dtype::Bf16];
/// Most boxes, and most points, of one call.
pub const MAX_LEN: usize = i32::MAX as usize;

/// Boxes and points of one call.
///
/// **Shapes**: boxes `[B, 7]`: cx, cy, cz, dx, dy, dz, heading; points `[N, C]` with 3 <= C <= 64,
/// x, y, z first and the rest not used. Both of one element type, `f32`, `f16` or `bf16`; half
/// types are widened, and all geometry is in `f32`.
///
/// **Units and frames**: metres, radians; the heading is about +z, 0 along +x, counter-clockwise;
/// one frame for both.
///
/// ```
/// use pointmill::Rows;
/// use pointmill::roi_pool::Scene;
/// let boxes = [0.0f32, 0.0, 0.0, 4.0, 2.0, 1.5, 0.0, /**/ 9.0, 0.0, 0.0, 4.0, 2.0, 1.5, 0.3];
/// let points = [0.5f32, 0.5, 0.5, /**/ 9.0, 0.1, 1.0];
/// let scene = Scene::new(Rows::new(&boxes, 7)?, Rows::new(&points, 3)?);
/// // The same as two samples of one box and one point each:
/// let batch = scene.batch(&[0, 1, 2], &[0, 1, 2]);
/// # Ok::<(), pointmill::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    pub(super) boxes: Rows<'a>,
    pub(super) points: Rows<'a>,
    pub(super) batch: Option<Batch<'a>>,
}

/// Where the boxes and the points of each sample start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Batch<'a> {
    pub(super) box_splits: &'a [usize],
    pub(super) point_splits: &'a [usize],
}

impl<'a> Scene<'a> {
    /// Boxes and points of one sample.
    pub fn new(boxes: impl Into<Rows<'a>>, points: impl Into<Rows<'a>>) -> Self {
        Self { boxes: boxes.into(), points: points.into(), batch: None }
    }

    /// The same arrays as a batch of S samples: boxes see the points of their own sample. Both
    /// splits hold `S + 1` ascending numbers, from 0 to B and from 0 to N. Indices in results stay
    /// those of the whole arrays. A call that is recorded in a graph must have the splits of the
    /// call before, and keeps them.
    pub fn batch(self, box_splits: &'a [usize], point_splits: &'a [usize]) -> Self {
        Self { batch: Some(Batch { box_splits, point_splits }), ..self }
    }

    pub(super) fn num_boxes(&self) -> usize {
        self.boxes.len()
    }

    pub(super) fn num_points(&self) -> usize {
        self.points.len()
    }

    /// The points that box `b` sees.
    pub(super) fn points_of(&self, sample: usize) -> std::ops::Range<usize> {
        self.batch.map_or(0..self.num_points(), |batch| batch.point_splits[sample]..batch.point_splits[sample + 1])
    }

    /// For each sample its boxes.
    pub(super) fn samples(&self) -> impl Iterator<Item = std::ops::Range<usize>> + Clone + use<'a> {
        let all = [0, self.num_boxes()];
        let splits = self.batch.map_or(Vec::from(all), |batch| batch.box_splits.to_vec());
        (1..splits.len()).map(move |s| splits[s - 1]..splits[s])
    }

    /// The streams that boxes and points belong to.
    pub(super) const fn streams(&self) -> [Option<&'a Stream>; 2] {
        [self.boxes.stream(), self.points.stream()]
    }

    pub(super) fn check(&self, stream: &Stream) -> Result<()> {
        let (boxes, points) = (&self.boxes, &self.points);
        let expected = "7 columns (cx, cy, cz, dx, dy, dz, heading)";
        ensure(boxes.columns() == BOX_COLUMNS, Argument::Boxes, expected, boxes.columns())?;
        let expected = format_args!("3 to {MAX_COLUMNS} columns");
        ensure((3..=MAX_COLUMNS).contains(&points.columns()), Argument::Points, expected, points.columns())?;
        for (name, input) in [(Argument::Boxes, boxes), (Argument::Points, points)] {
            input.check(name, stream, &FEATURES)?;
            ensure(input.len() <= MAX_LEN, name, format_args!("at most {MAX_LEN} rows"), input.len())?;
        }
        let expected = format_args!("the boxes' type {}", boxes.dtype());
        ensure(points.dtype() == boxes.dtype(), Argument::Points, expected, points.dtype())?;
        let Some(batch) = &self.batch else { return Ok(()) };
        rows::check_splits(Argument::BoxSplits, batch.box_splits, boxes.len())?;
        rows::check_splits(Argument::PointSplits, batch.point_splits, points.len())?;
        let expected = format_args!("as many values as box_splits, {}", batch.box_splits.len());
        let got = batch.point_splits.len();
        ensure(batch.box_splits.len() == batch.point_splits.len(), Argument::PointSplits, expected, got)
    }
}
