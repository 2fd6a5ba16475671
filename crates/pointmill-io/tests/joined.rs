//! Several topics of a bag: their static frames, and sweeps that are joined.
mod common;

use common::bag::{bag, channel, message, plain_chunk, schema};
use common::rosbag;
use pointmill_io::bag::Bag;
use pointmill_io::{IoError, Limits};
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
fn told(transforms: &[u8]) -> Result<(), IoError> {
    let records = [schema(1, TF), channel(1, 1, "/tf_static"), message(1, 5, transforms)];
    open(bag(&records)).unwrap().static_frames().map(drop)
}

#[test]
fn messages_of_transforms_that_were_cut_are_refused() {
    let bytes =
        transforms(&[("base_link", "roof", at(1.0, 0.0, 2.0)), ("roof", "another name", at(0.0, 0.0, 0.0))], true);
    told(&bytes).unwrap();
    told(&transforms(&[], true)).unwrap();
    for end in 0..bytes.len() {
        assert_eq!(told(&bytes[..end]).unwrap_err().class(), "Truncated", "{end}");
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
        let told = told(&transforms(&[("a", "b", numbers)], true)).unwrap_err().to_string();
        let wanted = "transform of `b`: expected finite numbers and a quaternion of length 1, got ";
        assert!(told.contains(wanted), "{told}");
    }
    // One of few digits is scaled.
    told(&transforms(&[("a", "b", [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0005])], true)).unwrap();
}
