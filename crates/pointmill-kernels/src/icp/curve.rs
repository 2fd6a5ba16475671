//! Points along the Morton curve.

use super::cloud::{corners, warp_least, widen};
use super::*;
use crate::prim::WARPS;
use core::cmp::Ordering;
use pointmill_core::icp::morton::{CubeOrder, MortonGrid};

/// Arguments of [`Codes`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CodesArgs {
    /// The clouds.
    pub clouds: Clouds,
    /// Their points.
    pub points: *const Place4,
    /// Null; or which point each code is of.
    pub order: *const u32,
    /// Codes, at places without a point the largest number.
    pub codes: *mut u64,
    /// Becomes zero, for [`Gather`].
    pub mixed: *mut u32,
}

kernel! {
    /// The Morton code of each point. One thread a point.
    Codes = "icp_codes", block BLOCK, shared 0, cooperative false,
    fn(a: CodesArgs) {
        if global_index() == 0 {
            *a.mixed = 0;
        }
        let share = a.clouds.share(BLOCK);
        let i = share.index();
        if i < a.clouds.room {
            let at = share.first + i as usize;
            let mut code = u64::MAX;
            if i < share.n() {
                let from = if a.order.is_null() { at } else { *a.order.add(at) as usize };
                let (low, high) = (*share.head).corners();
                code = MortonGrid::new(low, high).code(load4(a.points.add(from)).0);
            }
            *a.codes.add(at) = code;
        }
    }
}

/// Arguments of [`Owners`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OwnersArgs {
    /// `[n]`: places.
    pub order: *const u32,
    /// Places of all clouds.
    pub n: u32,
    /// Places of each cloud.
    pub room: u32,
    /// `[n]`: the cloud of each place.
    pub owners: *mut u32,
}

kernel! {
    /// Which cloud each place of an order belongs to. One thread a place.
    Owners = "icp_owners", block BLOCK, shared 0, cooperative false,
    fn(a: OwnersArgs) {
        let i = global_index() as usize;
        if i < a.n as usize {
            *a.owners.add(i) = *a.order.add(i) / a.room;
        }
    }
}

/// Arguments of [`Gather`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct GatherArgs {
    /// The clouds.
    pub clouds: Clouds,
    /// Their points.
    pub points: *const Place4,
    /// Which come first.
    pub order: *const u32,
    /// The points in that order, with their words.
    pub sorted: *mut Place4,
    /// The codes in that order, or null.
    pub codes: *const u64,
    /// Where there are codes, becomes one if a code is that of more points than a leaf has and not
    /// all of them are at one place.
    pub mixed: *mut u32,
}

kernel! {
    /// Puts points in order. One thread a point.
    Gather = "icp_gather", block BLOCK, shared 0, cooperative false,
    fn(a: GatherArgs) {
        let share = a.clouds.share(BLOCK);
        let (i, n) = (share.index(), share.n());
        if i < n {
            let at = share.first + i as usize;
            let from = a.points.add(*a.order.add(at) as usize);
            *a.sorted.add(at).cast::<Aligned>() = *from.cast::<Aligned>();
            if !a.codes.is_null() && i + 1 < n && *a.codes.add(at) == *a.codes.add(at + 1) {
                let next = a.points.add(*a.order.add(at + 1) as usize);
                if load4(from).0 != load4(next).0 && is_long_cube(a.codes.add(share.first), n, i) {
                    store_relaxed(a.mixed, 1);
                }
            }
        }
    }
}

/// Whether a point and the next one, which have one code, share it with more points than a leaf
/// has.
#[inline(always)]
unsafe fn is_long_cube(codes: *const u64, n: u32, i: u32) -> bool {
    let mut long = false;
    for before in 0..LEAF {
        let (first, end) = (i.wrapping_sub(before), i.wrapping_sub(before).wrapping_add(LEAF));
        // SAFETY: the caller's promise: there are n codes.
        long |= before <= i && end < n && unsafe { *codes.add(first as usize) == *codes.add(end as usize) };
    }
    long
}

/// Arguments of [`OrderCubes`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OrderCubesArgs {
    /// The clouds.
    pub clouds: Clouds,
    /// Sorted.
    pub codes: *const u64,
    /// Points in the order of their codes; those of one code are put into the order of
    /// [`CubeOrder`], of one place in that of their words.
    pub points: *mut Place4,
    /// Zero where nothing is to be done, as [`Gather`] found.
    pub mixed: *const u32,
}

