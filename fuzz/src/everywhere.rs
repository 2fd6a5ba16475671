//! An operator on the CPU with one and with three threads and on the host twin.

use crate::cpu;
use pointmill::{AnyArray, ArrayView, Device, Error, NamedArrays, Result, Stream, differences};
use std::fmt::Debug;

/// Arrays that have no struct of their own; a NaN is equal to itself.
#[derive(Debug)]
pub struct Named(pub Vec<(&'static str, AnyArray)>);

impl NamedArrays for Named {
    fn arrays(&self) -> Vec<(&'static str, ArrayView<'_>)> {
        self.0.iter().map(|(name, values)| (*name, values.view(&[values.len()]))).collect()
    }
}

impl PartialEq for Named {
    fn eq(&self, other: &Self) -> bool {
        differences(self, other).is_empty()
    }
}

fn same<R: NamedArrays + PartialEq + Debug>(a: &[R], b: &[R]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| differences(a, b).is_empty() && a == b)
}

/// Runs a worker on two inputs, and on the first again, on each device: everywhere the same bits, or a refusal of the
/// same argument. A refused call leaves the result as it was or empty, and the next one works as ever.
///
/// `make` makes an empty result, and what fills it; `read` copies it to the host. Memory that is `lent` is looked at
/// by kernels alone, which may find another of several faults first.
pub fn everywhere<I, O, R, W>(
    [first, second]: [&I; 2],
    lent: bool,
    make: impl Fn(&Stream) -> Result<(O, W)>,
    read: impl Fn(&O) -> Result<Vec<R>>,
) where
    R: NamedArrays + PartialEq + Debug,
    W: FnMut(&I, &mut O) -> Result<()>,
{
    let mut on_one_thread: Option<[Result<Vec<R>>; 3]> = None;
    for device in [cpu(false), cpu(true), &Device::twin()] {
        let stream = device.stream().expect("a stream");
        let found = match make(&stream) {
            Ok((mut out, mut run)) => [first, second, first].map(|input| {
                let before = read(&out);
                let done = run(input, &mut out);
                let after = read(&out);
                let Err(e) = done else { return after };
                if let Ok(after) = after {
                    let empty = after.iter().all(|r| r.arrays().iter().all(|(_, array)| array.values().len() < 2));
                    let unchanged = before.is_ok_and(|before| same(&before, &after));
                    assert!(empty || unchanged, "{e}, and then {after:?}");
                }
                Err(e)
            }),
            Err(e) => [(); 3].map(|()| Err(e.clone())),
        };
        agree(&found[0], &found[2], false);
        match &on_one_thread {
            None => on_one_thread = Some(found),
            Some(wanted) => found.iter().zip(wanted).for_each(|(found, wanted)| agree(found, wanted, lent)),
        }
    }
}

/// Requires the same arrays, or the same refusal.
fn agree<R: NamedArrays + PartialEq + Debug>(a: &Result<Vec<R>>, b: &Result<Vec<R>>, lent: bool) {
    match (a, b) {
        (Ok(a), Ok(b)) => {
            let names: Vec<_> = a.iter().zip(b).map(|(a, b)| differences(a, b)).collect();
            assert!(same(a, b), "{names:?} differ: {a:?}\n{b:?}");
        }
        (Err(Error::Argument { argument: a, .. }), Err(Error::Argument { argument: b, .. })) => {
            assert!(a == b || lent, "{a} is refused, and {b}");
        }
        _ => panic!("{a:?}\n{b:?}"),
    }
}
