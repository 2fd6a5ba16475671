//! Rules that hold for every protocol: the truth against itself, fates, changes, refusals.

use pointmill_detection::{
    DetectionParams, DetectionReport, Detections, Fate, Metric, Protocol, Verdict, compare, evaluate, kitti_curves,
};
use pointmill_io::Limits;
use pointmill_io::detections::{BoxState, ImageBox, read_kitti};
use std::fs;

/// A box and its score.
type Scored = ([f64; 7], f64);

/// Boxes of cars, one frame after another, each a name and its rows.
fn cars(frames: &[(&str, &[Scored])]) -> Detections {
    let mut out = Detections { splits: vec![0], ..Detections::default() };
    out.classes = ["car", "Car", "REGULAR_VEHICLE"].map(str::to_owned).into();
    for (name, rows) in frames {
        for &(row, score) in *rows {
            out.boxes.push(row);
            out.scores.push(score);
            out.class.push(0);
            out.num_points.push(5);
            out.image
                .push(ImageBox { corners: [10.0 * row[1], 0.0, 10.0 * row[1] + 50.0, 60.0], ..ImageBox::default() });
            out.states.push(BoxState { velocity: [0.0; 2], attribute: None, from_ego: None });
        }
        out.frames.push((*name).to_owned());
        out.splits.push(out.boxes.len());
    }
    out
}

/// The same boxes with the class's name of a protocol.
fn of(protocol: Protocol, boxes: &Detections) -> Detections {
    let class = match protocol {
        Protocol::NuScenes => 0,
        Protocol::Argoverse2 => 2,
        _ => 1,
    };
    Detections { class: vec![class; boxes.len()], ..boxes.clone() }
}

fn run(protocol: Protocol, predictions: &Detections, truth: &Detections) -> DetectionReport {
    evaluate(&of(protocol, predictions), &of(protocol, truth), &DetectionParams { protocol, ..Default::default() })
        .unwrap()
}

fn car(x: f64, y: f64) -> [f64; 7] {
    [x, y, 0.0, 4.0, 1.8, 1.5, 0.3]
}

/// Also where objects are fewer than the recalls, at any yaw, and where all scores are equal.
#[test]
fn truth_against_itself_is_perfect() {
    for count in [1, 2, 7, 20, 39, 40, 41, 42, 60, 80, 123, 400] {
        let rows: Vec<_> =
            (0..count).map(|i| ([20.0, 10.0 * i as f64, 0.1, 4.0, 1.8, 1.5, 0.37 * i as f64 - 9.0], 1.0)).collect();
        let truth = cars(&[("a", &rows)]);
        for protocol in [Protocol::KittiR40, Protocol::KittiR11] {
            let found = run(protocol, &truth, &truth);
            let aps: Vec<_> = found.precisions.iter().filter(|of| of.class == "Car").map(|of| of.ap).collect();
            assert_eq!(aps, [Some(1.0); 9], "{protocol} {count}");
            assert!(found.precisions.iter().filter(|of| of.class != "Car").all(|of| of.ap.is_none()));
        }
    }
}

/// The recalls of few objects: a half of them found, without a false box, is half the average.
#[test]
fn kitti_of_few_objects_counts_the_recalls_that_are_reached() {
    let rows: Vec<_> = (0..10).map(|i| (car(20.0, 10.0 * f64::from(i)), 1.0)).collect();
    let (truth, half) = (cars(&[("a", &rows)]), cars(&[("a", &rows[..5])]));
    let found = run(Protocol::KittiR40, &half, &truth);
    assert_eq!(found.mean_ap, Some(0.5));
    assert_eq!(run(Protocol::KittiR11, &half, &truth).mean_ap, Some(6.0 / 11.0));
}