kernel! {
    /// Orders the points of each code that is that of more points than a leaf has. One thread a
    /// point looks for such; then the block in which a code begins sorts its points.
    OrderCubes = "icp_order_cubes", block BLOCK, shared BLOCK + 6 * WARPS, cooperative true,
    fn(a: OrderCubesArgs) {
        if *a.mixed == 0 {
            return;
        }
        let (starts, boxes) = (Shared::at(0), Shared::at(BLOCK));
        let share = a.clouds.share(BLOCK);
        let (i, n) = (share.index(), share.n());
        let code = |i: u32| *a.codes.add(share.first + i as usize);
        let is_long = i < n && LEAF < n - i && code(i) == code(i + LEAF);
        starts.set(thread_index(), if is_long && (i == 0 || code(i - 1) != code(i)) { 1 } else { 0 });
        sync_block();
        let mut t = 0;
        while t < block_size() {
            if starts.get(t) != 0 {
                let first = share.block * block_size() + t;
                // The last point that has the code lies from `within` on, and before `beyond`.
                let (mut within, mut beyond) = (first + LEAF, n);
                while beyond - within > 1 {
                    let middle = within + (beyond - within) / 2;
                    if code(middle) == code(first) {
                        within = middle;
                    } else {
                        beyond = middle;
                    }
                }
                order_cube(a.points.add(share.first + first as usize), beyond - first, boxes);
            }
            t += 1;
        }
    }
}

/// Sorts points by a network that goes from short runs to long ones and whose exchanges all put the
/// lesser point first, so that it takes any number of points. All threads of a block call.
#[inline(always)]
unsafe fn order_cube(points: *mut Place4, n: u32, boxes: Shared) {
    let mut bounds = [u32::MAX; 6];
    let mut i = thread_index();
    while i < n {
        // SAFETY: the caller's promise: there are n points.
        widen(&mut bounds, unsafe { load4(points.add(i as usize)) }.0);
        i += block_size();
    }
    for k in 0..6 {
        let least = warp_least(bounds[k]);
        if lane() == 0 {
            boxes.set(6 * warp() + k as u32, least);
        }
    }
    sync_block();
    for k in 0..6 {
        for w in 0..WARPS {
            let least = boxes.get(6 * w + k as u32);
            bounds[k] = if least < bounds[k] { least } else { bounds[k] };
        }
    }
    // The next code's box takes the same place.
    sync_block();
    let (low, high) = corners(&bounds);
    if low == high {
        return;
    }
    let order = CubeOrder::new(low, high);
    // Runs of 2^s points become sorted, by exchanges with the mirror image in the run and then with
    // ever nearer points.
    let mut s = 1;
    loop {
        let mut stride = s;
        while stride > 0 {
            stride -= 1;
            let mut pair = thread_index();
            loop {
                let (run, within) = (pair >> stride, pair & ((1 << stride) - 1));
                let first = (run << (stride + 1)) + within;
                let second = if stride + 1 == s { (run << s) + ((1 << s) - 1 - within) } else { first + (1 << stride) };
                if first >= n {
                    break;
                }
                if second < n {
                    // SAFETY: as above; no other thread has this pair before the barrier.
                    unsafe { exchange(&order, points.add(first as usize), points.add(second as usize)) };
                }
                pair += block_size();
            }
            sync_block();
        }
        if 1 << s >= n {
            break;
        }
        s += 1;
    }
}

/// Puts the lesser of two points first.
#[inline(always)]
unsafe fn exchange(order: &CubeOrder, first: *mut Place4, second: *mut Place4) {
    // SAFETY: the caller's promise: both are valid, and nobody else's.
    unsafe {
        let ((p, p_word), (q, q_word)) = (load4(first), load4(second));
        let after = match order.of(p, q) {
            Ordering::Less => false,
            Ordering::Equal => p_word > q_word,
            Ordering::Greater => true,
        };
        if after {
            *first.cast::<Aligned>() = Aligned([q[0], q[1], q[2], f32::from_bits(q_word)]);
            *second.cast::<Aligned>() = Aligned([p[0], p[1], p[2], f32::from_bits(p_word)]);
        }
    }
}
