//! Voxel means on every device.

use crate::registration::global::gpu::thinned as on_gpu;
use crate::registration::global::surface::thinned;
use crate::registration::global::thin::Thin;
use crate::testing::{Random, devices, kernel_devices};
use crate::{Argument, Device, Rows};

fn thin(cloud: &Rows<'_>, voxel: f64, device: &Device) -> Thin {
    thinned(cloud, voxel, Argument::Source, &device.stream().unwrap()).unwrap()
}

/// All bits: zeros of both signs differ.
fn bits(thin: &Thin) -> (Vec<[u32; 3]>, [u64; 3], usize) {
    (thin.points.iter().map(|p| p.map(f32::to_bits)).collect(), thin.centre.map(f64::to_bits), thin.usable)
}

/// Clouds with what they are, and whether kernels can number their voxels of 0.5 m.
fn clouds() -> Vec<(&'static str, Vec<[f64; 3]>, bool)> {
    let mut random = Random(11);
    let mut of = |n: usize, width: f64| -> Vec<[f64; 3]> {
        (0..n).map(|_| [width, 0.5 * width, 3.0].map(|w| w * f64::from(random.between(-1.0, 1.0)))).collect()
    };
    let (some, dense, one) = (of(3000, 20.0), of(2000, 1.0), of(1, 5.0));
    let mut holes = of(1500, 10.0);
    for i in 0..holes.len() {
        match i % 7 {
            0 => holes[i][i % 3] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY][i / 7 % 3],
            1 => holes[i] = [0.0, -0.0, 0.0],
            2 => holes[i] = holes[i / 2],
            _ => {}
        }
    }
    let edges = (0..1000).map(|i| [i % 10, i / 10 % 10, i / 100].map(|k| f64::from(k - 5) * 0.5)).collect();
    let stray = |x: f64| [some.clone(), vec![[x, -x, 0.1 * x]]].concat();
    let large = some.iter().map(|p| [p[0] + 9e6, p[1] - 5e6, p[2]]).collect();
    let flat = some.iter().enumerate().map(|(i, p)| [p[0], p[1], [0.0, -0.0][i % 2]]).collect();
    let below = some.iter().map(|p| [p[0], -0.0, p[2]]).collect();
    vec![
        ("none", Vec::new(), true),
        ("no usable point", vec![[0.0; 3], [f64::NAN, 1.0, 1.0]], true),
        ("one", one, true),
        ("copies in one voxel", vec![[1.0, 2.0, 3.0]; 1100], true),
        ("dense", dense, true),
        ("holes", holes, true),
        ("on the edges of voxels", edges, true),
        ("zeros of both signs", flat, true),
        ("zeros below", below, true),
        ("far from the origin", large, true),
        ("a stray point", stray(3e4), true),
        ("a point very far away", stray(1e9), false),
        ("some", some, true),
    ]
}

#[test]
fn voxel_means_have_the_same_bits_on_every_device() {
    for (name, cloud, by_kernels) in clouds() {
        let wide: Vec<f64> = cloud.iter().flat_map(|p| [p[0], p[1], p[2], 7.0, 7.0, 7.0, 7.0]).collect();
        let narrow: Vec<f32> = wide.iter().map(|x| *x as f32).collect();
        let origin = [80_000.1, -4.0, 0.3];
        let of_f32 = Rows::f32(&narrow, 7).unwrap();
        for (kind, rows) in [
            ("f64", Rows::from(&cloud[..])),
            ("f64 in wide rows", Rows::f64(&wide, 7).unwrap()),
            ("f64 less an origin", Rows::from(&cloud[..]).relative_to(origin)),
            ("f32", of_f32),
            ("f32 about an origin", of_f32.about(origin).unwrap()),
        ] {
            let want = bits(&thin(&rows, 0.5, &Device::cpu()));
            for (device, on) in devices() {
                assert_eq!(bits(&thin(&rows, 0.5, &on)), want, "{name}, {kind}, {device}");
            }
            for (device, on) in kernel_devices() {
                let by = on_gpu(&rows, 0.5, Argument::Source, &on.stream().unwrap()).unwrap();
                assert_eq!(by.is_some(), by_kernels, "{name}, {kind}, {device}");
            }
        }
        for (device, on) in kernel_devices() {
            let (a, b) = (on.stream().unwrap().upload(&wide).unwrap(), on.stream().unwrap().upload(&narrow).unwrap());
            let rows = [Rows::on_device(&a, cloud.len(), 7).unwrap(), Rows::on_device(&b, cloud.len(), 7).unwrap()];
            let shifted = [rows[0].relative_to(origin), rows[1].about(origin).unwrap()];
            let host = [Rows::f64(&wide, 7).unwrap(), of_f32];
            let host_shifted = [host[0].relative_to(origin), host[1].about(origin).unwrap()];
            for (there, here) in rows.iter().chain(&shifted).zip(host.iter().chain(&host_shifted)) {
                let want = bits(&thin(here, 0.5, &Device::cpu()));
                assert_eq!(bits(&thin(there, 0.5, &on)), want, "{name}, {:?} on {device}", there.dtype());
            }
        }
    }
}

#[test]
fn too_many_voxels_are_refused_on_every_device() {
    let cloud = [[1.0f32, 0.0, 0.0], [2e6, 5.0, 1.0]];
    for (name, device) in devices() {
        let stream = device.stream().unwrap();
        let refused = thinned(&Rows::from(&cloud), 1e-6, Argument::Target, &stream).unwrap_err().to_string();
        assert_eq!(
            refused, "target: expected points within 2^40 voxels of each other, got 1999999 m at voxels of 0.000001 m",
            "{name}"
        );
    }
}
