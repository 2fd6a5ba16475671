//! Which inputs are done: reads and writes the manifest for `--resume`.

use super::manifest::{Entry, Manifest, Output};
use crate::failure::Failure;
use crate::inputs::Source;
use crate::json::VERSION;
use crate::outputs::Outputs;
use crate::outputs::bytes_of;
use crate::text::shown;
use pointmill_data::path_from;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::UNIX_EPOCH;

/// The outputs of every input, and which of them are done.
#[derive(Debug)]
pub struct ResumeLog {
    manifest: Manifest,
    /// Further folders are locked, and have no lines.
    _others: Vec<Manifest>,
    folder: PathBuf,
    parameters: String,
    /// The files of each input.
    files: Vec<Vec<PathBuf>>,
    /// The files that an input is worked on with, of each; none where the input is all there is.
    beside: Vec<Vec<PathBuf>>,
    /// Inputs that are done again by a run that resumes.
    left: Mutex<HashSet<usize>>,
    resume: bool,
}

impl ResumeLog {
    /// The log of outputs that go to folders; `None` where nothing does, and then there is nothing
    /// to resume.
    pub fn of(outputs: &[&Outputs], parameters: &str, resume: bool) -> Result<Option<Self>, Failure> {
        let folders: Vec<&Path> = outputs.iter().filter_map(|o| o.folder_of_all()).collect();
        if folders.is_empty() {
            return if resume {
                Err(Failure::Usage("--resume: needs --out with a folder, got no folder".into()))
            } else {
                Ok(None)
            };
        }
        let inputs = outputs[0].len();
        let files = (0..inputs).map(|i| outputs.iter().filter_map(|o| Some(o.of(i)?.into())).collect());
        Self::open(&folders, parameters, files.collect(), resume).map(Some)
    }

    /// Locks the folders, of which the first holds the manifest, and reads what was done.
    ///
    /// `parameters` is the text of all that decides an output beside its input; `files` the outputs
    /// of each input.
    fn open(folders: &[&Path], parameters: &str, files: Vec<Vec<PathBuf>>, resume: bool) -> Result<Self, Failure> {
        let absolute = folders.iter().map(|f| f.canonicalize().map_err(Failure::io(f, "open")));
        let mut absolute = absolute.collect::<Result<Vec<_>, _>>()?;
        absolute.dedup();
        let mut manifests = Vec::new();
        for folder in &absolute {
            manifests.push(Manifest::open(folder, resume || !manifests.is_empty())?);
        }
        let (folder, manifest) = (absolute.swap_remove(0), manifests.remove(0));
        let parameters = fingerprint(&format!("{VERSION} {parameters}"));
        Ok(Self {
            manifest,
            _others: manifests,
            folder,
            parameters,
            files,
            beside: Vec::new(),
            left: Mutex::default(),
            resume,
        })
    }

    /// With files that all inputs are worked on with, as they are now: where one of them changes,
    /// all inputs are done again.
    pub fn with_shared(self, files: &[&Path]) -> Self {
        let states: Vec<_> = files.iter().map(|path| self.state_of(path)).collect();
        Self { parameters: fingerprint(&format!("{} {states:?}", self.parameters)), ..self }
    }

    /// With the files beside each input, which decide its outputs too: where one of them changes,
    /// the input is done again.
    pub fn with_beside(self, beside: Vec<Vec<PathBuf>>) -> Self {
        Self { beside, ..self }
    }

    /// The state of the file before it is read; `None` for an input that cannot be recognized
    /// again, which is always done.
    pub(super) fn stamp(&self, index: usize, source: &Source) -> Option<Entry> {
        let (input, state) = match source {
            Source::File(path) => (shown(&path.canonicalize().ok()?), self.state_of(path)?),
            Source::Cloud(cloud) => {
                let bag = cloud.bag.path();
                (format!("{}#{}", shown(&bag.canonicalize().ok()?), source.name()), self.state_of(bag)?)
            }
            // The same in every run of a version.
            Source::Sweep(_) | Source::Street => {
                let name = format!("synthetic:{}", source.name());
                (name.clone(), (name, 0, 0))
            }
            Source::Held(..) | Source::Stdin | Source::Nothing(_) => return None,
        };
        let (input_from_here, input_bytes, input_modified_ns) = state;
        let outputs = self.files[index].iter().map(|path| self.output(path)).collect::<Option<_>>()?;
        let parameters = match self.beside.get(index) {
            None => self.parameters.clone(),
            Some(beside) => {
                let beside = beside.iter().map(|path| self.state_of(path)).collect::<Option<Vec<_>>>()?;
                fingerprint(&format!("{} {beside:?}", self.parameters))
            }
        };
        Some(Entry { input, input_from_here, input_bytes, input_modified_ns, parameters, outputs })
    }

    /// An output as it is now. A missing one has a size that no file has.
    fn output(&self, path: &Path) -> Option<Output> {
        let absolute = path.parent()?.canonicalize().ok()?.join(path.file_name()?);
        Some(Output { file: path_from(&self.folder, &absolute)?, bytes: bytes_of(path).unwrap_or(u64::MAX) })
    }

    /// A file's path from the folder of the manifest, its bytes, and when it was last changed in
    /// nanoseconds since 1970; `None` of what is no file.
    fn state_of(&self, path: &Path) -> Option<(String, u64, u64)> {
        let meta = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
        let modified = meta.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        // Windows counts in steps of 100 ns.
        let modified = u64::try_from(modified.as_nanos() / 100 * 100).ok()?;
        Some((path_from(&self.folder, &path.canonicalize().ok()?)?, meta.len(), modified))
    }

    /// Whether an earlier run made the outputs from the same file and parameters, and they are
    /// whole.
    pub(super) fn keeps(&self, stamp: &Entry) -> bool {
        self.resume && !stamp.outputs.is_empty() && self.manifest.has(stamp)
    }

    /// Leaves an input to be done again, so that its result is reported again.
    pub fn leave(&self, index: usize) {
        self.left.lock().unwrap_or_else(PoisonError::into_inner).insert(index);
    }

    /// Notes that an input is done: its outputs are whole now.
    pub(super) fn note(&self, index: usize, stamp: Entry) -> Result<(), Failure> {
        if self.left.lock().unwrap_or_else(PoisonError::into_inner).contains(&index) {
            return Ok(());
        }
        let outputs = self.files[index].iter().filter_map(|path| self.output(path)).collect();
        self.manifest.append(&Entry { outputs, ..stamp })
    }

    /// The names of an input's outputs.
    pub(super) fn names(&self, index: usize) -> Vec<String> {
        self.files[index].iter().map(|path| shown(path)).collect()
    }
}

/// 64 bits of a text in hexadecimal digits, by FNV-1a: the same on every machine, and no
/// protection.
fn fingerprint(text: &str) -> String {
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:016x}")
}

#[cfg(test)]
#[path = "../../tests/unit/batch_resume_log.rs"]
mod tests;
