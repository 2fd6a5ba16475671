//! Rules that the text of each kernel keeps. `README.md` beside this file says what follows from
//! them.

mod listing;

use crate::{MODULES, icp, ndt, odometry, registration, roi_pool, voxelize};
use listing::{Instruction, Listing, Origin, kernels};
use std::collections::BTreeMap;
use std::mem::offset_of;

/// Memory that a kernel both changes for other blocks and accesses plainly, and why no word of it
/// is accessed both ways by different threads.
const BOTH_WAYS: &[(&str, usize, &str)] = &[
    ("voxelize_rows", offset_of!(voxelize::RowsArgs, assign.table.entries), FIRST),
    ("voxelize_rows_of_many", offset_of!(voxelize::RowsArgs, assign.table.entries), FIRST),
    ("voxelize_rank", offset_of!(voxelize::RankArgs, table.entries), FIRST),
    ("voxelize_rows", offset_of!(voxelize::RowsArgs, assign.counters), COUNTERS),
    ("voxelize_rows_of_many", offset_of!(voxelize::RowsArgs, assign.counters), COUNTERS),
    ("voxelize_rank", offset_of!(voxelize::RankArgs, counters), COUNTERS),
    ("voxelize_find_rows", offset_of!(voxelize::FindRowsArgs, counters), COUNTERS),
    ("roi_first_box", offset_of!(roi_pool::FirstBoxArgs, first), "a launch stores all words plainly or lowers all"),
    ("ndt_finish", offset_of!(ndt::FinishArgs, totals), "the last tile stores `voxels`; blocks count other words"),
    ("icp_keep", offset_of!(icp::KeepArgs, clouds.heads), "the last tile stores `kept`; blocks count other words"),
    ("icp_local", offset_of!(icp::LocalArgs, clouds.heads), "blocks lower `far` and `bounds`, and read other words"),
    ("icp_spread_mean", offset_of!(icp::SpreadArgs, clouds.heads), ARRIVED),
    ("icp_spread_covariance", offset_of!(icp::SpreadArgs, clouds.heads), ARRIVED),
    ("icp_look", offset_of!(icp::LookArgs, state), STATS),
    ("icp_look_brute", offset_of!(icp::LookArgs, state), STATS),
    ("odometry_thin", offset_of!(odometry::ThinArgs, head), "the last tile stores `samples`; blocks add to `mark`"),
    (
        "odometry_remove_far_voxels",
        offset_of!(odometry::RemoveFarVoxelsArgs, head),
        "`left` is stored, `free` is read, blocks add to `points`",
    ),
    ("registration_bounds", offset_of!(registration::BoundsArgs, head), "blocks lower `bounds`, and read other words"),
    ("odometry_fill", offset_of!(odometry::FillArgs, map.voxels), "one thread has a voxel; all share `changed` alone"),
];
const FIRST: &str = "the thread of a cell's first point reads the key, and it alone empties the entry";
const COUNTERS: &str = "one thread stores or reads the words of the whole call; blocks add to others";
const ARRIVED: &str = "blocks count `arrived`, and read other words";
const STATS: &str = "blocks add to `stats`; the pose and the flags are read, and one thread stores a time";

/// Loops that end by what other blocks wrote and need not back off: what they are, and why they
/// never wait.
const CLIMBS: &[(&str, &str, &str)] = &[
    ("ndt_finish", "ld.relaxed.gpu.global.u64", "each round looks at the next entry of a table that is half empty"),
    ("sparse_outputs", "ld.relaxed.gpu.global.u64", "each round looks at the next entry of a set that is half empty"),
    (
        "registration_field_fill",
        "atom.relaxed.gpu.global.cas.b32",
        "each round finds a larger value in a word, which ends it",
    ),
    ("voxelize_", "ld.relaxed.gpu.global.v4.u32", "each round looks at the next four slots of a row"),
];

/// A plain load beside a store that other blocks see may be answered from an old cache line. Such
/// memory is named above, with a reason.
#[test]
fn memory_that_blocks_share_is_accessed_in_one_way() {
    let mut found = Vec::new();
    for kernel in kernels() {
        let origins = kernel.origins();
        let mut accesses: BTreeMap<Origin, [bool; 2]> = BTreeMap::new();
        for instruction in kernel.instructions() {
            let Some(address) = instruction.address() else { continue };
            // Addresses that lie in memory themselves are those of a cloud's points, which are
            // read.
            let from = &origins[address];
            assert!(
                !from.is_empty() || instruction.is_load(),
                "{}: {} to an unknown place",
                kernel.name,
                instruction.name
            );
            for &origin in from {
                let [changed, plain] = accesses.entry(origin).or_default();
                *changed |= instruction.is_strong() && !instruction.is_load();
                *plain |= !instruction.is_strong();
            }
        }
        for (origin, ways) in accesses {
            if let (Origin::Argument(place), [true, true]) = (origin, ways) {
                found.push((kernel.name, place));
            }
        }
    }
    let mut named: Vec<_> = BOTH_WAYS.iter().map(|&(kernel, place, _)| (kernel, place)).collect();
    found.sort_unstable();
    named.sort_unstable();
    assert_eq!(found, named);
}

