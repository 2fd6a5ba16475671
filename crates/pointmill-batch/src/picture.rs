//! `--visualize`: names of pictures, and writing them.

use crate::failure::Failure;
use crate::interrupt::undivided;
use crate::outputs::{has_extension, require_folder_of, spare};
use crate::program::arguments;
use pointmill_io::{Destination, Place, write_whole};
use pointmill_view::{Scene, ViewError, require_memory};
use std::io::Write;
use std::path::Path;

/// Checks the name of a picture and its folder, before any work. Returns the extension, which is
/// one of `extensions`.
pub fn plan<'a>(path: &Path, extensions: &[&'a str]) -> Result<&'a str, Failure> {
    let known = extensions.iter().find(|e| path.extension().is_some_and(|found| found.eq_ignore_ascii_case(e)));
    let Some(known) = known else {
        let expected = extensions.iter().map(|e| format!(".{e}")).collect::<Vec<_>>().join(" or ");
        return Err(Failure::Usage(format!("--visualize {}: expected a name ending in {expected}", path.display())));
    };
    spare("--visualize", std::iter::once(path), std::iter::empty())?;
    require_folder_of(path)?;
    Ok(known)
}

/// Refuses a picture where there may be several inputs.
pub fn require_one(flag: &str, path: Option<&Path>, input: &str) -> Result<(), Failure> {
    path.map_or(Ok(()), |path| {
        let path = path.display();
        Err(Failure::Usage(format!("{flag} {path}: expected one {input}, got a folder or a pattern")))
    })
}

/// Draws a scene as the name asks for, a page, an animation or a picture, and writes it, whole or
/// not at all.
pub fn save_scene(to: impl Destination, scene: &Scene) -> Result<(), Failure> {
    let is = |extension| has_extension(to.path(), extension);
    let frames = if is("gif") { scene.frames() } else { 1 };
    save(&to, frames, || match () {
        () if is("html") => Ok(scene.page_of(&command_line())),
        () if is("gif") => scene.animation().encode(),
        () => Ok(scene.picture().encode_png()),
    })
}

/// The command line, with files by their names without folders: pages are given away.
fn command_line() -> String {
    let last = |arg: &std::ffi::OsString| Path::new(arg).file_name().unwrap_or(arg).to_string_lossy().into_owned();
    let words: Vec<String> = arguments().iter().map(last).collect();
    words.join(" ")
}

/// Encodes a picture of so many frames and writes it, whole or not at all.
pub fn save(
    to: &impl Destination,
    frames: usize,
    encode: impl FnOnce() -> Result<Vec<u8>, ViewError>,
) -> Result<(), Failure> {
    require_memory(frames, 0)?;
    let bytes = encode()?;
    Ok(undivided(|| write_whole(Place::of(to), |out| out.write_all(&bytes)))?)
}
