use super::*;
use crate::{DriveScene, IcpIteration, NdtEllipsoids, icp_scene};
use miniz_oxide::inflate::decompress_to_vec_zlib;
use pointmill_core::{PointCloud, Pose};
use serde_json::Value;

/// The text of an element of a page.
fn element<'a>(html: &'a str, opening: &str) -> &'a str {
    let start = html.find(opening).unwrap() + opening.len();
    &html[start..start + html[start..].find("</").unwrap()]
}

fn scene(html: &str) -> Value {
    serde_json::from_str(element(html, r#"<script id="scene" type="application/json">"#)).unwrap()
}

fn html(page: &Scene) -> String {
    String::from_utf8(page.page()).unwrap()
}

/// As others read base64.
fn bytes(text: &str) -> Vec<u8> {
    let digit = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let bits = |four: &[u8]| four.iter().fold(0u32, |bits, c| bits << 6 | u32::from(digit(*c)));
    let letters: Vec<u8> = text.bytes().filter(|c| *c != b'=').collect();
    letters
        .chunks(4)
        .flat_map(|four| (bits(four) << (6 * (4 - four.len()))).to_be_bytes()[1..four.len()].to_vec())
        .collect()
}

/// No text ends an element, loads a file, or is looked for as a field.
#[test]
fn hostile_text_stays_text() {
    let hostile = "</script><img src=x onerror=alert(1)><!-- {arrays} {viewer} \" ' & \u{2028}";
    let mut page = Scene::new(hostile, Paint::Own);
    page.frame(hostile);
    page.push(Layer::points(hostile, &[[0.0; 3]]));
    let html = html(&page);
    assert_eq!(html.matches("<script").count(), 3);
    assert_eq!(html.matches("</script>").count(), 3);
    assert!(!html.contains("<img") && !html.contains("://"));
    assert_eq!(html.matches("{arrays} {viewer}").count(), 4);
    let scene = scene(&html);
    assert_eq!((scene["frames"][0].as_str(), scene["layers"][0]["name"].as_str()), (Some(hostile), Some(hostile)));
}

#[test]
fn arrays_are_as_the_script_reads_them() {
    let mut page = Scene::new("", Paint::Height);
    let points = [[10.0, 20.0, 3.0], [12.0, 24.0, 5.0], [11.0, 22.0, 4.0]];
    let pose = Pose::from_translation([100.0, 0.0, 0.0]);
    page.push(Layer::points("a", &points).values(&[0.0, 1.0, 0.5]).colours(&[[1; 3], [2; 3], [3; 3]]).moving(&[pose]));
    page.push(Layer::boxes("b", &[[1.0, 2.0, 3.0, 4.0, 2.0, 1.0, 0.0]]));
    let html = html(&page);
    let scene = scene(&html);
    let zlib = bytes(element(&html, r#"<script id="arrays" type="text/plain">"#));
    let arrays = decompress_to_vec_zlib(&zlib).unwrap();
    // Cells, values, colours and a pose; a cell, axes and a pose.
    assert_eq!(arrays.len(), (18 + 3 + 9 + 64) + (6 + 36 + 64));
    let number = |at: usize| f32::from_le_bytes(arrays[at..at + 4].try_into().unwrap());
    let origin = [0, 1, 2].map(|k| scene["origin"][k].as_f64().unwrap());
    // The columns of the matrix are the extents, the last one is the corner in the page.
    let model: Vec<f64> = (0..16).map(|k| f64::from(number(30 + 4 * k))).collect();
    assert_eq!([model[0], model[5], model[10], model[15]], [2.0, 4.0, 2.0, 1.0]);
    for (k, low) in [110.0, 20.0, 3.0].into_iter().enumerate() {
        assert!((model[12 + k] + origin[k] - low).abs() < 1e-5);
    }
    assert_eq!([0, 4, 8].map(|k| number(94 + 6 + 4 * k)), [2.0, 1.0, 0.5]);
    assert_eq!(arrays[18..21], [0, 128, 255]);
    assert_eq!(arrays[21..30], [1, 1, 1, 3, 3, 3, 2, 2, 2]);
    assert_eq!(scene["layers"][0]["range"].as_array().unwrap().len(), 2);
}

/// Only the middle of the scene, by which heights are shown, is moved by an origin.
#[test]
fn layers_may_be_relative_to_an_origin() {
    let page = |origin| {
        let mut page = Scene::new("", Paint::Height);
        page.push(Layer::points("a", &[[10.0, 20.0, 3.0], [12.0, 24.0, 5.0]]));
        page.about(origin);
        html(&page)
    };
    let (near, far) = (page([0.0; 3]), page([515_000.0, 4_918_000.0, -1000.0]));
    let arrays = r#"<script id="arrays" type="text/plain">"#;
    assert_eq!(element(&near, arrays), element(&far, arrays));
    assert_eq!(scene(&near)["origin"], serde_json::json!([11.0, 22.0, 4.0]));
    assert_eq!(scene(&far)["origin"], serde_json::json!([515_011.0, 4_918_022.0, -996.0]));
    assert_eq!(scene(&near)["heights"], scene(&far)["heights"]);
}

/// 154 sweeps of 120,000 points, thinned to 10,000.
#[test]
fn a_drive_is_small_and_has_the_same_bytes() {
    let encode = |sweeps: usize| {
        let mut drive = DriveScene::new(sweeps);
        let sweep = pointmill_synth::Drive::new(pointmill_synth::DriveParams::default()).sweep(0);
        for k in 0..sweeps {
            drive.push(&format!("{k:06}.bin"), &sweep, Some(3));
        }
        let map: Vec<[f64; 3]> = sweep.points().iter_xyz().map(|p| p.map(f64::from)).collect();
        let poses: Vec<Pose> = (0..sweeps).map(|k| Pose::from_translation([k as f64, 0.0, 0.0])).collect();
        drive.finish("drive", &map, &poses).page()
    };
    let drive = encode(154);
    assert!(drive.len() < 15_000_000, "{}", drive.len());
    assert_eq!(encode(3), encode(3));
}

#[test]
fn odd_scenes_have_pages() {
    let nan = [f64::NAN; 3];
    let far = [[f64::MAX; 3], [-f64::MAX; 3], nan, [f64::INFINITY; 3]];
    let mut page = Scene::new("", Paint::Time);
    page.push(Layer::points("", &far).values(&[f32::NAN]).colours(&[]));
    page.push(Layer::line("", &[]));
    page.push(Layer::boxes("", &[[f32::NAN; 7], [1e30; 7], [0.0; 7]]));
    page.push(Layer::voxels("", &[nan, [1.0; 3]], [f32::NAN; 3]));
    page.push(Layer::ellipsoids("", NdtEllipsoids { means: &[nan, [0.0; 3]], covariances: &[[0.0; 6]] }));
    let found = scene(&html(&page));
    assert_eq!([0, 1, 2, 3, 4].map(|k| found["layers"][k]["count"].as_u64()), [0, 0, 0, 1, 0].map(Some));
    // Numbers that are not finite would be null.
    for field in ["origin", "heights", "intensities"] {
        assert!(found[field].as_array().unwrap().iter().all(Value::is_number), "{field}");
    }
    assert!(found["radius"].as_f64() > Some(0.0));
    icp_scene("", &far, &[], &[], &[]).page();
    DriveScene::new(0).finish("", &[], &[]).page();
    let mut drive = DriveScene::new(usize::MAX);
    drive.push("", &PointCloud::new(vec![], 3).unwrap(), Some(70));
    drive.finish("", &far, &[Pose::IDENTITY; 2]).page();
}

#[test]
fn frames_have_labels_and_poses() {
    let at = |rmse| IcpIteration { target_from_source: Pose::IDENTITY, stage: 0, pairs: 2, rmse };
    let page = icp_scene("", &[[0.0; 3]], &[[1.0; 3]], &[at(0.5), at(0.25)], &[]);
    let found = scene(&html(&page));
    assert_eq!(found["frames"][1], "iteration 1: rmse 250 mm, 2 pairs");
    assert_eq!((found["layers"][1]["poses"].as_u64(), found["layers"][1]["at"].as_u64()), (Some(2), None));
}
