//! Registration without a guess: the same answer on all devices, and a pose that is rigid.
use crate::{Draw, cpu};
use pointmill::ndt::{NdtParams, ndt_grid};
use pointmill::registration::global::{Refine, RegisterParams, Timing, register};
use pointmill::registration::level::{LevelParams, LevelTarget, LevelTargetParams};
use pointmill::{Error, Rows};

/// Ground, a wall, and what the bytes say.
fn cloud(draw: &mut Draw<'_>) -> Vec<f32> {
    let mut cloud = draw.near_rows(3, 150, 0..0);
    for i in 0..100u8 {
        let [a, b] = [i % 10, i / 10].map(|n| f32::from(n) * 0.5);
        cloud.extend([a, b, -1.0, a, 5.0, b - 1.0]);
    }
    cloud
}

/// Runs the target on the bytes of one input.
pub fn run(bytes: &[u8]) {
    let mut draw = Draw(bytes);
    if draw.below(2) == 0 { level(draw) } else { global(draw) }
}

fn agree<T: PartialEq + std::fmt::Debug>(found: impl Fn(bool) -> pointmill::Result<T>) {
    match [false, true].map(found) {
        [Ok(one), Ok(several)] => assert_eq!(one, several),
        [Err(Error::Argument { argument: a, .. }), Err(Error::Argument { argument: b, .. })] => assert_eq!(a, b),
        other => panic!("{other:?}"),
    }
}

fn level(mut draw: Draw<'_>) {
    let mut odd = |usual: f64| {
        let other = f64::from(draw.value());
        draw.usual(&[usual], &[other, other.abs()])
    };
    let target = LevelTargetParams { step: Some(odd(0.5)), range: odd(20.0), region: None, ground: true };
    let params = LevelParams {
        yaw_range: [odd(-0.5), odd(0.5)],
        turn: odd(0.1),
        apart_metres: odd(1.0),
        apart_radians: odd(0.1),
        ..LevelParams::default()
    };
    let params = LevelParams {
        ground: draw.usual(&[None, Some(-1.0), Some(0.0), Some(1e300)], &[Some(f64::NAN)]),
        max_points: draw.usual(&[64, 1024, 1], &[0, usize::MAX]),
        candidates: draw.usual(&[1, 3, 10, usize::MAX], &[0]),
        ..params
    };
    let region = draw.usual(&[None, Some([-2.0, -2.0, 4.0, 4.0]), Some([1.0; 4])], &[Some([f64::NAN; 4])]);
    let target = LevelTargetParams { region, ground: draw.below(2) == 0, ..target };
    let (map, source) = (cloud(&mut draw.part()), cloud(&mut draw));
    agree(|several| {
        let grid = ndt_grid(Rows::new(&map, 3)?, 1.0, &NdtParams::default(), cpu(several))?;
        LevelTarget::new(&grid, &target)?.search(Rows::new(&source, 3)?, &params)
    });
}

fn global(mut draw: Draw<'_>) {
    let params = RegisterParams {
        voxel_size: f64::from([0.5, 1.0, 0.3, draw.value()][draw.below(4)]),
        level: draw.below(2) == 0,
        refine: draw.one(&[Refine::Gicp, Refine::Plane, Refine::None]),
    };
    let (target, source) = (cloud(&mut draw.part()), cloud(&mut draw));
    agree(|several| {
        let mut found = register(Rows::new(&source, 3)?, Rows::new(&target, 3)?, &params, cpu(several))?;
        assert!(found.target_from_source.is_rigid());
        found.timing = Timing::default();
        Ok(found)
    });
}
