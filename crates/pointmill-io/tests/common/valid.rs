//! Good files of every format, with what of their structure damage should know.

use super::named::{Encoding, Table};
use super::{bag, header, npy, rosbag, zip};
use pointmill_io::{Dtype, Format};
use std::path::Path;

/// A good file.
#[derive(Clone, Debug)]
pub(crate) struct Valid {
    pub(crate) name: String,
    pub(crate) format: Format,
    pub(crate) bytes: Vec<u8>,
    /// Where a part ends and the next begins.
    pub(crate) boundaries: Vec<usize>,
    /// Binary numbers that say sizes, places and factors: where, and bytes.
    pub(crate) numbers: Vec<(usize, usize)>,
    /// Bytes of the header, and whether it is text.
    pub(crate) header: usize,
    pub(crate) text: bool,
}

impl Valid {
    fn new(name: &str, format: Format, bytes: Vec<u8>) -> Self {
        Self { name: name.into(), format, bytes, boundaries: vec![0], numbers: vec![], header: 0, text: false }
    }

    /// With a header of lines up to the one that starts with `last`.
    fn with_lines(mut self, last: &str) -> Self {
        let mut at = 0;
        for line in self.bytes.split_inclusive(|&b| b == b'\n') {
            at += line.len();
            self.boundaries.push(at);
            if line.starts_with(last.as_bytes()) {
                break;
            }
        }
        Self { header: at, text: true, ..self }
    }
}

/// Good files of all formats, of a format's several kinds.
pub(crate) fn all() -> Vec<Valid> {
    let mut files = [raw(), arrays(), archives(), named()].concat();
    files.extend(las());
    files.extend(feather());
    files.extend(bags());
    files.extend(text());
    files
}

fn text() -> Vec<Valid> {
    let csv = "x,y,z,time\n# five\n0.5,-1,2.25e3,1\n1,2,3,2\n\n-0,nan,3,3\n4,5,6,4\n1e-3,7,8,5\n";
    let pts = "4\r\n1.5 2.5 3.5 -12 255 0 1\r\n1 2 3 0 1 2 3\r\n  4\t5 6 0 1 2 3 \r\n7 8 9 0 1 2 3\r\n";
    let xyz = "//X;Y;Z;I\n691764.125;5335880.1;520;1\n691764.5;5335880.2;521;2\n691764.5;5335880.2;521;2;\n";
    [("a.csv", Format::Csv, csv), ("a.pts", Format::Xyz, pts), ("a.asc", Format::Xyz, xyz)]
        .map(|(name, format, text)| {
            let valid = Valid::new(name, format, text.as_bytes().to_vec());
            Valid { boundaries: (0..text.len()).collect(), header: 24, text: true, ..valid }
        })
        .to_vec()
}

/// Fixtures of Arrow; every word of their descriptions may be a number.
fn feather() -> Vec<Valid> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/feather");
    [
        "sweep_lz4.feather",
        "sweep_zstd.feather",
        "sweep_plain.feather",
        "stream_lz4.arrow",
        "survey_zstd.arrow",
        "others_lz4.feather",
    ]
    .map(|name| {
        let format = if name.ends_with("feather") { Format::Feather } else { Format::Arrow };
        let bytes = std::fs::read(folder.join(name)).unwrap();
        let mut valid = Valid::new(name, format, bytes);
        let length = valid.bytes.len();
        valid.boundaries.extend((8..length).step_by(if length > 6000 { 128 } else { 64 }));
        // Messages, and what follows them; before the end stands the footer.
        let described = (0..1600).chain(length.saturating_sub(600)..length - 8).filter(|at| at % 4 == 0);
        valid.numbers = described.map(|at| (at, 4)).collect();
        valid
    })
    .to_vec()
}

