//! How good 3D detections are, by the protocols of KITTI, nuScenes and Argoverse 2.
//!
//! [`evaluate`] compares predictions with the truth. Its [`DetectionReport`] has the average
//! precisions of the protocol, and says of every box whether it was a hit, false, missed or ignored.
//! [`compare`] lists the boxes whose fate changed between two reports: a gate for a change of a
//! detector.
//!
//! ```
//! use pointmill_detection::{DetectionParams, Protocol, evaluate, read};
//! let folder = std::env::temp_dir().join(format!("pointmill-boxes-{}", std::process::id()));
//! std::fs::create_dir_all(&folder).unwrap();
//! let label = "Car 0 0 -1.7 602.4 174.2 684.8 236.8 1.61 1.66 3.20 0.83 1.67 20.43 -1.74\n";
//! std::fs::write(folder.join("000000.txt"), label).unwrap();
//! let truth = read(&folder, None, Protocol::KittiR40, &Default::default()).unwrap();
//! let report = evaluate(&truth, &truth, &DetectionParams { protocol: Protocol::KittiR40, ..Default::default() }).unwrap();
//! assert_eq!(report.mean_ap, Some(1.0));
//! # std::fs::remove_dir_all(&folder).ok();
//! ```
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![forbid(unsafe_code)]

mod argoverse;
mod compare;
mod curve;
mod curves;
mod evaluate;
mod files;
mod filters;
mod image;
mod kitti;
mod matching;
mod memory;
mod nuscenes;
mod protocol;
mod rectangles;
mod report;
mod rows;

pub use compare::{Change, Verdict, compare, compare_watched};
pub use curves::{KittiCurve, kitti_curves};
pub use evaluate::{evaluate, evaluate_watched};
pub use files::read;
pub use pointmill_io::detections::Detections;
pub use protocol::{DetectionParams, Protocol};
pub use report::{AveragePrecision, ClassErrors, Counts, DetectionReport, Errors, Fate, Level, Metric, RowFate};

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
