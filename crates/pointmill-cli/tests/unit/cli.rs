//! Tests of `src/cli.rs`.

use super::*;
use clap::FromArgMatches;

#[test]
fn definitions_are_consistent() {
    Cli::commands().debug_assert();
}

/// What a line of a shell says, without the quotes of patterns.
fn parse(line: &str) -> Result<clap::ArgMatches, clap::Error> {
    Cli::commands().try_get_matches_from(line.split_whitespace().map(|word| word.trim_matches('\'')))
}

#[test]
fn every_example_of_the_help_can_be_run() {
    let mut examples = 0;
    let mut left = vec![Cli::commands()];
    while let Some(command) = left.pop() {
        left.extend(command.get_subcommands().cloned());
        let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        for line in text.lines().filter(|line| line.starts_with("  pointmill ")) {
            examples += 1;
            parse(line).unwrap_or_else(|e| panic!("{line}: {e}"));
        }
    }
    assert!(examples > 25, "{examples}");
}

#[test]
fn old_names_of_flags_stay() {
    for (old, new) in [
        ("voxelize --cpu", "voxelize --compare-cpu"),
        ("odometry --voxel 2 --map m.ply", "odometry --voxel-size 2 --map-out m.ply"),
        ("localize --map m a.bin --start p.txt", "localize --map m a.bin --guess p.txt"),
        ("ndt build --voxel-size 3", "ndt build --resolution 3"),
    ] {
        let parsed = [old, new].map(|line| {
            let matches = parse(&format!("pointmill {line}")).unwrap_or_else(|e| panic!("{line}: {e}"));
            format!("{:?}", Cli::from_arg_matches(&matches).unwrap())
        });
        assert_eq!(parsed[0], parsed[1]);
    }
}
