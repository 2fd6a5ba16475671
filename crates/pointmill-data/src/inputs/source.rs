//! One input: a file, the standard input, a cloud of a bag, or a sweep of the built-in drive.

use crate::poses::log_stamp_ns;
use pointmill_core::Pose;
use pointmill_io::bag::{Bag, Sweeps};
use pointmill_io::{Format, IoError, Scan};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The name of the standard input.
pub const STDIN: &str = "-";
/// The format of what is built in.
pub const SYNTHETIC: &str = "synthetic";

/// One input.
#[derive(Debug)]
pub enum Source {
    /// A file.
    File(PathBuf),
    /// The bytes of a file that was read, under its name.
    Held(PathBuf, Arc<[u8]>),
    /// The standard input.
    Stdin,
    /// A cloud of a bag.
    Cloud(BagCloud),
    /// A sweep of the built-in drive.
    Sweep(usize),
    /// The built-in street.
    Street,
    /// An input that fails in its turn: a folder without a cloud, a pattern without a match,
    /// something in a folder that is no regular file, or a bag of several topics.
    Nothing(IoError),
}

/// A scan, and the nanoseconds of the stamp of a bag's cloud or of a sweep of Argoverse 2.
pub type Stamped = (Scan, Option<i64>);
/// A cloud that was read, and the milliseconds that it took.
pub(super) type Opened = Result<(Stamped, f64), IoError>;

/// A cloud of a bag.
#[derive(Clone, Debug)]
pub struct BagCloud {
    /// The bag, which is open.
    pub bag: Arc<Bag>,
    /// The sweeps of the bag.
    pub(super) sweeps: Arc<Sweeps>,
    /// Its number among them.
    pub(super) number: usize,
    /// Whether how topics were joined is told with it.
    pub(super) is_told: bool,
}

impl BagCloud {
    /// The name to show.
    pub fn name(&self) -> PathBuf {
        self.bag.cloud_name(self.number)
    }

    /// The pose of the cloud's frame in another, by the static transforms of the bag.
    ///
    /// # Errors
    /// A cloud that cannot be read; frames that no transforms connect; as [`Bag::static_frames`].
    pub fn pose_in(&self, frame: &str) -> Result<Pose, IoError> {
        self.bag.static_frames()?.pose(frame, &self.bag.sweep(&self.sweeps, self.number)?.frame)
    }
}

impl Source {
    /// The standard input or a file.
    pub fn named(path: &Path) -> Self {
        if path.as_os_str() == STDIN { Self::Stdin } else { Self::File(path.into()) }
    }

    /// The name to show.
    pub fn name(&self) -> String {
        match self {
            Self::File(path) | Self::Held(path, _) => shown(path),
            Self::Stdin => STDIN.into(),
            Self::Cloud(cloud) => shown(&cloud.name()),
            Self::Sweep(i) => format!("sweep_{i:03}"),
            Self::Street => SYNTHETIC.into(),
            Self::Nothing(e) => shown(e.path()),
        }
    }

    /// The file, if it is one.
    pub fn path(&self) -> Option<&Path> {
        if let Self::File(path) = self { Some(path) } else { None }
    }

    /// The file, or the bag with the number of the cloud.
    pub fn file(&self) -> Option<PathBuf> {
        match self {
            Self::File(path) | Self::Held(path, _) => Some(path.clone()),
            Self::Cloud(cloud) => Some(cloud.name()),
            _ => None,
        }
    }

    /// The nanoseconds of its stamp, as far as its name tells.
    pub fn stamp_ns(&self) -> Option<i64> {
        let (Self::File(path) | Self::Held(path, _)) = self else { return None };
        log_stamp_ns(path)?.try_into().ok()
    }

    /// The format of a cloud that was read, or `synthetic`.
    pub const fn format(&self, scan: &Scan) -> &'static str {
        if matches!(self, Self::Sweep(_)) { SYNTHETIC } else { scan.format.as_str() }
    }

    /// The name without folder and extension, for the output file; `None` for an input that has
    /// none.
    pub fn stem(&self) -> Option<OsString> {
        match self {
            Self::File(path) | Self::Held(path, _) => Some(stem(path)),
            Self::Stdin => Some("stdin".into()),
            Self::Cloud(cloud) => {
                let mut name = stem(cloud.bag.path());
                name.push(format!("_{:06}", cloud.number));
                Some(name)
            }
            Self::Sweep(_) | Self::Street => Some(self.name().into()),
            Self::Nothing(_) => None,
        }
    }
}

/// A file's name without the extension of its format, or without its last one; byte for byte, so
/// that names that are not UTF-8 differ too.
pub fn stem(path: &Path) -> OsString {
    let name = path.file_name().unwrap_or_default();
    let nuscenes = Format::from_name(path) == Some(Format::Nuscenes);
    let dots = if nuscenes { 2 } else { 1 };
    let mut stem = Path::new(name);
    for _ in 0..dots {
        match stem.file_stem() {
            Some(shorter) if shorter != stem => stem = Path::new(shorter),
            _ => return name.to_owned(),
        }
    }
    stem.as_os_str().to_owned()
}

/// A path in JSON, manifests and messages: with `/` between its parts on every platform. What is
/// not UTF-8 in it is replaced.
pub fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    if cfg!(windows) { text.replace('\\', "/") } else { text.into_owned() }
}

#[cfg(test)]
mod tests {
    use super::stem;

    #[test]
    fn stems_lose_the_extension_of_the_format() {
        for (path, wanted) in [
            ("a/000001.bin", "000001"),
            ("n015.v1.pcd.bin", "n015.v1"),
            ("x.y.npy", "x.y"),
            ("noext", "noext"),
            (".bin", ".bin"),
            ("a/b/", "b"),
        ] {
            assert_eq!(stem(path.as_ref()), wanted, "{path}");
        }
    }
}
