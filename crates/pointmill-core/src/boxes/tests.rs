use super::*;
extern crate std;
use proptest::prelude::*;
use std::vec::Vec;

fn shape(row: [f64; 7]) -> BoxShape {
    BoxShape::new(row, BoxOrigin::Center)
}

/// The corners less `base`, counter-clockwise.
fn corners(row: &[f64; 7], base: &[f64; 7]) -> Vec<[f64; 2]> {
    let [x, y, _, dx, dy, _, yaw] = *row;
    let (x, y) = (x - base[0], y - base[1]);
    let (s, c) = yaw.sin_cos();
    [[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]]
        .map(|[u, v]: [f64; 2]| [x + u * dx / 2.0 * c - v * dy / 2.0 * s, y + u * dx / 2.0 * s + v * dy / 2.0 * c])
        .to_vec()
}

fn area(polygon: &[[f64; 2]]) -> f64 {
    (0..polygon.len())
        .map(|i| (polygon[i], polygon[(i + 1) % polygon.len()]))
        .map(|(p, q)| p[0] * q[1] - p[1] * q[0])
        .sum::<f64>()
        / 2.0
}

/// Sutherland and Hodgman: another way to the same area.
fn clipped(mut subject: Vec<[f64; 2]>, by: &[[f64; 2]]) -> f64 {
    for i in 0..by.len() {
        let (p, q) = (by[i], by[(i + 1) % by.len()]);
        let side = |r: [f64; 2]| (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]);
        let mut kept = Vec::new();
        for k in 0..subject.len() {
            let (r, s) = (subject[k], subject[(k + 1) % subject.len()]);
            let (from, to) = (side(r), side(s));
            if from >= 0.0 {
                kept.push(r);
            }
            if (from >= 0.0) != (to >= 0.0) {
                let t = from / (from - to);
                kept.push([r[0] + t * (s[0] - r[0]), r[1] + t * (s[1] - r[1])]);
            }
        }
        subject = kept;
    }
    area(&subject)
}

/// Gift wrapping.
fn hull(points: &[[f64; 2]]) -> f64 {
    let cross = |o: [f64; 2], a: [f64; 2], b: [f64; 2]| (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]);
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| a.partial_cmp(b).unwrap());
    let mut chain: Vec<[f64; 2]> = Vec::new();
    for pass in [sorted.clone(), sorted.into_iter().rev().collect::<Vec<_>>()] {
        let start = chain.len();
        for p in pass {
            while chain.len() >= start + 2 && cross(chain[chain.len() - 2], chain[chain.len() - 1], p) <= 0.0 {
                chain.pop();
            }
            chain.push(p);
        }
        chain.pop();
    }
    area(&chain)
}

