//! Questions about points and boxes, and their answers as named arrays.

use super::{BoxLists, PointsInBoxes, Scene};
use crate::Result;
use crate::device::Buffer;
use crate::memory::exactly;
use pointmill_core::array::{ArrayView, NamedArrays};

/// A question about points and boxes, for [`PointsInBoxes::find`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BoxQuery {
    /// The lowest box that holds each point: see [`PointsInBoxes::part`].
    Part,
    /// Whether each box holds each point: see [`PointsInBoxes::bits`].
    All,
    /// How many points each box holds: see [`PointsInBoxes::count`].
    Count,
    /// The points of each box: see [`PointsInBoxes::crop`].
    Crop,
}

pointmill_core::names!(BoxQuery { Part = "part", All = "all", Count = "count", Crop = "crop" });

/// The answer to a [`BoxQuery`] on the device that found it.
#[derive(Debug)]
pub struct BoxFound {
    boxes: usize,
    points: usize,
    found: Found,
}

#[derive(Debug)]
enum Found {
    Part(Buffer<i32>),
    All(Buffer<u32>),
    Count(Buffer<i32>),
    Crop(BoxLists),
}

/// The answer to a [`BoxQuery`] on the host.
///
/// Its named arrays: `part` i32 `[N]`, the lowest box of each point or -1; `all` bool `[N, B]`;
/// `count` i32 `[B]`; for [`BoxQuery::Crop`] `row_splits` i64 `[B + 1]` and `indices` i32
/// `[pairs]`.
#[derive(Clone, Debug)]
pub struct BoxArrays {
    /// What was counted.
    pub report: BoxReport,
    values: Host,
}

#[derive(Clone, Debug)]
enum Host {
    Part(Vec<i32>),
    All(Vec<bool>),
    Count(Vec<i32>),
    Crop(Vec<i64>, Vec<i32>),
}

/// What was counted of points in boxes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct BoxReport {
    /// Boxes.
    pub boxes: usize,
    /// Points.
    pub points: usize,
    /// Points that a box holds; null with `count` and `crop`, which do not count them.
    pub points_inside: Option<usize>,
    /// Pairs of a box and a point in it; null with `part`, which does not count them.
    pub pairs: Option<usize>,
}

impl PointsInBoxes {
    /// Memory for the answer to a question.
    ///
    /// # Errors
    /// Out of memory.
    pub fn found(&self, query: BoxQuery) -> Result<BoxFound> {
        let stream = self.stream();
        let found = match query {
            BoxQuery::Part => Found::Part(stream.alloc(0)?),
            BoxQuery::All => Found::All(stream.alloc(0)?),
            BoxQuery::Count => Found::Count(stream.alloc(0)?),
            BoxQuery::Crop => Found::Crop(self.lists()?),
        };
        Ok(BoxFound { boxes: 0, points: 0, found })
    }

    /// Answers the question that `out` was made for.
    ///
    /// # Errors
    /// As [`PointsInBoxes::part`].
    ///
    /// ```
    /// use pointmill::roi_pool::{BoxParams, BoxQuery, PointsInBoxes, Scene};
    /// use pointmill::{Device, NamedArrays, Rows};
    ///
    /// let boxes = [0.0f32, 0.0, 0.0, 4.0, 2.0, 1.5, 0.0];
    /// let points = [0.5f32, 0.5, 0.5, /**/ 9.0, 0.0, 0.0];
    /// let scene = Scene::new(Rows::new(&boxes, 7)?, Rows::new(&points, 3)?);
    /// let mut inside = PointsInBoxes::new(&Device::auto().stream()?, BoxParams::default())?;
    /// let mut found = inside.found(BoxQuery::All)?;
    /// inside.find(scene, &mut found)?;
    /// let all = found.read()?;
    /// assert_eq!((all.arrays()[0].0, all.arrays()[0].1.shape()), ("all", &[2, 1][..]));
    /// assert_eq!(all.report.pairs, Some(1));
    /// # Ok::<(), pointmill::Error>(())
    /// ```
    pub fn find(&mut self, scene: Scene<'_>, out: &mut BoxFound) -> Result<()> {
        // An answer to a call that failed is empty.
        let (boxes, points) = (scene.num_boxes(), scene.num_points());
        (out.boxes, out.points) = (0, 0);
        match &mut out.found {
            Found::Part(part) => self.part(scene, part),
            Found::All(bits) => self.bits(scene, bits),
            Found::Count(count) => self.count(scene, count),
            Found::Crop(lists) => self.crop(scene, lists),
        }?;
        (out.boxes, out.points) = (boxes, points);
        Ok(())
    }
}

impl BoxFound {
    /// Copies the answer to the host.
    ///
    /// # Errors
    /// Whatever the queued work ran into, or no memory.
    pub fn read(&self) -> Result<BoxArrays> {
        let &Self { boxes, points, .. } = self;
        let (mut points_inside, mut pairs) = (None, None);
        let values = match &self.found {
            Found::Part(part) => {
                let part = part.read(points)?;
                points_inside = Some(part.iter().filter(|&&b| b >= 0).count());
                Host::Part(part)
            }
            Found::All(bits) => {
                let bits = bits.read(points * boxes.div_ceil(32))?;
                points_inside = Some(rows(&bits, boxes).filter(|row| row.iter().any(|&word| word != 0)).count());
                pairs = Some(bits.iter().map(|word| word.count_ones() as usize).sum());
                Host::All(booleans(&bits, boxes, points)?)
            }
            Found::Count(count) => {
                let count = count.read(boxes)?;
                pairs = Some(count.iter().map(|&n| n as usize).sum());
                Host::Count(count)
            }
            Found::Crop(lists) => {
                let (splits, indices) = lists.read()?;
                pairs = Some(indices.len());
                Host::Crop(splits, indices)
            }
        };
        Ok(BoxArrays { report: BoxReport { boxes, points, points_inside, pairs }, values })
    }
}

/// The words of each point; no row where there is no box.
fn rows(bits: &[u32], boxes: usize) -> impl Iterator<Item = &[u32]> {
    bits.chunks_exact(boxes.div_ceil(32).max(1))
}

/// A boolean for each bit that belongs to a box.
fn booleans(bits: &[u32], boxes: usize, points: usize) -> Result<Vec<bool>> {
    let mut all = Vec::new();
    exactly(&mut all, points.saturating_mul(boxes))?;
    for words in rows(bits, boxes) {
        all.extend((0..boxes).map(|b| words[b / 32] >> (b % 32) & 1 == 1));
    }
    Ok(all)
}

impl NamedArrays for BoxArrays {
    fn arrays(&self) -> Vec<(&'static str, ArrayView<'_>)> {
        let &BoxReport { boxes, points, .. } = &self.report;
        match &self.values {
            Host::Part(part) => vec![("part", ArrayView::i32(&[points], part))],
            Host::All(all) => vec![("all", ArrayView::bool(&[points, boxes], all))],
            Host::Count(count) => vec![("count", ArrayView::i32(&[boxes], count))],
            Host::Crop(splits, indices) => {
                let lists = ArrayView::i32(&[indices.len()], indices);
                vec![("row_splits", ArrayView::i64(&[splits.len()], splits)), ("indices", lists)]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_become_booleans() {
        // 33 boxes: the last in a word of its own.
        let all = booleans(&[1 << 31, 1, 0, 0], 33, 2).unwrap();
        let held: Vec<_> = (0..66).filter(|&i| all[i]).collect();
        assert_eq!(held, [31, 32]);
        assert_eq!(booleans(&[], 0, 5).unwrap(), [false; 0]);
    }
}
