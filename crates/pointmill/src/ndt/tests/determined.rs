//! What scan and map determine, wherever they are.

use super::*;
use crate::testing::devices;

type Cloud = Vec<[f64; 3]>;

/// A floor of 10 m, with two walls and a block if it is a room.
fn surfaces(room: bool, step: f64) -> Cloud {
    let n = (10.0 / step) as i32;
    let mut points = Vec::new();
    for i in 0..=n {
        for j in 0..=n {
            let (a, b) = (f64::from(i) * step - 5.0, f64::from(j) * step - 5.0);
            points.push([a, b, 0.0]);
            if room && b < -2.0 {
                points.extend([[a, 5.0, b + 5.0], [-5.0, a, b + 5.0], [2.0, 0.2 * a, 0.6 * (b + 5.0)]]);
            }
        }
    }
    points
}

fn moved(cloud: &[[f64; 3]], by: [f64; 3]) -> Cloud {
    cloud.iter().map(|p| [0, 1, 2].map(|k| p[k] + by[k])).collect()
}

fn found(map: &[[f64; 3]], scan: &[[f64; 3]], origin: [f64; 3], unit: f64, device: &Device) -> NdtRegistration {
    let map = Rows::from(map).about(origin).unwrap();
    let grid = ndt_grid(map, unit, &NdtParams::default(), device).unwrap();
    grid.align(Rows::from(scan), &[Pose::IDENTITY], &NdtAlignParams::default()).unwrap().remove(0)
}

#[test]
fn a_pose_that_nothing_determines_is_degenerate() {
    let (room, plane) = (surfaces(true, 0.1), surfaces(false, 0.1));
    let turn = Pose::from_xyzrpy([3.0, 2.0, 1.0, 0.4, -0.7, 1.1]).unwrap();
    let tilted: Cloud = plane.iter().map(|p| turn.apply(*p)).collect();
    let line: Cloud = (0..200).map(|i| [0.05 * f64::from(i) - 5.0, 0.3, 0.0]).collect();
    let corridor: Cloud =
        surfaces(true, 0.1).into_iter().filter(|p| p[0] > -4.9 && (p[1] > 4.9 || p[2] == 0.0)).collect();
    // It sees neither end.
    let within: Cloud = corridor.iter().copied().filter(|p| p[0].abs() < 2.0).collect();
    let one = vec![[-5.0, 1.0, 1.5]; 1];
    for (name, map, scan) in [
        ("a point", &room, &one),
        ("a place", &room, &vec![[-5.0, 1.0, 1.5]; 500]),
        ("two points", &room, &vec![[-5.0, 1.0, 1.5], [1.0, 5.0, 0.5]]),
        ("a line", &room, &line),
        ("a plane on a plane", &plane, &moved(&plane, [0.5, 0.3, 0.3])),
        ("a coarse plane on a plane", &plane, &moved(&surfaces(false, 0.25), [0.5, 0.3, 0.2])),
        ("a room on a plane", &plane, &room),
        ("a tilted plane on itself", &tilted, &tilted),
        ("a part of a corridor", &corridor, &moved(&within, [0.2, 0.1, 0.0])),
    ] {
        for unit in [1.0, 2.0] {
            let of = found(map, scan, [0.0; 3], unit, &Device::cpu());
            assert_eq!((of.status, of.covariance), (Status::Degenerate, None), "{name}, {unit} m: {of:?}");
            assert!(!of.converged() && of.target_from_source.is_rigid());
        }
    }
    for (device, on) in devices() {
        let of = found(&room, &moved(&room, [0.2, -0.1, 0.1]), [0.0; 3], 1.0, &on);
        assert!(of.converged() && of.covariance.is_some(), "{device}: {of:?}");
        assert_eq!(found(&plane, &plane, [0.0; 3], 1.0, &on).status, Status::Degenerate, "{device}");
    }
}

/// Map and scan in coordinates of a map: the scan is turned about where it is.
#[test]
fn zero_may_be_anywhere() {
    let room = surfaces(true, 0.1);
    let truth = Pose::from_xyzrpy([0.3, -0.2, 0.1, 0.01, -0.02, 0.04]).unwrap();
    let scan: Cloud = room.iter().step_by(3).map(|p| truth.inverse().apply(*p)).collect();
    let near = found(&room, &scan, [0.0; 3], 1.0, &Device::cpu());
    assert_eq!(near.status, Status::StepBelow);
    for by in [[1e3, -2e3, 0.0], [5e5, 4e6, 0.0], [-3e6, 40.0, 900.0]] {
        for (device, on) in devices() {
            let origin = if by[0] == 1e3 { [0.0; 3] } else { by };
            let far = found(&moved(&room, by), &moved(&scan, by), origin, 1.0, &on);
            // The pose about where both were moved to.
            let back = far.target_from_source.about(by, by);
            let off = truth.inverse().compose(&back);
            let most = |v: [f64; 3]| v.iter().fold(0.0f64, |most, x| most.max(x.abs()));
            assert_eq!(far.status, Status::StepBelow, "{device}, {by:?}");
            let between = near.target_from_source.inverse().compose(&back);
            let apart = [most(between.translation()), most(between.rotation_vector())];
            assert!(apart[0] < 2e-3 && apart[1] < 1e-3, "{device}, {by:?}: {apart:?}");
            assert!(most(off.translation()) < 0.03, "{device}, {by:?}: {off:?}");
            assert!((far.fit.score - near.fit.score).abs() < 1e-3 * near.fit.score);
        }
    }
    // Points of f64 in memory of a device, and of f32 about an origin.
    let by = [1e3, -2e3, 0.0];
    let (map, scan_there) = (moved(&room, by), moved(&scan, by));
    let host = found(&map, &scan_there, [0.0; 3], 1.0, &Device::cpu());
    let narrow: Vec<[f32; 3]> = scan.iter().map(|p| p.map(|x| x as f32)).collect();
    for (device, on) in crate::testing::kernel_devices() {
        let stream = on.stream().unwrap();
        let grid = ndt_grid(&map[..], 1.0, &NdtParams::default(), &on).unwrap();
        let there = stream.upload(scan_there.as_flattened()).unwrap();
        let rows = Rows::on_device(&there, scan_there.len(), 3).unwrap();
        let of = grid.align(rows, &[Pose::IDENTITY], &NdtAlignParams::default()).unwrap();
        assert_eq!(of, std::slice::from_ref(&host), "{device}");
        let about = Rows::from(&narrow[..]).about(by).unwrap();
        let of = grid.align(about, &[Pose::IDENTITY], &NdtAlignParams::default()).unwrap().remove(0);
        assert!((of.fit.score - host.fit.score).abs() < 1e-3 * host.fit.score, "{device}: {of:?}");
    }
}
