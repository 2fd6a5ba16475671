//! Tests of `src/batch/slot.rs`.

use super::*;
use clap::Parser;
use std::cell::Cell;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    work: WorkArgs,
}

#[test]
fn a_first_call_that_is_not_timed_is_made_only_where_times_are_compared() {
    for (cpu, adds, calls) in [(false, false, [1, 1]), (true, false, [4, 2]), (true, true, [2, 2])] {
        let args = WorkArgs { cpu, ..Line::parse_from(["pointmill"]).work };
        let mut slot = OperatorSlot::new(&Device::cpu(), &args, adds, |_| Ok(())).unwrap();
        let made = Cell::new(0);
        for wanted in calls {
            made.set(0);
            let called = slot
                .call(
                    "a",
                    InputError::from,
                    |_| Ok(()),
                    |()| {
                        made.set(made.get() + 1);
                        Ok(())
                    },
                )
                .unwrap();
            assert_eq!(called.cpu.is_some(), cpu);
            assert_eq!(made.get(), wanted, "{cpu} {adds}");
        }
    }
}
