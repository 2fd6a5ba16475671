//! `--points` of `evaluate detections`: the cloud of a frame, by the frame's name, where its boxes are.

use super::calibration::Calibration;
use crate::failure::Failure;
use crate::text::shown;
use pointmill_detection::Protocol;
use pointmill_io::{Format, Limits, ReadOptions, escape, read};
use pointmill_view::thinned;
use std::path::{Path, PathBuf};

/// Metres around the boxes and the sensor within which points are drawn.
const AROUND: f64 = 10.0;

/// The clouds of a folder.
pub(super) struct Clouds<'a> {
    folder: &'a Path,
    protocol: Protocol,
    options: ReadOptions,
}

/// The cloud of a frame: its file, and for KITTI the folder that the frame's name continues.
struct Found {
    file: PathBuf,
    folder: PathBuf,
}

impl<'a> Clouds<'a> {
    /// Checks that the folder is there, before any work.
    pub(super) fn new(folder: &'a Path, protocol: Protocol, limits: Limits) -> Result<Self, Failure> {
        if !folder.is_dir() {
            let got = if folder.exists() { "a file" } else { "nothing under this name" };
            let wanted = "expected a folder of clouds that are named after the frames";
            return Err(Failure::Usage(format!("--points {}: {wanted}, got {got}", shown(folder))));
        }
        Ok(Self { folder, protocol, options: ReadOptions { limits, ..ReadOptions::default() } })
    }

    /// At most so many points around the boxes of a frame, about the sensor, whose place is given in the frame
    /// of the boxes; `None` without a file.
    pub(super) fn of(
        &self,
        frame: &str,
        sensor: [f64; 3],
        boxes: &[[f32; 7]],
        most: usize,
    ) -> Result<Option<Vec<[f64; 3]>>, Failure> {
        let Some(found) = self.find(frame) else { return Ok(None) };
        let is_kitti = matches!(self.protocol, Protocol::KittiR40 | Protocol::KittiR11);
        let calibration = is_kitti.then(|| self.calibration(frame, &found.folder)).transpose()?;
        let scan = read(&found.file, &self.options)?;
        let centre = |k: usize| boxes.iter().map(move |row| f64::from(row[k]));
        let [x, y] = [0, 1].map(|k| {
            let ends = |ends: [f64; 2], x: f64| [ends[0].min(x), ends[1].max(x)];
            let [low, high] = centre(k).filter(|x| x.is_finite()).fold([0.0; 2], ends);
            low - AROUND..=high + AROUND
        });
        let place = |p: [f64; 3]| match &calibration {
            Some(calibration) => calibration.apply(p),
            None => [0, 1, 2].map(|k| p[k] - sensor[k]),
        };
        let all = || scan.iter_xyz().map(place).filter(|p| p.iter().all(|v| v.is_finite()));
        let near = || all().filter(|p| x.contains(&p[0]) && y.contains(&p[1]));
        let count = near().count();
        if count == 0 && all().next().is_some() {
            let of = if self.protocol == Protocol::NuScenes { ", in the global frame as they are" } else { "" };
            return Err(Failure::Usage(format!(
                "--points {}: expected points around the boxes of the frame {}{of}, got none within {AROUND} m of \
                 them and the sensor",
                shown(&found.file),
                escape(frame)
            )));
        }
        let (mut near, mut next) = (near(), 0);
        Ok(Some(thinned(count, most).filter_map(|i| near.nth(i - std::mem::replace(&mut next, i + 1))).collect()))
    }

    /// What is expected where no frame has a cloud.
    pub(super) fn missing(&self, frame: &str) -> Failure {
        let names = match self.protocol {
            Protocol::KittiR40 | Protocol::KittiR11 => "velodyne/000123.bin (tracking: velodyne/0006/000123.bin)",
            Protocol::NuScenes => "TOKEN.npy, in the global frame",
            Protocol::Argoverse2 => "LOG/sensors/lidar/TIME.feather",
        };
        let (folder, frame) = (shown(self.folder), escape(frame));
        let named = "expected a file for each frame, in any format that is read";
        Failure::Usage(format!("--points {folder}: {named}, such as {names}; got none for the frame {frame}"))
    }

    /// The file of a frame, under the names that data sets have. In a folder no link is followed.
    fn find(&self, frame: &str) -> Option<Found> {
        let folders: &[&str] = match self.protocol {
            Protocol::KittiR40 | Protocol::KittiR11 => &["", "velodyne"],
            Protocol::NuScenes => &[""],
            Protocol::Argoverse2 => &["", "sensors/lidar"],
        };
        let mut names: Vec<PathBuf> = vec![frame.into()];
        if let (Protocol::Argoverse2, Some((log, time))) = (self.protocol, frame.split_once('/')) {
            // Files of sweeps have their nanoseconds without zeros before them.
            let time = time.trim_start_matches('0');
            names = vec![format!("{log}/sensors/lidar/{time}").into(), format!("{log}/{time}").into(), time.into()];
        }
        // A frame's name is text of a file: it leads nowhere else.
        let is_inside = |name: &Path| name.components().all(|part| matches!(part, std::path::Component::Normal(_)));
        names.retain(|name| is_inside(name));
        let endings = || Format::ALL.iter().filter(|format| !format.is_bag()).flat_map(|format| format.endings());
        for folder in folders.iter().map(|inside| self.folder.join(inside)) {
            for name in &names {
                let with = |ending: &&str| folder.join(format!("{}{ending}", name.display()));
                let file = endings().map(with).find(|file| file.symlink_metadata().is_ok_and(|of| of.is_file()));
                if let Some(file) = file {
                    return Some(Found { file, folder });
                }
            }
        }
        None
    }

    /// The calibration of a frame whose cloud is in a folder: `calib` is beside the folder, or in it.
    fn calibration(&self, frame: &str, folder: &Path) -> Result<Calibration, Failure> {
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.into());
        let above = |of: &Path| of.parent().map_or_else(|| of.to_path_buf(), Path::to_path_buf);
        let sequence = match frame.split_once('/') {
            Some((sequence, _)) => sequence.to_owned(),
            None => folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        };
        let beside = above(&folder);
        let of = |folder: &Path, name: &str| folder.join("calib").join(format!("{name}.txt"));
        let mut files = vec![of(&beside, frame), of(&folder, frame), of(&beside, &sequence), of(&folder, &sequence)];
        files.push(of(&above(&beside), &sequence));
        match files.iter().find(|file| file.symlink_metadata().is_ok_and(|of| of.is_file())) {
            Some(file) => Calibration::read(file),
            None => {
                let wanted = "expected KITTI's calibration, since its boxes are in the frame of the camera";
                let first = shown(&files[if frame.contains('/') { 2 } else { 0 }]);
                let (folder, frame) = (shown(self.folder), escape(frame));
                let got = format!("none for the frame {frame}; put it at {first}");
                Err(Failure::Usage(format!("--points {folder}: {wanted}, got {got}")))
            }
        }
    }
}
