//! Poses as text files: what is written comes back bit for bit, and what is wrong is named with its
//! line.
mod common;

use pointmill_core::Pose;
use pointmill_io::{Limits, PoseFormat, PoseOptions, PoseWarning, Poses, read_poses, write_poses, write_stamped_poses};
use proptest::prelude::*;
use std::path::{Path, PathBuf};

fn scratch() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("poses.txt");
    (folder, path)
}

/// Reads a text; the message without the file's name for an error.
fn read(path: &Path, text: &[u8], format: Option<PoseFormat>) -> Result<Poses, String> {
    std::fs::write(path, text).unwrap();
    read_poses(path, &PoseOptions { format, ..PoseOptions::default() })
        .map_err(|e| format!("{} {e}", e.class()).replacen(&format!("{}: ", path.display()), "", 1))
}

fn pose(xyzrpy: [f64; 6]) -> Pose {
    Pose::from_xyzrpy(xyzrpy).unwrap()
}

#[test]
fn every_format_is_found_by_its_numbers() {
    let (_folder, path) = scratch();
    let moved = Pose::from_translation([7.0, 8.0, -9.5]);
    let six = pose([1.0, -2.5, 3e2, 0.1, 0.0, -0.2]);
    let matrix = "1 0 0 7 0 1 0 8 0 0 1 -9.5 0 0 0 1\n";
    for (text, poses) in [
        ("1 0 0 7 0 1 0 8 0 0 1 -9.5\n", vec![moved]),
        (matrix, vec![moved]),
        (&format!("{matrix}\n# the same\n{matrix}"), vec![moved, moved]),
        ("# rows\n1 0 0 7\n0 1 0 8\r\n\n0 0 1 -9.5\n0 0 0 1", vec![moved]),
        ("1 -2.5 3e2\r\n\n0.1, 0,-.2\n", vec![six]),
        ("1 -2.5 3e2 0.1 0 -.2\n7,8,-9.5,0,0,0", vec![six, moved]),
        ("", vec![]),
        ("  \n\t# nothing\n", vec![]),
    ] {
        assert_eq!(read(&path, text.as_bytes(), None), Ok(poses.into()), "{text}");
    }
    let tum =
        read(&path, b"# time x y z qx qy qz qw\n-1.5 7 8 -9.5 0 0 0 1\n1403636579.7635555 0 0 0 0 0 0 -1\n", None)
            .unwrap();
    assert_eq!(
        tum,
        Poses {
            poses: vec![moved, Pose::IDENTITY],
            times: Some(vec![-1.5, 1_403_636_579.763_555_5]),
            ..Poses::default()
        }
    );
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let (_folder, path) = scratch();
    let kitti = "1 0 0 7 0 1 0 8 0 0 1 9\n";
    let any =
        "12 numbers (kitti) or 8 numbers (tum) or 16 numbers (matrix) or 6 numbers (xyzrpy) or 17 numbers (euroc)";
    for (text, format, wanted) in [
        ("1 2 3 4 5\n", None, format!("ShapeMismatch line 1: expected {any}, got 5")),
        (&"1 ".repeat(18), None, format!("ShapeMismatch line 1: expected {any}, got more")),
        (&format!("{kitti}\n1 2 3\n"), None, "ShapeMismatch line 3: expected 12 numbers (kitti), got 3".into()),
        (
            &format!("{kitti}1 0 0 7 0 1 0 8 0 0 1 9 0\n"),
            None,
            "ShapeMismatch line 2: expected 12 numbers (kitti), got 13".into(),
        ),
        (kitti, Some(PoseFormat::Tum), "ShapeMismatch line 1: expected 8 numbers (tum), got 12".into()),
        ("1 0 0 7\n0 1 0 8\n0 0 1 9\n", None, "ShapeMismatch line 3: expected 16 numbers (matrix), got 12".into()),
        ("# t\n0 0 0 x\x1b 0 0 0 1", None, r"BadValue line 2: expected a number, got `x\u{1b}`".into()),
        (
            &kitti.replace('7', "nan"),
            None,
            "BadValue line 1: expected a rigid transform, got NaN in row 0, column 3".into(),
        ),
        (
            &kitti.replace('7', "1e999"),
            None,
            "BadValue line 1: expected a rigid transform, got inf in row 0, column 3".into(),
        ),
        (
            &format!("{kitti}2{}", &kitti[1..]),
            None,
            "BadValue line 2: expected a rigid transform, got an entry that is".into(),
        ),
        (&format!("-{kitti}"), None, "BadValue line 1: expected a rigid transform, got a mirroring".into()),
        ("0 0 0 0 0 0 0 2", None, "BadValue line 1: expected a rigid transform, got a quaternion of length 2".into()),
        ("0 0 0 0 1e9 0", None, "BadValue line 1: expected a rigid transform, got an angle of 1000000000 rad".into()),
        ("inf 0 0 0 0 0 0 1", None, "BadValue line 1: expected a finite time, got inf".into()),
        (
            "1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 2",
            None,
            "BadValue line 1: expected a rigid transform, got a last row of".into(),
        ),
    ] {
        let told = read(&path, text.as_bytes(), format).unwrap_err();
        assert!(told.starts_with(&wanted), "{told}\n{wanted}");
    }
    assert!(read(&path, b"\xff 2 3", None).unwrap_err().starts_with("BadValue line 1"));
    assert!(read(&path, &vec![b'1'; 300_000], None).unwrap_err().starts_with("LimitExceeded line 1"));
    std::fs::write(&path, kitti.repeat(3)).unwrap();
    for (limits, wanted) in [
        (Limits { max_points: Some(2), ..Limits::default() }, "line 3: expected at most 2 poses"),
        (Limits { max_memory: Some(100), ..Limits::default() }, "memory: expected at most 100 bytes"),
    ] {
        let e = read_poses(&path, &PoseOptions { limits, ..PoseOptions::default() }).unwrap_err();
        assert!(e.class() == "LimitExceeded" && e.to_string().contains(wanted), "{e}");
    }
    assert_eq!(read_poses(path.with_extension("no"), &PoseOptions::default()).unwrap_err().class(), "Io");
}

