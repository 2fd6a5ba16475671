//! Systems in well-known text, of both versions.

use super::{Crs, Unit, VerticalCrs};

/// How deep nodes may lie in each other.
const DEEPEST: usize = 32;

/// Keywords of both versions.
const COMPOUND: &[&str] = &["COMPD_CS", "COMPOUNDCRS"];
const BOUND: &[&str] = &["BOUNDCRS"];
const GEOGRAPHIC: &[&str] = &["GEOGCS", "GEOGCRS", "GEOGRAPHICCRS", "GEODCRS", "GEODETICCRS"];
const PLANE: &[&str] = &["PROJCS", "PROJCRS", "PROJECTEDCRS", "GEOCCS", "LOCAL_CS", "ENGCRS", "ENGINEERINGCRS"];
const VERTICAL: &[&str] = &["VERT_CS", "VERTCRS", "VERTICALCRS"];
const UNIT: &[&str] = &["UNIT", "LENGTHUNIT", "ANGLEUNIT"];

/// A keyword with what stands in its brackets.
struct Node {
    keyword: String,
    items: Vec<Item>,
}

enum Item {
    /// In quotes.
    Text(String),
    /// A number, or a word such as `north`.
    Word(String),
    Node(Node),
}

/// The system of a text; `None` of one that is none.
pub(crate) fn of_wkt(bytes: &[u8]) -> Option<Crs> {
    let text = bytes.split(|&b| b == 0).next().unwrap_or_default();
    let text = String::from_utf8_lossy(text);
    let mut rest = text.trim();
    let root = node(&mut rest, 0)?;
    rest.is_empty().then(|| system(&root))?
}

/// The system of a node.
fn system(root: &Node) -> Option<Crs> {
    if root.is(BOUND) {
        return system(root.child(&["SOURCECRS"])?.nodes().next()?);
    }
    if root.is(COMPOUND) {
        let of = root.nodes().find(|node| node.is(GEOGRAPHIC) || node.is(PLANE) || node.is(BOUND)).and_then(system)?;
        let vertical = root.nodes().find(|node| node.is(VERTICAL)).map(vertical);
        return Some(Crs { name: root.name(), epsg: root.epsg().or(of.epsg), vertical, ..of });
    }
    if root.is(VERTICAL) {
        return Some(Crs { vertical: Some(vertical(root)), ..Crs::default() });
    }
    let is_geographic = root.is(GEOGRAPHIC);
    if !is_geographic && !root.is(PLANE) {
        return None;
    }
    Some(Crs { name: root.name(), epsg: root.epsg(), is_geographic, unit: root.unit(is_geographic), vertical: None })
}

fn vertical(node: &Node) -> VerticalCrs {
    VerticalCrs { name: node.name(), epsg: node.epsg(), unit: node.unit(false) }
}

impl Node {
    fn is(&self, keywords: &[&str]) -> bool {
        keywords.iter().any(|keyword| self.keyword.eq_ignore_ascii_case(keyword))
    }

    fn nodes(&self) -> impl Iterator<Item = &Self> {
        self.items.iter().filter_map(|item| if let Item::Node(node) = item { Some(node) } else { None })
    }

    fn child(&self, keywords: &[&str]) -> Option<&Self> {
        self.nodes().find(|node| node.is(keywords))
    }

    fn value(&self, i: usize) -> Option<&str> {
        match self.items.get(i)? {
            Item::Text(text) | Item::Word(text) => Some(text),
            Item::Node(_) => None,
        }
    }

    fn name(&self) -> Option<String> {
        self.value(0).filter(|name| !name.is_empty()).map(str::to_owned)
    }

    fn epsg(&self) -> Option<u32> {
        let authority = self.child(&["AUTHORITY", "ID"])?;
        let is_epsg = authority.value(0)?.eq_ignore_ascii_case("EPSG");
        authority.value(1).filter(|_| is_epsg)?.parse().ok()
    }

    /// Its own unit, else that of its first axis.
    fn unit(&self, is_angle: bool) -> Option<Unit> {
        let unit = self.child(UNIT).or_else(|| self.child(&["AXIS"])?.child(UNIT))?;
        let name = unit.name()?;
        let factor: f64 = unit.value(1)?.parse().ok().filter(|factor: &f64| factor.is_finite() && *factor > 0.0)?;
        Some(if is_angle || unit.is(&["ANGLEUNIT"]) { Unit::angle(name) } else { Unit::length(name, factor) })
    }
}

/// The node that a text begins with, which is taken away.
fn node(rest: &mut &str, depth: usize) -> Option<Node> {
    let keyword = word(rest);
    let close = match rest.chars().next()? {
        '[' => ']',
        '(' => ')',
        _ => return None,
    };
    if keyword.is_empty() || depth == DEEPEST {
        return None;
    }
    let mut items = Vec::new();
    loop {
        *rest = rest[1..].trim_start();
        items.push(item(rest, depth)?);
        *rest = rest.trim_start();
        match rest.chars().next()? {
            ',' => {}
            end if end == close => {
                *rest = rest[1..].trim_start();
                return Some(Node { keyword: keyword.into(), items });
            }
            _ => return None,
        }
    }
}