/// A cloud in a chunk with its index, and one outside of chunks.
fn bags() -> Vec<Valid> {
    let points: Vec<_> = (0..9).map(|i| [i as f32, 0.5 * i as f32, -1.0]).collect();
    let (clouds, message) = (bag::clouds(1, "/a"), bag::message(1, 7, &bag::Message::new(&points).bytes()));
    let chunk = bag::plain_chunk(&[&clouds[..], &message].concat());
    let index = bag::index(1, &[(7, clouds.len() as u64)]);
    let mcap = [vec![clouds.clone(), chunk, index, bag::statistics(1, 1)], vec![clouds, message]].map(|records| {
        let bytes = bag::bag(&records);
        let (boundaries, numbers) = bag::structure(&bytes);
        Valid { boundaries, numbers, ..Valid::new("a.mcap", Format::Mcap, bytes) }
    });
    let message = ("/a", "sensor_msgs/PointCloud2", 7, bag::Message::new(&points).ros1());
    let rosbags = ["none", "bz2", "lz4"].map(|compression| {
        let bytes =
            rosbag::bag(std::slice::from_ref(&message), rosbag::Style { compression, together: 1, indexed: true });
        let (boundaries, numbers) = rosbag::structure(&bytes);
        Valid { boundaries, numbers, ..Valid::new("a.bag", Format::Rosbag, bytes) }
    });
    mcap.into_iter().chain(rosbags).collect()
}

fn raw() -> Vec<Valid> {
    let bytes: Vec<u8> = (0..60).flat_map(|i| (i as f32 * 0.5 - 9.0).to_le_bytes()).collect();
    [("a.bin", Format::Kitti), ("a.pcd.bin", Format::Nuscenes)]
        .map(|(name, format)| Valid {
            boundaries: (0..60).step_by(5).map(|i| 4 * i).collect(),
            ..Valid::new(name, format, bytes.clone())
        })
        .to_vec()
}

fn array(descr: &str, fortran: bool, shape: &str, bytes: usize) -> Valid {
    let head = npy(&header(descr, fortran, shape), &[]);
    let data: Vec<u8> = (0..bytes).map(|i| (i * 37) as u8).collect();
    let mut valid = Valid::new("a.npy", Format::Npy, [&head[..], &data].concat());
    (valid.header, valid.text) = (head.len(), true);
    valid.boundaries.extend([6, 8, 10, head.len()]);
    valid.numbers = vec![(6, 1), (7, 1), (8, 2)];
    valid
}

fn arrays() -> Vec<Valid> {
    vec![array("<f4", false, "(9, 4)", 144), array(">f8", true, "(5, 4)", 160), array("<u2", false, "(6, 3)", 36)]
}

fn archives() -> Vec<Valid> {
    let (points, exact) = (array("<f4", false, "(9, 4)", 144).bytes, array("<f8", false, "(9, 3)", 216).bytes);
    [false, true]
        .map(|deflate| {
            let bytes = zip(&[("points.npy", &points), ("xyz_f64.npy", &exact)], deflate);
            let mut valid = Valid::new("a.npz", Format::Npz, bytes);
            for at in 0..valid.bytes.len() - 4 {
                // The records of an archive: of a member, of the list of them, of its end; and
                // numbers in them.
                let numbers: &[(usize, usize)] = match &valid.bytes[at..at + 4] {
                    b"PK\x03\x04" => &[(4, 2), (6, 2), (8, 2), (14, 4), (18, 4), (22, 4), (26, 2), (28, 2)],
                    b"PK\x01\x02" => &[(8, 2), (10, 2), (16, 4), (20, 4), (24, 4), (28, 2), (30, 2), (32, 2), (42, 4)],
                    b"PK\x05\x06" => &[(4, 2), (6, 2), (8, 2), (10, 2), (12, 4), (16, 4), (20, 2)],
                    _ => continue,
                };
                valid.boundaries.push(at);
                valid.numbers.extend(numbers.iter().map(|(offset, width)| (at + offset, *width)));
            }
            valid
        })
        .to_vec()
}

