//! The page `docs/json.md` as its readers have it: that it tells every field of every line.

use super::super::{lines, shared};
use super::{AS, EITHER, OR, anchor, fields, text};
use std::collections::{BTreeSet, HashMap};

/// The rows of each section and kind of line.
struct Page(HashMap<(String, String), Vec<[String; 3]>>);

impl Page {
    fn of(text: &str) -> Self {
        let (mut parts, mut at) = (HashMap::<_, Vec<_>>::new(), (String::new(), String::new()));
        for line in text.lines() {
            if let Some(title) = line.strip_prefix("### ") {
                at = (anchor(title), title.split(' ').next().unwrap().to_owned());
            }
            let cells = line.strip_prefix("| ").and_then(|row| row.strip_suffix(" |"));
            let cells: Vec<_> = cells.into_iter().flat_map(|row| row.splitn(3, " | ")).collect();
            match cells[..] {
                // The first row of a part, with an empty cell.
                [name, head] if name.starts_with("**") => {
                    name.trim_matches(['*', '`']).clone_into(&mut at.1);
                    parts.entry(at.clone()).or_default().push([String::new(), String::new(), head.to_owned()]);
                }
                [name, kind, what] if name.starts_with('`') && ![EITHER, OR].contains(&kind) => {
                    let row = [name.trim_matches('`'), kind, what].map(str::to_owned);
                    parts.entry(at.clone()).or_default().push(row);
                }
                _ => {}
            }
        }
        Self(parts)
    }

    /// All fields of a kind of line below a path, with those that stand elsewhere.
    fn told(&self, section: &str, kind: &str, below: &str, to: &str) -> Vec<[String; 3]> {
        let mut told = Vec::new();
        let rows = self.0.get(&(section.to_owned(), kind.to_owned()));
        for [path, of, what] in rows.unwrap_or_else(|| panic!("{section}, {kind}: not on the page")) {
            if let (true, Some((_, link))) = (path.is_empty() && below.is_empty(), what.split_once("](#")) {
                told.extend(self.told(link.split_once(')').unwrap().0, kind, "", to));
            }
            let Some(rest) = path.strip_prefix(below).filter(|rest| !rest.is_empty()) else { continue };
            let (path, (of, link)) = (format!("{to}{rest}"), of.split_once(AS).unwrap_or((of, "")));
            if let Some((label, link)) = link.split_once("`](#") {
                let ((kind, from), section) = (label.split_once('.').unwrap(), link.trim_end_matches(')'));
                let to = format!("{path}{}.", if of.starts_with('[') { "[]" } else { "" });
                told.extend(self.told(section, kind, &format!("{from}."), &to));
            }
            told.push([path, of.to_owned(), what.clone()]);
        }
        told
    }
}

/// The lines whose fields the page does not tell as the types have them.
fn wrong(text: &str) -> Vec<String> {
    let page = Page::of(text);
    let titles: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    let is_told = |command: &str, kind: &str, schema: &_| {
        let has = |title: &&&str| title.split(" and ").any(|name| name == command);
        let title = if command == "any" { kind } else { titles.iter().find(has).expect("a section") };
        let told = page.told(&anchor(title), kind, "", "").into_iter();
        told.collect::<BTreeSet<_>>() == fields(schema).into_iter().collect()
    };
    let wrong = lines().into_iter().filter(|line| !is_told(line.command, line.kind, &line.schema));
    wrong.map(|line| format!("{} {}", line.command, line.kind)).collect()
}

#[test]
fn the_page_tells_every_field_of_every_line() {
    let text = text(&lines(), &shared());
    assert_eq!(wrong(&text), [""; 0]);
    // Without a row, or with one more, it is wrong, of whichever kind the row is.
    let without = |part: &str| {
        assert!(text.contains(part), "{part}");
        wrong(&text.lines().filter(|line| !line.starts_with(part)).collect::<Vec<_>>().join("\n"))
    };
    assert_eq!(without("| `params.voxel_size` | [3 x number] | Edge lengths"), ["voxelize begin", "downsample begin"]);
    let begins = lines().into_iter().filter(|line| line.kind == "begin").map(|line| format!("{} begin", line.command));
    assert_eq!(without("| `origin` | [3 x number] or null | What coordinates"), begins.collect::<Vec<_>>());
    assert!(without("| `registration.nvtl` |").contains(&"localize frame".to_owned()));
    assert_eq!(without("| `poses[].guess` |"), ["ndt score frame", "ndt align frame"]);
    let more = text.replace("\n| `outputs` |", "\n| `more` | string | More. |\n| `outputs` |");
    assert_eq!(wrong(&more), ["any kept"]);
}
