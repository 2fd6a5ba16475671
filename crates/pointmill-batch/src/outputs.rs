//! Which input goes to which output file, decided before any work.

use crate::failure::Failure;
use crate::flags::paths;
use crate::inputs::Source;
use crate::stderr;
use crate::text::shown;
use pointmill_io::files::entries_of;
use pointmill_io::{Format, Place};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The name of the manifest in a folder of outputs.
pub(crate) const MANIFEST: &str = ".pointmill.jsonl";

/// The file of each input, or none for all.
#[derive(Debug)]
pub struct Outputs {
    files: Vec<Option<PathBuf>>,
    folder: Option<PathBuf>,
    /// The folders that were made, the innermost first. Those that are empty in the end are
    /// removed.
    made: Vec<PathBuf>,
}

impl Drop for Outputs {
    fn drop(&mut self) {
        let holds_one = |folder: &PathBuf| entries_of(folder).is_ok_and(|entries| entries.len() == 1);
        if let Some(folder) = self.made.first().filter(|folder| holds_one(folder)) {
            // That of this run, if nothing was done.
            let manifest = folder.join(MANIFEST);
            if bytes_of(&manifest) == Some(0) {
                fs::remove_file(manifest).ok();
            }
        }
        for folder in &self.made {
            // One that holds something stays.
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
    }
}

impl Outputs {
    /// Decides where the arrays of each input go, and makes the folder.
    ///
    /// # Errors
    /// Two inputs with one output, and an output that is an input, since both would lose data.
    pub fn plan(out: Option<&Path>, sources: &[Source]) -> Result<Self, Failure> {
        let Some(out) = out else { return Ok(Self { files: vec![None; sources.len()], folder: None, made: vec![] }) };
        let usage = |expected: &str| Err(Failure::Usage(format!("--out {}: expected {expected}", out.display())));
        match (has_extension(out, "npz"), sources.len()) {
            _ if is_folder(out) => Self::folder("--out", out, "npz", sources),
            (true, 1) => {
                let plan = Self::one(Some(out));
                plan.spare_inputs("--out", sources)?;
                require_folder_of(out)?;
                Ok(plan)
            }
            (false, 1) => usage("a name ending in .npz, or a folder (one that exists, or a name ending in /)"),
            (true, n) => usage(&format!("a folder, since there are {n} inputs")),
            (false, _) => Self::folder("--out", out, "npz", sources),
        }
    }

    /// The same where a folder or a pattern was given: a name that does not end in `.npz` is a
    /// folder, however many files were found.
    pub fn of_many(out: Option<&Path>, sources: &[Source]) -> Result<Self, Failure> {
        match out {
            Some(folder) if !has_extension(folder, "npz") => Self::folder("--out", folder, "npz", sources),
            out => Self::plan(out, sources),
        }
    }

    /// One file for the one input; [`plan_file`] checks its name.
    pub fn one(out: Option<&Path>) -> Self {
        Self { files: vec![out.map(Path::to_path_buf)], folder: None, made: vec![] }
    }

    /// A file for each input in a folder, which is made, and removed again if it stays empty.
    pub fn folder(flag: &str, out: &Path, extension: &str, sources: &[Source]) -> Result<Self, Failure> {
        let file = |source: &Source| {
            let mut name = source.stem()?;
            name.push(format!(".{extension}"));
            Some(out.join(name))
        };
        let files = sources.iter().map(file).collect();
        let mut plan = Self { files, folder: Some(out.into()), made: vec![] };
        let mut first: HashMap<&Path, &Source> = HashMap::new();
        for (path, source) in plan.files.iter().zip(sources) {
            let Some(path) = path else { continue };
            if let Some(other) = first.insert(path, source) {
                let (text, a, b, path) = (out.display(), other.name(), source.name(), path.display());
                let message = format!("{a} and {b} would both write {path}; rename one of them or use another folder");
                return Err(Failure::Usage(format!("{flag} {text}: {message}")));
            }
        }
        plan.spare_inputs(flag, sources)?;
        let is_missing = |folder: &&Path| !folder.as_os_str().is_empty() && fs::symlink_metadata(folder).is_err();
        let made = out.ancestors().take_while(is_missing).map(Path::to_path_buf).collect();
        fs::create_dir_all(out).map_err(Failure::io(out, "make the folder"))?;
        plan.made = made;
        Ok(plan)
    }

