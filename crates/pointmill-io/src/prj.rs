//! `NAME.prj` beside a file whose format has no room for a coordinate reference system: its WKT, as
//! programs of geography look for it.

use crate::error::IoError;
use crate::files::{Place, open_in_folder, write_to};
use crate::format::Format;
use crate::scan::Scan;
use crate::survey::Survey;
use crate::warning::Warning;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

/// The most bytes that are read: a record of LAS has no more.
const MOST: u64 = u16::MAX as u64;

/// The name of the file with the system of another, in a format that has one beside it. What has no
/// ending, such as a device, has none.
pub fn prj_of(path: &Path, format: Format) -> Option<PathBuf> {
    let is_beside = format.has_prj() && path.extension().is_some();
    is_beside.then(|| path.with_extension("prj"))
}

/// The text beside a file; `None` if there is no regular file of that name.
fn beside(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = vec![];
    open_in_folder(path).ok()?.take(MOST).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// A scan with the system that stands beside its file, if there is one.
pub(crate) fn with_prj(mut scan: Scan, path: &Path) -> Scan {
    let Some((path, text)) = prj_of(path, scan.format).and_then(|path| Some((path.clone(), beside(&path)?))) else {
        return scan;
    };
    match str::from_utf8(&text).ok().and_then(Survey::of_wkt) {
        Some(survey) => scan.survey = Some(survey.into()),
        None => {
            let why = "expected a coordinate reference system in WKT".into();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            scan.warnings.push(Warning::NotRead { fields: vec![(name, why)], count: 1 });
        }
    }
    scan
}

/// Writes the system of a file that was written, unless it stands there already.
pub(crate) fn write_prj(to: Place<'_>, format: Format, survey: Option<&Survey>) -> Result<(), IoError> {
    let (Some(path), Some(wkt)) = (prj_of(to.path, format), survey.and_then(Survey::wkt)) else { return Ok(()) };
    if beside(&path).is_some_and(|text| text.trim_ascii() == wkt.as_bytes()) {
        return Ok(());
    }
    write_to(&path, |out| writeln!(out, "{wkt}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReadOptions, WriteOptions, read, write};
    use pointmill_core::PointCloud;
    use std::fs;

    const WKT: &str = r#"LOCAL_CS["pit",UNIT["metre",1]]"#;

    fn scan(crs: Option<&str>) -> Scan {
        let scan = Scan::from(PointCloud::new(vec![1.0, 2.0, 3.0], 3).unwrap());
        crs.map_or_else(|| scan.clone(), |wkt| scan.clone().with_crs(&Survey::of_wkt(wkt).unwrap()))
    }

    fn read_back(path: &Path) -> Scan {
        read(path, &ReadOptions::default()).unwrap()
    }

    #[test]
    fn systems_stand_beside_formats_without_room_and_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for (name, is_kept) in [("a.ply", true), ("b.xyz", true), ("c.csv", true), ("d.pcd", false), ("e.npz", false)] {
            let path = at(name);
            write(&path, &scan(Some(WKT)), &WriteOptions::default()).unwrap();
            let beside = path.with_extension("prj");
            assert_eq!(fs::read_to_string(&beside).ok(), is_kept.then(|| format!("{WKT}\n")), "{name}");
            assert_eq!(read_back(&path).crs().as_deref(), is_kept.then_some("pit"), "{name}");
            assert_eq!(scan(Some(WKT)).warnings_in(Format::for_writing(&path).unwrap()).is_empty(), is_kept, "{name}");
        }
        // Without a system nothing is written, and keys are no text.
        write(at("f.ply"), &scan(None), &WriteOptions::default()).unwrap();
        let keys = scan(None).with_crs(&Survey::of_epsg(32_632).unwrap());
        write(at("g.ply"), &keys, &WriteOptions::default()).unwrap();
        assert!(!at("f.prj").exists() && !at("g.prj").exists());
        let lost = keys.warnings_in(Format::Ply).remove(0).to_string();
        assert!(lost.contains("EPSG:32632 (of GeoTIFF keys; a .prj has WKT)"), "{lost}");
        // A name without an ending, as a device has.
        write(at("plain"), &scan(Some(WKT)), &WriteOptions { format: Some(Format::Ply) }).unwrap();
        assert!(!at("plain.prj").exists());
    }

    #[test]
    fn what_stands_there_stays_if_it_is_the_same_and_is_replaced_whole() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let own = format!("\n {WKT} \r\n");
        fs::write(at("a.prj"), &own).unwrap();
        write(at("a.ply"), &scan(Some(WKT)), &WriteOptions::default()).unwrap();
        assert_eq!(fs::read_to_string(at("a.prj")).unwrap(), own);
        fs::write(at("a.prj"), "other").unwrap();
        write(at("a.ply"), &scan(Some(WKT)), &WriteOptions::default()).unwrap();
        assert_eq!(fs::read_to_string(at("a.prj")).unwrap(), format!("{WKT}\n"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing half-written");
    }

    #[test]
    fn other_texts_are_told_and_links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        write(at("a.ply"), &scan(None), &WriteOptions::default()).unwrap();
        for bytes in [&b""[..], b"pit", b"\xff\xfe", &[b'['; 100_000]] {
            fs::write(at("a.prj"), bytes).unwrap();
            let scan = read_back(&at("a.ply"));
            assert_eq!(scan.crs(), None);
            assert!(scan.warnings.iter().any(|warning| warning.to_string().contains("a.prj")), "{:?}", scan.warnings);
        }
        fs::remove_file(at("a.prj")).unwrap();
        fs::create_dir(at("a.prj")).unwrap();
        assert_eq!(read_back(&at("a.ply")).survey(), None);
        #[cfg(unix)]
        {
            fs::remove_dir(at("a.prj")).unwrap();
            fs::write(at("far"), "keep").unwrap();
            std::os::unix::fs::symlink(at("far"), at("a.prj")).unwrap();
            assert_eq!(read_back(&at("a.ply")).survey(), None);
            write(at("a.ply"), &scan(Some(WKT)), &WriteOptions::default()).unwrap();
            assert_eq!(
                (fs::read_to_string(at("far")).unwrap(), read_back(&at("a.ply")).crs()),
                ("keep".into(), Some("pit".into()))
            );
        }
    }
}
