//! What a LAS file says of all its points.

use super::vlr::{Record, Records};
use crate::error::IoError;
use crate::fault::bail;
use std::path::Path;
use std::sync::Arc;

/// The coordinate reference system of a LAS file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Survey {
    /// The records about it, in order.
    pub(crate) crs: Vec<Record>,
}

impl Survey {
    pub(super) fn of(records: &Records) -> Self {
        Self { crs: records.crs.clone() }
    }

    /// What holds for the points of two files: they have one system.
    pub(crate) fn and(self: Arc<Self>, other: &Self, path: &Path, other_path: &Path) -> Result<Arc<Self>, IoError> {
        if self.crs != other.crs {
            let tell = |survey: &Self| survey.crs_name().unwrap_or_else(|| "none that is known".into());
            let mut found = tell(other);
            if found == tell(&self) {
                found += ", in other records";
            }
            let wanted = format!("that of {}: {}", path.display(), tell(&self));
            bail!(other_path, InvalidArgument, "coordinate reference system", wanted, found);
        }
        Ok(self)
    }

    /// The name of the system in WKT, or the EPSG code of the `GeoTIFF` keys.
    pub(crate) fn crs_name(&self) -> Option<String> {
        let wkt = self.crs.iter().find(|record| record.id == Record::WKT).and_then(|record| {
            let text = String::from_utf8_lossy(&record.data);
            text.split('"').nth(1).map(str::to_owned)
        });
        wkt.or_else(|| {
            let keys = &self.crs.iter().find(|record| record.id == Record::KEYS)?.data;
            let keys = keys.as_chunks::<2>().0.iter().map(|b| u16::from_le_bytes(*b)).collect::<Vec<_>>();
            let key = |id| keys.get(4..)?.as_chunks::<4>().0.iter().find(|k| k[0] == id && k[1] == 0).map(|k| k[3]);
            // Projected, else geographic; 32767 is one of the user's own.
            let code = key(3072).or_else(|| key(2048)).filter(|&code| code != 32_767)?;
            Some(format!("EPSG:{code}"))
        })
    }
}
