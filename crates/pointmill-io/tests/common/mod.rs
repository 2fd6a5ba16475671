//! What the tests share.
#![allow(dead_code)] // Each test uses a part.

pub(crate) mod bag;
pub(crate) mod damage;
pub(crate) mod ends;
pub(crate) mod named;
pub(crate) mod points;
pub(crate) mod random;
pub(crate) mod rosbag;
pub(crate) mod survive;
pub(crate) mod valid;

use std::path::Path;

/// The bytes of an npy file with the header text given.
pub(crate) fn npy(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

/// The header text of an array.
pub(crate) fn header(descr: &str, fortran: bool, shape: &str) -> String {
    let fortran = if fortran { "True" } else { "False" };
    format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n")
}

/// A zip archive with members stored or deflated.
pub(crate) fn zip(members: &[(&str, &[u8])], deflate: bool) -> Vec<u8> {
    use std::io::Write;
    let method = if deflate { zip::CompressionMethod::Deflated } else { zip::CompressionMethod::Stored };
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in members {
        writer.start_file(*name, zip::write::SimpleFileOptions::DEFAULT.compression_method(method)).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// Every file in a folder.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
