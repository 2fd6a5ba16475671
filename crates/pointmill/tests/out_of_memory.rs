//! Host memory that is refused is an error, wherever it is refused: each allocation of a call fails
//! once.
//!
//! A refusal that is no error ends the process, and with it this test.

use pointmill::icp::{Aligner, IcpParams, Metric, Registration, Search, Searcher, Stage, Target, Timing};
use pointmill::ndt::{NdtAlignParams, NdtBuilder, NdtMoments, NdtParams, Neighbourhood, ndt_grid};
use pointmill::roi_pool::{BoxParams, PointsInBoxes, RoiLayout, RoiPoolParams, RoiPooler, Scene};
use pointmill::voxelize::{MeanType, Outputs, RowOrder, VoxelizeParams, Voxelizer};
use pointmill::{Device, Error, PointCloud, Points, Pose, Rows};
use pointmill_io::{
    IoError, LocalOrigin, NamedPoints, ReadOptions, Region, Scan, WideColumn, merge, merge_common, read, write_bin,
    write_npy, write_pcd, write_ply, write_points_npz,
};
use pointmill_synth::RoiScene;
use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

/// Smaller allocations are always given: they are not sized by the inputs of these tests. Of
/// operators; readers have windows and buffers of 256 KiB.
const LARGE: usize = 16 << 10;
const LARGE_FOR_READERS: usize = (256 << 10) + 1;

/// Large allocations that are still given; `usize::MAX` for all.
static LEFT: AtomicUsize = AtomicUsize::new(usize::MAX);

/// The smallest allocation that can be refused.
static LEAST: AtomicUsize = AtomicUsize::new(LARGE);

struct Failing;

/// Whether an allocation of so many bytes is to be refused.
fn refuses(bytes: usize) -> bool {
    if bytes < LEAST.load(Ordering::Relaxed) {
        return false;
    }
    let fewer = |left: usize| if left == usize::MAX { None } else { Some(left.wrapping_sub(1)) };
    // The one after the last is refused, and then none.
    LEFT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer) == Ok(0)
}

// SAFETY: all memory comes from the system's allocator; a refusal is a null pointer, as the trait
// allows.
unsafe impl GlobalAlloc for Failing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        if refuses(layout.size()) { std::ptr::null_mut() } else { unsafe { System.alloc(layout) } }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        if refuses(layout.size()) { std::ptr::null_mut() } else { unsafe { System.alloc_zeroed(layout) } }
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: the caller's promise.
        if refuses(bytes) { std::ptr::null_mut() } else { unsafe { System.realloc(old, layout, bytes) } }
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(old, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Failing = Failing;

/// One test at a time: the allocator is everybody's.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(|e| e.into_inner())
}

/// Does the work again and again, each time with one large allocation refused, the first, the
/// second and so on, until none is left to refuse.
///
/// Each refusal is told by `is_refusal`, and the work comes to the same as without any.
fn each_refused<R: PartialEq, E: std::fmt::Display>(
    what: &str,
    work: impl Fn() -> Result<R, E>,
    is_refusal: impl Fn(&E) -> bool,
) {
    let whole = work().unwrap_or_else(|e| panic!("{what}: {e}"));
    let mut refused = 0;
    for k in 0.. {
        // A process that ends in the middle shall have said where.
        eprintln!("{what}: allocation {k}");
        LEFT.store(k, Ordering::Relaxed);
        let done = work();
        let asked = LEFT.swap(usize::MAX, Ordering::Relaxed) == usize::MAX;
        match done {
            Ok(done) => {
                assert!(done == whole, "{what}: allocation {k} was refused, which changed the result");
                assert!(!asked, "{what}: allocation {k} was refused, which nobody told");
                break;
            }
            Err(e) => assert!(asked && is_refusal(&e), "{what}: allocation {k}: {e}"),
        }
        refused += 1;
    }
    assert!(refused > 0, "{what}: there was nothing to refuse");
    println!("{what}: {refused} allocations refused");
}

fn out_of_memory(e: &Error) -> bool {
    matches!(e, Error::OutOfMemory { .. })
}