const EUROC: &str = "#timestamp, p_RS_R_x [m], p_RS_R_y [m], p_RS_R_z [m], q_RS_w [], q_RS_x [], q_RS_y [], q_RS_z []";

/// Ground truth of EuRoC counts nanoseconds and has w first; without its header its times give it
/// away.
#[test]
fn euroc_is_read_by_its_header_and_never_taken_for_tum() {
    let (_folder, path) = scratch();
    let eight = "1403636580838555648,4.688319,-1.786938,0.783338,0.534108,-0.153029,-0.827383,-0.082152";
    let rest = ",-0.027876,0.033207,0.800006,-0.003172,0.021267,0.078502,-0.025266,0.136696,0.075593";
    let turn = Pose::from_quaternion([4.688319, -1.786938, 0.783338], [-0.153029, -0.827383, -0.082152, 0.534108]);
    let wanted = Poses { poses: vec![turn.unwrap()], times: Some(vec![1_403_636_580.838_555_6]), ..Poses::default() };
    let state = ", v_RS_R_x [m s^-1], v_RS_R_y [m s^-1], v_RS_R_z [m s^-1], b_w_RS_S_x [rad s^-1], b_w_RS_S_y [rad s^-1], \
        b_w_RS_S_z [rad s^-1], b_a_RS_S_x [m s^-2], b_a_RS_S_y [m s^-2], b_a_RS_S_z [m s^-2]";
    let euroc = Some(PoseFormat::Euroc);
    for (text, format) in [
        (format!("{EUROC}\n{eight}\n"), None),
        (format!("{EUROC}{state}\r\n{eight}{rest}\r\n"), None),
        (format!("# by hand\n{EUROC}\n{eight}\n"), euroc),
        (format!("{eight}{rest}\n"), None),
        (format!("{eight}\n"), euroc),
        // What the header says decides before the format.
        (format!("{EUROC}\n{eight}\n"), Some(PoseFormat::Tum)),
        (
            "#time [s],q_x,q_y,q_z,q_w,p_x,p_y,p_z\n\
            1403636580.838555648 -0.153029 -0.827383 -0.082152 0.534108 4.688319 -1.786938 0.783338"
                .to_owned(),
            None,
        ),
    ] {
        assert_eq!(read(&path, text.as_bytes(), format), Ok(wanted.clone()), "{text}");
    }
    let tum = "line 1: expected a time of at most 1e11 seconds; for nanoseconds name the columns in a header line such \
        as #timestamp [ns],x,y,z,qx,qy,qz,qw, or pass the format tum (qx first) or euroc (qw first), got \
        1403636580838555600";
    for (text, format, told) in [
        (eight.to_owned(), None, format!("BadValue {tum}")),
        (
            format!("{EUROC}\n{eight},1"),
            None,
            "ShapeMismatch line 2: expected 8 numbers, as the header names, got 9".into(),
        ),
        (format!("{eight}{rest}\n{eight}"), None, "ShapeMismatch line 2: expected 17 numbers (euroc), got 8".into()),
        (
            format!("{}\n1403636580.83,0,0,0,1,0,0,0", EUROC.replace("timestamp", "timestamp [ns]")),
            None,
            "BadValue line 2: expected whole nanoseconds, or [s] behind the time in the header, got 1403636580.83"
                .into(),
        ),
    ] {
        assert_eq!(read(&path, text.as_bytes(), format), Err(told), "{text}");
    }
    let e = write_poses(&path, &wanted, PoseFormat::Euroc).unwrap_err().to_string();
    assert!(e.ends_with("format: expected kitti, tum, matrix, xyzrpy, got euroc"), "{e}");
}

