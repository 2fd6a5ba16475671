//! Links of the pages: every file and every heading that they name is there.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The pages of the repository: those at its top, and all below the folders that hold sources.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let entries = |folder: &Path| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut pages: Vec<_> = entries(&root).collect();
    let mut folders: Vec<_> = ["bench", "bindings", "crates", "docs", "fixtures"].map(|name| root.join(name)).into();
    while let Some(folder) = folders.pop() {
        let is_hidden = |path: &Path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        let (below, files): (Vec<_>, Vec<_>) = entries(&folder).partition(|path| path.is_dir());
        folders.extend(below.into_iter().filter(|path| !is_hidden(path)));
        pages.extend(files);
    }
    pages.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    pages.sort();
    pages
}

/// The lines of a page outside of its blocks of code.
fn prose(page: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(page).unwrap();
    let mut is_code = false;
    let lines = text.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    });
    lines.map(str::to_owned).collect()
}

/// The anchors of a page, as a forge makes them of its headings.
fn anchors(page: &Path) -> HashSet<String> {
    let headings = prose(page).into_iter().filter(|line| line.starts_with('#'));
    let anchor = |line: String| {
        let kept = line.trim_start_matches('#').trim().to_lowercase();
        let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn every_link_leads_somewhere() {
    let mut dead = Vec::new();
    let mut seen = 0;
    for page in pages() {
        for line in prose(&page) {
            for rest in line.split("](").skip(1) {
                let target = rest.split(')').next().unwrap();
                if target.is_empty() || target.starts_with("http") {
                    continue;
                }
                seen += 1;
                let (file, anchor) =
                    target.split_once('#').map_or((target, None), |(file, anchor)| (file, Some(anchor)));
                let path = if file.is_empty() { page.clone() } else { page.parent().unwrap().join(file) };
                if !path.exists() || anchor.is_some_and(|anchor| !anchors(&path).contains(anchor)) {
                    dead.push(format!("{}: {target}", page.display()));
                }
            }
        }
    }
    assert!(dead.is_empty(), "links that lead nowhere: {dead:#?}");
    assert!(seen > 100, "{seen}");
}
