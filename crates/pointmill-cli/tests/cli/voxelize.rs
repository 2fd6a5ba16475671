//! `voxelize`: arrays, tables, lines, pictures.

use crate::{cloud, command, finished, names, run, write_cloud};
use pointmill::AnyArray;
use pointmill::voxelize::{MeanType, RowOrder, VoxelizeParams, voxelize};
use pointmill::{Aabb, Device, PointCloud};
use std::fs::File;

#[test]
fn without_input_the_built_in_drive_is_voxelized() {
    let folder = tempfile::tempdir().unwrap();
    let told = run(folder.path(), "voxelize --no-voxels").expect(0);
    let lines: Vec<_> = told.out.lines().collect();
    assert_eq!(lines.len(), 13, "{}", told.out);
    assert!(lines[0].starts_with("input "), "{}", told.out);
    assert!(lines[10].starts_with("sweep_009 "), "{}", told.out);
    assert!(lines[11].starts_with("10 inputs, ") && lines[11].contains(" on cpu ("), "{}", told.out);
    assert!(lines[12].starts_with("dropped: 3") && lines[12].ends_with(" over --max-points 10"), "{}", told.out);
    assert!(told.err.is_empty(), "{}", told.err);
    assert!(names(folder.path()).is_empty());
}

#[test]
fn the_arrays_are_those_of_the_library() {
    let folder = tempfile::tempdir().unwrap();
    write_cloud(folder.path(), "a.bin", 500);
    let args = "voxelize a.bin --voxel-size 0.4,0.4,1 --range -20,-20,-2,20,20,2 --max-voxels 40 --max-points 3 \
                --order sorted --out a.npz";
    run(folder.path(), args).expect(0);
    let params = VoxelizeParams {
        max_voxels: 40,
        max_points_per_voxel: Some(3),
        order: RowOrder::Sorted,
        ..VoxelizeParams::new([0.4, 0.4, 1.0], Aabb::new([-20.0, -20.0, -2.0], [20.0, 20.0, 2.0]))
    };
    let want = voxelize(&cloud(500), &params, &Device::cpu()).unwrap().read().unwrap();
    let got = pointmill_io::read_npz(folder.path().join("a.npz")).unwrap();
    assert_eq!(got.keys().collect::<Vec<_>>(), ["coords", "mean", "num_points", "point_to_voxel", "report", "voxels"]);
    let v = want.num_voxels;
    assert_eq!(v, 40);
    for (name, shape) in [("coords", &[v, 3][..]), ("num_points", &[v]), ("voxels", &[v, 3, 4]), ("mean", &[v, 4])] {
        assert_eq!(got[name].shape(), shape, "{name}");
    }
    assert_eq!(got["coords"].as_i32().unwrap(), want.coords);
    assert_eq!(got["num_points"].as_i32().unwrap(), want.num_points);
    assert_eq!(got["voxels"].as_f32().unwrap(), want.voxels.unwrap());
    assert_eq!(Some(AnyArray::F32(got["mean"].as_f32().unwrap().to_vec())), want.mean);
    assert_eq!(got["point_to_voxel"].as_i32().unwrap(), want.point_to_voxel.unwrap());
    let report: serde_json::Value = serde_json::from_slice(got["report"].as_u8().unwrap()).unwrap();
    assert_eq!(report.as_object().unwrap().len(), 9);
    assert_eq!(report["points"], 500);
    assert_eq!(report["voxels"], 40);
    assert_eq!(report["voxels_dropped"], want.report.voxels_dropped);
    assert_eq!(report["non_finite"], 1);
}

#[test]
fn means_of_f16_and_no_voxels() {
    let folder = tempfile::tempdir().unwrap();
    write_cloud(folder.path(), "a.bin", 50);
    run(folder.path(), "voxelize a.bin --mean f16 --no-voxels --out a.npz").expect(0);
    let got = pointmill_io::read_npz(folder.path().join("a.npz")).unwrap();
    assert!(!got.contains_key("voxels"));
    let mut params = VoxelizeParams::default();
    params.outputs.mean = Some(MeanType::F16);
    let want = voxelize(&cloud(50), &params, &Device::cpu()).unwrap().read().unwrap();
    let Some(AnyArray::F16(mean)) = want.mean else { panic!("f16 means") };
    let mean: Vec<u16> = mean.iter().map(|v| v.to_bits()).collect();
    assert_eq!(got["mean"].as_f16_bits().unwrap(), mean);
}

