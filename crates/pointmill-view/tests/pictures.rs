//! Whole pictures: the same bytes, something to see, and no input that breaks them.

use pointmill_core::{Aabb, PointCloud};
use pointmill_synth::{Drive, DriveParams, surfaces};
use pointmill_view::{BACKGROUND, Camera, Colour, Gif, Image, draw_cubes, draw_points, voxelization_picture};

const RANGE: Aabb = Aabb::new([-54.0, -54.0, -5.0], [54.0, 54.0, 3.0]);

/// 64-bit FNV-1a.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// Pixels that are not background.
fn drawn(image: &Image) -> usize {
    image.rgb().chunks(3).filter(|c| *c != BACKGROUND).count()
}

fn cloud(points: &[[f32; 4]]) -> PointCloud {
    PointCloud::new(points.concat(), 4).unwrap()
}

/// The pixels are a promise: a change here changes everybody's pictures.
#[test]
fn small_pictures_have_their_pixels() {
    let sweep = Drive::new(DriveParams { azimuth_steps: 400, ..DriveParams::default() }).sweep(0);
    let camera = Camera::perspective([-15.0, 0.0, 8.5], [11.5, 0.0, -1.73], 54.0);
    let mut image = Image::new(320, 200).unwrap();
    draw_points(&mut image, &camera, sweep.points(), Colour::Height { low: -1.9, high: 2.0 }, 2);
    assert!((12_000..60_000).contains(&drawn(&image)), "{}", drawn(&image));
    let mut cubes = Image::new(320, 200).unwrap();
    let sphere = surfaces::sphere(300, 4.0, 1);
    draw_cubes(&mut cubes, &camera, sphere.points(), Colour::Constant([250, 200, 90]), [0.5; 3]);
    assert!((2_000..30_000).contains(&drawn(&cubes)), "{}", drawn(&cubes));
    assert_eq!(format!("{:016x} {:016x}", fnv(image.rgb()), fnv(cubes.rgb())), "385d4e99f4b4e280 b571cd58aad170cc");
}

#[test]
fn the_order_of_points_at_different_depths_does_not_matter() {
    let camera = Camera::birds_eye(Aabb::new([-5.0; 3], [5.0; 3]));
    let colour = Colour::Height { low: 0.0, high: 4.0 };
    let (mut one, mut two) = (Image::new(50, 50).unwrap(), Image::new(50, 50).unwrap());
    draw_points(&mut one, &camera, cloud(&[[1.0, 1.0, 4.0, 0.0], [1.0, 1.0, 0.0, 0.0]]).points(), colour, 3);
    draw_points(&mut two, &camera, cloud(&[[1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 4.0, 0.0]]).points(), colour, 3);
    assert_eq!(one, two);
    assert_eq!(drawn(&one), 9);
    // x 1 is up from the middle, y 1 left.
    assert_ne!(one.get(20, 20), BACKGROUND);
}

#[test]
fn all_four_pictures_show_something() {
    let sweep = Drive::new(DriveParams { azimuth_steps: 400, ..DriveParams::default() }).sweep(0);
    let picture = voxelization_picture(sweep.points(), sweep.points(), [0.2; 3], RANGE, ["input", "voxel means"]);
    let lit = |x0: u32, y0: u32| {
        let all = (y0..y0 + 380).flat_map(|y| (x0..x0 + 700).map(move |x| (x, y)));
        all.filter(|&(x, y)| picture.get(x, y).iter().any(|&v| v > 90)).count()
    };
    for (x, y) in [(20, 60), (820, 60), (20, 520), (820, 520)] {
        assert!(lit(x, y) > 5_000, "{x}, {y}: {}", lit(x, y));
    }
}

#[test]
fn odd_clouds_give_pictures() {
    let (nan, inf, max) = (f32::NAN, f32::INFINITY, f32::MAX);
    let clouds = [
        cloud(&[]),
        cloud(&[[nan; 4]; 100]),
        cloud(&[[1.0, 2.0, 0.0, 0.5]]),
        cloud(&[[max, -max, max, max], [-max, max, -max, -max], [inf, -inf, nan, inf]]),
        cloud(&[[1.0, 1.0, 1.0, nan]; 100]),
        cloud(&[[3.0, 0.0, -1.0, 1.0], [1e-40, -0.0, 1e-40, 1e-40]]),
    ];
    let ranges = [
        (RANGE, [0.2; 3]),
        (RANGE, [max; 3]),
        (Aabb::new([-max; 3], [max; 3]), [0.0; 3]),
        (Aabb::new([nan; 3], [inf; 3]), [nan, inf, -1.0]),
        (Aabb::new([1.0; 3], [-1.0; 3]), [0.2; 3]),
    ];
    let long = "a caption far too long for its panel \u{1f980}\n".repeat(20);
    for points in &clouds {
        for (range, size) in ranges {
            voxelization_picture(points.points(), points.points(), size, range, ["", &long]);
        }
    }
}

#[test]
fn many_boxes_as_large_as_the_picture_end_soon() {
    let points = surfaces::cuboid(200_000, [20.0, 20.0, 5.0], 3);
    let camera = Camera::perspective([-30.0, 0.0, 8.0], [0.0; 3], 60.0);
    let mut image = Image::new(400, 300).unwrap();
    draw_cubes(&mut image, &camera, points.points(), Colour::Constant([200; 3]), [8.0; 3]);
    draw_points(&mut image, &camera, points.points(), Colour::Constant([200; 3]), u32::MAX);
    assert!(drawn(&image) > 10_000);
}

#[test]
fn animations_are_written_whole() {
    let drive = Drive::new(DriveParams { azimuth_steps: 200, sweeps: 3, ..DriveParams::default() });
    let camera = Camera::birds_eye(Aabb::new([-30.0; 3], [30.0; 3]));
    let mut gif = Gif::new(100);
    for i in 0..drive.len() {
        let mut image = Image::new(120, 120).unwrap();
        let colour = Colour::Column { column: 3, low: 0.0, high: 0.6 };
        draw_points(&mut image, &camera, drive.sweep(i).points(), colour, 1);
        gif.push(image).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.gif");
    gif.write(&path).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), gif.encode().unwrap());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary is left");
}
