//! Bags of ROS 2 in SQLite: the same clouds as of MCAP, databases that were cut, and databases that lie.
mod common;

use common::damage::{cuts, extremes};
use common::survive::Damage;
use common::valid::Valid;
use pointmill_io::bag::{Bag, Cloud};
use pointmill_io::{Format, IoError, Limits};
use std::io::Cursor;
use std::path::{Path, PathBuf};

/// Databases as rosbag2 lays them, and with small pages and columns in another order.
const LAYOUTS: [&str; 4] = ["velodyne", "ouster", "robosense", "big_endian"];

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/bags").join(name)
}

fn database(layout: &str) -> Vec<u8> {
    std::fs::read(fixture(&format!("{layout}_sqlite.db3"))).unwrap()
}

fn open(bytes: &[u8]) -> Result<Bag, IoError> {
    Bag::new(Cursor::new(bytes.to_vec()), "b.db3", &Limits::default())
}

fn refused(bytes: &[u8]) -> String {
    open(bytes).err().map_or_else(|| "it opens".into(), |e| format!("{}: {e}", e.class()))
}

fn clouds_of(bag: &Bag) -> Vec<Result<Cloud, IoError>> {
    bag.clouds(None).map_or(vec![], Iterator::collect)
}

fn page_size(bytes: &[u8]) -> usize {
    usize::from(u16::from_be_bytes([bytes[16], bytes[17]]))
}

/// The bytes with one text in place of another as long, each time it stands there.
fn with(bytes: &[u8], old: &str, new: &str) -> Vec<u8> {
    assert_eq!(old.len(), new.len());
    let mut out = bytes.to_vec();
    let places = bytes.windows(old.len()).enumerate().filter(|(_, at)| *at == old.as_bytes());
    let count = places.map(|(at, _)| out[at..at + new.len()].copy_from_slice(new.as_bytes())).count();
    assert!(count > 0, "{old}");
    out
}

#[test]
fn the_same_messages_give_the_same_clouds() {
    for layout in ["velodyne", "ouster", "hesai", "livox", "robosense", "xyzirc", "xyzircaedt", "padded", "empty"] {
        let mcap = Bag::open(fixture(&format!("{layout}_none.mcap")), &Limits::default()).unwrap();
        let bag = open(&database(layout)).unwrap();
        assert_eq!((bag.format(), bag.cut().is_none()), (Format::Sqlite, true));
        let told = |bag: &Bag| -> Vec<_> {
            let topics = bag.topics().iter();
            topics.map(|t| (t.name.clone(), t.message_encoding.clone(), t.count, t.first_ns, t.last_ns)).collect()
        };
        assert_eq!(told(&bag), told(&mcap), "{layout}");
        let (found, wanted) = (clouds_of(&bag), clouds_of(&mcap));
        assert_eq!(found.len(), 3);
        for (found, wanted) in found.into_iter().zip(wanted) {
            let (mut found, wanted) = (found.unwrap(), wanted.unwrap());
            assert_eq!(found.scan.format, Format::Sqlite);
            found.scan.format = Format::Mcap;
            // Values that are no numbers are none of their equals.
            let bits = |cloud: &Cloud| cloud.scan.cloud.data().iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&found), bits(&wanted), "{layout}");
            assert_eq!(
                (found.stamp_ns, found.log_time_ns, found.frame, found.scan.fields),
                (wanted.stamp_ns, wanted.log_time_ns, wanted.frame, wanted.scan.fields)
            );
        }
    }
}

#[test]
fn a_cut_database_gives_every_whole_message_and_then_says_so() {
    for layout in LAYOUTS {
        let bytes = database(layout);
        let stamps = |clouds: &[Cloud]| clouds.iter().map(|cloud| cloud.stamp_ns).collect::<Vec<_>>();
        let whole: Vec<_> = clouds_of(&open(&bytes).unwrap()).into_iter().map(Result::unwrap).collect();
        let (whole, mut most) = (stamps(&whole), 0);
        for end in (1..200).chain((200..bytes.len()).step_by(61)) {
            let bag = open(&bytes[..end]).unwrap();
            assert_eq!(bag.cut().unwrap().class(), "Truncated", "{layout} {end}");
            if let Err(e) = bag.cloud_topic(None) {
                assert_eq!(e.to_string(), bag.cut().unwrap().to_string(), "{layout} {end}");
            }
            let mut clouds = clouds_of(&bag);
            if let Some(last) = clouds.pop() {
                assert_eq!(last.unwrap_err().class(), "Truncated");
            }
            let clouds = stamps(&clouds.into_iter().map(Result::unwrap).collect::<Vec<_>>());
            assert!(clouds.len() >= most && clouds.iter().all(|cloud| whole.contains(cloud)), "{layout} {end}");
            most = clouds.len();
            if end < 100 {
                continue;
            }
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), &bytes[..end]).unwrap();
            let bag = Bag::salvage(file.path(), &Limits::default()).unwrap();
            let salvaged: Vec<_> = clouds_of(&bag).into_iter().map(Result::unwrap).collect();
            assert_eq!((stamps(&salvaged), bag.damage().is_some()), (clouds, true), "{layout} {end}");
        }
        assert!(most > 0, "{layout}");
    }
}

