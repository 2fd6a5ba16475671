//! Events about the kernels that the driver compiles, for whoever wonders why the first call takes
//! longer.

use crate::Result;
use crate::device::machine::interface::Name;
use web_time::Instant;

/// The target of the events.
const TARGET: &str = "pointmill::device";

/// Loads a kernel of so many bytes of PTX with `load`, between two events. The second one follows
/// only where the kernel was loaded.
pub(super) fn reported<T>(device: Name, kernel: &str, bytes: usize, load: impl FnOnce() -> Result<T>) -> Result<T> {
    tracing::info!(target: TARGET, %device, kernel, bytes, "the driver compiles a kernel or takes it from its cache");
    let start = Instant::now();
    let loaded = load()?;
    let milliseconds = start.elapsed().as_secs_f64() * 1e3;
    tracing::info!(target: TARGET, %device, kernel, bytes, milliseconds, "the kernel is loaded");
    Ok(loaded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Debug;
    use std::sync::{Arc, Mutex};
    use tracing::field::{Field, Visit};
    use tracing::{Event, Level, Metadata, Subscriber, span};

    /// The names and values of an event.
    #[derive(Debug)]
    struct Fields(Vec<(String, String)>);

    /// Keeps the target's events.
    #[derive(Clone, Default)]
    struct Seen(Arc<Mutex<Vec<Fields>>>);

    impl Visit for Fields {
        fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
            self.0.push((field.name().into(), format!("{value:?}")));
        }
    }

    impl Subscriber for Seen {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            metadata.target() == "pointmill::device" && *metadata.level() == Level::INFO
        }
        fn event(&self, event: &Event<'_>) {
            let mut fields = Fields(Vec::new());
            event.record(&mut fields);
            self.0.lock().unwrap().push(fields);
        }
        fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
            span::Id::from_u64(1)
        }
        fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
        fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
        fn enter(&self, _: &span::Id) {}
        fn exit(&self, _: &span::Id) {}
    }

    #[test]
    fn loading_is_reported_before_and_after() {
        let seen = Seen::default();
        let name = Name { runtime: "cuda", index: Some(3) };
        let load = |loads: Result<u32>| {
            tracing::subscriber::with_default(seen.clone(), || {
                reported(name, "voxelize_insert", 4711, || {
                    assert_eq!(seen.0.lock().unwrap().len() % 2, 1, "the first event comes before the work");
                    loads
                })
            })
        };
        assert_eq!(load(Ok(7)), Ok(7));
        let events = std::mem::take(&mut *seen.0.lock().unwrap());
        let common = [("device", "cuda:3"), ("kernel", "\"voxelize_insert\""), ("bytes", "4711")];
        for event in &events {
            for (field, value) in common {
                assert!(event.0.contains(&(field.into(), value.into())), "{event:?}");
            }
        }
        let timed: Vec<_> = events.iter().map(|event| event.0.iter().any(|(name, _)| name == "milliseconds")).collect();
        assert_eq!(timed, [false, true]);
        let refused = crate::Error::Internal { what: "a test".into() };
        assert_eq!(load(Err(refused.clone())), Err(refused));
        assert_eq!(seen.0.lock().unwrap().len(), 1);
    }
}
