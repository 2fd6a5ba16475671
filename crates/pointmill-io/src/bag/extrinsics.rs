//! Where sensors are on a vehicle, from a file of text.

use super::frames::plain;
use crate::error::{Detail, IoError, excerpt};
use crate::fault::{bail, fault};
use crate::files::open_named;
use pointmill_core::Pose;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The most bytes of a file.
const MOST: u64 = 1 << 20;

/// The poses of sensors in one frame, such as that of the vehicle.
///
/// A line of the file is the name of a topic or of a frame and its pose:
/// `NAME X Y Z ROLL PITCH YAW`, in metres and radians as [`Pose::from_urdf`] takes them. Empty lines
/// and lines that begin with `#` say nothing.
///
/// ```
/// use pointmill_io::bag::Extrinsics;
/// let sensors = Extrinsics::parse("# the roof\n/front 1.5 0 2 0 0 0\nrear_lidar -1 0 2 0 0 3.1416\n", "sensors.txt")?;
/// assert_eq!(sensors.names().collect::<Vec<_>>(), ["/front", "rear_lidar"]);
/// let error = Extrinsics::parse("/front 1.5 0 2\n", "sensors.txt").unwrap_err();
/// assert!(error.to_string().contains("expected NAME X Y Z ROLL PITCH YAW"), "{error}");
/// # Ok::<(), pointmill_io::IoError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Extrinsics {
    path: PathBuf,
    lines: Vec<(String, Pose)>,
}

impl Extrinsics {
    /// Reads a file of at most 1 MiB.
    ///
    /// # Errors
    /// A file that cannot be read; as [`Extrinsics::parse`].
    pub fn read(path: impl AsRef<Path>) -> Result<Self, IoError> {
        let path = path.as_ref();
        let mut bytes = vec![];
        open_named(path)?.0.take(MOST + 1).read_to_end(&mut bytes).map_err(IoError::io(path, "read"))?;
        if bytes.len() as u64 > MOST {
            bail!(path, LimitExceeded, "length", "at most {MOST} bytes of poses of sensors", "more");
        }
        let Ok(text) = str::from_utf8(&bytes) else {
            bail!(path, BadValue, "text", "UTF-8", (excerpt(&bytes)));
        };
        Self::parse(text, path)
    }

    /// Takes the text of a file; `name` stands for it in errors.
    ///
    /// # Errors
    /// A line that is not a name and six finite numbers; a name that stands twice; no line.
    pub fn parse(text: &str, name: impl AsRef<Path>) -> Result<Self, IoError> {
        let path = name.as_ref();
        let mut lines: Vec<(String, Pose)> = vec![];
        for (i, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            if line.trim().is_empty() || line.trim_start().starts_with('#') {
                continue;
            }
            let field = format!("line {}", i + 1);
            let mut words = line.split_whitespace();
            let name = words.next().unwrap_or_default();
            let numbers: Option<Vec<f64>> = words.map(|word| word.parse().ok()).collect();
            let Some(Ok(numbers)) = numbers.map(<[f64; 6]>::try_from) else {
                let wanted = "NAME X Y Z ROLL PITCH YAW, in metres and radians";
                bail!(path, BadValue, field, wanted, (excerpt(line.as_bytes())));
            };
            let pose = match Pose::from_urdf(numbers) {
                Ok(pose) => pose,
                Err(e) => bail!(path, BadValue, field, "a pose", e),
            };
            if lines.iter().any(|(other, _)| other == name) {
                bail!(path, BadValue, field, "each name once", "`{name}` again");
            }
            lines.push((name.into(), pose));
        }
        if lines.is_empty() {
            bail!(path, MissingField, "lines", "a line NAME X Y Z ROLL PITCH YAW for each sensor", "none");
        }
        Ok(Self { path: path.into(), lines })
    }