fn cloud(n: usize) -> PointCloud {
    let point = |i: usize| {
        let at = i as f32 * 0.618;
        [40.0 * at.sin(), 40.0 * (1.7 * at).cos(), -1.0 + (0.3 * at).sin(), 0.5]
    };
    PointCloud::new((0..n).flat_map(point).collect(), 4).unwrap()
}

/// Devices whose threads are this test's own: with others the k-th allocation is another one in
/// each run.
fn devices() -> Vec<Device> {
    [1, 3].map(|threads| Device::cpu_with_threads(threads).unwrap()).into()
}

#[test]
fn voxelize_tells_of_every_refusal() {
    let _turn = turn();
    let cloud = cloud(40_000);
    for device in devices() {
        for (order, mean) in [(RowOrder::FirstSeen, MeanType::F32), (RowOrder::Sorted, MeanType::F16)] {
            let outputs = Outputs { lists: true, mean: Some(mean), ..Outputs::default() };
            let params = VoxelizeParams { order, outputs, ..VoxelizeParams::default() };
            let work = || {
                let mut voxelizer = Voxelizer::new(&device.stream()?, &params)?;
                let mut voxels = voxelizer.output()?;
                voxelizer.run(&cloud, &mut voxels)?;
                voxels.read()
            };
            each_refused(&format!("voxelize, {order:?}, {} threads", device.threads()), work, out_of_memory);
        }
    }
}

/// After a refusal a voxelizer and its result can be used as before.
#[test]
fn a_voxelizer_survives_a_refusal() {
    let _turn = turn();
    let (small, large) = (cloud(100), cloud(40_000));
    let voxelizer = || -> Result<_, Error> {
        let voxelizer = Voxelizer::new(&Device::cpu_with_threads(1)?.stream()?, &VoxelizeParams::default())?;
        let voxels = voxelizer.output()?;
        Ok((voxelizer, voxels))
    };
    let (mut fresh, mut wanted) = voxelizer().unwrap();
    fresh.run(&large, &mut wanted).unwrap();
    let wanted = wanted.read().unwrap();
    let (mut used, mut voxels) = voxelizer().unwrap();
    for k in 0.. {
        used.run(&small, &mut voxels).unwrap();
        LEFT.store(k, Ordering::Relaxed);
        let done = used.run(&large, &mut voxels);
        LEFT.store(usize::MAX, Ordering::Relaxed);
        if done.is_ok() {
            break;
        }
        // Whatever is read of it now is an error or a result, and no panic.
        let _ = voxels.read();
        used.run(&large, &mut voxels).unwrap();
        assert!(voxels.read().unwrap() == wanted, "allocation {k}");
        (used, voxels) = voxelizer().unwrap();
    }
}

#[test]
fn roi_pool_tells_of_every_refusal() {
    let _turn = turn();
    let scene = RoiScene::street(300, 20_000, 0);
    let features = scene.features(8);
    for device in devices() {
        let stream = device.stream().unwrap();
        for layout in [RoiLayout::Dense, RoiLayout::Csr, RoiLayout::Sparse] {
            let params =
                RoiPoolParams { layout, out_size: [3; 3], max_points_per_voxel: 7, ..RoiPoolParams::default() };
            let work = || {
                let input = || Ok::<_, Error>(Scene::new(Rows::new(&scene.boxes, 7)?, Rows::new(&scene.points, 3)?));
                let mut pooler = RoiPooler::new(&stream, &params)?;
                let mut pooled = pooler.output()?;
                pooler.run(input()?, Rows::new(&features, 8)?, &mut pooled)?;
                pooled.read()
            };
            each_refused(&format!("roi_pool, {layout:?}, {} threads", device.threads()), work, out_of_memory);
        }
        let work = || {
            let input = || Ok::<_, Error>(Scene::new(Rows::new(&scene.boxes, 7)?, Rows::new(&scene.points, 3)?));
            let mut tester = PointsInBoxes::new(&stream, BoxParams::default())?;
            let (mut part, mut lists) = (stream.alloc(0)?, tester.lists()?);
            tester.part(input()?, &mut part)?;
            tester.crop(input()?, &mut lists)?;
            Ok((part.read(scene.points.len() / 3)?, lists.read()?))
        };
        each_refused(&format!("points in boxes, {} threads", device.threads()), work, out_of_memory);
    }
}

