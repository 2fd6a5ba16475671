//! What `--json` prints, held against the schema in `docs/`: every line of every command, every
//! field of every line.

use crate::{Run, run, write_boxes, write_cloud};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The part of JSON Schema that the committed one uses; another keyword is a mistake in it.
struct Schema(Value);

impl Schema {
    fn read() -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json.schema.json");
        let crate::Once(schema) = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        Self(schema)
    }

    /// Why the value is not what a rule says.
    fn check(&self, rule: &Value, value: &Value, at: &str) -> Result<(), String> {
        for (keyword, with) in rule.as_object().unwrap() {
            let good = match keyword.as_str() {
                "description" | "default" | "required" | "additionalProperties" => true,
                "enum" => with.as_array().unwrap().contains(value),
                "$ref" => {
                    let name = with.as_str().unwrap().strip_prefix('#').unwrap().replace("%20", " ");
                    let rule = self.0.pointer(&name);
                    self.check(rule.unwrap_or_else(|| panic!("{with}")), value, at)?;
                    true
                }
                "anyOf" => {
                    let told: Vec<_> = rules(with).map(|rule| self.check(rule, value, at)).collect();
                    if told.iter().all(Result::is_err) {
                        return told.into_iter().next_back().unwrap();
                    }
                    true
                }
                "type" => match with {
                    Value::String(name) => is(value, name),
                    names => rules(names).any(|name| is(value, name.as_str().unwrap())),
                },
                "properties" => {
                    self.check_fields(rule, value, at)?;
                    true
                }
                "items" => {
                    for (i, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.check(with, item, &format!("{at}[{i}]"))?;
                    }
                    true
                }
                "minItems" => value.as_array().is_none_or(|items| items.len() as u64 >= with.as_u64().unwrap()),
                "maxItems" => value.as_array().is_none_or(|items| items.len() as u64 <= with.as_u64().unwrap()),
                _ => panic!("{keyword} is not checked"),
            };
            if !good {
                return Err(format!("{at}: expected {keyword} {with}, got {value}"));
            }
        }
        Ok(())
    }

    fn check_fields(&self, rule: &Value, value: &Value, at: &str) -> Result<(), String> {
        let Some(fields) = value.as_object() else { return Ok(()) };
        assert_eq!(rule["additionalProperties"], false, "{at}");
        for (name, value) in fields {
            let rule = rule["properties"].get(name).ok_or_else(|| format!("{at}.{name}: not in the schema"))?;
            self.check(rule, value, &format!("{at}.{name}"))?;
        }
        let missing = rules(&rule["required"]).find(|name| !fields.contains_key(name.as_str().unwrap()));
        missing.map_or(Ok(()), |name| Err(format!("{at}: {name} is missing")))
    }

    /// Checks all lines of a run; which ones there were.
    fn check_run(&self, command: &str, told: &Run) -> BTreeSet<String> {
        let mut seen = BTreeSet::new();
        for (kind, data) in told.lines() {
            let of = [command, "any"].into_iter().find(|c| self.0["x-lines"][c].get(&kind).is_some());
            let of = of.unwrap_or_else(|| panic!("{command} {kind}: not in the schema"));
            let at = format!("{of} {kind}");
            self.check(&self.0["x-lines"][of][&kind], &data, &at).unwrap_or_else(|e| panic!("{e}\n{data}"));
            seen.insert(at);
        }
        seen
    }
}

/// What the metaschema of JSON Schema says of the keywords that are used.
fn check_rule(rule: &Value, at: &str) {
    let unique = |list: &Value, least: usize| {
        let items = list.as_array().unwrap_or_else(|| panic!("{at}: {list} is no list"));
        let texts: BTreeSet<_> = items.iter().map(ToString::to_string).collect();
        assert!(texts.len() == items.len() && items.len() >= least, "{at}: an item stands twice, or too few: {list}");
    };
    for (keyword, with) in rule.as_object().unwrap_or_else(|| panic!("{at}: {rule} is no rule")) {
        let below = format!("{at}/{keyword}");
        match keyword.as_str() {
            "required" => {
                unique(with, 0);
                let fields = rule["properties"].as_object();
                let named = |name: &Value| fields.is_none_or(|fields| fields.contains_key(name.as_str().unwrap()));
                assert!(rules(with).all(named), "{below}: {with}");
            }
            "enum" => unique(with, 1),
            "type" if with.is_array() => unique(with, 1),
            "anyOf" => {
                assert!(!with.as_array().unwrap().is_empty(), "{below}");
                rules(with).for_each(|rule| check_rule(rule, &below));
            }
            "properties" | "$defs" => {
                with.as_object().unwrap().iter().for_each(|(name, rule)| check_rule(rule, &format!("{below}/{name}")));
            }
            "items" if with.is_boolean() => {}
            "items" => check_rule(with, &below),
            "prefixItems" => rules(with).for_each(|rule| check_rule(rule, &below)),
            "minItems" | "maxItems" => assert!(with.is_u64(), "{below}"),
            "additionalProperties" => assert!(with.is_boolean(), "{below}"),
            "type" | "description" | "$ref" | "$schema" | "title" => assert!(with.is_string(), "{below}"),
            "const" | "default" | "x-lines" => {}
            _ => panic!("{below} is no keyword"),
        }
    }
}

