//! `--crs` and `--scale-column`.

use crate::run;
use pointmill_io::{ReadOptions, Scan, read};
use std::fs;
use std::path::Path;

const UTM: &str = r#"PROJCS["WGS 84 / UTM zone 32N",GEOGCS["WGS 84",UNIT["degree",0.0174532925199433]],UNIT["metre",1],AUTHORITY["EPSG","32632"]]"#;

/// A folder with a cloud of intensities of 0 to 1 and a system.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.csv"), "x,y,z,intensity\n691000,5335000,500,0.5\n691001,5335001,501,1\n").unwrap();
    fs::write(folder.path().join("utm.prj"), format!("{UTM}\n")).unwrap();
    folder
}

fn scan(folder: &Path, name: &str) -> Scan {
    read(folder.join(name), &ReadOptions::default()).unwrap()
}

#[test]
fn intensities_of_one_become_those_of_las() {
    let folder = folder();
    let at = folder.path();
    let told = run(at, "convert a.csv --out a.las").expect(3);
    let wanted = "`intensity` of point 0: expected a whole number from 0 to 65535; write .ply, which holds any number, \
                  or scale or round the column with --scale-column intensity=FACTOR, got 0.5";
    assert!(told.err.contains(wanted), "{}", told.err);
    for command in ["convert", "crop --min-range 0", "downsample --keep first", "merge"] {
        run(at, &format!("{command} a.csv --scale-column intensity=65535 --out a.las")).expect(0);
        let intensities: Vec<_> =
            scan(at, "a.las").cloud.data().chunks_exact(scan(at, "a.las").cloud.columns()).map(|row| row[3]).collect();
        assert_eq!(intensities, [32_768.0, 65_535.0], "{command}");
        fs::remove_file(at.join("a.las")).unwrap();
        let told = run(at, &format!("{command} a.csv --scale-column intensity=65536 --out a.las"));
        assert!(told.code != 0 && !at.join("a.las").exists());
        let wanted = "--scale-column: `intensity` of point 1: expected a number from 0 to 65535";
        assert!(told.err.contains(wanted), "{command}: {}", told.err);
    }
    let told = run(at, "convert a.csv --scale-column ring=2 --out a.ply").expect(3);
    assert!(told.err.contains("--scale-column: column: expected one behind x, y, z: intensity, got `ring`"));
}

#[test]
fn systems_are_given_by_code_or_file() {
    let folder = folder();
    let at = folder.path();
    let crs = |name: &str| run(at, &format!("info {name} --json")).expect(0).data("frame")[0]["las"]["crs"].clone();
    let scaled = "--scale-column intensity=65535";
    run(at, &format!("convert a.csv {scaled} --crs EPSG:32632 --out code.las")).expect(0);
    run(at, &format!("convert a.csv {scaled} --crs utm.prj --out text.las")).expect(0);
    for name in ["code.las", "text.las"] {
        let found = crs(name);
        let wanted = (Some("WGS 84 / UTM zone 32N"), Some(32_632), Some("metre"));
        assert_eq!((found["name"].as_str(), found["epsg"].as_u64(), found["unit"].as_str()), wanted, "{name}");
    }
    // Keys and text of one system go together, with those of the first.
    run(at, "merge text.las code.las --out both.las").expect(0);
    assert_eq!((crs("both.las"), scan(at, "both.las").cloud.len()), (crs("text.las"), 4));
    assert_eq!(scan(at, "both.las").survey().unwrap().wkt().unwrap(), UTM);
    run(at, "merge code.las text.las --out both.las").expect(0);
    assert_eq!(
        (scan(at, "both.las").crs().unwrap(), scan(at, "both.las").survey().unwrap().wkt()),
        ("EPSG:32632".into(), None)
    );
    // Others do not, unless one is given.
    run(at, "convert code.las --crs EPSG:2992 --out other.las").expect(0);
    let told = run(at, "merge text.las other.las --out no.las").expect(2);
    let wanted = "other.las: coordinate reference system: expected that of text.las: WGS 84 / UTM zone 32N, EPSG:32632, \
                  in metre, got EPSG:2992; --crs gives all inputs one";
    assert!(told.err.contains(wanted) && !at.join("no.las").exists(), "{}", told.err);
    run(at, "merge text.las other.las --crs EPSG:2992 --out both.las").expect(0);
    assert_eq!((&crs("both.las")["epsg"], scan(at, "both.las").cloud.len()), (&2992.into(), 4));
}
