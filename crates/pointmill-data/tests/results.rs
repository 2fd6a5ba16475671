//! Maps and results of operators as files: what is written comes back, and what is damaged is
//! named.
use pointmill::voxelize::{Outputs, VoxelArray, VoxelizeParams, Voxelizer};
use pointmill::{Aabb, Device, Points};
use pointmill_core::ndt::{NdtCells, NdtLattice, NdtReport};
use pointmill_data::{
    ResultKind, is_ndt_map, read_ndt_map, read_ndt_map_within, read_result, write_ndt_map, write_result,
};
use pointmill_io::{ArrayView, IoError, Limits, NamedArrays, read_npz, write_npz};
use std::path::{Path, PathBuf};

fn scratch() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.npz");
    (folder, path)
}

/// A map of `v` cells, far from the origin.
fn map(v: usize) -> (NdtCells, NdtLattice) {
    let lattice = NdtLattice::new(0.3).unwrap();
    let number = |i: usize, k: usize| ((i * 7 + k * 3) as f64 * 0.7).sin();
    let six = |i: usize| [0, 1, 2, 3, 4, 5].map(|k| number(i, k));
    let three = |i: usize| [0, 1, 2].map(|k| number(i, k) * 0.1);
    let variances = |[xx, xy, xz, yy, yz, zz]: [f64; 6]| [xx.abs(), xy, xz, yy.abs(), yz, zz.abs()];
    let coords: Vec<_> = (0..v).map(|i| [266_000 + i as i32, -140_000, 3 * i as i32]).collect();
    let mean_local: Vec<_> = (0..v).map(three).collect();
    let mean = coords.iter().zip(&mean_local).map(|(cell, local)| {
        let center = lattice.center(*cell);
        [0, 1, 2].map(|k| center[k] + local[k])
    });
    let mut report = NdtReport::default();
    (report.points, report.non_finite, report.cells) = (400, 1, v + 2);
    (report.sparse, report.degenerate, report.voxels, report.clamped) = (1, 1, v, 3);
    let cells = NdtCells {
        counts: (0..v).map(|i| 6 + i as u32).collect(),
        mean: mean.collect(),
        covariance: (0..v).map(|i| variances(six(i))).collect(),
        inverse: (0..v).map(|i| six(i + 100)).collect(),
        eigenvalues: (0..v).map(|i| three(i).map(f64::abs)).collect(),
        normal: (0..v).map(|i| three(i + 50)).collect(),
        report,
        coords,
        mean_local,
    };
    (cells, lattice)
}

#[test]
fn a_map_comes_back() {
    let (_folder, path) = scratch();
    for v in [0, 1, 40] {
        let (cells, lattice) = map(v);
        write_ndt_map(&path, &cells, &lattice).unwrap();
        let first = std::fs::read(&path).unwrap();
        let (mut back, there) = read_ndt_map(&path).unwrap();
        assert_eq!(there, lattice);
        for (a, b) in back.mean_local.iter().flatten().zip(cells.mean_local.iter().flatten()) {
            assert!((a - b).abs() < 1e-10, "{a} {b}");
        }
        // The means about the centres are not in the file, and do not change it.
        write_ndt_map(&path, &back, &lattice).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), first);
        back.mean_local.clone_from(&cells.mean_local);
        assert_eq!(back, cells);
    }
    assert!(is_ndt_map(&path, &Limits::default()).unwrap());
    write_npz(&path, &[("points", ArrayView::f32(&[1, 3], &[1.0, 2.0, 3.0]))]).unwrap();
    assert!(!is_ndt_map(&path, &Limits::default()).unwrap());
    assert_eq!(read_ndt_map(&path).unwrap_err().class(), "MissingField");
}

/// The bytes are a promise: maps are kept and compared by them.
#[test]
fn a_small_map_has_its_bytes() {
    let (_folder, path) = scratch();
    let (cells, lattice) = map(2);
    write_ndt_map(&path, &cells, &lattice).unwrap();
    let arrays = read_npz(&path).unwrap();
    let report = r#"{"points":400,"non_finite":1,"cells":4,"sparse":1,"degenerate":1,"voxels":2,"clamped":3}"#;
    assert_eq!(arrays["report"].as_u8().unwrap(), report.as_bytes());
    assert_eq!(arrays["resolution"].as_f64().unwrap(), [lattice.unit()]);
    let [xx, xy, xz, yy, yz, zz] = cells.covariance[1];
    assert_eq!(arrays["covariance"].as_f64().unwrap()[9..], [xx, xy, xz, xy, yy, yz, xz, yz, zz]);
    let bytes = std::fs::read(&path).unwrap();
    let names =
        ["coords", "mean", "covariance", "inv_covariance", "counts", "eigenvalues", "normal", "resolution", "report"];
    let at = names.map(|name| {
        let name = format!("{name}.npy");
        bytes.windows(name.len()).position(|w| w == name.as_bytes()).unwrap()
    });
    assert!(at.is_sorted(), "{at:?}");
}

