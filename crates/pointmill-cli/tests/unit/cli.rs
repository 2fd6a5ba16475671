//! Tests of `src/cli.rs`.

use super::*;

#[test]
fn definitions_are_consistent() {
    Cli::commands().debug_assert();
}
