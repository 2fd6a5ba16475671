//! What a LAS file says of all its points.

use crate::crs::{Crs, keys_of, of_keys, of_wkt};
use crate::error::IoError;
use crate::fault::bail;
use std::path::Path;
use std::sync::Arc;

/// What a LAS file says of all its points, so that they are written as they were: the coordinate
/// reference system, the scale and the offset, the point format.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Survey {
    /// The records about the system, in order.
    pub(crate) crs: Vec<Record>,
    /// The steps of the coordinates, unless files differ in them.
    pub(crate) grid: Option<Grid>,
    /// The point format, unless files differ in it.
    pub(crate) format: Option<u8>,
    /// The bits of the global encoding.
    pub(crate) encoding: u16,
    /// The minor version of the file; 0 of points of several.
    pub(crate) minor: u8,
    /// The first bytes of the header, which have the source, the project, the system and the day;
    /// empty of points of several files.
    pub(crate) head: Vec<u8>,
    /// Records that the reader does not use.
    pub(crate) kept: Vec<OtherRecord>,
    /// What a record says of columns of extra bytes.
    pub(crate) described: Vec<Described>,
    /// What is not kept: the user and number of records, bytes of each point that no record
    /// describes.
    pub(crate) others: Vec<String>,
    pub(crate) extra: usize,
}

/// A record that the reader does not use: it is written as it was.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct OtherRecord {
    /// The head without the length of the data: user, number and description.
    pub(crate) user: Vec<u8>,
    pub(crate) id: u16,
    pub(crate) description: Vec<u8>,
    pub(crate) data: Vec<u8>,
    /// Whether it stands behind the points.
    pub(crate) is_extended: bool,
}

/// What a record says of a column of extra bytes.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Described {
    /// The name of the column.
    pub(crate) column: String,
    /// Its type, scale and offset, and its description, as a record of one value.
    pub(crate) told: Vec<u8>,
}

/// A record about the coordinate reference system.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Record {
    /// The record id.
    pub(crate) id: u16,
    pub(crate) data: Vec<u8>,
}

/// What two lists have in common, and what one of them has alone.
fn common<T: Clone + PartialEq>(a: &[T], b: &[T]) -> (Vec<T>, Vec<T>) {
    let (common, mut alone): (Vec<T>, Vec<T>) = a.iter().cloned().partition(|of| b.contains(of));
    alone.extend(b.iter().filter(|of| !common.contains(of)).cloned());
    (common, alone)
}

impl OtherRecord {
    /// The user and the number.
    pub(crate) fn name(&self) -> String {
        format!("{} {}", String::from_utf8_lossy(&self.user), self.id)
    }
}

impl Record {
    /// Record ids: the text of the system, and the keys of `GeoTIFF`.
    pub(crate) const WKT: u16 = 2112;
    pub(crate) const KEYS: u16 = 34735;
    /// The numbers and the texts of keys.
    const DOUBLES: u16 = 34736;
    const TEXTS: u16 = 34737;
}

/// Scale and offset of each axis.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Grid {
    pub(crate) scale: [f64; 3],
    pub(crate) shift: [f64; 3],
}

impl Survey {
    /// The bit of the encoding that says that WKT counts.
    pub(crate) const IS_WKT: u16 = 0b1_0000;

