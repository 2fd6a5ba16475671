//! Whole pictures: the same bytes, something to see, and no input that breaks them.

use pointmill_core::{Aabb, BoxOrigin, OrientedBox, PointCloud, Points, Pose};
use pointmill_synth::{Drive, DriveParams, RoiScene, surfaces};
use pointmill_view::{
    BACKGROUND, Camera, Gif, IcpIteration, IcpSeries, Image, Layer, NdtEllipsoids, NdtFitNote, Paint, Scene,
    VoxelScene, icp_plot, icp_scene, ndt_alignment_scene, ndt_map_scene, roi_scene,
};

const RANGE: Aabb = Aabb::new([-54.0, -54.0, -5.0], [54.0, 54.0, 3.0]);

/// 64-bit FNV-1a.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01b3))
}

fn hashes(images: &[&Image]) -> Vec<String> {
    images.iter().map(|image| format!("{:016x}", fnv(image.rgb()))).collect()
}

/// The frames of an animation, in the colours of its palette.
fn frames(gif: &Gif) -> Vec<Image> {
    let bytes = gif.encode().unwrap();
    let mut options = gif::DecodeOptions::new();
    options.set_color_output(gif::ColorOutput::RGBA);
    let mut decoder = options.read_info(&bytes[..]).unwrap();
    let mut out = Vec::new();
    while let Some(frame) = decoder.read_next_frame().unwrap() {
        let mut image = Image::new(frame.width.into(), frame.height.into()).unwrap();
        for (i, c) in frame.buffer.chunks(4).enumerate() {
            let width = u32::from(frame.width);
            image.set(i as u32 % width, i as u32 / width, [c[0], c[1], c[2]]);
        }
        out.push(image);
    }
    out
}

type Rows = Vec<[f64; 3]>;

/// Pixels that are not background.
fn drawn(image: &Image) -> usize {
    image.rgb().chunks(3).filter(|c| *c != BACKGROUND).count()
}

fn cloud(points: &[[f32; 4]]) -> PointCloud {
    PointCloud::new(points.concat(), 4).unwrap()
}

/// A scene of one layer.
fn scene(paint: Paint, layer: Layer) -> Scene {
    let mut scene = Scene::new("", paint);
    scene.push(layer);
    scene
}

fn draw(scene: &Scene, camera: &Camera, size: [u32; 2]) -> Image {
    scene.draw(camera, 0, size).unwrap()
}

fn rows(cloud: &PointCloud) -> Rows {
    cloud.points().iter_xyz().map(|p| p.map(f64::from)).collect()
}

/// Each shape, seen by each kind of camera: the pixels are the same on every machine.
#[test]
fn small_pictures_have_their_pixels() {
    let sweep = Drive::new(DriveParams { azimuth_steps: 400, ..DriveParams::default() }).sweep(0);
    let camera = Camera::perspective([-15.0, 0.0, 8.5], [11.5, 0.0, -1.73], 54.0);
    let image = draw(&scene(Paint::Height, Layer::points("", &rows(&sweep))), &camera, [320, 200]);
    assert!((12_000..60_000).contains(&drawn(&image)), "{}", drawn(&image));
    let cubes = Layer::voxels("", &rows(&surfaces::sphere(300, 4.0, 1)), [0.5; 3]).colour([250, 200, 90]);
    let cubes = draw(&scene(Paint::Own, cubes), &camera, [320, 200]);
    assert!((2_000..30_000).contains(&drawn(&cubes)), "{}", drawn(&cubes));
    assert_eq!(hashes(&[&image, &cubes]), ["257f40e196b50722", "ec55d8c8c887624c"]);
}

#[test]
fn the_order_of_points_at_different_depths_does_not_matter() {
    let camera = Camera::birds_eye(Aabb::new([-5.0; 3], [5.0; 3]));
    let of = |points: &[[f64; 3]]| draw(&scene(Paint::Height, Layer::points("", points)), &camera, [50, 50]);
    let one = of(&[[1.0, 1.0, 4.0], [1.0, 1.0, 0.0]]);
    assert_eq!(one, of(&[[1.0, 1.0, 0.0], [1.0, 1.0, 4.0]]));
    assert_eq!(drawn(&one), 4);
    // The upper one is red, and x 1 is up from the middle, y 1 left.
    assert!(one.get(20, 20)[0] > 150, "{:?}", one.get(20, 20));
}