/// An `f64` of seconds since 1970 loses nanoseconds, a text does not.
#[test]
fn stamps_are_written_to_the_nanosecond() {
    let (_folder, path) = scratch();
    let stamps = [-1_500_000_001, 0, 315_966_265_259_836_000, 1_700_000_000_000_000_001, 1_700_000_000_100_000_003];
    write_stamped_poses(&path, &[Pose::IDENTITY; 5], &stamps).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let times: Vec<_> = text.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(times, ["-1.500000001", "0", "315966265.259836", "1700000000.000000001", "1700000000.100000003"]);
    assert_eq!(text.lines().next().unwrap(), "-1.500000001 0 0 0 0 0 0 1");
    let read = read_poses(&path, &PoseOptions::default()).unwrap();
    assert_eq!(read.times.unwrap()[2..4], [315_966_265.259_836, 1_700_000_000.0]);
    for (stamps, told) in [
        (&[1, 1][..], "times: expected finite times that ascend, got 0.000000001 as time 1"),
        (&[1_700_000_000_000_000_001, 1_700_000_000_000_000_002], "got 1700000000 as time 1"),
        (&[1], "times: expected 2, one for each pose, got 1"),
    ] {
        let e = write_stamped_poses(&path, &[Pose::IDENTITY; 2], stamps).unwrap_err().to_string();
        assert!(e.ends_with(told), "{e}");
    }
}

#[test]
fn what_would_not_be_read_is_not_written() {
    let (folder, path) = scratch();
    let poses = vec![Pose::IDENTITY; 2];
    for (times, told) in [
        (None, "times: expected 2, one for each pose, got 0"),
        (Some(vec![0.0]), "times: expected 2, one for each pose, got 1"),
        (Some(vec![1.0, 1.0]), "times: expected finite times that ascend, got 1 as time 1"),
        (Some(vec![f64::NAN, 1.0]), "times: expected finite times that ascend, got NaN as time 0"),
    ] {
        let e = write_poses(&path, &Poses { poses: poses.clone(), times, ..Poses::default() }, PoseFormat::Tum)
            .unwrap_err();
        assert_eq!(e.class(), "InvalidArgument");
        assert!(e.to_string().ends_with(told), "{e}");
    }
    let bent = Pose::from(pointmill_core::rigid::Rigid {
        translation: [f64::NAN; 3],
        ..pointmill_core::rigid::Rigid::IDENTITY
    });
    let e = write_poses(&path, &vec![Pose::IDENTITY, bent].into(), PoseFormat::Kitti).unwrap_err();
    assert!(e.to_string().ends_with("poses: expected rigid transforms, got another as pose 1"), "{e}");
    assert!(common::names(folder.path()).is_empty());
}