fn named() -> Vec<Valid> {
    let row = |i: u64| vec![i, 0x4008_0000_4040_0000 + i, 7 * i, 0x3f80_0000 + i, i];
    let table = Table {
        names: ["ring", "x", "i", "y", "z"].map(Into::into).to_vec(),
        dtypes: vec![Dtype::U8, Dtype::F64, Dtype::I16, Dtype::F32, Dtype::U32],
        rows: (0..12).map(row).collect(),
    };
    let mut files = vec![];
    for encoding in [Encoding::Ascii, Encoding::Little, Encoding::Big] {
        files.push(Valid::new("a.ply", Format::Ply, table.ply(encoding, "\n")).with_lines("end_header"));
    }
    for encoding in [Encoding::Ascii, Encoding::Little, Encoding::Compressed] {
        let mut valid = Valid::new("a.pcd", Format::Pcd, table.pcd(encoding, "\n")).with_lines("DATA");
        if encoding == Encoding::Compressed {
            valid.numbers = vec![(valid.header, 4), (valid.header + 4, 4)];
            valid.boundaries.extend([4, 8].map(|n| valid.header + n));
        }
        files.push(valid);
    }
    let lists = "ply\nformat binary_little_endian 1.0\nelement a 2\nproperty list ushort char l\nelement vertex 1\n\
                 property float x\nproperty float y\nproperty list uint double l\nproperty float z\nend_header\n";
    let body = [&[2, 0, 5, 5, 0, 0][..], &[0; 8], &[1, 0, 0, 0], &[7; 8], &[0; 4]].concat();
    let mut valid = Valid::new("a.ply", Format::Ply, [lists.as_bytes(), &body].concat()).with_lines("end_header");
    valid.numbers = [(0, 2), (4, 2), (14, 4)].map(|(at, width)| (valid.header + at, width)).to_vec();
    files.push(valid);
    files
}

/// Point formats with every kind of field and of compressed item.
const LAS: [&str; 7] = [
    "1.2_format3",
    "1.3_format5",
    "1.4_format1_extra",
    "1.4_format6",
    "1.4_format7_extra",
    "1.4_format10",
    "1.2_format0_one_point",
];

/// Some fixtures of LAS, and of LAZ where they are read.
fn las() -> Vec<Valid> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/las");
    let mut files = vec![];
    for name in super::names(&folder) {
        let laz = name.ends_with(".laz");
        if LAS
            .iter()
            .any(|stem| name == format!("{stem}.las") || (name == format!("{stem}.laz") && cfg!(feature = "laz")))
        {
            files.push(las_file(&name, std::fs::read(folder.join(&name)).unwrap(), laz));
        }
    }
    files
}

fn las_file(name: &str, bytes: Vec<u8>, compressed: bool) -> Valid {
    let four = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let (header, points) = (usize::from(u16::from_le_bytes([bytes[94], bytes[95]])), four(96));
    let mut valid = Valid::new(name, Format::Las, bytes.clone());
    valid.header = header;
    valid.boundaries.extend([4, 24, 94, 104, 131, 179, 227, header, points]);
    valid.numbers = vec![(24, 1), (25, 1), (94, 2), (96, 4), (100, 4), (104, 1), (105, 2), (107, 4)];
    valid.numbers.extend((131..227).step_by(8).map(|at| (at, 8)));
    if header >= 375 {
        valid.numbers.extend([(227, 8), (235, 8), (243, 4), (247, 8)]);
    }
    let mut at = header;
    while at + 54 <= points {
        let length = usize::from(u16::from_le_bytes([bytes[at + 20], bytes[at + 21]]));
        valid.boundaries.extend([at + 54, at + 54 + length]);
        valid.numbers.extend([(at + 18, 2), (at + 20, 2)]);
        if bytes[at + 2..].starts_with(b"laszip encoded") {
            let record = at + 54;
            valid.numbers.extend([(0, 2), (2, 2), (12, 4), (32, 2)].map(|(n, width)| (record + n, width)));
            valid.numbers.extend((record + 34..record + length).step_by(2).map(|at| (at, 2)));
        }
        at += 54 + length;
    }
    if compressed {
        let table = four(points);
        valid.numbers.extend([(points, 8), (table, 4), (table + 4, 4)]);
        valid.boundaries.extend([points + 8, table, table + 8]);
        let record = usize::from(u16::from_le_bytes([bytes[105], bytes[106]]));
        let chunk = points + 8 + record;
        // The number of points and the lengths of layers, where there are layers.
        if bytes[104] & 0x7f >= 6 && table > chunk + 48 {
            valid.numbers.extend((chunk..chunk + 48).step_by(4).map(|at| (at, 4)));
            valid.boundaries.push(chunk + 4);
        }
    } else {
        let record = usize::from(u16::from_le_bytes([bytes[105], bytes[106]]));
        valid.boundaries.push((points + record).min(bytes.len() - 1));
    }
    valid.boundaries.retain(|&at| at < bytes.len());
    valid.numbers.retain(|&(at, width)| at + width <= bytes.len());
    valid
}
