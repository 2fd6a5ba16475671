//! A layer as a page has it: what the script is to know before the arrays, and the arrays.

use crate::scene::{GREY, Layer, Shape};
use serde::Serialize;
use std::borrow::Cow;

type V3 = [f64; 3];

/// The most boxes and balls of a layer in a page. Of more every so many are kept.
const MOST_SOLIDS: usize = 100_000;

/// What the page is to know of a layer before its arrays.
#[derive(Debug, Serialize)]
pub(super) struct Record<'a> {
    name: &'a str,
    shape: Shape,
    count: usize,
    colour: [u8; 3],
    is_coloured: bool,
    has_colours: bool,
    has_axes: bool,
    axes: Option<[[f32; 3]; 3]>,
    range: Option<[f64; 2]>,
    at: Option<usize>,
    poses: usize,
    is_shown: bool,
    is_beneath: bool,
}

impl Layer {
    /// The layer as a page has it.
    pub(super) fn thinned(&self) -> Cow<'_, Self> {
        let every = self.len().div_ceil(MOST_SOLIDS);
        if self.axes.is_empty() || every <= 1 {
            return Cow::Borrowed(self);
        }
        let mut out = self.clone();
        out.packed.thin(every);
        out.colours = out.colours.into_iter().step_by(every).collect();
        out.axes = out.axes.into_iter().step_by(every).collect();
        out.values = out.values.map(|(values, range)| (values.into_iter().step_by(every).collect(), range));
        Cow::Owned(out)
    }

    pub(super) fn record(&self) -> Record<'_> {
        let one = |axes: &[V3; 3]| axes.map(|axis| axis.map(|x| x as f32));
        Record {
            name: &self.name,
            shape: self.shape,
            count: self.packed.cells.len(),
            colour: self.colour.unwrap_or(GREY),
            is_coloured: self.colour.is_some(),
            has_colours: !self.colours.is_empty(),
            has_axes: self.has_axes(),
            axes: self.axes.first().filter(|_| !self.has_axes()).map(one),
            range: self.range(),
            at: self.at,
            poses: self.poses.len(),
            is_shown: self.is_shown,
            is_beneath: self.is_beneath,
        }
    }

    /// The arrays, in the order in which the page reads them. The page has its zero at `origin`.
    pub(super) fn arrays(&self, origin: V3, out: &mut Vec<u8>) {
        self.packed.planes(out);
        out.extend(self.values.iter().flat_map(|(values, _)| values));
        out.extend(self.colours.as_flattened());
        let mut floats = |x: f64| out.extend((x as f32).to_le_bytes());
        if self.has_axes() {
            self.axes.as_flattened().as_flattened().iter().for_each(|x| floats(*x));
        }
        for pose in &self.poses {
            let (turn, low) = (pose.rotation(), pose.apply(self.packed.low));
            for column in 0..3 {
                (0..3).for_each(|row| floats(turn[row][column] * self.packed.size[column]));
                floats(0.0);
            }
            (0..3).for_each(|row| floats(low[row] - origin[row]));
            floats(1.0);
        }
    }
}
