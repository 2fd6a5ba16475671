//! Arrays into files and back, here and in numpy.
mod common;

use common::{header, names, npy, zip};
use pointmill_io::{Array, ArrayData, ArrayView, IoError, read_npy, read_npz, write_npy, write_npz};
use std::fs;
use std::process::Command;

fn class<T: std::fmt::Debug>(result: Result<T, IoError>) -> &'static str {
    result.unwrap_err().class()
}

/// An array of every type, and of odd shapes.
fn arrays() -> Vec<(&'static str, Array)> {
    let array = |shape: &[usize], data| Array::new(shape.to_vec(), data).unwrap();
    vec![
        ("f32", array(&[2, 2], ArrayData::F32(vec![1.5, -0.0, f32::INFINITY, 1e-45]))),
        ("f64", array(&[1, 2], ArrayData::F64(vec![0.1, -1e300]))),
        ("f16", array(&[3], ArrayData::F16(vec![0x3c00, 0x7bff, 0x8001]))),
        ("i8", array(&[1], ArrayData::I8(vec![-8]))),
        ("i16", array(&[2, 1], ArrayData::I16(vec![-16, 16]))),
        ("i32", array(&[1, 1, 3], ArrayData::I32(vec![i32::MIN, 0, i32::MAX]))),
        ("i64", array(&[2], ArrayData::I64(vec![i64::MIN, i64::MAX]))),
        ("u8", array(&[4], ArrayData::U8(b"json".to_vec()))),
        ("u16", array(&[1], ArrayData::U16(vec![u16::MAX]))),
        ("u32", array(&[1], ArrayData::U32(vec![u32::MAX]))),
        ("u64", array(&[1], ArrayData::U64(vec![u64::MAX]))),
        ("bool", array(&[2, 2], ArrayData::Bool(vec![true, false, false, true]))),
        ("scalar", array(&[], ArrayData::F64(vec![2.5]))),
        ("no rows", array(&[0, 3], ArrayData::F32(vec![]))),
        ("größe/π", array(&[1], ArrayData::U8(vec![1]))),
    ]
}

fn views<'a>(arrays: &'a [(&'static str, Array)]) -> Vec<(&'static str, ArrayView<'a>)> {
    arrays.iter().map(|(name, array)| (*name, array.view())).collect()
}

#[test]
fn every_type_round_trips_and_bytes_are_the_same_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npz");
    let arrays = arrays();
    write_npz(&path, &views(&arrays)).unwrap();
    let first = fs::read(&path).unwrap();
    let read = read_npz(&path).unwrap();
    assert_eq!(read.len(), arrays.len());
    for (name, array) in &arrays {
        assert_eq!(&read[*name], array, "{name}");
        let single = folder.path().join("a.npy");
        write_npy(&single, &array.into()).unwrap();
        assert_eq!(&read_npy(&single).unwrap(), array, "{name}");
    }
    std::thread::sleep(std::time::Duration::from_millis(20));
    write_npz(&path, &views(&arrays)).unwrap();
    assert_eq!(fs::read(&path).unwrap(), first);
    assert_eq!(names(folder.path()), ["a.npy", "a.npz"]);
}

/// Runs Python with numpy; `None` if there is none.
fn numpy(script: &str, argument: &std::path::Path) -> Option<String> {
    let has = Command::new("python3").args(["-c", "import numpy"]).output().is_ok_and(|o| o.status.success());
    if !has {
        eprintln!("skipped: no python3 with numpy");
        return None;
    }
    let out = Command::new("python3").arg("-c").arg(script).arg(argument).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    Some(String::from_utf8(out.stdout).unwrap())
}

#[test]
fn numpy_reads_what_we_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npz");
    let arrays = arrays();
    write_npz(&path, &views(&arrays)).unwrap();
    let script = "
