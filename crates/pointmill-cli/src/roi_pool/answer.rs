//! The arrays of an answer with their names, what was counted, and the comparison of two answers.

use super::records::{InsideReport, ReportRecord};
use crate::failure::Failure;
use crate::interrupt::undivided;
use pointmill::Error;
use pointmill::roi_pool::{Report, RoiArrays};
use pointmill::{NamedArrays, Values};
use pointmill_io::{Array, ArrayData, ArrayView, Destination, write_npz};

/// The result of a task.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// By the names that they have in a file.
    pub(crate) arrays: Vec<(&'static str, Array)>,
    pub(crate) report: ReportRecord,
}

impl From<RoiArrays> for Answer {
    fn from(pooled: RoiArrays) -> Self {
        let mut answer = Self::counted(&pooled.report);
        for (name, view) in pooled.arrays() {
            let values = match view.values() {
                Values::F32(values) => ArrayData::F32(values.to_vec()),
                Values::F16(bits) => ArrayData::F16(bits.to_vec()),
                Values::I32(values) => ArrayData::I32(values.to_vec()),
                Values::I64(values) => ArrayData::I64(values.to_vec()),
                other => unreachable!("{other:?}: features come from .npy files, which have no bf16"),
            };
            answer.push(name, view.shape().to_vec(), values);
        }
        answer
    }
}

impl Answer {
    /// The report of a pooling without its arrays.
    pub(crate) fn counted(report: &Report) -> Self {
        Self { arrays: vec![], report: ReportRecord::Pool(*report) }
    }

    /// The lowest box of each point.
    pub(crate) fn part(boxes: usize, part: Vec<i32>) -> Self {
        let points_inside = Some(part.iter().filter(|&&b| b >= 0).count());
        let mut answer = Self::inside(InsideReport { boxes, points: part.len(), points_inside, pairs: None });
        answer.push("part", vec![part.len()], ArrayData::I32(part));
        answer
    }

    /// All boxes of each point, from the bits of each.
    pub(crate) fn all(boxes: usize, points: usize, bits: &[u32]) -> Result<Self, Error> {
        let mut all = Vec::new();
        let bytes = points.saturating_mul(boxes);
        let refused = |_| Error::OutOfMemory { device: "cpu".into(), bytes: bytes as u64 };
        all.try_reserve_exact(bytes).map_err(refused)?;
        let mut points_inside = 0;
        for words in bits.chunks_exact(boxes.div_ceil(32).max(1)) {
            points_inside += usize::from(words.iter().any(|&word| word != 0));
            all.extend((0..boxes).map(|b| words[b / 32] >> (b % 32) & 1 == 1));
        }
        let pairs = Some(bits.iter().map(|word| word.count_ones() as usize).sum());
        let points_inside = Some(points_inside);
        let mut answer = Self::inside(InsideReport { boxes, points, points_inside, pairs });
        answer.push("all", vec![points, boxes], ArrayData::Bool(all));
        Ok(answer)
    }

    /// The number of points of each box.
    pub(crate) fn count(points: usize, count: Vec<i32>) -> Self {
        let pairs = Some(count.iter().map(|&n| n as usize).sum());
        let mut answer = Self::inside(InsideReport { boxes: count.len(), points, points_inside: None, pairs });
        answer.push("count", vec![count.len()], ArrayData::I32(count));
        answer
    }

    /// The points of each box.
    pub(crate) fn crop(points: usize, (splits, indices): (Vec<i64>, Vec<i32>)) -> Self {
        let (boxes, pairs) = (splits.len() - 1, Some(indices.len()));
        let mut answer = Self::inside(InsideReport { boxes, points, points_inside: None, pairs });
        answer.lists(splits, indices);
        answer
    }

    fn inside(report: InsideReport) -> Self {
        Self { arrays: vec![], report: ReportRecord::Inside(report) }
    }

    fn push(&mut self, name: &'static str, shape: Vec<usize>, data: ArrayData) {
        let array = Array::new(shape, data).expect("the library returns as many values as the shape has");
        self.arrays.push((name, array));
    }

    fn lists(&mut self, splits: Vec<i64>, indices: Vec<i32>) {
        self.push("row_splits", vec![splits.len()], ArrayData::I64(splits));
        self.push("indices", vec![indices.len()], ArrayData::I32(indices));
    }

    /// The names of the arrays that differ in any bit from another answer to the same task.
    pub(crate) fn differences(&self, other: &Self) -> Vec<String> {
        let same = |name: &str, array: &Array| {
            other
                .arrays
                .iter()
                .any(|(n, b)| *n == name && array.shape() == b.shape() && same_bits(array.data(), b.data()))
        };
        let arrays = self.arrays.iter().filter(|(name, array)| !same(name, array)).map(|&(name, _)| name);
        arrays.chain((self.report != other.report).then_some("report")).map(str::to_owned).collect()
    }

    /// Writes the arrays, and of a pooling the report.
    pub(crate) fn write(&self, to: impl Destination) -> Result<(), Failure> {
        let mut members: Vec<_> = self.arrays.iter().map(|(name, array)| (*name, array.view())).collect();
        let report = match &self.report {
            ReportRecord::Pool(counted) => Some(serde_json::to_vec(counted).expect("a report is plain numbers")),
            ReportRecord::Inside(_) => None,
        };
        members.extend(report.as_deref().map(|text| ("report", ArrayView::u8(&[text.len()], text))));
        Ok(undivided(|| write_npz(to, &members))?)
    }
}

/// Compares bits: as numbers, NaN would differ from itself, and 0 would equal -0.
fn same_bits(a: &ArrayData, b: &ArrayData) -> bool {
    match (a, b) {
        (ArrayData::F32(a), ArrayData::F32(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
        }
        (a, b) => a == b,
    }
}

#[cfg(test)]
#[path = "../../tests/unit/roi_pool_answer.rs"]
mod tests;
