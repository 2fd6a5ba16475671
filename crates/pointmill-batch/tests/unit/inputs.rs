//! Tests of `src/inputs.rs`.

use super::stem;

#[test]
fn stems_lose_the_extension_of_the_format() {
    for (path, wanted) in [
        ("a/000001.bin", "000001"),
        ("n015.v1.pcd.bin", "n015.v1"),
        ("x.y.npy", "x.y"),
        ("noext", "noext"),
        (".bin", ".bin"),
        ("a/b/", "b"),
    ] {
        assert_eq!(stem(path.as_ref()), wanted, "{path}");
    }
}