#[test]
fn the_schema_is_valid() {
    check_rule(&Schema::read().0, "#");
}

fn rules(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().unwrap().iter()
}

fn is(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => panic!("{name} is no type"),
    }
}

#[test]
fn every_line_of_every_command_is_in_the_schema() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::create_dir(at.join("in")).unwrap();
    (0..3).for_each(|i| drop(write_cloud(at, &format!("in/{i}.bin"), 400 + i)));
    fs::write(at.join("bad.bin"), [0; 15]).unwrap();
    fs::write(at.join("pose.txt"), "0 0 0 0 0 0").unwrap();
    fs::write(at.join("pose12.txt"), "1 0 0 0 0 1 0 0 0 0 1 0").unwrap();
    fs::write(at.join("label.txt"), crate::LABEL).unwrap();
    fs::write(at.join("found.txt"), format!("{} 0.9", crate::LABEL)).unwrap();
    write_boxes(at);
    let schema = Schema::read();
    let mut seen = BTreeSet::new();
    for (command, args, code) in [
        ("voxelize", "voxelize in bad.bin --compare-cpu --out v", 3),
        ("voxelize", "voxelize in --out v --resume", 0),
        ("voxelize", "voxelize in --dynamic --visualize a.png", 0),
        ("voxelize", "voxelize --device cuda:77", 4),
        ("roi-pool", "roi-pool --compare-cpu --out-size 2 --max-points 4 --out r.npz", 0),
        ("roi-pool", "roi-pool --inside part", 0),
        ("roi-pool", "roi-pool --inside crop --points in --boxes b.npy --compare-cpu --out p", 0),
        ("roi-pool", "roi-pool --inside crop --points in --boxes b.npy --out p --resume", 0),
        ("roi-pool", "roi-pool --points in --boxes b.npy --features in/*.bin --out q", 3),
        ("ndt build", "ndt build in bad.bin --min-points 3 --out g.npz --moments g.arrow --visualize b.png", 3),
        ("ndt build", "ndt build in --min-points 3 --out t/ --jobs 2", 0),
        ("ndt merge", "ndt merge g.arrow g.arrow --minus g.arrow --min-points 3", 0),
        ("ndt score", "ndt score --map g.npz --scan in/0.bin --pose pose.txt", 0),
        ("ndt align", "ndt align --map g.npz --scan in/0.bin --max-iterations 2", 6),
        ("ndt score", "ndt score --map g.npz --scan in --pose pose.txt", 0),
        ("ndt align", "ndt align --map g.npz --scan in --max-iterations 2", 6),
        ("icp", "icp in/0.bin in/1.bin --schedule 1:2,0:1 --out o.ply --plot p.svg --visualize q.png", 0),
        ("icp", "icp in/0.bin bad.bin", 3),
        ("icp", "icp in in/1.bin --max-distance 2 --max-iterations 9 --out i", 6),
        ("register", "register in/0.bin in/0.bin --visualize v.png --out v.ply", 6),
        ("register", "register in in/1.bin --compare-cpu", 6),
        ("register", "register in/0.bin bad.bin", 3),
        ("odometry", "odometry in bad.bin --out w.txt --map-out w.ply", 3),
        ("odometry", "odometry --out x.txt", 0),
        ("localize", "localize --map g.npz in bad.bin --guess pose.txt --out y.txt", 3),
        ("localize", "localize --map g.npz in/0.bin --region -3,-3,3,3 --yaw-range -10,10", 6),
        ("evaluate", "evaluate x.txt x.txt --plot x.svg", 0),
        ("evaluate", "evaluate pose.txt bad.bin", 3),
        ("evaluate detections", "evaluate detections found.txt label.txt --protocol kitti", 0),
        ("evaluate detections", "evaluate detections pose.txt label.txt --protocol kitti-r11", 3),
        ("info", "info in/0.bin", 0),
        ("info", "info in bad.bin", 3),
        ("info", "info pose12.txt", 0),
        ("downsample", "downsample in/0.bin --out t.ply --compare-cpu", 0),
        ("downsample", "downsample in --to pcd --out t", 0),
        ("downsample", "downsample in --to pcd --out t --resume", 0),
        ("crop", "crop in/0.bin --max-range 9 --out k.ply", 0),
        ("crop", "crop in --box 0,0,0,9,9,9 --to pcd --out k", 0),
        ("crop", "crop in --box 0,0,0,9,9,9 --to pcd --out k --resume", 0),
        ("merge", "merge in --out m.ply", 0),
        ("merge", "merge in bad.bin --out n.ply", 3),
        ("convert", "convert in/0.bin --out c.ply", 0),
        ("convert", "convert in --to pcd --out c", 0),
        ("convert", "convert in --to pcd --out c --resume", 0),
        ("devices", "devices", 0),
        ("synth", "synth --out s --sweeps 1", 0),
        ("demo", "demo --out d", 0),
    ] {
        let told = run(at, &format!("{args} --json"));
        assert!(
            told.code == code || (told.code == 0 && command == "ndt align") || (told.code == 6 && command == "icp"),
            "{args}: {}",
            told.err
        );
        seen.extend(schema.check_run(command, &told));
    }
    let wanted = schema.0["x-lines"].as_object().unwrap().iter();
    let wanted =
        wanted.flat_map(|(command, kinds)| kinds.as_object().unwrap().keys().map(move |k| format!("{command} {k}")));
    assert_eq!(seen, wanted.collect(), "lines that are in the schema, and those that were printed");
}

