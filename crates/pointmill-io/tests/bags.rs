//! MCAP bags: those of other programs against the values that numpy finds in them, bags that were
//! cut, and bags that lie.
mod common;

use common::bag::{
    self, MAGIC, Message, channel, chunk, clouds, index, message, plain_chunk, record, schema, statistics,
};
use common::damage::{cuts, extremes};
use common::random::Random;
use common::rosbag;
use common::survive::Damage;
use common::valid::Valid;
use pointmill_io::bag::{Bag, Cloud, CloudParts, Encoding, FieldParts, PointCloud2, TimeOrigin};
use pointmill_io::{Array, Format, IoError, Limits, ReadOptions, TimeUnit, Warning, read, read_from, read_npz};
use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::{Path, PathBuf};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/bags")
}

/// The bags of the fixtures, with their names.
fn bags() -> Vec<(String, Vec<u8>)> {
    let names = common::names(&fixtures());
    let of = |name: &&String| !name.ends_with(".npz");
    names.iter().filter(of).map(|name| (name.clone(), std::fs::read(fixtures().join(name)).unwrap())).collect()
}

fn open(bytes: &[u8]) -> Result<Bag, IoError> {
    Bag::new(Cursor::new(bytes.to_vec()), "b.mcap", &Limits::default())
}

fn refused(bytes: &[u8]) -> String {
    open(bytes).err().map_or_else(|| "it opens".into(), |e| format!("{}: {e}", e.class()))
}

/// What comes of the only topic.
fn read_all(bytes: &[u8]) -> Vec<Result<Cloud, IoError>> {
    open(bytes).unwrap().clouds(None).unwrap().collect()
}

fn errors(bytes: &[u8]) -> Vec<String> {
    read_all(bytes).into_iter().filter_map(Result::err).map(|e| format!("{}: {e}", e.class())).collect()
}

fn compare(name: &str, cloud: &Cloud, wanted: &BTreeMap<String, Array>, i: usize) {
    let at = |key: &str| wanted[key].as_i64().unwrap()[i];
    assert_eq!(
        (cloud.stamp_ns, cloud.log_time_ns, &*cloud.frame),
        (at("stamps"), at("times") as u64, "lidar"),
        "{name}"
    );
    let points = &wanted[&format!("points_{i}")];
    let (values, columns) = (points.as_f64().unwrap(), points.shape()[1]);
    assert_eq!(cloud.scan.cloud.len(), points.shape()[0], "{name}");
    if columns == 0 {
        return;
    }
    let names: Vec<_> = cloud.scan.fields.iter().map(|f| &*f.name).collect();
    assert_eq!(names.join(" ").as_bytes(), wanted["names"].as_u8().unwrap(), "{name}");
    let found: Vec<u32> = cloud.scan.cloud.data().iter().map(|v| v.to_bits()).collect();
    let cast: Vec<u32> = values.iter().map(|&v| (v as f32).to_bits()).collect();
    assert_eq!(found, cast, "{name}");
    let exact: Vec<u64> = cloud.scan.xyz().as_flattened().iter().map(|v| v.to_bits()).collect();
    let wanted: Vec<u64> = values.chunks(columns).flat_map(|row| &row[..3]).map(|v| v.to_bits()).collect();
    assert_eq!(exact, wanted, "{name}");
}

#[test]
fn bags_of_other_programs_give_their_values() {
    // Bags without an underscore have several topics, which other tests read.
    let bags: Vec<_> = bags().into_iter().filter(|(name, _)| name.contains('_')).collect();
    assert_eq!(bags.len(), 66);
    for (name, bytes) in bags {
        let wanted = read_npz(fixtures().join(format!("{}.npz", name.rsplit_once('_').unwrap().0))).unwrap();
        let bag = open(&bytes).unwrap();
        assert!(bag.cut().is_none());
        let told: Vec<_> = bag.topics().iter().map(|t| (&*t.name, t.count, t.cloud_encoding().is_some())).collect();
        assert_eq!(told, [("/notes", 3, false), ("/points", 3, true)], "{name}");
        let topic = &bag.topics()[1];
        let times = wanted["times"].as_i64().unwrap();
        assert_eq!((topic.first_ns, topic.last_ns), (times[0] as u64, times[2] as u64), "{name}");
        let clouds: Vec<_> = bag.clouds(Some("/points")).unwrap().map(Result::unwrap).collect();
        assert_eq!(clouds.len(), 3);
        for (i, cloud) in clouds.iter().enumerate() {
            compare(&name, cloud, &wanted, i);
        }
        // In any order, by number.
        for i in [2, 0, 1] {
            compare(&name, &bag.cloud(topic, i).unwrap(), &wanted, i);
        }
    }
}

/// The parts of a message.
fn parts(m: &Message) -> CloudParts<'_> {
    let fields = m.fields.iter().map(|&(name, offset, datatype, count)| FieldParts { name, offset, datatype, count });
    let &Message { height, width, big_endian, point_step, row_step, .. } = m;
    CloudParts { height, width, fields: fields.collect(), big_endian, point_step, row_step, data: &m.data }
}

