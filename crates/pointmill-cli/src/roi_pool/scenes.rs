//! The scenes of a run: one, or files of folders and patterns that belong together by their names without extension.

use super::files::Sources;
use crate::failure::Failure;
use crate::inputs::{STDIN, Source, again, one_file, stem};
use pointmill_io::{Detail, IoError, ReadOptions, find_inputs, natural_order};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What files are for, in the order of reports.
const ROLES: [&str; 3] = ["boxes", "points", "features"];
const POINTS: usize = 1;
const FEATURES: usize = 2;

/// Scenes by their names, naturally ordered.
#[derive(Debug)]
pub(super) struct Scenes {
    /// The file that names each scene: its points where there are several, else its boxes, else its features.
    pub(super) sources: Vec<Source>,
    scenes: Vec<Scene>,
    /// What was given for each role.
    given: Vec<String>,
    options: ReadOptions,
    /// The one scene, where no argument is a folder or a pattern.
    one: Option<Sources>,
}

/// The files of a scene, by role. Roles that were not asked for have none.
#[derive(Clone, Debug, Default)]
struct Scene {
    name: String,
    files: [Option<PathBuf>; 3],
}

/// What an argument means.
enum Given {
    /// A file that serves every scene.
    One(PathBuf),
    /// Files of scenes, by their names, and what of a folder or a pattern is no regular file.
    Several(BTreeMap<String, PathBuf>, Vec<IoError>),
    /// A folder or a pattern without a file.
    Nothing(IoError),
}

impl Scenes {
    /// The scenes of the arguments: several if one of them is a folder or a pattern.
    ///
    /// A plain file serves every scene. Features are an exception: their rows belong to the points of one file.
    pub(super) fn of(sources: Sources) -> Result<Self, Failure> {
        let Sources::Files { boxes, points, features, options } = &sources else {
            return Ok(Self::one(Source::Street, sources, ReadOptions::default()));
        };
        let shown = |path: &Path| path.to_string_lossy().into_owned();
        let given: Vec<String> =
            [shown(boxes), points.clone()].into_iter().chain(features.as_deref().map(shown)).collect();
        let several: Vec<bool> = given.iter().map(|arg| one_file(std::slice::from_ref(arg)).is_none()).collect();
        if !several.contains(&true) {
            let source = if points == STDIN { Source::Stdin } else { Source::File(points.into()) };
            let options = options.clone();
            return Ok(Self::one(source, sources, options));
        }
        if points == STDIN {
            let told = "--points -: expected a file, a folder or a pattern where there are several scenes";
            return Err(Failure::Usage(told.into()));
        }
        if several[POINTS] && several.get(FEATURES) == Some(&false) {
            let told = "expected a folder or a pattern, as for --points: a row of features belongs to a point";
            return Err(Failure::Usage(format!("--features {}: {told}", given[FEATURES])));
        }
        let roles = given.iter().zip(several).zip(ROLES);
        let found = roles.map(|((arg, several), role)| Given::of(arg, several, role)).collect::<Result<Vec<_>, _>>()?;
        Ok(Self::matched(found, given, options.clone()))
    }

    fn one(source: Source, sources: Sources, options: ReadOptions) -> Self {
        Self { sources: vec![source], scenes: vec![], given: sources.names(), options, one: Some(sources) }
    }

    /// The files of the scene, if there is one alone.
    pub(super) const fn alone(&self) -> Option<&Sources> {
        self.one.as_ref()
    }

    fn matched(found: Vec<Given>, given: Vec<String>, options: ReadOptions) -> Self {
        let mut scenes: BTreeMap<String, Scene> = BTreeMap::new();
        for (role, given) in found.iter().enumerate() {
            let Given::Several(files, _) = given else { continue };
            for (name, file) in files {
                let scene = scenes.entry(name.clone()).or_default();
                scene.files[role] = Some(file.clone());
            }
        }
        let naming = |scene: &Scene| {
            let roles =
                [POINTS, 0, FEATURES].into_iter().filter(|&role| matches!(found.get(role), Some(Given::Several(..))));
            roles.filter_map(|role| scene.files[role].clone()).next().expect("a scene has a file")
        };
        let mut scenes: Vec<Scene> = scenes.into_iter().map(|(name, scene)| Scene { name, ..scene }).collect();
        scenes.sort_by(|a, b| natural_order(Path::new(&a.name), Path::new(&b.name)));
        let mut sources: Vec<Source> = scenes.iter().map(|scene| Source::File(naming(scene))).collect();
        for (role, given) in found.iter().enumerate() {
            if let Given::One(file) = given {
                scenes.iter_mut().for_each(|scene| scene.files[role] = Some(file.clone()));
            }
        }
        let (mut nothing, mut refused) = (Vec::new(), Vec::new());
        for given in found {
            match given {
                Given::Nothing(e) => nothing.push(Source::Nothing(e)),
                Given::Several(_, others) => refused.extend(others.into_iter().map(Source::Nothing)),
                Given::One(_) => {}
            }
        }
        // Without any file of a role no scene is whole, so only that is reported.
        if !nothing.is_empty() {
            (scenes, sources) = (Vec::new(), nothing);
        }
        sources.append(&mut refused);
        scenes.resize(sources.len(), Scene::default());
        Self { sources, scenes, given, options, one: None }
    }

