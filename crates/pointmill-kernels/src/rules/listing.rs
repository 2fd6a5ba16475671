//! The text of a kernel as instructions, blocks and loops.

use crate::MODULES;
use std::collections::{BTreeSet, HashMap};

/// An instruction of a kernel.
pub(super) struct Instruction {
    /// Its name with all that follows after points, such as `ld.relaxed.gpu.global.u32`.
    pub(super) name: &'static str,
    /// The register that decides whether it runs.
    guard: Option<&'static str>,
    /// What follows the name.
    operands: &'static str,
}

/// Instructions that run one after the other.
struct Block {
    instructions: Vec<Instruction>,
    /// The blocks that may follow.
    next: Vec<usize>,
}

/// A kernel.
pub(super) struct Listing {
    pub(super) name: &'static str,
    blocks: Vec<Block>,
}

/// Where an address may come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Origin {
    /// The pointer at this place of the argument struct.
    Argument(usize),
    /// A constant of the module, or the block's shared memory.
    Module,
}

/// The blocks of a loop.
pub(super) struct Loop(BTreeSet<usize>);

/// All kernels.
pub(super) fn kernels() -> impl Iterator<Item = Listing> {
    MODULES.iter().flat_map(|module| Listing::all_of(module.ptx()))
}

impl Instruction {
    /// Of a line, or `None` for what is none.
    fn new(line: &'static str) -> Option<Self> {
        let line = line.trim();
        // A brace begins the body, or a conversion in registers alone.
        if !line.ends_with(';') || line.starts_with(['.', '{', '/', '$']) {
            return None;
        }
        let line = line.trim_end_matches(';');
        let (guard, line) = match line.strip_prefix('@') {
            Some(rest) => {
                let (guard, rest) = rest.split_once(char::is_whitespace)?;
                (Some(guard.trim_start_matches('!')), rest)
            }
            None => (None, line),
        };
        let (name, operands) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        Some(Self { name, guard, operands: operands.trim() })
    }

    /// What is written, and what is read.
    fn split(&self) -> (&'static str, &'static str) {
        if ["st.", "red.", "bra", "brx", "bar", "ret", "trap", "fence", "nanosleep"]
            .iter()
            .any(|name| self.name.starts_with(name))
        {
            return ("", self.operands);
        }
        let group = if self.operands.starts_with('{') { self.operands.find('}').expect("a closing brace") } else { 0 };
        let comma = self.operands[group..].find(',').map_or(self.operands.len(), |comma| group + comma);
        self.operands.split_at(comma)
    }

    fn written(&self) -> impl Iterator<Item = &'static str> {
        registers(self.split().0)
    }

    fn read(&self) -> impl Iterator<Item = &'static str> {
        registers(self.split().1)
    }

    /// The register that holds the address in global memory.
    pub(super) fn address(&self) -> Option<&'static str> {
        let accesses = ["ld.", "st.", "atom.", "red."].iter().any(|name| self.name.starts_with(name));
        if !accesses || self.name.contains(".shared") || self.name.contains(".param") {
            return None;
        }
        registers(&self.operands[self.operands.find('[')?..]).next()
    }

    /// Whether other blocks may access the same memory meanwhile.
    pub(super) fn is_strong(&self) -> bool {
        self.name.contains(".relaxed.") || self.name.starts_with("atom.") || self.name.starts_with("red.")
    }

    /// Whether memory is only read.
    pub(super) fn is_load(&self) -> bool {
        self.name.starts_with("ld.")
    }

    /// The pointer that is taken from the argument struct.
    fn argument(&self) -> Option<usize> {
        if !self.name.starts_with("ld.param.b64") {
            return None;
        }
        let (_, place) = self.operands.split_once("_param_0")?;
        Some(place.trim_start_matches('+').trim_end_matches(']').parse().unwrap_or(0))
    }

    /// Whether its result is an address if what it reads is one.
    fn keeps_addresses(&self) -> bool {
        ["add.", "sub.", "mov.", "selp.", "mad.", "or.", "min.", "max."].iter().any(|name| self.name.starts_with(name))
    }
}

/// The registers that a text names.
fn registers(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.split('%').skip(1).map(|rest| rest.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or(""))
}

/// The labels that a text names.
fn labels(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.split("$L")
        .skip(1)
        .map(|rest| rest.split(|c: char| c != '_' && !c.is_ascii_alphanumeric()).next().unwrap_or(""))
}

impl Listing {
    /// The kernels of a text.
    pub(super) fn all_of(ptx: &'static str) -> impl Iterator<Item = Self> {
        ptx.split(".visible .entry ").skip(1).map(Self::new)
    }

