//! Several topics of a bag: their static frames, and sweeps that are joined.
mod common;

use common::bag::{Message, bag, channel, clouds, message, plain_chunk, schema};
use common::rosbag;
use pointmill_io::bag::{Bag, Extrinsics, Sweeps};
use pointmill_io::{IoError, Limits, Scan, TimeUnit, Warning};
use std::io::Cursor;

const TF: &str = "tf2_msgs/msg/TFMessage";

/// A message of transforms: parent, frame, x, y, z and a quaternion.
fn transforms(all: &[(&str, &str, [f64; 7])], ros2: bool) -> Vec<u8> {
    let mut out = vec![];
    let align = |out: &mut Vec<u8>, to: usize| {
        if ros2 {
            out.resize(out.len().next_multiple_of(to), 0);
        }
    };
    let number = |out: &mut Vec<u8>, n: u32| {
        align(out, 4);
        out.extend(n.to_le_bytes());
    };
    let text = |out: &mut Vec<u8>, text: &str| {
        number(out, text.len() as u32 + u32::from(ros2));
        out.extend(text.bytes().chain(ros2.then_some(0)));
    };
    number(&mut out, all.len() as u32);
    for (parent, frame, numbers) in all {
        (0..if ros2 { 2 } else { 3 }).for_each(|n| number(&mut out, n));
        text(&mut out, parent);
        text(&mut out, frame);
        for v in numbers {
            align(&mut out, 8);
            out.extend(v.to_le_bytes());
        }
    }
    if ros2 { [&[0, 1, 0, 0][..], &out].concat() } else { out }
}

/// The place of a frame that is not turned.
const fn at(x: f64, y: f64, z: f64) -> [f64; 7] {
    [x, y, z, 0.0, 0.0, 0.0, 1.0]
}

fn open(bytes: Vec<u8>) -> Result<Bag, IoError> {
    Bag::new(Cursor::new(bytes), "b.mcap", &Limits::default())
}

#[test]
fn static_frames_come_from_all_messages_of_both_encodings() {
    let parts = [[("base_link", "roof", at(1.0, 0.0, 2.0))], [("/roof", "lidar", at(0.5, 0.0, 0.0))]];
    let messages = |ros2| parts.each_ref().map(|part| transforms(part, ros2));
    let [first, second] = messages(true);
    let records = [schema(1, TF), channel(1, 1, "/tf_static"), message(1, 5, &first)].concat();
    let mcap = bag(&[plain_chunk(&records), message(1, 7, &second)]);
    let [first, second] = messages(false);
    let ros1 = [("/tf_static", "tf2_msgs/TFMessage", 5, first), ("/tf_static", "tf2_msgs/TFMessage", 7, second)];
    let ros1 = rosbag::bag(&ros1, rosbag::Style { compression: "lz4", together: 1, indexed: true });
    for (name, bytes) in [("b.mcap", mcap), ("b.bag", ros1)] {
        let bag = Bag::new(Cursor::new(bytes), name, &Limits::default()).unwrap();
        let pose = bag.static_frames().unwrap().pose("base_link", "lidar").unwrap();
        assert_eq!(pose.translation(), [1.5, 0.0, 2.0], "{name}");
    }
}

#[test]
fn messages_of_transforms_are_small() {
    let large = [&[0, 1, 0, 0, 0, 0, 0, 0][..], &vec![0; 1 << 20]].concat();
    let found = |records: &[Vec<u8>]| open(bag(records)).unwrap().static_frames().unwrap_err().to_string();
    let head = [schema(1, TF), channel(1, 1, "/tf_static")].concat();
    let chunked = plain_chunk(&[&head[..], &message(1, 5, &large)].concat());
    for records in [vec![head.clone(), message(1, 5, &large)], vec![chunked]] {
        let told = found(&records);
        assert!(told.contains("message: expected at most 1048576 bytes, got 10486"), "{told}");
    }
    let told = found(&[head, message(1, 5, &[0, 1, 0, 0, 255, 255, 255, 255])]);
    assert!(told.starts_with("b.mcap#000000 of /tf_static: header.stamp: expected 4 bytes"), "{told}");
}

/// What a bag says that has one message of transforms.
fn read_frames(transforms: &[u8]) -> Result<(), IoError> {
    let records = [schema(1, TF), channel(1, 1, "/tf_static"), message(1, 5, transforms)];
    open(bag(&records)).unwrap().static_frames().map(drop)
}

#[test]
fn messages_of_transforms_that_were_cut_are_refused() {
    let bytes =
        transforms(&[("base_link", "roof", at(1.0, 0.0, 2.0)), ("roof", "another name", at(0.0, 0.0, 0.0))], true);
    read_frames(&bytes).unwrap();
    read_frames(&transforms(&[], true)).unwrap();
    for end in 0..bytes.len() {
        assert_eq!(read_frames(&bytes[..end]).unwrap_err().class(), "Truncated", "{end}");
    }
}

