//! Array operators as doors see any of them: parameters, inputs and results by lists.

#[cfg(test)]
mod tests;

use crate::arrays::DeviceArrays;
use crate::device::Stream;
use crate::{Argument, Dtype, Error, Ints, Result, Rows};
use pointmill_core::params::{OutOfRange, Params};

/// An operator that keeps its memory between calls, and whose parameters ([`Params`]), inputs and
/// arrays of results ([`DeviceArrays`]) are lists. A door that knows these lists has every operator.
pub trait Worker: Sized + Send + 'static {
    /// Its parameters.
    type Params: Params + Send + 'static;
    /// Its result.
    type Out: DeviceArrays + Send + 'static;
    /// The name of the function.
    const NAME: &'static str;
    /// What a call takes, those that are optional last.
    const INPUTS: &'static [Input];

    /// A worker whose work goes to `stream`.
    ///
    /// # Errors
    /// Parameters out of range; out of memory.
    fn new(stream: &Stream, params: &Self::Params) -> Result<Self>;

    /// An empty result to be filled; its buffers grow as needed and are used again.
    ///
    /// # Errors
    /// Out of memory.
    fn output(&self) -> Result<Self::Out>;

    /// Fills a result.
    ///
    /// # Errors
    /// Inputs that do not fit; those of the operator.
    fn run(&mut self, inputs: &Inputs<'_>, out: &mut Self::Out) -> Result<()>;
}

/// An input of a [`Worker`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input {
    /// Its name.
    pub argument: Argument,
    /// What it is.
    pub kind: InputKind,
    /// Whether it may be left out.
    pub optional: bool,
    /// Its shape, for readers.
    pub shape: &'static str,
    /// What it means, for readers.
    pub doc: &'static str,
}

/// What an input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputKind {
    /// Rows of so many columns, any number if `None`, of one of these types.
    Rows(Option<usize>, &'static [Dtype]),
    /// A whole number of 32 bits for each row.
    Ints,
    /// Where the items of a batch start, on the host.
    Splits,
}

impl Input {
    /// An input that must be there.
    pub const fn new(argument: Argument, kind: InputKind, shape: &'static str, doc: &'static str) -> Self {
        Self { argument, kind, optional: false, shape, doc }
    }

    /// The same as one that may be left out.
    #[must_use]
    pub const fn optional(self) -> Self {
        Self { optional: true, ..self }
    }
}

/// The inputs of a call by their names.
#[derive(Clone, Debug, Default)]
pub struct Inputs<'a> {
    rows: Vec<(Argument, Rows<'a>)>,
    ints: Vec<(Argument, Ints<'a>)>,
    splits: Vec<(Argument, &'a [usize])>,
}

impl<'a> Inputs<'a> {
    /// Adds rows.
    pub fn set_rows(&mut self, argument: Argument, rows: Rows<'a>) {
        self.rows.push((argument, rows));
    }

    /// Adds whole numbers.
    pub fn set_ints(&mut self, argument: Argument, ints: Ints<'a>) {
        self.ints.push((argument, ints));
    }

    /// Adds splits.
    pub fn set_splits(&mut self, argument: Argument, splits: &'a [usize]) {
        self.splits.push((argument, splits));
    }

    /// Rows that must be there.
    ///
    /// # Errors
    /// None of this name.
    pub fn rows(&self, argument: Argument) -> Result<Rows<'a>> {
        of(&self.rows, argument).ok_or_else(|| Error::argument(argument, "an array", "none"))
    }

    /// Whole numbers, if they are there.
    pub fn ints(&self, argument: Argument) -> Option<Ints<'a>> {
        of(&self.ints, argument)
    }

    /// Splits, if they are there.
    pub fn splits(&self, argument: Argument) -> Option<&'a [usize]> {
        of(&self.splits, argument)
    }
}

fn of<T: Copy>(all: &[(Argument, T)], argument: Argument) -> Option<T> {
    all.iter().find(|(one, _)| *one == argument).map(|(_, value)| *value)
}

/// A parameter that is out of range is an [`Error::Argument`].
impl From<OutOfRange> for Error {
    fn from(why: OutOfRange) -> Self {
        match why.name.parse() {
            Ok(argument) => Self::argument(argument, why.expected, why.got),
            Err(_) => Self::Internal { what: format!("{} has no name among arguments", why.name) },
        }
    }
}
