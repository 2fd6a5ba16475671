//! What programs write that is not as a format's text says: read where the file tells what it is,
//! with a warning for what was decided.

mod common;

use common::{header, npy, zip};
use pointmill_io::{Format, ReadOptions, Scan, Warning, read, read_from};
use std::path::Path;

fn parse(name: &str, bytes: &[u8]) -> Result<Scan, String> {
    read_from(bytes, name, &ReadOptions::default()).map_err(|e| format!("{}: {e}", e.class()))
}

fn told(scan: &Scan) -> String {
    scan.warnings.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn names(scan: &Scan) -> String {
    scan.fields.iter().map(|field| &*field.name).collect::<Vec<_>>().join(" ")
}

fn floats(values: impl IntoIterator<Item = f32>) -> Vec<u8> {
    values.into_iter().flat_map(f32::to_le_bytes).collect()
}

#[test]
fn content_wins_against_the_name() {
    let array = npy(&header("<f4", false, "(2, 4)"), &floats((0..8).map(|i| i as f32)));
    let archive = zip(&[("points.npy", &array)], false);
    let ply = b"ply\nformat ascii 1.0\nelement vertex 2\nproperty float x\nproperty float y\nproperty float z\nend_header\n0 1 2\n4 5 6\n";
    let pcd = b"VERSION 0.7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nWIDTH 2\nDATA ascii\n0 1 2\n4 5 6\n";
    for (format, bytes) in [
        (Format::Npy, &array[..]),
        (Format::Npz, &archive),
        (Format::Ply, ply),
        (Format::Pcd, pcd),
        (Format::Ply, &[b"\xef\xbb\xbf", &ply[..]].concat()),
        (Format::Pcd, &[b"\xef\xbb\xbf", &pcd[..]].concat()),
    ] {
        for name in ["a.bin", "a.pcd.bin", "a.txt", "a.csv", "a.las", "a.npy", "a"] {
            let scan = parse(name, bytes).unwrap();
            assert_eq!((scan.format, scan.cloud.points().xyz(1)), (format, [4.0, 5.0, 6.0]), "{name}");
            let other = Format::from_name(name).is_some_and(|named| named != format);
            let content = Warning::OtherContent { content: format, read: format };
            assert_eq!(scan.warnings, if other { vec![content] } else { vec![] }, "{name}");
        }
        // What the caller says counts, and is told where it reads bytes of another format.
        let options =
            ReadOptions { format: Some(Format::Bin), columns: Some(3), salvage: true, ..ReadOptions::default() };
        let scan = read_from(bytes, "a.bin", &options).unwrap();
        assert!(
            told(&scan).contains(&format!("are those of {format}, but the file was read as bin")),
            "{}",
            told(&scan)
        );
    }
    let message = parse("a.bin", b"CCB2\0\0\0\0\0\0\0\0").unwrap_err();
    assert!(message.contains("got a file of CloudCompare; save it there as a.ply"), "{message}");
}

#[test]
fn arrays_with_a_point_in_each_column_are_turned() {
    let values = |rows: usize, columns: usize| floats((0..rows * columns).map(|i| i as f32));
    for (rows, columns) in [(3, 64), (4, 300), (5, 2000), (8, 100)] {
        let array = npy(&header("<f4", false, &format!("({rows}, {columns})")), &values(rows, columns));
        let archive = zip(&[("points.npy", &array)], false);
        for (name, bytes) in [("a.npy", &array), ("a.npz", &archive)] {
            let scan = parse(name, bytes).unwrap();
            assert_eq!((scan.cloud.len(), scan.cloud.columns()), (columns, rows), "{name}");
            let row: Vec<f32> = (0..rows).map(|j| (j * columns + 7) as f32).collect();
            assert_eq!(scan.cloud.points().row(7), row);
            assert_eq!(scan.warnings, [Warning::Transposed { rows, columns }]);
        }
        // The same in Fortran order and in f64.
        let doubles: Vec<u8> = (0..columns)
            .flat_map(|i| (0..rows).map(move |j| (j * columns + i) as f64))
            .flat_map(f64::to_le_bytes)
            .collect();
        let array = npy(&header("<f8", true, &format!("({rows}, {columns})")), &doubles);
        assert_eq!(parse("a.npy", &array).unwrap().cloud.points().row(7)[1], (columns + 7) as f32);
    }
    // As it is: many rows, what was asked for, and what may be either with a warning.
    let array = |rows, columns| npy(&header("<f4", false, &format!("({rows}, {columns})")), &values(rows, columns));
    let scan = parse("a.npy", &array(300, 4)).unwrap();
    assert!(scan.cloud.len() == 300 && scan.warnings.is_empty());
    let scan = parse("a.npy", &array(4, 20)).unwrap();
    assert_eq!((scan.cloud.len(), &scan.warnings[..]), (4, &[Warning::FewRows { rows: 4, columns: 20 }][..]));
    for (wanted, points) in [(300, 4), (4, 300)] {
        let options = ReadOptions { columns: Some(wanted), ..ReadOptions::default() };
        assert_eq!(read_from(&array(4, 300)[..], "a.npy", &options).unwrap().cloud.len(), points);
    }
}

#[test]
fn structures_of_numpy_have_named_columns() {
    let structure = |descr: &str, shape: &str, bytes: &[u8]| {
        parse("a.npy", &npy(&format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n"), bytes))
    };
    let row = |i: u16| [&floats([1.0, 2.0, 3.0 + f32::from(i)])[..], b"abcd", &i.to_le_bytes(), &[1], &[0; 5]].concat();
    let descr =
        "[('z', '<f4'), ('y', '<f4'), ('x', '<f4'), ('label', '|S4'), ('ring', '<u2'), ('ok', '|b1'), ('', '|V5')]";
    for shape in ["(2,)", "(2, 1)", "(1, 2)"] {
        let scan = structure(descr, shape, &[row(0), row(7)].concat()).unwrap();
        assert_eq!(names(&scan), "x y z ring ok");
        assert_eq!(scan.cloud.data(), [3.0, 2.0, 1.0, 0.0, 1.0, 10.0, 2.0, 1.0, 7.0, 1.0]);
        assert_eq!(told(&scan), "1 field was left out: `label` (of type |S4)");
    }
    let parts = "[('x', '>f8'), (('title', 'y'), '>f8'), ('z', '>f8', (1,)), ('normal', '>f4', (3,))]";
    let bytes: Vec<u8> = [1.0f64, 2.0, 3.0]
        .into_iter()
        .flat_map(f64::to_be_bytes)
        .chain([0, 0, 0x80, 0x3f].repeat(3).into_iter().rev())
        .collect();
    let scan = structure(parts, "(1,)", &bytes).unwrap();
    assert_eq!(names(&scan), "x y z normal_0 normal_1 normal_2");
    assert_eq!(scan.cloud.data()[..3], [1.0, 2.0, 3.0]);
    for (descr, shape, told) in [
        ("[('x', '<f4'), ('y', '<f4')]", "(1,)", "MissingField: a.npy: field `z`"),
        (
            "[('x', '<f4'), ('y', '>f4'), ('z', '<f4')]",
            "(1,)",
            "UnsupportedFormat: a.npy: descr: expected numbers of one byte order",
        ),
        (
            "[('x', '<f4'), ('y', '<f4'), ('z', '<f4')]",
            "(2, 2)",
            "ShapeMismatch: a.npy: shape: expected [N] of structures",
        ),
        ("[('x', '<f4'), ('y', '<f4'), ('z', '<f4')]", "(5,)", "Truncated: a.npy: data"),
    ] {
        let e = structure(descr, shape, &[0; 48]).unwrap_err();
        assert!(e.starts_with(told), "{e}");
    }
}

#[test]
fn whole_numbers_are_exact_or_told() {
    // Columns of text are f32, but for coordinates and times.
    for (value, count) in [("318066034", 1), ("-16777217", 1), ("16777216", 0), ("16777218", 0), ("318066034.5", 0)] {
        let scan = parse("a.csv", format!("x,y,z,id\n1,2,3,{value}\n1,2,3,7\n").as_bytes()).unwrap();
        let told: Vec<_> = (count > 0).then_some(Warning::WholeRounded { count }).into_iter().collect();
        assert_eq!(scan.warnings, told, "{value}");
    }
    let many = format!("x,y,z,id\n{}", "1,2,3,318066034\n1,2,3,7\n".repeat(50_000));
    assert_eq!(parse("a.csv", many.as_bytes()).unwrap().warnings, [Warning::WholeRounded { count: 50_000 }]);
    // Those of a type of 64 bits are exact, also where f32 and f64 round them to the same.
    let pcd = "FIELDS x y z id\nSIZE 4 4 4 8\nTYPE F F F U\nWIDTH 2\nDATA ascii\n1 2 3 9223372036854775813\n1 2 3 7\n";
    let scan = parse("a.pcd", pcd.as_bytes()).unwrap();
    let whole = scan.wide().next().unwrap().to_whole(pointmill_io::Dtype::U64);
    assert_eq!(format!("{whole:?}"), "Some(U64([9223372036854775813, 7]))");
}

#[test]
fn cells_without_a_value_are_nan() {
    for (text, count) in [
        ("x,y,z,i\n1,2,3,4\n5,6,7,\n", 1),
        ("x,y,z,i\n1,2,3,\n5,6,7,8\n", 1),
        ("x,y,z,i,j\n1,2,3,,5\n5,6,7,NA,\n", 3),
        ("x;y;z;i\n1;2;3;N/A\n1;2;3; null \n", 2),
        ("x\ty\tz\ti\tj\n1\t2\t3\t\t5\n1\t2\t3\t4\t\n", 2),
        ("1 2 3 -nan(ind)\n1 2 3 1.#QNAN\n1 2 3 nan\n", 2),
    ] {
        let scan = parse("a.csv", text.as_bytes()).unwrap();
        assert_eq!(scan.cloud.points().xyz(0), [1.0, 2.0, 3.0]);
        assert_eq!(scan.warnings, [Warning::Missing { count }], "{text}");
        assert!(scan.cloud.data().iter().filter(|v| v.is_nan()).count() as u64 >= count);
    }
    // On all threads too.
    let many = format!("x,y,z,i\n{}", "1.5,2,3,\n1,2,3,NA\n1,2,3,4\n".repeat(50_000));
    assert_eq!(parse("a.csv", many.as_bytes()).unwrap().warnings, [Warning::Missing { count: 100_000 }]);
    let ply = "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\nproperty uchar i\nend_header\n1 2 -nan(ind) NA\n";
    let pcd = "FIELDS x y z i\nSIZE 4 4 4 1\nTYPE F F F U\nWIDTH 1\nDATA ascii\n1 2 -1.#IND nan(ind)\n";
    for (name, text) in [("a.ply", ply), ("a.pcd", pcd)] {
        let scan = parse(name, text.as_bytes()).unwrap();
        assert!(scan.cloud.data()[2..].iter().all(|v| v.is_nan()) && scan.warnings[0] == Warning::Missing { count: 2 });
    }
}

#[test]
fn old_line_ends_and_marks_are_read_and_utf_16_is_named() {
    let texts = [
        (
            "a.ply",
            "ply\nformat ascii 1.0\nelement vertex 2\nproperty float x\nproperty float y\nproperty float z\nend_header\n1 2 3\n4 5 6\n",
        ),
        ("a.pcd", "# .PCD v0.7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nWIDTH 2\nDATA ascii\n1 2 3\n4 5 6\n"),
        ("a.csv", "x,y,z\n1,2,3\n4,5,6\n"),
        ("a.ptx", "2\n1\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n1 2 3 0.5\n4 5 6 0.5\n"),
    ];
    for (name, text) in texts {
        for mark in ["", "\u{feff}"] {
            for end in ["\n", "\r\n", "\r"] {
                let scan = parse(name, format!("{mark}{}", text.replace('\n', end)).as_bytes()).unwrap();
                assert_eq!(
                    (scan.cloud.len(), scan.cloud.points().xyz(1), told(&scan)),
                    (2, [4.0, 5.0, 6.0], String::new())
                );
            }
        }
        for (mark, order) in [(true, true), (true, false), (false, true), (false, false)] {
            let units = mark.then_some(0xfeff).into_iter().chain(text.encode_utf16());
            let bytes: Vec<u8> = units.flat_map(|u| if order { u.to_le_bytes() } else { u.to_be_bytes() }).collect();
            let e = parse(name, &bytes).unwrap_err();
            assert!(e.contains("expected UTF-8, got UTF-16") && e.contains("iconv -f utf-16 -t utf-8"), "{e}");
        }
    }
    let binary = b"ply\rformat binary_little_endian 1.0\relement vertex 1\rproperty float x\rproperty float y\rproperty float z\rend_header\r";
    let bytes = [&binary[..], &floats([f32::from_le_bytes(*b"\n\r\n\r"), 2.0, 3.0])].concat();
    assert_eq!(parse("a.ply", &bytes).unwrap().cloud.points().xyz(0)[1..], [2.0, 3.0]);
}

#[test]
fn columns_that_veloview_names_are_x_y_z() {
    for (names, axes) in [
        ("\"Points:0\",\"Points:1\",\"Points:2\",\"intensity\"", true),
        ("Points_m_XYZ:0,Points_m_XYZ:1,Points_m_XYZ:2,intensity", true),
        ("points_0,points_1,points_2,intensity", true),
        ("X,Y,Z,intensity", false),
    ] {
        let scan = parse("a.csv", format!("{names}\n1,2,3,4\n").as_bytes()).unwrap();
        assert_eq!((&*self::names(&scan), scan.cloud.data()), ("x y z intensity", &[1.0, 2.0, 3.0, 4.0][..]));
        assert_eq!(matches!(scan.warnings[..], [Warning::Axes { .. }]), axes, "{:?}", scan.warnings);
    }
    let both = "Points_m_XYZ:0,Points_m_XYZ:1,Points_m_XYZ:2,X,Y,Z\n7,8,9,1,2,3\n";
    assert_eq!(parse("a.csv", both.as_bytes()).unwrap().cloud.points().xyz(0), [1.0, 2.0, 3.0]);
}

#[test]
fn numbers_of_points_that_disagree_are_decided_by_the_points() {
    let pcd = |points: u64, width: u64, data: &str, body: &[u8]| {
        let head =
            format!("FIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nWIDTH {width}\nHEIGHT 1\nPOINTS {points}\nDATA {data}\n");
        [head.as_bytes(), body].concat()
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pcd");
    let (text, binary) = (&b"1 2 3\n4 5 6\n"[..], floats([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    for (data, body) in [("ascii", text), ("binary", &binary)] {
        for (points, width, told_of) in
            [(2, 3, "WIDTH times HEIGHT is 3"), (9, 2, "POINTS is 9"), (2, u64::MAX, "WIDTH")]
        {
            let bytes = pcd(points, width, data, body);
            std::fs::write(&path, &bytes).unwrap();
            for scan in [parse("a.pcd", &bytes), read(&path, &ReadOptions::default()).map_err(|e| e.to_string())] {
                let scan = scan.unwrap();
                assert_eq!(scan.cloud.len(), 2);
                assert!(told(&scan).starts_with(told_of), "{}", told(&scan));
            }
        }
        let bytes = pcd(7, 9, data, body);
        std::fs::write(&path, &bytes).unwrap();
        assert!(parse("a.pcd", &bytes).is_err() && read(&path, &ReadOptions::default()).is_err());
    }
}

#[test]
fn fields_that_nobody_needs_refuse_no_file() {
    let ply = "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\nproperty quad a\nproperty int64 t\nproperty float t\nend_header\n1 2 3 word 8 9\n";
    let scan = parse("a.ply", ply.as_bytes()).unwrap();
    assert_eq!((&*names(&scan), scan.cloud.data()), ("x y z t t_2", &[1.0, 2.0, 3.0, 8.0, 9.0][..]));
    assert_eq!(
        told(&scan),
        "columns of one name: another `t` is `t_2`; 1 field was left out: `a` (of an unknown type)"
    );
    let pcd = "VERSION 0.9\nFIELDS x y z a t t\nSIZE 4 4 4 2 4 4\nTYPE F F F F F U\nWIDTH 1\nDATA binary\n";
    let bytes = [pcd.as_bytes(), &floats([1.0, 2.0, 3.0]), &[1, 2], &floats([8.0]), &9u32.to_le_bytes()].concat();
    let scan = parse("a.pcd", &bytes).unwrap();
    assert_eq!((&*names(&scan), scan.cloud.data()), ("x y z t t_2", &[1.0, 2.0, 3.0, 8.0, 9.0][..]));
    let scan = parse("a.csv", b"x,y,z,t,t\n1,2,3,8,9\n").unwrap();
    assert_eq!(names(&scan), "x y z t t_2");
}

#[test]
fn given_cases_are_read_or_named() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/bugs");
    if !folder.is_dir() {
        return eprintln!("skipped: no shared test data");
    }
    let found = |name: &str| match read(folder.join(name), &ReadOptions::default()) {
        Ok(scan) => format!("{} of {}", scan.cloud.len(), scan.format),
        Err(e) => e.to_string(),
    };
    for (name, wanted) in [
        ("bin_is_another_format/scan.bin", "of npy"),
        ("bin_is_another_format/cloudcompare.bin", "a file of CloudCompare"),
        ("npy_transposed/lidar_top.npy", "300 of npy"),
        ("csv_empty_cell/export.csv", "of csv"),
        ("csv_empty_cell/export_na.csv", "of csv"),
        ("csv_empty_cell/last_cell.csv", "of csv"),
        ("ply_cr_line_ends/mac.ply", "3 of ply"),
        ("text_utf16_message/scan.csv", "UTF-16"),
        ("ptx_leica/scan.ptx", "4 of ptx"),
        ("ptx_leica/scan_as_text.txt", "4 of ptx"),
        (
            "bag_without_clouds_message/custommsg.mcap",
            "expected one message of sensor_msgs/PointCloud2 or Livox's CustomMsg",
        ),
    ] {
        assert!(found(name).contains(wanted), "{name}: {}", found(name));
    }
}
