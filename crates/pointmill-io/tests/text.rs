//! Points as text: what stands between numbers, names, counts and comments, and what is refused
//! with its line.

use pointmill_core::Points;
use pointmill_io::{Format, Limits, NamedPoints, ReadOptions, Scan, WriteOptions, read, read_from, write};

fn parse(name: &str, text: &str) -> Result<Scan, String> {
    let scan = read_from(text.as_bytes(), name, &ReadOptions::default()).map_err(|e| format!("{}: {e}", e.class()));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    let file = read(&path, &ReadOptions::default());
    assert_eq!(file.is_ok(), scan.is_ok());
    if let (Ok(file), Ok(stream)) = (&file, &scan) {
        assert_eq!(format!("{:?}", file.xyz()), format!("{:?}", stream.xyz()));
    }
    scan
}

fn names(scan: &Scan) -> String {
    scan.fields.iter().map(|field| &*field.name).collect::<Vec<_>>().join(" ")
}

#[test]
fn lines_of_every_kind_are_read() {
    let wanted = [1.0, 2.0, 3.0, 0.5, -4.0, 5.0, 6.0, 1.0];
    for (name, text, columns) in [
        ("a.xyz", "1 2 3 .5\n-4 5 6 1\n", "x y z c3"),
        ("a.txt", "\u{feff}1\t2\t3\t0.5\r\n\r\n-4\t5\t6\t1", "x y z c3"),
        ("a.csv", "1,2,3,0.5\n-4, 5, 6, 1\n", "x y z c3"),
        ("a.csv", "X,Y,Z,\"Intensity\"\n1,2,3,0.5\n-4,5,6,1\n", "x y z Intensity"),
        ("a.asc", "//X Y Z ring\n1 2 3 0.5\n# middle\n-4 5 6 1\n", "x y z ring"),
        ("a.asc", "# made by\n# someone else\n1;2;3;0.5;\n-4;5;6;1;\n", "x y z c3"),
        ("a.pts", "2\n1 2 3 0.5\n-4 5 6 1e0\n", "x y z c3"),
        ("a.csv", "ring;y;z;x\n0.5;2;3;1\n1;5;6;-4\n", "x y z ring"),
    ] {
        let scan = parse(name, text).unwrap();
        assert_eq!((scan.cloud.data(), &*names(&scan)), (&wanted[..], columns), "{text}");
    }
    let scan = parse("a.xyz", "691764.1 5335880.1 nan\n").unwrap();
    assert_eq!(scan.xyz_f64.as_ref().unwrap()[..2], [691_764.1, 5_335_880.1]);
    // The values of a column of times are kept in full.
    let scan = parse("a.csv", "x,y,z,time\n1,2,3,1700000000.01\n1,2,3,1700000000.06\n").unwrap();
    assert!((scan.times().unwrap().seconds[1] - 0.05).abs() < 1e-6);
    assert_eq!(parse("a.csv", "x,y,z,label\n").unwrap().cloud.columns(), 4);
    assert_eq!(parse("a.pts", "0\n").unwrap().cloud.len(), 0);
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let one = "numbers with a decimal point, between them blanks, commas or semicolons and only one of these";
    for (text, told) in [
        ("1 2 3\n4 abc 6\n", "BadValue: a.xyz: line 2: `y`: expected a number of type f64, got `abc`".to_owned()),
        ("x y z\n1 2 3\n4 5\n", "BadValue: a.xyz: line 3: expected 3 values, as the first line has, got 2".into()),
        ("1 2 3\n\n4 5 6 7\n", "BadValue: a.xyz: line 3: expected 3 values, as the first line has, got 4".into()),
        ("1,5;2,5;3,5\n", format!("BadValue: a.xyz: line 1: expected {one}, got `1,5`")),
        ("1,5 2,5 3,5\n", format!("BadValue: a.xyz: line 1: expected {one}, got `1,5`")),
        ("1 2 3\n1,5 2,5 3,5\n", format!("BadValue: a.xyz: line 2: expected {one}, got `1,5`")),
        ("1,2,3\n1,x,3\n", "BadValue: a.xyz: line 2: `y`: expected a number of type f64, got `x`".into()),
        ("1 2 3\n4 5 6\0\n", r"BadValue: a.xyz: line 2: `z`: expected a number of type f64, got `6\u{0}`".into()),
        ("1 2\n3 4\n", "MissingField: a.xyz: line 1: expected x, y and z, which are 3 values or more, got 2".into()),
        ("x y w\n1 2 3\n", "MissingField: a.xyz: field `z`: expected x, y and z, got x, y, w".into()),
        ("x y z\nx y z\n", "BadValue: a.xyz: line 2: `x`: expected a number of type f64, got `x`".into()),
        ("3\n1 2 3\n", "SizeMismatch: a.xyz: data: expected 3 points, as line 1 says, got 1 points".into()),
        ("3\n", "SizeMismatch: a.xyz: data: expected 3 points, as line 1 says, got none".into()),
        (
            "hello\n",
            "BadValue: a.xyz: line 1: expected x, y and z, their names, or the number of points, got `hello`".into(),
        ),
        ("x y z i\n1 2 3\n", "BadValue: a.xyz: line 2: expected 4 values, as there are names, got 3".into()),
        ("x y z z\n1 2 3 4\n", "BadHeader: a.xyz: names: expected names that differ, got `z` twice".into()),
        ("# nothing\n\n", "Truncated: a.xyz: data: expected a line of numbers, got none".into()),
        ("", "Truncated: a.xyz: data: expected a line of numbers, got none".into()),
    ] {
        assert_eq!(parse("a.xyz", text).unwrap_err(), told);
    }
}

