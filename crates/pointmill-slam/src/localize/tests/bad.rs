//! Scans that say nothing, guesses that are wrong, maps of other places: never a fix.

use super::*;

fn no_fix(fix: &Fix, rejection: Rejection) {
    assert_eq!((fix.status.is_fix(), fix.rejection), (false, Some(rejection)), "{:?} {:?}", fix.evidence, fix.margin);
    assert!(fix.map_from_sensor.is_rigid());
}

#[test]
fn scans_that_say_nothing_get_the_prediction() {
    let drive = drive(Scene::Street, 4, 12);
    let mut localizer = localizer(&moments(&drive), &LocalizerParams::default(), &Device::cpu());
    let start = truth(&drive, 1);
    localizer.start(&start).unwrap();
    let nothing: [&[[f64; 3]]; 5] =
        [&[], &[[5.0, 0.0, 0.0]; 3], &[[f64::NAN; 3]; 500], &[[f64::INFINITY; 3]; 500], &[[7.0, 1.0, 0.5]; 500]];
    for (i, points) in nothing.into_iter().enumerate() {
        let fix = localizer.push(Rows::from(points), None).unwrap();
        no_fix(&fix, Rejection::TooFewPoints);
        assert_eq!((fix.index, fix.map_from_sensor, fix.points), (i, start, points.len()));
        assert_eq!((fix.rejections, fix.status), (i + 1, if i < 4 { FixStatus::Rejected } else { FixStatus::Lost }));
        assert!(fix.registration.is_none() && fix.covariance.is_none());
    }
    // Lost, it searches around the last pose.
    let fix = localizer.push(Rows::from(&scan(&drive, 3)[..]), None).unwrap();
    assert!(!fix.candidates.is_empty() && fix.rejections <= 6);
    assert!(localizer.push(Rows::from(&scan(&drive, 3)[..]), Some(f64::NAN)).is_err());
    assert!(localizer.push(Rows::f32(&[1.0, 2.0], 2).unwrap(), None).is_err());
    assert_eq!(localizer.len(), 6);
}

#[test]
fn a_guess_far_off_is_no_fix() {
    let drive = drive(Scene::Loop, 3, 24);
    let mut localizer = localizer(&moments(&drive), &LocalizerParams::default(), &Device::cpu());
    for i in [1, 5, 9, 13, 17, 21] {
        for off in [[6.0, 0.0, 0.0], [-9.0, 4.0, 0.5], [0.0, 12.0, 1.5], [15.0, 15.0, 3.0], [500.0, 0.0, 0.0]] {
            let [x, y, yaw] = off;
            let guess = truth(&drive, i) * Pose::from_xyzrpy([x, y, 0.0, 0.0, 0.0, yaw]).unwrap();
            localizer.start(&guess).unwrap();
            let fix = localizer.push(Rows::from(&scan(&drive, i)[..]), None).unwrap();
            let right = errors(&truth(&drive, i), &fix.map_from_sensor)[0] < 0.5;
            assert!(right || !fix.status.is_fix(), "{i} {off:?}: {:?} {:?}", fix.evidence, fix.distance);
        }
    }
}

#[test]
fn the_map_of_another_place_has_no_fix() {
    let (own, other) = (drive(Scene::Loop, 3, 24), drive(Scene::Street, 8, 24));
    let params = LocalizerParams { region: Some([-5.0, -5.0, 20.0, 5.0]), ..LocalizerParams::default() };
    let mut localizer = localizer(&moments(&other), &params, &Device::cpu());
    for i in [3, 13] {
        let fix = localizer.push(Rows::from(&scan(&own, i)[..]), None).unwrap();
        assert!(!fix.status.is_fix(), "{i}: {:?} {:?}", fix.margin, fix.candidates.first());
        assert_eq!((fix.status, fix.predicted, fix.map_from_sensor), (FixStatus::Lost, None, Pose::IDENTITY));
        localizer.start(&truth(&other, i)).unwrap();
        let fix = localizer.push(Rows::from(&scan(&own, i)[..]), None).unwrap();
        assert!(!fix.status.is_fix() && fix.map_from_sensor == truth(&other, i), "{i}: {:?}", fix.evidence);
        localizer = super::localizer(&moments(&other), &params, &Device::cpu());
    }
    let empty = NdtMoments::new(2.0).unwrap();
    let mut localizer = super::localizer(&empty, &LocalizerParams::default(), &Device::cpu());
    no_fix(&localizer.push(Rows::from(&scan(&own, 3)[..]), None).unwrap(), Rejection::OutsideMap);
    localizer.start(&Pose::IDENTITY).unwrap();
    no_fix(&localizer.push(Rows::from(&scan(&own, 3)[..]), None).unwrap(), Rejection::OutsideMap);
}

#[test]
fn a_map_of_bare_ground_has_no_fix_for_a_search() {
    let ground: Vec<[f64; 3]> =
        (0..40_000).map(|i| [f64::from(i % 200) * 0.2, f64::from(i / 200) * 0.2, 0.0]).collect();
    let mut map = NdtMoments::new(2.0).unwrap();
    map.add(Rows::from(&ground[..])).unwrap();
    let mut localizer = localizer(&map, &LocalizerParams::default(), &Device::cpu());
    let own = scan(&drive(Scene::Loop, 3, 24), 3);
    no_fix(&localizer.push(Rows::from(&own[..]), None).unwrap(), Rejection::OutsideMap);
}

