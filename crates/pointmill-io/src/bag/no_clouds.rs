//! The error for a bag without clouds.

use super::found::Topic;
use super::kind::CLOUDS;
use crate::error::IoError;
use crate::fault::fault;
use std::path::Path;

/// Types of messages that clouds are made of, without their package, and what makes them.
const MAKERS: [(&str, &str); 11] = [
    ("VelodyneScan", "velodyne_pointcloud"),
    ("PacketMsg", "ouster_ros"),
    ("PandarScan", "nebula_ros"),
    ("NebulaPackets", "nebula_ros"),
    ("UdpFrame", "hesai_ros_driver"),
    ("rslidarScan", "rslidar_sdk"),
    ("RslidarScan", "rslidar_sdk"),
    ("RslidarPacket", "rslidar_sdk"),
    ("LaserScan", "laser_geometry"),
    ("MultiEchoLaserScan", "laser_geometry"),
    ("PointCloud", "point_cloud_converter"),
];

/// The error for a bag without clouds, which says what it has and what makes clouds of that.
pub(super) fn no_clouds(path: &Path, topics: &[Topic]) -> IoError {
    const SHOWN: usize = 8;
    let shown = topics.iter().take(SHOWN).map(|topic| {
        let kind = if topic.schema_name.is_empty() { "an unknown type" } else { &topic.schema_name };
        let encoding = match (&*topic.message_encoding, topic.is_cloud()) {
            ("", true) => " without an encoding".into(),
            (encoding, true) => format!(" in {encoding}"),
            _ => String::new(),
        };
        format!("{} of {kind}{encoding}", topic.name)
    });
    let shown = shown.collect::<Vec<_>>().join(", ");
    let (more, verb) = match topics.len() {
        1 => (String::new(), "is"),
        n if n > SHOWN => (format!(" and {} topics more", n - SHOWN), "are"),
        _ => (String::new(), "are"),
    };
    let maker = topics.iter().find_map(|topic| {
        let name = topic.schema_name.rsplit('/').next()?;
        let (_, maker) = MAKERS.iter().find(|(kind, _)| *kind == name)?;
        Some(format!("; play it to {maker}, and record the PointCloud2 that it makes of {}", topic.name))
    });
    let found = match topics {
        [] => "a bag without topics".into(),
        _ => format!("no clouds; it has {shown}{more}, which {verb} not read{}", maker.unwrap_or_default()),
    };
    fault!(path, UnsupportedFormat, "clouds", CLOUDS, found)
}
