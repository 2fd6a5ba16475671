//! What a file of a format does not keep of a cloud.

use crate::format::Format;
use crate::las::{lost, lost_when_moved, rounding};
use crate::named_points::NamedPoints;
use crate::names;
use crate::scan::{Scan, cast};
use crate::warning::Warning;
use crate::wide_column::WideColumn;
use pointmill_core::array::Dtype;
use std::sync::Arc;

impl Scan {
    /// The warnings that hold for a file of this scan in a format: casts, where it does not keep
    /// the values in full, steps of LAS that do not hold the coordinates, and names that it does not hold.
    pub fn warnings_in(&self, format: Format) -> Vec<Warning> {
        let mut warnings = self.warnings_read(format);
        warnings.extend(NamedPoints::from(self).lost_in(format));
        warnings
    }

    /// The same of a scan that goes to another frame with others: what a LAS file says of its own
    /// frame is lost, and coordinates are not those of the file that is written.
    pub fn warnings_moved_in(&self, format: Format) -> Vec<Warning> {
        let mut warnings = self.warnings_read(format);
        let survey = self.survey.as_ref().and_then(|survey| lost_when_moved(survey, format));
        let columns = NamedPoints { xyz_f64: None, survey: None, ..self.into() };
        let is_of_columns = |warning: &Warning| !matches!(warning, Warning::Steps { .. });
        warnings.extend(columns.lost_in(format).into_iter().filter(is_of_columns).chain(survey));
        warnings
    }

    /// What the reader warned of, as far as it holds for a file of a format.
    fn warnings_read(&self, format: Format) -> Vec<Warning> {
        let is_cast = |warning: &&Warning| matches!(warning, Warning::Cast { .. } | Warning::Rounded { .. });
        let holds = |warning: &&Warning| !format.keeps_f64() || !is_cast(warning);
        self.warnings.iter().filter(holds).cloned().collect()
    }
}

impl NamedPoints<'_> {
    /// What a file of a format does not keep of the columns in full, the coordinates of `f64`, what a
    /// LAS file said, and the names.
    pub fn lost_in(&self, format: Format) -> Vec<Warning> {
        let mut warnings = vec![];
        if format.keeps_f64() {
            // PLY has no whole numbers of 64 bits, and no type those of i64 and u64, or a gap.
            let is_double =
                |wide: &&Arc<WideColumn>| format == Format::Ply || !wide.fits(self.fields[wide.column].dtype);
            let changes = self.wide.iter().filter(is_double).map(|wide| (wide.column, wide.change_as_f64()));
            warnings.extend(cast(&self.fields, changes, Dtype::F64));
        }
        if format == Format::Las {
            warnings.extend(rounding(self).map(|by| Warning::Steps { by }));
        }
        warnings.extend(self.survey.as_ref().and_then(|survey| lost(survey, format)));
        warnings.extend(names::changed(&self.fields, format));
        warnings
    }
}
