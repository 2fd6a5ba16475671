//! Some of many inputs: `--frames`, `--every`, and one cloud of a bag by its name.

use crate::{Run, command, contents, counts, finished, run, write_cloud};
use std::fs;
use std::path::Path;

fn inputs(told: &Run) -> Vec<String> {
    told.data("frame").iter().map(|frame| frame["input"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn some_files_of_a_folder_are_taken_as_if_there_were_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::create_dir(at.join("in")).unwrap();
    (0..12).for_each(|i| drop(write_cloud(at, &format!("in/{i}.bin"), 300 + i)));
    let told = run(at, "voxelize in --frames 2:11 --every 4 --out v --json").expect(0);
    assert_eq!(inputs(&told), ["in/2.bin", "in/6.bin", "in/10.bin"]);
    assert_eq!(counts(&told), [3, 3, 0, 0]);
    run(at, "voxelize in/2.bin in/6.bin in/10.bin --out w").expect(0);
    assert_eq!(contents(&at.join("v")), contents(&at.join("w")));
    let told = run(at, "ndt build in --frames 10: --out m/ --json").expect(0);
    assert_eq!(inputs(&told), ["in/10.bin", "in/11.bin"]);
    assert_eq!(inputs(&run(at, "voxelize --frames :1 --json").expect(0)), ["sweep_000"]);
    // Poses belong to the inputs that are taken.
    fs::write(at.join("poses.txt"), "0 0 0 0 0 0\n5 0 0 0 0 0\n").unwrap();
    run(at, "ndt build in --frames 3:5 --poses poses.txt --out two.npz").expect(0);
}

fn write_bag(at: &Path) {
    let bag = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/bags/velodyne_lz4.mcap");
    fs::copy(bag, at.join("drive.mcap")).unwrap();
}

#[test]
fn one_cloud_of_a_bag_is_named_as_outputs_name_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_bag(at);
    assert_eq!(inputs(&run(at, "voxelize drive.mcap --frames 1: --json").expect(0)).len(), 2);
    run(at, "convert drive.mcap --to npy --out all").expect(0);
    run(at, "convert drive.mcap#000002 --out one.npy").expect(0);
    assert_eq!(fs::read(at.join("one.npy")).unwrap(), fs::read(at.join("all/drive_000002.npy")).unwrap());
    assert_eq!(run(at, "info drive.mcap#1 --json").expect(0).data("frame")[0]["points"], 37);
    // Among others it fails in its turn.
    let told = run(at, "voxelize drive.mcap#000000 drive.mcap#000003 --json").expect(3);
    assert_eq!((counts(&told), told.data("error")[0]["index"].as_u64()), ([2, 1, 0, 1], Some(1)));
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    (0..3).for_each(|i| drop(write_cloud(at, &format!("{i}.bin"), 20_000 + i)));
    for threads in ["1", "2", "7"] {
        let args = format!("voxelize 0.bin 1.bin 2.bin --out v{threads} --threads {threads} --json");
        let told = finished(command(at, &args).output().unwrap()).expect(0);
        let name = told.data("begin")[0]["device_name"].as_str().unwrap().to_owned();
        assert_eq!(name, format!("cpu ({threads} thread{})", if threads == "1" { "" } else { "s" }));
        assert_eq!(contents(&at.join("v1")), contents(&at.join(format!("v{threads}"))));
    }
}
