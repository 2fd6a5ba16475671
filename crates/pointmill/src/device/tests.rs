//! Streams in order, and graphs.

use super::machine::twin::take_steps;
use super::*;
use crate::Result;
use crate::testing::kernel_devices;

impl Stream {
    /// What was asked of a queue of the twin since the last call.
    pub(crate) fn take_steps(&self) -> Vec<Step> {
        let steps = |raw| {
            // SAFETY: the stream is alive, and one of the twin.
            unsafe { take_steps(raw) }
        };
        self.of_twin().map_or_else(Vec::new, steps)
    }

    /// The step of waiting for this queue of the twin.
    pub(crate) fn awaited(&self) -> Step {
        Step::WaitFor(self.of_twin().expect("only the twin keeps steps").0)
    }

    fn of_twin(&self) -> Option<machine::RawStream> {
        let raw = self.ask(|_, raw| Ok(Some(raw))).expect("a stream in use");
        raw.filter(|_| self.device().same_memory(&Device::twin()))
    }
}

/// Handles may be used by several threads, whatever the machine; a graph by one at a time.
#[test]
fn handles_go_to_other_threads() {
    fn shared<T: Send + Sync>() {}
    fn sent<T: Send>() {}
    shared::<Device>();
    shared::<Stream>();
    shared::<Buffer<u32>>();
    shared::<Event>();
    sent::<Graph>();
}

/// Streams of another library are those of a CUDA GPU.
#[test]
fn streams_of_others_are_of_a_gpu() {
    for (name, device) in [("cpu", Device::cpu()), ("twin", Device::twin())] {
        // SAFETY: neither device takes the number.
        let refused = unsafe { Stream::from_raw_cuda(&device, 0) }.unwrap_err().to_string();
        assert_eq!(refused, format!("device: expected a GPU, got {name}"));
    }
    if let Some(gpu) = crate::testing::gpu() {
        // SAFETY: zero is the legacy default stream, which is always there.
        let [a, b] = [0; 2].map(|raw| unsafe { Stream::from_raw_cuda(&gpu, raw) }.unwrap());
        assert!(a.same_queue(&b) && !a.same_queue(&gpu.stream().unwrap()));
        assert_eq!(a.upload(&[1u32, 2]).unwrap().read(2).unwrap(), [1, 2]);
    }
    let cpu = Device::cpu().stream().unwrap();
    // SAFETY: nobody reads the buffer.
    let refused = unsafe { Buffer::<u32>::from_raw_cuda(&cpu, 16, 1) }.unwrap_err().to_string();
    assert_eq!(refused, "stream: expected one of a GPU, got cpu");
}

/// A copy between two streams comes after what was queued on the other one, and before what comes
/// there next.
#[test]
fn copies_between_streams_are_in_order() {
    for (name, device) in kernel_devices() {
        let (a, b) = (device.stream().unwrap(), device.stream().unwrap());
        assert!(a.same_queue(&a.clone()) && !a.same_queue(&b), "{name}");
        for round in 0..20u32 {
            let (mut from, mut to) = (a.alloc::<u32>(1 << 20).unwrap(), b.alloc::<u32>(1 << 20).unwrap());
            b.wait_for(&a).unwrap();
            from.fill_words(round, 1 << 20).unwrap();
            to.copy_from(&from, 1 << 20).unwrap();
            from.fill_words(u32::MAX, 1 << 20).unwrap();
            assert_eq!(to.read(1 << 20).unwrap(), vec![round; 1 << 20], "{name}");
        }
        if name == "twin" {
            let (a_steps, b_steps) = (a.take_steps(), b.take_steps());
            assert!(a_steps.starts_with(&[Step::Fill, b.awaited(), Step::Fill]), "{a_steps:?}");
            assert!(b_steps.starts_with(&[a.awaited(), a.awaited()]), "{:?}", &b_steps[..2]);
        }
    }
    let (cpu, twin) = (Device::cpu().stream().unwrap(), Device::twin().stream().unwrap());
    assert!(cpu.same_queue(&Device::cpu().stream().unwrap()) && !cpu.same_queue(&twin));
    assert_eq!(cpu.wait_for(&twin).unwrap_err().to_string(), "other: expected a stream of cpu, got twin");
}

