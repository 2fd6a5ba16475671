//! Clouds as text.

use super::line::is_number;
use crate::destination::Place;
use crate::error::{Detail, IoError};
use crate::named::NamedPoints;
use crate::whole::write_to;
use pointmill_core::array::Dtype;
use std::io::Write as _;

/// Writes numbers separated by commas, after a line of names.
pub(crate) fn write_csv(to: Place<'_>, cloud: &NamedPoints<'_>) -> Result<(), IoError> {
    write(to, cloud, ',', true)
}

/// Writes numbers separated by blanks.
pub(crate) fn write_xyz(to: Place<'_>, cloud: &NamedPoints<'_>) -> Result<(), IoError> {
    write(to, cloud, ' ', false)
}

/// Writes each number as the shortest decimal that reads back as the same one, of its type.
fn write(to: Place<'_>, cloud: &NamedPoints<'_>, separator: char, header: bool) -> Result<(), IoError> {
    use std::fmt::Write as _;
    cloud.check(to.path)?;
    let odd = |name: &str| name.contains([',', ';', '"']) || is_number(name.as_bytes());
    if let Some(field) = cloud.fields.iter().find(|field| header && odd(&field.name)) {
        let wanted = "names that are no numbers, without commas, semicolons and quotes";
        return Err(IoError::InvalidArgument(Detail::new(to.path, "fields", wanted, format!("`{}`", field.name))));
    }
    let dtypes = cloud.dtypes();
    write_to(&to, |out| {
        let mut line = String::new();
        if header {
            let names: Vec<_> = cloud.fields.iter().map(|field| &*field.name).collect();
            writeln!(out, "{}", names.join(&separator.to_string()))?;
        }
        for i in 0..cloud.points.len() {
            line.clear();
            for (j, (v, dtype)) in cloud.points.row(i).iter().zip(&dtypes).enumerate() {
                if j > 0 {
                    line.push(separator);
                }
                // What is written to a string does not fail.
                let _ = match (dtype, cloud.xyz_f64) {
                    (Dtype::F64, Some(xyz)) => write!(line, "{}", xyz[3 * i + j]),
                    _ => write!(line, "{v}"),
                };
            }
            line.push('\n');
            out.write_all(line.as_bytes())?;
        }
        Ok(())
    })
}
