//! Bags of ROS 1 made by hand: the same clouds as of MCAP, bags that were cut, and bags that lie.
mod common;

use common::bag::{self, Message};
use common::damage::{cuts, extremes};
use common::rosbag::{
    HEADER, MAGIC, Style, chunk, chunk_info, chunk_of, connection, header, index, message, pack, record, structure,
    with_index,
};
use common::survive::Damage;
use common::valid::Valid;
use pointmill_io::bag::{Bag, Cloud};
use pointmill_io::{Format, IoError, Limits, ReadOptions, read_from};
use std::io::Cursor;

const CLOUD: &str = "sensor_msgs/PointCloud2";
const STYLES: [(&str, bool); 6] =
    [("none", true), ("bz2", true), ("lz4", true), ("none", false), ("bz2", false), ("lz4", false)];

fn open(bytes: &[u8]) -> Result<Bag, IoError> {
    Bag::new(Cursor::new(bytes.to_vec()), "b.bag", &Limits::default())
}

fn refused(bytes: &[u8]) -> String {
    open(bytes).err().map_or_else(|| "it opens".into(), |e| format!("{}: {e}", e.class()))
}

fn clouds_of(bag: &Bag) -> Vec<Result<Cloud, IoError>> {
    bag.clouds(None).map_or(vec![], Iterator::collect)
}

fn cloud(i: u64) -> Message {
    let points: Vec<_> = (0..9).map(|j| [i as f32, 0.5 * j as f32, -1.0]).collect();
    Message { seconds: 1000 + i as i32, ..Message::new(&points) }
}

/// Clouds and other messages; clouds of the second half lie before those of the first in time.
fn messages(count: u64) -> Vec<(&'static str, &'static str, u64, Vec<u8>)> {
    let ns = |i: u64| 1_700_000_000_000_000_000 + (i + count / 2) % count * 100_000_000;
    (0..count)
        .flat_map(|i| {
            [("/points", CLOUD, ns(i), cloud(i).ros1()), ("/notes", "std_msgs/String", ns(i) + 1, vec![1, 0, 0, 0, 65])]
        })
        .collect()
}

#[test]
fn the_same_messages_give_the_same_clouds() {
    let all = messages(6);
    let notes = [bag::schema(2, "std_msgs/msg/String"), bag::channel(2, 2, "/notes")].concat();
    let mut records = vec![bag::clouds(1, "/points"), notes];
    for (i, two) in all.chunks(2).enumerate() {
        records.push(bag::message(1, two[0].2, &cloud(i as u64).bytes()));
        records.push(bag::message(2, two[1].2, &two[1].3));
    }
    let mcap = Bag::new(Cursor::new(bag::bag(&records)), "b.mcap", &Limits::default()).unwrap();
    let wanted: Vec<_> = clouds_of(&mcap).into_iter().map(Result::unwrap).collect();
    assert_eq!(
        wanted.iter().map(|c| c.stamp_ns / 1_000_000_000).collect::<Vec<_>>(),
        [1003, 1004, 1005, 1000, 1001, 1002]
    );
    for (compression, indexed) in STYLES {
        for together in [1, 2, 5, 100] {
            let bytes = common::rosbag::bag(&all, Style { compression, together, indexed });
            let bag = open(&bytes).unwrap();
            assert_eq!((bag.cut().is_none(), bag.format()), (indexed, Format::Rosbag));
            let told = |bag: &Bag| -> Vec<_> {
                bag.topics().iter().map(|t| (t.name.clone(), t.count, t.first_ns, t.last_ns)).collect()
            };
            assert_eq!(told(&bag), told(&mcap));
            let mut found = clouds_of(&bag);
            if !indexed {
                let e = found.pop().unwrap().unwrap_err();
                let wanted = "b.bag: index: expected an index, got none; the bag was not closed; --salvage reads the whole chunks";
                assert_eq!((e.class(), e.to_string().as_str()), ("Truncated", wanted));
            }
            for (mut found, wanted) in found.into_iter().map(Result::unwrap).zip(&wanted) {
                assert_eq!(found.scan.format, Format::Rosbag);
                found.scan.format = Format::Mcap;
                assert_eq!(&found, wanted, "{compression} {indexed} {together}");
            }
            assert_eq!(bag.topics()[1].count, 6);
        }
    }
    // A bag of one cloud is a cloud, and messages may lie outside of chunks.
    let one = common::rosbag::bag(&all[..1], Style { compression: "lz4", together: 1, indexed: true });
    let scan = read_from(&one[..], "-", &ReadOptions::default()).unwrap();
    assert_eq!((scan.format, scan.cloud.len()), (Format::Rosbag, 9));
    let body = [connection(0, "/points", CLOUD), message(0, 7, &all[0].3)].concat();
    let bag = open(&with_index(&body, &[], 1, 0)).unwrap();
    assert_eq!(clouds_of(&bag)[0].as_ref().unwrap().scan.cloud, scan.cloud);
}

