//! Random and damaged bytes: an answer or an error, never a panic, and never more memory than there
//! are bytes for.
mod common;

use common::{header, npy, zip};
use pointmill_io::{Format, ReadOptions, read_from, read_npy, read_npz};
use proptest::prelude::*;

/// Gives the bytes to every reader.
fn all(bytes: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    std::fs::write(&path, bytes).unwrap();
    let shown = |message: String| assert!(!message.chars().any(char::is_control), "{message:?}");
    for &format in Format::ALL {
        let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
        for read in [pointmill_io::read(&path, &options), read_from(bytes, "s", &options)] {
            match read {
                Ok(scan) => assert!(scan.cloud.data().len() <= 1100 * bytes.len()),
                Err(e) => shown(e.to_string()),
            }
        }
    }
    if let Err(e) = read_npy(&path) {
        shown(e.to_string());
    }
    if let Err(e) = read_npz(&path) {
        shown(e.to_string());
    }
}

/// A good array, to be damaged.
fn good() -> Vec<u8> {
    npy(&header("<f4", false, "(5, 4)"), &[7; 80])
}

fn damage() -> impl Strategy<Value = Vec<(prop::sample::Index, u8)>> {
    prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)
}

fn damaged(mut bytes: Vec<u8>, damage: &[(prop::sample::Index, u8)], cut: Option<prop::sample::Index>) -> Vec<u8> {
    for (at, byte) in damage {
        let at = at.index(bytes.len());
        bytes[at] = *byte;
    }
    if let Some(cut) = cut {
        bytes.truncate(cut.index(bytes.len()));
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        all(&bytes);
    }

    #[test]
    fn random_header_text(text in "[\\[\\](){}',: a-z<>|0-9fiu\\x00-\\x20\\\\-]{0,120}") {
        all(&npy(&text, &[0; 16]));
    }

    #[test]
    fn random_descr_and_shape(descr in "[<>|=]?[a-zA-Z][0-9]{0,3}", fortran: bool, shape in prop::collection::vec(any::<i64>(), 0..4)) {
        let shape: Vec<_> = shape.iter().map(|n| format!("{},", n >> (n & 63))).collect();
        all(&npy(&header(&descr, fortran, &format!("({})", shape.concat())), &[1; 64]));
    }

    #[test]
    fn damaged_arrays(damage in damage(), cut: Option<prop::sample::Index>) {
        all(&damaged(good(), &damage, cut));
    }

    #[test]
    fn damaged_archives(deflate: bool, damage in damage(), cut: Option<prop::sample::Index>) {
        all(&damaged(zip(&[("points.npy", &good()), ("b.npy", &good())], deflate), &damage, cut));
    }

    #[test]
    fn raw_rows_of_any_length(length in 0usize..2000, columns in 3usize..9) {
        let options = ReadOptions { format: Some(Format::Bin), columns: Some(columns), ..ReadOptions::default() };
        match read_from(&vec![0; length][..], "s", &options) {
            Ok(scan) => prop_assert_eq!(scan.cloud.len() * 4 * columns, length),
            Err(e) => {
                prop_assert_eq!(e.class(), "SizeMismatch");
                prop_assert!(length % (4 * columns) != 0);
            }
        }
    }
}

#[test]
fn nested_brackets_take_no_time() {
    let start = std::time::Instant::now();
    for bracket in ["[", "(", "{", "[[1],", "{'descr':"] {
        all(&npy(&bracket.repeat(9000 / bracket.len()), &[]));
        all(&npy(&format!("{{'descr': {}", bracket.repeat(60)), &[]));
    }
    assert!(start.elapsed().as_secs() < 5);
}
