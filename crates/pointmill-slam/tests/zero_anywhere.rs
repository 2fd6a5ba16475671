//! Every alignment gives the same answer when its clouds are moved to the coordinates of a map.

use pointmill::icp::{self, IcpParams};
use pointmill::ndt::{NdtAlignParams, NdtParams, ndt_grid};
use pointmill::registration::global::{RegisterParams, register};
use pointmill::{Device, Pose, Rows};
use pointmill_slam::localize::{Localizer, LocalizerParams};
use pointmill_slam::odometry::{Odometry, OdometryParams};
use pointmill_synth::{Drive, DriveParams, Scene};

type Cloud = Vec<[f64; 3]>;

/// A scan in the frame of the sensor, two more, and the same points in the world.
struct Clouds {
    scans: Vec<Cloud>,
    map: Cloud,
    start: Pose,
}

fn clouds() -> Clouds {
    let small = DriveParams { beams: 32, azimuth_steps: 700, ..DriveParams::default() };
    let drive = Drive::new(DriveParams { scene: Scene::Loop, seed: 3, sweeps: 9, motion_compensated: true, ..small });
    let scan = |i: usize| -> Cloud {
        let sweep = drive.sweep(i);
        (0..sweep.len()).map(|k| Rows::from(&sweep).point(k)).filter(|p| p.iter().all(|x| x.is_finite())).collect()
    };
    let pose = |i: usize| Pose::from_matrix(&drive.world_from_sensor(i)).unwrap();
    let map = [0, 2, 4, 6, 8].into_iter().flat_map(|i| scan(i).into_iter().map(move |p| (i, p)));
    let map = map.map(|(i, p)| pose(i).apply(p)).collect();
    Clouds { scans: (3..8).map(scan).collect(), map, start: pose(3) }
}

fn moved(cloud: &[[f64; 3]], by: [f64; 3]) -> Cloud {
    cloud.iter().map(|p| [0, 1, 2].map(|k| p[k] + by[k])).collect()
}

/// The status of an alignment and its pose, of clouds that are both moved.
type Answer = (String, Pose);

fn answers(clouds: &Clouds, by: [f64; 3]) -> Vec<(&'static str, Answer)> {
    let cpu = Device::cpu();
    let stream = cpu.stream().unwrap();
    let (map, scans) = (moved(&clouds.map, by), clouds.scans.iter().map(|scan| moved(scan, by)).collect::<Vec<_>>());
    // From half a metre beside the truth; between points that are moved.
    let off = Pose::from_xyzrpy([0.4, -0.3, 0.05, 0.0, 0.0, 0.02]).unwrap();
    let back = by.map(|x| -x);
    let guess = (clouds.start * off).about(back, back);
    let about = if by[0].abs() > 1e5 { by } else { [0.0; 3] };
    let grid = ndt_grid(Rows::from(&map[..]).about(about).unwrap(), 2.0, &NdtParams::default(), &cpu).unwrap();
    let mut all = Vec::new();

    let scan = Rows::from(&scans[0][..]);
    let ndt = grid.align(scan, &[guess], &NdtAlignParams::default()).unwrap().remove(0);
    all.push(("ndt", (ndt.status.to_string(), ndt.target_from_source)));
    let icp = IcpParams { max_distance: Some(2.0), ..IcpParams::default() };
    let icp = icp::align(scan, &map[..], &guess, &icp, &cpu).unwrap();
    all.push(("icp", (icp.status.to_string(), icp.target_from_source)));
    for level in [false, true] {
        let params = RegisterParams { level, ..RegisterParams::default() };
        let found = register(&scans[1][..], &scans[0][..], &params, &cpu).unwrap();
        all.push(("register", (found.verdict.to_string(), found.target_from_source)));
    }
    let mut odometry = Odometry::new(&stream, &OdometryParams::default()).unwrap();
    for scan in &scans {
        let step = odometry.push(Rows::from(&scan[..]), None).unwrap();
        all.push(("odometry", (step.status.to_string(), step.world_from_sensor)));
    }
    let points = odometry.map().unwrap();
    assert!(points.iter().all(|p| (p[0] - by[0]).abs() < 300.0 && (p[1] - by[1]).abs() < 300.0));
    let mut localizer = Localizer::new(&stream, grid, &LocalizerParams::default()).unwrap();
    localizer.start(&guess).unwrap();
    for scan in &scans {
        let fix = localizer.push(Rows::from(&scan[..]), None).unwrap();
        assert_eq!(localizer.pose(), Some(fix.map_from_sensor));
        all.push(("localize", (format!("{} {:?}", fix.status, fix.rejection), fix.map_from_sensor)));
    }
    all
}

#[test]
fn all_alignments_at_all_places() {
    let clouds = clouds();
    let here = answers(&clouds, [0.0; 3]);
    assert!(here.iter().all(|(name, (status, _))| match *name {
        "ndt" | "icp" => status == "step-below",
        "register" => status == "found",
        "odometry" => status == "tracked" || status == "started",
        _ => status == "tracked None",
    }));
    for by in [[1e3, -2e3, 0.0], [5e5, 4e6, 0.0], [-7e5, 3e3, 0.0]] {
        for ((name, here), (_, there)) in here.iter().zip(answers(&clouds, by)) {
            assert_eq!(here.0, there.0, "{name} at {by:?}");
            let off = here.1.inverse().compose(&there.1.about(by, by));
            let most = |v: [f64; 3]| v.iter().fold(0.0f64, |most, x| most.max(x.abs()));
            let apart = [most(off.translation()), most(off.rotation_vector())];
            // Steps of an NDT alignment end below 0.01 m, about another pivot at other places; a drive adds them up.
            assert!(apart[0] < 0.03 && apart[1] < 2e-3, "{name} at {by:?}: {apart:?}");
        }
    }
}
