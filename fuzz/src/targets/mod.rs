//! What each target does with the bytes of an input.

use pointmill_io::Format;

mod op_boxes;
mod op_downsample;
mod op_icp;
mod op_ndt;
mod op_points;
mod op_register;
mod op_roi_pool;
mod op_scatter;
mod op_sparse;
mod op_voxelize;
mod read_bin;
mod read_detections;
mod read_e57;
mod read_map;
mod read_mcap;
mod read_moments;
mod read_poses;
mod read_rosbag;
mod read_sqlite;

pub use op_boxes::run as op_boxes;
pub use op_downsample::run as op_downsample;
pub use op_icp::run as op_icp;
pub use op_ndt::run as op_ndt;
pub use op_points::run as op_points;
pub use op_register::run as op_register;
pub use op_roi_pool::run as op_roi_pool;
pub use op_scatter::run as op_scatter;
pub use op_sparse::run as op_sparse;
pub use op_voxelize::run as op_voxelize;
pub use read_bin::run as read_bin;
pub use read_detections::run as read_detections;
pub use read_e57::run as read_e57;
pub use read_map::run as read_map;
pub use read_mcap::run as read_mcap;
pub use read_moments::run as read_moments;
pub use read_poses::run as read_poses;
pub use read_rosbag::run as read_rosbag;
pub use read_sqlite::run as read_sqlite;

macro_rules! formats {
    ($($name:ident: $format:ident,)*) => {$(
        #[doc = concat!("A file of ", stringify!($format), ", read from a path and from a stream.")]
        pub fn $name(bytes: &[u8]) {
            crate::reader(bytes, Format::$format, None);
        }
    )*};
}
formats! {
    read_feather: Feather,
    read_las: Las,
    read_npy: Npy,
    read_npz: Npz,
    read_pcd: Pcd,
    read_ply: Ply,
    read_text: Xyz,
}

/// What a target does with the bytes of an input.
pub type Target = fn(&[u8]);

/// Every target by the name of its program.
pub const ALL: &[(&str, Target)] = &[
    ("op_boxes", op_boxes),
    ("op_downsample", op_downsample),
    ("op_icp", op_icp),
    ("op_ndt", op_ndt),
    ("op_points", op_points),
    ("op_register", op_register),
    ("op_roi_pool", op_roi_pool),
    ("op_scatter", op_scatter),
    ("op_sparse", op_sparse),
    ("op_voxelize", op_voxelize),
    ("read_bin", read_bin),
    ("read_detections", read_detections),
    ("read_e57", read_e57),
    ("read_feather", read_feather),
    ("read_las", read_las),
    ("read_map", read_map),
    ("read_mcap", read_mcap),
    ("read_moments", read_moments),
    ("read_npy", read_npy),
    ("read_npz", read_npz),
    ("read_pcd", read_pcd),
    ("read_ply", read_ply),
    ("read_poses", read_poses),
    ("read_rosbag", read_rosbag),
    ("read_sqlite", read_sqlite),
    ("read_text", read_text),
];
