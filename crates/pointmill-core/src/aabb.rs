//! Axis-aligned boxes.

/// An axis-aligned box in metres, `min` and `max` corner.
///
/// Nothing is checked here: an empty or inverted box is a value like any other, and the operator
/// that takes the box says what it needs of it.
///
/// ```
/// use pointmill_core::Aabb;
/// let range = Aabb::new([-54.0, -54.0, -5.0], [54.0, 54.0, 3.0]);
/// assert!(range.contains([0.0, 0.0, 0.0]));
/// assert!(!range.contains([54.0, 0.0, 0.0]));
/// ```
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aabb {
    /// Smallest x, y, z in metres.
    pub min: [f32; 3],
    /// Largest x, y, z in metres.
    pub max: [f32; 3],
}

impl Aabb {
    /// The box between two corners.
    pub const fn new(min: [f32; 3], max: [f32; 3]) -> Self {
        Self { min, max }
    }

    /// Whether `min <= p < max` on all three axes; false for a point with a NaN.
    #[inline(always)]
    pub fn contains(&self, p: [f32; 3]) -> bool {
        // `&`, not `&&`: no branch in the loops that call this for every point.
        (p[0] >= self.min[0])
            & (p[0] < self.max[0])
            & (p[1] >= self.min[1])
            & (p[1] < self.max[1])
            & (p[2] >= self.min[2])
            & (p[2] < self.max[2])
    }

    /// The smallest box around all points whose x, y and z are finite; `None` if there are none.
    pub fn around(points: impl IntoIterator<Item = [f32; 3]>) -> Option<Self> {
        let mut found: Option<Self> = None;
        for p in points {
            if !p.iter().all(|v| v.is_finite()) {
                continue;
            }
            let b = found.get_or_insert(Self::new(p, p));
            for k in 0..3 {
                b.min[k] = b.min[k].min(p[k]);
                b.max[k] = b.max[k].max(p[k]);
            }
        }
        found
    }
}

crate::with_serde! {
    /// Six numbers: x0, y0, z0, x1, y1, z1.
    impl serde::Serialize for Aabb {
        fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            to.collect_seq([self.min, self.max].as_flattened())
        }
    }

    /// Six numbers: x0, y0, z0, x1, y1, z1.
    impl<'de> serde::Deserialize<'de> for Aabb {
        fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            let [x0, y0, z0, x1, y1, z1] = serde::Deserialize::deserialize(from)?;
            Ok(Self::new([x0, y0, z0], [x1, y1, z1]))
        }
    }
}

crate::with_schema! {
    impl schemars::JsonSchema for Aabb {
        fn inline_schema() -> bool {
            true
        }

        fn schema_name() -> alloc::borrow::Cow<'static, str> {
            "Aabb".into()
        }

        fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
            schemars::json_schema!({ "type": "array", "items": { "type": "number" }, "minItems": 6, "maxItems": 6 })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Aabb;

    #[test]
    fn around_ignores_non_finite_points() {
        let points = [[1.0, 2.0, 3.0], [f32::NAN, 0.0, 0.0], [-1.0, f32::INFINITY, 0.0], [0.0, 5.0, -1.0]];
        assert_eq!(Aabb::around(points), Some(Aabb::new([0.0, 2.0, -1.0], [1.0, 5.0, 3.0])));
        assert_eq!(Aabb::around([[f32::NAN; 3]]), None);
    }

    #[test]
    fn contains_is_closed_below_and_open_above() {
        let b = Aabb::new([0.0; 3], [1.0; 3]);
        assert!(b.contains([0.0; 3]) && b.contains([-0.0; 3]));
        assert!(!b.contains([1.0, 0.5, 0.5]) && !b.contains([0.5, f32::NAN, 0.5]));
    }
}
