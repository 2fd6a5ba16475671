//! What a network sees of the points of a pillar.

/// Where pillars stand, along x, y, z.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PillarGrid {
    /// The edges of a cell in metres.
    pub size: [f32; 3],
    /// The least corner of the first cell.
    pub origin: [f32; 3],
}

impl PillarGrid {
    /// The centre of a cell along an axis, in `f64`.
    #[inline(always)]
    pub fn center(&self, axis: usize, cell: i32) -> f64 {
        let ([size_x, size_y, size_z], [x, y, z]) = (self.size, self.origin);
        // Not by index, which would put the arrays into memory of a GPU's thread.
        let (size, origin) = match axis {
            0 => (size_x, x),
            1 => (size_y, y),
            _ => (size_z, z),
        };
        (cell as f64 + 0.5) * size as f64 + origin as f64
    }
}

/// The mean of some coordinates in `f64`, added up in order; 0 of none.
#[inline(always)]
pub fn mean(n: u32, value: impl Fn(u32) -> f32) -> f64 {
    let (mut sum, mut i) = (0.0, 0);
    while i < n {
        sum += value(i) as f64;
        i += 1;
    }
    if n == 0 { 0.0 } else { sum / n as f64 }
}

/// Feature `k` of a point: a column; x, y, z less the mean; or x, y, z less the centre. Differences
/// are of `f64` and rounded once.
#[inline(always)]
pub fn features_of_point(
    k: usize,
    columns: usize,
    value: impl Fn(usize) -> f32,
    mean: impl Fn(usize) -> f64,
    center: impl Fn(usize) -> f64,
) -> f32 {
    if k < columns {
        value(k)
    } else if k < columns + 3 {
        (value(k - columns) as f64 - mean(k - columns)) as f32
    } else {
        let axis = k - columns - 3;
        (value(axis) as f64 - center(axis)) as f32
    }
}
