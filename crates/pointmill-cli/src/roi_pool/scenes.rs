//! The scenes of a run: one, or files of folders and patterns that belong together by their names
//! without extension.

use super::files::{BOXES, FEATURES, POINTS, ROLES, Sources};
use crate::failure::Failure;
use crate::inputs::{Source, files, is_one_file, is_stdin, stem};
use pointmill_data::sort_naturally;
use pointmill_io::{Detail, IoError};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Scenes by their names, naturally ordered.
#[derive(Debug)]
pub(super) struct Scenes {
    scenes: Vec<Scene>,
    /// What was given for each role.
    pub(super) given: Vec<String>,
    /// The one scene, where no argument is a folder or a pattern.
    pub(super) one: Option<Sources>,
}

/// A scene with a file for each role, as far as there is one.
#[derive(Clone, Debug, Default)]
struct Scene {
    name: String,
    files: Vec<Option<PathBuf>>,
}

/// What an argument means.
enum Given {
    /// A file that serves every scene.
    One(PathBuf),
    /// Files of scenes, by their names, and what of a folder or a pattern cannot be read.
    Several(BTreeMap<String, PathBuf>, Vec<Source>),
}

impl Scenes {
    /// The scenes of the arguments, several if one of them is a folder or a pattern; and the file
    /// that names each: its points where there are several, else its boxes, else its features.
    ///
    /// A plain file serves every scene. Features are an exception: their rows belong to the points
    /// of one file.
    pub(super) fn of(sources: Sources) -> Result<(Vec<Source>, Self), Failure> {
        let names = sources.names();
        let one = |source, sources| (vec![source], Self { scenes: vec![], given: names.clone(), one: Some(sources) });
        let Sources::Files(given) = &sources else { return Ok(one(Source::Street, sources)) };
        let several: Vec<bool> = given.iter().map(|arg| !is_one_file(arg)).collect();
        let points = &given[POINTS];
        if !several.contains(&true) {
            return Ok(one(Source::named(points), sources));
        }
        if is_stdin(points) {
            let message = "--points -: expected a file, a folder or a pattern where there are several scenes";
            return Err(Failure::Usage(message.into()));
        }
        if several[POINTS] && several.get(FEATURES) == Some(&false) {
            let message = "expected a folder or a pattern, because --points is one: each file of points needs its own file of features";
            return Err(Failure::Usage(format!("--features {}: {message}", names[FEATURES])));
        }
        let roles = given.iter().zip(several).zip(ROLES);
        let found = roles.map(|((arg, several), role)| Given::of(arg, several, role)).collect::<Result<_, _>>()?;
        Ok(Self::matched(found, names))
    }

    fn matched(found: Vec<Given>, given: Vec<String>) -> (Vec<Source>, Self) {
        let none = vec![None; found.len()];
        let mut by_name: BTreeMap<String, Vec<Option<PathBuf>>> = BTreeMap::new();
        for (role, given) in found.iter().enumerate() {
            let Given::Several(files, _) = given else { continue };
            for (name, file) in files {
                by_name.entry(name.clone()).or_insert_with(|| none.clone())[role] = Some(file.clone());
            }
        }
        let naming = |files: &[Option<PathBuf>]| {
            let file = [POINTS, BOXES, FEATURES].into_iter().find_map(|role| files.get(role)?.clone());
            Source::File(file.expect("a scene has a file"))
        };
        let mut scenes: Vec<Scene> = by_name.into_iter().map(|(name, files)| Scene { name, files }).collect();
        sort_naturally(&mut scenes, |scene| Path::new(&scene.name));
        let mut sources: Vec<Source> = scenes.iter().map(|scene| naming(&scene.files)).collect();
        // Without any file of a role no scene is whole, so only that is reported.
        if found.iter().any(|given| matches!(given, Given::Several(files, _) if files.is_empty())) {
            (scenes, sources) = (Vec::new(), Vec::new());
        }
        for (role, given) in found.into_iter().enumerate() {
            match given {
                Given::Several(_, refused) => sources.extend(refused),
                Given::One(file) => scenes.iter_mut().for_each(|scene| scene.files[role] = Some(file.clone())),
            }
        }
        scenes.resize(sources.len(), Scene::default());
        (sources, Self { scenes, given, one: None })
    }

    /// The points of each scene, as inputs.
    pub(super) fn points(&self, sources: &[Source]) -> Vec<Source> {
        let all = (0..sources.len()).filter_map(|i| match &self.one {
            Some(one) => one.points(),
            None => self.scenes[i].files.get(POINTS)?.clone(),
        });
        all.map(|path| Source::named(&path)).collect()
    }

    /// The files of a scene, if none is missing.
    pub(super) fn files(&self, index: usize, source: &Source) -> Result<Sources, IoError> {
        if let Source::Nothing(e) = source {
            return Err(e.again());
        }
        if let Some(one) = &self.one {
            return Ok(one.clone());
        }
        let Scene { name, files } = &self.scenes[index];
        if let Some(files) = files.iter().cloned().collect() {
            return Ok(Sources::Files(files));
        }
        let missing = ROLES.iter().zip(files).zip(&self.given).filter(|((_, file), _)| file.is_none());
        let (roles, given): (Vec<_>, Vec<_>) = missing.map(|((role, _), given)| (*role, given.as_str())).unzip();
        let wanted = format!("a file {name}.* in {}", given.join(", and one in "));
        Err(IoError::MissingField(Detail::new(source.name(), roles.join(" and "), wanted, "none")))
    }

    /// The files of each scene beside the one that names it.
    pub(super) fn beside(&self, sources: &[Source]) -> Vec<Vec<PathBuf>> {
        let beside = |(scene, source): (&Scene, &Source)| {
            scene.files.iter().flatten().filter(|file| Some(file.as_path()) != source.path()).cloned().collect()
        };
        self.scenes.iter().zip(sources).map(beside).collect()
    }
}

impl Given {
    fn of(arg: &Path, several: bool, role: &str) -> Result<Self, Failure> {
        if !several {
            return Ok(Self::One(arg.into()));
        }
        let arrays = role != ROLES[POINTS] && arg.is_dir();
        // A folder of other files may have arrays among them.
        let fits = |path: &Path| !arrays || path.extension().is_some_and(|e| e.eq_ignore_ascii_case("npy"));
        let fitting = |source: &Source| match source {
            Source::File(path) => fits(path),
            Source::Nothing(e) => e.path() == arg || fits(e.path()),
            _ => true,
        };
        let found: Vec<Source> = files(arg)?.into_iter().filter(fitting).collect();
        let (files, mut refused): (Vec<_>, Vec<_>) = found.into_iter().partition(|source| source.path().is_some());
        if files.is_empty() && refused.is_empty() {
            let detail = Detail::new(arg, "folder", "files ending in .npy", "none");
            refused.push(Source::Nothing(IoError::MissingField(detail)));
        }
        let mut by_name: BTreeMap<String, PathBuf> = BTreeMap::new();
        for file in files.iter().filter_map(Source::path) {
            let name = stem(file).to_string_lossy().into_owned();
            if let Some(other) = by_name.get(&name) {
                let (a, b) = (other.display(), file.display());
                let message = format!("expected one file per scene, got {a} and {b} for scene {name}");
                return Err(Failure::Usage(format!("--{role} {}: {message}", arg.display())));
            }
            by_name.insert(name, file.into());
        }
        Ok(Self::Several(by_name, refused))
    }
}

#[cfg(test)]
#[path = "../../tests/unit/roi_pool_scenes.rs"]
mod tests;