    /// What was given for boxes, points and, if they are pooled, features.
    pub(super) fn given(&self) -> &[String] {
        &self.given
    }

    /// The files of a scene, if none is missing.
    pub(super) fn files(&self, index: usize, source: &Source) -> Result<Sources, IoError> {
        if let Source::Nothing(e) = source {
            return Err(again(e));
        }
        if let Some(one) = &self.one {
            return Ok(one.clone());
        }
        let Scene { name, files } = &self.scenes[index];
        if let ([Some(boxes), Some(points), features], true) = (files, self.is_whole(index)) {
            let points = points.to_string_lossy().into_owned();
            return Ok(Sources::Files {
                boxes: boxes.clone(),
                points,
                features: features.clone(),
                options: self.options.clone(),
            });
        }
        let missing = ROLES.iter().zip(files).zip(&self.given).filter(|((_, file), _)| file.is_none());
        let (roles, given): (Vec<_>, Vec<_>) = missing.map(|((role, _), given)| (*role, given.as_str())).unzip();
        let wanted = format!("a file {name}.* of {}", given.join(", and one of "));
        Err(IoError::MissingField(Detail::new(source.name(), roles.join(" and "), wanted, "none")))
    }

    fn is_whole(&self, index: usize) -> bool {
        self.scenes[index].files.iter().take(self.given.len()).all(Option::is_some)
    }

    /// The files of each scene beside the one that names it.
    pub(super) fn beside(&self, sources: &[Source]) -> Vec<Vec<PathBuf>> {
        let each = self.scenes.iter().zip(sources);
        each.map(|(scene, source)| {
            let naming = if let Source::File(path) = source { Some(path) } else { None };
            scene.files.iter().flatten().filter(|file| Some(*file) != naming).cloned().collect()
        })
        .collect()
    }
}

impl Given {
    fn of(arg: &str, several: bool, role: &str) -> Result<Self, Failure> {
        if !several {
            return Ok(Self::One(arg.into()));
        }
        let arrays = role != ROLES[POINTS] && Path::new(arg).is_dir();
        // A folder of other files may have arrays among them.
        let fits = |path: &Path| !arrays || path.extension().is_some_and(|e| e.eq_ignore_ascii_case("npy"));
        let found = find_inputs(&[arg.to_owned()]).and_then(|found| {
            let (mut files, mut refused) = (Vec::new(), Vec::new());
            for file in found {
                match file {
                    Ok(path) if fits(&path) => files.push(path),
                    Err(e) if fits(e.path()) => refused.push(e),
                    _ => {}
                }
            }
            if files.is_empty() && refused.is_empty() {
                return Err(IoError::MissingField(Detail::new(arg, "folder", "files ending in .npy", "none")));
            }
            Ok((files, refused))
        });
        let (files, refused) = match found {
            Ok(files) => files,
            Err(e @ IoError::InvalidArgument(_)) => return Err(e.into()),
            Err(e) => return Ok(Self::Nothing(e)),
        };
        let mut by_name: BTreeMap<String, PathBuf> = BTreeMap::new();
        for file in files {
            let name = stem(&file).to_string_lossy().into_owned();
            if let Some(other) = by_name.get(&name) {
                let (a, b) = (other.display(), file.display());
                let told = format!("files with names of their own; {a} and {b} would both be of scene {name}");
                return Err(Failure::Usage(format!("--{role} {arg}: expected {told}")));
            }
            by_name.insert(name, file);
        }
        Ok(Self::Several(by_name, refused))
    }
}

#[cfg(test)]
#[path = "../../tests/unit/roi_pool_scenes.rs"]
mod tests;