#[test]
fn dynamic_keeps_every_point() {
    let folder = tempfile::tempdir().unwrap();
    let crowd = PointCloud::new([1.0, 1.0, 1.0, 0.5].repeat(200), 4).unwrap();
    pointmill_io::write_bin(folder.path().join("a.bin"), crowd.points()).unwrap();
    run(folder.path(), "voxelize a.bin --dynamic --out a.npz").expect(0);
    let got = pointmill_io::read_npz(folder.path().join("a.npz")).unwrap();
    assert!(!got.contains_key("voxels"));
    assert_eq!(got["num_points"].as_i32().unwrap(), [200]);
}

#[test]
fn several_inputs_become_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("in")).unwrap();
    for (name, n) in [("in/10.bin", 20), ("in/2.bin", 10), ("b.pcd.bin", 25)] {
        write_cloud(folder.path(), name, n);
    }
    let told = run(folder.path(), "voxelize in b.pcd.bin --json --out deep/out").expect(0);
    let frames = told.data("frame");
    let told: Vec<_> = frames.iter().map(|f| (f["input"].as_str().unwrap(), f["points"].as_u64().unwrap())).collect();
    // Natural order in the folder, and five columns by the name's end.
    assert_eq!(told, [("in/2.bin", 10), ("in/10.bin", 20), ("b.pcd.bin", 20)]);
    assert_eq!(names(&folder.path().join("deep/out")), ["10.npz", "2.npz", "b.npz"]);
    assert_eq!(frames[2]["out"], "deep/out/b.npz");
    let got = pointmill_io::read_npz(folder.path().join("deep/out/2.npz")).unwrap();
    assert_eq!(got["point_to_voxel"].shape(), [10]);
}

#[test]
fn one_input_goes_to_a_folder_that_is_named_as_such() {
    let folder = tempfile::tempdir().unwrap();
    write_cloud(folder.path(), "a.bin", 10);
    run(folder.path(), "voxelize a.bin --out new/").expect(0);
    std::fs::create_dir(folder.path().join("old.npz")).unwrap();
    run(folder.path(), "voxelize *.bin --out old.npz").expect(0);
    assert_eq!(names(&folder.path().join("new")), ["a.npz"]);
    assert_eq!(names(&folder.path().join("old.npz")), ["a.npz"]);
}

#[test]
fn json_lines_have_the_documented_fields() {
    let folder = tempfile::tempdir().unwrap();
    write_cloud(folder.path(), "a.bin", 100);
    std::fs::write(folder.path().join("cut.bin"), "text").unwrap();
    let told = run(folder.path(), "voxelize a.bin a.bin cut.bin --compare-cpu --json").expect(3);
    let kinds: Vec<_> = told.lines().into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["begin", "frame", "frame", "error", "summary", "error"]);
    let fields = |kind: &str| {
        let data = told.data(kind).remove(0);
        data.as_object().unwrap().keys().map(String::as_str).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(fields("begin"), "command device device_name inputs params version");
    assert_eq!(
        fields("frame"),
        "columns cpu device format in_range index input ms out points read_ms report voxels warnings write_ms"
    );
    assert_eq!(fields("error"), "class exit_code file index input message offset");
    assert_eq!(
        fields("summary"),
        "command cpu device device_name done failed inputs kept ms out picture points salvaged version voxels"
    );
    let begin = told.data("begin").remove(0);
    assert_eq!((&begin["device"], &begin["inputs"]), (&"cpu".into(), &3.into()));
    assert_eq!(begin["params"]["grid"], serde_json::json!([540, 540, 40]));
    assert_eq!(begin["params"]["voxel_size"].to_string(), "[0.2,0.2,0.2]");
    let frame = told.data("frame").remove(1);
    assert_eq!((&frame["index"], &frame["format"]), (&1.into(), &"kitti".into()));
    assert_eq!(frame["warnings"][0], "1 of 100 points are not finite");
    assert_eq!(frame["report"]["non_finite"], 1);
    assert!(frame["ms"].as_f64().unwrap() > 0.0);
    let summary = told.data("summary").remove(0);
    assert_eq!((&summary["done"], &summary["failed"], &summary["points"]), (&2.into(), &1.into(), &200.into()));
    let ms = &summary["ms"];
    let [min, p50, p95, max] = ["min", "p50", "p95", "max"].map(|k| ms[k].as_f64().unwrap());
    assert!(min <= p50 && p50 <= p95 && p95 <= max, "{ms}");
    let errors = told.data("error");
    assert_eq!((&errors[0]["input"], &errors[0]["class"]), (&"cut.bin".into(), &"SizeMismatch".into()));
    assert_eq!((&errors[1]["class"], &errors[1]["exit_code"]), (&"PartialFailure".into(), &3.into()));
}

