//! Tiles around the vehicle make the map that is built of them at once.

use super::*;
use pointmill::ndt::{NdtLattice, NdtParams};
use pointmill::{Argument, Error};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Cells along a tile of 16 m.
const CELLS: i32 = 8;

/// Moments by tile.
fn tiles(all: &NdtMoments) -> BTreeMap<TileKey, NdtMoments> {
    let mut tiles: BTreeMap<TileKey, Vec<_>> = BTreeMap::new();
    for (cell, moments) in all.cells() {
        tiles.entry([cell[0].div_euclid(CELLS), cell[1].div_euclid(CELLS)]).or_default().push((cell, *moments));
    }
    let table = |cells: Vec<([i32; 3], _)>| {
        let points = cells.iter().map(|(_, m): &(_, pointmill::ndt::Moments)| u64::from(m.count)).sum();
        pointmill::ndt::NdtMomentsTable { lattice: *all.lattice(), points, non_finite: 0, cells }
    };
    tiles.into_iter().map(|(key, cells)| (key, NdtMoments::from_table(&table(cells)).unwrap())).collect()
}

fn lattice(resolution: f64) -> NdtLattice {
    NdtLattice::new(resolution).unwrap()
}

#[test]
fn tiles_come_and_go_with_the_vehicle() {
    let drive = drive(Scene::Street, 4, 60);
    let tiles = tiles(&moments(&drive));
    assert!(tiles.len() > 12);
    for (name, device) in [("cpu", Device::cpu()), ("twin", Device::twin())] {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (log, source) = (Arc::clone(&asked), tiles.clone());
        let source = move |key: TileKey| {
            log.lock().unwrap().push(key);
            Ok(source.get(&key).cloned())
        };
        let (radius, params) = (20.0, NdtParams::default());
        let map = LocalizerMap::tiles(&lattice(2.0), CELLS as u32, radius, &params, Box::new(source)).unwrap();
        let stream = device.stream().unwrap();
        let params = LocalizerParams { max_points: 300, ..LocalizerParams::default() };
        let mut localizer = Localizer::new(&stream, map, &params).unwrap();
        for i in [1, 15, 29, 43, 57, 1] {
            let pose = truth(&drive, i);
            localizer.start(&pose).unwrap();
            let fix = localizer.push(Rows::from(&scan(&drive, i)[..]), None).unwrap();
            let [x, y, _] = pose.translation();
            let tile = |x: f64| (x / 16.0).floor() as i32;
            let mut wanted = NdtMoments::new(2.0).unwrap();
            let near = |key: &TileKey| {
                (tile(x - radius)..=tile(x + radius)).contains(&key[0])
                    && (tile(y - radius)..=tile(y + radius)).contains(&key[1])
            };
            tiles.iter().filter(|(key, _)| near(key)).for_each(|(_, tile)| wanted.merge(tile).unwrap());
            let mut whole = Localizer::new(&stream, grid(&wanted, &device), &params).unwrap();
            whole.start(&pose).unwrap();
            let at_once = whole.push(Rows::from(&scan(&drive, i)[..]), None).unwrap();
            assert!(fix.map_cells > 100, "{name}");
            assert!(timeless(Fix { index: 0, ..fix }) == timeless(at_once), "{name}: sweep {i}");
        }
        // Each tile is asked for again only after it was removed.
        let asked = asked.lock().unwrap();
        let times = |key: TileKey| asked.iter().filter(|other| **other == key).count();
        assert_eq!((times([0, 0]), times([4, 0])), (2, 1));
    }
}

#[test]
fn what_a_source_lacks_or_refuses_is_told() {
    let drive = drive(Scene::Street, 4, 4);
    let stream = Device::cpu().stream().unwrap();
    let params = NdtParams::default();
    let new = |resolution, cells, radius| {
        LocalizerMap::tiles(&lattice(resolution), cells, radius, &params, Box::new(|_| Ok(None))).map(drop)
    };
    assert!(new(2.0, 64, 100.0).is_ok());
    assert!(new(2.0, 0, 100.0).is_err());
    let told = new(2.0, 8, 1e9).unwrap_err().to_string();
    assert_eq!(told, "radius: expected above 0 and below 800 m, got 1000000000");
    // Of another resolution, and of a source that fails once.
    let other = NdtMoments::new(1.0).unwrap();
    let map =
        LocalizerMap::tiles(&lattice(2.0), 64, 50.0, &params, Box::new(move |_| Ok(Some(other.clone())))).unwrap();
    let mut localizer = Localizer::new(&stream, map, &LocalizerParams::default()).unwrap();
    let told = localizer.push(Rows::from(&scan(&drive, 1)[..]), None).unwrap_err().to_string();
    assert_eq!(told, "region: expected a region to search in a map of tiles, or a start, got none");
    localizer.start(&truth(&drive, 1)).unwrap();
    let told = localizer.push(Rows::from(&scan(&drive, 1)[..]), None).unwrap_err().to_string();
    assert_eq!(told, "resolution: expected cells of 2 m, got cells of 1 m");
    let (mut calls, tiles) = (0, tiles(&moments(&drive)));
    let source = move |key: TileKey| {
        calls += 1;
        if calls == 3 { Err(Error::argument(Argument::Input, "a tile", "none")) } else { Ok(tiles.get(&key).cloned()) }
    };
    let map = LocalizerMap::tiles(&lattice(2.0), CELLS as u32, 50.0, &params, Box::new(source)).unwrap();
    let mut localizer = Localizer::new(&stream, map, &LocalizerParams::default()).unwrap();
    localizer.start(&truth(&drive, 1)).unwrap();
    assert!(localizer.push(Rows::from(&scan(&drive, 1)[..]), None).is_err() && localizer.is_empty());
    let fix = localizer.push(Rows::from(&scan(&drive, 1)[..]), None).unwrap();
    assert_eq!((fix.status, fix.index), (FixStatus::Tracked, 0));
}
