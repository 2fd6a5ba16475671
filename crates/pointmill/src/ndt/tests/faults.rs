//! A device that fails in the middle of a call: a builder has what it had, or says that it has not.

use super::*;
use crate::TwinFault;
use crate::testing::kernel_devices;

/// Whether the builder refuses to go on. All that can be asked of it gives the same answer, and
/// nobody learns a wrong number.
fn refuses(builder: &mut NdtBuilder, had: &NdtMoments, more: Rows<'_>) -> bool {
    let params = NdtParams::default();
    let told = match builder.moments() {
        Ok(moments) => {
            assert_eq!(moments, *had, "sums are lost, or half of a cloud was added");
            assert_eq!(builder.finish().unwrap().read().unwrap(), had.finish(&params).unwrap());
            return false;
        }
        Err(error) => error.to_string(),
    };
    let start = "builder: expected one whose sums are whole; `clear` empties it, got one that holds a part of the points of a call that failed: ";
    assert!(told.starts_with(start) && told.contains("twin"), "{told}");
    let mut grid =
        NdtBuilder::new(&Device::twin().stream().unwrap(), 1.0, &NdtParams::default()).unwrap().finish().unwrap();
    let others = [
        builder.add(more).unwrap_err(),
        builder.add(Rows::f32(&[], 3).unwrap()).unwrap_err(),
        builder.merge(had).unwrap_err(),
        builder.finish().unwrap_err(),
        builder.finish_into(&mut grid).unwrap_err(),
    ];
    assert!(others.iter().all(|other| other.to_string() == told), "{others:?}");
    true
}

#[test]
fn sums_are_whole_or_refused() {
    let device = Device::twin();
    let (first, second) = (street(300, 1), street(1200, 2));
    let (few, many) = (Rows::f64(&first, 3).unwrap(), Rows::f64(&second, 3).unwrap());
    let (had, other, both) = (moments(1.0, &first), moments(1.0, &second), {
        let mut both = moments(1.0, &first);
        both.merge(&moments(1.0, &second)).unwrap();
        both
    });
    // A larger cloud, one that needs no more room, and moments.
    type Work<'a> = &'a dyn Fn(&mut NdtBuilder) -> Result<(), Error>;
    let works: [(&str, Work<'_>, bool); 3] = [
        ("larger", &|b| b.add(many), true),
        ("small", &|b| b.add(few), false),
        ("moments", &|b| b.merge(&other), true),
    ];
    for (what, work, grows) in works {
        for fault in [TwinFault::OutOfMemory, TwinFault::Lost] {
            let mut refused = 0;
            for k in 0.. {
                let mut builder = NdtBuilder::new(&device.stream().unwrap(), 1.0, &NdtParams::default()).unwrap();
                builder.add(few).unwrap();
                Device::fail_twin(Some((fault, k)));
                let done = work(&mut builder);
                Device::fail_twin(None);
                if done.is_ok() {
                    assert!(k > 0 || !grows, "{what}, {fault:?}: there was nothing to fail");
                    break;
                }
                let refuses = refuses(&mut builder, &had, many);
                // Where memory is refused, nothing has been touched yet.
                assert!(!(refuses && fault == TwinFault::OutOfMemory), "{what}, {k}");
                refused += usize::from(refuses);
                if refuses {
                    builder.clear().unwrap();
                    assert!(builder.moments().unwrap().is_empty() && builder.moments().unwrap().points() == 0);
                    builder.add(few).unwrap();
                }
                builder.add(many).unwrap();
                assert_eq!(builder.moments().unwrap(), both, "{what}, {fault:?} {k}");
            }
            assert!((refused > 0) == (fault == TwinFault::Lost), "{what}, {fault:?}: {refused} refused");
        }
    }
}

/// A builder that fails while it is emptied is empty all the same.
#[test]
fn a_builder_can_be_emptied_after_any_fault() {
    let points = street(300, 1);
    let cloud = Rows::f64(&points, 3).unwrap();
    for (name, device) in kernel_devices().into_iter().take(1) {
        let mut builder = NdtBuilder::new(&device.stream().unwrap(), 1.0, &NdtParams::default()).unwrap();
        builder.add(cloud).unwrap();
        Device::fail_twin(Some((TwinFault::Lost, 0)));
        assert!(builder.clear().is_err(), "{name}");
        Device::fail_twin(None);
        assert!(builder.moments().unwrap().is_empty(), "{name}");
        builder.add(cloud).unwrap();
        assert_eq!(builder.moments().unwrap(), moments(1.0, &points), "{name}");
    }
}

/// Cells of a floor, which fill their table in runs: growth finds room for all of them.
#[test]
fn a_dense_map_grows() {
    let floor: Vec<f64> = (0..4000).flat_map(|i| [f64::from(i % 80) + 0.5, f64::from(i / 80) + 0.5, 0.5]).collect();
    let mut builder = NdtBuilder::new(&Device::twin().stream().unwrap(), 1.0, &NdtParams::default()).unwrap();
    for part in floor.chunks(3 * 500) {
        builder.add(Rows::f64(part, 3).unwrap()).unwrap();
    }
    assert_eq!(builder.moments().unwrap(), moments(1.0, &floor));
}