#[test]
fn lines_and_edges_are_over_points_in_the_order_of_layers() {
    let camera = Camera::birds_eye_sideways(Aabb::new([-5.0; 3], [5.0; 3]));
    let points: Rows =
        (0..10_000).map(|i| [f64::from(i % 100) * 0.1 - 5.0, f64::from(i / 100) * 0.1 - 5.0, 9.0]).collect();
    let line = || Layer::line("line", &[[-4.0, 0.0, 0.0], [4.0, 0.0, 0.0]]).colour([255, 0, 0]);
    let points = || Layer::points("points", &points).colour([0, 0, 255]);
    for (layers, colour) in [([points(), line()], 0), ([line(), points()], 2)] {
        let mut both = Scene::new("", Paint::Own);
        layers.into_iter().for_each(|layer| both.push(layer));
        let image = draw(&both, &camera, [100, 100]);
        assert!(image.get(50, 49)[colour] > 120 || image.get(50, 50)[colour] > 120, "{:?}", image.get(50, 50));
    }
    // Ellipsoids are translucent.
    let map = NdtEllipsoids { means: &[[0.0; 3]], covariances: &[[1.0, 0.0, 0.0, 1.0, 0.0, 1.0]] };
    let mut both = Scene::new("", Paint::Own);
    both.push(points());
    both.push(Layer::ellipsoids("cells", map));
    let [red, green, blue] = draw(&both, &camera, [100, 100]).get(50, 50);
    assert!(red > 15 && green > 30 && blue > 180, "{red} {green} {blue}");
}

#[test]
fn frames_and_hidden_layers_are_drawn_when_asked_for() {
    let camera = Camera::birds_eye_sideways(Aabb::new([-5.0; 3], [5.0; 3]));
    let at = |x: f64| Layer::points("sweeps", &[[x, 0.0, 0.0]]).colour([255; 3]);
    let mut all = Scene::new("", Paint::Own);
    for x in [-4.0, 4.0] {
        let frame = all.frame("");
        all.push(at(x).at(frame));
    }
    all.push(at(0.0).hidden());
    all.push(at(-2.0).moving(&[Pose::IDENTITY, Pose::from_translation([0.0, 3.0, 0.0])]));
    let lit = |frame: usize, (x, y): (u32, u32)| all.draw(&camera, frame, [100, 100]).unwrap().get(x, y) != BACKGROUND;
    let places = [(10, 50), (90, 50), (50, 50), (30, 50), (30, 20)];
    assert_eq!(places.map(|p| lit(0, p)), [true, false, false, true, false]);
    assert_eq!(places.map(|p| lit(1, p)), [false, true, false, false, true]);
    assert_eq!(all.animation().len(), 2);
    let error = all.draw(&camera, 0, [0, 9000]).unwrap_err().to_string();
    assert!(error.contains("got 0 x 9000"), "{error}");
}

fn voxels_of(cloud: &PointCloud, range: Aabb, size: [f32; 3], captions: [&str; 2]) -> VoxelScene {
    let mut voxels = VoxelScene::new("", 1);
    voxels.push("", captions, cloud.points(), cloud.points(), size, range);
    voxels
}

#[test]
fn all_four_pictures_show_something() {
    let sweep = Drive::new(DriveParams { azimuth_steps: 400, ..DriveParams::default() }).sweep(0);
    let picture = voxels_of(&sweep, RANGE, [0.2; 3], ["input", "voxel means"]).scene().picture();
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
            voxels_of(points, range, size, ["", &long]).scene().picture();
        }
    }
}

