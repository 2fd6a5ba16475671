//! Tests of `src/flags/parse.rs`.

use super::*;

#[test]
fn numbers_are_counted() {
    assert_eq!(parse_voxel_size("0.2"), Ok([0.2; 3]));
    assert_eq!(parse_voxel_size("0.1, 0.2,0.3"), Ok([0.1, 0.2, 0.3]));
    assert_eq!(parse_voxel_size("0.1,0.2"), Err("expected 1 or 3 numbers separated by commas, got 2".into()));
    assert_eq!(parse_voxel_size("x"), Err("expected a number".into()));
    assert_eq!((parse_out_size("7"), parse_out_size("1,2,3")), (Ok([7; 3]), Ok([1, 2, 3])));
    assert_eq!(parse_out_size("-7"), Err("expected a whole number".into()));
    assert_eq!(parse_out_size("1,2"), Err("expected 1 or 3 whole numbers separated by commas, got 2".into()));
    assert_eq!((parse_bytes("7"), parse_bytes("3k"), parse_bytes("2G")), (Ok(7), Ok(3 << 10), Ok(2 << 30)));
    assert!(
        ["", "G", "-1", "1T", "1.5G", "9223372036854775808", "18446744073709551615G"]
            .map(parse_bytes)
            .iter()
            .all(Result::is_err)
    );
    assert_eq!(parse_numbers::<6>("-54,-54,-5,54,54,3"), Ok([-54.0, -54.0, -5.0, 54.0, 54.0, 3.0]));
}
