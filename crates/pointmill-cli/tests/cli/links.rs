//! Links of the pages: every file and every heading that they name is there.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The pages of the repository.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let folders = ["", "docs", "docs/guides", "bench", "fixtures", "bindings/python"].map(|name| root.join(name));
    let crates = std::fs::read_dir(root.join("crates")).unwrap().map(|entry| entry.unwrap().path());
    let files = folders.into_iter().chain(crates).flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let mut pages: Vec<_> = files.map(|entry| entry.unwrap().path()).collect();
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
