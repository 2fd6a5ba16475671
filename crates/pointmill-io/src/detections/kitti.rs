//! KITTI's text: labels and results of objects, labels of tracking, and the detections that AB3DMOT
//! ships.

use super::check::{Classes, LONGEST_NAME, LeftOut, Wrong, check_box, error, finite, is_folder, listed, stem};
use super::{Detections, ImageBox, out_of_memory, read_bytes, take};
use crate::error::{IoError, excerpt};
use crate::fault::bail;
use crate::files::Place;
use crate::limits::Limits;
use std::collections::{BTreeMap, BTreeSet};
use std::f64::consts::FRAC_PI_2;
use std::path::{Path, PathBuf};

/// The classes of KITTI. Labels of tracking call a sitting person `Person`.
const CLASSES: [&str; 9] =
    ["Car", "Van", "Truck", "Pedestrian", "Person_sitting", "Cyclist", "Tram", "Misc", "DontCare"];

/// How the words of a line are to be read.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Layout {
    /// class truncation occlusion alpha, 4 of the image, h w l x y z ry, perhaps a score; the file
    /// is a frame.
    Object,
    /// The same behind the frame and the track.
    Tracking,
    /// frame, type, 4 of the image, score, h w l x y z ry, alpha, with commas.
    Ab3dmot,
}

/// A box of a line.
struct Line {
    class: u32,
    row: [f64; 7],
    score: f64,
    image: ImageBox,
}

/// Reads the boxes of a file of KITTI, or of all `.txt` files of a folder.
///
/// Three layouts are told apart by the words of the first line: 15 or 16 words are labels or results
/// of objects, whose file is one frame; 17 or 18 are labels of tracking; 15 with commas are detections
/// as AB3DMOT has them. A folder of folders has files of one name joined: AB3DMOT has a folder for
/// each class. A box without a score has the score 1, and [`Detections::unscored`] names the first. Names
/// of classes ignore case.
///
/// **Units and frames**: metres and radians. KITTI's camera (x right, y down, z forward) becomes x
/// forward, y left, z up, and the centre of the bottom the centre of the box. Boxes of `DontCare` are
/// zeros; they count in the image alone.
///
/// **Order**: in a folder a frame is named after its file, `000012`, or its file and number,
/// `0006/000012`. In a single file it has the number, or is `000000`, so that names of files need not
/// agree.
///
/// # Errors
/// A line with another number of words or a word that is no number, with the number of the line. A folder
/// without `.txt` files; in a folder what is no regular file. A box that cannot be used, as one of a
/// negative extent, is left out, and [`Detections::warnings`] says so. Classes that KITTI does not have
/// are kept.
pub fn read_kitti(path: impl AsRef<Path>, limits: &Limits) -> Result<Detections, IoError> {
    let path = path.as_ref();
    let frames = BTreeMap::new();
    let (classes, left_out) = (Classes::new(&CLASSES), LeftOut::default());
    let mut reading = Reading { frames, classes, left_out, unscored: None, limits, taken: 0 };
    let is_folder = path.is_dir();
    for file in files(path)? {
        reading.read_file(Place { path: &file, follow_links: !is_folder }, is_folder)?;
    }
    let Reading { frames, classes, left_out, unscored, .. } = reading;
    let warnings = left_out.warnings();
    let mut out = Detections { classes: classes.into_names(), unscored, warnings, ..Detections::default() };
    let rows = frames.values().map(Vec::len).sum();
    out.reserve(path, rows)?;
    out.image.try_reserve_exact(rows).map_err(|_| out_of_memory(path, rows * size_of::<ImageBox>()))?;
    for (name, lines) in frames {
        for line in lines {
            out.class.push(line.class);
            out.boxes.push(line.row);
            out.scores.push(line.score);
            out.image.push(line.image);
        }
        out.end_frame(name);
    }
    Ok(out.sorted())
}

