//! Overlaps and suppression on the CPU.

use super::input::Boxes;
use super::kept::Tree;
use super::result::OverlapSizes;
use super::{Candidates, IouKind, IouParams, Kept, NmsMetric, NmsParams, OverlapLists, Pairs};
use crate::device::Buffer;
use crate::{Result, memory, par};
use pointmill_core::boxes::{BoxShape, near};
use pointmill_kernels::boxes::Item;
use rayon::prelude::*;

/// Pairs that a thread looks at at least.
const PAIRS_OF_A_THREAD: usize = 1 << 14;
/// Candidates that are compared with all kept ones together.
const TOGETHER: usize = 256;
/// Most candidates of an item that are compared with every kept circle: a tree pays off beyond.
const FEW: usize = if cfg!(test) { 300 } else { 4096 };

pub(super) fn iou(a: &Boxes<'_>, b: &Boxes<'_>, params: IouParams, out: &mut Buffer<f32>, pairs: usize) -> Result<()> {
    out.reserve(pairs)?;
    let (a, b) = (a.shapes()?, b.shapes()?);
    let out = &mut out.host_values()[..pairs];
    if params.pairs == Pairs::Aligned {
        let all = out.par_iter_mut().with_min_len(par::grain(PAIRS_OF_A_THREAD / 16));
        all.zip(a).zip(b).for_each(|((out, a), b)| *out = a.iou(&b, params.kind) as f32);
    } else if !b.is_empty() {
        let circles = Circles::of(&b)?;
        let rows = out.par_chunks_exact_mut(b.len()).with_min_len(par::grain(PAIRS_OF_A_THREAD.div_ceil(b.len())));
        rows.zip(a).for_each(|(row, a)| {
            if params.kind == IouKind::Giou {
                row.iter_mut().zip(&b).for_each(|(out, b)| *out = a.iou(b, params.kind) as f32);
            } else {
                row.fill(0.0);
                circles.each_near(a.circle(), |j| {
                    row[j] = a.iou(&b[j], params.kind) as f32;
                    true
                });
            }
        });
    }
    Ok(())
}

pub(super) fn overlaps(
    a: &Boxes<'_>,
    b: &Boxes<'_>,
    kind: IouKind,
    threshold: f32,
    out: &mut OverlapLists,
) -> Result<()> {
    let (a, b) = (a.shapes()?, b.shapes()?);
    let circles = Circles::of(&b)?;
    let rows = a.par_iter().with_min_len(par::grain(PAIRS_OF_A_THREAD.div_ceil(b.len().max(1))));
    let lists = memory::collect_parallel(rows.map(|a| {
        let mut list = Vec::new();
        let look = |j: usize| {
            let iou = a.iou(&b[j], kind) as f32;
            let listed = iou > threshold && !a.is_none() && !b[j].is_none();
            !listed || memory::push(&mut list, (j as i32, iou)).is_ok()
        };
        // A generalized overlap of boxes that are apart can be above a threshold too.
        let whole = if kind == IouKind::Giou { (0..b.len()).all(look) } else { circles.each_near(a.circle(), look) };
        if whole { Ok(list) } else { Err(memory::refused::<(i32, f32)>(b.len())) }
    }))?;
    let lists = lists.into_iter().collect::<Result<Vec<_>>>()?;
    out.reserve(OverlapSizes { pairs: lists.iter().map(Vec::len).sum() })?;
    let places = out.i.host_values().iter_mut().zip(out.j.host_values()).zip(out.iou.host_values());
    let found = lists.iter().enumerate().flat_map(|(i, list)| list.iter().map(move |&(j, iou)| (i as i32, j, iou)));
    for (((to_i, to_j), to_iou), (i, j, iou)) in places.zip(found) {
        (*to_i, *to_j, *to_iou) = (i, j, iou);
    }
    Ok(())
}

/// Circles around boxes, by coordinate.
#[derive(Debug, Default)]
struct Circles {
    x: Vec<f64>,
    y: Vec<f64>,
    radius: Vec<f64>,
}

impl Circles {
    /// How many are compared at once.
    const LANES: usize = 8;

    fn of(shapes: &[BoxShape]) -> Result<Self> {
        let part = |k: usize| memory::collect(shapes.iter().map(move |shape| shape.circle()[k]));
        Ok(Self { x: part(0)?, y: part(1)?, radius: part(2)? })
    }

    fn push(&mut self, [x, y, radius]: [f64; 3]) -> Result<()> {
        memory::push(&mut self.x, x)?;
        memory::push(&mut self.y, y)?;
        memory::push(&mut self.radius, radius)
    }

    /// Calls `look` with each circle that meets this one, in order, until it says no; whether it
    /// never did.
    #[inline]
    fn each_near(&self, circle: [f64; 3], mut look: impl FnMut(usize) -> bool) -> bool {
        let parts = self.x.chunks(Self::LANES).zip(self.y.chunks(Self::LANES)).zip(self.radius.chunks(Self::LANES));
        for (part, ((x, y), radius)) in parts.enumerate() {
            let mut met = 0u32;
            for (k, ((&x, &y), &radius)) in x.iter().zip(y).zip(radius).enumerate() {
                met |= u32::from(near(circle, [x, y, radius])) << k;
            }
            while met != 0 {
                if !look(part * Self::LANES + met.trailing_zeros() as usize) {
                    return false;
                }
                met &= met - 1;
            }
        }
        true
    }
}