#[test]
fn the_cpu_beside_it_is_equal_and_timed() {
    let folder = tempfile::tempdir().unwrap();
    write_cloud(folder.path(), "a.bin", 5000);
    for more in ["", "--order sorted --mean f16", "--dynamic"] {
        let told = run(folder.path(), &format!("voxelize a.bin a.bin --json --compare-cpu {more}")).expect(0);
        let cpu = &told.data("frame")[1]["cpu"];
        assert_eq!((&cpu["equal"], &cpu["threads"]), (&true.into(), &1.into()));
        let summary = told.data("summary").remove(0);
        let (ms, cpu) = (&summary["ms"], &summary["cpu"]);
        let ratio = cpu["ms"]["mean"].as_f64().unwrap() / ms["mean"].as_f64().unwrap();
        assert!((ratio - cpu["ratio"].as_f64().unwrap()).abs() < 1e-4);
    }
    let told = run(folder.path(), "voxelize a.bin --compare-cpu --verbose").expect(0);
    assert!(told.out.contains("times as fast, all arrays equal"), "{}", told.out);
    assert!(told.out.lines().next().unwrap().contains("read ms"), "{}", told.out);
}

#[test]
fn many_inputs_have_a_short_table() {
    let folder = tempfile::tempdir().unwrap();
    (0..21).for_each(|i| drop(write_cloud(folder.path(), &format!("{i}.bin"), 5)));
    let told = run(folder.path(), "voxelize .").expect(0);
    assert_eq!(told.out.lines().nth(1), Some("--verbose prints a line for each input"), "{}", told.out);
    assert_eq!(told.out.lines().count(), 2, "{}", told.out);
    let told = run(folder.path(), "voxelize . --verbose").expect(0);
    assert_eq!(told.out.lines().count(), 23, "{}", told.out);
}

#[test]
fn pictures_are_written_and_told() {
    let folder = tempfile::tempdir().unwrap();
    write_cloud(folder.path(), "a.bin", 300);
    let told = run(folder.path(), "voxelize a.bin a.bin --visualize p.png --mean f16").expect(0);
    assert!(told.out.ends_with("picture: p.png\n"), "{}", told.out);
    let bytes = std::fs::read(folder.path().join("p.png")).unwrap();
    assert_eq!(bytes[..8], *b"\x89PNG\r\n\x1a\n");
    let told = run(folder.path(), "voxelize a.bin a.bin --visualize p.GIF --json").expect(0);
    assert_eq!(told.data("summary")[0]["picture"], "p.GIF");
    let bytes = std::fs::read(folder.path().join("p.GIF")).unwrap();
    assert_eq!(bytes[..6], *b"GIF89a");
}

#[test]
fn the_standard_input_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = write_cloud(folder.path(), "a.bin", 100);
    let mut command = command(folder.path(), "voxelize - --format kitti --json --out o/");
    let told = finished(command.stdin(File::open(path).unwrap()).output().unwrap()).expect(0);
    let frame = told.data("frame").remove(0);
    assert_eq!((&frame["input"], &frame["points"]), (&"-".into(), &100.into()));
    assert_eq!(names(&folder.path().join("o")), ["stdin.npz"]);
}

#[test]
fn an_empty_cloud_is_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.bin"), "").unwrap();
    let args = "voxelize a.bin --out a.npz --compare-cpu --visualize a.png";
    let told = run(folder.path(), args).expect(0);
    assert_eq!(told.err, "warning: a.bin: the cloud is empty\n");
    let got = pointmill_io::read_npz(folder.path().join("a.npz")).unwrap();
    assert_eq!((got["coords"].shape(), got["voxels"].shape()), (&[0, 3][..], &[0, 10, 4][..]));
    let told = run(folder.path(), "voxelize a.bin --quiet").expect(0);
    assert_eq!(told.err, "");
}

#[test]
fn logs_go_to_stderr() {
    let folder = tempfile::tempdir().unwrap();
    write_cloud(folder.path(), "a.bin", 2);
    let told = run(folder.path(), "voxelize a.bin -v --json").expect(0);
    assert!(told.err.contains("INFO") && told.err.contains("a.bin: points 2, "), "{}", told.err);
    assert_eq!(told.lines().len(), 3);
}