#[test]
fn ndt_tells_of_every_refusal() {
    let _turn = turn();
    let cloud = cloud(40_000);
    for device in devices() {
        let stream = device.stream().unwrap();
        let work = || {
            let mut builder = NdtBuilder::new(&stream, 1.0, &NdtParams { min_points: 3, ..NdtParams::default() })?;
            builder.add(Rows::f32(cloud.data(), 4)?)?;
            builder.add(Rows::f32(&cloud.data()[..80_000], 4)?)?;
            let grid = builder.finish()?;
            Ok((grid.read()?, builder.moments()?))
        };
        each_refused(&format!("ndt, {} threads", device.threads()), work, out_of_memory);
    }
}

#[test]
fn ndt_searches_and_alignments_tell_of_every_refusal() {
    let _turn = turn();
    let cloud = cloud(48_000);
    let scan = cloud.data();
    for device in devices() {
        let params = NdtParams { min_points: 3, ..NdtParams::default() };
        let grid = ndt_grid(Rows::f32(cloud.data(), 4).unwrap(), 1.0, &params, &device).unwrap();
        let cells = grid.read().unwrap();
        let guess = Pose::from_xyzrpy([0.05, -0.03, 0.02, 0.0, 0.0, 0.002]).unwrap();
        // Of many poses and cells the lists are large too.
        let (poses, places) = (vec![guess; 1000], cells.coords.repeat(8));
        let few = &scan[..4 * 5];
        let threads = device.threads();
        let points = || Rows::f32(scan, 4);
        each_refused(
            &format!("ndt search, {threads} threads"),
            || Ok((grid.radius_search(points()?, 2.0)?.read()?, grid.lookup(&places)?)),
            out_of_memory,
        );
        each_refused(
            &format!("ndt neighbours, {threads} threads"),
            || grid.neighbours(points()?, Neighbourhood::TwentySeven)?.read(),
            out_of_memory,
        );
        each_refused(
            &format!("ndt scores, {threads} threads"),
            || {
                let fits = grid.score(Rows::f32(few, 4)?, &poses)?;
                Ok((grid.score(points()?, &[guess])?, grid.point_scores(points()?, &guess)?, fits))
            },
            out_of_memory,
        );
        each_refused(
            &format!("ndt align, {threads} threads"),
            || {
                let params = NdtAlignParams { max_iterations: 2, ..NdtAlignParams::default() };
                let many = grid.align(Rows::f32(few, 4)?, &poses, &NdtAlignParams { max_iterations: 0, ..params })?;
                Ok((grid.align(points()?, &[guess], &params)?, many))
            },
            out_of_memory,
        );
        let moments = || -> Result<_, Error> {
            let mut moments = NdtMoments::new(1.0)?;
            moments.add(Rows::f32(cloud.data(), 4)?)?;
            Ok(moments)
        };
        let moments = moments().unwrap();
        let table = moments.table().unwrap();
        each_refused("moments of a table", || NdtMoments::from_table(&table), out_of_memory);
        each_refused("a table of moments", || moments.table(), out_of_memory);
    }
}

