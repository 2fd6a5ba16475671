//! Maps as Autoware takes them: a folder of PCD files, a square tile each, and a YAML file with
//! their corners.

use crate::error::{Detail, IoError};
use crate::fault::{bail, fault};
use crate::field::Field;
use crate::files::{is_own_folder, new_folder, open_in_folder, write_to};
use crate::memory::push;
use crate::named_points::NamedPoints;
use crate::pcd::write_pcd;
use crate::scan::Scan;
use pointmill_core::LocalOrigin;
use pointmill_core::array::Dtype;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// The file that lists the tiles of a folder.
pub const TILES: &str = "pointcloud_map_metadata.yaml";

/// The most tiles, and the most bytes of their list.
const MOST_TILES: usize = 100_000;
const MOST_BYTES: u64 = 32 << 20;

/// The names of the lengths of a tile.
const EDGES: [&str; 2] = ["x_resolution", "y_resolution"];

/// What was written by [`write_tiles`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiles {
    /// The number of tiles.
    pub tiles: usize,
    /// The points in them: those that are finite.
    pub points: usize,
}

/// Writes points as tiles of a whole number of metres along x and y: a folder that is new or empty,
/// with a PCD file `X_Y.pcd` for each tile that has points, named by its lower corner, and the list
/// of all. The folder comes into being with all of its files, or not at all.
///
/// Coordinates are `f32` about zero, and so is the intensity, as PCL takes them; the other columns
/// are as [`write_pcd`] has them. Points that are not finite are left out. Points of a tile keep
/// their order.
///
/// # Errors
/// A folder that has something in it; more than 100,000 tiles; corners that 32 bits do not hold;
/// what the system refuses.
///
/// ```
/// use pointmill_core::PointCloud;
/// use pointmill_io::{Scan, find_tiles, write_tiles};
/// let folder = std::env::temp_dir().join(format!("pointmill-doc-tiles-{}", std::process::id()));
/// let cloud = PointCloud::new(vec![1.0, 2.0, 3.0, -1.0, 2.0, 3.0, 1.5, 2.0, 3.0], 3)?;
/// let written = write_tiles(&folder, &Scan::from(cloud), 20)?;
/// assert_eq!((written.tiles, written.points), (2, 3));
/// assert_eq!(find_tiles(&folder)?, Some(vec![folder.join("-20_0.pcd"), folder.join("0_0.pcd")]));
/// # std::fs::remove_dir_all(&folder).ok();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_tiles(folder: impl AsRef<Path>, scan: &Scan, edge: u32) -> Result<Tiles, IoError> {
    let folder = folder.as_ref();
    if edge == 0 {
        bail!(folder, InvalidArgument, "tiles", "an edge of 1 m or more", edge);
    }
    let near = match scan.cloud.origin() {
        [0.0, 0.0, 0.0] => Cow::Borrowed(scan),
        _ => Cow::Owned(scan.clone().about(LocalOrigin::None)),
    };
    require_empty(folder)?;
    let tiles = tiles_of(folder, &near, edge)?;
    let mut fields: Vec<Field> = near.fields.clone();
    fields.iter_mut().enumerate().filter(|(j, _)| Some(*j) == near.intensity()).for_each(|(_, field)| {
        field.dtype = Dtype::F32;
    });
    new_folder(folder, |new| {
        let mut list = format!("x_resolution: {edge}.0\ny_resolution: {edge}.0\n");
        for ([x, y], rows) in &tiles {
            let tile = near.select(rows)?;
            let named = NamedPoints { xyz_f64: None, fields: Cow::Borrowed(&fields), ..NamedPoints::from(&tile) };
            write_pcd(new.join(format!("{x}_{y}.pcd")), &named)?;
            list += &format!("{x}_{y}.pcd: [{x}, {y}]\n");
        }
        write_to(&new.join(TILES), |out| out.write_all(list.as_bytes()))
    })?;
    Ok(Tiles { tiles: tiles.len(), points: tiles.values().map(Vec::len).sum() })
}