/// A pose at a time, as text of a dialect, is that pose, whatever names its columns.
#[test]
fn names_decide_which_column_is_what() {
    let (_folder, path) = scratch();
    let [x, y, z, qx, qy, qz, qw] =
        ["4.688319", "-1.786938", "0.783338", "-0.153029", "-0.827383", "-0.082152", "0.534108"];
    let value = |word: &str| word.parse::<f64>().unwrap();
    let pose = Pose::from_quaternion([x, y, z].map(value), [qx, qy, qz, qw].map(value)).unwrap();
    let wanted = |times: Option<f64>, warnings: &[PoseWarning]| Poses {
        poses: vec![pose],
        times: times.map(|time| vec![time]),
        warnings: warnings.into(),
        positions_only: false,
    };
    let (seconds, nanoseconds) = ("1403636580.5", "1403636580500000000");
    let time = Some(1_403_636_580.5);
    let digits = &[PoseWarning::Nanoseconds][..];
    let first_w = [x, y, z, qw, qx, qy, qz].join(",");
    let last_w = [x, y, z, qx, qy, qz, qw].join(",");
    for (header, line, wanted) in [
        // Kimera-VIO, in seconds and in nanoseconds.
        ("#timestamp,x,y,z,qw,qx,qy,qz", format!("{seconds},{first_w}"), wanted(time, &[])),
        ("#timestamp,x,y,z,qw,qx,qy,qz", format!("{nanoseconds},{first_w}"), wanted(time, digits)),
        ("# timestamp tx ty tz qw qx qy qz", format!("{seconds} {}", first_w.replace(',', " ")), wanted(time, &[])),
        ("timestamp,tx,ty,tz,qw,qx,qy,qz", format!("{seconds},{first_w}"), wanted(time, &[])),
        ("num t x y z qx qy qz qw", format!("7 {seconds} {}", last_w.replace(',', " ")), wanted(time, &[])),
        (
            "\"time_ns\";\"pos.x\";\"pos.y\";\"pos.z\";\"q.w\";\"q.x\";\"q.y\";\"q.z\"",
            format!("{nanoseconds};{}", first_w.replace(',', ";")),
            wanted(time, &[]),
        ),
        ("#sec,nsec,x,y,z,qx,qy,qz,qw", format!("1403636580,500000000,{last_w}"), wanted(time, &[])),
        (
            "header.stamp.secs\theader.stamp.nsecs\tpx\tpy\tpz\trx\try\trz\trw",
            format!("1403636580\t500000000\t{}", last_w.replace(',', "\t")),
            wanted(time, &[]),
        ),
        (
            "%time,field.header.seq,field.header.stamp,field.header.frame_id,field.pose.pose.position.x,\
            field.pose.pose.position.y,field.pose.pose.position.z,field.pose.pose.orientation.x,\
            field.pose.pose.orientation.y,field.pose.pose.orientation.z,field.pose.pose.orientation.w,\
            field.pose.covariance0,field.twist.twist.linear.x",
            format!("9,1,{nanoseconds},4,{last_w},0,1"),
            wanted(time, digits),
        ),
        (
            "qw,qx,qy,qz,x [m],y [m],z [m],stamp [ms],frame",
            format!("{qw},{qx},{qy},{qz},{x},{y},{z},1403636580500,odom"),
            wanted(time, &[]),
        ),
        ("x,y,z,qw,qx,qy,qz", first_w.clone(), wanted(None, &[PoseWarning::NoTimes])),
        ("x,y,z,qw,qx,qy,qz,label", format!("{first_w},"), wanted(None, &[PoseWarning::NoTimes])),
        // Comments that only mean the usual order.
        (
            "# ground truth\n# format: timestamp tx ty tz qx qy qz qw (Hamilton)",
            format!("{seconds} {}", last_w.replace(',', " ")),
            wanted(time, &[]),
        ),
        ("# time x y z q1 q2 q3 q4", format!("{seconds},{last_w}"), wanted(time, &[])),
        (EUROC, format!("{seconds},{first_w}"), wanted(time, &[PoseWarning::Seconds])),
    ] {
        let text = format!("{header}\n{line}\n");
        assert_eq!(read(&path, text.as_bytes(), None), Ok(wanted.clone()), "{text}");
        if wanted.warnings != [PoseWarning::NoTimes] {
            assert!(
                pointmill_io::find_poses(&path, &Limits::default()).is_some() || !wanted.warnings.is_empty(),
                "{text}"
            );
        }
        // However it was saved.
        let units = text.encode_utf16().chain([10]).flat_map(u16::to_le_bytes);
        for saved in [
            text.replace('\n', "\r\n").into_bytes(),
            text.replace('\n', "\r").into_bytes(),
            [b"\xef\xbb\xbf", text.as_bytes()].concat(),
            [0xff, 0xfe].into_iter().chain(units.clone()).collect(),
        ] {
            assert_eq!(read(&path, &saved, None), Ok(wanted.clone()), "{text}");
        }
    }
    for (header, line, told) in [
        (
            "timestamp,x,y,z,roll,pitch,yaw",
            "1,0,0,0,0,0,0",
            "BadValue line 1: expected names with columns of a quaternion, such as qx, qy, qz and qw",
        ),
        ("timestamp,x,y,z,qx,qy,qz", "1,0,0,0,0,0,0", "BadValue line 1: expected names with columns of a quaternion"),
        (
            "timestamp,x,y,z,tx,ty,tz,qx,qy,qz,qw",
            "1,0,0,0,0,0,0,0,0,0,1",
            "BadValue line 1: expected names with one column each of x",
        ),
        ("time,t,x,y,z,qx,qy,qz,qw", "1,1,0,0,0,0,0,0,1", "line 2"),
        (
            "a,b,c",
            "1,2,3",
            "BadValue line 1: expected numbers, or names that tell a time, x, y, z and qx, qy, qz, qw, got `a,b,c`",
        ),
        (
            "#timestamp,qx,qy,qz,qw,x,y,z",
            "1,0,0,0,1,0,0",
            "ShapeMismatch line 2: expected 8 numbers, as the header names, got 7",
        ),
        (
            "timestamp,x,y,z,qx,qy,qz,qw",
            "1,0,0,0,0,0,0",
            "ShapeMismatch line 2: expected 8 values, as the header names, got 7",
        ),
        ("timestamp,x,y,z,qx,qy,qz,qw", "1,0,0,,0,0,0,1", "BadValue line 2: expected a number, got nothing"),
        ("timestamp [mm],x [mm],y,z,qx,qy,qz,qw", "1,0,0,0,0,0,0,1", "BadValue line 1"),
        (
            "sec,nsec,x,y,z,qx,qy,qz,qw",
            "1,5000000000,0,0,0,0,0,0,1",
            "BadValue line 2: expected nanoseconds from 0 to 999999999",
        ),
        (
            "timestamp,x,y,z,qx,qy,qz,qw",
            "1403636580500000,0,0,0,0,0,0,1",
            "BadValue pose 0: time: expected times of seconds",
        ),
    ] {
        match read(&path, format!("{header}\n{line}\n").as_bytes(), None) {
            Err(e) => assert!(e.starts_with(told), "{header}: {e}"),
            Ok(found) => assert_eq!((told, found.times), ("line 2", Some(vec![1.0])), "{header}"),
        }
    }
}