#[test]
fn many_boxes_as_large_as_the_picture_end_soon() {
    let points = surfaces::cuboid(200_000, [20.0, 20.0, 5.0], 3);
    let camera = Camera::perspective([-30.0, 0.0, 8.0], [0.0; 3], 60.0);
    let places = rows(&points);
    let mut all = Scene::new("", Paint::Own);
    all.push(Layer::voxels("", &places, [8.0; 3]).colour([200; 3]));
    let covariances = vec![[4.0, 0.0, 0.0, 4.0, 0.0, 4.0]; places.len()];
    all.push(Layer::ellipsoids("", NdtEllipsoids { means: &places, covariances: &covariances }));
    let image = draw(&all, &camera, [400, 300]);
    assert!(drawn(&image) > 10_000);
}

#[test]
fn animations_are_written_whole() {
    let drive = Drive::new(DriveParams { azimuth_steps: 200, sweeps: 3, ..DriveParams::default() });
    let camera = Camera::birds_eye(Aabb::new([-30.0; 3], [30.0; 3]));
    let mut gif = Gif::new(100);
    for i in 0..drive.len() {
        let sweep = drive.sweep(i);
        let values: Vec<f32> = (0..sweep.len()).map(|i| sweep.points().row(i)[3]).collect();
        let layer = Layer::points("", &rows(&sweep)).values(&values);
        gif.push(draw(&scene(Paint::Intensity, layer), &camera, [120, 120])).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.gif");
    gif.write(&path).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), gif.encode().unwrap());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary is left");
}

/// A street's boxes with `cz` of the centre.
fn boxes(scene: &RoiScene) -> Vec<[f32; 7]> {
    scene.boxes.as_chunks().0.iter().map(|&[x, y, z, dx, dy, dz, h]| [x, y, z + dz / 2.0, dx, dy, dz, h]).collect()
}

/// The first box around each point and its voxel of 12 x 12 x 12.
fn voxels(boxes: &[[f32; 7]], points: Points) -> Vec<Option<(u32, u32)>> {
    let made: Vec<_> = boxes.iter().map(|b| OrientedBox::new(*b, BoxOrigin::Center, 0.0)).collect();
    let first = |p: [f32; 3]| {
        let b = made.iter().position(|b| b.contains(p))?;
        let grid = made[b].grid([12; 3]);
        Some((b as u32, grid.id(made[b].voxel(p, &grid))))
    };
    points.iter_xyz().map(first).collect()
}

#[test]
fn boxes_have_their_pixels() {
    let street = RoiScene::street(32, 0, 0);
    let all = scene(Paint::Own, Layer::boxes("", &boxes(&street)).colour([255, 226, 160]));
    let camera = Camera::birds_eye_sideways(Aabb::new([-70.0, -20.0, 0.0], [70.0, 20.0, 0.0]));
    let above = draw(&all, &camera, [320, 200]);
    assert!((300..6_000).contains(&drawn(&above)), "{}", drawn(&above));
    let camera = Camera::perspective([-15.0, 0.0, 8.5], [11.5, 0.0, -1.73], 54.0);
    let behind = draw(&all, &camera, [320, 200]);
    assert!((500..12_000).contains(&drawn(&behind)), "{}", drawn(&behind));
    assert_eq!(hashes(&[&above, &behind]), ["f87f9b290763c85d", "31ef986480bd3540"]);
}

#[test]
fn headings_point_to_the_front() {
    let camera = Camera::birds_eye_sideways(Aabb::new([-5.0; 3], [5.0; 3]));
    // x to the right and y up: quarter turns to the left from ahead.
    let ends = [(65, 50), (50, 35), (35, 50), (50, 65)];
    for (k, _) in ends.iter().enumerate() {
        let heading = k as f32 * core::f32::consts::FRAC_PI_2;
        let layer = Layer::boxes("", &[[0.0, 0.0, 0.0, 6.0, 6.0, 1.0, heading]]);
        let image = draw(&scene(Paint::Own, layer), &camera, [100, 100]);
        let is_lit = |(x, y): (u32, u32)| (x - 1..=x).any(|x| (y - 1..=y).any(|y| image.get(x, y) != BACKGROUND));
        let lit: Vec<bool> = ends.iter().map(|&at| is_lit(at)).collect();
        assert_eq!(lit, (0..4).map(|other| other == k).collect::<Vec<_>>());
    }
}