/// A table and its last lines say what a cap dropped, and a cloud that is as small as a voxel or as
/// wide as in millimetres has a hint.
#[test]
fn what_is_dropped_or_odd_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_cloud(at, "a.bin", 500);
    let message = run(at, "voxelize a.bin --max-voxels 3 --max-points 1 --range auto --voxel-size 10").expect(0);
    let lines: Vec<_> = message.out.lines().collect();
    assert!(lines[0].contains("dropped"), "{}", message.out);
    assert!(lines[3].starts_with("dropped: ") && lines[3].ends_with(" over --max-points 1"), "{}", message.out);
    assert!(lines[4].contains(" voxels with ") && lines[4].ends_with(" over --max-voxels 3"), "{}", message.out);

    let line =
        |scale: f32| (0..40).flat_map(move |i| [scale * i as f32, 0.0, 0.0, 0.0].map(f32::to_le_bytes)).flatten();
    std::fs::write(at.join("small.bin"), line(0.004).collect::<Vec<u8>>()).unwrap();
    let message = run(at, "voxelize small.bin").expect(0);
    let hint = "warning: small.bin: the cloud spans 0.16 m, a voxel is 0.2 m; lower --voxel-size\n";
    assert!(message.err.contains(hint), "{}", message.err);
    std::fs::write(at.join("wide.bin"), line(4e3).skip(16).collect::<Vec<u8>>()).unwrap();
    let message = run(at, "voxelize wide.bin").expect(0);
    let hint = "warning: wide.bin: no point is in the range; the cloud spans 152 km: are these millimetres?\n";
    assert!(message.err.contains(hint), "{}", message.err);
}

/// Two inputs 1 m and 0.1 s apart: the second with the first in its frame, then alone.
#[test]
fn sweeps_are_voxelized_with_those_before_them() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let (near, far) = ([[1.0f32, 0.0, 0.0, 0.5], [5.0, 2.0, 0.0, 0.25]], [[3.0f32, 1.0, 0.0, 0.75]]);
    pointmill_io::write_bin(at.join("a.bin"), PointCloud::new(near.as_flattened().to_vec(), 4).unwrap().points())
        .unwrap();
    pointmill_io::write_bin(at.join("b.bin"), PointCloud::new(far.as_flattened().to_vec(), 4).unwrap().points())
        .unwrap();
    std::fs::write(at.join("p.tum"), "10 0 0 0 0 0 0 1\n10.125 1 0 0 0 0 0 1\n").unwrap();
    let of = |name: &str| pointmill_io::read_npz(at.join("out").join(name)).unwrap();
    run(at, "voxelize a.bin b.bin --sweeps 2 --poses p.tum --voxel-size 0.5 --out out").expect(0);
    let (first, second) = (of("a.npz"), of("b.npz"));
    assert_eq!(first["mean"].as_f32().unwrap(), [1.0, 0.0, 0.0, 0.5, 0.0, 5.0, 2.0, 0.0, 0.25, 0.0]);
    let wanted = [3.0, 1.0, 0.0, 0.75, 0.0, 0.0, 0.0, 0.0, 0.5, 0.125, 4.0, 2.0, 0.0, 0.25, 0.125];
    assert_eq!(second["mean"].as_f32().unwrap(), wanted);
    std::fs::write(at.join("p.txt"), "1 0 0 0 0 1 0 0 0 0 1 0\n".repeat(2)).unwrap();
    for (flags, code, wanted) in [
        ("--sweeps 2", 2, "error: --sweeps: needs --poses, the poses of the inputs"),
        ("--poses p.tum", 2, "error: --poses: needs --sweeps of 2 or more"),
        ("--sweeps 2 --poses p.tum --resume --out o", 2, "error: --resume: cannot be used with --sweeps"),
        ("--sweeps 0 --poses p.tum", 2, "error: invalid value '0' for '--sweeps <N>': 0 is not in 1..=100"),
        ("--sweeps 2 --poses p.txt", 3, "a.bin: times: expected poses with times (TUM), or inputs with stamps"),
    ] {
        let told = run(at, &format!("voxelize a.bin b.bin {flags}")).expect(code);
        assert!(told.err.contains(wanted), "{flags}: {}", told.err);
    }
}
