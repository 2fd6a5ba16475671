//! Files that are no point clouds in a format that is read, and what makes one of them that is.

use crate::error::IoError;
use crate::fault::fault;
use std::path::Path;

/// How files begin that are not read, what they are, and what makes one of them that is read.
pub(crate) const OTHERS: [(&[u8], &str, Convert); 7] = [
    (b"CCB", "a file of CloudCompare", |_, to| format!("save it there as {to}.ply or {to}.las")),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file", |_, to| format!("write its points as {to}.npy with h5py and numpy")),
    (b"PAR1", "a Parquet file", |_, to| format!("write its table as {to}.feather with pandas or pyarrow")),
    (b"DRACO", "a Draco file", |name, to| format!("make one with `draco_decoder -i {name} -o {to}.ply`")),
    (b"glTF", "a binary glTF file", |_, to| format!("save its points as {to}.ply")),
    (b"\x1f\x8b\x08\0", "a gzip file", |name, _| format!("unpack it with `gunzip {name}`")),
    (b"\x1f\x8b\x08\x08", "a gzip file", |name, _| format!("unpack it with `gunzip {name}`")),
];

/// The way out of a file that is not read, by its name and by the name without the ending.
pub(crate) type Convert = fn(&str, &str) -> String;

/// The error for a file that begins as one that is not read.
pub(crate) fn not_read(path: &Path, first: &[u8]) -> Option<IoError> {
    let is_it = |signature: &[u8]| match signature {
        // The fourth byte has flags, written as a digit.
        b"CCB" => first.starts_with(signature) && first.get(3).is_some_and(u8::is_ascii_digit),
        _ => first.starts_with(signature),
    };
    let (_, what, way) = OTHERS.iter().find(|(signature, ..)| is_it(signature))?;
    let [name, to] = [path, &path.with_extension("")].map(|name| name.display().to_string());
    let found = format!("{what}; {}", way(&name, &to));
    Some(fault!(path, UnsupportedFormat, "format", "a point cloud in a format that is read", found))
}
