//! KITTI's calibration: where the points of the LiDAR are among boxes of the camera.

use crate::failure::Failure;
use crate::text::shown;
use pointmill_io::escape;
use pointmill_io::files::open_in_folder;
use std::io::Read;
use std::path::Path;

/// The names of the lines in the files of objects, tracking and odometry, with or without a colon.
const RECTIFIED: [&str; 3] = ["R0_rect", "R_rect", "R_rect_00"];
const FROM_LIDAR: [&str; 3] = ["Tr_velo_to_cam", "Tr_velo_cam", "Tr"];
/// The longest file that is a calibration.
const MOST_BYTES: u64 = 64 << 10;

type Matrix = [[f64; 4]; 3];

/// From the LiDAR to the frame of the boxes that are read: the rectified camera, but x forward, y left, z up.
#[derive(Debug, PartialEq)]
pub(super) struct Calibration(Matrix);

impl Calibration {
    /// Reads the calibration of a frame or a sequence.
    pub(super) fn read(file: &Path) -> Result<Self, Failure> {
        let mut text = String::new();
        let opened = open_in_folder(file)?;
        let told = opened.take(MOST_BYTES).read_to_string(&mut text);
        let parsed = told.map_err(|e| e.to_string()).and_then(|_| Self::parse(&text));
        parsed.map_err(|got| {
            let wanted = "expected KITTI's calibration, lines R0_rect (9 numbers) and Tr_velo_to_cam (12)";
            Failure::Usage(format!("--points: {}: {wanted}, got {got}", shown(file)))
        })
    }

    fn parse(text: &str) -> Result<Self, String> {
        let numbers = |names: &[&str], count: usize| -> Result<Option<Vec<f64>>, String> {
            for line in text.lines() {
                let mut words = line.split_whitespace();
                let name = words.next().unwrap_or_default().trim_end_matches(':');
                if names.contains(&name) {
                    let found: Option<Vec<f64>> = words.map(|word| word.parse().ok()).collect();
                    let found = found.filter(|of| of.len() == count && of.iter().all(|v| v.is_finite()));
                    return Ok(Some(found.ok_or_else(|| format!("a line {} with others", escape(name)))?));
                }
            }
            Ok(None)
        };
        let lidar = numbers(&FROM_LIDAR, 12)?.ok_or("no line Tr_velo_to_cam")?;
        let is_odometry = text.lines().any(|line| line.starts_with("Tr:"));
        let turn = match numbers(&RECTIFIED, 9)? {
            Some(turn) => turn,
            // The files of odometry are of the rectified camera.
            None if is_odometry => vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
            None => return Err("no line R0_rect".into()),
        };
        let camera = |row: usize| {
            let of = |column: usize| (0..3).map(|k| turn[3 * row + k] * lidar[4 * k + column]).sum::<f64>();
            [of(0), of(1), of(2), of(3)]
        };
        // The camera looks along z, its x is right and its y down.
        Ok(Self([camera(2), camera(0).map(|v| -v), camera(1).map(|v| -v)]))
    }

    /// A point of the LiDAR in the frame of the boxes.
    pub(super) fn apply(&self, p: [f64; 3]) -> [f64; 3] {
        self.0.map(|row| row[0] * p[0] + row[1] * p[1] + row[2] * p[2] + row[3])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AXES: &str = "Tr_velo_to_cam: 0 -1 0 0.1 0 0 -1 -0.2 1 0 0 -0.3\n";

    #[test]
    fn both_kinds_of_files_move_points_to_the_boxes() {
        let object = format!("P0: 1 2 3\nR0_rect: 1 0 0 0 1 0 0 0 1\n{AXES}");
        let found = Calibration::parse(&object).unwrap();
        // The camera is 0.3 m ahead of the LiDAR, 0.1 m left of it, 0.2 m below.
        let wanted = [9.7, 1.9, 3.2];
        found.apply([10.0, 2.0, 3.0]).iter().zip(wanted).for_each(|(a, b)| assert!((a - b).abs() < 1e-12));
        let tracking = object.replace("R0_rect:", "R_rect").replace("Tr_velo_to_cam:", "Tr_velo_cam");
        let odometry = AXES.replace("Tr_velo_to_cam", "Tr");
        assert_eq!(
            [&*tracking, &*odometry].map(|text| Calibration::parse(text).unwrap()),
            [0, 1].map(|_| { Calibration(found.0) })
        );
        // A turn of the rectification is applied after the motion: right becomes down, down left.
        let turned = Calibration::parse(&object.replace("1 0 0 0 1 0 0 0 1", "0 -1 0 1 0 0 0 0 1")).unwrap();
        turned.apply([10.0, 2.0, 3.0]).iter().zip([9.7, -3.2, 1.9]).for_each(|(a, b)| assert!((a - b).abs() < 1e-12));
    }

    #[test]
    fn what_is_no_calibration_says_so() {
        for (text, got) in [
            ("", "no line Tr_velo_to_cam"),
            (AXES, "no line R0_rect"),
            ("Tr_velo_cam 1 2 3", "a line Tr_velo_cam with others"),
            ("R_rect 1 0 0 0 1 0 0 0 nan\nTr_velo_cam 0 -1 0 0 0 0 -1 0 1 0 0 0", "a line R_rect with others"),
        ] {
            assert_eq!(Calibration::parse(text), Err(got.to_owned()), "{text}");
        }
    }
}
