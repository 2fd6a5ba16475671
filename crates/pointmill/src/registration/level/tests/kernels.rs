//! Kernels beside the path of the host, and the order of a queue.

use super::*;
use crate::TwinFault;
use crate::registration::level::device_field::DeviceField;
use crate::registration::level::field::{Cubes, Field};
use crate::registration::level::queue::Queue;
use crate::registration::level::values::Values;
use crate::registration::level::work::Work;

/// Cells of any shape in and beside a box.
fn cells(random: &mut Random, n: usize, step: f64) -> Vec<LevelCell> {
    let mut between = |a: f64, b: f64| f64::from(random.between(a as f32, b as f32));
    let mut cell = || {
        let mean = [between(-9.0, 40.0), between(-9.0, 40.0), between(-3.0, 8.0)];
        let [a, b, c] = [0, 1, 2].map(|_| between(0.05, 30.0));
        LevelCell::new(mean, &[a, 0.1 * a.min(b), 0.0, b, 0.0, c], step, 4.0).unwrap()
    };
    (0..n).map(|_| cell()).collect()
}

#[test]
fn fields_are_those_of_the_host() {
    let mut random = Random(11);
    let sizes = [[8, 8, 1], [72, 136, 3], [200, 64, 9], [64, 64, 2], [0, 0, 0]];
    for (round, size) in sizes.into_iter().enumerate() {
        for n in [0, 1, 300] {
            let step = [0.25, 0.5, 1.0, 2.0, 1.0][round];
            let cells = cells(&mut random, n, step);
            let cubes = Cubes::new(step, [-3, -5, -1], size).unwrap();
            let wanted = Field::new(&cells, cubes).unwrap();
            assert!(n < 300 || size[0] < 64 || wanted.values.iter().any(|value| *value > 0));
            for (name, device) in kernel_devices() {
                let made = DeviceField::new(&device.stream().unwrap(), &cells, cubes).unwrap();
                let [values, blocks, wide] = made.read().unwrap();
                assert!(values == wanted.values, "{name}, {size:?}, {n} cells: values");
                assert!(blocks == wanted.blocks, "{name}, {size:?}, {n} cells: blocks");
                assert!(wide == wanted.wide, "{name}, {size:?}, {n} cells: wide");
            }
        }
    }
}

/// Sums of any nodes, of which a queue has the sums of some.
#[test]
fn sums_and_bounds_are_those_of_the_host() {
    let mut random = Random(4);
    let points = town(&mut random, 12);
    for (range, max_points, ground) in [(15.0, 1024, true), (9.0, 1, true), (30.0, 77, false)] {
        let params = LevelTargetParams { range, ground, ..LevelTargetParams::default() };
        let host = LevelTarget::new(&grid(&points, &Device::cpu()), &params).unwrap();
        let search = LevelParams { turn: 0.5, max_points, ..LevelParams::default() };
        let (scan, yaws) = (seen(&points, 0.7), search.yaws());
        let source = Source::new(&Rows::from(&scan[..]), &host, &search).unwrap();
        let [along, across] = host.places(source.ground).unwrap().wide().map(|n| n as u64 * 64);
        let nodes: Vec<Node> = (0..200)
            .map(|i| {
                let level = (i % 3) as u8;
                let side = 8u64.pow(u32::from(level));
                let mut below = |n: u64| random.below(n) as u32;
                let (yaw, height) = (below(yaws.count as u64), below(40) as i32 - 20);
                let [y, x] = [across, along].map(|n| below(n / side) * side as u32);
                Node { score: below(60_000) as u16, level, yaw, y, x, height }
            })
            .collect();
        let wide = |yaw: u32| nodes.iter().copied().filter(move |node| node.level == 2 && node.yaw == yaw);
        let all: Vec<_> = nodes.iter().map(|node| (*node, None)).collect();
        let mut of_host = Work::new(&host, &source, &yaws).unwrap();
        let wanted = of_host.sums(&source, &all, &mut Queue::new(Vec::new()).unwrap()).unwrap();
        let bounds = of_host.bounded(&source, yaws.count as u32, wide).unwrap();
        assert!(wanted.iter().flatten().any(|sum| *sum > 0) && !bounds.is_empty());
        for (name, device) in kernel_devices() {
            let target = LevelTarget::new(&grid(&points, &device), &params).unwrap();
            let mut work = Work::new(&target, &source, &yaws).unwrap();
            assert!(matches!(work, Work::Device(_)), "{name}");
            assert_eq!(work.bounded(&source, yaws.count as u32, wide).unwrap(), bounds, "{name}");
            // Three at a time, the best first: the sums of others come ahead of their turn.
            let (mut queue, mut ahead) = (Queue::new(nodes.clone()).unwrap(), 0);
            let mut sorted: Vec<_> = nodes.iter().zip(&wanted).collect();
            sorted.sort_by(|a, b| b.0.cmp(a.0));
            for three in sorted.chunks(3) {
                let taken: Vec<_> = three.iter().map(|_| queue.pop().unwrap().unwrap()).collect();
                ahead += taken.iter().filter(|(_, sums)| sums.is_some()).count();
                assert!(taken.iter().map(|(node, _)| node).eq(three.iter().map(|(node, _)| *node)), "{name}");
                let sums = work.sums(&source, &taken, &mut queue).unwrap();
                assert!(sums.iter().eq(three.iter().map(|(_, sums)| *sums)), "{name}: {taken:?}");
            }
            assert!(ahead > 100 && queue.peek().is_none() && queue.pop().unwrap().is_none(), "{name}: {ahead}");
        }
    }
}