#[test]
fn another_street_has_no_fix_where_the_right_one_has() {
    // Fronts and parked cars are alike in all streets: alignments converge, fit well and beat other
    // places.
    let of = |seed| Drive::new(DriveParams { seed, sweeps: 12, azimuth_steps: 1000, ..DriveParams::default() });
    let [own, other] = [of(101), of(100)];
    let off = Pose::from_xyzrpy([1.205_587, 1.047_406, 0.0, 0.0, 0.0, (-1.476_319f64).to_radians()]).unwrap();
    let scan = scan(&own, 11);
    let push = |map: &Drive, params: &LocalizerParams| {
        let mut localizer = localizer(&moments(map), params, &Device::cpu());
        localizer.start(&(truth(map, 11) * off)).unwrap();
        localizer.push(Rows::from(&scan[..]), None).unwrap()
    };
    let without = LocalizerParams { min_explained: 0.0, ..LocalizerParams::default() };
    let hard = push(&other, &without);
    assert_eq!(hard.status, FixStatus::Tracked, "{:?} {:?}", hard.rejection, hard.evidence);
    let fix = push(&other, &LocalizerParams::default());
    no_fix(&fix, Rejection::Unexplained);
    assert_eq!(fix.evidence, hard.evidence);
    let fix = push(&own, &LocalizerParams::default());
    assert_eq!(fix.status, FixStatus::Tracked, "{:?} {:?}", fix.rejection, fix.evidence);
    assert!(errors(&truth(&own, 11), &fix.map_from_sensor)[0] < 0.1 && fix.evidence.unwrap().explained > 0.85);
}

/// A map of few cells that are tiny takes no longer than others: it has no ground that a scan could
/// be on.
#[test]
fn tiny_cells_take_no_time() {
    let mut tiny = NdtMoments::new(1e-4).unwrap();
    let near = |k: usize, i: usize| {
        [0, 1, 2]
            .map(|axis| [0.3, -0.7, 0.2][axis] * (1 + k) as f64 + 1e-5 * [2 + i % 3, 3 + i % 5, 4 + i % 4][axis] as f64)
    };
    tiny.add(Rows::from(&(0..60).map(|i| near(i % 5, i / 5)).collect::<Vec<_>>()[..])).unwrap();
    let drive = drive(Scene::Street, 4, 2);
    let mut localizer = localizer(&tiny, &LocalizerParams::default(), &Device::cpu());
    localizer.start(&Pose::IDENTITY).unwrap();
    let start = std::time::Instant::now();
    let fix = localizer.push(Rows::from(&scan(&drive, 1)[..]), None).unwrap();
    assert!(!fix.status.is_fix() && fix.map_cells > 0);
    // Squares of columns of such cells took hours.
    assert!(start.elapsed().as_secs() < 60);
}

#[test]
fn what_is_out_of_range_is_named() {
    let default = LocalizerParams::default;
    for (params, wanted) in [
        (LocalizerParams { voxel_size: 0.0, ..default() }, "voxel_size: expected a finite number > 0, got 0"),
        (LocalizerParams { max_points: 0, ..default() }, "max_points: expected at least 1, got 0"),
        (LocalizerParams { min_margin: 1.5, ..default() }, "min_margin: expected 0 to 1, got 1.5"),
        (LocalizerParams { min_nvtl: f64::NAN, ..default() }, "min_nvtl: expected a finite number >= 0, got NaN"),
        (
            LocalizerParams { region: Some([1.0, 0.0, 0.0, 1.0]), ..default() },
            "region: expected finite metres x0, y0, x1, y1 with x0 <= x1 and y0 <= y1, got [1.0, 0.0, 0.0, 1.0]",
        ),
        (
            LocalizerParams { yaw_range: [1.0, 0.0], ..default() },
            "yaw_range: expected two ascending angles within 10 rad, got [1.0, 0.0]",
        ),
        (
            LocalizerParams { max_range: 1.0, ..default() },
            "max_range: expected above min_range, 1 m, and below 1048576 m, got 1",
        ),
    ] {
        assert_eq!(params.validate().unwrap_err().to_string(), wanted);
    }
    let drive = drive(Scene::Street, 4, 2);
    let mut localizer = localizer(&moments(&drive), &default(), &Device::cpu());
    assert!(localizer.start(&Pose::from_translation([f64::NAN; 3])).is_err() && localizer.pose().is_none());
    let up = Pose::from_xyzrpy([0.0, 0.0, 0.0, 0.0, -std::f64::consts::FRAC_PI_2, 0.0]).unwrap();
    let told = localizer.set_base(Some(up)).unwrap_err().to_string();
    assert_eq!(told, "base: expected a pose that does not face up or down, got one that does");
    let twin = Device::twin().stream().unwrap();
    let told = Localizer::new(&twin, grid(&moments(&drive), &Device::cpu()), &default()).unwrap_err().to_string();
    assert!(told.starts_with("grid: expected a map on "), "{told}");
    let values = twin.upload(&[0.0f32; 3]).unwrap();
    let told = localizer.push(Rows::on_device(&values, 1, 3).unwrap(), None).unwrap_err().to_string();
    assert!(told.starts_with("points: expected memory of "), "{told}");
}