fn rows() -> impl Strategy<Value = ([f64; 7], [f64; 7])> {
    let near = prop::array::uniform3(-3.0f64..3.0);
    let extent = || prop::array::uniform3(0.05f64..6.0);
    let yaw = || prop_oneof![-7.0f64..7.0, (-8i32..8).prop_map(|k| f64::from(k) * core::f64::consts::FRAC_PI_4)];
    let base = prop_oneof![Just([0.0; 2]), prop::array::uniform2(-2000.0f64..2000.0)];
    (near, extent(), yaw(), extent(), yaw(), base, 0..6u32).prop_map(|(d, a, ya, b, yb, base, tie)| {
        let first = [base[0], base[1], 0.5, a[0], a[1], a[2], ya];
        let mut second = [base[0] + d[0], base[1] + d[1], d[2], b[0], b[1], b[2], yb];
        // Sides and corners that meet.
        match tie {
            0 => second[6] = ya,
            1 => (second[3], second[4], second[6]) = (a[0], a[1], ya),
            2 => (second[0], second[1]) = (base[0], base[1]),
            3 => second = [base[0] + a[0], base[1], 0.5, a[0], a[1], a[2], ya],
            _ => {}
        }
        (first, second)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn overlaps_are_those_of_clipped_polygons((a, b) in rows()) {
        let (p, q) = (corners(&a, &a), corners(&b, &a));
        let inter = clipped(p.clone(), &q);
        let (of_a, of_b) = (a[3] * a[4], b[3] * b[4]);
        let bev = inter / (of_a + of_b - inter);
        let (s, t) = (shape(a), shape(b));
        let got = s.iou(&t, IouKind::Bev);
        prop_assert!((got - bev).abs() < 1e-9, "{got} {bev}");
        prop_assert_eq!(got.to_bits(), t.iou(&s, IouKind::Bev).to_bits());
        let height = ((a[2] + a[5] / 2.0).min(b[2] + b[5] / 2.0) - (a[2] - a[5] / 2.0).max(b[2] - b[5] / 2.0)).max(0.0);
        let volume = inter * height;
        let union = of_a * a[5] + of_b * b[5] - volume;
        let got = s.iou(&t, IouKind::Volume);
        prop_assert!((got - volume / union).abs() < 1e-9, "{got} {}", volume / union);
        let all: Vec<_> = p.iter().chain(&q).copied().collect();
        let tall = (a[2] + a[5] / 2.0).max(b[2] + b[5] / 2.0) - (a[2] - a[5] / 2.0).min(b[2] - b[5] / 2.0);
        let enclosing = hull(&all) * tall;
        let giou = volume / union - (enclosing - union) / enclosing;
        let got = s.iou(&t, IouKind::Giou);
        prop_assert!((got - giou).abs() < 1e-8, "{got} {giou}");
        prop_assert_eq!(got.to_bits(), t.iou(&s, IouKind::Giou).to_bits());
    }

    #[test]
    fn a_box_overlaps_itself_wholly((a, b) in rows(), far in -1e6f64..1e6, turns in -10_000.0f64..10_000.0) {
        for mut row in [a, b] {
            row[0] += far;
            row[6] += turns;
            let s = shape(row);
            for kind in [IouKind::Bev, IouKind::Volume] {
                prop_assert_eq!(s.iou(&s, kind), 1.0);
            }
            prop_assert!((s.iou(&s, IouKind::Giou) - 1.0).abs() < 1e-12);
        }
    }
}

#[test]
fn boxes_without_extent_overlap_nothing() {
    let whole = shape([0.0, 0.0, 0.0, 4.0, 2.0, 1.0, 0.3]);
    for axis in 3..6 {
        let mut row = [0.0, 0.0, 0.0, 4.0, 2.0, 1.0, 0.3];
        row[axis] = 0.0;
        let flat = shape(row);
        assert_eq!([flat.iou(&flat, IouKind::Volume), flat.iou(&whole, IouKind::Volume)], [0.0; 2], "{axis}");
        assert_eq!(flat.iou(&whole, IouKind::Bev) > 0.0, axis == 5);
    }
    assert!(whole.iou(&shape([4.0, 0.0, 0.0, 4.0, 2.0, 1.0, 0.3]), IouKind::Bev) > 0.0);
    // Sides that touch.
    let straight = |x: f64| shape([x, 0.0, 0.0, 4.0, 2.0, 1.0, 0.0]);
    assert_eq!(straight(0.0).iou(&straight(4.0), IouKind::Bev), 0.0);
    assert_eq!(straight(0.0).iou(&straight(0.0f64.next_up()), IouKind::Bev), 1.0);
}

#[test]
fn layouts_give_the_same_box() {
    let row = |layout: BoxLayout, values: &[f64]| layout.row(|k| values[k]);
    let rectangle = [3.0, 5.0, 0.0, 4.0, 2.0, 1.0, 0.25];
    assert_eq!(row(BoxLayout::Box, &rectangle), rectangle);
    assert_eq!(row(BoxLayout::Rectangle, &[3.0, 5.0, 4.0, 2.0, 0.25, 9.0]), rectangle);
    assert_eq!(row(BoxLayout::ReversedRectangle, &[3.0, 5.0, 4.0, 2.0, -0.25]), rectangle);
    assert_eq!(row(BoxLayout::Corners, &[1.0, 4.0, 5.0, 6.0, 0.25]), rectangle);
    let upright = [3.0, 5.0, 0.0, 4.0, 2.0, 1.0, 0.0];
    assert_eq!(row(BoxLayout::UprightBox, &rectangle), upright);
    assert_eq!(row(BoxLayout::UprightCorners, &[1.0, 4.0, 5.0, 6.0, f64::NAN]), upright);
    assert_eq!(row(BoxLayout::Center, &[3.0, 5.0]), [3.0, 5.0, 0.0, 1.0, 1.0, 1.0, 0.0]);
    for layout in BoxLayout::ALL {
        let least = (0..9).find(|&columns| layout.fits(columns)).unwrap();
        assert!(layout.expected().starts_with(&std::format!("{least} columns")) && least <= COLUMNS);
        assert_eq!(layout.fits(9), least < COLUMNS);
    }
}

#[test]
fn rows_that_are_no_box_are_none() {
    let good = [1.0, 2.0, 3.0, 4.0, 2.0, 1.5, 0.5];
    let with = |axis: usize, value: f64| {
        let mut row = good;
        row[axis] = value;
        assert_eq!(is_box(&row), !shape(row).is_none());
        is_box(&row)
    };
    assert!(is_box(&good));
    for axis in 0..7 {
        let most = if axis == 6 { MAX_YAW } else { MAX_EXTENT };
        assert!(with(axis, 0.0) && with(axis, -0.0) && with(axis, most) && !with(axis, most.next_up()), "{axis}");
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e8, 1e30, -1e30] {
            assert!(!with(axis, value), "{axis}, {value}");
        }
        for value in [-f64::MIN_POSITIVE, -1.0] {
            assert_eq!(with(axis, value), !(3..6).contains(&axis), "{axis}, {value}");
        }
    }
    let (one, none) = (shape(good), BoxShape::NONE);
    for kind in [IouKind::Bev, IouKind::Volume, IouKind::Giou] {
        assert_eq!([one.iou(&none, kind), none.iou(&one, kind), none.iou(&none, kind)], [0.0; 3]);
    }
    assert!(one.squared_distance(&none).is_nan() && one.squared_distance(&one) == 0.0);
}