#[test]
fn boxes_have_the_fates_of_their_matches() {
    let truth = cars(&[("a", &[(car(10.0, 0.0), 1.0), (car(20.0, 0.0), 1.0)]), ("b", &[(car(10.0, 0.0), 1.0)])]);
    // A hit, a second box of that object, one far from all, and none in the frame `b`.
    let found = cars(&[("a", &[(car(10.1, 0.0), 0.9), (car(10.2, 0.0), 0.8), (car(30.0, 20.0), 0.7)]), ("b", &[])]);
    for protocol in [Protocol::KittiR40, Protocol::NuScenes, Protocol::Argoverse2] {
        let report = run(protocol, &found, &truth);
        let chosen = report.precisions.iter().find(|of| !of.predictions.is_empty() && of.metric.as_str() != "bbox");
        let chosen = chosen.unwrap();
        let fates: Vec<_> = chosen.predictions.iter().map(|row| row.fate).collect();
        assert_eq!(fates, [Fate::True, Fate::False, Fate::False], "{protocol}");
        let fates: Vec<_> = chosen.truth.iter().map(|row| (row.fate, row.other)).collect();
        assert_eq!(fates, [(Fate::True, Some(0)), (Fate::Missed, None), (Fate::Missed, None)], "{protocol}");
        assert_eq!(chosen.predictions[0].other, Some(0));
    }
}

/// Among equal scores the first row is matched first.
#[test]
fn ties_have_the_order_of_rows() {
    let truth = cars(&[("a", &[(car(10.0, 0.0), 1.0)])]);
    let found = cars(&[("a", &[(car(10.3, 0.0), 0.5), (car(10.0, 0.0), 0.5)])]);
    for protocol in [Protocol::NuScenes, Protocol::Argoverse2] {
        let report = run(protocol, &found, &truth);
        let chosen = report.precisions.iter().find(|of| !of.predictions.is_empty()).unwrap();
        assert_eq!(chosen.predictions[0].fate, Fate::True, "{protocol}");
        assert_eq!(chosen.predictions[1].fate, Fate::False, "{protocol}");
    }
}

#[test]
fn changes_are_those_of_boxes_that_were_hit_or_false() {
    let truth = cars(&[("a", &[(car(10.0, 0.0), 1.0), (car(20.0, 0.0), 1.0)])]);
    let before = cars(&[("a", &[(car(10.0, 0.0), 0.9), (car(30.0, 20.0), 0.8), (car(40.0, 9.0), 0.7)])]);
    let after = cars(&[("a", &[(car(20.0, 0.0), 0.9), (car(30.5, 20.0), 0.8), (car(0.0, 30.0), 0.7)])]);
    for protocol in [Protocol::KittiR40, Protocol::NuScenes, Protocol::Argoverse2] {
        let [truth, before, after] = [&truth, &before, &after].map(|boxes| of(protocol, boxes));
        let reports = [&before, &after].map(|boxes| run(protocol, boxes, &truth));
        let changes = compare([&reports[0], &reports[1]], [&before, &after], &truth).unwrap();
        let told: Vec<_> = changes.iter().map(|of| (of.row, of.before, of.after, of.verdict)).collect();
        let (hit, missed, wrong) = (Some(Fate::True), Some(Fate::Missed), Some(Fate::False));
        let wanted = [
            (0, hit, missed, Verdict::Worse),
            (1, missed, hit, Verdict::Better),
            (2, None, wrong, Verdict::Worse),
            (2, wrong, None, Verdict::Better),
        ];
        assert_eq!(told, wanted, "{protocol}");
        assert_eq!(compare([&reports[0], &reports[0]], [&before, &before], &truth).unwrap(), []);
    }
}

