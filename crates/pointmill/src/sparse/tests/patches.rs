//! Patches.

use crate::sparse::{Patches, patches};
use crate::testing::{Random, devices};

/// The lists as the model makes them: first all places, then the last patch of each item copied.
fn plain(offsets: &[usize], p: usize) -> Patches {
    let (mut pad, mut unpad, mut cu_seqlens) = (Vec::<i32>::new(), Vec::new(), Vec::new());
    let mut start = 0;
    for &end in offsets {
        let n = end - start;
        let mut own: Vec<i32> = (0..if n > p { n.div_ceil(p) * p } else { n }).map(|i| i as i32).collect();
        let len = own.len();
        if len != n {
            let from: Vec<i32> = own[len - 2 * p + n % p..len - p].to_vec();
            own[len - p + n % p..].copy_from_slice(&from);
        }
        unpad.extend((0..n).map(|i| (pad.len() + i) as i32));
        cu_seqlens.extend((0..len).filter(|i| i % p == 0).map(|i| (pad.len() + i) as i32));
        pad.extend(own.iter().map(|i| i + start as i32));
        start = end;
    }
    cu_seqlens.push(pad.len() as i32);
    Patches { pad, unpad, cu_seqlens }
}

#[test]
fn patches_are_as_the_model_makes_them() {
    let mut random = Random(2);
    for p in [1, 2, 7, 48] {
        for items in 0..6 {
            let mut end = 0;
            let offsets: Vec<usize> = (0..items)
                .map(|_| {
                    let most = [1, 8, 200][random.below(3) as usize];
                    end += random.below(most) as usize;
                    end
                })
                .collect();
            let want = plain(&offsets, p);
            assert_eq!(Patches::new(&offsets, p).unwrap(), want, "{offsets:?}, {p}");
            for (name, device) in devices() {
                let got = patches(&offsets, p, &device).unwrap();
                assert_eq!(got.pad.read(want.pad.len()).unwrap(), want.pad, "{name}");
                assert_eq!(got.cu_seqlens.read(want.cu_seqlens.len()).unwrap(), want.cu_seqlens, "{name}");
            }
        }
    }
    let said = |offsets: &[usize], p| Patches::new(offsets, p).unwrap_err().to_string();
    assert_eq!(said(&[3], 0), "patch_size: expected 1 or more, fewer than 2^30, got 0");
    assert_eq!(said(&[3, 2], 4), "offsets: expected ascending ends of items, got [3, 2]");
    assert_eq!(said(&[1 << 30], 4), "offsets: expected fewer than 2^30 rows and 2^31 places, got 1073741824");
}