/// What is no part of a map is not read, and takes no memory.
#[test]
fn limits_hold_and_only_a_maps_arrays_are_read() {
    let (_folder, path) = scratch();
    let (cells, lattice) = map(40);
    write_ndt_map(&path, &cells, &lattice).unwrap();
    let arrays = read_npz(&path).unwrap();
    let zeros = vec![0; 1 << 20];
    let others = arrays.iter().map(|(name, array)| (name.as_str(), array.view()));
    let members: Vec<_> = others.chain([("beside", ArrayView::u8(&[zeros.len()], &zeros))]).collect();
    write_npz(&path, &members).unwrap();
    let memory = |bytes| Limits { max_memory: Some(bytes), ..Limits::default() };
    assert_eq!(read_ndt_map_within(&path, &memory(1 << 18)).unwrap().0.counts, cells.counts);
    assert_eq!(read_ndt_map_within(&path, &memory(1000)).unwrap_err().class(), "LimitExceeded");
    let limits = Limits { max_decoded_bytes: Some(1000), ..Limits::default() };
    assert_eq!(read_ndt_map_within(&path, &limits).unwrap_err().class(), "LimitExceeded");
    assert_eq!(is_ndt_map(&path, &limits).unwrap_err().class(), "LimitExceeded");
}

/// Writes the arrays of a file again, one of them replaced or left out.
fn change(path: &Path, name: &str, replaced: Option<ArrayView<'_>>) {
    let arrays = read_npz(path).unwrap();
    let others = arrays.iter().filter(|(other, _)| *other != name).map(|(name, a)| (name.as_str(), a.view()));
    let members: Vec<_> = others.chain(replaced.map(|view| (name, view))).collect();
    write_npz(path, &members).unwrap();
}

#[test]
fn damaged_maps_are_named() {
    let (_folder, path) = scratch();
    let (cells, lattice) = map(40);
    let v = cells.len();
    let nine = [0.0, 1.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0].repeat(v);
    let f64s = |shape: &[usize]| Some(ArrayView::f64(shape, &nine));
    for (name, replaced, class, message) in [
        ("mean", None, "MissingField", "arrays: expected `mean`, got `coords`, `counts`,"),
        (
            "mean",
            Some(ArrayView::f64(&[1, 3], &[0.0; 3])),
            "ShapeMismatch",
            "array `mean`: shape: expected [V, 3], V = 40 as in `coords`, got f64 [1, 3]",
        ),
        (
            "resolution",
            Some(ArrayView::f64(&[1], &[-1.0])),
            "BadValue",
            "resolution: expected the edge of a cell, got -1.0",
        ),
        ("covariance", f64s(&[v, 3, 3]), "BadValue", "array `covariance`: expected symmetric matrices, got [0.0, 1.0,"),
        (
            "inv_covariance",
            f64s(&[v, 9]),
            "ShapeMismatch",
            "array `inv_covariance`: shape: expected [V, 3, 3], V = 40 as in `coords`, got f64 [40, 9]",
        ),
        ("coords", f64s(&[3 * v, 3]), "DtypeMismatch", "array `coords`: element type: expected i32, got f64 [120, 3]"),
        ("report", Some(ArrayView::u8(&[2], b"[]")), "BadValue", "array `report`: expected JSON, got invalid length 0"),
    ] {
        write_ndt_map(&path, &cells, &lattice).unwrap();
        change(&path, name, replaced);
        let e = read_ndt_map(&path).unwrap_err();
        assert_eq!(e.class(), class, "{name}: {e}");
        assert!(e.to_string().starts_with(&format!("{}: {message}", path.display())), "{e}");
    }
    let mut short = cells;
    short.normal.pop();
    assert_eq!(write_ndt_map(&path, &short, &lattice).unwrap_err().class(), "ShapeMismatch");
}

