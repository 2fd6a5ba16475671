//! `info` of maps, folders as one among them, and of surveys.

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
    let points = 500 - whole["nonfinite"].as_u64().unwrap() as usize;
    assert_eq!([&map["tiles"], &map["points"], &map["nonfinite"]], [count, points, 0]);
    assert_eq!((&map["edges"], tiles["index"].as_u64()), (&serde_json::json!([20.0, 20.0]), Some(0)));
    for end in ["min", "max"] {
        for axis in 0..3 {
            let [a, b] = [map, &whole].map(|of| of["bounds"][end][axis].as_f64().unwrap() as f32);
            assert_eq!(a, b);
        }
    }
    let told = run(at, "info map").expect(0).out;
    assert!(told.contains(&format!("map in tiles: {count} tiles of 20 x 20 m, {points} points\n")), "{told}");
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

/// A LAS file of version 1.2 and point format 1 with records about its system: 200 points on a grid of
/// 20 by 10, a step of 4 apart, of two classes; every fourth is a second return.
fn survey(records: &[(u16, Vec<u8>)]) -> Vec<u8> {
    let mut file = vec![0; 227];
    for (id, data) in records {
        let mut head = [0; 54];
        head[2..17].copy_from_slice(b"LASF_Projection");
        head[18..20].copy_from_slice(&id.to_le_bytes());
        head[20..22].copy_from_slice(&(data.len() as u16).to_le_bytes());
        file.extend(head.iter().chain(data));
    }
    let offset = file.len() as u32;
    let mut set = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
    set(0, b"LASF");
    set(24, &[1, 2]);
    set(94, &227u16.to_le_bytes());
    set(96, &offset.to_le_bytes());
    set(100, &(records.len() as u32).to_le_bytes());
    set(104, &[1, 28, 0]);
    set(107, &200u32.to_le_bytes());
    for (i, value) in [0.01, 0.01, 0.001, 640_000.0, 850_000.0, 0.0].into_iter().enumerate() {
        set(131 + 8 * i, &f64::to_le_bytes(value));
    }
    for (i, value) in [640_076.0, 640_000.0, 850_036.0, 850_000.0, 0.199, 0.0].into_iter().enumerate() {
        set(179 + 8 * i, &f64::to_le_bytes(value));
    }
    for i in 0..200 {
        let mut point = [0; 28];
        for (axis, step) in [400 * (i % 20), 400 * (i / 20), i].into_iter().enumerate() {
            point[4 * axis..4 * axis + 4].copy_from_slice(&i32::to_le_bytes(step));
        }
        point[14] = if i % 4 == 0 { 0b01_0010 } else { 0b00_1001 };
        point[15] = [2, 12][i as usize % 2];
        file.extend(point);
    }
    file
}

const FEET: &str = "PROJCS[\"NAD83 / Oregon\",GEOGCS[\"g\",UNIT[\"degree\",0.0174]],UNIT[\"US survey foot\",0.3048006096],\
    AUTHORITY[\"EPSG\",\"2914\"]]\0";

#[test]
fn surveys_tell_their_system_classes_returns_and_density() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("feet.las"), survey(&[(2112, FEET.into())])).unwrap();
    run(at, "info feet.las --visualize feet.html --color-by height").expect(0);
    let page = String::from_utf8(fs::read(at.join("feet.html")).unwrap()).unwrap();
    assert!(page.contains("\"units\":[\"ft\",\"ft\"]") && page.contains("\"values\":\"height, ft\""));
    let told = run(at, "info feet.las").expect(0).out;
    for line in [
        "x          640000 .. 640076 ft",
        "z          0 .. 0.199 ft",
        "las        version 1.2, point format 1",
        "scale      0.01, 0.01, 0.001",
        "offset     640000, 850000, 0",
        "crs        NAD83 / Oregon, EPSG:2914, in US survey foot",
        "classes    2 ground 100, 12 overlap 100",
        "returns    1: 150, 2: 50",
        // 200 points on 8 by 4 squares of 10 feet.
        "density    0.062 points per square ft, on 32 squares of 10 ft with points",
    ] {
        assert!(told.lines().any(|found| found == line), "{line}\n{told}");
    }
    assert!(!told.lines().any(|line| line.ends_with(" m")), "{told}");
    let frame = run(at, "info feet.las --json").expect(0).data("frame")[0].take();
    let (las, crs) = (&frame["las"], &frame["crs"]);
    assert_eq!([&las["version"], &crs["name"]], ["1.2", "NAD83 / Oregon"]);
    assert_eq!([&las["point_format"], &crs["epsg"]], [1, 2914]);
    assert_eq!(crs["unit_m"], 0.304_800_609_6);
    // A `.prj` beside other files tells it too.
    run(at, "convert feet.las --out feet.ply").expect(0);
    let told = run(at, "info feet.ply").expect(0).out;
    assert!(
        told.contains("crs        NAD83 / Oregon, EPSG:2914, in US survey foot\n") && told.contains(" ft\n"),
        "{told}"
    );
    let wanted = serde_json::json!([
        { "class": 2, "name": "ground", "points": 100 }, { "class": 12, "name": "overlap", "points": 100 }
    ]);
    assert_eq!((&las["classes"], &las["density"]["points"]), (&wanted, &0.0625.into()));
    // Keys of GeoTIFF, degrees, and no system at all.
    let keys = |keys: &[[u16; 4]]| {
        let words = [1, 1, 0, keys.len() as u16].into_iter().chain(keys.as_flattened().iter().copied());
        (34735, words.flat_map(u16::to_le_bytes).collect::<Vec<u8>>())
    };
    fs::write(at.join("utm.las"), survey(&[keys(&[[3072, 0, 1, 32_610], [4099, 0, 1, 9003]])])).unwrap();
    fs::write(at.join("angles.las"), survey(&[keys(&[[1024, 0, 1, 2], [2048, 0, 1, 4326]])])).unwrap();
    fs::write(at.join("none.las"), survey(&[])).unwrap();
    let told = run(at, "info utm.las").expect(0).out;
    assert!(
        told.contains("crs        WGS 84 / UTM zone 10N, EPSG:32610, in metre\nheights    in US survey foot\n"),
        "{told}"
    );
    assert!(told.contains(" .. 850036 m\n") && told.contains(" .. 0.199 ft\n"), "{told}");
    let told = run(at, "info angles.las").expect(0).out;
    assert!(told.contains("WGS 84, EPSG:4326, in degree") && !told.contains("density"), "{told}");
    assert!(told.contains(" .. 850036 \u{b0}\n") && told.contains(" .. 0.199 m\n"), "{told}");
    let told = run(at, "info none.las --json").expect(0).data("frame")[0].take();
    let density = &told["las"]["density"];
    assert!(told["crs"].is_null() && density["edge"] == 2.0 && density["squares"] == 200, "{told}");
    // Rows of several have each their own unit.
    let told = run(at, "info feet.las utm.las none.las").expect(0).out;
    let has = |extent: &str| told.lines().any(|line| line.contains(&format!("  {extent} ")));
    assert!(has("76.0 x 36.0 x 0.2 ft") && has("76.0 x 36.0 m x 0.2 ft") && has("76.0 x 36.0 x 0.2 m"), "{told}");
    // Names with control bytes do no harm.
    fs::write(at.join("evil.las"), survey(&[(2112, FEET.replace("Oregon", "\u{1b}[31m").into())])).unwrap();
    let told = run(at, "info evil.las").expect(0).out;
    assert!(!told.contains('\u{1b}') && told.contains("in US survey foot"), "{told}");
}