#[test]
fn what_was_decided_is_said_once_with_a_count() {
    let (_folder, path) = scratch();
    let text = "5 1 0 0 0 0 0 1\n7 2 0 0 0 0 0 1\n7 3 0 0 0 0 0 1\n6 4 0 0 0 0 0 1\n7 5 0 0 0.71 0 0 0.71\n";
    let found = read(&path, text.as_bytes(), None).unwrap();
    let along: Vec<_> = found.poses.iter().map(|pose| pose.translation()[0]).collect();
    assert_eq!((along, found.times), (vec![1.0, 4.0, 2.0], Some(vec![5.0, 6.0, 7.0])));
    let told: Vec<_> = found.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "1 quaternion was scaled to length 1; the farthest has 1.0041",
            "times do not ascend at 1 place; the poses were sorted by time",
            "2 poses have the time of the pose before, first 7 s; the first of each time is kept"
        ]
    );
    // Lines of a pose are told by their number, and are no poses where they are more.
    let with = |text: &str, positions: bool| {
        std::fs::write(&path, text).unwrap();
        read_poses(&path, &PoseOptions { positions, ..PoseOptions::default() }).map_err(|e| e.to_string())
    };
    let times = "0 1 2 3\n1 4 5 6\n2 7 8 9\n3 1 1 1\n";
    for (text, count, has_times) in [
        (times.to_owned(), 4, true),
        (format!("{times}4 0 0 1\n"), 5, true),
        (times.lines().take(2).collect::<Vec<_>>().join("\n"), 2, true),
        ("1 2 3\n4 5 6\n7 8 9\n".into(), 3, false),
        ("time;x;y;z\n0;1;2;3\n".into(), 1, true),
        ("# timestamp x y z\n0 1 2 3\n".into(), 1, true),
    ] {
        let found = with(&text, true).unwrap();
        assert_eq!(
            (found.poses.len(), found.times.is_some(), found.positions_only),
            (count, has_times, true),
            "{text}"
        );
        assert_eq!(found.warnings, [PoseWarning::PositionsOnly]);
        let e = with(&text, false).unwrap_err();
        assert!(e.contains("positions alone; pointmill evaluate compares those"), "{e}");
        assert!(pointmill_io::find_poses(&path, &Limits::default()).is_none());
        assert!(
            write_poses(&path, &found, PoseFormat::Kitti).unwrap_err().to_string().ends_with("got positions alone")
        );
    }
    assert!(!with("1 0 0 7\n0 1 0 8\n0 0 1 -9.5\n0 0 0 1", true).unwrap().positions_only);
    assert!(!with("1 2 3\n0 0 0.1\n", true).unwrap().positions_only);
}