#[test]
fn odd_boxes_are_harmless_to_lines() {
    let (nan, inf, max) = (f32::NAN, f32::INFINITY, f32::MAX);
    let good = [1.0, 0.0, 0.0, 4.0, 2.0, 1.5, 0.3];
    let mut odd =
        vec![[0.0; 7], [max; 7], [1.0, 0.0, 0.0, max, max, max, 0.0], [0.0, 0.0, 0.0, 1e-40, 1e-40, 1e-40, 1.0]];
    for k in 0..7 {
        for value in [nan, inf, -inf, -max] {
            let mut row = good;
            row[k] = value;
            odd.push(row);
        }
    }
    for camera in [
        Camera::birds_eye(Aabb::new([-5.0; 3], [5.0; 3])),
        Camera::perspective([0.0; 3], [1.0, 0.0, 0.0], 90.0),
        Camera::perspective([max; 3], [-max; 3], 170.0),
    ] {
        for row in &odd {
            draw(&scene(Paint::Own, Layer::boxes("", &[*row])), &camera, [80, 60]);
        }
        // Edges that run past the eye.
        draw(&scene(Paint::Own, Layer::boxes("", &[[0.0, 0.0, 0.0, 400.0, 3.0, 3.0, 0.0]])), &camera, [80, 60]);
    }
    let camera = Camera::birds_eye(Aabb::new([-5.0; 3], [5.0; 3]));
    let image = draw(&scene(Paint::Own, Layer::boxes("", &vec![good; 200_000])), &camera, [1000, 50]);
    assert!(drawn(&image) > 100, "{}", drawn(&image));
}

#[test]
fn a_street_of_boxes_shows_in_all_panels() {
    let street = RoiScene::street(64, 8_000, 0);
    let (points, boxes) = (Points::new(&street.points, 3).unwrap(), boxes(&street));
    let keys = voxels(&boxes, points);
    let picture = roi_scene("64 boxes", points, &boxes, &keys, [12; 3]).picture();
    assert_eq!((picture.width(), picture.height()), (1600, 1000));
    // Pixels that are not grey: points in boxes.
    let coloured = |x0: u32, y0: u32, w: u32, h: u32| {
        let all = (y0..y0 + h).flat_map(|y| (x0..x0 + w).map(move |x| (x, y)));
        all.map(|(x, y)| picture.get(x, y)).filter(|c| c.iter().max().unwrap() - c.iter().min().unwrap() > 50).count()
    };
    for (x, y, w, h) in [(20, 60, 1560, 400), (20, 520, 480, 440), (550, 520, 480, 440), (1080, 520, 480, 440)] {
        assert!(coloured(x, y, w, h) > 2_000, "{x}, {y}: {}", coloured(x, y, w, h));
    }
    // Keys decide colours: without them all is grey but for the frames of the boxes.
    let grey = roi_scene("", points, &boxes, &[], [12; 3]).picture();
    let bright =
        |image: &Image| image.rgb().as_chunks::<3>().0.iter().filter(|c| c[1] > c[0].saturating_add(60)).count();
    assert!(bright(&grey) == 0 && bright(&picture) > 1_000);
}

