//! Tests of `src/voxelize/args.rs`.

use super::*;
use clap::Parser;
use pointmill::voxelize::MAX_POINTS;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: VoxelizeArgs,
}

fn params(flags: &str) -> VoxelizeParams {
    let words = std::iter::once("voxelize").chain(flags.split_whitespace());
    Line::parse_from(words).args.params([0.0; 3]).unwrap()
}

#[test]
fn the_defaults_are_those_of_the_library() {
    let mut wanted = VoxelizeParams::default();
    wanted.outputs.mean = Some(MeanType::F32);
    assert_eq!(params(""), wanted);
}

#[test]
fn a_range_is_global_unless_it_is_the_default() {
    let args = |flags: &str| Line::parse_from(std::iter::once("voxelize").chain(flags.split_whitespace())).args;
    let origin = [515_000.0, 4_918_000.0, 0.0];
    let given = args("--range 515300,4918340,0,515400.1,4918380,50").params(origin).unwrap().range;
    assert_eq!(given, Aabb::new([300.0, 340.0, 0.0], [400.1, 380.0, 50.0]));
    assert_eq!(args("").params(origin).unwrap().range, VoxelizeParams::default().range);
    assert_eq!(args("--range auto").range.0, None);
}

#[test]
fn points_stay_by_the_rule_that_is_asked_for() {
    assert_eq!(params("--pick random").pick, Pick::Random { seed: 0 });
    assert_eq!(params("--pick random --seed 18446744073709551615").pick, Pick::Random { seed: u64::MAX });
    assert_eq!(params("--pick round-robin --pick-column 4").pick, Pick::RoundRobin { column: 4 });
}

#[test]
fn dynamic_voxelization_has_no_limits_but_those_that_are_given() {
    let all = params("--dynamic");
    assert_eq!((all.max_voxels, all.max_points_per_voxel), (MAX_POINTS as u32, None));
    assert!(!all.outputs.voxels);
    assert_eq!(params("--dynamic --max-voxels 7").max_voxels, 7);
    assert_eq!(params("--dynamic=false").max_points_per_voxel, Some(10));
}