#[test]
fn a_message_in_parts_is_read_as_its_bytes_are() {
    let mut random = Random::new(57);
    let points: Vec<[f32; 3]> = (0..24).map(|i| [i as f32, 0.5 * i as f32, f32::NAN]).collect();
    let mut seen = [0; 3];
    for round in 0..3000 {
        let mut m = Message::new(&points);
        m.fields.push(("intensity", 4, random.below(14) as u8, random.below(3) as u32));
        // Organized, padded and turned around, then with up to two numbers that lie.
        m.height = [1, 2, 4][random.below(3)];
        m.width = 24 / m.height;
        m.row_step = 12 * m.width;
        m.big_endian = random.below(2) == 1;
        for _ in 0..random.below(3) {
            let number = [0, 1, 11, 13, 36, 288, 300, u32::MAX][random.below(8)];
            match random.below(6) {
                0 => m.height = number,
                1 => m.width = number,
                2 => m.point_step = number,
                3 => m.row_step = number,
                4 => m.fields[random.below(4)].1 = number,
                _ => m.fields[random.below(4)].2 = number as u8,
            }
        }
        let bytes = m.bytes();
        let of_bytes = PointCloud2::read(&bytes, Encoding::Cdr, "m").and_then(|m| m.scan("m", &Limits::default()));
        let of_parts = PointCloud2::of_parts(parts(&m), "m").and_then(|m| m.scan("m", &Limits::default()));
        match (of_bytes, of_parts) {
            (Ok(wanted), Ok(found)) => {
                seen[usize::from(!wanted.warnings.is_empty())] += 1;
                // As text, since NaN is not itself.
                assert_eq!(format!("{found:?}"), format!("{wanted:?}"), "{round}");
            }
            (wanted, found) => {
                seen[2] += 1;
                assert_eq!(found.unwrap_err().to_string(), wanted.unwrap_err().to_string(), "{round}");
            }
        }
    }
    assert!(seen[1] > 300 && seen[2] > 300, "{seen:?}");
}

#[test]
fn times_are_found_with_unit_and_origin() {
    use TimeOrigin::{Epoch, Stamp};
    use TimeUnit::{Nanoseconds, Seconds};
    for (layout, wanted) in [
        ("velodyne", Some(("time", Seconds, Stamp))),
        ("ouster", Some(("t", Nanoseconds, Stamp))),
        ("hesai", Some(("timestamp", Seconds, Epoch))),
        ("livox", Some(("timestamp", Nanoseconds, Epoch))),
        ("robosense", Some(("timestamp", Seconds, Epoch))),
        ("xyzircaedt", Some(("time_stamp", Nanoseconds, Stamp))),
        ("custom", Some(("offset_time", Nanoseconds, Stamp))),
        ("xyzirc", None),
        ("empty", None),
    ] {
        let bag = Bag::open(fixtures().join(format!("{layout}_zstd.mcap")), &Limits::default()).unwrap();
        let layout_of = bag.layout(bag.cloud_topic(None).unwrap()).unwrap().unwrap();
        let found = layout_of.times.as_ref().map(|t| (&*t.name, t.unit, TimeOrigin::of(t)));
        assert_eq!(found, wanted, "{layout}");
        assert_eq!(bag.clouds(None).unwrap().next().unwrap().unwrap().scan.times(), layout_of.times);
    }
}

#[test]
fn a_cut_bag_gives_every_whole_message_and_then_says_so() {
    for name in [
        "velodyne_none.mcap",
        "padded_lz4.mcap",
        "xyzirc_zstd.mcap",
        "velodyne_plain.mcap",
        "hesai_plain.mcap",
        "ouster_plain.mcap",
        "velodyne_none.bag",
        "ouster_bz2.bag",
        "hesai_lz4.bag",
    ] {
        let bytes = std::fs::read(fixtures().join(name)).unwrap();
        let whole: Vec<_> = read_all(&bytes).into_iter().map(Result::unwrap).collect();
        let mut most = 0;
        for end in (0..bytes.len()).step_by(7).chain([bytes.len() - 1]) {
            let bag = open(&bytes[..end]);
            if end == 0 {
                assert_eq!(bag.unwrap_err().class(), "BadHeader");
                continue;
            }
            let bag = bag.unwrap();
            assert_eq!(bag.cut().unwrap().class(), "Truncated", "{name} {end}");
            let Ok(clouds) = bag.clouds(None) else {
                assert_eq!(most, 0, "{name} {end}");
                continue;
            };
            let mut clouds: Vec<_> = clouds.collect();
            assert_eq!(clouds.pop().unwrap().unwrap_err().class(), "Truncated");
            let clouds: Vec<_> = clouds.into_iter().map(Result::unwrap).collect();
            assert!(clouds.len() >= most, "{name} {end}");
            most = clouds.len();
            for (cloud, whole) in clouds.iter().zip(&whole) {
                let bits = |c: &Cloud| c.scan.cloud.data().iter().map(|v| v.to_bits()).collect::<Vec<_>>();
                assert_eq!((cloud.stamp_ns, bits(cloud)), (whole.stamp_ns, bits(whole)));
            }
        }
        // Only the end of the file is missing.
        assert_eq!(most, 3, "{name}");
    }
}