/// Checks that two paths are files, or folders that have files of the same names.
///
/// # Errors
/// A file beside a folder, or the first file that only one side has.
pub fn check_same_kitti_files(predictions: &Path, truth: &Path) -> Result<(), IoError> {
    for (path, name) in [(predictions, "predictions"), (truth, "truth")] {
        if !path.exists() {
            bail!(path, InvalidArgument, name, "a file or a folder of KITTI's text", "nothing under this name");
        }
    }
    match [predictions, truth].map(Path::is_dir) {
        [true, true] => {}
        [false, true] => bail!(predictions, InvalidArgument, "predictions", "a folder, as the truth is", "a file"),
        [true, false] => bail!(predictions, InvalidArgument, "predictions", "a file, as the truth is", "a folder"),
        [false, false] => return Ok(()),
    }
    let names = |path: &Path| Ok::<BTreeSet<_>, IoError>(files(path)?.iter().map(|file| stem(file)).collect());
    let (found, wanted) = (names(predictions)?, names(truth)?);
    for (path, here, there) in [(predictions, &found, &wanted), (truth, &wanted, &found)] {
        if let Some(name) = there.difference(here).next() {
            let told = format!("a file {name}.txt, as the other side has; an empty one has no boxes");
            bail!(path, MissingField, "files", told, "none");
        }
    }
    Ok(())
}

/// The files of a path.
fn files(path: &Path) -> Result<Vec<PathBuf>, IoError> {
    if !path.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let texts = |inside: Vec<PathBuf>| -> Result<(Vec<PathBuf>, Vec<PathBuf>), IoError> {
        let (mut texts, mut folders) = (vec![], vec![]);
        for path in inside {
            if is_folder(&path)? {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "txt") {
                texts.push(path);
            }
        }
        Ok((texts, folders))
    };
    let (mut found, folders) = texts(listed(path)?)?;
    if found.is_empty() {
        for folder in folders {
            found.extend(texts(listed(&folder)?)?.0);
        }
    }
    if found.is_empty() {
        bail!(path, MissingField, "files", "files named *.txt, or folders of them", "none");
    }
    Ok(found)
}

/// What was read of the files so far.
struct Reading<'l> {
    frames: BTreeMap<String, Vec<Line>>,
    classes: Classes,
    left_out: LeftOut,
    unscored: Option<(PathBuf, String)>,
    limits: &'l Limits,
    /// Bytes of the rows.
    taken: u64,
}

impl Reading<'_> {
    fn read_file(&mut self, place: Place<'_>, in_folder: bool) -> Result<(), IoError> {
        let path = place.path;
        let bytes = read_bytes(place, self.limits, &mut self.taken)?;
        let (name, mut first) = (if in_folder { stem(path) } else { "000000".into() }, None);
        let name_of = |frame: u64| if in_folder { format!("{name}/{frame:06}") } else { format!("{frame:06}") };
        for (i, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
            let place = format!("line {}", i + 1);
            let Ok(text) = str::from_utf8(line) else { bail!(path, BadValue, place, "text", excerpt(line)) };
            let words: Vec<&str> = if text.contains(',') {
                text.split(',').map(str::trim).collect()
            } else {
                text.split_whitespace().collect()
            };
            if words.is_empty() {
                continue;
            }
            let layout = match (words.len(), text.contains(',')) {
                (15 | 16, false) => Layout::Object,
                (17 | 18, false) => Layout::Tracking,
                (15, true) => Layout::Ab3dmot,
                (n, _) => bail!(path, BadValue, place, "15 to 18 words, or 15 with commas", "{n} words"),
            };
            if *first.get_or_insert((layout, words.len())) != (layout, words.len()) {
                let wanted = format!("{} words, as in the first line", first.map_or(0, |(_, words)| words));
                bail!(path, BadValue, place, wanted, ("{} words", words.len()));
            }
            if self.unscored.is_none() && matches!((layout, words.len()), (Layout::Object, 15) | (Layout::Tracking, 17))
            {
                self.unscored = Some((path.to_path_buf(), place.clone()));
            }
            let line = parse(&words, layout).map_err(|wrong| error(path, &place, wrong))?;
            let frame = frame_of(&words, layout).map_err(|wrong| error(path, &place, wrong))?;
            let frame = frame.map_or_else(|| name.clone(), name_of);
            let (is_new, length) = (!self.frames.contains_key(&frame), frame.len());
            let lines = self.frames.entry(frame).or_default();
            match line {
                Ok((class, mut line)) => {
                    line.class = self.classes.index(class);
                    let bytes = size_of::<Line>() + if is_new { 2 * size_of::<String>() + length } else { 0 };
                    take(path, self.limits, &mut self.taken, bytes)?;
                    lines.try_reserve(1).map_err(|_| out_of_memory(path, (lines.len() + 1) * size_of::<Line>()))?;
                    lines.push(line);
                }
                Err(wrong) => self.left_out.a_box(&format!("{} {place}", stem(path)), wrong),
            }
        }
        if first.is_none() {
            // A frame without boxes, if files are frames.
            self.frames.entry(name).or_default();
        }
        Ok(())
    }
}