#[test]
fn transforms_that_are_none_are_refused() {
    let nan = f64::NAN;
    for numbers in [
        [nan, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
        [0.0, 0.0, f64::INFINITY, 0.0, 0.0, 0.0, 1.0],
        [0.0, 0.0, 0.0, 0.0, nan, 0.0, 1.0],
        [0.0; 7],
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.1],
    ] {
        let told = read_frames(&transforms(&[("a", "b", numbers)], true)).unwrap_err().to_string();
        let wanted = "transform of `b`: expected finite numbers and a quaternion of length 1, got ";
        assert!(told.contains(wanted), "{told}");
    }
    // One of few digits is scaled.
    read_frames(&transforms(&[("a", "b", [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0005])], true)).unwrap();
}

/// A cloud of x, y, z, intensity as u8 and nanoseconds after its stamp.
fn front(ms: u32, points: &[[f32; 3]]) -> Vec<u8> {
    let row = |(i, p): (usize, &[f32; 3])| {
        let time = (i as u32 * 40_000_000).to_le_bytes();
        p.iter().flat_map(|v| v.to_le_bytes()).chain([i as u8 + 1]).chain(time).collect::<Vec<_>>()
    };
    let fields = vec![("x", 0, 7, 1), ("y", 4, 7, 1), ("z", 8, 7, 1), ("intensity", 12, 2, 1), ("t", 13, 6, 1)];
    laid("front", ms, 17, fields, points.iter().enumerate().flat_map(row).collect())
}

/// A cloud of x, y, z, ring, intensity as f32 and seconds since 1970, which end at its stamp.
fn rear(ms: u32, points: &[[f32; 3]]) -> Vec<u8> {
    let row = |(i, p): (usize, &[f32; 3])| {
        let time = f64::from(EPOCH) + f64::from(ms) / 1e3 - 0.04 * (points.len() - 1 - i) as f64;
        let numbers = p.iter().flat_map(|v| v.to_le_bytes()).chain([9, 0]).chain(0.5f32.to_le_bytes());
        numbers.chain(time.to_le_bytes()).collect::<Vec<_>>()
    };
    let fields = vec![
        ("x", 0, 7, 1),
        ("y", 4, 7, 1),
        ("z", 8, 7, 1),
        ("ring", 12, 4, 1),
        ("intensity", 14, 7, 1),
        ("timestamp", 18, 8, 1),
    ];
    laid("/rear", ms, 26, fields, points.iter().enumerate().flat_map(row).collect())
}

const EPOCH: i32 = 1_700_000_000;

fn laid(frame: &'static str, ms: u32, step: u32, fields: Vec<(&'static str, u32, u8, u32)>, data: Vec<u8>) -> Vec<u8> {
    let (seconds, nanoseconds) = (EPOCH + (ms / 1000) as i32, ms % 1000 * 1_000_000);
    let (width, row_step) = (data.len() as u32 / step, data.len() as u32);
    let none = Message::new(&[]);
    Message { seconds, nanoseconds, frame, width, fields, point_step: step, row_step, data, ..none }.bytes()
}

/// A bag of clouds of two topics, by the milliseconds of their stamps, in chunks of three messages, with
/// the frames of both in `base_link`.
fn drive(fronts: &[u32], rears: &[u32], frames: &[(&str, &str, [f64; 7])]) -> Vec<u8> {
    let mut messages: Vec<(u32, Vec<u8>)> = vec![];
    messages.extend(fronts.iter().map(|&ms| (ms, message(1, u64::from(ms) + 7, &front(ms, &FRONT)))));
    messages.extend(rears.iter().map(|&ms| (ms, message(2, u64::from(ms) + 8, &rear(ms, &REAR)))));
    messages.sort_by_key(|one| one.0);
    let tf = [schema(3, TF), channel(3, 3, "/tf_static"), message(3, 1, &transforms(frames, true))].concat();
    let mut records = vec![[clouds(1, "/front"), clouds(2, "/rear"), tf].concat()];
    records.extend(
        messages.chunks(3).map(|part| plain_chunk(&part.iter().flat_map(|one| one.1.clone()).collect::<Vec<_>>())),
    );
    bag(&records)
}

const FRONT: [[f32; 3]; 3] = [[1.0, 0.0, 0.0], [2.0, 0.5, 0.0], [3.0, 0.0, 0.25]];
const REAR: [[f32; 3]; 2] = [[10.0, 0.0, 0.0], [f32::NAN, 1.0, 0.0]];
/// The rear looks back.
const FRAMES: [(&str, &str, [f64; 7]); 3] = [
    ("base_link", "front", [1.0, 0.0, 2.0, 0.0, 0.0, 0.0, 1.0]),
    ("base_link", "body", [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]),
    ("body", "rear", [-1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]),
];

