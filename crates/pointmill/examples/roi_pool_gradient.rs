//! Pools features in boxes and takes gradients back to the points:
//! `cargo run --release -p pointmill --example roi_pool_gradient`.

use pointmill::roi_pool::{PoolMode, RoiLayout, RoiPoolParams, RoiPooler, Scene};
use pointmill::{AnyArray, AnyBuffer, Device, Dtype, Result, Rows};
use pointmill_synth::RoiScene;

fn main() -> Result<()> {
    let scene = RoiScene::street(32, 4_000, 0);
    let channels = 4;
    let features: Vec<f32> = (0..scene.points.len() / 3 * channels).map(|i| (i % 101) as f32 * 0.01).collect();

    let stream = Device::auto().stream()?;
    let params = RoiPoolParams { out_size: [6, 6, 6], layout: RoiLayout::Sparse, ..RoiPoolParams::default() };
    let mut pooler = RoiPooler::new(&stream, &params)?;
    // Boxes: [B, 7] as cx, cy, cz, dx, dy, dz, heading. Points: [N, 3]. The scene is located once
    // for both modes.
    let (boxes, points) = (Rows::new(&scene.boxes, 7)?, Rows::new(&scene.points, 3)?);
    pooler.locate(Scene::new(boxes, points))?;
    for mode in [PoolMode::Max, PoolMode::Mean] {
        let mut pooled = pooler.output()?;
        pooler.pool(Rows::new(&features, channels)?, mode, &mut pooled)?;
        let rows = pooled.num_voxels()?;

        // The gradient of the sum of all pooled values.
        let ones = vec![1.0f32; rows * channels];
        let mut gradient = AnyBuffer::new(&stream, Dtype::F32)?;
        pooler.backward(&pooled, Rows::new(&ones, channels)?, &mut gradient)?;
        let AnyArray::F32(gradient) = gradient.read(features.len())? else { unreachable!("features are f32") };
        let sum: f32 = gradient.iter().sum();
        let touched = gradient.chunks_exact(channels).filter(|row| row.iter().any(|g| *g != 0.0)).count();
        println!("{mode:?}: {rows} voxels with points, the gradient reaches {touched} points, its sum is {sum}");
    }
    Ok(())
}