/// The number of a line's frame in its file.
fn frame_of(words: &[&str], layout: Layout) -> Result<Option<u64>, Wrong> {
    if layout == Layout::Object {
        return Ok(None);
    }
    let number = words[0].parse().ok().filter(|&number: &u64| number < 1_000_000_000);
    let wrong = || ("frame".to_owned(), "a whole number below 1e9".to_owned(), format!("`{}`", words[0]));
    number.map(Some).ok_or_else(wrong)
}

/// The class of a line and its box, whose class is not yet known by its index. The inner error is of a
/// box that cannot be used, the outer one of a line that is none.
fn parse<'w>(words: &[&'w str], layout: Layout) -> Result<Result<(&'w str, Line), Wrong>, Wrong> {
    let numbers_from = match layout {
        Layout::Object => 1,
        Layout::Tracking => 3,
        Layout::Ab3dmot => 2,
    };
    for (at, word) in words.iter().enumerate().skip(numbers_from) {
        if word.parse::<f64>().is_err() {
            let places = [(4, 7, "image box"), (8, 14, "box")]
                .map(|(first, last, name)| (first - 1 + numbers_from, last - 1 + numbers_from, name));
            let name = places.iter().find(|(first, last, _)| (*first..=*last).contains(&at)).map_or("line", |of| of.2);
            return Err((name.into(), "a number".into(), format!("`{word}`")));
        }
    }
    Ok(usable(words, layout, numbers_from))
}

/// The box of a line of numbers.
fn usable<'w>(words: &[&'w str], layout: Layout, at: usize) -> Result<(&'w str, Line), Wrong> {
    let number = |name: &str, at: usize| finite(name, words[at].parse::<f64>().unwrap_or(f64::NAN));
    let numbers = |name: &str, at: usize| {
        Ok::<[f64; 4], Wrong>([number(name, at)?, number(name, at + 1)?, number(name, at + 2)?, number(name, at + 3)?])
    };
    let class = words[at - 1];
    let class = match (layout, class) {
        (Layout::Ab3dmot, "1") => "Pedestrian",
        (Layout::Ab3dmot, "2") => "Car",
        (Layout::Ab3dmot, "3") => "Cyclist",
        (Layout::Ab3dmot, other) => {
            let wanted = "1 (Pedestrian), 2 (Car) or 3 (Cyclist)";
            return Err(("type".into(), wanted.into(), format!("`{other}`")));
        }
        (_, name) if name.eq_ignore_ascii_case("Person") => "Person_sitting",
        (_, name) => CLASSES.into_iter().find(|known| known.eq_ignore_ascii_case(name)).unwrap_or(name),
    };
    if class.len() > LONGEST_NAME {
        return Err(("class".into(), format!("at most {LONGEST_NAME} bytes"), "more".into()));
    }
    let (seen, image, sizes, score) = match layout {
        Layout::Ab3dmot => ([0.0; 2], at, at + 5, Some(at + 4)),
        _ => ([number("truncation", at)?, number("occlusion", at + 1)?], at + 3, at + 7, Some(at + 14)),
    };
    let corners = numbers("image box", image)?;
    if corners[2] < corners[0] || corners[3] < corners[1] {
        let got = format!("{corners:?}");
        return Err(("image box".into(), "left <= right and top <= bottom".into(), got));
    }
    let score = match score.filter(|&at| at < words.len()) {
        Some(at) => number("score", at)?,
        None => 1.0,
    };
    let [h, w, l, x] = numbers("box", sizes)?;
    let [y, z, ry] = [number("box", sizes + 4)?, number("box", sizes + 5)?, number("box", sizes + 6)?];
    let row = if class == "DontCare" { [0.0; 7] } else { [z, -x, 0.5 * h - y, l, w, h, -ry - FRAC_PI_2] };
    check_box(&row)?;
    let alpha = words[if layout == Layout::Ab3dmot { at + 12 } else { at + 2 }].parse().ok();
    let alpha = alpha.filter(|alpha: &f64| alpha.is_finite()).unwrap_or(-10.0);
    let image = ImageBox { corners, truncation: seen[0], occlusion: seen[1], alpha };
    Ok((class, Line { class: 0, row, score, image }))
}