/// Machines learn of every end, of arguments that cannot be parsed too.
#[test]
fn usage_errors_are_the_last_line() {
    let folder = tempfile::tempdir().unwrap();
    let schema = Schema::read();
    for args in ["voxelize --json --max-points x", "--json nothing", "info --json", "synth --json --sweeps 0 --out x"] {
        let told = run(folder.path(), args).expect(2);
        schema.check_run("any", &told);
        let [(kind, data)] = &told.lines()[..] else { panic!("{args}: {}", told.out) };
        assert_eq!(
            (kind.as_str(), &data["class"], &data["exit_code"]),
            ("error", &json!("InvalidArgument"), &json!(2))
        );
        let message = data["message"].as_str().unwrap();
        assert!(told.err.contains(&message[..20]) && !message.contains("Usage"), "{args}: {data}");
    }
    assert_eq!(run(folder.path(), "voxelize --max-points x").expect(2).out, "");
    assert!(run(folder.path(), "voxelize --help --json").expect(0).out.starts_with("Bin sweeps"));
}

/// Names come as they are, and no line has a character in it that ends lines, or that a terminal
/// obeys.
#[test]
fn odd_names_are_one_line() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("in")).unwrap();
    let name = "in/a\u{7f}\u{85}\u{2028}\u{202e}.bin";
    write_cloud(folder.path(), name, 5);
    let told = run(folder.path(), "info in --json").expect(0);
    assert_eq!(told.data("frame")[0]["input"], name);
    assert!(told.out.trim_end().lines().all(|line| line.chars().all(pointmill_io::is_plain)), "{:?}", told.out);
}

/// Without this the other test could not fail.
#[test]
fn what_is_not_in_the_schema_is_told() {
    let schema = Schema::read();
    let told = |data: Value| schema.check(&json!({"$ref": "#/$defs/any%20kept"}), &data, "kept");
    let good = json!({"index": 1, "input": "a", "outputs": ["b"]});
    assert_eq!(told(good.clone()), Ok(()));
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut data = good.clone();
        change(&mut data);
        told(data).unwrap_err()
    };
    assert_eq!(changed(&|d| d["more"] = json!(1)), "kept.more: not in the schema");
    assert_eq!(changed(&|d| drop(d.as_object_mut().unwrap().remove("input"))), "kept: \"input\" is missing");
    assert!(changed(&|d| d["index"] = json!("1")).starts_with("kept.index: expected type"));
    assert!(changed(&|d| d["outputs"][0] = json!(null)).starts_with("kept.outputs[0]: expected type"));
}
