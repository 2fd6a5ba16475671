//! Threads that the system refuses: nothing panics, and what nobody asked a number of threads for is done by the calling thread.

use pointmill::icp::{IcpParams, Search, Searcher, align, normals};
use pointmill::ndt::{NdtCloud, NdtMoments, NdtParams, ndt_grid};
use pointmill::roi_pool::{BoxParams, PointsInBoxes, Scene};
use pointmill::voxelize::{VoxelizeParams, voxelize};
use pointmill::{Coordinates, Device, Error, Input, Points};
use std::process::Command;

/// No address space has room for such a stack, so that every thread of Rust's is refused.
const NO_STACK: &str = "140737488355328";
/// Set in the process that gets no threads.
const INSIDE: &str = "POINTMILL_TEST_NO_THREADS";

/// `n` points on a wave.
fn cloud(n: usize) -> Vec<f32> {
    let point = |i: usize| {
        let (x, y) = ((i % 200) as f32 * 0.2, (i / 200) as f32 * 0.2);
        [x, y, (x * 0.7).sin() + (y * 0.4).cos()]
    };
    (0..n).flat_map(point).collect()
}

/// What all operators make of a cloud, as numbers that can be compared.
fn answers() -> Result<Vec<String>, Error> {
    let (device, points) = (Device::cpu(), cloud(20_000));
    let rows: Vec<[f32; 3]> = points.chunks_exact(3).map(|p| [p[0], p[1], p[2]]).collect();
    let voxels = voxelize(Points::new(&points, 3)?, &VoxelizeParams::default(), &device)?.read()?;
    let boxes = [5.0f32, 5.0, -2.0, 8.0, 4.0, 4.0, 0.3, 9.0, 9.0, -2.0, 8.0, 4.0, 4.0, 0.0];
    let stream = device.stream()?;
    let mut part = stream.alloc(0)?;
    let scene = Scene::new(Input::new(&boxes, 7)?, Input::new(&points, 3)?);
    PointsInBoxes::new(&stream, BoxParams::default())?.part(scene, &mut part)?;
    let grid = ndt_grid(NdtCloud::f32(&points, 3)?, 1.0, &NdtParams::default(), &device)?.read()?;
    let mut moments = NdtMoments::new(1.0)?;
    moments.add(NdtCloud::f32(&points, 3)?)?;
    let finished = moments.finish(&NdtParams::default())?;
    assert!(finished == grid);
    let searcher = Searcher::new(&rows, Search::KdTree)?;
    let found = (searcher.nearest(&rows[..50], None)?, searcher.neighbours(&rows[..50], 3, None)?);
    let turned = align(Coordinates::f32(&points[..6000], 3)?, Coordinates::f32(&points, 3)?, &IcpParams::default())?;
    Ok(vec![
        format!("{:?} {:?}", voxels.report, voxels.mean),
        format!("{:?}", part.read(20_000)?),
        format!("{:?} {:?}", grid.report, grid.mean),
        format!("{found:?} {:?}", &normals(&rows, &searcher, 9)?[..50]),
        format!("{:?}", turned.target_from_source),
    ])
}

/// A short number for long answers.
fn digest(answers: &[String]) -> String {
    let of = |text: &String| {
        text.bytes().fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
    };
    answers.iter().map(|text| format!("{:016x}", of(text))).collect::<Vec<_>>().join(" ")
}

/// Every operator works without a thread of its own and says the same; a number of threads that cannot be had is an error.
#[test]
fn without_threads_the_calling_thread_does_the_work() {
    if std::env::var_os(INSIDE).is_some() {
        std::thread::Builder::new().spawn(|| ()).expect_err("this process gets no threads");
        println!("answers {}", digest(&answers().unwrap()));
        assert_eq!(Device::cpu().threads(), 1);
        let refused = Device::cpu_with_threads(3).unwrap_err();
        assert!(matches!(refused, Error::Device { .. }), "{refused:?}");
        let told = refused.to_string();
        assert!(told.starts_with("device cpu: failed to start its threads: 3 were asked for: "), "{told}");
        return;
    }
    let name = "without_threads_the_calling_thread_does_the_work";
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", name, "--nocapture", "--test-threads=1"]);
    let child = child.env("RUST_MIN_STACK", NO_STACK).env(INSIDE, "1").output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&child.stdout), String::from_utf8_lossy(&child.stderr));
    assert!(child.status.success(), "{out}{err}");
    let want = format!("answers {}", digest(&answers().unwrap()));
    assert!(out.lines().any(|line| line.ends_with(&want)), "wanted {want}\n{out}{err}");
}
