//! Poses from text files.

use pointmill::{Error, Pose};
use pointmill_io::{Detail, IoError};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Longest file: 10,000 poses and more.
const LIMIT: u64 = 16 << 20;
const WANTED: &str = "16 numbers, a matrix row by row, or 6: x y z roll pitch yaw; or one such pose a line";

/// A pose as a file has it; whether it makes sense is the library's to say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Written {
    /// x, y, z in metres, roll, pitch, yaw in radians.
    Six([f64; 6]),
    /// A 4x4 matrix, rows first.
    Matrix([f64; 16]),
}

impl Written {
    /// The pose, if the library takes it.
    pub(crate) fn pose(&self) -> Result<Pose, Error> {
        Ok(match self {
            Self::Six(xyzrpy) => Pose::from_xyzrpy(*xyzrpy)?,
            Self::Matrix(m) => Pose::from_matrix(&std::array::from_fn(|i| std::array::from_fn(|j| m[4 * i + j])))?,
        })
    }
}

/// The rows of a pose's matrix, one after the other.
pub(crate) fn flat(pose: &Pose) -> [f64; 16] {
    let rows = pose.matrix();
    std::array::from_fn(|i| rows[i / 4][i % 4])
}

/// Reads the poses of a file, of which there is at least one.
pub(crate) fn read(path: &Path) -> Result<Vec<Written>, IoError> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(IoError::io(path, "open"))?;
    file.take(LIMIT + 1).read_to_end(&mut bytes).map_err(IoError::io(path, "read"))?;
    if bytes.len() as u64 > LIMIT {
        let found = "more".to_owned();
        return Err(IoError::LimitExceeded(Detail::new(path, "length", format!("at most {LIMIT} bytes"), found)));
    }
    parse(path, &String::from_utf8_lossy(&bytes))
}

fn parse(path: &Path, text: &str) -> Result<Vec<Written>, IoError> {
    let numbers = |text: &str| -> Result<Vec<f64>, IoError> {
        let words = text.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty());
        let wrong = |word: &str| IoError::BadValue(Detail::new(path, "text", "numbers", format!("`{word}`")));
        words.map(|word| word.parse().map_err(|_| wrong(word))).collect()
    };
    let all = numbers(text)?;
    if matches!(all.len(), 6 | 16) {
        return Ok(vec![pose(path, 0, &all)?]);
    }
    let lines = text.lines().filter(|line| !line.trim().is_empty()).enumerate();
    let poses: Vec<Written> = lines.map(|(i, line)| pose(path, i, &numbers(line)?)).collect::<Result<_, _>>()?;
    if poses.is_empty() { Err(IoError::BadValue(Detail::new(path, "text", WANTED, "none"))) } else { Ok(poses) }
}

fn pose(path: &Path, i: usize, numbers: &[f64]) -> Result<Written, IoError> {
    if let Ok(pose) = numbers.try_into() {
        return Ok(Written::Six(pose));
    }
    let matrix = numbers.try_into().map_err(|_| {
        let found = format!("{} in line {}", numbers.len(), i + 1);
        IoError::BadValue(Detail::new(path, "text", WANTED, found))
    });
    Ok(Written::Matrix(matrix?))
}

/// What the library says against pose `i` of a file.
pub(crate) fn refused(path: &Path, i: usize, e: &Error) -> IoError {
    match e {
        Error::Argument { expected, got, .. } => {
            IoError::BadValue(Detail::new(path, format!("pose {}", i + 1), expected, got))
        }
        e => IoError::BadValue(Detail::new(path, format!("pose {}", i + 1), "a pose", e.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poses_have_six_numbers_or_sixteen() {
        let path = Path::new("p.txt");
        let parsed = |text: &str| parse(path, text).map_err(|e| e.to_string());
        let six = Written::Six([1.0, -2.5, 3e2, 0.1, 0.0, -0.2]);
        #[rustfmt::skip]
        let matrix = Written::Matrix([1.0, 0.0, 0.0, 7.0, 0.0, 1.0, 0.0, 8.0, 0.0, 0.0, 1.0, 9.0, 0.0, 0.0, 0.0, 1.0]);
        assert_eq!(parsed("1 -2.5 3e2\r\n\n0.1, 0,-.2\n"), Ok(vec![six]));
        assert_eq!(parsed("1 0 0 7\n0 1 0 8\n0 0 1 9\n0 0 0 1"), Ok(vec![matrix]));
        let line = "1 0 0 7 0 1 0 8 0 0 1 9 0 0 0 1\n";
        let lines = format!("{line}\n1 -2.5 3e2 0.1 0 -.2\n{line}");
        assert_eq!(parsed(&lines), Ok(vec![matrix, six, matrix]));
        for (text, told) in [
            ("", "found none"),
            (" \n", "found none"),
            ("1 2 3", "found 3 in line 1"),
            ("1 2 3 4 5 x", "p.txt: text: wanted numbers, found `x`"),
            ("1 2 3 4 5 6\n1 2 3 4 5", "found 5 in line 2"),
        ] {
            let e = parsed(text).unwrap_err();
            assert!(e.contains(told), "{text}: {e}");
        }
    }
}