/// Loads through the read-only cache ask for memory that nobody writes while the kernel runs. A
/// kernel that starts early runs while the one before it writes.
#[test]
fn the_read_only_cache_serves_constants_alone() {
    let mut loads = 0;
    for kernel in kernels() {
        let origins = kernel.origins();
        for instruction in kernel.instructions().filter(|instruction| instruction.name.contains(".nc.")) {
            let from: Vec<_> = origins[instruction.address().expect("an address")].iter().copied().collect();
            assert_eq!(from, [Origin::Module], "{}: {}", kernel.name, instruction.name);
            loads += 1;
        }
    }
    assert!(loads > 0);
}

/// The loops of a kernel that wait for other blocks, as whether each backs off.
fn waits(kernel: &Listing) -> Vec<bool> {
    let mut waits = Vec::new();
    for of in kernel.loops().iter().filter(|of| kernel.ends_by_others(of)) {
        let reads = |instruction: &&Instruction| instruction.is_strong() && !instruction.name.starts_with("st.");
        let first = kernel.within(of).find(reads).map_or("", |instruction| instruction.name);
        if first.is_empty() || CLIMBS.iter().any(|(name, load, _)| kernel.name.starts_with(name) && first == *load) {
            continue;
        }
        waits.push(kernel.within(of).any(|instruction| instruction.name == "nanosleep.u32"));
    }
    waits
}

#[test]
fn loops_that_wait_for_other_blocks_back_off() {
    let mut names = Vec::new();
    for kernel in kernels() {
        let waits = waits(&kernel);
        assert!(waits.iter().all(|&sleeps| sleeps), "{}: {waits:?}", kernel.name);
        if !waits.is_empty() {
            names.push(kernel.name);
        }
    }
    // The rule sees the loops that there are: look-back over tiles and over digits, and the waits
    // for a row and for a part of a tree.
    for name in [
        "prim_scan",
        "prim_compact",
        "prim_sort_pass_u32",
        "prim_sort_pass_u64",
        "voxelize_rows",
        "voxelize_assign",
        "icp_build",
    ] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
}

/// The rule above without its reason to hold.
#[test]
fn a_loop_without_a_sleep_is_found() {
    let text = MODULES[0].ptx().replace("\tnanosleep.u32 64;\n", "");
    let broken: Vec<_> = Listing::all_of(text.leak()).filter(|kernel| waits(kernel).contains(&false)).collect();
    let names: Vec<_> = broken.iter().map(|kernel| kernel.name).collect();
    assert_eq!(names, ["prim_scan", "prim_compact", "prim_sort_pass_u32", "prim_sort_pass_u64"]);
}

/// What would ask for blocks that run at once, or for a GPU newer than the target.
#[test]
fn kernels_ask_for_nothing_but_their_own_block() {
    for module in &MODULES {
        let head: Vec<_> = module.ptx().lines().filter(|line| line.starts_with(['.'])).take(3).collect();
        assert_eq!(head, [".version 7.8", ".target sm_70", ".address_size 64"], "{}", module.folder);
        for directive in ["cluster", "cooperative", "reqntid"] {
            assert!(!module.ptx().contains(directive), "{}: {directive}", module.folder);
        }
        for kernel in module.kernels {
            // Arguments of all kernels up to compute capability 6, and of drivers before CUDA 12.1,
            // end here.
            assert!(kernel.args_bytes <= 4096 && kernel.block <= 1024, "{}", kernel.name);
        }
    }
    for kernel in kernels() {
        for instruction in kernel.instructions() {
            let name = instruction.name;
            let meets =
                ["bar", "barrier", "mbarrier", "griddepcontrol", "cp.", "call"].iter().any(|n| name.starts_with(n));
            assert!(!meets || name == "bar.sync" || name == "bar.warp.sync", "{}: {name}", kernel.name);
            // The host reads one word, whole, and writes none.
            assert!(!name.contains(".sys") || name == "st.relaxed.sys.global.u64", "{}: {name}", kernel.name);
            assert!(!name.contains(".volatile"), "{}: {name}", kernel.name);
        }
    }
}