#[test]
fn any_number_of_threads_gives_the_same_report() {
    let rows: Vec<_> =
        (0..90).map(|i| (car(f64::from(i % 9) * 7.0, f64::from(i / 9) * 5.0), f64::from(i % 7))).collect();
    let moved: Vec<_> = rows
        .iter()
        .map(|&(row, score)| ([row[0] + 0.3 * score, row[1], row[2], row[3], row[4], row[5], row[6]], score))
        .collect();
    let (truth, found) = (cars(&[("a", &rows)]), cars(&[("a", &moved)]));
    for &protocol in Protocol::ALL {
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| run(protocol, &found, &truth))
        };
        assert_eq!(with(1), with(3), "{protocol}");
    }
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let good = of(Protocol::NuScenes, &cars(&[("a", &[(car(10.0, 0.0), 0.5)])]));
    let error = |change: &dyn Fn(&mut Detections)| {
        let mut bad = good.clone();
        change(&mut bad);
        evaluate(&bad, &good, &DetectionParams { protocol: Protocol::NuScenes, ..Default::default() })
            .unwrap_err()
            .to_string()
    };
    for (told, wanted) in [
        (error(&|b| b.scores.clear()), "predictions: scores: expected 1 rows, as boxes, got 0 rows"),
        (error(&|b| b.scores[0] = f64::NAN), "predictions: row 0: score: expected a finite number, got NaN"),
        (error(&|b| b.boxes[0][3] = -1.0), "predictions: row 0: box: dx: expected 0e0 to 1e7, got -1e0"),
        (error(&|b| b.boxes[0][6] = 1e9), "predictions: row 0: box: yaw: expected "),
        (error(&|b| b.class[0] = 9), "predictions: row 0: class: expected less than 3, got 9"),
        (error(&|b| b.splits[0] = 1), "predictions: splits: expected 2 numbers that ascend from 0 to 1, got 2 numbers"),
        (
            error(&|b| b.states.clear()),
            "predictions: states: expected 1 rows, which the protocol nuscenes needs, got none",
        ),
        (error(&|b| b.frames[0] = "b".into()), "predictions: samples: expected `a`, as the other side has"),
    ] {
        assert!(told.starts_with(wanted), "{told}");
    }
}

#[test]
fn regions_and_neighbours_count_neither_way() {
    let folder = tempfile::tempdir().unwrap();
    for part in ["pred", "truth"] {
        fs::create_dir(folder.path().join(part)).unwrap();
    }
    let line = |class: &str, left: f64, x: f64, score: &str| {
        format!("{class} 0 0 0 {left} 100 {} 200 1.5 1.6 3.9 {x} 1.6 20 0.1{score}\n", left + 90.0)
    };
    let truth = line("Car", 0.0, 0.0, "") + &line("Van", 200.0, 6.0, "") + &line("DontCare", 400.0, 0.0, "");
    let found = line("Car", 0.0, 0.0, " 0.9") + &line("Car", 200.0, 6.0, " 0.8") + &line("Car", 401.0, 12.0, " 0.7");
    fs::write(folder.path().join("truth/1.txt"), truth).unwrap();
    fs::write(folder.path().join("pred/1.txt"), found).unwrap();
    let [found, truth] =
        ["pred", "truth"].map(|part| read_kitti(folder.path().join(part), &Limits::default()).unwrap());
    let report = evaluate(&found, &truth, &DetectionParams::default()).unwrap();
    let fates = |at: usize| report.precisions[at].predictions.iter().map(|row| row.fate).collect::<Vec<_>>();
    // The region is one of the image: seen from above the third box is false.
    assert_eq!(fates(0), [Fate::True, Fate::Ignored, Fate::Ignored]);
    assert_eq!(fates(3), [Fate::True, Fate::Ignored, Fate::False]);
}