fn told(sweeps: &Sweeps) -> String {
    sweeps.told().map_or_else(String::new, Warning::to_string)
}

fn names(scan: &Scan) -> Vec<String> {
    scan.fields.iter().map(|field| format!("{} {}", field.name, field.dtype)).collect()
}

fn column(scan: &Scan, name: &str) -> Vec<f32> {
    let place = scan.fields.iter().position(|field| field.name == name).unwrap();
    (0..scan.cloud.len()).map(|i| scan.cloud.points().row(i)[place]).collect()
}

#[test]
fn topics_are_joined_by_stamps_in_the_frame_of_the_vehicle() {
    let bag = open(drive(&[100, 200, 300], &[110, 195, 320], &FRAMES)).unwrap();
    let sweeps = bag.sweeps(&["/front", "/rear"], None).unwrap();
    assert_eq!(
        told(&sweeps),
        "/front is joined with /rear in the frame `base_link`: 3 sweeps; columns that not all have were left out: `ring`"
    );
    assert_eq!(sweeps.len(), 3);
    for (i, after) in [0.01, -0.005, 0.02].into_iter().enumerate() {
        let sweep = bag.sweep(&sweeps, i).unwrap();
        assert_eq!((sweep.stamp_ns / 1_000_000 % 1000, &*sweep.frame), (100 * (i as i64 + 1), "base_link"));
        let scan = sweep.scan;
        assert_eq!(names(&scan), ["x f32", "y f32", "z f32", "intensity f32", "time_s f64", "sensor u8"]);
        assert_eq!(column(&scan, "sensor"), [0.0, 0.0, 0.0, 1.0, 1.0]);
        assert_eq!(column(&scan, "intensity"), [1.0, 2.0, 3.0, 0.5, 0.5]);
        let xyz = scan.xyz();
        assert_eq!(xyz[..3], [[2.0, 0.0, 2.0], [3.0, 0.5, 2.0], [4.0, 0.0, 2.25]]);
        assert_eq!(xyz[3], [-11.0, 0.0, 1.0]);
        assert!(xyz[4][0].is_nan());
        let times = scan.times().unwrap();
        assert_eq!((&*times.name, times.unit), ("time_s", TimeUnit::Seconds));
        let wanted = [0.0, 0.04, 0.08, after - 0.04, after];
        let found: Vec<f64> = times.seconds.iter().map(|s| times.start + s).collect();
        assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?} {wanted:?}");
    }
    assert_eq!(bag.sweep(&sweeps, 3).unwrap_err().class(), "InvalidArgument");
    // The other topic first: its columns, its stamps.
    let sweeps = bag.sweeps(&["/rear", "/front"], None).unwrap();
    let scan = bag.sweep(&sweeps, 1).unwrap();
    assert_eq!(scan.stamp_ns / 1_000_000 % 1000, 195);
    assert_eq!(column(&scan.scan, "sensor"), [0.0, 0.0, 1.0, 1.0, 1.0]);
}

#[test]
fn what_has_no_partner_is_counted() {
    let bag = open(drive(&[100, 200, 300, 400], &[110, 149, 352, 398, 900], &FRAMES)).unwrap();
    let sweeps = bag.sweeps(&["/front", "/rear"], None).unwrap();
    let wanted = "4 sweeps; 2 sweeps without a cloud of /rear, 3 clouds of it in no sweep;";
    assert!(told(&sweeps).contains(wanted), "{}", told(&sweeps));
    let counts: Vec<_> = (0..4).map(|i| bag.sweep(&sweeps, i).unwrap().scan.cloud.len()).collect();
    assert_eq!(counts, [5, 3, 3, 5]);
    // Without the other all columns stay the same.
    let columns: Vec<_> = (0..4).map(|i| names(&bag.sweep(&sweeps, i).unwrap().scan)).collect();
    assert!(columns.iter().all(|one| *one == columns[0] || one[3] == "intensity u8"), "{columns:?}");
    assert_eq!(columns[1].len(), columns[0].len());
}

#[test]
fn frames_without_a_chain_are_named() {
    let bag = open(drive(&[100, 200], &[100, 200], &FRAMES[..1])).unwrap();
    let told_of = |topics: &[&str]| bag.sweeps(topics, None).unwrap_err().to_string();
    assert_eq!(
        told_of(&["/front", "/rear"]),
        "b.mcap: frames: expected a chain of static transforms (/tf_static) from `rear` to `base_link`, got none: they end \
         at `rear` and at `base_link`; give the poses of the sensors with --extrinsics FILE"
    );
    // Without the vehicle, the frame of the first topic.
    assert!(told_of(&["/rear", "/front"]).contains("from `front` to `rear`"));
    let bag = open(drive(&[100, 200], &[100, 200], &[("front", "rear", at(-2.0, 0.0, 0.0))])).unwrap();
    let sweeps = bag.sweeps(&["/rear", "/front"], None).unwrap();
    let sweep = bag.sweep(&sweeps, 0).unwrap();
    assert_eq!((&*sweep.frame, sweep.scan.xyz()[2]), ("rear", [3.0, 0.0, 0.0]));
}