#[test]
fn odd_rois_give_pictures() {
    let (nan, inf, max) = (f32::NAN, f32::INFINITY, f32::MAX);
    let row = [2.0, 1.0, 0.0, 4.0, 2.0, 1.5, 0.3];
    let clouds = [
        cloud(&[]),
        cloud(&[[nan; 4], [max; 4], [-inf; 4], [1.0; 4]]),
        cloud(&[[2.0, 1.0, 0.1, 0.0]; 40]),
        cloud(&[[0.0, 0.0, 0.0, 0.0], [1e-40, 1.0, 1e6, 0.0], [2e5, -max, 0.0, 0.0]]),
    ];
    let boxes: [Vec<[f32; 7]>; 6] = [
        vec![],
        vec![row],
        vec![[nan; 7], [max; 7], [inf; 7], [0.0; 7]],
        vec![[2.0, 1.0, 0.0, 1e-6, 1e6, 1.0, 1e9], [2.0, 1.0, 0.0, 0.01, 0.01, 0.01, -7.0]],
        vec![[9e5, -9e5, 0.0, 999.0, 999.0, 999.0, 1.0], row],
        vec![row; 300],
    ];
    let keys = [
        vec![],
        vec![Some((0, 0)); 50],
        (0..40).map(|i| Some((i % 3, i * 40))).collect(),
        vec![Some((u32::MAX, u32::MAX)), None, Some((0, u32::MAX)), Some((1, 5))],
    ];
    let long = "a caption far too long for its half \u{1f980}\n".repeat(20);
    for (k, points) in clouds.iter().enumerate() {
        for (j, boxes) in boxes.iter().enumerate() {
            let out = [[12; 3], [0; 3], [1; 3], [u32::MAX, 1, 1], [1, u32::MAX, u32::MAX]][(k + j) % 5];
            roi_scene(&long, points.points(), boxes, &keys[(k + j) % 4], out).picture();
            roi_scene("", points.points(), boxes, &keys[1], [12; 3]).picture();
        }
    }
}

/// A yard of 40 m x 24 m in cells of 2 m, far from zero: ground, four walls, and a bush in the
/// middle; and points on all of it.
fn yard() -> (Rows, Vec<[f64; 6]>, Rows) {
    let (wide, thin, corner) = (0.33, 0.0033, [4_000_000.0, 5_000_000.0, 100.0]);
    let mut cells = vec![];
    for (x, y) in (0..20).flat_map(|x| (0..12).map(move |y| (x, y))) {
        let at = |z: f64| [2.0 * f64::from(x) + 1.0, 2.0 * f64::from(y) + 1.0, z];
        cells.push((at(0.0), [wide, 0.0, 0.0, wide, 0.0, thin]));
        if x == 0 || x == 19 {
            cells.push((at(1.0), [thin, 0.0, 0.0, wide, 0.0, wide]));
        } else if y == 0 || y == 11 {
            cells.push((at(1.0), [wide, 0.0, 0.0, thin, 0.0, wide]));
        } else if (x, y) == (10, 6) {
            cells.push((at(1.0), [0.3, 0.0, 0.0, 0.3, 0.0, 0.3]));
        }
    }
    let in_world = |p: [f64; 3]| [0, 1, 2].map(|k| p[k] + corner[k]);
    let means: Vec<_> = cells.iter().map(|(mean, _)| in_world(*mean)).collect();
    // Eight points a cell, a standard deviation from its mean along each axis.
    let around = |(mean, c): &([f64; 3], [f64; 6]), i: usize| {
        let sign = |k: usize| if i >> k & 1 == 0 { -1.0 } else { 1.0 };
        in_world([0, 1, 2].map(|k| mean[k] + sign(k) * c[[0, 3, 5][k]].sqrt()))
    };
    let points = cells.iter().flat_map(|cell| (0..8).map(move |i| around(cell, i))).collect();
    (means, cells.iter().map(|cell| cell.1).collect(), points)
}

const NOTES: [NdtFitNote; 2] = [
    NdtFitNote { nvtl: 1.25, transform_probability: 2.5, error: Some([1.0, 0.0]) },
    NdtFitNote { nvtl: 3.125, transform_probability: 5.5, error: None },
];

/// Pixels of a colour or near it in a rectangle.
fn near(image: &Image, [x0, y0, w, h]: [u32; 4], colour: [u8; 3]) -> usize {
    let all = (y0..y0 + h).flat_map(|y| (x0..x0 + w).map(move |x| (x, y)));
    all.filter(|&(x, y)| (0..3).all(|k| image.get(x, y)[k].abs_diff(colour[k]) < 40)).count()
}