/// The negative scores of predictions are theirs; those of the truth are the devkit's filler.
#[test]
fn negative_scores_of_predictions_stay() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("boxes.json");
    let one = |x: f64, score: f64| {
        format!(
            r#"{{"sample_token": "a", "translation": [{x}, 0, 0], "size": [2, 4, 2], "rotation": [1, 0, 0, 0],
            "velocity": [0, 0], "detection_name": "car", "detection_score": {score}, "attribute_name": ""}}"#
        )
    };
    let file = |scores: [f64; 2]| {
        fs::write(&path, format!(r#"{{"a": [{}, {}]}}"#, one(0.0, scores[0]), one(20.0, scores[1]))).unwrap();
        let read = |truth: Option<&std::path::Path>| {
            pointmill_detection::read(&path, truth, Protocol::NuScenes, &Limits::default()).unwrap().scores
        };
        [read(Some(&path)), read(None)]
    };
    assert_eq!(file([-0.1, -2.0]), [[-0.1, -2.0], [-0.1, -2.0]]);
    assert_eq!(file([-1.0, -1.0]), [[-1.0, -1.0], [1.0, 1.0]]);
}

#[test]
fn boxes_that_do_not_count_are_told_by_their_rule() {
    let near = cars(&[("a", &[(car(10.0, 0.0), 0.5), (car(20.0, 0.0), 0.4)])]);
    let told = |protocol| match protocol {
        Protocol::NuScenes => Some((9, "`truck`, `bus`, `trailer`, ")),
        Protocol::Argoverse2 => Some((25, "`ARTICULATED_BUS`, `BICYCLE`, `BICYCLIST`, ")),
        _ => None,
    };
    // Classes without a box have the AP 0 in the mean.
    let rest = |protocol, warnings: &[String]| {
        let zeros = |last: &&String| last.starts_with("the AP of ");
        let rest = warnings.split_last().filter(|(last, _)| zeros(last));
        match told(protocol) {
            Some((count, names)) => {
                let last = rest.unwrap().0;
                assert!(last.starts_with(&format!("the AP of {count} classes is 0: {names}")), "{last}");
                assert!(last.contains(", ..: no box of it is a hit, false or missed, and the protocol "), "{last}");
            }
            // Small predictions take the objects.
            None => {
                rest.iter().for_each(|(last, _)| assert!(last.starts_with("the AP of 1 class is 0: `Car`: no box ")));
            }
        }
        rest.map_or(warnings, |of| of.1).to_vec()
    };
    for &protocol in Protocol::ALL {
        assert_eq!(rest(protocol, &run(protocol, &near, &near).warnings), [""; 0], "{protocol}");
    }
    let mut low = near.clone();
    low.image.iter_mut().for_each(|image| image.corners = [-1.0; 4]);
    let mut empty = near.clone();
    empty.num_points.fill(0);
    let far = cars(&[("a", &[(car(1000.0, 0.0), 0.5), (car(2000.0, 0.0), 0.4)])]);
    let mut far_of_ego = far.clone();
    far_of_ego.states.iter_mut().for_each(|state| state.from_ego = Some([1000.0, 0.0]));
    for (protocol, found, truth, wanted) in [
        (
            Protocol::KittiR40,
            &low,
            &near,
            "predictions: none of 2 boxes of `Car` counts: 2 are lower than 25 pixels in the image",
        ),
        (
            Protocol::KittiR11,
            &near,
            &low,
            "truth: none of 2 boxes of `Car` counts: 2 are lower than 25 pixels in the image",
        ),
        (
            Protocol::NuScenes,
            &near,
            &empty,
            "truth: none of 2 boxes of `car` counts: 2 are without a point of LiDAR or radar",
        ),
        (
            Protocol::NuScenes,
            &far_of_ego,
            &near,
            "predictions: none of 2 boxes of `car` counts: 2 are beyond the range of their class from the vehicle",
        ),
        (
            Protocol::Argoverse2,
            &near,
            &empty,
            "truth: none of 2 boxes of `REGULAR_VEHICLE` counts: 2 are without a point of the LiDAR",
        ),
        (
            Protocol::Argoverse2,
            &far,
            &near,
            "predictions: none of 2 boxes of `REGULAR_VEHICLE` counts: 2 are 150 m or farther from the vehicle",
        ),
    ] {
        assert_eq!(rest(protocol, &run(protocol, found, truth).warnings), [wanted], "{protocol}");
    }
    for &protocol in Protocol::ALL {
        let mut named = of(protocol, &near);
        named.classes[named.class[0] as usize] = "bus\u{1}".into();
        let found =
            evaluate(&named, &of(protocol, &near), &DetectionParams { protocol, ..Default::default() }).unwrap();
        let wanted =
            format!("predictions: 2 boxes of `bus\\u{{1}}` do not count: the protocol {protocol} has no such class");
        assert_eq!(rest(protocol, &found.warnings), [wanted]);
    }
    let mut even = near.clone();
    even.scores.fill(1.0);
    assert!(run(Protocol::KittiR40, &even, &near).warnings[0].starts_with("predictions: all scores are 1"));
}

/// Names of KITTI's classes ignore case, in files and in columns.
#[test]
fn classes_of_kitti_ignore_case() {
    let rows: Vec<_> = (0..6).map(|i| (car(20.0, 10.0 * f64::from(i)), 0.5)).collect();
    let mut truth = of(Protocol::KittiR40, &cars(&[("a", &rows)]));
    let found = truth.clone();
    truth.classes = ["car", "CAR", "van", "dontcare"].map(str::to_owned).into();
    truth.class = vec![0, 0, 1, 1, 2, 3];
    let report = evaluate(&found, &truth, &DetectionParams::default()).unwrap();
    let counts = |at: usize| {
        let counts = report.precisions[at].counts;
        [counts.true_positives, counts.false_positives, counts.ignored_predictions, counts.ignored_truth]
    };
    // Of the image: what lies on the van or in the region counts neither way.
    assert_eq!((counts(1), counts(4)), ([4, 0, 2, 0], [4, 1, 1, 0]));
    assert_eq!(report.warnings, [""; 0]);
}

/// Curves of any class and overlap, as KITTI's own program has them: an object has one recall at most.
#[test]
fn curves_of_kitti_have_its_average_precisions() {
    let cases = [Metric::Bbox, Metric::Bev, Metric::Volume].map(|metric| ("CAR", metric, 0.7));
    let curves = |found: &Detections, truth: &Detections| {
        let [found, truth] = [found, truth].map(|boxes| of(Protocol::KittiR40, boxes));
        kitti_curves(&found, &truth, &cases, None, &|| {}).unwrap()
    };
    let mean = |curve: &[f64]| curve[1..].iter().sum::<f64>() / 40.0;
    let rows: Vec<_> = (0..90).map(|i| (car(20.0, 10.0 * f64::from(i)), 1.0)).collect();
    let mut truth = cars(&[("a", &rows)]);
    let moved = |(i, &(row, _)): (usize, &Scored)| {
        ([row[0] + 0.02 * (i % 30) as f64, row[1], row[2], row[3], row[4], row[5], row[6]], (i * 7 % 90) as f64 - 45.0)
    };
    let found = cars(&[("a", &rows.iter().enumerate().map(moved).collect::<Vec<_>>())]);
    let have = curves(&found, &truth);
    let report = run(Protocol::KittiR40, &found, &truth);
    for (i, of) in report.precisions.iter().filter(|of| of.class == "Car").enumerate() {
        let curve = &have[i / 3][i % 3];
        assert!((mean(&curve.precision) - of.ap.unwrap()).abs() < 1e-12, "{of:?}");
        assert_eq!(curve.precision, curve.orientation);
        assert!((0.1..=1.0).contains(&curve.recall[0]) && of.counts.missed == 90 - of.counts.true_positives);
    }
    assert!(report.mean_ap.is_some_and(|mean| (0.1..0.9).contains(&mean)));
    truth.image.iter_mut().for_each(|image| image.alpha = std::f64::consts::FRAC_PI_2);
    assert!(
        curves(&found, &truth)[0].iter().all(|of| (mean(&of.orientation) - 0.5 * mean(&of.precision)).abs() < 1e-12)
    );
    let few = cars(&[("a", &rows[..20])]);
    assert!(curves(&few, &few)[2].iter().all(|of| (mean(&of.precision) - 0.475).abs() < 1e-12));
    let unusable = Detections { splits: vec![1], ..few.clone() };
    assert!(
        kitti_curves(&unusable, &few, &cases, None, &|| {}).unwrap_err().to_string().contains("predictions: splits")
    );
}

/// Whatever has no score is named with its place, unless it is the truth.
#[test]
fn predictions_without_a_score_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("1.txt");
    let line = "Car 0 0 0 0 100 90 200 1.5 1.6 3.9 0 1.6 20 0.1";
    let read = |truth| pointmill_detection::read(&path, truth, Protocol::KittiR40, &Limits::default());
    for (text, place) in [
        (format!("\n{line}\n{line}\n"), Some("line 2: score: ")),
        (format!("3 1 {line}\n"), Some("line 1: score: ")),
        (format!("{line} -0.5\n"), None),
        (format!("3 1 {line} 0\n"), None),
        (String::new(), None),
        ("3,2,0,100,90,200,-1,1.5,1.6,3.9,0,1.6,20,0.1,0".to_owned(), None),
    ] {
        fs::write(&path, &text).unwrap();
        assert!(read(None).is_ok(), "{text}");
        match (read(Some(&path)), place) {
            (Ok(_), None) => {}
            (Err(told), Some(place)) => {
                let told = told.to_string();
                let wanted = format!("1.txt: {place}expected a score for each prediction, got none; give ");
                assert!(told.contains(&wanted), "{told}");
            }
            (other, _) => panic!("{text}: {other:?}"),
        }
    }
    let table = std::path::Path::new("../../fixtures/detections/av2/truth.feather");
    let told = pointmill_detection::read(table, Some(table), Protocol::Argoverse2, &Limits::default()).unwrap_err();
    assert!(told.to_string().contains("row 0: score: expected a score for each prediction"), "{told}");
}