/// The clouds of a bag that is salvaged, and whether it is damaged.
fn salvage(bytes: &[u8]) -> (Vec<Cloud>, bool) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    let bag = Bag::salvage(file.path(), &Limits::default()).unwrap();
    let clouds = bag.clouds(None).map(|clouds| clouds.map(Result::unwrap).collect());
    assert!(bag.cut().is_none());
    (clouds.unwrap_or_default(), bag.damage().is_some())
}

#[test]
fn a_salvage_reads_the_whole_chunks_of_a_damaged_bag() {
    let bits = |c: &Cloud| (c.stamp_ns, c.scan.cloud.data().iter().map(|v| v.to_bits()).collect::<Vec<_>>());
    let told = |c: &Cloud| c.scan.warnings.iter().any(|warning| matches!(warning, Warning::Salvaged { .. }));
    for name in [
        "velodyne_none.mcap",
        "padded_lz4.mcap",
        "xyzirc_zstd.mcap",
        "hesai_plain.mcap",
        "velodyne_none.bag",
        "ouster_bz2.bag",
        "hesai_lz4.bag",
    ] {
        let bytes = std::fs::read(fixtures().join(name)).unwrap();
        let (clouds, is_damaged) = salvage(&bytes);
        assert!(clouds.len() == 3 && !is_damaged && !clouds.iter().any(told), "{name}");
        for end in (13..bytes.len()).step_by(31) {
            let (clouds, is_damaged) = salvage(&bytes[..end]);
            assert!(is_damaged && clouds.iter().all(told), "{name} {end}");
            let bag = open(&bytes[..end]).unwrap();
            let wanted: Vec<_> = bag.clouds(None).map_or(vec![], |clouds| clouds.filter_map(Result::ok).collect());
            let [found, wanted] = [&clouds, &wanted].map(|clouds| clouds.iter().map(bits).collect::<Vec<_>>());
            assert_eq!(found, wanted, "{name} {end}");
            let named = bag.cut().unwrap().to_string().ends_with("; --salvage reads the whole chunks");
            assert_eq!(named, !found.is_empty(), "{name} {end}");
        }
    }
    // A chunk in the middle whose checksum is wrong.
    let data = |seconds: i32| Message { seconds, ..Message::new(&[[seconds as f32, 0.0, 0.0]]) }.bytes();
    let mut chunks =
        [10, 20, 30].map(|time| plain_chunk(&[clouds(1, "/a"), message(1, time, &data(time as i32))].concat()));
    // The checksum follows the record's 9 bytes, the two times and the size; of 0 it is not
    // checked.
    chunks[1][9 + 24] = 1;
    let bytes = bag::bag(&chunks);
    let (clouds, is_damaged) = salvage(&bytes);
    let stamps: Vec<_> = clouds.iter().map(|cloud| cloud.stamp_ns / 1_000_000_000).collect();
    assert_eq!((stamps, is_damaged), (vec![10, 30], true));
    assert!(refused(&bytes).ends_with("; --salvage reads the whole chunks"), "{}", refused(&bytes));
    // What is no bag is not salvaged.
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), b"no bag at all").unwrap();
    assert_eq!(Bag::salvage(file.path(), &Limits::default()).unwrap_err().class(), "BadHeader");
}

#[test]
fn clouds_come_in_the_order_of_their_times() {
    let data = |seconds| Message { seconds, ..Message::new(&[[seconds as f32, 0.0, 0.0]]) }.bytes();
    let first = [clouds(1, "/a"), message(1, 30, &data(30)), message(1, 10, &data(10))].concat();
    let second = [message(1, 20, &data(20)), message(1, 10, &data(11))].concat();
    let bytes = bag::bag(&[plain_chunk(&first), plain_chunk(&second), message(1, 5, &data(5))]);
    let stamps: Vec<_> = read_all(&bytes).into_iter().map(|cloud| cloud.unwrap().stamp_ns / 1_000_000_000).collect();
    assert_eq!(stamps, [5, 10, 11, 20, 30]);
}

#[test]
fn a_topic_is_found_or_named() {
    let data = Message::new(&[[1.0, 2.0, 3.0]]).bytes();
    let one = bag::bag(&[clouds(1, "/a"), schema(2, "std_msgs/msg/String"), channel(2, 2, "/s"), message(1, 1, &data)]);
    assert_eq!(open(&one).unwrap().cloud_topic(None).unwrap().name, "/a");
    let two = bag::bag(&[clouds(1, "/a"), clouds(2, "/b"), message(1, 1, &data), message(2, 2, &data)]);
    let bag = open(&two).unwrap();
    let told = |name| bag.cloud_topic(name).unwrap_err().to_string();
    assert_eq!(
        told(None),
        "b.mcap: topic: expected one of sensor_msgs/PointCloud2 or Livox's CustomMsg, got 2; choose one with --topic: /a, /b"
    );
    assert_eq!(
        told(Some("/c")),
        "b.mcap: topic: expected `/c` of sensor_msgs/PointCloud2 or Livox's CustomMsg, got none of this name; choose one with --topic: /a, /b"
    );
    assert_eq!(bag.clouds(Some("/b")).unwrap().len(), 1);
    let e = bag.cloud(bag.cloud_topic(Some("/b")).unwrap(), 1).unwrap_err();
    assert_eq!(e.to_string(), "b.mcap: cloud: expected a number below 1 of `/b`, got 1");
    // A bag of one cloud is a cloud.
    let scan = read_from(&one[..], "one.mcap", &ReadOptions::default()).unwrap();
    assert_eq!((scan.cloud.data(), scan.format.as_str()), (&[1.0, 2.0, 3.0][..], "mcap"));
    let told = read_from(&two[..], "two.mcap", &ReadOptions::default()).unwrap_err().to_string();
    assert!(told.ends_with("`bag::Bag` reads bags of several, got 2 in 2 topics"), "{told}");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("one"), &one).unwrap();
    assert_eq!(read(folder.path().join("one"), &ReadOptions::default()).unwrap(), scan);
}

