//! Where the sums of a search are made: on the host when a block is opened, on a device ahead of that.

use super::gpu;
use super::params::Yaws;
use super::queue::{Node, Queue, Sums};
use super::source::{Source, Turned};
use super::target::LevelTarget;
use super::values::Values;
use crate::{Result, memory, par};
use rayon::prelude::*;

/// What makes the sums of a search.
#[derive(Debug)]
pub(super) enum Work<'a> {
    Host(Turned<'a>),
    Device(Box<gpu::Adder<'a>>),
}

impl<'a> Work<'a> {
    pub(super) fn new(target: &'a LevelTarget, source: &Source, yaws: &Yaws) -> Result<Self> {
        Ok(match target.values() {
            Values::Host(field) => Self::Host(Turned::new(field, source, yaws, target.margin())?),
            Values::Device(field) => Self::Device(Box::new(gpu::Adder::new(field, source, yaws, target.margin())?)),
        })
    }

    /// The wide blocks of all yaws with their bounds, but those with a bound of 0.
    pub(super) fn bounded<I: Iterator<Item = Node>>(
        &mut self,
        source: &Source,
        yaws: u32,
        of_yaw: impl Fn(u32) -> I + Sync,
    ) -> Result<Vec<Node>> {
        let mut all = Vec::new();
        match self {
            Self::Host(turned) => {
                let turned = &*turned;
                let of_yaw = |yaw: u32| -> Result<Vec<Node>> {
                    let mut nodes = Vec::new();
                    for node in of_yaw(yaw) {
                        let score = turned.bound(source, &node);
                        if score > 0 {
                            memory::push(&mut nodes, Node { score, ..node })?;
                        }
                    }
                    Ok(nodes)
                };
                let yaws = (0..yaws).into_par_iter().with_min_len(par::grain(1)).map(of_yaw);
                for nodes in memory::collect_parallel(yaws)? {
                    memory::extend(&mut all, nodes?.into_iter())?;
                }
            }
            Self::Device(adder) => {
                let mut nodes = (0..yaws).flat_map(of_yaw).peekable();
                let mut part = Vec::new();
                while nodes.peek().is_some() {
                    par::check();
                    part.clear();
                    nodes.by_ref().take(gpu::BOUNDS).try_for_each(|node| memory::push(&mut part, node))?;
                    for (node, bound) in part.iter().zip(adder.bounds(source, &part)?) {
                        if bound > 0 {
                            memory::push(&mut all, Node { score: bound as u16, ..*node })?;
                        }
                    }
                }
            }
        }
        Ok(all)
    }

    /// The sums of nodes that were taken from a queue. A device also makes those of the best nodes
    /// that are left in it, which come next.
    pub(super) fn sums(
        &mut self,
        source: &Source,
        nodes: &[(Node, Option<Sums>)],
        queue: &mut Queue,
    ) -> Result<Vec<Sums>> {
        let adder = match self {
            Self::Host(turned) => {
                let of = |(node, sums): &(Node, Option<Sums>)| sums.unwrap_or_else(|| turned.sums(source, node));
                return memory::collect_parallel(nodes.par_iter().with_min_len(par::grain(1)).map(of));
            }
            Self::Device(adder) => adder,
        };
        let mut without = Vec::new();
        let missing = nodes.iter().filter(|(_, sums)| sums.is_none());
        missing.clone().try_for_each(|(node, _)| memory::push(&mut without, *node))?;
        let missing = without.len();
        let mut made = Vec::new();
        if missing > 0 {
            let more = adder.at_once().saturating_sub(missing);
            queue.without_sums(more).try_for_each(|node| memory::push(&mut without, node))?;
            made = adder.sums(source, &without)?;
            for (node, sums) in without.iter().zip(&made).skip(missing) {
                queue.push_with(*node, *sums)?;
            }
        }
        let mut made = made.into_iter();
        let mut next = || made.next().expect("as many as were missing");
        memory::collect(nodes.iter().map(|(_, sums)| sums.unwrap_or_else(&mut next)))
    }
}