#[test]
fn a_cut_bag_gives_every_whole_chunk_and_then_says_so() {
    for (compression, indexed) in STYLES {
        let bytes = common::rosbag::bag(&messages(4), Style { compression, together: 3, indexed });
        let whole: Vec<_> = clouds_of(&open(&bytes).unwrap()).into_iter().filter_map(Result::ok).collect();
        let mut most = 0;
        for end in 1..bytes.len() {
            let bag = open(&bytes[..end]).unwrap();
            assert_eq!(bag.cut().unwrap().class(), "Truncated", "{compression} {end}");
            let mut clouds = clouds_of(&bag);
            if let Some(last) = clouds.pop() {
                assert_eq!(last.unwrap_err().class(), "Truncated");
            }
            let clouds: Vec<_> = clouds.into_iter().map(Result::unwrap).collect();
            assert!(clouds.len() >= most && clouds.iter().all(|cloud| whole.contains(cloud)), "{compression} {end}");
            most = clouds.len();
        }
        // Of a bag that was not closed the last chunk is cut.
        assert_eq!(most, if indexed { 4 } else { 3 });
    }
}

#[test]
fn a_salvage_leaves_out_a_damaged_chunk() {
    for compression in ["bz2", "lz4"] {
        for indexed in [true, false] {
            let mut bytes = common::rosbag::bag(&messages(4), Style { compression, together: 2, indexed });
            let magic = if compression == "bz2" { &b"BZh"[..] } else { &[4, 0x22, 0x4d, 0x18] };
            let third = bytes.windows(magic.len()).enumerate().filter(|(_, at)| *at == magic).nth(2).unwrap().0;
            bytes[third] ^= 1;
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), &bytes).unwrap();
            let bag = Bag::salvage(file.path(), &Limits::default()).unwrap();
            let stamps: Vec<_> = clouds_of(&bag).into_iter().map(|c| c.unwrap().stamp_ns / 1_000_000_000).collect();
            assert_eq!((stamps, bag.damage().is_some()), (vec![1003, 1000, 1001], true));
            if indexed {
                // The others come, and an error in its place.
                let found: Vec<_> = clouds_of(&open(&bytes).unwrap()).iter().map(Result::is_ok).collect();
                assert_eq!(found, [false, true, true, true]);
            }
        }
    }
}