/// Memory is linear in the boxes, however many of them overlap, and what is counted is enough and not much more.
#[test]
fn memory_is_that_of_the_boxes_and_counted() {
    let spread = |rows: usize, frames: usize, step: f64| {
        let at = |i: usize| car((i % 50) as f64 * 6.0 * step, (i / 50) as f64 * 3.0 * step);
        let rows: Vec<_> = (0..rows).map(|i| (at(i), 0.5 + (i % 90) as f64 / 200.0)).collect();
        let names: Vec<_> = (0..frames).map(|i| format!("{i:06}")).collect();
        let frames: Vec<_> = names.iter().map(|name| (&**name, &rows[..])).collect();
        let mut boxes = of(Protocol::KittiR40, &cars(&frames));
        for (i, image) in boxes.image.iter_mut().enumerate() {
            let [x, y] = [(i % 50) as f64 * 60.0 * step, (i / 50) as f64 * 70.0 * step];
            image.corners = [x, y, x + 50.0, y + 60.0];
        }
        boxes
    };
    // What is allocated is counted in this thread.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().unwrap();
    for (rows, frames, step) in [(500, 1, 0.0), (500, 1, 1.0), (2, 3000, 1.0), (0, 5000, 1.0)] {
        let boxes = spread(rows, frames, step);
        for &protocol in Protocol::ALL {
            let boxes = of(protocol, &boxes);
            let run =
                |most| pool.install(|| evaluate(&boxes, &boxes, &DetectionParams { protocol, max_memory: Some(most) }));
            let told = run(0).unwrap_err().to_string();
            let wanted = "detections: memory: expected at most 0 bytes (the limit `max_memory`, --max-memory), got ";
            let needed = told.strip_prefix(wanted).unwrap().split(' ').next().unwrap().parse::<u64>().unwrap();
            assert!(told.ends_with("; take the unsure boxes out (boxes.nms of Python), or allow more"), "{told}");
            assert_eq!(run(needed - 1).unwrap_err().class(), "LimitExceeded");
            let used = allocation_counter::measure(|| drop(run(needed).unwrap())).bytes_max;
            let case = format!("{protocol} {rows} {frames} {step}: {used} of {needed}");
            println!("{case}");
            assert!(used < needed + (64 << 10) && needed < 8 * used + (64 << 10), "{case}");
        }
    }
}

