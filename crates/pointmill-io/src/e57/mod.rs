//! E57 files of scanners: all scans of a file in its frame, or one of them.
//!
//! A scan's pose is applied to its points. Spherical coordinates become x, y, z. A point whose
//! coordinates are marked as invalid, or as a direction alone, is left out and counted. All
//! checksums of the file are verified before anything of it is used.

mod columns;
mod file;
mod packets;
pub(crate) mod scans;
mod xml;
