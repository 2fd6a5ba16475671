//! Tests of `src/icp/args.rs`.

use super::*;

#[test]
fn stages_are_read_to_the_letter() {
    let stage = |voxel_size, max_distance| Stage { voxel_size, max_distance };
    let wanted = Schedule(vec![stage(1.0, Some(5.0)), stage(0.25, None), stage(0.0, Some(0.5))]);
    assert_eq!(parse_schedule("1:5, 0.25:none,0:.5"), Ok(wanted));
    for bad in ["", "1", "1:", ":1", "1:2,", "1:2:3", "a:1"] {
        assert!(parse_schedule(bad).unwrap_err().starts_with("expected V:D"), "{bad}");
    }
}

#[test]
fn normals_are_computed_from_as_many_points_as_asked() {
    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        icp: IcpArgs,
    }
    let params =
        |args: &str| <Line as clap::Parser>::parse_from(format!("icp a b {args}").split_whitespace()).icp.params();
    assert_eq!((params("").neighbours, params("--neighbours 8").neighbours), (20, 8));
}
