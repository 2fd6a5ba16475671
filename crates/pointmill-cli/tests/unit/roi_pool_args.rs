//! Tests of `src/roi_pool/args.rs`.

use super::*;
use clap::Parser;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: RoiPoolArgs,
}

fn task(flags: &str) -> Task {
    Task::of(&Line::parse_from(format!("roi-pool {flags}").split_whitespace()).args)
}

#[test]
fn the_defaults_are_those_of_the_library() {
    let Task::Pool(params) = task("") else { panic!("no pooling") };
    assert_eq!(params, RoiPoolParams::default());
    let Task::Inside(BoxQuery::Count, params) = task("--inside count") else { panic!("no count") };
    assert_eq!(params, BoxParams::default());
}

#[test]
fn flags_become_parameters() {
    let flags = "--out-size 3,4,5 --max-points 6 --mode mean --origin center --margin 1e-5 --layout csr";
    let Task::Pool(params) = task(flags) else { panic!("no pooling") };
    let wanted = RoiPoolParams {
        out_size: [3, 4, 5],
        max_points_per_voxel: 6,
        mode: PoolMode::Mean,
        origin: BoxOrigin::Center,
        margin: 1e-5,
        layout: RoiLayout::Csr,
        lists: true,
    };
    assert_eq!(params, wanted);
}