/// Gives the same byte again and again.
struct Endless(u64);

impl std::io::Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.0.min(buffer.len() as u64);
        self.0 -= count;
        buffer[..count as usize].fill(b'7');
        Ok(count as usize)
    }
}

#[test]
fn a_line_of_a_gigabyte_takes_no_memory() {
    let used = allocation_counter::measure(|| {
        let e = read_from(Endless(1 << 30), "a.txt", &ReadOptions::default()).unwrap_err();
        assert_eq!(e.to_string(), "a.txt: line 1: expected at most 262143 bytes, got more");
    });
    assert!(used.bytes_max < 1 << 20, "{} bytes", used.bytes_max);
    let used = allocation_counter::measure(|| {
        let lines = std::io::Read::chain(&b"1 2 3\n"[..], Endless(1 << 30));
        let e = read_from(lines, "a.txt", &ReadOptions::default()).unwrap_err();
        assert_eq!(e.to_string(), "a.txt: line 2: expected at most 262143 bytes, got more");
    });
    assert!(used.bytes_max < 1 << 20, "{} bytes", used.bytes_max);
    let limits = Limits { max_points: Some(1), ..Limits::default() };
    let options = ReadOptions { limits, ..ReadOptions::default() };
    assert_eq!(read_from(&b"1 2 3\n1 2 3\n"[..], "a.txt", &options).unwrap_err().class(), "LimitExceeded");
}

#[test]
fn what_is_written_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let rows = [0.1, -2.5, 1e-45, 255.0, 3.4e38, f32::INFINITY, -0.0, 0.3];
    let exact = [691_764.1, -2.5, 0.25, 3.4e38, 7.0, 5_335_880.1];
    let cloud = NamedPoints::new(Points::new(&rows, 4).unwrap(), &["x", "y", "z", "intensity"]);
    for (name, columns) in [("a.csv", "x y z intensity"), ("a.xyz", "x y z c3")] {
        let path = folder.path().join(name);
        write(&path, cloud.clone(), &WriteOptions::default()).unwrap();
        let scan = read(&path, &ReadOptions::default()).unwrap();
        let bits = |values: &[f32]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!((bits(scan.cloud.data()), &*names(&scan)), (bits(&rows), columns));
        write(&path, NamedPoints { xyz_f64: Some(&exact), ..cloud.clone() }, &WriteOptions::default()).unwrap();
        assert_eq!(read(&path, &ReadOptions::default()).unwrap().xyz_f64.unwrap(), exact);
    }
    // Names that a line of names cannot hold are written as the nearest that it can.
    for (odd, name) in
        [("a,b", "a_b"), ("7", "_7"), ("nan", "_nan"), ("\"q\"", "_q_"), ("", "column3"), ("gps time", "gps time")]
    {
        let cloud = NamedPoints::new(Points::new(&rows, 4).unwrap(), &["x", "y", "z", odd]);
        let path = folder.path().join("a");
        write(&path, cloud, &WriteOptions { format: Some(Format::Csv) }).unwrap();
        let scan = read(&path, &ReadOptions { format: Some(Format::Csv), ..ReadOptions::default() }).unwrap();
        assert_eq!(names(&scan), format!("x y z {name}"));
    }
}

#[test]
fn lines_of_names_are_separated_by_what_they_have() {
    for (head, wanted) in [
        ("x,y,z,point id\n", "x y z point id"),
        ("x;y;z;point id\n", "x y z point id"),
        ("x\ty\tz\tpoint id\n", "x y z point id"),
        ("# x,y,z,point id\n", "x y z point id"),
        ("x, y, z, i\n", "x y z i"),
        ("x y z a,b\n", "x y z a,b"),
    ] {
        let rows = if head.contains('\t') {
            "1\t2\t3\t4\n"
        } else if head.contains(';') {
            "1;2;3;4\n"
        } else {
            "1 2 3 4\n"
        };
        let rows = if head.contains(",z") { "1,2,3,4\n" } else { rows };
        let rows = if head.starts_with("x, ") { "1,2,3,4\n" } else { rows };
        let scan = read_from(format!("{head}{rows}").as_bytes(), "a.txt", &ReadOptions::default()).unwrap();
        assert_eq!((&*names(&scan), scan.cloud.data()), (wanted, &[1.0, 2.0, 3.0, 4.0][..]), "{head}");
    }
}

#[test]
fn lone_carriage_returns_end_lines_where_all_lines_end_so() {
    let parse = |text: &str| read_from(text.as_bytes(), "a.txt", &ReadOptions::default());
    let told = |text: &str| parse(text).unwrap_err().to_string();
    assert_eq!(parse("1 2 3\r4 5 6\r7 8 9\r").unwrap().cloud.data(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]);
    assert_eq!(parse("# x y z\r1 2 3\r4 5 6").unwrap().cloud.len(), 2);
    assert_eq!(parse(&"1 2 3\r".repeat(100_000)).unwrap().cloud.len(), 100_000);
    let way_out = "expected lines that end alike, in \\n, \\r\\n or \\r, got some that end in \\r alone; convert these with tr '\\r' '\\n'";
    assert_eq!(told("1 2 3\n4 5 6\r7 8 9\n"), format!("a.txt: line 2: {way_out}"));
    let late = format!("{}1 2 3\r4 5 6\n", "1 2 3\n".repeat(100_000));
    assert_eq!(told(&late), format!("a.txt: line 100001: {way_out}"));
    assert_eq!(told("1 2 3\r4 5 6\n7 8 9\r"), "a.txt: line 2: expected 3 values, as the first line has, got 6");
    assert_eq!(parse("1 2 3\r\n4 5 6\r\r\n").unwrap().cloud.len(), 2);
}