/// Memory of a device that is refused: the host has the field.
#[test]
fn a_map_for_which_a_device_has_no_memory_is_searched_on_the_host() {
    let points = town(&mut Random(3), 9);
    let (grid, scan) = (grid(&points, &Device::twin()), seen(&points, 1.0));
    let run = |target: &LevelTarget| target.search(Rows::from(&scan[..]), &LevelParams::default()).unwrap();
    let on_device = LevelTarget::new(&grid, &LevelTargetParams::default()).unwrap();
    let wanted = run(&on_device);
    assert!(matches!(on_device.values(), Values::Device(_)));
    let mut refused = 0;
    for k in 0..8 {
        Device::fail_twin(Some((TwinFault::OutOfMemory, k)));
        let made = LevelTarget::new(&grid, &LevelTargetParams::default());
        Device::fail_twin(None);
        let Ok(target) = made else { continue };
        refused += usize::from(matches!(target.values(), Values::Host(_)));
        assert_eq!(run(&target), wanted, "{k}");
    }
    assert!(refused >= 4, "{refused}");
}

/// A queue gives what was put into it by score, in whatever order it came.
#[test]
fn a_queue_has_one_order() {
    let mut random = Random(8);
    for scores in [2, 70, 65_536] {
        let mut all: Vec<Node> = (0..3000)
            .map(|x| Node { score: random.below(scores) as u16, level: (x % 3) as u8, yaw: 1, y: x % 7, x, height: -1 })
            .collect();
        let mut queue = Queue::new(all[..500].to_vec()).unwrap();
        let (mut taken, mut left) = (Vec::new(), all[..500].to_vec());
        for (i, node) in all[500..].iter().enumerate() {
            if i % 2 == 0 {
                queue.push(*node).unwrap();
            } else {
                queue.push_with(*node, [i as u16; 64]).unwrap();
            }
            left.push(*node);
            if i % 3 == 0 {
                let (best, sums) = queue.pop().unwrap().unwrap();
                assert_eq!(Some(&best), left.iter().max());
                let at = all.iter().position(|node| *node == best).unwrap();
                assert_eq!(sums, (at >= 500 && at % 2 != 0).then_some([(at.saturating_sub(500)) as u16; 64]));
                left.retain(|node| *node != best);
                taken.push(best);
            }
        }
        while let Some((node, _)) = queue.pop().unwrap() {
            assert!(left.iter().max() == Some(&node));
            left.retain(|other| *other != node);
            taken.push(node);
        }
        taken.sort();
        all.sort();
        assert!(left.is_empty() && taken == all);
    }
}
