//! Settings from a TOML file and from flags, and the parameters they make.
//!
//! The file's keys are the names of the flags, `device` at the top and the others in a table named like the command:
//!
//! ```toml
//! device = "auto"
//!
//! [voxelize]
//! voxel-size = [0.1, 0.1, 0.15]
//! max-points = 5
//! ```

use crate::args::ReadArgs;
use crate::failure::Failure;
use clap::ValueEnum;
use pointmill::Aabb;
use pointmill::voxelize::{MAX_POINTS, MeanType, RowOrder, VoxelizeParams};
use pointmill_io::ReadOptions;
use serde::{Deserialize, Serialize};
use std::io::Read;
use std::path::Path;

/// The most bytes of a file.
const MOST: u64 = 1 << 20;

/// `--order`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Order {
    /// By the smallest index of a voxel's points
    FirstSeen,
    /// By the cell's id, z then y then x
    Sorted,
}

/// `--mean`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Mean {
    F32,
    F16,
}

/// `voxel-size` in a file: one number or three.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum VoxelSize {
    Cube(f32),
    Each([f32; 3]),
}

/// A configuration file.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) device: Option<String>,
    #[serde(default)]
    pub(crate) voxelize: Settings,
}

/// The settings of `voxelize`; what is `None` is left to the default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Settings {
    pub(crate) voxel_size: Option<VoxelSize>,
    pub(crate) range: Option<[f32; 6]>,
    pub(crate) max_voxels: Option<u32>,
    pub(crate) max_points: Option<u32>,
    pub(crate) order: Option<Order>,
    pub(crate) dynamic: Option<bool>,
    pub(crate) strict_range: Option<bool>,
    pub(crate) mean: Option<Mean>,
    pub(crate) no_voxels: Option<bool>,
    pub(crate) format: Option<String>,
    pub(crate) columns: Option<u32>,
    pub(crate) max_decoded_bytes: Option<u64>,
    pub(crate) max_input_points: Option<u64>,
    pub(crate) max_memory: Option<u64>,
}

impl Config {
    /// Reads a file; a key that does not exist is an error, since it is a mistyped one.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let name = path.display();
        let usage =
            |found: &str| Failure::Usage(format!("{name}: expected a text of at most {MOST} bytes, got {found}"));
        let mut bytes = Vec::new();
        let file = std::fs::File::open(path).map_err(Failure::io(path, "read"))?;
        file.take(MOST + 1).read_to_end(&mut bytes).map_err(Failure::io(path, "read"))?;
        if bytes.len() as u64 > MOST {
            return Err(usage("more"));
        }
        let text = String::from_utf8(bytes).map_err(|_| usage("bytes that are not UTF-8"))?;
        let config: Self = toml::from_str(&text).map_err(|e| {
            let before = e.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            Failure::Usage(format!("{name}: line {}: {}", before.matches('\n').count() + 1, e.message()))
        })?;
        if let Some(Err(e)) = config.device.as_deref().map(crate::device::check_name) {
            return Err(Failure::Usage(format!("{name}: device: {e}")));
        }
        config.voxelize.check(&format!("{name}: "))?;
        Ok(config)
    }

    /// The file's text.
    pub(crate) fn to_text(&self) -> Result<String, Failure> {
        toml::to_string(self).map_err(|e| Failure::Io(format!("config: {e}")))
    }
}

impl Settings {
    /// What one source of settings, a file or the flags, must not say at once.
    pub(crate) fn check(&self, source: &str) -> Result<(), Failure> {
        if self.dynamic == Some(true) {
            if self.max_points.is_some() {
                return Err(Failure::Usage(format!(
                    "{source}dynamic keeps all points: expected no max-points with it"
                )));
            }
            if self.no_voxels == Some(false) {
                return Err(Failure::Usage(format!("{source}dynamic makes no voxels: expected no no-voxels = false")));
            }
        }
        Ok(())
    }

    /// These settings, and where they say nothing those of the file.
    pub(crate) fn or(self, file: &Self) -> Self {
        // A flag that limits a voxel's points ends a dynamic file, and the other way round.
        let (limited, dynamic) = (self.max_points.is_some(), self.dynamic == Some(true));
        Self {
            voxel_size: self.voxel_size.or(file.voxel_size),
            range: self.range.or(file.range),
            max_voxels: self.max_voxels.or(file.max_voxels),
            max_points: self.max_points.or(file.max_points).filter(|_| !dynamic),
            order: self.order.or(file.order),
            dynamic: self.dynamic.or(file.dynamic.filter(|_| !limited)),
            strict_range: self.strict_range.or(file.strict_range),
            mean: self.mean.or(file.mean),
            no_voxels: self.no_voxels.or(file.no_voxels.filter(|_| !dynamic)),
            format: self.format.or_else(|| file.format.clone()),
            columns: self.columns.or(file.columns),
            max_decoded_bytes: self.max_decoded_bytes.or(file.max_decoded_bytes),
            max_input_points: self.max_input_points.or(file.max_input_points),
            max_memory: self.max_memory.or(file.max_memory),
        }
    }

