//! `--crs` and `--scale-column`.

use crate::run;
use pointmill_io::{ReadOptions, Scan, read};
use std::fs;
use std::path::Path;

const UTM: &str = r#"PROJCS["WGS 84 / UTM zone 32N",GEOGCS["WGS 84",UNIT["degree",0.0174532925199433]],UNIT["metre",1],AUTHORITY["EPSG","32632"]]"#;

/// A folder with a cloud of intensities of 0 to 1 and a system.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("a.csv"),
        "x,y,z,intensity\n691000.12,5335000.12,500.1,0.5\n691001.12,5335001.12,501.1,1\n",
    )
    .unwrap();
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
    let crs = |name: &str| run(at, &format!("info {name} --json")).expect(0).data("frame")[0]["crs"].clone();
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

#[test]
fn systems_go_by_prj_files_there_and_back() {
    let folder = folder();
    let at = folder.path();
    let is = |name: &str| fs::read_to_string(at.join(name)).unwrap_or_default();
    run(at, "convert a.csv --scale-column intensity=65535 --crs utm.prj --out a.las").expect(0);
    for (i, command) in ["convert", "crop --min-range 0", "downsample --keep first", "merge"].into_iter().enumerate() {
        run(at, &format!("{command} a.las --out {i}.ply")).expect(0);
        assert_eq!(is(&format!("{i}.prj")), format!("{UTM}\n"), "{command}");
        run(at, &format!("{command} {i}.ply --out {i}.las")).expect(0);
        let (first, back) = (scan(at, "a.las"), scan(at, &format!("{i}.las")));
        assert_eq!(
            (first.crs(), first.survey().unwrap().wkt()),
            (back.crs(), back.survey().unwrap().wkt()),
            "{command}"
        );
        assert_eq!((first.xyz(), first.cloud.data()), (back.xyz(), back.cloud.data()), "{command}");
    }
    run(at, "convert 0.ply 1.ply --to xyz --out many/").expect(0);
    assert_eq!((is("many/0.prj"), is("many/1.prj")), (is("0.prj"), is("1.prj")));
    // Systems of PLY are compared, too.
    run(at, "convert 0.ply --crs EPSG:2992 --out 9.las").expect(0);
    assert!(run(at, "merge 0.ply 9.las --out no.las").expect(2).err.contains("--crs gives all inputs one"));
    // That of an input stays, and one of another cloud is told.
    fs::write(at.join("other.prj"), "LOCAL_CS[\"pit\",UNIT[\"metre\",1]]").unwrap();
    for command in ["convert", "merge"] {
        let told = run(at, &format!("{command} 0.ply --crs other.prj --out 0.xyz")).expect(2);
        assert!(told.err.contains("--crs: ") && told.err.contains("0.prj is also that of an input"), "{}", told.err);
    }
    run(at, "convert 0.ply --out 0.xyz").expect(0);
    assert_eq!(is("0.prj"), format!("{UTM}\n"));
    let told = run(at, "convert 9.las --out other.ply").expect(0);
    assert!(told.err.contains("other.prj was there before and is not of other.ply"), "{}", told.err);
    assert!(told.err.contains("EPSG:2992 (of GeoTIFF keys; a .prj has WKT)") && is("other.prj").contains("pit"));
}