#[test]
fn icp_tells_of_every_refusal() {
    let _turn = turn();
    let target = cloud(6_000);
    let source: Vec<f32> =
        target.data().chunks_exact(4).flat_map(|p| [p[0] + 0.01, p[1] - 0.02, p[2] + 0.01]).collect();
    let searches = [Search::Brute, Search::KdTree, Search::Lbvh];
    for device in devices() {
        for (metric, search, voxel_size) in [
            (Metric::PointToPoint, Search::KdTree, 0.0),
            (Metric::PointToPlane, Search::Lbvh, 0.05),
            (Metric::Gicp, Search::KdTree, 0.0),
            (Metric::Gicp, Search::Brute, 0.1),
        ] {
            let schedule = vec![Stage { voxel_size, max_distance: Some(0.5) }];
            let params = IcpParams { metric, search, schedule, max_iterations: 2, ..IcpParams::default() };
            let work = || {
                let (source, target) = (Rows::f32(&source, 3)?, Rows::f32(target.data(), 4)?);
                Aligner::new(&device.stream()?, &params)?.align(source, target, &Pose::IDENTITY).map(without_times)
            };
            each_refused(&format!("icp, {metric:?}, {search:?}, {} threads", device.threads()), work, out_of_memory);
            let work = || {
                let onto = Target::new(&device.stream()?, Rows::f32(target.data(), 4)?, &params)?;
                onto.align(Rows::f32(&source, 3)?, &Pose::IDENTITY).map(without_times)
            };
            each_refused(&format!("icp onto a target, {metric:?}, {} threads", device.threads()), work, out_of_memory);
        }
        let points: Vec<[f32; 3]> = target.points().iter_xyz().collect();
        let stream = device.stream().unwrap();
        let buffer = stream.upload(target.data()).unwrap();
        for search in searches {
            let work = || {
                let cloud = Rows::on_device(&buffer, points.len(), 4)?;
                let searcher = Searcher::new(&stream, cloud, search)?;
                let found = (searcher.nearest(&points, Some(1.0))?, searcher.neighbours(&points, 3, None)?);
                Ok((found, searcher.normals(8)?))
            };
            each_refused(&format!("neighbours, {search:?}, {} threads", device.threads()), work, out_of_memory);
        }
    }
}

/// A trace grows with the looks; of many stages it is long.
#[test]
fn a_long_trace_tells_of_every_refusal() {
    let _turn = turn();
    let wave = |z: f32| -> Vec<f32> { (0..60).flat_map(|i| [0.1 * i as f32, (0.3 * i as f32).sin(), z]).collect() };
    let (source, target) = (wave(0.0), wave(0.3));
    let schedule = vec![Stage { voxel_size: 0.0, max_distance: None }; 150];
    let params = IcpParams { metric: Metric::PointToPoint, schedule, ..IcpParams::default() };
    let device = Device::cpu_with_threads(1).unwrap();
    let work = || {
        let (source, target) = (Rows::f32(&source, 3)?, Rows::f32(&target, 3)?);
        Aligner::new(&device.stream()?, &params)?.align(source, target, &Pose::IDENTITY).map(without_times)
    };
    assert!(work().unwrap().fit.trace.len() >= 150);
    each_refused("a long trace", work, out_of_memory);
}

fn without_times(mut found: Registration) -> Registration {
    found.fit.prepare_ms = 0.0;
    found.fit.trace.iter_mut().for_each(|look| look.timing = Timing::default());
    found
}