import sys, zipfile, numpy as np
assert zipfile.ZipFile(sys.argv[1]).testzip() is None
z = np.load(sys.argv[1])
for k in z.files: print(k.encode().hex(), z[k].dtype.str, z[k].shape, z[k].tobytes().hex(), sep='|')
";
    let Some(told) = numpy(script, &path) else { return };
    let hex = |b: &[u8]| b.iter().map(|b| format!("{b:02x}")).collect::<String>();
    let lines: Vec<_> = told.lines().collect();
    assert_eq!(lines.len(), arrays.len());
    let line = |name: &str| *lines.iter().find(|l| l.starts_with(&format!("{}|", hex(name.as_bytes())))).unwrap();
    assert!(line("f16").ends_with("|<f2|(3,)|003cff7b0180"), "{}", line("f16"));
    assert!(line("bool").ends_with("||b1|(2, 2)|01000001"), "{}", line("bool"));
    assert!(line("no rows").ends_with("|<f4|(0, 3)|"), "{}", line("no rows"));
    assert!(line("scalar").ends_with("|<f8|()|0000000000000440"), "{}", line("scalar"));
    assert!(line("i64").ends_with("|<i8|(2,)|0000000000000080ffffffffffffff7f"), "{}", line("i64"));
    assert!(line("größe/π").ends_with("||u1|(1,)|01"), "{}", line("größe/π"));
    let single = folder.path().join("h.npy");
    write_npy(&single, &ArrayView::f16_bits(&[1, 3], &[0x3c00, 0x4000, 0x7c00])).unwrap();
    assert_eq!(
        numpy("import sys, numpy as np; print(np.load(sys.argv[1]).tolist())", &single).unwrap(),
        "[[1.0, 2.0, inf]]\n"
    );
}

#[test]
fn we_read_what_numpy_writes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("n.npz");
    let script = "
import sys, numpy as np
a = np.arange(24).reshape(2, 3, 4)
f = sys.argv[1]
kw = dict(c=a, f=np.asfortranarray(a), b=a.astype('>f8'), h=a.astype('f2'), t=a > 3, e=np.zeros((0, 3)), s=np.float32(2), z=np.zeros(10**6))
np.savez_compressed(f, **kw)
np.savez(f.replace('n.npz', 'm.npz'), **kw)
np.save(f.replace('n.npz', 'f.npy'), np.asfortranarray(a.astype('>i4')))
";
    if numpy(script, &path).is_none() {
        return;
    }
    let counted: Vec<i64> = (0..24).collect();
    for name in ["n.npz", "m.npz"] {
        let mut read = read_npz(folder.path().join(name)).unwrap();
        assert_eq!(read["c"].as_i64().unwrap(), counted);
        assert_eq!(read["f"].as_i64().unwrap(), counted);
        assert_eq!(read["b"].as_f64().unwrap(), (0..24).map(f64::from).collect::<Vec<_>>());
        assert_eq!(read["h"].to_f32().unwrap(), (0..24).map(|v| v as f32).collect::<Vec<_>>());
        assert_eq!(read["t"].as_bool().unwrap()[3..5], [false, true]);
        assert_eq!(read["e"].shape(), [0, 3]);
        assert_eq!((read["s"].shape(), read["s"].as_f32().unwrap()), (&[][..], &[2.0][..]));
        assert_eq!(read.remove("z").unwrap().into_f64().unwrap(), vec![0.0; 1_000_000]);
        let e = read["h"].as_f32().unwrap_err().to_string();
        assert!(e.ends_with(&format!("{name}: array `h`: element type: expected f32, got f16 [2, 3, 4]")), "{e}");
    }
    assert_eq!(read_npy(folder.path().join("f.npy")).unwrap().into_i32().unwrap(), (0..24).collect::<Vec<_>>());
}

#[test]
fn arrays_that_cannot_be_written_leave_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npz");
    let one = || ArrayView::u8(&[1], &[1]);
    assert_eq!(class(write_npz(&path, &[("a", ArrayView::u8(&[2], &[1]))])), "ShapeMismatch");
    assert_eq!(class(write_npz(&path, &[("a", ArrayView::u8(&[usize::MAX, 2], &[]))])), "ShapeMismatch");
    assert_eq!(class(write_npz(&path, &[("a", ArrayView::u8(&[1; 65], &[1]))])), "ShapeMismatch");
    assert_eq!(class(write_npz(&path, &[("a", ArrayView::bf16_bits(&[1], &[0x3f80]))])), "DtypeMismatch");
    assert_eq!(class(write_npz(&path, &[("a", one()), ("a", one())])), "InvalidArgument");
    assert_eq!(class(write_npz(&path, &[("", one())])), "InvalidArgument");
    assert_eq!(class(write_npz(folder.path().join("no/a.npz"), &[("a", one())])), "Io");
    assert_eq!(class(write_npy(folder.path(), &one())), "Io");
    assert!(names(folder.path()).is_empty());
}