#[test]
fn maps_of_distributions_have_their_pixels() {
    let (means, covariances, points) = yard();
    let map = NdtEllipsoids { means: &means, covariances: &covariances };
    let picture = ndt_map_scene("a yard", &points, map).picture();
    assert_eq!((picture.width(), picture.height()), (1600, 900));
    let panel = [8, 44, 1584, 780];
    // Outlines: level blue, walls along y and along x, the bush.
    for (colour, least) in
        [([64, 158, 232], 3_000), ([246, 208, 118], 500), ([246, 76, 166], 500), ([104, 196, 96], 60)]
    {
        assert!(near(&picture, panel, colour) > least, "{colour:?}: {}", near(&picture, panel, colour));
    }
    // The order of cells of different depth, and where zero is, do not matter.
    let moved: Vec<_> = means.iter().map(|m| [m[0] - 4_000_000.0, m[1] - 5_000_000.0, m[2]]).collect();
    let here: Vec<_> = points.iter().map(|m| [m[0] - 4_000_000.0, m[1] - 5_000_000.0, m[2]]).collect();
    let again = ndt_map_scene("a yard", &here, NdtEllipsoids { means: &moved, covariances: &covariances }).picture();
    let differ = picture.rgb().iter().zip(again.rgb()).filter(|(a, b)| a.abs_diff(**b) > 8).count();
    assert!(differ < 3_000, "{differ}");
    assert_eq!(hashes(&[&picture]), ["27bfa59cd6709991"]);
}

#[test]
fn alignments_show_both_poses() {
    let (means, covariances, after) = yard();
    let map = NdtEllipsoids { means: &means, covariances: &covariances };
    let before: Vec<_> = after.iter().map(|p| [p[0] + 0.8, p[1] - 0.6, p[2]]).collect();
    let scene = ndt_alignment_scene("a yard", map, &before, &after, NOTES);
    let picture = scene.picture();
    let (orange, blue) = ([255, 150, 50], [90, 190, 255]);
    for y in [44, 420] {
        let (left, right) = ([8, y, 780, 370], [808, y, 780, 370]);
        assert!(near(&picture, left, orange) > 400 && near(&picture, left, blue) == 0);
        assert!(near(&picture, right, blue) > 400 && near(&picture, right, orange) == 0);
    }
    let frames = frames(&scene.animation());
    let panels = [8, 44, 1584, 800];
    assert!(near(&frames[0], panels, orange) > 800 && near(&frames[0], panels, blue) == 0);
    assert!(near(&frames[1], panels, blue) > 800 && near(&frames[1], panels, orange) == 0);
    assert_eq!(hashes(&[&picture]), ["0591e9bcaed11428"]);
}

#[test]
fn odd_distributions_give_pictures() {
    let (nan, inf, max) = (f64::NAN, f64::INFINITY, f64::MAX);
    let flat = [0.33, 0.0, 0.0, 0.33, 0.0, 0.0033];
    let means: [Vec<[f64; 3]>; 6] = [
        vec![],
        vec![[1.0, 2.0, 3.0]],
        vec![[nan; 3], [inf; 3], [-inf, 0.0, 0.0]],
        vec![[max; 3], [-max; 3], [0.0; 3]],
        vec![[5.0; 3]; 40],
        (0..100).map(|i| [power_of_ten(i), 1.0, -power_of_ten(i)]).collect(),
    ];
    let covariances: [Vec<[f64; 6]>; 6] = [
        vec![],
        vec![flat; 200],
        vec![[nan; 6]; 200],
        vec![[0.0; 6]; 200],
        vec![[1e12, 0.0, 0.0, 1e12, 0.0, 1e12]; 12],
        [[max; 6], [1.0; 6], [-1.0; 6], [1e-300, 0.0, 0.0, 1e-300, 0.0, 0.0], flat].repeat(8),
    ];
    let clouds = [vec![], vec![[nan, inf, max]; 9], vec![[1.0, 2.0, 3.0]; 9], vec![[max; 3], [-max; 3], [1e300; 3]]];
    let note = NdtFitNote { nvtl: nan, transform_probability: -inf, error: Some([max, nan]) };
    let long = "a caption far too long for its half \u{1f980}\n".repeat(20);
    for (k, means) in means.iter().enumerate() {
        for j in [k, k + 1, k + 3] {
            let map = NdtEllipsoids { means, covariances: &covariances[j % 6] };
            ndt_map_scene(&long, &clouds[j % 4], map).picture();
        }
        let map = NdtEllipsoids { means, covariances: &covariances[(k + 4) % 6] };
        let after = &clouds[(k + k / 4 + 1) % 4];
        ndt_alignment_scene("", map, &clouds[k % 4], after, [note, NOTES[1]]).picture();
    }
}

