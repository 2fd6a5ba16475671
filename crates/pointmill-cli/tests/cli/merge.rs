//! `merge`: several clouds in one file.

use crate::downsample::{scan, write_survey};
use crate::{run, write_cloud};

#[test]
fn points_of_all_inputs_are_in_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("in")).unwrap();
    write_survey(&at("in/1.ply"));
    let part = "crop in/1.ply --box 691769,0,0,691771,inf,inf --out in/0.pcd";
    run(folder.path(), part).expect(0);
    for jobs in [1, 4] {
        let told = run(folder.path(), &format!("merge in --jobs {jobs} --out b.ply --json")).expect(0);
        assert_eq!((told.data("frame").len(), &told.data("summary")[0]["points"]), (2, &4.into()));
        let all = scan(&at("b.ply"));
        assert_eq!(all.xyz()[..2], [[691_770.0, 5_335_880.0, 520.0], [691_764.1, 5_335_880.1, 520.1]]);
        assert_eq!(all.wide().next().unwrap().to_vec()[..2], [300_000_009.5, 300_000_000.25]);
    }
    assert_eq!(run(folder.path(), "merge in --frames 1: --out c.ply --json").expect(0).data("frame").len(), 1);
}

#[test]
fn nothing_is_written_without_all_inputs() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write_survey(&at("a.ply"));
    write_cloud(folder.path(), "b.bin", 9);
    std::fs::write(at("bad.bin"), b"bad").unwrap();
    run(folder.path(), "merge a.ply bad.bin --out c.ply").expect(3);
    let told = run(folder.path(), "merge a.ply b.bin --out c.ply").expect(2);
    assert!(told.err.contains("b.bin: columns: expected the columns of a.ply"), "{}", told.err);
    assert!(told.err.contains("; --common-columns keeps those that all inputs have"), "{}", told.err);
    assert!(!at("c.ply").exists());
    run(folder.path(), "merge a.ply b.bin --common-columns --out c.ply").expect(0);
    let columns = |name: &str| pointmill_io::read(at(name), &Default::default()).unwrap().fields.len();
    assert!((3..columns("a.ply")).contains(&columns("c.ply")), "{} {}", columns("a.ply"), columns("c.ply"));
}