    /// The library's parameters; checked when a voxelizer is made.
    pub(crate) fn params(&self) -> VoxelizeParams {
        let default = VoxelizeParams::default();
        let dynamic = self.dynamic == Some(true);
        let mut outputs = default.outputs;
        outputs.voxels = !dynamic && self.no_voxels != Some(true);
        outputs.mean = Some(match self.mean {
            Some(Mean::F16) => MeanType::F16,
            Some(Mean::F32) | None => MeanType::F32,
        });
        VoxelizeParams {
            voxel_size: match self.voxel_size {
                None => default.voxel_size,
                Some(VoxelSize::Cube(edge)) => [edge; 3],
                Some(VoxelSize::Each(edges)) => edges,
            },
            range: self.range.map_or(default.range, |[a, b, c, d, e, f]| Aabb::new([a, b, c], [d, e, f])),
            max_voxels: self.max_voxels.unwrap_or(if dynamic { MAX_POINTS as u32 } else { default.max_voxels }),
            max_points_per_voxel: if dynamic { None } else { self.max_points.or(default.max_points_per_voxel) },
            order: match self.order {
                Some(Order::Sorted) => RowOrder::Sorted,
                Some(Order::FirstSeen) | None => RowOrder::FirstSeen,
            },
            strict_range: self.strict_range.unwrap_or(default.strict_range),
            outputs,
        }
    }

    /// How inputs are read.
    pub(crate) fn read_options(&self) -> Result<ReadOptions, Failure> {
        let format = self.format.as_deref().map(str::parse).transpose();
        let format = format.map_err(|e: pointmill::UnknownName| Failure::Usage(format!("format: {e}")))?;
        let &Self { columns, max_decoded_bytes, max_input_points, max_memory, .. } = self;
        Ok(ReadArgs { format, columns, max_decoded_bytes, max_input_points, max_memory }.options())
    }

    /// Every setting as it is in effect; what has no default and was not given stays out.
    pub(crate) fn in_effect(&self) -> Self {
        let params = self.params();
        let Aabb { min: [a, b, c], max: [d, e, f] } = params.range;
        Self {
            voxel_size: Some(VoxelSize::Each(params.voxel_size)),
            range: Some([a, b, c, d, e, f]),
            max_voxels: Some(params.max_voxels),
            max_points: params.max_points_per_voxel,
            order: Some(if params.order == RowOrder::Sorted { Order::Sorted } else { Order::FirstSeen }),
            dynamic: Some(params.max_points_per_voxel.is_none()),
            strict_range: Some(params.strict_range),
            mean: Some(self.mean.unwrap_or(Mean::F32)),
            no_voxels: Some(!params.outputs.voxels),
            format: self.format.clone(),
            columns: self.columns,
            max_decoded_bytes: self.max_decoded_bytes,
            max_input_points: self.max_input_points,
            max_memory: self.max_memory,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_override_the_file() {
        let file = Settings { max_points: Some(3), strict_range: Some(true), ..Settings::default() };
        let flags = Settings { max_points: Some(5), strict_range: Some(false), ..Settings::default() };
        let params = flags.or(&file).params();
        assert_eq!((params.max_points_per_voxel, params.strict_range), (Some(5), false));
        let flags = Settings { dynamic: Some(true), ..Settings::default() };
        let params = flags.or(&file).params();
        assert_eq!((params.max_points_per_voxel, params.outputs.voxels), (None, false));
        let file = Settings { dynamic: Some(true), ..Settings::default() };
        let flags = Settings { max_points: Some(5), ..Settings::default() };
        assert_eq!(flags.or(&file).params().max_points_per_voxel, Some(5));
    }

    #[test]
    fn what_is_printed_is_read_back() {
        for dynamic in [None, Some(true)] {
            let settings =
                Settings { dynamic, columns: Some(6), max_decoded_bytes: Some(7), ..Settings::default() }.in_effect();
            let config = Config { device: Some("cpu".into()), voxelize: settings };
            let text = config.to_text().unwrap();
            assert!(text.contains("voxel-size = [0.2, 0.2, 0.2]"), "{text}");
            let back: Config = toml::from_str(&text).unwrap();
            assert_eq!(back, config);
            assert_eq!(back.voxelize.in_effect(), back.voxelize);
            back.voxelize.check("").unwrap();
        }
    }

    #[test]
    fn a_cube_has_one_edge() {
        let config: Config = toml::from_str("[voxelize]\nvoxel-size = 0.5").unwrap();
        assert_eq!(config.voxelize.params().voxel_size, [0.5; 3]);
    }
}
