//! The columns of a cloud: names and types.

use pointmill_core::array::Dtype;

/// A column of a cloud.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The name: `x`, `y`, `z`, then `intensity`, `time`, or `column3` where the file has no names.
    pub name: String,
    /// The type of its values in the file.
    pub dtype: Dtype,
}

impl Field {
    /// Columns of one type: these names, then `column4`, `column5`, ...
    pub(crate) fn of_one_type(names: &[&str], columns: usize, dtype: Dtype) -> Vec<Self> {
        let name = |i: usize| names.get(i).map_or_else(|| format!("column{i}"), |name| (*name).into());
        (0..columns).map(|i| Self { name: name(i), dtype }).collect()
    }
}

/// The names of the columns that every cloud has.
pub(crate) const XYZ: &[&str] = &["x", "y", "z"];

/// The name of padding in PCD.
pub(crate) const PADDING: &str = "_";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_names() {
        let names = |names, n| {
            let fields = Field::of_one_type(names, n, Dtype::F32);
            fields.into_iter().map(|f| f.name).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names(&["x", "y", "z", "intensity"], 5), "x y z intensity column4");
        assert_eq!(names(&["x", "y", "z", "intensity", "time"], 5), "x y z intensity time");
        assert_eq!(names(XYZ, 4), "x y z column3");
    }
}
