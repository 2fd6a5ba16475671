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

/// A new argument that names a file is read, unless `paths.rs` says that it is written: look at
/// each that this list does not have.
#[test]
fn every_path_is_known_as_read_or_written() {
    use pointmill_batch::flags::paths::{is_path, is_written};
    let mut written = Vec::new();
    let mut left = vec![(String::new(), Cli::commands())];
    while let Some((path, command)) = left.pop() {
        left.extend(command.get_subcommands().map(|sub| (format!("{path}{} ", sub.get_name()), sub.clone())));
        for arg in command.get_arguments().filter(|arg| is_path(arg)) {
            let id = arg.get_id().as_str();
            let name = format!("{path}{id}");
            if is_written(command.get_name(), id) {
                written.push(name);
            } else {
                let read =
                    ["boxes", "classes", "compare", "estimate", "extrinsics", "features", "guess", "inputs", "map"];
                let others = ["minus", "points", "polygon", "pose", "poses", "predictions", "scan", "source"];
                assert!(read.contains(&id) || others.contains(&id) || ["target", "truth"].contains(&id), "{name}");
            }
        }
    }
    assert!(written.iter().any(|name| name == "synth poses") && written.len() > 25, "{written:?}");
}