/// Work that nobody wants any more ends soon.
#[test]
fn work_can_be_ended_from_outside() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let rows: Vec<_> = (0..400).map(|i| (car(f64::from(i % 20) * 6.0, f64::from(i / 20) * 3.0), 0.5)).collect();
    let many = cars(&[("a", &rows)]);
    for &protocol in Protocol::ALL {
        let boxes = of(protocol, &many);
        let params = DetectionParams { protocol, ..Default::default() };
        let looks = AtomicUsize::new(0);
        let watch = || {
            looks.fetch_add(1, Ordering::Relaxed);
        };
        pointmill_detection::evaluate_watched(&boxes, &boxes, &params, &watch).unwrap();
        assert!(looks.swap(0, Ordering::Relaxed) > 300, "{protocol}");
        // All boxes of the other run are false.
        let moved = |row: &[f64; 7]| [row[0], row[1] - 100.0, row[2], row[3], row[4], row[5], row[6]];
        let other = Detections { boxes: boxes.boxes.iter().map(moved).collect(), ..boxes.clone() };
        let report = evaluate(&other, &boxes, &params).unwrap();
        let chosen = report.chosen().map(|of| of.counts.false_positives).sum::<usize>();
        pointmill_detection::compare_watched([&report; 2], [&other; 2], &boxes, &watch).unwrap();
        assert!(chosen > 90 && looks.load(Ordering::Relaxed) >= chosen, "{protocol}");
        let ended = std::panic::catch_unwind(|| {
            pointmill_detection::evaluate_watched(&boxes, &boxes, &params, &|| std::panic::resume_unwind(Box::new(())))
        });
        assert!(ended.is_err(), "{protocol}");
    }
}
