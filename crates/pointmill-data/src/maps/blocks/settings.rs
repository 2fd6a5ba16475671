//! What all workers on a map by blocks agree on.

use crate::json_line::json_line;
use pointmill::ndt::NdtParams;
use pointmill_core::ndt::{Covariance, NdtLattice};
use pointmill_io::{Detail, IoError};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::Path;

/// The most cells along an edge of a block: as many as the lattice has along an axis are one block.
const MOST_CELLS: u32 = 1 << 21;

/// The format of a folder, and the version of the program: workers of another version are refused.
const FORMAT: &str = "pointmill.ndt.blocks.1";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The cells and the blocks of a map, and how sums become cells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlockSettings {
    /// Edge of a cell in metres, as the lattice has it.
    pub resolution: f64,
    /// Edge of a block in cells.
    pub cells: u32,
    /// The definition of a cell's covariance.
    pub covariance: Covariance,
    /// Fewest points of a cell.
    pub min_points: u32,
    /// Least ratio of an eigenvalue to the largest of its cell.
    pub eigen_ratio: f64,
    /// The point that cells and blocks are counted from, in metres.
    #[serde(default)]
    pub origin: [f64; 3],
}

#[derive(Serialize, Deserialize)]
struct File {
    format: String,
    pointmill: String,
    #[serde(flatten)]
    settings: BlockSettings,
}

impl BlockSettings {
    /// The settings of cells of `resolution` metres and blocks of about `block` metres: the nearest
    /// whole number of cells, at least one.
    ///
    /// ```
    /// use pointmill_core::ndt::Covariance;
    /// use pointmill_data::BlockSettings;
    /// let settings = BlockSettings::new(0.3, 128.0, Covariance::Autoware, 6, 0.01)?;
    /// assert_eq!(settings.cells, 427);
    /// # Ok::<(), pointmill_io::IoError>(())
    /// ```
    ///
    /// # Errors
    /// A resolution that makes no lattice; a block that is not finite and positive.
    pub fn new(
        resolution: f64,
        block: f64,
        covariance: Covariance,
        min_points: u32,
        eigen_ratio: f64,
    ) -> Result<Self, IoError> {
        let wrong = |field: &str, wanted: &str, found: f64| {
            IoError::InvalidArgument(Detail::new("map.json", field, wanted, format!("{found:?}")))
        };
        // As the lattice has it; one that makes no lattice is refused below.
        let resolution = NdtLattice::new(resolution).map_or(resolution, |lattice| lattice.unit());
        if !(block.is_finite() && block > 0.0) {
            return Err(wrong("block", "a finite length > 0 m", block));
        }
        let cells = (block / resolution).round().clamp(1.0, f64::from(MOST_CELLS)) as u32;
        let settings = Self { resolution, cells, covariance, min_points, eigen_ratio, origin: [0.0; 3] };
        settings.validate("map.json".as_ref()).map_err(IoError::InvalidArgument)?;
        Ok(settings)
    }

    /// Checks the numbers of a file or of a caller.
    fn validate(&self, path: &Path) -> Result<(), Box<Detail>> {
        let Self { resolution, cells, min_points, eigen_ratio, origin, .. } = self;
        let is_lattice = NdtLattice::new(*resolution).is_ok();
        let size = "a finite size > 0 m whose reciprocal is a normal f32";
        let checks = [
            ("resolution", is_lattice, size, format!("{resolution:?}")),
            ("cells", (1..=MOST_CELLS).contains(cells), "1 to 2097152 cells along a block", cells.to_string()),
            ("min_points", *min_points > 0, "at least 1", min_points.to_string()),
            ("eigen_ratio", (0.0..1.0).contains(eigen_ratio), "0 or more, below 1", format!("{eigen_ratio:?}")),
            ("origin", origin.iter().all(|x| x.is_finite()), "finite x, y, z in metres", format!("{origin:?}")),
        ];
        let wrong = checks.into_iter().find(|(_, is_right, ..)| !is_right);
        wrong.map_or(Ok(()), |(field, _, wanted, found)| Err(Detail::new(path, field, wanted, found)))
    }

    /// The same settings with cells and blocks counted from another point, in metres.
    ///
    /// # Errors
    /// An origin that is not finite.
    pub fn about(self, origin: [f64; 3]) -> Result<Self, IoError> {
        // -0 is 0, also in the bytes of the file.
        let settings = Self { origin: origin.map(|x| x + 0.0), ..self };
        settings.validate("map.json".as_ref()).map_err(IoError::InvalidArgument)?;
        Ok(settings)
    }

    /// How sums become cells.
    pub const fn params(&self) -> NdtParams {
        NdtParams { covariance: self.covariance, min_points: self.min_points, eigen_ratio: self.eigen_ratio }
    }

    /// Edge of a block in metres.
    pub fn block(&self) -> f64 {
        f64::from(self.cells) * self.resolution
    }

    /// The bytes of the file.
    pub(super) fn to_bytes(&self) -> std::io::Result<Vec<u8>> {
        json_line(&File { format: FORMAT.into(), pointmill: VERSION.into(), settings: self.clone() })
    }

    /// The settings of a file, of any version of the program.
    pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<Self, IoError> {
        let wrong = |field: &str, wanted: &str, found: String| Detail::new(path, field, wanted, found);
        let file: File = serde_json::from_slice(bytes)
            .map_err(|e| IoError::BadHeader(wrong("settings", "those of a map by blocks", e.to_string())))?;
        if file.format != FORMAT {
            return Err(IoError::UnsupportedFormat(wrong("format", FORMAT, file.format)));
        }
        file.settings.validate(path).map_err(IoError::BadValue)?;
        Ok(file.settings)
    }

    /// Refuses a folder of other settings, and one of another version.
    pub(super) fn check(&self, path: &Path, found: &[u8]) -> Result<(), IoError> {
        let wanted = self.to_bytes().map_err(IoError::io(path, "compare"))?;
        if wanted == found {
            return Ok(());
        }
        let fields = |bytes: &[u8]| serde_json::from_slice::<Map<String, Value>>(bytes).unwrap_or_default();
        let (wanted, found) = (fields(&wanted), fields(found));
        let other = wanted.iter().find(|(key, value)| found.get(*key) != Some(value));
        let (field, wanted, found) = match other {
            Some((key, value)) => (&**key, value.to_string(), found.get(key).unwrap_or(&Value::Null).to_string()),
            None => ("settings", "those of this run".into(), "others".into()),
        };
        Err(IoError::InvalidArgument(Detail::new(path, field, wanted, found)))
    }
}
