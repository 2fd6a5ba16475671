//! Boxes that do not count, and what is said of them.

use crate::memory::Watch;
use crate::protocol::{Protocol, Reason};
use crate::report::{AveragePrecision, Counts, DetectionReport};
use crate::{argoverse, kitti, nuscenes};
use pointmill_io::detections::Detections;
use pointmill_io::escape;
use std::collections::BTreeMap;

/// Most names of a warning.
const SHOWN: usize = 8;

/// The classes that a protocol evaluates.
fn evaluated(protocol: Protocol, class: &str) -> bool {
    match protocol {
        Protocol::KittiR40 | Protocol::KittiR11 => {
            kitti::CLASSES.iter().any(|(known, ..)| kitti::is_class(class, known))
        }
        Protocol::NuScenes => nuscenes::CLASSES.iter().any(|(known, _)| *known == class),
        Protocol::Argoverse2 => argoverse::CLASSES.contains(&class),
    }
}

/// Whether a benchmark has a class, evaluated or not.
fn is_known(protocol: Protocol, class: &str) -> bool {
    let other: &[&str] = match protocol {
        Protocol::KittiR40 | Protocol::KittiR11 => &["Van", "Truck", "Person_sitting", "Tram", "Misc", "DontCare"],
        Protocol::NuScenes => &[],
        Protocol::Argoverse2 => &["ANIMAL", "OFFICIAL_SIGNALER", "RAILED_VEHICLE", "TRAFFIC_LIGHT_TRAILER"],
    };
    evaluated(protocol, class) || other.iter().any(|known| kitti::is_class(class, known))
}

fn boxes(count: usize) -> String {
    if count == 1 { "1 box".into() } else { format!("{count} boxes") }
}

/// What is said of boxes that do not count: those of unknown classes, and all of a class.
pub(crate) fn warnings(
    protocol: Protocol,
    sides: [&Detections; 2],
    reason: &dyn Fn(usize, usize) -> Option<Reason>,
    watch: Watch<'_>,
) -> Vec<String> {
    let mut told = vec![];
    for (side, name) in ["predictions", "truth"].into_iter().enumerate() {
        let of = sides[side];
        let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
        let mut reasons: BTreeMap<(u32, Reason), usize> = BTreeMap::new();
        for (row, &class) in of.class.iter().enumerate() {
            if row.is_multiple_of(4096) {
                watch();
            }
            *counts.entry(class).or_default() += 1;
            if evaluated(protocol, &of.classes[class as usize])
                && let Some(reason) = reason(side, row)
            {
                *reasons.entry((class, reason)).or_default() += 1;
            }
        }
        told.extend(unknown(protocol, name, of, &counts));
        for (&class, &count) in &counts {
            let of_class: Vec<_> = reasons.iter().filter(|((of, _), _)| *of == class).collect();
            if of_class.iter().map(|(_, count)| **count).sum::<usize>() == count && count > 0 {
                let why: Vec<_> = of_class.iter().map(|((_, why), n)| format!("{n} are {why}")).collect();
                let whose = escape(&of.classes[class as usize]);
                told.push(format!("{name}: none of {} of `{whose}` counts: {}", boxes(count), why.join(", ")));
            }
        }
    }
    let [predictions, _] = sides;
    if predictions.len() > 1 && predictions.scores.iter().all(|&score| score.total_cmp(&1.0).is_eq()) {
        told.push("predictions: all scores are 1, as of labels without a score; their order decides".into());
    }
    told
}

/// What is said of classes whose average precision is 0 though nothing was a hit, false or missed.
pub(crate) fn empty(report: &DetectionReport) -> Option<String> {
    let none = |of: &&AveragePrecision| {
        let Counts { true_positives, false_positives, missed, .. } = of.counts;
        of.ap.is_some() && true_positives + false_positives + missed == 0
    };
    let empty: Vec<_> = report.chosen().filter(none).map(|of| format!("`{}`", of.class)).collect();
    let more = if empty.len() > SHOWN { ", .." } else { "" };
    let names = empty[..empty.len().min(SHOWN)].join(", ");
    let whose = format!("no box of it is a hit, false or missed, and the protocol {} takes this as 0", report.protocol);
    (!empty.is_empty()).then(|| format!("the AP of {} is 0: {names}{more}: {whose}", classes(empty.len())))
}

fn classes(count: usize) -> String {
    if count == 1 { "1 class".into() } else { format!("{count} classes") }
}

/// What is said of classes that a benchmark does not have.
fn unknown(protocol: Protocol, name: &str, of: &Detections, counts: &BTreeMap<u32, usize>) -> Option<String> {
    let class = |class: u32| &*of.classes[class as usize];
    let unknown: Vec<_> = counts.iter().filter(|(of, _)| !is_known(protocol, class(**of))).collect();
    let count = unknown.iter().map(|(_, count)| **count).sum::<usize>();
    let names: Vec<_> = unknown.iter().take(SHOWN).map(|(of, _)| format!("`{}`", escape(class(**of)))).collect();
    let more = if unknown.len() > names.len() { ", .." } else { "" };
    let verb = if count == 1 { "does" } else { "do" };
    let names = names.join(", ");
    (count > 0).then(|| {
        format!("{name}: {} of {names}{more} {verb} not count: the protocol {protocol} has no such class", boxes(count))
    })
}
