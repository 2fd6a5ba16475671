//! `crop`: the points in a part of space, with all columns.

use crate::downsample::{scan, write_survey};
use crate::run;

#[test]
fn points_are_kept_by_box_polygon_and_distance() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write_survey(&at("a.ply"));
    let corners = "# parcel\n691764 5335880\n691764.25, 5335880\n691764.25, 5335881\n691764 5335881\n";
    std::fs::write(at("parcel.txt"), corners).unwrap();
    for (flags, kept) in [
        ("--box 691764.3,5335880,-inf,691770,5335881,inf", &[1, 2][..]),
        ("--box 691764.3,5335880,-inf,691770,5335881,inf --invert", &[0]),
        ("--polygon parcel.txt", &[0]),
        ("--polygon parcel.txt --invert", &[1, 2]),
        ("--local-origin 691764.1,5335880.1,520.1 --max-range 0.5", &[0, 1]),
        ("--local-origin 691764.1,5335880.1,520.1 --min-range 0.1 --max-range 0.5", &[1]),
        ("--local-origin 691764,5335880,520 --box 0,0,0,0.2,0.2,0.2", &[0]),
        ("--min-range 5000000", &[0, 1, 2]),
    ] {
        let told = run(folder.path(), &format!("crop a.ply {flags} --out b.ply --json")).expect(0);
        assert_eq!(told.data("summary")[0]["points_kept"], kept.len(), "{flags}");
        let (all, left) = (scan(&at("a.ply")), scan(&at("b.ply")));
        assert_eq!(left.xyz(), kept.iter().map(|&i| all.xyz()[i]).collect::<Vec<_>>(), "{flags}");
        let times = |scan: &pointmill_io::Scan| scan.wide().next().map(|wide| wide.to_vec()).unwrap();
        assert_eq!(times(&left), kept.iter().map(|&i| times(&all)[i]).collect::<Vec<_>>(), "{flags}");
    }
    let told = run(folder.path(), "crop a.ply --max-range 1 --out c.ply").expect(0);
    let wanted = "no point is left; the points are in x 691764.1..691770, y 5335880..5335880.5, z 520..520.3 m";
    assert!(told.err.contains(wanted), "{}", told.err);
    assert!(scan(&at("c.ply")).cloud.is_empty());
}