#[test]
fn bags_that_lie_are_refused() {
    let data = Message::new(&[[1.0, 2.0, 3.0]]).bytes();
    let records = [clouds(1, "/a"), message(1, 9, &data)].concat();
    let at = clouds(1, "/a").len() as u64;
    let size = records.len() as u64;
    let with = |parts: &[Vec<u8>]| bag::bag(parts);
    assert!(refused(b"PK\x03\x04....").starts_with("BadHeader: b.mcap: first bytes: expected"));
    assert!(
        refused(&with(&[message(1, 9, &data)])).ends_with("message: expected a channel that is known, got channel 1")
    );
    assert!(
        refused(&with(&[channel(1, 4, "/a")])).ends_with("channel `/a`: expected a schema that is known, got schema 4")
    );
    assert!(
        refused(&with(&[clouds(1, "/a"), channel(1, 1, "/b")]))
            .ends_with("channel 1: expected one topic, got `/b` too")
    );
    assert!(refused(&with(&[record(0, b"")])).ends_with("record: expected an opcode of 1 or more, got 0"));
    assert!(refused(&with(&[records.clone(), statistics(1, 2)])).ends_with("got 1 messages"));
    assert_eq!(refused(&with(&[records.clone(), statistics(1, 1)])), "it opens");
    assert!(refused(&[with(&[]), vec![7]].concat()).starts_with("SizeMismatch: b.mcap: last bytes"));
    assert!(refused(&with(&[plain_chunk(&plain_chunk(&records))])).ends_with("got opcode 6"));
    // Sizes.
    for (chunk, told) in [
        (chunk("", u64::MAX, size, &records), "LimitExceeded: b.mcap: chunk unpacked: expected at most 16777216 bytes"),
        (chunk("", size, u64::MAX, &records), "BadHeader: b.mcap: chunk.records: expected 18446744073709551615 bytes"),
        (chunk("", size + 1, size, &records), "Decompress: b.mcap: chunk at byte 25: data"),
        (chunk("", size - 1, size, &records), "Decompress: b.mcap: chunk at byte 25: data"),
        (chunk("zstd", size, size, &records), "Decompress: b.mcap: chunk at byte 25: data"),
        (chunk("lz4", size, size, &records), "Decompress: b.mcap: chunk at byte 25: data"),
        (
            chunk("gzip", size, size, &records),
            "UnsupportedFormat: b.mcap: compression: expected none, lz4 or zstd, got `gzip`",
        ),
    ] {
        let found = refused(&with(&[chunk]));
        assert!(found.starts_with(told), "{found}");
    }
    let mut endless = with(&[plain_chunk(&records)]);
    endless[26..34].copy_from_slice(&u64::MAX.to_le_bytes());
    assert_eq!(open(&endless).unwrap().cut().unwrap().class(), "Truncated");
    // An index is believed to be complete, and each of its messages is looked at.
    let known = [clouds(1, "/a"), plain_chunk(&records)];
    for (entries, told) in [
        (&[(9, at)][..], None),
        (&[(8, at)], Some("BadValue: b.mcap: message at byte")),
        (&[(9, 0)], Some("BadValue: b.mcap: message at byte")),
        (&[(9, u64::MAX)], Some("BadValue: b.mcap: message at byte")),
    ] {
        let found = errors(&with(&[&known[..], &[index(1, entries)]].concat()));
        assert_eq!(found.len(), usize::from(told.is_some()), "{found:?}");
        assert!(told.is_none_or(|told| found[0].starts_with(told)), "{found:?}");
    }
    let twice = refused(&with(&[&known[..], &[index(1, &[(9, at), (9, at)])]].concat()));
    assert!(twice.contains("message index: expected each message once"), "{twice}");
    // A checksum that is wrong.
    let mut summed = with(&[plain_chunk(&records)]);
    let sum = MAGIC.len() + record(1, &[0; 8]).len() + 9 + 24;
    summed[sum] = 1;
    assert!(refused(&summed).starts_with("Decompress: b.mcap: chunk at byte 25: data: expected the checksum 00000001"));
}

/// A chunk of the records and some zeros of another topic, packed into blocks of zstd of which each
/// is a byte that is repeated.
fn zeros(records: &[u8], zeros: usize) -> Vec<u8> {
    let other = message(2, 0, &vec![0; zeros]);
    let content = [records, &other].concat();
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 0x70];
    let block = |frame: &mut Vec<u8>, count: usize, kind: u32, is_last: bool, data: &[u8]| {
        let head = (count as u32) << 3 | kind << 1 | u32::from(is_last);
        frame.extend(&head.to_le_bytes()[..3]);
        frame.extend(data);
    };
    let plain = content.len() - zeros;
    for part in content[..plain].chunks(100_000) {
        block(&mut frame, part.len(), 0, false, part);
    }
    for part in content[plain..].chunks(128 << 10) {
        block(&mut frame, part.len(), 1, false, &[0]);
    }
    block(&mut frame, 0, 0, true, &[]);
    chunk("zstd", content.len() as u64, frame.len() as u64, &frame)
}