/// A cap of a sphere far from zero, and the same beside it; and the way from there.
fn caps() -> (Rows, Rows, Vec<IcpIteration>) {
    let up: Rows = surfaces::sphere(4_000, 2.0, 5)
        .points()
        .iter_xyz()
        .filter(|p| p[2] > 0.5)
        .map(|p| [f64::from(p[0]) + 4_000_000.0, f64::from(p[1]) + 5_000_000.0, f64::from(p[2])])
        .collect();
    let aside = up.iter().map(|p| [p[0] - 0.8, p[1] + 0.5, p[2] - 0.25]).collect();
    let at = |part: f64, stage| {
        let target_from_source = Pose::from_translation([0.8, -0.5, 0.25].map(|v| v * part));
        IcpIteration { target_from_source, stage, pairs: up.len(), rmse: 0.9 * (1.0 - part) }
    };
    let way = vec![at(0.0, 0), at(0.5, 0), at(0.5, 1), at(1.0, 1)];
    (aside, up, way)
}

#[test]
fn a_cloud_moves_onto_another() {
    let (source, target, way) = caps();
    let picture = icp_scene("", &source, &target, &way, &[]).picture();
    let orange = |x: u32| near(&picture, [x, 44, 780, 800], [200, 120, 44]);
    let white = |x: u32| near(&picture, [x, 44, 780, 800], [200, 203, 207]);
    // Where both are, the target stays in front.
    assert!(
        orange(8) > 800 && white(8) > 800 && (orange(808), white(808) > 800) == (0, true),
        "{} {}",
        orange(8),
        white(8)
    );
    assert_eq!(hashes(&[&picture]), ["d71ac6427e250a05"]);
    let gif = icp_scene("", &source, &target, &way, &[]).animation();
    assert_eq!(gif.len(), 4);
    // The source comes nearer: less of it is seen beside the target.
    let orange: Vec<usize> = frames(&gif).iter().map(|frame| near(frame, [8, 44, 624, 440], [200, 120, 44])).collect();
    assert!(orange[0] > 300 && orange[1] == orange[2] && orange[3] == 0, "{orange:?}");
    // The aligned source by its distances, in front of the target that is at one place with it.
    let distances: Vec<f64> = (0..source.len()).map(|i| 0.002 * i as f64 / source.len() as f64).collect();
    let far = icp_scene("", &source, &target, &way, &distances).picture();
    let blue = |picture: &Image, x: u32| near(picture, [x, 44, 780, 800], [54, 95, 142]);
    assert!(blue(&far, 808) > 100 && blue(&far, 8) == 0 && blue(&picture, 808) == 0, "{}", blue(&far, 808));
    // Where zero is does not matter, and the way is thinned where it is long.
    let here = |cloud: &Rows| cloud.iter().map(|p| [p[0] - 4_000_000.0, p[1] - 5_000_000.0, p[2]]).collect::<Rows>();
    let again = icp_scene("", &here(&source), &here(&target), &way, &[]).picture();
    let differ = picture.rgb().iter().zip(again.rgb()).filter(|(a, b)| a.abs_diff(**b) > 8).count();
    assert!(differ < 3_000, "{differ}");
    assert_eq!(icp_scene("", &source[..10], &target[..10], &[way[3]; 500], &[]).animation().len(), 120);
}