    fn new(text: &'static str) -> Self {
        let (head, body) = text.split_once("\n{\n").expect("a body");
        let name = head.split('(').next().expect("a name");
        let mut blocks = vec![Block { instructions: Vec::new(), next: Vec::new() }];
        let mut starts = HashMap::new();
        let mut tables: HashMap<&str, Vec<&str>> = HashMap::new();
        let body = body.split_once("\n}\n").map_or(body, |(body, _)| body);
        // Tables of labels may go over several lines.
        for (label, after) in body.split("$L").skip(1).filter_map(|rest| rest.split_once(':')) {
            if let Some(table) = after.trim_start().strip_prefix(".branchtargets") {
                tables.insert(label, labels(table.split(';').next().unwrap_or("")).collect());
            }
        }
        for line in body.lines() {
            if let Some(label) = line.trim().strip_prefix("$L").and_then(|line| line.split_once(':')) {
                blocks.push(Block { instructions: Vec::new(), next: Vec::new() });
                starts.insert(label.0, blocks.len() - 1);
            }
            let Some(instruction) = Instruction::new(line) else { continue };
            let ends = ["bra", "brx", "ret", "trap"].iter().any(|name| instruction.name.starts_with(name));
            blocks.last_mut().expect("a block").instructions.push(instruction);
            if ends {
                blocks.push(Block { instructions: Vec::new(), next: Vec::new() });
            }
        }
        let count = blocks.len();
        for (i, block) in blocks.iter_mut().enumerate() {
            let mut falls = true;
            if let Some(last) = block.instructions.last() {
                if last.name.starts_with("bra") {
                    block.next.extend(labels(last.operands).map(|label| starts[label]));
                    falls = last.guard.is_some();
                } else if last.name.starts_with("brx") {
                    let table = labels(last.operands).next().expect("a table");
                    block.next.extend(tables[table].iter().map(|label| starts[label]));
                    falls = false;
                } else if last.name == "ret" || last.name == "trap" {
                    falls = last.guard.is_some();
                }
            }
            if falls && i + 1 < count {
                block.next.push(i + 1);
            }
        }
        Self { name, blocks }
    }

    pub(super) fn instructions(&self) -> impl Iterator<Item = &Instruction> {
        self.blocks.iter().flat_map(|block| &block.instructions)
    }

    /// Where the value of each register may come from, as far as it is an address.
    pub(super) fn origins(&self) -> HashMap<&'static str, BTreeSet<Origin>> {
        let mut origins: HashMap<&str, BTreeSet<Origin>> = HashMap::new();
        loop {
            let mut news = false;
            for instruction in self.instructions() {
                let mut from = BTreeSet::new();
                if let Some(place) = instruction.argument() {
                    from.insert(Origin::Argument(place));
                } else if instruction.keeps_addresses() {
                    let read = instruction.split().1.trim_start_matches([',', ' ', '\t']);
                    if instruction.name.starts_with("mov.")
                        && read.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                    {
                        from.insert(Origin::Module);
                    }
                    from.extend(
                        instruction.read().flat_map(|register| origins.get(register).into_iter().flatten().copied()),
                    );
                }
                for register in instruction.written() {
                    let known = origins.entry(register).or_default();
                    news |= !from.is_subset(known);
                    known.extend(&from);
                }
            }
            if !news {
                return origins;
            }
        }
    }

    /// The loops: for each jump back to a block that leads to it, what lies between.
    pub(super) fn loops(&self) -> Vec<Loop> {
        let mut before = vec![Vec::new(); self.blocks.len()];
        for (i, block) in self.blocks.iter().enumerate() {
            block.next.iter().for_each(|&next| before[next].push(i));
        }
        let mut loops = Vec::new();
        // Blocks on the way to where the walk is, each with how many of its successors were looked
        // at.
        let (mut way, mut seen) = (vec![(0, 0)], vec![false; self.blocks.len()]);
        seen[0] = true;
        while let Some((block, looked)) = way.last_mut() {
            let (from, next) = (*block, self.blocks[*block].next.get(*looked).copied());
            *looked += 1;
            match next {
                None => drop(way.pop()),
                Some(next) if way.iter().any(|&(block, _)| block == next) => {
                    let (mut inside, mut waiting) = (BTreeSet::from([next]), vec![from]);
                    while let Some(block) = waiting.pop() {
                        if inside.insert(block) {
                            waiting.extend(&before[block]);
                        }
                    }
                    loops.push(Loop(inside));
                }
                Some(next) if !seen[next] => {
                    seen[next] = true;
                    way.push((next, 0));
                }
                Some(_) => {}
            }
        }
        loops
    }

    /// The instructions of a loop.
    pub(super) fn within(&self, of: &Loop) -> impl Iterator<Item = &Instruction> {
        of.0.iter().flat_map(|&block| &self.blocks[block].instructions)
    }

    /// Whether the loop ends by what other blocks write, and by nothing else.
    pub(super) fn ends_by_others(&self, of: &Loop) -> bool {
        let mut others: BTreeSet<&str> = BTreeSet::new();
        loop {
            let known = others.len();
            for instruction in self.within(of) {
                let strong = instruction.address().is_some() && instruction.is_strong();
                if strong || instruction.read().any(|register| others.contains(register)) {
                    others.extend(instruction.written());
                }
            }
            if others.len() == known {
                break;
            }
        }
        let leaves = |block: &&usize| self.blocks[**block].next.iter().any(|next| !of.0.contains(next));
        let mut ends = of.0.iter().filter(leaves).map(|&block| self.blocks[block].instructions.last());
        ends.all(|last| {
            last.and_then(|last| last.guard).is_some_and(|guard| others.contains(guard.trim_start_matches('%')))
        })
    }
}
