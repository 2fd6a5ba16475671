//! `--visualize` of `icp`: the source moving onto the target.

use crate::failure::Failure;
#[cfg(feature = "rerun")]
use crate::interrupt::undivided;
use crate::picture::save;
use pointmill::icp::Registration;
use pointmill_io::Scan;
use pointmill_view::{IcpLook, icp_animation, icp_picture, require_memory};
use std::path::Path;

/// The endings of pictures.
pub(super) const EXTENSIONS: [&str; 3] = ["gif", "png", "rrd"];

/// A picture to be made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Picture<'a> {
    path: &'a Path,
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Moving,
    Still,
    #[cfg(feature = "rerun")]
    Recording,
}

/// How to get what this build lacks.
#[cfg(not(feature = "rerun"))]
const WITHOUT: &str = "this build cannot write .rrd; expected .gif or .png, or a build with `--features rerun`";

impl<'a> Picture<'a> {
    /// Checks that this build can write it, before any work.
    pub(super) fn plan(path: &'a Path, extension: &str) -> Result<Self, Failure> {
        let kind = match extension {
            "gif" => Kind::Moving,
            "png" => Kind::Still,
            #[cfg(feature = "rerun")]
            _ => Kind::Recording,
            #[cfg(not(feature = "rerun"))]
            _ => return Err(Failure::Usage(format!("--visualize {}: {WITHOUT}", path.display()))),
        };
        Ok(Self { path, kind })
    }

    /// Draws all poses on the way.
    pub(super) fn write(&self, source: &Scan, target: &Scan, found: &Registration) -> Result<(), Failure> {
        let frames = if matches!(self.kind, Kind::Still) { 1 } else { found.fit.trace.len() };
        require_memory(frames, 3 * (source.cloud.len() + target.cloud.len()))?;
        let (source, target) = (source.xyz(), target.xyz());
        let looks: Vec<IcpLook> = found
            .fit
            .trace
            .iter()
            .map(|look| IcpLook {
                target_from_source: look.target_from_source,
                stage: look.stage,
                pairs: look.pairs,
                rmse: look.rmse,
            })
            .collect();
        match self.kind {
            Kind::Moving => {
                let gif = icp_animation(&source, &target, &looks);
                save(self.path, gif.len(), || gif.encode())
            }
            Kind::Still => {
                let picture = icp_picture(&source, &target, &looks);
                save(self.path, 1, || Ok(picture.encode_png()))
            }
            #[cfg(feature = "rerun")]
            Kind::Recording => {
                let write = || pointmill_view::write_icp_recording(self.path, &source, &target, &looks);
                Ok(undivided(write)?)
            }
        }
    }
}
