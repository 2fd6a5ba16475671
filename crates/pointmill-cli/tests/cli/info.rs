//! `info` of maps: what made them, and folders as one.

use crate::{run, write_cloud};
use pointmill_data::read_ndt_map;
use std::fs;

#[test]
fn a_map_says_what_made_it() {
    let folder = tempfile::tempdir().unwrap();
    write_cloud(folder.path(), "a.bin", 500);
    run(folder.path(), "ndt build a.bin --resolution 1 --out map.npz").expect(0);
    let (cells, _) = read_ndt_map(folder.path().join("map.npz")).unwrap();
    let told = run(folder.path(), "info map.npz --json").expect(0);
    let report = &told.data("frame")[0]["map"]["report"];
    assert_eq!(*report, serde_json::to_value(cells.report).unwrap());
    assert!(report["points"] == 500 && report["sparse"].as_u64().unwrap() > 0, "{report}");
    let told = run(folder.path(), "info map.npz").expect(0).out;
    assert!(told.contains("made of    500 points\ncells      ") && told.contains(" used: "), "{told}");
}

#[test]
fn a_map_by_blocks_is_one_input() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let points = [500, 300].map(|n| write_cloud(at, &format!("{n}.bin"), n));
    assert!(points.iter().all(|path| path.is_file()));
    run(
        at,
        "ndt build 500.bin 300.bin --resolution 1 --blocks 16 --local-origin 5,7,0 --covariance unbiased --out map",
    )
    .expect(0);
    let told = run(at, "info map --json").expect(0);
    let (frames, summary) = (told.data("frame"), &told.data("summary")[0]);
    assert_eq!((frames.len(), &frames[0]["format"], &summary["inputs"]), (1, &"ndt-blocks".into(), &1.into()));
    let blocks = &frames[0]["blocks"];
    let merged = fs::read_dir(at.join("map"))
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|ending| ending == "npz"));
    let count = merged.count();
    assert!(count > 1);
    let wanted = serde_json::json!({
        "resolution": 1.0, "cells": 16, "block": 16.0, "origin": [5.0, 7.0, 0.0], "covariance": "unbiased",
        "min_points": 6, "eigen_ratio": 0.01, "blocks": count, "inputs": 2, "failed": 0, "points": 800,
        "area": blocks["area"],
    });
    assert_eq!(*blocks, wanted);
    // Whole blocks around all points.
    let area: [f64; 4] = serde_json::from_value(blocks["area"].clone()).unwrap();
    let bounds = &run(at, "info 500.bin --json").expect(0).data("frame")[0]["bounds"];
    for axis in 0..2 {
        let [min, max] = ["min", "max"].map(|end| bounds[end][axis].as_f64().unwrap());
        assert!(area[axis] <= min && min < area[axis] + 16.0, "{area:?} {bounds}");
        assert!(area[axis + 2] > max && max >= area[axis + 2] - 16.0, "{area:?} {bounds}");
        assert_eq!((area[axis] - [5.0, 7.0][axis]) % 16.0, 0.0);
    }
    let told = run(at, "info map 500.bin").expect(0).out;
    assert!(told.contains(&format!("NDT map: {count} blocks of 16 m")), "{told}");
    let told = run(at, "info map").expect(0).out;
    assert!(told.contains("800 points of 2 inputs\n") && told.contains("origin     5, 7, 0 m\n"), "{told}");
    // Settings that cannot be read are an error, not a list of files.
    fs::write(at.join("map/map.json"), "{}").unwrap();
    assert!(run(at, "info map").expect(3).err.contains("settings: expected those of a map by blocks"));
}

#[test]
fn a_map_in_tiles_is_one_input() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_cloud(at, "a.bin", 500);
    run(at, "merge a.bin --tiles 20 --out map").expect(0);
    let [whole, tiles] =
        ["a.bin", "map"].map(|name| run(at, &format!("info {name} --json")).expect(0).data("frame").remove(0));
    let count = fs::read_dir(at.join("map")).unwrap().count() - 1;
    let map = &tiles["tiles"];
    assert!(count > 1 && tiles["format"] == "pcd-tiles");
    assert_eq!([&map["tiles"], &map["points"], &map["nonfinite"]], [count, 500, 0]);
    assert_eq!((&map["edges"], tiles["index"].as_u64()), (&serde_json::json!([20.0, 20.0]), Some(0)));
    for end in ["min", "max"] {
        for axis in 0..3 {
            let [a, b] = [map, &whole].map(|of| of["bounds"][end][axis].as_f64().unwrap() as f32);
            assert_eq!(a, b);
        }
    }
    let told = run(at, "info map").expect(0).out;
    assert!(told.contains(&format!("map in tiles: {count} tiles of 20 x 20 m, 500 points\n")), "{told}");
    // A tile that is not there is an error that names it, as everywhere.
    let tile = fs::read_dir(at.join("map"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|ending| ending == "pcd"));
    let tile = tile.unwrap();
    fs::remove_file(&tile).unwrap();
    let told = run(at, "info map").expect(3).err;
    assert!(told.contains(&tile.file_name().unwrap().to_str().unwrap().to_owned()), "{told}");
}