#[test]
fn numbers_that_no_map_has_are_refused() {
    let (_folder, path) = scratch();
    let (good, lattice) = map(3);
    let told = |change: &dyn Fn(&mut NdtCells), origin: [f64; 3]| {
        let mut cells = good.clone();
        change(&mut cells);
        write_ndt_map(&path, &cells, &lattice.about(origin)).unwrap();
        let read = read_ndt_map(&path).map_err(|e| format!("{}: {e}", e.class()));
        read.map_or_else(|told| told.replace(&*path.display().to_string(), "m"), |_| "it is read".into())
    };
    let near = [0.0; 3];
    assert_eq!(told(&|_| {}, [1e12, 0.0, -1e12]), "it is read");
    for bad in [f64::NAN, f64::INFINITY, -1e-9] {
        let wanted = "BadValue: m: array `eigenvalues`: expected finite numbers of at least 0, got [";
        let found = told(&|cells| cells.eigenvalues[2][1] = bad, near);
        assert!(found.starts_with(wanted) && found.ends_with(" in row 2"), "{found}");
        let wanted = "BadValue: m: array `covariance`: expected finite numbers, none below 0 on the diagonal, got [";
        for entry in [0, 3, 5] {
            assert!(told(&|cells| cells.covariance[1][entry] = bad, near).starts_with(wanted), "{entry}");
        }
    }
    assert!(told(&|cells| cells.covariance[1][1] = f64::INFINITY, near).contains("array `covariance`"));
    assert!(
        told(&|cells| cells.normal[0][2] = f64::NAN, near).contains("array `normal`: expected finite numbers, got ")
    );
    let wanted =
        "BadValue: m: array `origin`: expected at most 1e12 m from zero along each axis, got [1e300, 0.0, 0.0]";
    assert_eq!(told(&|_| {}, [1e300, 0.0, 0.0]), wanted);
}

/// No damage of a map makes the reader panic or take memory for what it claims.
#[test]
fn every_flipped_byte_and_every_length_is_survived() {
    let (_folder, path) = scratch();
    let (cells, lattice) = map(1);
    write_ndt_map(&path, &cells, &lattice).unwrap();
    let good = std::fs::read(&path).unwrap();
    let limits = Limits { max_memory: Some(1 << 20), max_decoded_bytes: Some(1 << 20), ..Limits::default() };
    let survive = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        read_ndt_map_within(&path, &limits)
            .map_err(|e| assert!(!e.to_string().chars().any(char::is_control), "{e:?}"))
            .is_ok()
    };
    assert!(survive(&good));
    for at in 0..good.len() {
        assert!(!survive(&good[..at]), "{at}");
        let mut bytes = good.clone();
        bytes[at] ^= 0x81;
        survive(&bytes);
    }
}

/// A result of these arrays.
struct Result(Vec<(&'static str, ArrayView<'static>)>);

impl NamedArrays for Result {
    fn arrays(&self) -> Vec<(&'static str, ArrayView<'_>)> {
        self.0.clone()
    }
}

fn ints(shape: &[usize]) -> ArrayView<'static> {
    ArrayView::i32(shape, &[0; 120][..shape.iter().product()])
}

fn floats(shape: &[usize]) -> ArrayView<'static> {
    ArrayView::f32(shape, &[0.5; 120][..shape.iter().product()])
}

#[test]
fn results_of_every_kind_come_back_with_their_report() {
    let (_folder, path) = scratch();
    let halves = ArrayView::f16_bits(&[2, 4], &[0x3c00; 8]);
    let splits = || ArrayView::i64(&[3], &[0, 1, 2]);
    let dense = [1, 2, 1, 3];
    let with = |last: usize| [&dense[..], &[last]].concat();
    for (kind, arrays) in [
        (ResultKind::Voxels, vec![("coords", ints(&[2, 3])), ("num_points", ints(&[2]))]),
        (
            ResultKind::Voxels,
            vec![
                ("coords", ints(&[2, 4])),
                ("num_points", ints(&[2])),
                ("voxels", floats(&[2, 5, 4])),
                ("mean", halves),
                ("point_to_voxel", ints(&[9])),
            ],
        ),
        (ResultKind::Voxels, vec![("coords", ints(&[0, 3])), ("num_points", ints(&[0])), ("mean", floats(&[0, 4]))]),
        (
            ResultKind::Pooled,
            vec![("pooled", floats(&with(8))), ("argmax", ints(&with(8))), ("point_indices", ints(&with(6)))],
        ),
        (ResultKind::Pooled, vec![("pooled", floats(&with(8))), ("row_splits", splits()), ("indices", ints(&[2]))]),
        (
            ResultKind::Pooled,
            vec![
                ("pooled", floats(&[2, 8])),
                ("coords", ints(&[2, 4])),
                ("row_splits", splits()),
                ("indices", ints(&[2])),
            ],
        ),
        (ResultKind::PointsInBoxes, vec![("part", ints(&[9]))]),
        (ResultKind::PointsInBoxes, vec![("all", ArrayView::bool(&[1, 2], &[true, false])), ("count", ints(&[2]))]),
    ] {
        let mut report = NdtReport::default();
        report.points = 7;
        write_result(&path, &Result(arrays.clone()), &report).unwrap();
        let back = read_result(&path, kind).unwrap();
        for (name, view) in &arrays {
            assert_eq!(back.get(name).unwrap().view(), *view, "{kind}: {name}");
        }
        // What the command writes of points in boxes has no report, and what is no part of a result
        // is not read.
        let report = back.report::<NdtReport>();
        match kind {
            ResultKind::PointsInBoxes => assert_eq!(report.unwrap_err().class(), "MissingField"),
            _ => assert_eq!(report.unwrap().points, 7),
        }
    }
}