    /// As text, for another process.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).expect("numbers and texts")
    }

    /// What [`Survey::to_text`] is of; `None` of another text.
    pub fn from_text(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// The coordinate reference system, as [`Scan::crs`](crate::Scan::crs).
    pub fn crs(&self) -> Option<String> {
        self.crs_name()
    }

    /// What holds for the points of two files: they have one system.
    pub(crate) fn and(self: Arc<Self>, other: &Self, path: &Path, other_path: &Path) -> Result<Arc<Self>, IoError> {
        if !self.has_system_of(other) {
            let tell = |survey: &Self| survey.system().map_or_else(|| "none that is known".into(), |crs| crs.told());
            let mut found = tell(other);
            if found == tell(&self) {
                found += ", in other records";
            }
            let wanted = format!("that of {}: {}", path.display(), tell(&self));
            bail!(other_path, InvalidArgument, "coordinate reference system", wanted, found);
        }
        let (kept, differing) = common(&self.kept, &other.kept);
        Ok(Arc::new(Self {
            grid: self.grid.filter(|grid| other.grid == Some(*grid)),
            format: self.format.filter(|format| other.format == Some(*format)),
            encoding: (self.encoding & other.encoding & !Self::IS_WKT) | (self.encoding & Self::IS_WKT),
            minor: if self.minor == other.minor { self.minor } else { 0 },
            crs: self.crs.clone(),
            described: common(&self.described, &other.described).0,
            others: differing.iter().map(OtherRecord::name).collect(),
            kept,
            // What each of the files lost was said of it.
            ..Self::default()
        }))
    }

    /// Whether the records are those of another file, or name the same system.
    fn has_system_of(&self, other: &Self) -> bool {
        if self.crs == other.crs {
            return true;
        }
        let (own, others) = (self.systems(), other.systems());
        let mut pairs = own.iter().flat_map(|a| others.iter().map(move |b| (a, b)));
        !pairs.clone().any(|(a, b)| a.differs(b)) && pairs.any(|(a, b)| a.is_same(b))
    }

    /// The systems of the WKT and of the `GeoTIFF` keys.
    fn systems(&self) -> Vec<Crs> {
        let of = |id| self.data(id).unwrap_or_default();
        let keys = of_keys(of(Record::KEYS), of(Record::DOUBLES), of(Record::TEXTS));
        of_wkt(of(Record::WKT)).into_iter().chain(keys).collect()
    }

    /// What says nothing but a system: an EPSG code, as `GeoTIFF` keys. `None` of a code of which no
    /// rule tells what it is of: only 2000 to 3818, 3857 and 20000 to 32766 are known to be projected,
    /// and 4326, 4258, 4267 and 4269 to be longitude and latitude.
    ///
    /// ```
    /// use pointmill_io::Survey;
    /// let survey = Survey::of_epsg(32_632).unwrap();
    /// assert_eq!(survey.system().unwrap().name.unwrap(), "WGS 84 / UTM zone 32N");
    /// assert_eq!(Survey::of_epsg(5703), None);
    /// ```
    pub fn of_epsg(code: u32) -> Option<Self> {
        let crs = vec![Record { id: Record::KEYS, data: keys_of(code)? }];
        Some(Self { crs, ..Self::default() })
    }

    /// The same of a system in WKT of either version; `None` of another text, and of one that no
    /// record of a LAS file holds.
    ///
    /// ```
    /// use pointmill_io::Survey;
    /// let survey = Survey::of_wkt(r#"LOCAL_CS["pit",UNIT["metre",1]]"#).unwrap();
    /// assert_eq!(survey.crs().unwrap(), "pit");
    /// assert_eq!(Survey::of_wkt("pit"), None);
    /// ```
    pub fn of_wkt(text: &str) -> Option<Self> {
        let text = text.trim_start_matches('\u{feff}').trim();
        of_wkt(text.as_bytes())?;
        // A text ends in a zero.
        let data = text.bytes().chain([0]).collect::<Vec<_>>();
        u16::try_from(data.len()).ok()?;
        let crs = vec![Record { id: Record::WKT, data }];
        Some(Self { crs, encoding: Self::IS_WKT, ..Self::default() })
    }

    /// The same with the system of another in place of its own.
    pub(crate) fn with_system_of(&self, other: &Self) -> Self {
        let has_wkt = other.encoding & Self::IS_WKT;
        // WKT came with version 1.4.
        let minor = if has_wkt != 0 && self.minor != 0 { self.minor.max(4) } else { self.minor };
        let encoding = (self.encoding & !Self::IS_WKT) | has_wkt;
        Self { crs: other.crs.clone(), encoding, minor, ..self.clone() }
    }

    /// The version of the file, such as `1.4`; `None` of points of several versions.
    pub fn version(&self) -> Option<String> {
        self.format.filter(|_| !self.head.is_empty()).map(|_| format!("1.{}", self.minor))
    }

    /// The point format, unless files differ in it.
    pub const fn point_format(&self) -> Option<u8> {
        self.format
    }

    /// Scale and offset along x, y and z, unless files differ in them.
    pub fn scale_and_offset(&self) -> Option<[[f64; 3]; 2]> {
        self.grid.map(|grid| [grid.scale, grid.shift])
    }

    /// The coordinate reference system with its units, of the records in WKT, else of the `GeoTIFF`
    /// keys.
    pub fn system(&self) -> Option<Crs> {
        let name = || Some(Crs { name: Some(self.crs_name()?), ..Crs::default() });
        self.systems().into_iter().next().or_else(name)
    }

    /// The system in WKT, as the file has it.
    pub fn wkt(&self) -> Option<String> {
        let text = self.data(Record::WKT)?.split(|&b| b == 0).next()?;
        Some(String::from_utf8_lossy(text).trim().to_owned()).filter(|text| !text.is_empty())
    }

    /// The name of the system in WKT, or the EPSG code of the `GeoTIFF` keys.
    pub(crate) fn crs_name(&self) -> Option<String> {
        let wkt = self.data(Record::WKT).map(String::from_utf8_lossy);
        wkt.and_then(|text| Some(text.split('"').nth(1)?.to_owned())).or_else(|| {
            let crs = of_keys(self.data(Record::KEYS)?, &[], &[])?;
            Some(format!("EPSG:{}", crs.epsg?))
        })
    }

    fn data(&self, id: u16) -> Option<&[u8]> {
        self.crs.iter().find(|record| record.id == id).map(|record| &*record.data)
    }
}