pub(super) fn suppress(
    boxes: &Boxes<'_>,
    candidates: &Candidates<'_>,
    items: &[Item],
    params: &NmsParams,
    out: &mut Kept,
) -> Result<()> {
    let shapes = boxes.shapes()?;
    let scores = candidates.scores().host::<f32>().unwrap_or_default();
    let classes = candidates.classes.and_then(|classes| classes.host());
    let shared = Shared { shapes: &shapes, scores, classes, params };
    let ends = items.iter().skip(1).map(|item| item.first as usize).chain([shapes.len()]);
    let spans: Vec<_> = items.iter().map(|item| item.first as usize).zip(ends).collect();
    let kept = spans.par_iter().with_min_len(par::grain(1)).map(|&(from, to)| shared.item(from, to));
    let kept = memory::collect_parallel(kept)?.into_iter().collect::<Result<Vec<_>>>()?;
    let capacity = out.sizes.capacity;
    let (rows, num_kept) = (out.rows.host_values(), out.num_kept.host_values());
    for (item, kept) in kept.iter().enumerate() {
        num_kept[item] = kept.len() as i32;
        let row = &mut rows[item * capacity..][..capacity];
        row.fill(-1);
        row[..kept.len()].copy_from_slice(kept);
    }
    let non_finite = shapes.iter().zip(scores).filter(|(shape, score)| shape.is_none() || !score.is_finite());
    out.non_finite.host_values()[0] = non_finite.count() as u32;
    Ok(())
}

/// What all items share.
#[derive(Clone, Copy)]
struct Shared<'a> {
    shapes: &'a [BoxShape],
    scores: &'a [f32],
    classes: Option<&'a [i32]>,
    params: &'a NmsParams,
}

impl Shared<'_> {
    /// The rows from `from` to `to` that are kept, in order.
    fn item(self, from: usize, to: usize) -> Result<Vec<i32>> {
        let least = self.params.score_threshold.unwrap_or(f32::MIN);
        let is_candidate = |&row: &usize| {
            let score = self.scores[row];
            !self.shapes[row].is_none() && score.is_finite() && score >= least
        };
        let mut order = Vec::new();
        memory::exactly(&mut order, to - from)?;
        order.extend((from..to).filter(is_candidate));
        let by_score = |&a: &usize, &b: &usize| {
            self.scores[b].partial_cmp(&self.scores[a]).unwrap_or(std::cmp::Ordering::Equal).then(a.cmp(&b))
        };
        par::sort_unstable_by(&mut order, by_score);
        let len = order.len();
        order.truncate(self.params.pre_max.map_or(len, |most| len.min(most as usize)));
        let most = self.params.post_max.map_or(len, |most| most as usize);
        let (mut kept, mut circles) = (Vec::<i32>::new(), Circles::default());
        let many = order.len() > FEW;
        let mut tree = many.then(|| Tree::new(order.len(), |i| self.placed(order[i]))).transpose()?;
        for (number, group) in order.chunks(TOGETHER).enumerate() {
            par::check();
            // All threads compare with what was kept before; then the group is walked in order.
            let survives = |&row: &usize| match &tree {
                Some(tree) => {
                    let (class, circle) = self.placed(row);
                    tree.each_near(class, circle, |other| {
                        !suppresses(&self.shapes[other as usize], &self.shapes[row], self.params)
                    })
                }
                None => self.all_apart(&circles, &kept, 0, row),
            };
            let survivors = group.par_iter().with_min_len(par::grain(TOGETHER / 8)).map(survives);
            let survivors = memory::collect_parallel(survivors)?;
            let before = kept.len();
            let mut recent = Circles::default();
            let survivors = group.iter().enumerate().zip(survivors).filter(|(_, survives)| *survives);
            for ((i, &row), _) in survivors {
                if kept.len() == most {
                    break;
                }
                if self.all_apart(&recent, &kept, before, row) {
                    recent.push(self.circle(row))?;
                    memory::push(&mut kept, row as i32)?;
                    if let Some(tree) = &mut tree {
                        tree.keep(number * TOGETHER + i, row as u32, self.circle(row));
                    }
                }
            }
            if kept.len() == most {
                break;
            }
            if tree.is_none() {
                kept[before..].iter().try_for_each(|&row| circles.push(self.circle(row as usize)))?;
            }
        }
        Ok(kept)
    }

    /// Whether no kept row from `first` on, whose circles these are, suppresses this one.
    fn all_apart(self, circles: &Circles, kept: &[i32], first: usize, row: usize) -> bool {
        let shape = &self.shapes[row];
        let apart = |k: usize| {
            let other = kept[first + k] as usize;
            self.classes.is_some_and(|classes| classes[other] != classes[row])
                || !suppresses(&self.shapes[other], shape, self.params)
        };
        circles.each_near(self.circle(row), apart)
    }

    /// A circle around a row: rows whose circles do not meet do not suppress each other.
    fn circle(self, row: usize) -> [f64; 3] {
        let [x, y, radius] = self.shapes[row].circle();
        match self.params.metric {
            // Larger by more than what is rounded.
            NmsMetric::Circle => [x, y, f64::from(self.params.threshold).sqrt() * (0.5 + 1e-9) + 1e-9],
            _ => [x, y, radius],
        }
    }

    /// The class of a row, and its circle.
    fn placed(self, row: usize) -> (i32, [f64; 3]) {
        (self.classes.map_or(0, |classes| classes[row]), self.circle(row))
    }
}

/// Whether a kept box suppresses another.
fn suppresses(one: &BoxShape, other: &BoxShape, params: &NmsParams) -> bool {
    let over = |kind| one.iou(other, kind) as f32 > params.threshold;
    match params.metric {
        NmsMetric::Circle => one.squared_distance(other) <= f64::from(params.threshold),
        NmsMetric::Bev => over(IouKind::Bev),
        NmsMetric::Volume => over(IouKind::Volume),
    }
}
