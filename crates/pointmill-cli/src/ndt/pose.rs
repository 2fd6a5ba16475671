//! Poses from text files.

use pointmill::Error;
use pointmill::ndt::{NdtCloud, NdtGrid, Pose, pose_of};
use pointmill_io::{Detail, IoError};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Longest file: 10,000 poses and more.
const LIMIT: u64 = 16 << 20;
const WANTED: &str = "16 numbers, a matrix row by row, or 6: x y z roll pitch yaw; or one such pose a line";

/// Reads the poses of a file; `grid` says which it would take.
pub(super) fn read(path: &Path, grid: &NdtGrid) -> Result<Vec<Pose>, IoError> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(IoError::io(path, "open"))?;
    file.take(LIMIT + 1).read_to_end(&mut bytes).map_err(IoError::io(path, "read"))?;
    if bytes.len() as u64 > LIMIT {
        let found = "more".to_owned();
        return Err(IoError::LimitExceeded(Detail::new(path, "length", format!("at most {LIMIT} bytes"), found)));
    }
    let poses = parse(path, &String::from_utf8_lossy(&bytes))?;
    for (i, pose) in poses.iter().enumerate() {
        // Whether a pose makes sense is the library's to say; a scan without points costs nothing.
        let taken = NdtCloud::f32(&[], 3).and_then(|nothing| grid.score(nothing, &[*pose]));
        taken.map_err(|e| refused(path, i, &e))?;
    }
    Ok(poses)
}

fn parse(path: &Path, text: &str) -> Result<Vec<Pose>, IoError> {
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
    let poses: Vec<Pose> = lines.map(|(i, line)| pose(path, i, &numbers(line)?)).collect::<Result<_, _>>()?;
    if poses.is_empty() { Err(IoError::BadValue(Detail::new(path, "text", WANTED, "none"))) } else { Ok(poses) }
}

fn pose(path: &Path, i: usize, numbers: &[f64]) -> Result<Pose, IoError> {
    if let Ok(pose) = numbers.try_into() {
        return Ok(pose);
    }
    let Ok(matrix) = numbers.try_into() else {
        let found = format!("{} in line {}", numbers.len(), i + 1);
        return Err(IoError::BadValue(Detail::new(path, "text", WANTED, found)));
    };
    pose_of(matrix).map_err(|e| refused(path, i, &e))
}

fn refused(path: &Path, i: usize, e: &Error) -> IoError {
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
        let six = [1.0, -2.5, 3e2, 0.1, 0.0, -0.2];
        assert_eq!(parsed("1 -2.5 3e2\r\n\n0.1, 0,-.2\n"), Ok(vec![six]));
        assert_eq!(parsed("1 0 0 7\n0 1 0 8\n0 0 1 9\n0 0 0 1"), Ok(vec![[7.0, 8.0, 9.0, 0.0, 0.0, 0.0]]));
        let line = "1 0 0 7 0 1 0 8 0 0 1 9 0 0 0 1\n";
        let lines = format!("{line}\n1 -2.5 3e2 0.1 0 -.2\n{line}");
        assert_eq!(parsed(&lines), Ok(vec![[7.0, 8.0, 9.0, 0.0, 0.0, 0.0], six, [7.0, 8.0, 9.0, 0.0, 0.0, 0.0]]));
        for (text, told) in [
            ("", "found none"),
            (" \n", "found none"),
            ("1 2 3", "found 3 in line 1"),
            ("1 2 3 4 5 x", "p.txt: text: wanted numbers, found `x`"),
            ("1 2 3 4 5 6\n1 2 3 4 5", "found 5 in line 2"),
            ("2 0 0 7 0 1 0 8 0 0 1 9 0 0 0 1", "pose 1: wanted a rigid transform"),
        ] {
            let e = parsed(text).unwrap_err();
            assert!(e.contains(told), "{text}: {e}");
        }
    }
}