/// The records of a bag whose chunks overlap in time: the clouds of each turn are spread over the
/// chunks, which have so many zeros.
fn overlapping(chunks: u64, turns: u64, padding: usize) -> Vec<Vec<u8>> {
    let data = Message::new(&[[1.0, 2.0, 3.0]]).bytes();
    let mut parts = vec![clouds(1, "/a"), schema(2, "std_msgs/msg/String"), channel(2, 2, "/s")];
    for k in 0..chunks {
        let (mut records, mut entries) = (vec![], vec![]);
        for turn in 0..turns {
            entries.push((chunks * turn + k, records.len() as u64));
            records.extend(message(1, chunks * turn + k, &data));
        }
        parts.extend([zeros(&records, padding), index(1, &entries)]);
    }
    parts
}

#[test]
fn all_chunks_together_may_unpack_to_so_much() {
    // The first is passed over by its index, as is each of the others.
    let bytes = bag::bag(&overlapping(5, 2, 4 << 20));
    let used = allocation_counter::measure(|| {
        let found = refused(&bytes);
        let wanted = "LimitExceeded: b.mcap: chunks unpacked: expected at most 16777216 bytes (16 MiB or 64 times the file; --max-decoded-bytes allows more), got ";
        assert!(found.starts_with(wanted), "{found}");
    });
    assert!(used.bytes_total < 1 << 20, "{} bytes", used.bytes_total);
    // Without an index they are unpacked, until the limit.
    let parts = overlapping(50, 1, 4 << 20);
    let bytes = bag::bag(&parts.iter().filter(|part| part[0] != 7).cloned().collect::<Vec<_>>());
    let used =
        allocation_counter::measure(|| assert!(refused(&bytes).contains(": chunks unpacked: "), "{}", refused(&bytes)));
    assert!(used.bytes_total < 200 << 20, "{} bytes", used.bytes_total);
    let limits = Limits { max_decoded_bytes: Some(1 << 30), ..Limits::default() };
    assert_eq!(Bag::new(Cursor::new(bytes), "b.mcap", &limits).unwrap().topics()[0].count, 50);
}

#[test]
fn chunks_that_overlap_in_time_are_unpacked_once() {
    let bytes = bag::bag(&overlapping(3, 100, 4 << 20));
    let bag = open(&bytes).unwrap();
    let used = allocation_counter::measure(|| {
        let read = bag.clouds(None).unwrap().map(|cloud| cloud.unwrap().log_time_ns);
        assert!(read.eq(0..300));
    });
    // Not 300 times 4 MiB: each chunk once, and what is copied on the way. None is held in the end.
    let (total, held) = (used.bytes_total, used.bytes_current);
    assert!(total < 300 << 20 && held < 10_000, "{total} bytes, {held} held");
    // In any order by number, as often as asked for.
    let topic = &bag.topics()[0];
    (0..40)
        .for_each(|i| assert_eq!(bag.cloud(topic, (i * 7919) % 300).unwrap().log_time_ns as usize, (i * 7919) % 300));
    // Where there is no room to hold them, each would be unpacked for each of its clouds: refused
    // before any is.
    let limits = Limits { max_memory: Some(7 << 20), ..Limits::default() };
    let e = Bag::new(Cursor::new(bytes), "b.mcap", &limits).unwrap_err();
    let wanted = "b.mcap: chunks unpacked for the messages of `/a` in the order of their times: expected at most 16777216 bytes (16 MiB or";
    assert!(e.class() == "LimitExceeded" && e.to_string().starts_with(wanted), "{e}");
}

#[test]
fn a_bag_is_open_while_it_is_read_from() {
    let folder = tempfile::tempdir().unwrap();
    let [path, other] = ["a.mcap", "b.mcap"].map(|name| folder.path().join(name));
    std::fs::write(&path, bag::bag(&overlapping(1, 3, 100))).unwrap();
    let bags: Vec<_> = (0..50).map(|_| Bag::open(&path, &Limits::default()).unwrap()).collect();
    #[cfg(target_os = "linux")]
    {
        let open =
            std::fs::read_dir("/proc/self/fd").unwrap().filter_map(|fd| std::fs::read_link(fd.unwrap().path()).ok());
        assert_eq!(open.filter(|file| *file == path).count(), 0);
    }
    assert!(bags.iter().all(|bag| bag.clouds(None).unwrap().all(|cloud| cloud.is_ok())));
    // Another file takes the name.
    std::fs::write(&other, bag::bag(&overlapping(1, 3, 100))).unwrap();
    std::fs::rename(&other, &path).unwrap();
    let e = bags[0].clouds(None).unwrap().next().unwrap().unwrap_err();
    let wanted =
        ": file: expected the one that was opened before, got another one of this name; read it from the start";
    assert!(e.class() == "BadValue" && e.to_string().ends_with(wanted), "{e}");
}