#[test]
fn bags_that_lie_are_refused() {
    let data = cloud(1).ros1();
    let records = [connection(0, "/a", CLOUD), message(0, 9, &data)].concat();
    let (at, size) = (connection(0, "/a", CLOUD).len() as u32, records.len() as u32);
    let start = (MAGIC.len() + HEADER) as u64;
    let open_end = |body: &[u8]| [MAGIC, &header(HEADER, 0, 0, 0), body].concat();
    assert!(
        refused(b"#ROSBAG V1.2\n")
            .starts_with("UnsupportedFormat: b.bag: version: expected a ROS 1 bag of version 2.0")
    );
    assert!(refused(b"no bag at all").starts_with("BadHeader: b.bag: first bytes: expected #ROSBAG V2.0\\n"));
    let told = refused(&[MAGIC, &connection(0, "/a", CLOUD)].concat());
    assert_eq!(told, "BadHeader: b.bag: first record: expected the header of a bag, got op 7");
    for (body, told) in [
        (message(3, 9, &data), "BadValue: b.bag: message: expected a channel that is known, got channel 3"),
        (
            [connection(0, "/a", CLOUD), connection(0, "/b", CLOUD)].concat(),
            "BadValue: b.bag: channel 0: expected one topic, got `/b` too",
        ),
        (connection(65536, "/a", CLOUD), "LimitExceeded: b.bag: conn: expected a number below 65536"),
        (record(9, &[], &[]), "BadValue: b.bag: op of a record: expected 2, or 4 to 7, got 9"),
        (
            common::rosbag::sized(b"\x03\0\0\0abc"),
            "BadHeader: b.bag: field of a header: expected name=value, got `abc`",
        ),
        (
            common::rosbag::sized(b"\xff\xff\xff\xffa=c"),
            "BadHeader: b.bag: field of a header: expected 4294967295 bytes",
        ),
        (record(7, &[("conn", b"123")], &[]), "BadHeader: b.bag: field `conn`: expected 4 bytes, got 3 bytes"),
        (record(7, &[("conn", &[0; 4]), ("conn", &[0; 4])], &[]), "BadHeader: b.bag: field `conn`: expected one value"),
        (record(7, &[], &[]), "BadHeader: b.bag: field `conn` of a record of op 7: expected a value, got none"),
        (chunk("none", &chunk("none", &records)), "BadValue: b.bag: op of a record in a chunk: expected 2 or 7, got 5"),
        // Sizes.
        (chunk_of("none", u32::MAX, &records), "LimitExceeded: b.bag: chunk unpacked: expected at most 16777216 bytes"),
        (chunk_of("bz2", u32::MAX, &records), "LimitExceeded: b.bag: chunk unpacked: expected at most 16777216 bytes"),
        (chunk_of("none", size + 1, &records), "Decompress: b.bag: chunk at byte"),
        (chunk_of("none", size - 1, &records), "Decompress: b.bag: chunk at byte"),
        (chunk_of("bz2", size + 1, &pack("bz2", &records)), "Decompress: b.bag: chunk at byte"),
        (chunk_of("bz2", size - 1, &pack("bz2", &records)), "Decompress: b.bag: chunk at byte"),
        (chunk_of("lz4", size + 1, &pack("lz4", &records)), "Decompress: b.bag: chunk at byte"),
        (chunk_of("lz4", size - 1, &pack("lz4", &records)), "Decompress: b.bag: chunk at byte"),
        (chunk_of("bz2", size, &records), "Decompress: b.bag: chunk at byte"),
        (chunk_of("lz4", size, &records), "Decompress: b.bag: chunk at byte"),
        (
            chunk_of("bz2", size, &[pack("bz2", &records), vec![7]].concat()),
            "Decompress: b.bag: chunk at byte 141: data: expected one stream of bzip2, got 1 bytes behind it",
        ),
        (
            chunk_of("zstd", size, &records),
            "UnsupportedFormat: b.bag: compression: expected none, lz4 or bz2, got `zstd`",
        ),
        (
            chunk_of("none", 7, b"\xff\0\0\0abc"),
            "SizeMismatch: b.bag: header of a record in a chunk: expected 255 bytes",
        ),
    ] {
        let found = refused(&open_end(&body));
        assert!(found.starts_with(told), "{found}");
    }
    // What the end of the bag says of it.
    let body = [chunk("none", &records), index(0, &[(9, at)])].concat();
    let ends = |infos: &[u8], connections, chunks| {
        with_index(&body, &[&connection(0, "/a", CLOUD), infos].concat(), connections, chunks)
    };
    assert_eq!(refused(&ends(&chunk_info(start, &[(0, 1)]), 1, 1)), "it opens");
    let told = refused(&ends(&chunk_info(start, &[(0, 2)]), 1, 1));
    assert!(
        told.ends_with("channel 0 `/a`: expected 2 messages, as the index of chunks says, got 1 messages"),
        "{told}"
    );
    let cut = |bytes: Vec<u8>| open(&bytes).unwrap().cut().map(|e| e.to_string()).unwrap_or_default();
    let told = cut(ends(&chunk_info(start, &[(0, 1)]), 2, 1));
    assert!(
        told.starts_with("b.bag: index of connections: expected 2, as the header of the bag says, got 1"),
        "{told}"
    );
    assert!(
        refused(&ends(&chunk_info(start, &[(0, 1)]), 0, 1)).starts_with("SizeMismatch: b.bag: index of connections")
    );
    // An index is believed to be complete, and each of its messages is looked at.
    for (entries, told) in [
        (&[(8, at)][..], "BadValue: b.bag#000000: message at byte"),
        (&[(9, 0)], "BadValue"),
        (&[(9, u32::MAX)], "BadValue"),
        (&[(9, at + 1)], "SizeMismatch"),
    ] {
        let body = [chunk("none", &records), index(0, entries)].concat();
        let bag = open(&with_index(&body, &connection(0, "/a", CLOUD), 1, 0)).unwrap();
        let found = clouds_of(&bag);
        let e = found[0].as_ref().unwrap_err();
        assert!(format!("{}: {e}", e.class()).starts_with(&told[..8]), "{}: {e}", e.class());
    }
    let twice = [chunk("none", &records), index(0, &[(9, at), (9, at)])].concat();
    assert!(
        refused(&with_index(&twice, &connection(0, "/a", CLOUD), 1, 0))
            .contains("message index: expected each message once")
    );
    // Encryption.
    let head: [(&str, &[u8]); 4] =
        [("index_pos", &[0; 8]), ("conn_count", &[0; 4]), ("chunk_count", &[0; 4]), ("encryptor", b"aes")];
    let told = refused(&[MAGIC, &record(3, &head, &[])].concat());
    assert_eq!(told, "UnsupportedFormat: b.bag: encryptor: expected none, got `aes`");
}