fn any_pose() -> impl Strategy<Value = Pose> {
    let metres = prop_oneof![Just(0.0), Just(-0.0), -1e6..1e6f64, -1e-20..1e-20f64];
    ([metres.clone(), metres.clone(), metres], [-3.2..3.2f64, -3.2..3.2f64, -3.2..3.2f64])
        .prop_map(|([x, y, z], [a, b, c])| pose([x, y, z, a, b, c]))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn matrices_come_back_with_every_bit_and_the_rest_nearly(poses in prop::collection::vec(any_pose(), 0..20), start in -1e9..1e9f64) {
        let (_folder, path) = scratch();
        let times: Vec<_> = (0..poses.len()).map(|i| start + 0.1 * i as f64).collect();
        let written = Poses { poses, times: (!times.is_empty()).then_some(times), ..Poses::default() };
        let bits = |poses: &Poses| {
            let numbers = poses.poses.iter().flat_map(|p| p.matrix()).flatten();
            numbers.map(f64::to_bits).collect::<Vec<_>>()
        };
        for format in PoseFormat::written() {
            write_poses(&path, &written, format).unwrap();
            let first = std::fs::read(&path).unwrap();
            let back = read_poses(&path, &PoseOptions::default()).unwrap();
            match format {
                PoseFormat::Kitti | PoseFormat::Matrix => prop_assert_eq!(bits(&back), bits(&written)),
                PoseFormat::Tum => prop_assert_eq!(&back.times, &written.times),
                _ => {}
            }
            prop_assert_eq!(back.poses.len(), written.poses.len());
            for (a, b) in back.poses.iter().zip(&written.poses) {
                let near = a.matrix().as_flattened().iter().zip(b.matrix().as_flattened()).all(|(a, b)| (a - b).abs() < 1e-12);
                prop_assert!(near && a.translation().map(f64::to_bits) == b.translation().map(f64::to_bits));
            }
            // The same poses are the same bytes.
            write_poses(&path, &written, format).unwrap();
            prop_assert_eq!(std::fs::read(&path).unwrap(), first);
        }
    }

    /// No bytes make the reader panic or take more memory than a multiple of the file.
    #[test]
    fn any_text_is_survived(bytes in prop::collection::vec(prop::sample::select(&b"0123456789.-+e# \n\r,nainf\xff\0"[..]), 0..3000), repeat in 1usize..50) {
        let (_folder, path) = scratch();
        std::fs::write(&path, bytes.repeat(repeat)).unwrap();
        let length = (bytes.len() * repeat) as u64;
        let memory = allocation_counter::measure(|| drop(read_poses(&path, &PoseOptions::default())));
        // The window that lines are read through, and at most 10 times the bytes of the shortest
        // lines.
        prop_assert!(memory.bytes_max <= 300_000 + 40 * length, "{memory:?} for {length} bytes");
    }
}