#[test]
fn messages_in_messages_and_many_topics_are_refused() {
    // The first message contains the second, which the index names too.
    let data = Message::new(&[[1.0, 2.0, 3.0]]).bytes();
    let inner = message(1, 2, &data);
    let records = message(1, 1, &[&data[..], &inner].concat());
    let at = (records.len() - inner.len()) as u64;
    let found = errors(&bag::bag(&[clouds(1, "/a"), plain_chunk(&records), index(1, &[(1, 0), (2, at)])]));
    let wanted = format!(
        "of the chunk at {}: expected at most {at} bytes, where the next message of the index starts, got {} bytes",
        found[0].split("chunk at ").nth(1).unwrap().split(':').next().unwrap(),
        records.len()
    );
    assert!(
        found.len() == 1 && found[0].starts_with("BadValue: b.mcap: message at byte 0 ") && found[0].ends_with(&wanted),
        "{found:?}"
    );
    // Names of a kilobyte in each topic would take a hundred times the file.
    let channels = |n: u16| {
        let channels = (0..n).flat_map(|i| channel(i, 1, &format!("/{i}"))).collect();
        bag::bag(&[schema(1, &"x".repeat(1000)), channels])
    };
    assert_eq!(open(&channels(4096)).unwrap().topics().len(), 4096);
    let found = refused(&channels(4097));
    assert_eq!(
        found,
        "LimitExceeded: b.mcap: channel `/4096`: expected at most 4096 topics, got one more; split the bag by topics"
    );
}