#[test]
fn much_of_little_is_refused_before_it_is_taken() {
    // 15 MiB of zeros in 50 bytes: up to the limit it is unpacked, beyond it is not.
    let packed = pack("bz2", &vec![0; 15 << 20]);
    let bytes = [MAGIC, &header(HEADER, 0, 0, 0), &chunk_of("bz2", 100, &packed)].concat();
    let used =
        allocation_counter::measure(|| assert!(refused(&bytes).starts_with("Decompress"), "{}", refused(&bytes)));
    assert!(used.bytes_max < 6 << 20, "{} bytes", used.bytes_max);
    let many: Vec<u8> = (0..5).flat_map(|_| chunk_of("bz2", 15 << 20, &packed)).collect();
    let bytes = [MAGIC, &header(HEADER, 0, 0, 0), &many].concat();
    let used = allocation_counter::measure(|| drop(refused(&bytes)));
    assert!(used.bytes_max < 40 << 20, "{} bytes", used.bytes_max);
    // A million connections: of one topic they cost nothing, of many they are refused.
    let one: Vec<u8> = (0..1_000_000u32).flat_map(|i| connection(i % 1000, "/a", "t")).collect();
    let many: Vec<u8> = (0..1_000_000u32).flat_map(|i| connection(i % 65536, &format!("/{i}"), "t")).collect();
    let bad: Vec<u8> = (0..1_000_000u32).flat_map(|i| connection(i, "/a", "t")).collect();
    for (records, told) in [
        (one, "it opens"),
        (many, "expected at most 4096 topics, got one more; split the bag by topics"),
        (bad, "expected a number below 65536; split the bag by topics, got 65536"),
    ] {
        let bytes = with_index(&[], &records, 1_000_000, 0);
        drop(records);
        let start = std::time::Instant::now();
        let used = allocation_counter::measure(|| {
            let found = refused(&bytes);
            assert!(found.ends_with(told), "{found}");
        });
        let limit = bytes.len() as u64 + (16 << 20);
        assert!(used.bytes_max < limit && start.elapsed().as_secs() < 30, "{used:?} {:?}", start.elapsed());
    }
}

#[test]
fn damaged_bags_are_refused_or_read() {
    let mut damage = Damage::new(20_000);
    let valid = STYLES.map(|(compression, indexed)| {
        let bytes = common::rosbag::bag(&messages(2), Style { compression, together: 2, indexed });
        let (boundaries, numbers) = structure(&bytes);
        Valid { name: compression.into(), format: Format::Rosbag, bytes, boundaries, numbers, header: 0, text: false }
    });
    for valid in &valid {
        for bytes in cuts(valid).chain(extremes(valid)) {
            damage.check(valid, &bytes);
        }
    }
    damage.wound(&valid, |_| {});
    let Damage { seen, good, .. } = damage;
    assert!(good > 0 && seen > 2 * good);
}