    /// The names of topics and frames, in the order of the file.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(|(name, _)| &**name)
    }

    /// Checks that each name is one of the topics of a bag, or the frame of one.
    pub(super) fn check(&self, topics: &[(String, String)]) -> Result<(), IoError> {
        let is_known = |name: &str| topics.iter().any(|(topic, frame)| is_of(name, topic, frame));
        match self.names().find(|name| !is_known(name)) {
            None => Ok(()),
            Some(name) => {
                let known: Vec<_> = topics.iter().map(|(topic, frame)| format!("{topic} (`{frame}`)")).collect();
                let wanted = format!("topics of clouds or their frames: {}", known.join(", "));
                Err(fault!(*self.path, BadValue, "name", wanted, "`{name}`"))
            }
        }
    }

    /// The pose of the sensor of a topic, whose clouds are in a frame.
    pub(super) fn pose(&self, topic: &str, frame: &str) -> Result<Pose, IoError> {
        let found: Vec<_> = self.lines.iter().filter(|(name, _)| is_of(name, topic, frame)).collect();
        match found[..] {
            [(_, pose)] => Ok(*pose),
            [] => {
                let wanted = format!("a line for {topic}, or for its frame `{frame}`");
                let found = format!("lines for {}", self.names().collect::<Vec<_>>().join(", "));
                Err(IoError::MissingField(Detail::new(&self.path, "lines", wanted, found)))
            }
            _ => {
                let wanted = format!("one line for {topic} and its frame");
                Err(fault!(
                    *self.path,
                    BadValue,
                    "lines",
                    wanted,
                    ("{}", found.iter().map(|l| &*l.0).collect::<Vec<_>>().join(", "))
                ))
            }
        }
    }
}

/// Whether a name means a topic or the frame of its clouds. A name with a slash in front is none of a
/// frame.
fn is_of(name: &str, topic: &str, frame: &str) -> bool {
    name == topic || name == plain(frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        Extrinsics::parse(text, "s.txt").unwrap_err().to_string()
    }

    #[test]
    fn lines_are_names_and_poses() {
        let text = "\u{feff}# sensors\r\n\r\n/front 1 2 3 0.1 0.2 0.3\r\n  \tlidar\t-1e-1 0 0 0 0 -3.2  \n";
        let sensors = Extrinsics::parse(text, "s.txt").unwrap();
        let pose = sensors.pose("/front", "front_frame").unwrap();
        assert_eq!(pose, Pose::from_urdf([1.0, 2.0, 3.0, 0.1, 0.2, 0.3]).unwrap());
        assert_eq!(sensors.pose("/rear", "/lidar").unwrap().translation(), [-0.1, 0.0, 0.0]);
        let told = sensors.pose("/rear", "rear").unwrap_err().to_string();
        assert_eq!(
            told,
            "s.txt: lines: expected a line for /rear, or for its frame `rear`, got lines for /front, lidar"
        );
        let told = sensors.pose("/front", "lidar").unwrap_err().to_string();
        assert_eq!(told, "s.txt: lines: expected one line for /front and its frame, got /front, lidar");
        // An empty frame is no name.
        assert!(Extrinsics::parse("/ 1 0 0 0 0 0", "s").unwrap().pose("/a", "").is_err());
    }

    #[test]
    fn names_that_nobody_has_are_refused() {
        let topics = [("/front".to_owned(), "a".to_owned()), ("/rear".to_owned(), "/b".to_owned())];
        let check = |text: &str| Extrinsics::parse(text, "s.txt").unwrap().check(&topics).map_err(|e| e.to_string());
        assert_eq!(check("/front 0 0 0 0 0 0\nb 0 0 0 0 0 0"), Ok(()));
        let wanted = "s.txt: name: expected topics of clouds or their frames: /front (`a`), /rear (`/b`), got `/left`";
        assert_eq!(check("/front 0 0 0 0 0 0\n/left 0 0 0 0 0 0"), Err(wanted.into()));
    }

    #[test]
    fn what_is_no_line_is_refused() {
        for line in ["a", "a 1 2 3", "a 1 2 3 4 5", "a 1 2 3 4 5 6 7", "a 1 2 3 4 5 six", "a,1,2,3,4,5,6"] {
            let told = refused(&format!("# one\n{line}"));
            assert!(
                told.starts_with("s.txt: line 2: expected NAME X Y Z ROLL PITCH YAW, in metres and radians, got"),
                "{told}"
            );
        }
        for line in ["a nan 2 3 4 5 6", "a 1 2 3 inf 5 6", "a 1 2 3 1e300 0 0"] {
            assert!(refused(line).starts_with("s.txt: line 1: expected a pose, got"), "{line}");
        }
        assert_eq!(refused("a 0 0 0 0 0 0\na 0 0 0 0 0 0"), "s.txt: line 2: expected each name once, got `a` again");
        assert!(refused("").contains("expected a line NAME X Y Z"));
        assert!(refused("# nothing\n").contains("got none"));
    }
}