#[test]
fn broken_archives_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npz");
    let read = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        read_npz(&path)
    };
    let data: Vec<u8> = (0..4000u32).flat_map(|i| (i * i).to_le_bytes()).collect();
    let array = npy(&header("<u4", false, "(4000,)"), &data);
    let stored = zip(&[("a.npy", &array)], false);
    let deflated = zip(&[("a.npy", &array)], true);
    assert_eq!(read(&stored).unwrap()["a"].len(), 4000);
    assert_eq!(read(&deflated).unwrap()["a"], read(&stored).unwrap()["a"]);
    for whole in [&stored, &deflated] {
        for end in (0..whole.len()).step_by(97) {
            let e = read(&whole[..end]).unwrap_err();
            assert!(["Truncated", "BadHeader"].contains(&e.class()), "{end}: {e}");
        }
        // A flipped bit in the data breaks the checksum, or the stream before it.
        let mut flipped = whole.clone();
        flipped[2000] ^= 4;
        assert_eq!(class(read(&flipped)), "Decompress");
    }
    assert_eq!(class(read(b"PK\x03\x04 and no more")), "BadHeader");
    assert_eq!(class(read(&zip(&[("a.npy", b"text")], false))), "BadHeader");
    assert!(read(&zip(&[("readme.txt", b"text")], false)).unwrap().is_empty());
}

/// Changes the 4 bytes at `field` of the (only) central directory entry.
fn patch(mut bytes: Vec<u8>, field: usize, value: u32) -> Vec<u8> {
    let at = bytes.windows(4).rposition(|w| w == b"PK\x01\x02").unwrap();
    bytes[at + field..at + field + 4].copy_from_slice(&value.to_le_bytes());
    bytes
}

#[test]
fn sizes_that_lie_take_no_memory() {
    const COMPRESSED: usize = 20;
    const SIZE: usize = 24;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npz");
    let read = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        read_npz(&path)
    };
    // The array claims 200 MB, in the archive's free allowance, and has 16 bytes.
    let array = npy(&header("<f4", false, "(50000000,)"), &[0; 16]);
    let claim = 200_000_000 + array.len() as u32;
    let stored = || zip(&[("a.npy", &array)], false);
    let deflated = || zip(&[("a.npy", &array)], true);
    assert_eq!(class(read(&patch(stored(), SIZE, claim))), "SizeMismatch");
    assert_eq!(class(read(&patch(patch(stored(), SIZE, claim), COMPRESSED, claim))), "Truncated");
    assert_eq!(class(read(&patch(deflated(), SIZE, claim))), "Truncated");
    assert_eq!(class(read(&patch(deflated(), SIZE, 0xf000_0000))), "LimitExceeded");
    // A real bomb: 300 MB of zeros in 300 kB.
    let bomb = {
        use std::io::Write;
        let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        writer.start_file("points.npy", zip::write::SimpleFileOptions::DEFAULT).unwrap();
        writer.write_all(&npy(&header("<f4", false, "(75000000,)"), &[])).unwrap();
        for _ in 0..300 {
            writer.write_all(&[0; 1_000_000]).unwrap();
        }
        writer.finish().unwrap().into_inner()
    };
    assert!(bomb.len() < 1_000_000);
    let e = read(&bomb).unwrap_err();
    assert!(e.class() == "LimitExceeded" && e.to_string().contains("unpacked"), "{e}");
    // One that claims to be small.
    assert_eq!(class(read(&patch(bomb, SIZE, 1000))), "Truncated");
    // One whose array agrees with the claim: what is more is not read.
    let mut more = npy(&header("<f4", false, "(4,)"), &[0; 16]);
    let size = more.len() as u32;
    more.resize(1 << 20, 0);
    assert_eq!(class(read(&patch(zip(&[("a.npy", &more)], true), SIZE, size))), "Decompress");
}

#[test]
fn counts_that_lie_take_no_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npz");
    let start = 1u64 << 30;
    for (members, class) in [(20_000_000u64, "LimitExceeded"), (1, "BadHeader")] {
        // 1 GiB of nothing, then the end records with 64-bit sizes.
        let file = fs::File::create(&path).unwrap();
        file.set_len(start).unwrap();
        let mut end = b"PK\x06\x06".to_vec();
        end.extend(44u64.to_le_bytes());
        end.extend([45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        for number in [members, members, start, 30_000_000] {
            end.extend(number.to_le_bytes());
        }
        end.extend(b"PK\x06\x07\0\0\0\0");
        end.extend(start.to_le_bytes());
        end.extend(1u32.to_le_bytes());
        end.extend(b"PK\x05\x06\0\0\0\0");
        end.extend([0xff; 12]);
        end.extend([0; 2]);
        use std::io::{Seek, Write};
        let mut file = file;
        file.seek(std::io::SeekFrom::End(0)).unwrap();
        file.write_all(&end).unwrap();
        let e = read_npz(&path).unwrap_err();
        assert_eq!(e.class(), class, "{e}");
    }
}