/// Refuses a folder for tiles that has something in it, or is no folder.
///
/// # Errors
/// Such a folder; what the system refuses.
pub fn require_empty(folder: impl AsRef<Path>) -> Result<(), IoError> {
    let folder = folder.as_ref();
    if is_own_folder(folder)? {
        let entries = crate::files::entries_of(folder).map_err(IoError::io(folder, "open"))?;
        if let Some(entry) = entries.first() {
            let found = format!("one with {}", entry.file_name().unwrap_or_default().to_string_lossy());
            bail!(folder, InvalidArgument, "folder", "one that is new or empty", found);
        }
    }
    Ok(())
}

/// The finite points of each tile, by its lower corner.
fn tiles_of(folder: &Path, scan: &Scan, edge: u32) -> Result<BTreeMap<[i32; 2], Vec<u32>>, IoError> {
    let mut tiles: BTreeMap<[i32; 2], Vec<u32>> = BTreeMap::new();
    for (row, point) in (0u32..).zip(scan.cloud.points().iter_xyz()) {
        if !point.iter().all(|v| v.is_finite()) {
            continue;
        }
        let corner = [0, 1].map(|axis| (f64::from(point[axis]) / f64::from(edge)).floor() * f64::from(edge));
        let range = f64::from(i32::MIN)..=f64::from(i32::MAX);
        if !corner.iter().all(|v| range.contains(v)) {
            let [x, y, _] = point;
            bail!(folder, InvalidArgument, "point {row}", "x and y within 2147483647 m", "{x}, {y}");
        }
        let count = tiles.len();
        let rows = tiles.entry(corner.map(|v| v as i32)).or_default();
        if rows.is_empty() && count == MOST_TILES {
            bail!(
                folder,
                LimitExceeded,
                "tiles",
                "at most {MOST_TILES}; take a larger edge, or crop what is far",
                "more"
            );
        }
        push(rows, row).map_err(scan.refused(scan.cloud.len()))?;
    }
    Ok(tiles)
}

/// The files of a folder that is a map in tiles, in the order of its list; `None` of a folder
/// without a list. Whether the files are there is not looked at.
///
/// # Errors
/// A list that is a link or too long; a line that is neither `x_resolution` or `y_resolution` with
/// metres above 0, nor the name of a PCD file in the folder with its lower corner `[x, y]`; a name
/// that stands twice; no resolution or no file.
pub fn find_tiles(folder: impl AsRef<Path>) -> Result<Option<Vec<PathBuf>>, IoError> {
    let folder = folder.as_ref();
    with_list(folder, |list| list.names.iter().map(|name| folder.join(name)).collect())
}

/// The lengths of a tile along x and y in metres, as the list of a folder has them; `None` of a
/// folder without a list.
///
/// # Errors
/// As [`find_tiles`].
pub fn tile_edges(folder: impl AsRef<Path>) -> Result<Option<[f64; 2]>, IoError> {
    with_list(folder.as_ref(), |list| list.edges)
}

/// What a list has.
struct List<'a> {
    /// The lengths of a tile along x and y.
    edges: [f64; 2],
    names: Vec<&'a str>,
}