/// A graph does again what was recorded, and nothing runs while it is recorded.
#[test]
fn graphs_run_when_they_are_launched() {
    for (name, device) in kernel_devices() {
        let stream = device.stream().unwrap();
        let mut from = stream.upload(&[1u32, 2, 3]).unwrap();
        let mut to = stream.upload(&[0u32; 3]).unwrap();
        let graph = stream.capture(|| to.copy_from(&from, 3)).unwrap();
        assert_eq!(to.read(3).unwrap(), [0; 3], "{name}");
        for values in [[1, 2, 3], [4, 5, 6]] {
            from.write(&values).unwrap();
            // SAFETY: what the graph uses is alive, has not grown, and is this test's alone.
            unsafe { graph.launch() }.unwrap();
            assert_eq!(to.read(3).unwrap(), values, "{name}");
        }
    }
}

/// What a graph cannot hold is told, and the stream is as good as before.
#[test]
fn captures_refuse_what_a_graph_cannot_hold() {
    for (name, device) in kernel_devices() {
        let (stream, other) = (device.stream().unwrap(), device.stream().unwrap());
        let mut buffer = stream.upload(&[1u32]).unwrap();
        let refused = |work: &mut dyn FnMut() -> Result<()>| stream.capture(work).unwrap_err().to_string();
        let records = "(the stream records a graph)";
        let e = refused(&mut || stream.alloc::<u32>(3).map(drop));
        assert_eq!(e, format!("memory: expected enough from a call before {records}, got 12 bytes more"), "{name}");
        let e = refused(&mut || buffer.write(&[2]));
        assert_eq!(e, format!("data: expected nothing from the host {records}, got 1 elements"), "{name}");
        let e = refused(&mut || buffer.read(1).map(drop));
        assert_eq!(e, format!("buffer: expected one that can be awaited {records}, got a read"), "{name}");
        let e = refused(&mut || stream.synchronize());
        assert!(e.starts_with("stream: expected one that queued work can be awaited on"), "{name}: {e}");
        let e = refused(&mut || stream.wait_for(&other));
        assert!(e.starts_with("stream: expected memory of one stream only"), "{name}: {e}");
        let e = refused(&mut || stream.capture(|| Ok(())).map(drop));
        assert!(e.starts_with("stream: expected one that records nothing else"), "{name}: {e}");
        assert!(!stream.is_capturing().unwrap(), "{name}");
        buffer.write(&[3]).unwrap();
        assert_eq!(buffer.read(1).unwrap(), [3], "{name}");
    }
    let cpu = Device::cpu().stream().unwrap();
    assert!(cpu.capture(|| Ok(())).unwrap_err().to_string().starts_with("device: expected a GPU"));
}

/// A capture inside a capture is refused at once, also while a test waits for all captures to end.
/// A watchdog ends the process instead of waiting.
#[test]
fn a_capture_inside_a_capture_waits_for_nobody() {
    use crate::testing::CAPTURES;
    use std::sync::mpsc;
    use std::thread;
    use std::time::{Duration, Instant};
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        let stream = Device::twin().stream().unwrap();
        let inside = || {
            thread::spawn(|| drop(CAPTURES.write()));
            // A writer that waits keeps new readers out.
            let start = Instant::now();
            while CAPTURES.try_read().is_ok() && start.elapsed() < Duration::from_secs(5) {
                thread::yield_now();
            }
            stream.capture(|| Ok(())).map(drop)
        };
        tell.send(stream.capture(inside).unwrap_err().to_string()).unwrap();
    });
    let Ok(e) = told.recv_timeout(Duration::from_secs(60)) else {
        eprintln!("a capture inside a capture waits for ever");
        std::process::exit(101);
    };
    assert!(e.starts_with("stream: expected one that records nothing else"), "{e}");
}

/// Memory outlives the stream that it was made on, if that one is retired first. On a GPU the
/// driver's checks are what this tests.
#[test]
fn memory_of_a_stream_that_is_gone_is_freed() {
    for (name, device) in kernel_devices() {
        let stream = device.stream().unwrap();
        let mut buffer = stream.upload(&[1u32, 2, 3]).unwrap();
        buffer.fill_words(7, 3).unwrap();
        let alone = crate::testing::CAPTURES.write();
        stream.retire().unwrap();
        drop(alone);
        drop(buffer);
        assert_eq!(device.stream().unwrap().upload(&[4u32]).unwrap().read(1).unwrap(), [4], "{name}");
    }
    Device::cpu().stream().unwrap().retire().unwrap();
}