#[test]
fn results_that_do_not_fit_are_named() {
    let (_folder, path) = scratch();
    let voxels = || vec![("coords", ints(&[2, 3])), ("num_points", ints(&[2])), ("voxels", floats(&[2, 5, 4]))];
    let told = |kind, arrays: &[(&str, ArrayView<'_>)]| -> (&'static str, String) {
        write_npz(&path, arrays).unwrap();
        let e: IoError = read_result(&path, kind).unwrap_err();
        (e.class(), e.to_string().replacen(&format!("{}: ", path.display()), "", 1))
    };
    for (arrays, class, message) in [
        (voxels()[..1].to_vec(), "MissingField", "arrays: expected `num_points`, got `coords`"),
        (
            [voxels(), vec![("mean", floats(&[2, 3]))]].concat(),
            "ShapeMismatch",
            "array `mean`: shape: expected [V, C], V = 2 as in `coords`, C = 4 as in `voxels`, got f32 [2, 3]",
        ),
        (
            [voxels(), vec![("mean", ArrayView::f64(&[2, 4], &[0.0; 8]))]].concat(),
            "DtypeMismatch",
            "array `mean`: element type: expected f32 or f16, got f64 [2, 4]",
        ),
        (
            [voxels(), vec![("point_to_voxel", ints(&[2, 1]))]].concat(),
            "ShapeMismatch",
            "array `point_to_voxel`: shape: expected [N], got i32 [2, 1]",
        ),
    ] {
        assert_eq!(told(ResultKind::Voxels, &arrays), (class, message.to_owned()));
    }
    // With coordinates the rows are those of occupied voxels.
    let sparse = [("pooled", floats(&[1, 2, 1, 3, 8])), ("coords", ints(&[2, 4]))];
    let wanted = "array `pooled`: shape: expected [R, C], got f32 [1, 2, 1, 3, 8]";
    assert_eq!(told(ResultKind::Pooled, &sparse), ("ShapeMismatch", wanted.into()));
    assert_eq!(
        told(ResultKind::Pooled, &[("x", ints(&[1]))]),
        ("MissingField", "arrays: expected `pooled`, got none".into())
    );
    assert_eq!(told(ResultKind::PointsInBoxes, &[("all", ints(&[1, 2]))]).0, "DtypeMismatch");
    let none = "arrays: expected one of `part`, `all`, `count`, `row_splits`, `indices`, got none";
    assert_eq!(told(ResultKind::PointsInBoxes, &[("x", ints(&[1]))]), ("MissingField", none.into()));
}

/// Every array of voxels has the name, the type and the shape that files know, and comes back from
/// one.
#[test]
fn arrays_go_through_files_by_name() {
    let points = [0.5, 0.5, 0.5, 1.5, 0.5, 0.5, 0.5, 0.5, 0.25, 3.5, 3.5, 0.5, 9.0, 9.0, 9.0_f32];
    let outputs = Outputs { lists: true, ..Outputs::default() };
    let range = Aabb::new([0.0; 3], [4.0, 4.0, 1.0]);
    let params = VoxelizeParams { outputs, max_points_per_voxel: Some(2), ..VoxelizeParams::new([1.0; 3], range) };
    let mut voxelizer = Voxelizer::new(&Device::cpu().stream().unwrap(), &params).unwrap();
    let mut voxels = voxelizer.output().unwrap();
    voxelizer.run_batch(Points::new(&points, 3).unwrap(), &[0, 2, 5], &mut voxels).unwrap();
    let (arrays, specs) = (voxels.read().unwrap(), voxels.specs().unwrap());
    let (_folder, path) = scratch();
    write_result(&path, &arrays, &"a report").unwrap();
    let read = read_result(&path, ResultKind::Voxels).unwrap();
    assert_eq!(specs.len(), VoxelArray::ALL.len());
    for (spec, (name, view)) in specs.iter().zip(arrays.arrays()) {
        assert_eq!((spec.array.as_str(), spec.dtype, &*spec.shape), (name, view.dtype(), view.shape()));
        let array = read.get(name).unwrap();
        assert_eq!((array.view().values(), array.shape()), (view.values(), view.shape()), "{name}");
    }
}
