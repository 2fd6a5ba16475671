//! Tests of `src/roi_pool/scenes.rs`.

use super::*;
use std::fs;

/// The names of scenes with the files that they have, of arguments for boxes, points and features.
fn matched(folder: &Path, args: [&str; 3]) -> Result<Vec<(String, Vec<String>)>, String> {
    let at = |arg: &str| folder.join(arg);
    let sources = Sources::Files(args.map(at).to_vec());
    let (_, scenes) = Scenes::of(sources).map_err(|e| e.to_string())?;
    let shown = |path: &PathBuf| path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
    let told = |scene: &Scene| (scene.name.clone(), scene.files.iter().flatten().map(shown).collect());
    Ok(scenes.scenes.iter().map(told).collect())
}

#[test]
fn files_are_matched_by_their_names_in_natural_order() {
    let folder = tempfile::tempdir().unwrap();
    for file in
        ["b/2.npy", "b/10.npy", "b/note.bin", "p/10.bin", "p/2.pcd.bin", "f/2.npy", "f/10.npy", "f/3.npy", "one.npy"]
    {
        fs::create_dir_all(folder.path().join(file).parent().unwrap()).unwrap();
        fs::write(folder.path().join(file), "").unwrap();
    }
    let told = |args| matched(folder.path(), args).unwrap();
    let all = told(["b", "p/*", "f"]);
    let names: Vec<_> = all.iter().map(|(name, files)| (name.as_str(), files.len())).collect();
    assert_eq!(names, [("2", 3), ("3", 1), ("10", 3)]);
    assert_eq!(all[0].1, ["b/2.npy", "p/2.pcd.bin", "f/2.npy"]);
    assert_eq!(told(["one.npy", "p", "f"])[1].1, ["one.npy", "f/3.npy"]);
    assert_eq!(
        told(["b", "one.npy", "one.npy"])[1],
        ("10".into(), vec!["b/10.npy".into(), "one.npy".into(), "one.npy".into()])
    );
    assert!(
        matched(folder.path(), ["b", "p", "one.npy"])
            .unwrap_err()
            .contains("each file of points needs its own file of features")
    );
    fs::write(folder.path().join("p/2.bin"), "").unwrap();
    assert!(matched(folder.path(), ["b", "p", "f"]).unwrap_err().contains("for scene 2"));
}
