//! LAS and LAZ files, and files of every format through the standard input.

use crate::{command, finished, run};
use pointmill_io::{ReadOptions, read};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/las")
}

#[test]
fn las_and_laz_are_inputs_as_others() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["1.2_format3", "1.4_format7_extra"] {
        let mut clouds = vec![];
        for extension in ["las", "laz"] {
            let file = format!("{name}.{extension}");
            fs::copy(fixtures().join(&file), folder.path().join(&file)).unwrap();
            let info = &run(folder.path(), &format!("info {file} --json")).expect(0).data("frame")[0];
            assert_eq!((&info["format"], &info["points"]), (&"las".into(), &60.into()));
            // On a map: told in full.
            assert!(info["bounds"]["min"][1].as_f64().unwrap() > 5_329_000.0, "{info}");
            run(folder.path(), &format!("convert {file} --out b.ply")).expect(0);
            clouds.push(read(folder.path().join("b.ply"), &ReadOptions::default()).unwrap());
        }
        assert!(clouds[0] == clouds[1] && clouds[0].xyz_f64.is_some());
    }
}

#[test]
fn what_was_salvaged_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let chunks = fs::read(fixtures().join("chunks.laz")).unwrap();
    fs::write(at("a.laz"), &chunks).unwrap();
    fs::write(at("b.laz"), &chunks[..chunks.len() - 40]).unwrap();
    let told = run(folder.path(), "info a.laz b.laz --json").expect(3);
    assert!(told.err.contains("b.laz") && told.err.contains("; --salvage reads the whole chunks"), "{}", told.err);
    let told = run(folder.path(), "info a.laz b.laz --salvage --json").expect(0);
    let (frames, summary) = (told.data("frame"), &told.data("summary")[0]);
    assert!(frames[0].get("salvaged").is_none());
    assert_eq!(frames[1]["salvaged"], frames[1]["points"]);
    assert!(frames[1]["points"].as_u64().unwrap() > 0 && told.err.contains("were salvaged"), "{}", told.err);
    assert_eq!((&summary["done"], &summary["salvaged"]), (&2.into(), &1.into()));
}

#[test]
fn every_format_comes_through_the_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::copy(fixtures().join("1.2_format0.laz"), at("a.laz")).unwrap();
    fs::copy(fixtures().join("1.2_format0.las"), at("a.las")).unwrap();
    for out in ["a.ply", "a.pcd", "a.npy", "a.npz", "a.bin --all-columns"] {
        run(folder.path(), &format!("convert a.las --out {out}")).expect(0);
    }
    fs::copy(at("a.bin"), at("a.pcd.bin")).unwrap();
    for (name, format) in [
        ("a.las", "las"),
        ("a.laz", "las"),
        ("a.ply", "ply"),
        ("a.pcd", "pcd"),
        ("a.npy", "npy"),
        ("a.npz", "npz"),
        ("a.bin", "kitti --columns 13"),
        ("a.pcd.bin", "nuscenes --columns 13"),
        ("a.bin", "bin --columns 13"),
    ] {
        let args = format!("info - --json --format {format}");
        let told =
            finished(command(folder.path(), &args).stdin(File::open(at(name)).unwrap()).output().unwrap()).expect(0);
        assert_eq!(told.data("frame")[0]["points"], 60, "{name}");
        let half = fs::read(at(name)).unwrap();
        fs::write(at("half"), &half[..half.len() / 2 + 1]).unwrap();
        let told =
            finished(command(folder.path(), &args).stdin(File::open(at("half")).unwrap()).output().unwrap()).expect(3);
        assert!(told.err.contains("-: "), "{name}: {}", told.err);
    }
}

#[test]
fn damaged_laz_is_told_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let good = fs::read(fixtures().join("1.4_format10.laz")).unwrap();
    let points = u32::from_le_bytes(good[96..100].try_into().unwrap()) as usize;
    let (mut refused, mut wrong) = (0, 0);
    for seed in 0..24u32 {
        let mut bytes = good.clone();
        // All behind the first point and the lengths of its layers is noise.
        for (i, byte) in bytes[points + 8 + 67 + 4 + 48..].iter_mut().enumerate().take(900) {
            *byte = ((i as u32 + 1).wrapping_mul(seed.wrapping_mul(2_654_435_761) | 1) >> 13) as u8;
        }
        fs::write(folder.path().join("a.laz"), bytes).unwrap();
        let told = run(folder.path(), "info a.laz");
        assert!(!told.err.contains("panicked"), "{}", told.err);
        match told.code {
            0 => wrong += 1,
            code => {
                assert_eq!(code, 3, "{}", told.err);
                assert!(told.err.contains("a.laz: ") && told.err.contains("expected"), "{}", told.err);
                refused += 1;
            }
        }
    }
    assert!(refused > 0, "{refused} refused, {wrong} read");
}

#[test]
fn las_is_written_with_its_scale_and_what_it_does_not_hold_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let las = fixtures().join("1.4_format7.las");
    fs::copy(las, at("a.las")).unwrap();
    run(folder.path(), "convert a.las --out b.laz").expect(0);
    run(folder.path(), "convert a.las b.laz --to las --out c/").expect(0);
    run(folder.path(), "convert c/a.las --to laz --out d/").expect(0);
    let [a, b, c, d] = ["a.las", "b.laz", "c/a.las", "d/a.laz"].map(|name| fs::read(at(name)).unwrap());
    assert_eq!((b[104], &b[131..227], b == d), (0x87, &a[131..227], true));
    assert!(c == fs::read(at("c/b.las")).unwrap() && c[104] == 7);
    let rows = [1.0f32, 2.0, 3.0, 0.5].map(f32::to_le_bytes).concat();
    fs::write(at("k.bin"), rows).unwrap();
    let told = run(folder.path(), "convert k.bin --out k.las").expect(3);
    let wanted = "`intensity` of point 0: expected a whole number from 0 to 65535; write .ply, which holds any number";
    assert!(told.err.contains(wanted) && told.err.contains("got 0.5"), "{}", told.err);
    assert!(!at("k.las").exists());
}
