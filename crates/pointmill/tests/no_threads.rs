//! Threads that the system refuses: nothing panics, and what nobody asked a number of threads for
//! is done by the calling thread.

use pointmill::icp::{IcpParams, Search, Searcher, align};
use pointmill::ndt::{NdtMoments, NdtParams, ndt_grid};
use pointmill::roi_pool::{BoxParams, PointsInBoxes, Scene};
use pointmill::voxelize::{VoxelizeParams, voxelize};
use pointmill::{Device, Error, Points, Pose, Rows};
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

/// What an operator makes of a cloud, as text that can be compared.
type Answer = fn(&[f32]) -> Result<String, Error>;

/// All that begins work of the CPU, with a device and without.
const ANSWERS: [Answer; 6] = [of_voxelize, of_boxes, of_grids, of_moments, of_searches, of_icp];

fn of_voxelize(points: &[f32]) -> Result<String, Error> {
    let voxels = voxelize(Points::new(points, 3)?, &VoxelizeParams::default(), &Device::cpu())?.read()?;
    Ok(format!("{:?} {:?}", voxels.report, voxels.mean))
}

fn of_boxes(points: &[f32]) -> Result<String, Error> {
    let boxes = [5.0f32, 5.0, -2.0, 8.0, 4.0, 4.0, 0.3, 9.0, 9.0, -2.0, 8.0, 4.0, 4.0, 0.0];
    let stream = Device::cpu().stream()?;
    let mut part = stream.alloc(0)?;
    let scene = Scene::new(Rows::new(&boxes, 7)?, Rows::new(points, 3)?);
    PointsInBoxes::new(&stream, BoxParams::default())?.part(scene, &mut part)?;
    Ok(format!("{:?}", part.read(points.len() / 3)?))
}

fn of_grids(points: &[f32]) -> Result<String, Error> {
    let grid = ndt_grid(Rows::f32(points, 3)?, 1.0, &NdtParams::default(), &Device::cpu())?.read()?;
    Ok(format!("{:?} {:?}", grid.report, grid.mean))
}

fn of_moments(points: &[f32]) -> Result<String, Error> {
    let mut moments = NdtMoments::new(1.0)?;
    moments.add(Rows::f32(points, 3)?)?;
    Ok(format!("{:?}", moments.finish(&NdtParams::default())?.mean))
}

fn of_searches(points: &[f32]) -> Result<String, Error> {
    let rows: Vec<[f32; 3]> = points.chunks_exact(3).map(|p| [p[0], p[1], p[2]]).collect();
    let searcher = Searcher::new(&Device::cpu().stream()?, Rows::f32(points, 3)?, Search::KdTree)?;
    let found = (searcher.nearest(&rows[..50], None)?, searcher.neighbours(&rows[..50], 3, None)?);
    Ok(format!("{found:?} {:?}", &searcher.normals(9)?[..50]))
}

fn of_icp(points: &[f32]) -> Result<String, Error> {
    let (source, target) = (Rows::f32(&points[..6000], 3)?, Rows::f32(points, 3)?);
    Ok(format!(
        "{:?}",
        align(source, target, &Pose::IDENTITY, &IcpParams::default(), &Device::cpu())?.target_from_source
    ))
}

/// All answers, made in turn from the `first` on.
fn answers(first: usize) -> Result<Vec<String>, Error> {
    let points = cloud(20_000);
    let mut all = vec![String::new(); ANSWERS.len()];
    for i in (0..all.len()).map(|i| (first + i) % ANSWERS.len()) {
        all[i] = ANSWERS[i](&points)?;
    }
    Ok(all)
}

/// A short number for long answers.
fn digest(answers: &[String]) -> String {
    let of = |text: &String| {
        text.bytes().fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
    };
    answers.iter().map(|text| format!("{:016x}", of(text))).collect::<Vec<_>>().join(" ")
}

/// Every operator works without a thread of its own and says the same, whichever begins; a number
/// of threads that cannot be had is an error.
#[test]
fn without_threads_the_calling_thread_does_the_work() {
    if let Some(first) = std::env::var_os(INSIDE) {
        std::thread::Builder::new().spawn(|| ()).expect_err("this process gets no threads");
        let first = first.to_str().unwrap().parse().unwrap();
        println!("answers {}", digest(&answers(first).unwrap()));
        assert_eq!(Device::cpu().threads(), 1);
        let refused = Device::cpu_with_threads(3).unwrap_err();
        assert!(matches!(refused, Error::Device { .. }), "{refused:?}");
        let told = refused.to_string();
        assert!(told.starts_with("device cpu: failed to start its threads: 3 were asked for: "), "{told}");
        return;
    }
    let want = format!("answers {}", digest(&answers(0).unwrap()));
    for first in 0..ANSWERS.len() {
        let mut child = Command::new(std::env::current_exe().unwrap());
        let name = "without_threads_the_calling_thread_does_the_work";
        child.args(["--exact", name, "--nocapture", "--test-threads=1"]);
        let child = child.env("RUST_MIN_STACK", NO_STACK).env(INSIDE, first.to_string()).output().unwrap();
        let (out, err) = (String::from_utf8_lossy(&child.stdout), String::from_utf8_lossy(&child.stderr));
        assert!(child.status.success(), "{first}: {out}{err}");
        assert!(out.lines().any(|line| line.ends_with(&want)), "{first}: expected {want}\n{out}{err}");
    }
}