/// Something of the list of a folder, if there is one.
fn with_list<T>(folder: &Path, of: impl FnOnce(List<'_>) -> T) -> Result<Option<T>, IoError> {
    let path = folder.join(TILES);
    let file = match open_in_folder(&path) {
        Err(IoError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let mut text = String::new();
    file.take(MOST_BYTES + 1).read_to_string(&mut text).map_err(IoError::io(&path, "read"))?;
    if text.len() as u64 > MOST_BYTES {
        bail!(&*path, LimitExceeded, "length", "at most {MOST_BYTES} bytes", "more");
    }
    Ok(Some(of(list_of(&path, &text)?)))
}

/// What the text of a list has.
fn list_of<'a>(path: &Path, text: &'a str) -> Result<List<'a>, IoError> {
    let (mut names, mut seen, mut edges) = (vec![], HashSet::new(), [None; 2]);
    for (number, line) in (1..).zip(text.lines()) {
        let wrong = |wanted: &str| {
            let found = format!("`{}`", line.chars().take(100).collect::<String>());
            Err(IoError::BadValue(Detail::new(path, format!("line {number}"), wanted, found)))
        };
        let said = line.split_once(" #").map_or(line, |(said, _)| said).trim_end();
        if said.is_empty() || said.starts_with('#') || (said == "---" && seen.is_empty()) {
            continue;
        }
        let Some((key, value)) = said.split_once(':') else { return wrong("NAME.pcd: [x, y]") };
        let key = ['"', '\''].iter().find_map(|&q| key.strip_prefix(q)?.strip_suffix(q)).unwrap_or(key);
        if !seen.insert(key) {
            return wrong("a name that did not stand before");
        }
        if let Some(axis) = EDGES.iter().position(|edge| key == *edge) {
            edges[axis] = number_of(value).filter(|v| *v > 0.0);
            if edges[axis].is_none() {
                return wrong("metres above 0");
            }
            continue;
        }
        let is_inside = !key.contains(['/', '\\', '\0']) && !key.starts_with('.');
        if !is_inside || !key.to_ascii_lowercase().ends_with(".pcd") {
            return wrong("the name of a .pcd file in this folder");
        }
        let corner = value.trim().strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let corner = corner.map(|corner| corner.split(',').map(number_of).collect::<Option<Vec<_>>>());
        if corner.flatten().is_none_or(|corner| corner.len() != 2) {
            return wrong("its lower corner as [x, y] in metres");
        }
        if names.len() == MOST_TILES {
            bail!(path, LimitExceeded, "tiles", "at most {MOST_TILES}", "more");
        }
        names.push(key);
    }
    let edge = |axis: usize| {
        let none = || fault!(path, MissingField, (EDGES[axis]), "the length of a tile in metres", "none");
        edges[axis].ok_or_else(none)
    };
    let edges = [edge(0)?, edge(1)?];
    if names.is_empty() {
        bail!(path, MissingField, "tiles", "NAME.pcd: [x, y] for each", "none");
    }
    Ok(List { edges, names })
}

fn number_of(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|v: &f64| v.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read;
    use pointmill_core::PointCloud;
    use std::fs;

    #[test]
    fn every_finite_point_is_in_its_tile() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("map");
        let mut state = 3u32;
        let mut random = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / 65536.0 - 128.0
        };
        let mut data: Vec<f32> = (0..4 * 2000).map(|_| random()).collect();
        // On the border of tiles, and nowhere.
        data.extend([20.0, -20.0, 0.0, 1.0, -0.0, 0.0, 0.0, 2.0, f32::NAN, 0.0, 0.0, 3.0]);
        let mut scan = Scan::from(PointCloud::new(data.clone(), 4).unwrap());
        scan.fields[3] = Field { name: "intensity".into(), dtype: Dtype::U16 };
        let written = write_tiles(&at, &scan, 20).unwrap();
        assert_eq!(written.points, 2002);
        let files = find_tiles(&at).unwrap().unwrap();
        assert_eq!(tile_edges(&at).unwrap(), Some([20.0; 2]));
        assert_eq!((files.len(), fs::read_dir(&at).unwrap().count()), (written.tiles, written.tiles + 1));
        let mut found = vec![];
        for file in files {
            let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
            let [x, y]: [f32; 2] = name.split('_').map(|v| v.parse().unwrap()).collect::<Vec<_>>().try_into().unwrap();
            let tile = read(&file, &Default::default()).unwrap();
            assert_eq!((tile.fields[0].dtype, tile.fields[3].dtype), (Dtype::F32, Dtype::F32));
            for p in tile.cloud.data().as_chunks::<4>().0 {
                assert!((x..x + 20.0).contains(&p[0]) && (y..y + 20.0).contains(&p[1]), "{name}: {p:?}");
                found.push(p.map(f32::to_bits));
            }
        }
        let mut wanted: Vec<_> = data.as_chunks::<4>().0[..2002].iter().map(|p| p.map(f32::to_bits)).collect();
        found.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(found, wanted);
        // Never over what is there.
        let told = write_tiles(&at, &scan, 20).unwrap_err().to_string();
        assert!(told.contains("map: folder: expected one that is new or empty, got one with "), "{told}");
    }

    #[test]
    fn nothing_is_left_of_what_fails() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |data: Vec<f32>, edge| {
            let scan = Scan::from(PointCloud::new(data, 3).unwrap());
            let told = write_tiles(folder.path().join("map"), &scan, edge).unwrap_err().to_string();
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
            told
        };
        assert!(refused(vec![1e30, 0.0, 0.0], 20).contains("point 0: expected x and y within 2147483647 m"));
        assert!(refused(vec![0.0; 3], 0).contains("tiles: expected an edge of 1 m or more, got 0"));
        let many = (0..100_001).flat_map(|i| [2.0 * i as f32, 0.0, 0.0]).collect();
        assert!(refused(many, 1).contains("tiles: expected at most 100000; take"));
        // No point is a map without a tile, in a folder that was there.
        fs::create_dir(folder.path().join("map")).unwrap();
        let none = Scan::from(PointCloud::new(vec![f32::NAN; 3], 3).unwrap());
        assert_eq!(write_tiles(folder.path().join("map"), &none, 5).unwrap(), Tiles { tiles: 0, points: 0 });
        assert!(folder.path().join("map").join(TILES).is_file());
        assert!(find_tiles(folder.path().join("map")).unwrap_err().to_string().contains("tiles: expected NAME.pcd"));
    }

    #[test]
    fn lists_are_read_strictly() {
        let head = "# a map\n---\nx_resolution: 20.0\ny_resolution: 2e1 # metres\n\n";
        let of = |more: &str| {
            let text = format!("{head}{more}");
            list_of("m".as_ref(), &text).map(|list| list.names.join(" ")).map_err(|e| e.to_string())
        };
        assert_eq!(of("A.pcd: [1200, 2500] # there\n\"b c.PCD\": [-0.5,2]\n").unwrap(), "A.pcd b c.PCD");
        for (line, wanted) in [
            ("A.pcd", "expected NAME.pcd: [x, y]"),
            ("A.pcd: 1, 2", "expected its lower corner"),
            ("A.pcd: [1]", "expected its lower corner"),
            ("A.pcd: [1, nan]", "expected its lower corner"),
            ("A.pcd: [1, 2, 3]", "expected its lower corner"),
            ("../A.pcd: [1, 2]", "expected the name of a .pcd file in this folder"),
            ("/A.pcd: [1, 2]", "expected the name of a .pcd file in this folder"),
            ("A.ply: [1, 2]", "expected the name of a .pcd file in this folder"),
            ("x_resolution: 20", "expected a name that did not stand before"),
        ] {
            let told = of(&format!("{line}\n")).unwrap_err();
            assert!(told.starts_with("m: line 6: ") && told.contains(wanted), "{line}: {told}");
        }
        assert!(of("A.pcd: [1, 2]\nA.pcd: [1, 2]\n").unwrap_err().contains("line 7"));
        assert!(of("").unwrap_err().contains("tiles: expected NAME.pcd"));
        let refused = |text| list_of("m".as_ref(), text).err().unwrap();
        assert!(refused("A.pcd: [1, 2]").to_string().contains("x_resolution: expected"));
        assert!(refused("x_resolution: 0").to_string().contains("expected metres above 0"));
    }

    #[cfg(unix)]
    #[test]
    fn a_list_that_is_a_link_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(find_tiles(folder.path()).unwrap(), None);
        std::os::unix::fs::symlink("/dev/zero", folder.path().join(TILES)).unwrap();
        assert!(find_tiles(folder.path()).is_err());
    }
}