fn item(rest: &mut &str, depth: usize) -> Option<Item> {
    if rest.starts_with('"') {
        return quoted(rest).map(Item::Text);
    }
    let mut ahead = *rest;
    let found = word(&mut ahead);
    if ahead.starts_with(['[', '(']) {
        return node(rest, depth + 1).map(Item::Node);
    }
    *rest = ahead;
    (!found.is_empty()).then(|| Item::Word(found.into()))
}

/// What stands before the next bracket, comma or quote.
fn word<'a>(rest: &mut &'a str) -> &'a str {
    let end = rest.find(['[', ']', '(', ')', ',', '"']).unwrap_or(rest.len());
    let (word, behind) = rest.split_at(end);
    *rest = behind;
    word.trim()
}

/// A text in quotes; two quotes in it are one.
fn quoted(rest: &mut &str) -> Option<String> {
    let mut text = String::new();
    loop {
        let behind = &rest[1..];
        let end = behind.find('"')?;
        text.push_str(&behind[..end]);
        *rest = &behind[end + 1..];
        if !rest.starts_with('"') {
            return Some(text);
        }
        text.push('"');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OREGON: &str = r#"PROJCS["NAD83 / Oregon GIC Lambert (ft)",GEOGCS["NAD83",DATUM["D",SPHEROID["GRS 1980",
        6378137,298.257222101]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433],AUTHORITY["EPSG","4269"]],
        PROJECTION["Lambert_Conformal_Conic_2SP"],PARAMETER["false_easting",1312335.958005249],
        UNIT["foot",0.3048,AUTHORITY["EPSG","9002"]],AXIS["X",EAST],AUTHORITY["EPSG","2992"]]"#;

    #[test]
    fn both_versions_have_name_code_and_units() {
        let crs = of_wkt(format!("{OREGON}\0\0").as_bytes()).unwrap();
        assert_eq!((crs.name.as_deref(), crs.epsg), (Some("NAD83 / Oregon GIC Lambert (ft)"), Some(2992)));
        assert_eq!((crs.unit, crs.is_geographic), (Some(Unit::length("foot", 0.3048)), false));
        let height = r#"VERT_CS["NAVD88 height (ftUS)",VERT_DATUM["N",2005],UNIT["US survey foot",0.304800609601219],
            AXIS["Up",UP],AUTHORITY["EPSG","6360"]]"#;
        let crs = of_wkt(format!(r#"COMPD_CS["a ""b"" c",{OREGON},{height}]"#).as_bytes()).unwrap();
        assert_eq!((crs.name.as_deref(), crs.epsg), (Some("a \"b\" c"), Some(2992)));
        assert_eq!(crs.height_unit().unwrap().name, "US survey foot");
        assert_eq!(crs.vertical.unwrap().epsg, Some(6360));
        let crs = of_wkt(
            br#"PROJCRS["ETRS89 / UTM zone 32N",BASEGEOGCRS["ETRS89",ANGLEUNIT["degree",0.01745]],
            CONVERSION["c"],CS[Cartesian,2],AXIS["(E)",east,ORDER[1],LENGTHUNIT["metre",1]],ID["EPSG",25832]]"#,
        );
        let crs = crs.unwrap();
        assert_eq!((crs.epsg, crs.unit.unwrap().symbol()), (Some(25832), "m"));
        let crs = of_wkt(br#"GEOGCS("WGS 84",UNIT("degree",0.0174532925199433))"#).unwrap();
        assert!(crs.is_geographic && crs.epsg.is_none() && crs.unit.unwrap().symbol() == "\u{b0}");
    }

    #[test]
    fn what_is_no_system_is_none() {
        for text in [
            "",
            "PROJCS",
            "PROJCS[",
            "PROJCS[]",
            "PROJCS[\"a\"",
            "PROJCS[\"a\")",
            "PROJCS[\"a\"]x",
            "[\"a\"]",
            "PROJCS[\"a\",]",
            "PROJCS[\"a]",
            "PARAMETER[\"a\",1]",
            "COMPD_CS[\"a\"]",
            "\u{b0}[\"a\"]",
        ] {
            assert_eq!(of_wkt(text.as_bytes()), None, "{text}");
        }
        let deep = |n: usize| format!("PROJCS[\"a\"{}{}]", ",N[1".repeat(n), "]".repeat(n));
        assert!(of_wkt(deep(31).as_bytes()).is_some() && of_wkt(deep(32).as_bytes()).is_none());
        assert_eq!(of_wkt(deep(60_000).as_bytes()), None);
        // Every cut of a good text, and units that are none.
        (0..OREGON.len()).for_each(|end| assert_eq!(of_wkt(&OREGON.as_bytes()[..end]), None));
        for unit in ["UNIT[\"foot\"]", "UNIT[\"foot\",0]", "UNIT[\"foot\",inf]", "UNIT[\"foot\",x]", "UNIT[0.3]"] {
            let crs = of_wkt(format!("PROJCS[\"a\",{unit}]").as_bytes()).unwrap();
            assert_eq!((crs.name.as_deref(), crs.unit), (Some("a"), None), "{unit}");
        }
    }
}