#[test]
fn extrinsics_say_where_sensors_are() {
    let bag = open(drive(&[100, 200], &[100, 200], &[])).unwrap();
    let of = |text: &str| Extrinsics::parse(text, "s.txt").unwrap();
    let sensors = of("/front 1 0 0 0 0 0\nrear -1 0 0 0 0 3.141592653589793\n");
    let sweeps = bag.sweeps(&["/front", "/rear"], Some(&sensors)).unwrap();
    let sweep = bag.sweep(&sweeps, 1).unwrap();
    let xyz = sweep.scan.xyz();
    assert_eq!((&*sweep.frame, xyz[0]), ("extrinsics", [2.0, 0.0, 0.0]));
    assert!((xyz[3][0] + 11.0).abs() < 1e-6 && xyz[3][1].abs() < 1e-5, "{:?}", xyz[3]);
    // One topic is moved and keeps its columns.
    let sweeps = bag.sweeps(&["/front"], Some(&sensors)).unwrap();
    let scan = bag.sweep(&sweeps, 0).unwrap().scan;
    assert_eq!((scan.xyz()[1], &*scan.fields[4].name, sweeps.told()), ([3.0, 0.5, 0.0], "t", None));
    let refused = |text: &str| bag.sweeps(&["/front", "/rear"], Some(&of(text))).unwrap_err().to_string();
    assert!(refused("/front 0 0 0 0 0 0").contains("expected a line for /rear, or for its frame `/rear`"));
    assert!(refused("front 0 0 0 0 0 0\nrear 0 0 0 0 0 0\nleft 0 0 0 0 0 0").contains("got `left`"));
    assert!(refused("front 0 0 0 0 0 0\nrear 0 0 0 0 0 0\n/rear 0 0 0 0 0 0").contains("expected one line for /rear"));
}

#[test]
fn topics_are_named_once_and_a_message_that_cannot_be_read_is_an_error_in_its_turn() {
    let whole = open(drive(&[100], &[100], &FRAMES)).unwrap();
    let told = |topics: &[&str]| whole.sweeps(topics, None).unwrap_err().to_string();
    assert!(told(&["/front", "/front"]).contains("expected each topic once, got /front twice"));
    assert!(told(&["/front", "/left"]).contains("`/left`"));
    let two = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    let broken = [&front(200, &two)[..60], &[255; 9]].concat();
    let records = [clouds(1, "/a"), clouds(2, "/b")].concat();
    let log = |ms: u64| EPOCH as u64 * 1_000_000_000 + ms * 1_000_000;
    let mut records = vec![records];
    for ms in [100, 200, 300] {
        records.push(message(1, log(ms), &front(ms as u32, &two)));
        records.push(message(2, log(ms), if ms == 200 { &broken } else { &[] }));
        if ms != 200 {
            records.pop();
            records.push(message(2, log(ms), &front(ms as u32, &two)));
        }
    }
    let bag = open(bag(&records)).unwrap();
    let sweeps = bag.sweeps(&["/a", "/b"], None).unwrap();
    let found: Vec<_> = (0..3).map(|i| bag.sweep(&sweeps, i).map(|sweep| sweep.scan.cloud.len())).collect();
    assert_eq!((found[0].as_ref().unwrap(), found[2].as_ref().unwrap()), (&4, &4));
    let told = found[1].as_ref().unwrap_err().to_string();
    assert!(told.starts_with("b.mcap#000001 of /b: "), "{told}");
}

#[test]
fn joined_sweeps_keep_to_limits() {
    let bytes = drive(&[100, 200], &[100, 200], &FRAMES);
    let of = |limits: Limits| {
        let bag = Bag::new(Cursor::new(bytes.clone()), "b.mcap", &limits).unwrap();
        let sweeps = bag.sweeps(&["/front", "/rear"], None)?;
        bag.sweep(&sweeps, 0).map(|sweep| sweep.scan.cloud.len())
    };
    assert_eq!(of(Limits { max_points: Some(5), ..Limits::default() }).unwrap(), 5);
    let told = of(Limits { max_points: Some(4), ..Limits::default() }).unwrap_err();
    assert_eq!((told.class(), told.to_string().contains("got 5 of all topics")), ("LimitExceeded", true), "{told}");
}