#[test]
fn plots_have_their_lines() {
    let searches = [
        IcpSeries { name: "brute force, cpu", ms: &[2_100.0, 2_080.0, 2_090.0] },
        IcpSeries { name: "kd-tree, cpu", ms: &[21.5, 14.25, 12.0, 9.75, 7.5, 3.25, 1.875] },
        IcpSeries { name: "LBVH, cuda:0", ms: &[0.031, 0.025, 0.02, 0.0125, 0.0085, 0.006, 0.0055] },
    ];
    let plot =
        icp_plot("40,097 points onto 40,256", &searches, &[0.033, 0.012, 0.006, 0.003, 0.0023, 0.00225, 0.00225]);
    let svg = plot.encode_svg();
    assert_eq!(svg.matches("stroke-width=\"2.0\"").count(), 4);
    assert!(svg.contains(">median 2090 ms</text>") && svg.contains(">0.002</text>") && svg.contains(">1000</text>"));
    assert_eq!(format!("{:016x}", fnv(svg.as_bytes())), "b6e3230740a267bf");
    let image = plot.image();
    assert_eq!((image.width(), image.height()), (1280, 560));
    assert!(near(&image, [90, 60, 670, 400], [255, 196, 92]) > 60);
    assert_eq!(format!("{:016x}", fnv(image.rgb())), "c2f018915741a5d3");
    // A line ends at a gap.
    let gap = IcpSeries { name: "brute force, cpu", ms: &[9.0, 8.0, f64::NAN, f64::NAN, 7.0, 6.0] };
    let lines = |svg: &str| svg.matches("stroke-width=\"2.0\"").count();
    assert_eq!(lines(&icp_plot("", &[gap], &[0.2, 0.1]).encode_svg()), 3);
    let folder = tempfile::tempdir().unwrap();
    plot.write_svg(folder.path().join("p.svg")).unwrap();
    plot.write_png(folder.path().join("p.png")).unwrap();
    assert_eq!(std::fs::read_to_string(folder.path().join("p.svg")).unwrap(), svg);
    assert_eq!(std::fs::read(folder.path().join("p.png")).unwrap(), image.encode_png());
}

#[test]
fn odd_alignments_give_pictures() {
    let (nan, inf, max) = (f64::NAN, f64::INFINITY, f64::MAX);
    let clouds: [Rows; 6] = [
        vec![],
        vec![[nan, inf, -inf]; 5],
        vec![[1.0, 2.0, 3.0]],
        vec![[max; 3], [-max; 3], [1e300, 0.0, 0.0]],
        vec![[5.0, 5.0, 5.0]; 30],
        (0..100).map(|i| [power_of_ten(i), 0.0, -power_of_ten(i)]).collect(),
    ];
    let at = |target_from_source| IcpIteration { target_from_source, stage: 7, pairs: usize::MAX, rmse: nan };
    let ways = [vec![], vec![at(Pose::IDENTITY)], [nan, max].map(|far| at(Pose::from_translation([far; 3]))).into()];
    for (k, source) in clouds.iter().enumerate() {
        for (j, target) in clouds.iter().enumerate() {
            let way = &ways[(j + k) % 3];
            assert_eq!(icp_scene("", source, target, way, &[0.0, nan, inf, max]).animation().len(), way.len());
            if j == (k + 1) % 6 {
                icp_scene("", source, target, way, &[0.0, nan, inf, max]).picture();
            }
        }
    }
    let odd = [nan, inf, 0.0, -1.0, max, 1e-300];
    let long = "a title far too long for its plot \u{1f980}\n<&>".repeat(20);
    for values in [&odd[..], &[], &[1.0], &[3.0; 10_000]] {
        let series = IcpSeries { name: &long, ms: values };
        for searches in [vec![], vec![series; 20]] {
            let plot = icp_plot(&long, &searches, values);
            assert!(plot.encode_svg().ends_with("</svg>\n") && plot.image().width() == 1280);
        }
    }
}

/// 10 to the power `i - 50`: distances of all sizes.
fn power_of_ten(i: i32) -> f64 {
    (0..(i - 50).abs()).fold(1.0, |v, _| if i < 50 { v / 10.0 } else { v * 10.0 })
}