/// A retired stream refuses whatever would be queued on it, so that memory may be freed without it;
/// what it did before is done.
#[test]
fn a_retired_stream_refuses_all_work() {
    use crate::voxelize::{VoxelizeParams, Voxelizer};
    for (name, device) in kernel_devices() {
        let (stream, other) = (device.stream().unwrap(), device.stream().unwrap());
        let (mut buffer, mut theirs) = (stream.upload(&[1u32, 2, 3]).unwrap(), other.upload(&[4u32, 5, 6]).unwrap());
        let graph = stream.capture(|| buffer.fill_words(7, 3)).unwrap();
        let points = stream.upload(&[0.5f32; 4]).unwrap();
        let mut voxelizer = Voxelizer::new(&stream, &VoxelizeParams::default()).unwrap();
        let mut voxels = voxelizer.output().unwrap();
        let alone = crate::testing::CAPTURES.write();
        stream.clone().retire().unwrap();
        stream.retire().unwrap();
        drop(alone);
        // SAFETY: the buffer is alive and this test's alone.
        let launched = unsafe { graph.launch() };
        let refusals = [
            launched,
            stream.alloc::<u32>(3).map(drop),
            stream.upload(&[1u32]).map(drop),
            buffer.write(&[1]),
            buffer.read(3).map(drop),
            buffer.copy_from(&theirs, 3),
            theirs.copy_from(&buffer, 3),
            buffer.fill_words(1, 3),
            stream.wait_for(&other),
            other.wait_for(&stream),
            stream.synchronize(),
            stream.is_capturing().map(drop),
            stream.capture(|| Ok(())).map(drop),
            stream.mark().map(drop),
            Voxelizer::new(&stream, &VoxelizeParams::default()).map(drop),
            voxelizer.run(crate::Rows::on_device(&points, 1, 4).unwrap(), &mut voxels),
        ];
        for (i, refused) in refusals.into_iter().enumerate() {
            let told = refused.expect_err(&format!("{name}: {i}")).to_string();
            assert_eq!(told, "stream: expected one that is still in use, got one that was retired", "{name}: {i}");
        }
        assert_eq!(theirs.read(3).unwrap(), [4, 5, 6], "{name}");
    }
}

/// Who uses memory of a stream that is retired meanwhile hears of it: nobody waits for that work
/// before the memory is freed.
#[test]
fn a_stream_that_is_retired_on_the_way_is_told() {
    for (name, device) in kernel_devices() {
        let (own, other) = (device.stream().unwrap(), device.stream().unwrap());
        let alone = crate::testing::CAPTURES.write();
        let told = own.in_order(&[Some(&other)], || other.retire()).unwrap_err().to_string();
        drop(alone);
        assert!(told.ends_with("got one that was retired"), "{name}: {told}");
    }
}

/// A panic in the course of a recording ends it: the stream is as good as before.
#[test]
fn a_panic_ends_a_recording() {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    for (name, device) in kernel_devices() {
        let stream = device.stream().unwrap();
        let mut buffer = stream.upload(&[1u32, 2, 3]).unwrap();
        let work = || {
            buffer.fill_words(7, 3)?;
            panic!("in the course of a recording")
        };
        catch_unwind(AssertUnwindSafe(|| stream.capture(work))).unwrap_err();
        assert!(!stream.is_capturing().unwrap(), "{name}");
        assert_eq!(buffer.read(3).unwrap(), [1, 2, 3], "{name}");
        let graph = stream.capture(|| buffer.fill_words(8, 3)).unwrap();
        // SAFETY: the buffer is alive and this test's alone.
        unsafe { graph.launch() }.unwrap();
        assert_eq!(buffer.read(3).unwrap(), [8; 3], "{name}");
    }
}

/// A panic between two streams leaves arrays and results with their own, in order with what was
/// queued.
#[test]
fn a_panic_leaves_streams_in_order() {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    let [own, arrays, results] = [0; 3].map(|_| Device::twin().stream().unwrap());
    let mut out = results.alloc::<u32>(3).unwrap();
    [&own, &arrays, &results].iter().for_each(|stream| drop(stream.take_steps()));
    let work = |out: &mut Buffer<u32>| -> Result<()> {
        out.fill_words(1, 3)?;
        panic!("between two streams")
    };
    catch_unwind(AssertUnwindSafe(|| own.in_order_with(&[Some(&arrays)], &mut out, work))).unwrap_err();
    assert!(out.stream().same_queue(&results));
    assert_eq!(own.take_steps(), [results.awaited(), arrays.awaited(), Step::Fill]);
    assert_eq!((arrays.take_steps(), results.take_steps()), (vec![own.awaited()], vec![own.awaited()]));
}