    /// Refuses an output that is one of the files that were found beside the inputs, which would
    /// lose it.
    pub fn spare<'a>(&self, beside: impl Iterator<Item = &'a Path>) -> Result<(), Failure> {
        spare("--out", self.files.iter().flatten(), beside)
    }

    /// The number of inputs.
    pub(crate) fn len(&self) -> usize {
        self.files.len()
    }

    /// The folder that all files go to.
    pub fn folder_of_all(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// The file of input `i`.
    pub fn of(&self, i: usize) -> Option<&Path> {
        self.files[i].as_deref()
    }

    /// Where the file of input `i` is written. A symbolic link in a folder is replaced; a link that
    /// the user named is followed.
    pub fn place(&self, i: usize) -> Option<Place<'_>> {
        Some(Place { path: self.of(i)?, follow_links: self.folder.is_none() })
    }

    fn spare_inputs(&self, flag: &str, sources: &[Source]) -> Result<(), Failure> {
        spare(flag, self.files.iter().flatten(), sources.iter().filter_map(Source::path))
    }
}

/// Checks the file that a flag names, before any work. Its name must end in one of `extensions`,
/// which is returned.
pub fn plan_file<'a>(flag: &str, out: &Path, extensions: &[&'a str], inputs: &[&Path]) -> Result<&'a str, Failure> {
    let extension = out.extension().and_then(|e| e.to_str()).filter(|_| !is_folder(out));
    let known = extension.and_then(|extension| extensions.iter().find(|known| extension.eq_ignore_ascii_case(known)));
    let Some(&known) = known else {
        let expected: Vec<_> = extensions.iter().map(|e| format!(".{e}")).collect();
        let read_only =
            Format::from_name(out).filter(|f| !f.is_written() && !f.endings().iter().any(|e| e.ends_with("bin")));
        let got = read_only.map_or("", |_| "; this format is only read");
        let expected = format!("expected a file name ending in {}{got}", expected.join(", "));
        return Err(Failure::Usage(format!("{flag} {}: {expected}", out.display())));
    };
    spare(flag, std::iter::once(out), inputs.iter().copied())?;
    require_folder_of(out)?;
    Ok(known)
}

/// Whether a path is a name with this extension.
pub fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case(extension)) && !path.to_string_lossy().ends_with('/')
}

/// Whether a path is a folder that exists, or a name ending in `/`.
pub fn is_folder(path: &Path) -> bool {
    path.is_dir() || path.to_string_lossy().ends_with('/')
}

/// An output that is one of these inputs, or any file that the command line says is read, would
/// lose it.
pub(crate) fn spare<'a, P: AsRef<Path>>(
    flag: &str,
    outputs: impl Iterator<Item = P>,
    inputs: impl Iterator<Item = &'a Path>,
) -> Result<(), Failure> {
    let inputs: HashSet<_> =
        inputs.map(Path::canonicalize).chain(paths::read().map(Path::canonicalize)).flatten().collect();
    for path in outputs {
        let path = path.as_ref();
        if path.canonicalize().is_ok_and(|p| inputs.contains(&p)) {
            return Err(Failure::Usage(format!("{flag}: {} is also an input; choose another name", path.display())));
        }
    }
    Ok(())
}

/// Fails before the work if the folder of a file to be written does not exist. Removes what killed
/// runs left unfinished in it.
pub fn require_folder_of(path: &Path) -> Result<(), Failure> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match fs::metadata(folder) {
        Ok(metadata) if metadata.is_dir() => {
            // A folder that may be written but not read is no reason to stop.
            clear_unfinished(folder).ok();
            Ok(())
        }
        Ok(_) => Err(Failure::io(path, "write")(std::io::ErrorKind::NotADirectory.into())),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            let (file, folder) = (shown(path), shown(folder));
            let message =
                format!("{file}: expected a folder that exists, got {folder}; make it with `mkdir -p {folder}`");
            Err(Failure::File { message, file: path.into() })
        }
        Err(e) => Err(Failure::io(path, "open the folder")(e)),
    }
}

/// Removes the unfinished files that killed runs left in a folder, and reports how many.
pub fn clear_unfinished(folder: &Path) -> Result<(), Failure> {
    let removed = pointmill_io::remove_abandoned(folder)?;
    if removed > 0 {
        stderr::note(format_args!("{}: removed {removed} unfinished file(s) of an earlier run", folder.display()));
    }
    Ok(())
}

/// The bytes of a file, if it is one and no link to one.
pub(crate) fn bytes_of(path: &Path) -> Option<u64> {
    fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file).map(|m| m.len())
}
