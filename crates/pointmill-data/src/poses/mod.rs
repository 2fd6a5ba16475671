//! Where each input is: the pose of its number, of its stamp, or of each of its points.

mod deskew;
mod input_poses;
mod of_input;
mod stamps;
mod when;

pub use deskew::deskew;
pub use input_poses::{InputKinds, InputPoses, PUBLISHED, log_poses};
pub use of_input::{pose_of, pose_of_sweep};
pub use stamps::{find_log_poses, is_deskewed, log_stamp, log_stamp_ns, moment_ns};
pub use when::Deskew;
