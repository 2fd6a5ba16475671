//! `--crs` and `--scale-column`: what the cloud that is written has other than the one that was read.

use crate::failure::Failure;
use clap::Args;
use pointmill_io::files::open_named;
use pointmill_io::{Detail, Format, IoError, Scan, Survey};
use std::io::Read as _;
use std::path::Path;

/// The most bytes of a file with WKT: a record of LAS has no more.
const MOST: u64 = 65_535;

/// What is changed between a cloud that is read and the one that is written.
#[derive(Clone, Debug, Args)]
pub(crate) struct ChangeArgs {
    /// The coordinate reference system of the output, whatever the inputs say of theirs; no point is
    /// transformed. EPSG:CODE, or a file with WKT, such as a .prj. Codes are written as `GeoTIFF` keys,
    /// which LAS has: 2000 to 3818, 3857 and 20000 to 32766 as projected, 4326, 4258, 4267 and 4269
    /// as longitude and latitude; other codes need a file
    #[arg(long, value_name = "EPSG:CODE|WKT.prj")]
    crs: Option<String>,
    /// Multiply a column by a number, for example intensity=65535 for one of 0 to 1, since LAS has
    /// whole numbers. Values of columns of whole numbers are rounded to the nearest, and one that
    /// does not fit is an error. May be given several times
    #[arg(long, value_name = "COLUMN=FACTOR", value_parser = parse_scale)]
    scale_column: Vec<(String, f64)>,
}

/// The same, checked.
#[derive(Debug)]
pub(crate) struct Changes {
    crs: Option<Survey>,
    scales: Vec<(String, f64)>,
}

fn parse_scale(text: &str) -> Result<(String, f64), String> {
    let expected = "expected COLUMN=FACTOR with a finite number, such as intensity=65535";
    let (name, factor) = text.rsplit_once('=').filter(|(name, _)| !name.is_empty()).ok_or(expected)?;
    let factor = factor.trim().parse().ok().filter(|factor: &f64| factor.is_finite()).ok_or(expected)?;
    Ok((name.into(), factor))
}

impl ChangeArgs {
    /// Reads the system, before any work.
    pub(crate) fn changes(&self) -> Result<Changes, Failure> {
        let crs = self.crs.as_deref().map(system).transpose().map_err(|e| Failure::Usage(format!("--crs: {e}")))?;
        Ok(Changes { crs, scales: self.scale_column.clone() })
    }
}

/// The system of a code, or of the file with this name.
fn system(text: &str) -> Result<Survey, String> {
    if let Some((word, code)) = text.split_once(':')
        && word.eq_ignore_ascii_case("epsg")
    {
        let code = code.parse().map_err(|_| format!("expected EPSG:CODE with a whole number, got {text}"))?;
        let wanted = "expected a code of which it is known whether it is projected (2000 to 3818, 3857, 20000 to \
                      32766; 4326, 4258, 4267 and 4269 are not), or a file with WKT";
        let way_out = format!("`projinfo EPSG:{code} -o WKT1_GDAL -q > crs.prj` makes one");
        return Survey::of_epsg(code).ok_or_else(|| format!("{wanted}, got {text}; {way_out}"));
    }
    let told = |e: std::io::Error| format!("{text}: {e}");
    let (file, _) = open_named(Path::new(text)).map_err(|e| e.to_string())?;
    let mut bytes = vec![];
    file.take(MOST).read_to_end(&mut bytes).map_err(told)?;
    let wanted = format!("{text}: expected a coordinate reference system in WKT, less than {MOST} bytes");
    let parsed = str::from_utf8(&bytes).ok().and_then(Survey::of_wkt);
    parsed.ok_or_else(|| format!("{wanted}, got another text"))
}

impl Changes {
    pub(crate) fn has_crs(&self) -> bool {
        self.crs.is_some()
    }

    /// What they are, for a run that is resumed.
    pub(crate) fn decide(&self) -> String {
        let crs = self.crs.as_ref().map(Survey::to_text);
        format!("{crs:?} {:?}", self.scales)
    }

    /// The scan for a file of a format; `name` is that of the input.
    pub(crate) fn apply(&self, mut scan: Scan, name: &str, to: Format) -> Result<Scan, IoError> {
        for (column, factor) in &self.scales {
            scan = scan.with_column_scaled(column, *factor, to, name.as_ref()).map_err(|e| match e {
                IoError::InvalidArgument(at) => {
                    IoError::InvalidArgument(Box::new(Detail { field: format!("--scale-column: {}", at.field), ..*at }))
                }
                e => e,
            })?;
        }
        Ok(if let Some(crs) = &self.crs { scan.with_crs(crs) } else { scan })
    }
}
