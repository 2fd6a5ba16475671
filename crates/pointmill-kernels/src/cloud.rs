//! Clouds as callers have them.

/// What kind of values points have.
pub mod kind {
    /// `f32`.
    pub const F32: u32 = 0;
    /// `f64`.
    pub const F64: u32 = 1;
    /// `f32`, about an origin.
    pub const ABOUT: u32 = 2;
}

/// Points of a scan.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Points {
    /// `[n, columns]`, x, y, z first.
    pub values: *const u8,
    /// Values of a row.
    pub columns: u32,
    /// The number of points.
    pub n: u32,
    /// One of [`kind`].
    pub kind: u32,
    /// What is added to each point of [`kind::ABOUT`].
    pub origin: [f64; 3],
}

/// [`Points`] in memory of a device.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct StoredPoints {
    values: u64,
    columns: u32,
    /// The number of points.
    pub n: u32,
    kind: u32,
    _zero: u32,
    origin: [f64; 3],
}

impl From<Points> for StoredPoints {
    fn from(points: Points) -> Self {
        let Points { values, columns, n, kind, origin } = points;
        Self { values: values.expose_provenance() as u64, columns, n, kind, _zero: 0, origin }
    }
}

impl StoredPoints {
    /// The points as kernels read them.
    #[inline(always)]
    pub const fn get(&self) -> Points {
        let Self { values, columns, n, kind, origin, .. } = *self;
        Points { values: core::ptr::with_exposed_provenance(values as usize), columns, n, kind, origin }
    }
}

impl Points {
    /// A point.
    ///
    /// # Safety
    /// i < n.
    #[inline(always)]
    pub unsafe fn get(&self, i: u32) -> [f64; 3] {
        let at = i as usize * self.columns as usize;
        // SAFETY: the caller's promise.
        unsafe {
            if self.kind == kind::F64 {
                let row = self.values.cast::<f64>().add(at);
                return [*row, *row.add(1), *row.add(2)];
            }
            let row = self.values.cast::<f32>().add(at);
            let p = [*row as f64, *row.add(1) as f64, *row.add(2) as f64];
            if self.kind == kind::F32 {
                return p;
            }
            [self.origin[0] + p[0], self.origin[1] + p[1], self.origin[2] + p[2]]
        }
    }
}
