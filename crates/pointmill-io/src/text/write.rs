//! Clouds as text.

use crate::error::IoError;
use crate::files::Place;
use crate::files::write_to;
use crate::format::Format;
use crate::named_points::{Long, NamedPoints};
use crate::names;
use std::io::Write as _;

/// Writes numbers separated by commas, after a line of names.
pub(crate) fn write_csv(to: Place<'_>, cloud: &NamedPoints<'_>) -> Result<(), IoError> {
    write(to, cloud, ',', Some(names::written(&cloud.fields, Format::Csv)))
}

/// Writes numbers separated by blanks.
pub(crate) fn write_xyz(to: Place<'_>, cloud: &NamedPoints<'_>) -> Result<(), IoError> {
    write(to, cloud, ' ', None)
}

/// Writes each number as the shortest decimal that reads back as the same one, of its type.
fn write(to: Place<'_>, cloud: &NamedPoints<'_>, separator: char, header: Option<Vec<String>>) -> Result<(), IoError> {
    cloud.check(to.path)?;
    let columns = cloud.columns(Long::Always);
    write_to(&to, |out| {
        let mut line = String::new();
        if let Some(names) = header {
            writeln!(out, "{}", names.join(&separator.to_string()))?;
        }
        for i in 0..cloud.points.len() {
            line.clear();
            for (j, column) in columns.iter().enumerate() {
                if j > 0 {
                    line.push(separator);
                }
                cloud.text(i, j, column, &mut line);
            }
            line.push('\n');
            out.write_all(line.as_bytes())?;
        }
        Ok(())
    })
}
