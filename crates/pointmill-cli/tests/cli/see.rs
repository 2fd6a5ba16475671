//! `--visualize` and `--color-by` of commands that read or write one cloud.

use crate::run;
use std::fs;

/// A cloud with colours, classes and an intensity, each of its own column.
fn write_cloud(path: &std::path::Path) {
    let rows = (0..400u32).map(|i| {
        let (x, y) = (f64::from(i % 20) * 5.0 + 691_000.0, f64::from(i / 20) * 5.0 + 5_335_000.0);
        format!(
            "{x} {y} {} {} {} {} {} {}\n",
            i % 7,
            i % 90,
            9 * (i % 25),
            40,
            255 - i % 200,
            if i < 250 { 2 } else { 6 }
        )
    });
    let head = "x y z intensity red green blue classification\n".to_owned();
    fs::write(path, head + &rows.collect::<String>()).unwrap();
}

#[test]
fn any_cloud_is_drawn_by_what_its_points_have() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write_cloud(&at("a.xyz"));
    let page = |args: &str| {
        run(folder.path(), &format!("{args} --visualize a.html")).expect(0);
        String::from_utf8(fs::read(at("a.html")).unwrap()).unwrap()
    };
    for (by, title, inside) in [
        ("auto", "coloured by rgb (auto)", "\"has_colours\":true"),
        ("rgb", "coloured by rgb<", "\"has_colours\":true"),
        ("class", "coloured by class<", "\"name\":\"6 building\""),
        ("intensity", "coloured by intensity<", "\"range\":[1.0,87.0]"),
        ("height", "coloured by height<", "\"values\":\"height, m\""),
        ("green", "coloured by green<", "\"values\":\"green\""),
    ] {
        let found = page(&format!("info a.xyz --color-by {by}"));
        assert!(found.contains(&format!("<title>a.xyz: 400 points, {title}").replace("<<", "<")), "{by}");
        assert!(found.contains(inside), "{by}: {inside}");
    }
    // What a command makes is drawn, and auto takes what is left.
    assert!(page("convert a.xyz --out b.bin").contains("<title>b.bin: 400 points, coloured by rgb (auto)"));
    let box_of = "--box 691000,5335000,-inf,691050,5335050,inf";
    assert!(page(&format!("crop a.xyz {box_of} --out c.ply")).contains("<title>c.ply: 121 points"));
    assert!(page("downsample a.xyz --voxel-size 10 --out d.ply").contains("<title>d.ply: "));
    fs::write(at("e.xyz"), "x y z intensity\n0 0 1 7\n1 0 2 7\n").unwrap();
    assert!(page("info e.xyz").contains("coloured by height (auto)"));
    fs::write(at("f.xyz"), "x y z intensity classification\n0 0 1 7 2\n1 0 2 8 2\n").unwrap();
    assert!(page("info f.xyz").contains("coloured by intensity (auto)"));
    fs::write(at("g.xyz"), "x y z intensity classification\n0 0 1 7 2\n1 0 2 8 9\n").unwrap();
    assert!(page("info g.xyz").contains("\"name\":\"9 water\""));
}

#[test]
fn all_inputs_of_merge_are_one_picture() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write_cloud(&at("a.xyz"));
    fs::write(at("b.xyz"), fs::read_to_string(at("a.xyz")).unwrap().replace(" 5335", " 5336")).unwrap();
    let told = run(folder.path(), "merge a.xyz b.xyz --out c.ply --visualize c.html --color-by class").expect(0);
    assert!(told.out.contains("picture: c.html"), "{}", told.out);
    let page = fs::read_to_string(at("c.html")).unwrap();
    assert!(page.contains("<title>c.ply: 800 points, coloured by class<") && page.contains("\"name\":\"6 building\""));
    let layers = page.split("\"count\":").skip(1).map(|rest| rest.split(',').next().unwrap().parse::<usize>().unwrap());
    assert_eq!(layers.sum::<usize>(), 800);
    // What a merge is read from is not drawn over, and nothing is drawn where an input cannot be read.
    run(folder.path(), "merge a.xyz b.xyz --out d.ply --visualize a.xyz").expect(2);
    fs::write(at("bad.ply"), "ply\nformat").unwrap();
    run(folder.path(), "merge a.xyz bad.ply --out d.ply --visualize d.png").expect(3);
    assert!(!at("d.png").exists() && !at("d.ply").exists());
}

#[test]
fn pictures_are_named_and_alike() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write_cloud(&at("a.xyz"));
    let told = run(folder.path(), "info a.xyz --visualize a.png --json").expect(0);
    assert_eq!(told.data("summary")[0]["picture"], "a.png");
    let first = fs::read(at("a.png")).unwrap();
    let told = run(folder.path(), "convert a.xyz --out b.ply --visualize a.png").expect(0);
    assert!(told.out.contains("picture") && told.out.contains("a.png"), "{}", told.out);
    assert_ne!(first, fs::read(at("a.png")).unwrap());
    run(folder.path(), "info a.xyz --visualize a.png").expect(0);
    assert_eq!(first, fs::read(at("a.png")).unwrap());
    run(folder.path(), "info a.xyz --visualize a.gif").expect(0);
    assert_eq!(&fs::read(at("a.gif")).unwrap()[..6], b"GIF89a");
}

#[test]
fn nothing_is_drawn_where_nothing_was_read() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write_cloud(&at("a.xyz"));
    fs::write(at("bad.ply"), "ply\nformat").unwrap();
    fs::write(at("old.png"), "old").unwrap();
    for (args, code, wanted) in [
        ("info missing.xyz --visualize old.png", 2, "missing.xyz"),
        ("info bad.ply --visualize old.png", 3, "bad.ply"),
        ("info a.xyz bad.ply --visualize old.png", 2, "--visualize old.png: expected one input"),
        ("info a.xyz --visualize old.jpg", 2, "--visualize"),
        ("info a.xyz --visualize old.png --color-by shine", 2, "--color-by shine: expected auto, height"),
        (
            "info a.xyz --visualize old.png --color-by return",
            2,
            "expected a column return_number or return, got x, y, z",
        ),
        ("info a.xyz --color-by height", 2, "--visualize"),
    ] {
        let told = run(folder.path(), args).expect(code);
        assert!(told.err.contains(wanted), "{args}: {}", told.err);
        assert_eq!(fs::read(at("old.png")).unwrap(), b"old", "{args}");
    }
}
