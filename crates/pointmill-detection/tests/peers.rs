//! Scores of boxes in `fixtures/detections`, against those of av2, nuscenes-devkit and a program in
//! numpy and shapely; see `fixtures/detections.py`.

use pointmill_detection::{DetectionParams, DetectionReport, Detections, Protocol, evaluate};
use pointmill_io::Limits;
use pointmill_io::detections::{read_argoverse, read_kitti, read_nuscenes};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/detections").join(name)
}

fn answers(of: &str) -> Value {
    let text = std::fs::read_to_string(fixture("answers.json")).unwrap().replace("NaN", "null");
    serde_json::from_str::<Value>(&text).unwrap()[of].take()
}

fn report(protocol: Protocol, [predictions, truth]: [&Detections; 2]) -> DetectionReport {
    evaluate(predictions, truth, &DetectionParams { protocol, ..Default::default() }).unwrap()
}

#[track_caller]
fn assert_near(what: &str, ours: Option<f64>, theirs: &Value) {
    match (ours, theirs.as_f64()) {
        (None, None) => {}
        (Some(a), Some(b)) if (a - b).abs() <= 1e-9 => {}
        (a, b) => panic!("{what}: expected {b:?}, got {a:?}"),
    }
}

/// Every box of an evaluated class has one fate, and the counts are those of the fates.
fn assert_all_have_fates(found: &DetectionReport, [predictions, truth]: [&Detections; 2]) {
    let rows =
        |of: &Detections, class: &str| of.class.iter().filter(|&&known| of.classes[known as usize] == class).count();
    for of in &found.precisions {
        assert_eq!(of.predictions.len(), rows(predictions, of.class));
        assert_eq!(of.truth.len(), rows(truth, of.class));
        assert!(of.predictions.is_sorted_by(|a, b| a.row < b.row) && of.truth.is_sorted_by(|a, b| a.row < b.row));
        let counts = of.counts;
        let found = counts.true_positives + counts.false_positives + counts.ignored_predictions;
        let wanted = counts.true_positives + counts.missed + counts.ignored_truth;
        assert_eq!((found, wanted), (of.predictions.len(), of.truth.len()));
    }
}

#[test]
fn kitti_agrees_with_numpy_and_shapely() {
    let [predictions, truth] =
        ["kitti/pred", "kitti/truth"].map(|name| read_kitti(fixture(name), &Limits::default()).unwrap());
    let answers = answers("kitti");
    for protocol in [Protocol::KittiR40, Protocol::KittiR11] {
        let found = report(protocol, [&predictions, &truth]);
        assert_eq!(found.precisions.len(), 27);
        for of in &found.precisions {
            let name = format!("{} {} {}", of.class, of.metric, of.level.unwrap());
            assert_near(&format!("{protocol} {name}"), of.ap, &answers[&name][protocol.as_str()]);
        }
        assert_all_have_fates(&found, [&predictions, &truth]);
    }
}

#[test]
fn nuscenes_agrees_with_its_devkit() {
    let [predictions, truth] = ["nuscenes/pred.json", "nuscenes/truth.json"]
        .map(|name| read_nuscenes(fixture(name), &Limits::default()).unwrap());
    let answers = answers("nuscenes");
    let mut submitted = predictions.clone();
    // A submission says nothing about the vehicle, whose place then comes from the truth.
    submitted.states.iter_mut().for_each(|state| state.from_ego = None);
    for predictions in [&predictions, &submitted] {
        let found = report(Protocol::NuScenes, [predictions, &truth]);
        assert_near("NDS", found.nds, &answers["nds"]);
        assert_near("mean AP", found.mean_ap, &answers["mean_ap"]);
        for (class, precisions) in found.classes.iter().zip(found.precisions.chunks(4)) {
            let wanted = &answers["classes"][class.class];
            for (i, of) in precisions.iter().enumerate() {
                assert_near(&format!("{} {}", class.class, of.threshold), of.ap, &wanted["aps"][i]);
            }
            let errors = class.errors;
            let errors = [errors.translation, errors.scale, errors.orientation, errors.velocity, errors.attribute];
            for (i, error) in errors.into_iter().enumerate() {
                assert_near(&format!("{} error {i}", class.class), error, &wanted["errors"][i]);
            }
        }
        assert_all_have_fates(&found, [predictions, &truth]);
    }
}

fn assert_av2([predictions, truth]: [&Path; 2], answers: &Value) {
    let [predictions, truth] = [predictions, truth].map(|path| read_argoverse(path, &Limits::default()).unwrap());
    let found = report(Protocol::Argoverse2, [&predictions, &truth]);
    let errors = found.errors;
    let means = [found.mean_ap, errors.translation, errors.scale, errors.orientation, found.cds];
    means.into_iter().enumerate().for_each(|(i, mean)| assert_near(&format!("mean {i}"), mean, &answers["mean"][i]));
    assert_eq!(found.classes.len(), 26);
    for class in &found.classes {
        let errors = class.errors;
        let values = [Some(class.ap), errors.translation, errors.scale, errors.orientation, class.cds];
        for (i, value) in values.into_iter().enumerate() {
            assert_near(&format!("{} {i}", class.class), value, &answers["classes"][class.class][i]);
        }
    }
    assert_all_have_fates(&found, [&predictions, &truth]);
}

#[test]
fn argoverse_agrees_with_av2() {
    let paths = ["av2/pred.feather", "av2/truth.feather"].map(fixture);
    assert_av2([&paths[0], &paths[1]], &answers("av2"));
}

/// The numbers that av2's own tests state about its own cases, where they are there.
#[test]
fn cases_of_av2_have_its_answers() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/boxes/argoverse2");
    if !folder.exists() {
        return;
    }
    let read = |name: &str| read_argoverse(folder.join(name), &Limits::default()).unwrap();
    let truth = read("labels.feather");
    let of = |name: &str| {
        let found = report(Protocol::Argoverse2, [&read(name), &truth]);
        *found.classes.iter().find(|class| class.class == "REGULAR_VEHICLE").unwrap()
    };
    let (found, same) = (of("detections.feather"), of("detections_identity.feather"));
    let near = |a: Option<f64>, b: f64| assert!((a.unwrap() - b).abs() < 1e-9, "{a:?} {b}");
    near(found.errors.translation, 0.1 / 6.0);
    near(found.errors.scale, 0.2 / 6.0);
    near(found.errors.orientation, std::f64::consts::PI / 6.0);
    assert_eq!((same.ap, same.errors.scale, same.cds), (1.0, Some(0.0), Some(1.0)));
}
