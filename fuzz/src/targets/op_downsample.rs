//! One point for each voxel, on all devices.
use crate::{Draw, Named, everywhere};
use pointmill::Rows;
use pointmill::downsample::{DownsampleParams, Downsampled, Downsampler, Keep};

/// Runs the target on the bytes of one input.
pub fn run(bytes: &[u8]) {
    let mut draw = Draw(bytes);
    let voxel_size = draw.sizes();
    let keep = draw.one(&[Keep::Mean, Keep::First, Keep::Centre, Keep::Random]);
    let params = DownsampleParams { keep, seed: u64::from(draw.byte()), ..DownsampleParams::new(voxel_size) };
    let columns = 3 + draw.below(3);
    let inputs = [draw.part().near_rows(columns, 120, 0..0), draw.near_rows(columns, 120, 0..0)];
    everywhere(
        inputs.each_ref(),
        false,
        |stream| {
            let mut worker = Downsampler::new(stream, &params)?;
            Ok((None, move |input: &Vec<f32>, out: &mut Option<Downsampled>| {
                *out = Some(worker.run(Rows::new(&input[..], columns)?)?);
                Ok(())
            }))
        },
        |out| {
            let Some(out) = out else { return Ok(vec![]) };
            let ([splits, indices], kept) = (out.lists()?, out.kept_indices()?);
            let report = out.report();
            let counts = [report.points, report.kept, report.non_finite].map(|n| n as u64);
            Ok(vec![Named(vec![
                ("points", out.read()?.into()),
                ("kept", kept.into()),
                ("row_splits", splits.into()),
                ("indices", indices.into()),
                ("report", counts.to_vec().into()),
            ])])
        },
    );
}