#[test]
fn databases_that_lie_are_refused() {
    let good = database("velodyne");
    assert_eq!(refused(&good), "it opens");
    let byte = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        bytes
    };
    let root = (page_size(&good)..).step_by(page_size(&good)).take_while(|&at| at < good.len());
    let nodes: Vec<_> = root.filter(|&at| good[at] == 5).collect();
    for (bytes, told) in [
        (with(&good, "SQLite f", "SQLite g"), "BadHeader: b.db3: first bytes: expected SQLite format 3\\0, with which"),
        (byte(17, 1), "BadHeader: b.db3: page size: expected a power of two from 512 to 65536, got 4097"),
        (byte(19, 3), "UnsupportedFormat: b.db3: version: expected 1 or 2, got 3"),
        (byte(21, 0), "BadHeader: b.db3: payload fractions: expected 64, 32 and 32, got [0, 32, 32]"),
        (byte(59, 2), "UnsupportedFormat: b.db3: encoding: expected texts in UTF-8, as ROS 2 writes them, got UTF-16"),
        (
            byte(100, 10),
            "BadValue: b.db3: kind of page: expected 5 or 13 in page 1, a node of a table with row ids, got 10",
        ),
        (byte(103, 255), "BadValue: b.db3: cells: expected as many as fit page 1"),
        (
            with(&good, "tablemessages", "view messages"),
            "UnsupportedFormat: b.db3: `messages`: expected a table of the",
        ),
        (
            with(&good, "tabletopics", "indextopics"),
            "UnsupportedFormat: b.db3: `topics`: expected a table of the database, got a index",
        ),
        (with(&good, "tablemessages", "tablemassages"), "UnsupportedFormat: b.db3: tables: expected the tables"),
        (
            with(&good, "CREATE TABLE messages", "CREATE TABLE /*ssages"),
            "UnsupportedFormat: b.db3: `messages`: expected a plain",
        ),
        (
            with(&good, "timestamp INTEGER", "timestomp INTEGER"),
            "UnsupportedFormat: b.db3: `messages`: expected a column `timestamp`",
        ),
        (with(&good, "/points", "/poi\nts"), "BadValue: b.db3: topics.name: expected at most 1024 bytes of UTF-8"),
    ] {
        let found = refused(&bytes);
        assert!(found.starts_with(told), "{found}\n{told}");
    }
    // A node that is its own child, or two parents' child.
    for at in nodes {
        let mut bytes = good.clone();
        let own = (at / page_size(&good) + 1) as u32;
        bytes[at + 8..at + 12].copy_from_slice(&own.to_be_bytes());
        let found = refused(&bytes);
        assert!(
            found.contains(&format!("expected each page in one place of one table, got page {own} twice")),
            "{found}"
        );
    }
}

#[test]
fn changes_beside_a_database_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("b.db3");
    std::fs::write(&path, database("velodyne")).unwrap();
    for beside in ["b.db3-wal", "b.db3-journal"] {
        let beside = folder.path().join(beside);
        std::fs::write(&beside, "").unwrap();
        Bag::open(&path, &Limits::default()).unwrap();
        std::fs::write(&beside, "x").unwrap();
        for opened in [Bag::open(&path, &Limits::default()), Bag::salvage(&path, &Limits::default())] {
            let e = opened.unwrap_err();
            let way = format!("or run `sqlite3 {} 'pragma wal_checkpoint(truncate)'`", path.display());
            assert!(e.class() == "UnsupportedFormat" && e.to_string().ends_with(&way), "{e}");
        }
        std::fs::remove_file(beside).unwrap();
    }
}

#[test]
fn damaged_databases_are_refused_or_read() {
    let mut damage = Damage::new(20_000);
    let valid = LAYOUTS.map(|layout| {
        let bytes = database(layout);
        let size = page_size(&bytes);
        let boundaries = (0..bytes.len()).step_by(size).collect();
        // The header, and of each page its own, its first places, and the first row of the schema.
        let numbers = [(16, 2), (18, 1), (19, 1), (20, 1), (21, 1), (24, 4), (28, 4), (56, 4), (92, 4)].into_iter();
        let pages = (0..bytes.len()).step_by(size).map(|at| if at == 0 { 100 } else { at });
        let heads =
            pages.flat_map(|at| [(at, 4), (at, 1), (at + 3, 2), (at + 5, 2), (at + 8, 4), (at + 8, 2), (at + 10, 2)]);
        let cells = (size - 80..size).map(|at| (at, 1));
        let numbers = numbers.chain(heads).chain(cells).collect();
        Valid { name: layout.into(), format: Format::Sqlite, bytes, boundaries, numbers, header: 0, text: false }
    });
    let salvaged = |bytes: &[u8]| {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        if let Ok(bag) = Bag::salvage(file.path(), &Limits::default()) {
            drop(clouds_of(&bag));
        }
    };
    for valid in &valid {
        for bytes in cuts(valid).chain(extremes(valid)) {
            damage.check(valid, &bytes);
            salvaged(&bytes);
        }
    }
    damage.wound(&valid, salvaged);
    let Damage { seen, good, .. } = damage;
    assert!(good > 0 && seen > good);
}