#[test]
fn messages_that_lie_are_refused() {
    let good = Message::new(&[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    let told = |message: Message| {
        let bytes = message.bytes();
        let read = PointCloud2::read(&bytes, Encoding::Cdr, "m").and_then(|cloud| cloud.scan("m", &Limits::default()));
        read.map_or_else(|e| format!("{}: {e}", e.class()), |scan| format!("{} points", scan.cloud.len()))
    };
    let fields = |fields: &[(&'static str, u32, u8, u32)]| Message { fields: fields.to_vec(), ..good.clone() };
    let xyz = |last| fields(&[("x", 0, 7, 1), ("y", 4, 7, 1), last]);
    assert_eq!(told(good.clone()), "2 points");
    for (message, wanted) in [
        (
            Message { point_step: 0, data: [&good.data[..], &[0]].concat(), ..good.clone() },
            "BadValue: m: point_step: expected 1 or more, got 0",
        ),
        (
            Message { point_step: 70_000, ..good.clone() },
            "LimitExceeded: m: point_step: expected at most 65536 bytes, got 70000",
        ),
        (
            xyz(("z", 9, 7, 1)),
            "BadValue: m: field `z`: expected a place in the 12 bytes of a point, got 4 bytes from 9 on",
        ),
        (
            xyz(("z", u32::MAX, 7, 1)),
            "BadValue: m: field `z`: expected a place in the 12 bytes of a point, got 4 bytes from 4294967295 on",
        ),
        (
            xyz(("z", 8, 7, u32::MAX)),
            "LimitExceeded: m: fields[2].count: expected at most 1024 numbers in a point, got 4294967297",
        ),
        (
            fields(&[("x", 0, 8, 1), ("y", 0, 8, 1), ("z", 0, 8, 1), ("a", 0, 2, 12), ("b", 0, 2, 12), ("c", 4, 8, 1)]),
            "LimitExceeded: m: fields: expected at most 48 bytes in a point of 12 bytes, got 56 bytes, which overlap",
        ),
        (xyz(("z", 8, 12, 1)), "BadValue: m: fields[2].datatype: expected 1 to 11, got 12"),
        (xyz(("w", 8, 7, 1)), "MissingField: m: field `z`: expected x, y and z, got x, y, w"),
        (xyz(("x", 8, 7, 1)), "BadHeader: m: names: expected names that differ, got `x` twice"),
        (
            Message { height: 2, width: 1, row_step: 11, data: [&good.data[..], &[0; 5]].concat(), ..good.clone() },
            "SizeMismatch: m: row_step: expected 12 bytes or more (1 points of 12 bytes), got 11",
        ),
        (
            Message { height: 2, ..good.clone() },
            "Truncated: m: data: expected 48 bytes (2 rows of 2 points), got 24 bytes",
        ),
        (Message { width: u32::MAX, height: u32::MAX, ..good.clone() }, "Truncated: m: data: expected "),
    ] {
        let found = told(message);
        assert!(found.starts_with(wanted), "{found}");
    }
    // Nothing in it, or no points: empty clouds.
    let empty =
        Message { fields: vec![], width: 0, height: 0, point_step: 0, row_step: 0, data: vec![], ..good.clone() };
    assert_eq!(told(empty), "0 points");
    assert_eq!(told(Message { width: 0, data: vec![], ..good.clone() }), "0 points");
    assert_eq!(
        told(Message { width: 0, point_step: 0, ..good.clone() }),
        "BadValue: m: point_step: expected 1 or more, got 0"
    );
    // A row ends where its points do; the last one needs nothing behind them, and bytes behind it
    // are reported.
    let rows = Message {
        height: 2,
        width: 1,
        row_step: 13,
        data: [&good.data[..12], &[9], &good.data[12..]].concat(),
        ..good.clone()
    };
    let read = |message: &Message| {
        PointCloud2::read(&message.bytes(), Encoding::Cdr, "m").unwrap().scan("m", &Limits::default()).unwrap()
    };
    assert_eq!(read(&rows).cloud.data(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let more = Message { data: [&good.data[..], &[0; 5]].concat(), ..good.clone() };
    assert_eq!(read(&more).warnings, [Warning::TrailingBytes { bytes: 5 }]);
    // Every message that ends early is refused.
    let bytes = good.bytes();
    for end in 0..bytes.len() {
        assert!(PointCloud2::read(&bytes[..end], Encoding::Cdr, "m").is_err(), "{end}");
    }
}

#[test]
fn what_nobody_needs_refuses_no_message() {
    let good = Message::new(&[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    let read = |message: &Message| {
        let read =
            PointCloud2::read(&message.bytes(), Encoding::Cdr, "m").and_then(|m| m.scan("m", &Limits::default()));
        let scan = read.unwrap();
        assert_eq!((scan.cloud.len(), scan.cloud.points().xyz(1)), (2, [4.0, 5.0, 6.0]), "{:?}", scan.warnings);
        let names: Vec<_> = scan.fields.iter().map(|field| &*field.name).collect();
        (names.join(" "), scan.warnings.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
    };
    // Sizes that the others and the bytes contradict.
    let said = |field: &str, said: u32, used: &str| {
        format!("{field} is {said}, but the rest of the file gives {used}, which was taken")
    };
    for (message, told) in [
        (Message { row_step: 0, ..good.clone() }, said("row_step", 0, "24 (2 points of 12 bytes)")),
        (Message { row_step: 23, ..good.clone() }, said("row_step", 23, "24 (2 points of 12 bytes)")),
        (
            Message { height: 2, width: 1, row_step: 0, ..good.clone() },
            said("row_step", 0, "12 (1 points of 12 bytes)"),
        ),
        (
            Message { height: 2, width: 1, row_step: 999, ..good.clone() },
            said("row_step", 999, "12 (1 points of 12 bytes)"),
        ),
        (Message { height: 0, ..good.clone() }, said("height", 0, "1 (2 points of 12 bytes)")),
        (Message { point_step: 0, ..good.clone() }, said("point_step", 0, "12 (2 points in 24 bytes)")),
        (Message { row_step: 999, ..good.clone() }, String::new()),
    ] {
        assert_eq!(read(&message), ("x y z".into(), told));
    }
    // Fields: unknown types, places behind the point, too many numbers, one name twice.
    let with = |fields: &[(&'static str, u32, u8, u32)]| {
        let xyz = [("x", 0, 7, 1), ("y", 4, 7, 1), ("z", 8, 7, 1)];
        read(&Message { fields: [&xyz[..], fields].concat(), ..good.clone() })
    };
    for (field, why) in [
        (("a", 0, 0, 1), "of the unknown type 0"),
        (("a", 0, 12, 1), "of the unknown type 12"),
        (("a", 0, 255, u32::MAX), "of the unknown type 255"),
        (("a", 9, 7, 1), "4 bytes from 9 on, of 12 of a point"),
        (("a", u32::MAX, 8, 1), "8 bytes from 4294967295 on, of 12 of a point"),
        (("a", 0, 2, 1022), "1022 numbers, past 1024 of a point"),
        (("x", 0, 7, 1), "stands twice in one place"),
    ] {
        let told = format!("1 field was left out: `{}` ({why})", field.0);
        assert_eq!(with(&[field]), ("x y z".into(), told));
    }
    let told = "columns of one name: another `t` is `t_3`".to_owned();
    assert_eq!(with(&[("t", 0, 7, 1), ("t_2", 4, 6, 1), ("t", 8, 6, 1)]), ("x y z t t_2 t_3".into(), told));
    // Types of later versions of the message.
    assert_eq!(with(&[("t", 4, 9, 1), ("s", 4, 10, 1), ("is_first", 3, 11, 1)]).0, "x y z t s is_first");
}

#[test]
fn bags_without_clouds_say_what_they_have() {
    let told = |records: &[Vec<u8>]| {
        let bytes = bag::bag(records);
        let opened = Bag::new(Cursor::new(bytes.clone()), "b.mcap", &Limits::default()).unwrap();
        let by_topic = opened.cloud_topic(None).unwrap_err().to_string();
        assert_eq!(opened.cloud_topic(Some("/none")).unwrap_err().to_string(), by_topic);
        let whole = read_from(&bytes[..], "b.mcap", &ReadOptions::default());
        assert_eq!(whole.unwrap_err().to_string(), by_topic);
        by_topic
    };
    let wanted = "b.mcap: clouds: expected sensor_msgs/PointCloud2 or Livox's CustomMsg";
    assert_eq!(told(&[]), format!("{wanted}, got a bag without topics"));
    let packets = [schema(1, "velodyne_msgs/msg/VelodyneScan"), channel(1, 1, "/packets")].concat();
    let maker = "play it to velodyne_pointcloud, and record the PointCloud2 that it makes of /packets";
    let has = "no clouds; it has /packets of velodyne_msgs/msg/VelodyneScan, which is not read";
    assert_eq!(told(&[packets]), format!("{wanted}, got {has}; {maker}"));
    let imu = [schema(1, "sensor_msgs/msg/Imu"), channel(1, 1, "/imu")].concat();
    assert_eq!(told(&[imu]), format!("{wanted}, got no clouds; it has /imu of sensor_msgs/msg/Imu, which is not read"));
}

/// A `CustomMsg` of Livox in CDR of either byte order, whose `point_num` is `said`.
fn custom_msg(said: u32, points: &[[f32; 3]], little: bool) -> Vec<u8> {
    let mut out = vec![];
    let mut put = |width: usize, number: u64| {
        out.resize(out.len().next_multiple_of(width), 0u8);
        let mut bytes = number.to_le_bytes()[..width].to_vec();
        if !little {
            bytes.reverse();
        }
        out.extend(bytes);
    };
    [7, 5, 2].into_iter().for_each(|n| put(4, n));
    [u64::from(b'l'), 0].into_iter().for_each(|n| put(1, n));
    put(8, 1_700_000_000_000_000_000);
    put(4, said.into());
    (0..4).for_each(|n| put(1, n));
    put(4, points.len() as u64);
    for (i, point) in points.iter().enumerate() {
        put(4, 250_000_000 + i as u64);
        point.iter().for_each(|v| put(4, v.to_bits().into()));
        [200, 16, 3].into_iter().for_each(|n| put(1, n));
    }
    [&[0, u8::from(little), 0, 0], &out[..]].concat()
}

#[test]
fn messages_of_livox_are_clouds() {
    let read = |bytes: &[u8]| {
        let message = PointCloud2::read_custom_msg(bytes, Encoding::Cdr, "m")?;
        message.scan("m", &Limits::default())
    };
    let points = [[1.0, 2.0, 3.0], [f32::NAN, 0.0, -0.0], [4.5, -5.0, 6.0]];
    for little in [true, false] {
        for n in 0..=3 {
            let bytes = custom_msg(n as u32, &points[..n], little);
            let scan = read(&bytes).unwrap();
            let is_whole = |warning: &Warning| !matches!(warning, Warning::Overruled { .. });
            assert!(scan.cloud.len() == n && scan.warnings.iter().all(is_whole), "{:?}", scan.warnings);
            for (i, (row, point)) in scan.cloud.data().chunks(7).zip(&points).enumerate() {
                let time = (250_000_000 + i) as f32;
                let wanted = [point[0], point[1], point[2], 200.0, 16.0, 3.0, time].map(f32::to_bits);
                assert_eq!(row.iter().map(|v| v.to_bits()).collect::<Vec<_>>(), wanted);
            }
            for end in 0..bytes.len() {
                assert_eq!(read(&bytes[..end]).unwrap_err().class(), "Truncated", "{little} {n} {end}");
            }
        }
        let told: Vec<_> =
            read(&custom_msg(9, &points, little)).unwrap().warnings.iter().map(Warning::to_string).collect();
        assert!(told[0].contains("point_num") && told[0].contains("3 (the points of the list)"), "{told:?}");
    }
    // A number of points that the message does not have takes no memory.
    let mut lies = custom_msg(1, &points[..1], true);
    let at = lies.len() - 19 - 4;
    lies[at..at + 4].fill(0xff);
    assert_eq!(read(&lies).unwrap_err().class(), "Truncated");
    // The names of the type in the drivers of both ROS.
    for (name, is_one) in [
        ("livox_ros_driver/CustomMsg", true),
        ("livox_ros_driver1/CustomMsg", true),
        ("livox_ros_driver2/msg/CustomMsg", true),
        ("livox_interfaces/msg/CustomMsg", true),
        ("other/CustomMsg", false),
        ("livox_ros_driver2/msg/CustomPoint", false),
    ] {
        let records = [schema(1, name), channel(1, 1, "/livox/lidar"), message(1, 3, &custom_msg(3, &points, true))];
        assert_eq!(open(&bag::bag(&records)).unwrap().topics()[0].cloud_encoding().is_some(), is_one, "{name}");
    }
}

#[test]
fn damaged_bags_are_refused_or_read() {
    let mut damage = Damage::new(400);
    // Databases are damaged in a test of their own.
    let bags = bags().into_iter().filter(|(name, _)| !name.ends_with(".db3"));
    let valid: Vec<_> = bags
        .map(|(name, bytes)| {
            let structure = if bytes.starts_with(MAGIC) { bag::structure } else { rosbag::structure };
            let (boundaries, numbers) = structure(&bytes);
            Valid { name, format: Format::Mcap, bytes, boundaries, numbers, header: 0, text: false }
        })
        .collect();
    for valid in &valid {
        damage.check(valid, &valid.bytes);
        for bytes in cuts(valid) {
            damage.check(valid, &bytes);
        }
    }
    for valid in valid.iter().filter(|valid| {
        ["xyzirc_none.mcap", "livox_lz4.mcap", "hesai_zstd.mcap", "velodyne_plain.mcap", "velodyne_none.bag"]
            .contains(&&*valid.name)
    }) {
        for bytes in extremes(valid) {
            damage.check(valid, &bytes);
        }
    }
    damage.wound(&valid, |_| {});
    let Damage { seen, good, .. } = damage;
    assert!(good >= 40 && seen > 2 * good);
}