#[test]
fn readers_tell_of_every_refusal() {
    let _turn = turn();
    let folder = std::env::temp_dir().join(format!("pointmill-refused-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let cloud = cloud(40_000);
    let path = |name: &str| folder.join(name);
    write_bin(path("a.bin"), cloud.points()).unwrap();
    let scan = read(path("a.bin"), &ReadOptions::default()).unwrap();
    write_npy(path("a.npy"), &pointmill_io::ArrayView::f32(&[40_000, 4], cloud.data())).unwrap();
    let exact: Vec<f64> = cloud.data().iter().map(|&v| f64::from(v) + 1e-9).collect();
    write_npy(path("b.npy"), &pointmill_io::ArrayView::f64(&[40_000, 4], &exact)).unwrap();
    // As Fortran has it: columns first.
    let mut columns = std::fs::read(path("b.npy")).unwrap();
    let at = columns.windows(5).position(|w| w == b"False").unwrap();
    columns[at..at + 5].copy_from_slice(b"True ");
    std::fs::write(path("c.npy"), columns).unwrap();
    write_points_npz(path("a.npz"), &NamedPoints::from(&scan)).unwrap();
    write_ply(path("a.ply"), &(&scan).into()).unwrap();
    write_pcd(path("a.pcd"), &(&scan).into()).unwrap();
    let text: String = cloud.points().iter_xyz().map(|[x, y, z]| format!("{x} {y} {z}\n")).collect();
    let header = "ply\nformat ascii 1.0\nelement vertex 40000\nproperty float x\nproperty float y\nproperty double z\nend_header\n";
    std::fs::write(path("b.ply"), header.to_owned() + &text).unwrap();
    let refusal = |e: &IoError| e.class() == "OutOfMemory";
    LEAST.store(LARGE_FOR_READERS, Ordering::Relaxed);
    for name in ["a.bin", "a.npy", "b.npy", "c.npy", "a.npz", "a.ply", "b.ply", "a.pcd"] {
        each_refused(name, || read_whole(&path(name)), refusal);
    }
    LEAST.store(LARGE, Ordering::Relaxed);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// What is made of clouds that are there: merges, parts, means, and their files.
#[test]
fn clouds_that_are_joined_and_cut_tell_of_every_refusal() {
    let _turn = turn();
    let folder = std::env::temp_dir().join(format!("pointmill-joined-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (cloud, n) = (cloud(40_000), 40_000);
    let rows: Vec<f32> =
        cloud.data().chunks_exact(4).enumerate().flat_map(|(i, p)| [p[0], p[1], p[2], i as f32, 0.5]).collect();
    let mut named = NamedPoints::new(Points::new(&rows, 5).unwrap(), &["x", "y", "z", "id", "ring"]);
    let exact: Vec<f64> = (0..3 * n).map(|i| f64::from(rows[5 * (i / 3) + i % 3]) + 1e-9).collect();
    named.xyz_f64 = Some(&exact);
    named.wide = vec![WideColumn::new(3, (0..n).map(|i| f64::from(i as u32) + 1e-9).collect()).into()];
    write_pcd(folder.join("a.pcd"), &named).unwrap();
    let scan = read(folder.join("a.pcd"), &ReadOptions::default()).unwrap();
    let plain = Scan::from(PointCloud::new(rows.clone(), 5).unwrap());
    let mut renamed = plain.clone();
    renamed.fields.clone_from(&scan.fields);
    let refusal = |e: &IoError| e.class() == "OutOfMemory";
    let join = |scans: Vec<Scan>| merge(scans.into_iter().map(|scan| Ok::<_, IoError>(("a.pcd".into(), scan))));
    LEAST.store(LARGE_FOR_READERS, Ordering::Relaxed);
    // Clouds are given away, so that they are copied where nothing is refused.
    let given = |scans: &[&Scan]| {
        let left = LEFT.swap(usize::MAX, Ordering::Relaxed);
        let scans: Vec<Scan> = scans.iter().map(|&scan| scan.clone()).collect();
        LEFT.store(left, Ordering::Relaxed);
        scans
    };
    each_refused("merge", || join(given(&[&scan, &scan])), refusal);
    each_refused("merge of f32 with f64", || join(given(&[&renamed, &scan])), refusal);
    let far = scan.clone().about(LocalOrigin::At([100.0, 0.0, 0.0]));
    each_refused("merge about an origin", || join(given(&[&far, &scan])), refusal);
    let common =
        |scans: Vec<Scan>| merge_common(scans.into_iter().map(|scan| Ok::<_, IoError>(("a.pcd".into(), scan))));
    let mut other = plain.clone();
    (other.fields[3].name, other.fields[4].name) = ("id".into(), "echo".into());
    each_refused("merge of common columns", || common(given(&[&scan, &other])), refusal);
    let region = Region { bounds: Some([-1e3, -1e3, -1e3, 1e3, 1e3, 1e3]), ..Region::default() };
    for scan in [&scan, &plain] {
        each_refused("crop", || scan.crop(&region, [0.0; 3]), refusal);
        let pairs: Vec<u32> = (0..=n as u32 / 2).map(|i| 2 * i).collect();
        let all: Vec<u32> = (0..n as u32).collect();
        let means = &scan.cloud.data()[..5 * (n / 2)];
        each_refused("means", || scan.with_means(means, [&pairs, &all]), refusal);
    }
    let to = folder.join("b.npz");
    // What the archive's own buffers are refused is the system's answer to a write.
    let is_told = |e: &IoError| refusal(e) || e.to_string().ends_with("write: out of memory");
    each_refused("npz", || write_points_npz(&to, &NamedPoints::from(&scan)), is_told);
    LEAST.store(LARGE, Ordering::Relaxed);
    std::fs::remove_dir_all(&folder).unwrap();
}

fn read_whole(path: &Path) -> Result<(PointCloud, Option<Vec<f64>>), IoError> {
    read(path, &ReadOptions::default()).map(|scan| (scan.cloud, scan.xyz_f64))
}
