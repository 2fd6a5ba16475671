//! Runs a command over any number of inputs, one like a thousand.
//!
//! A program implements [`batch::Command`] for what it does with one input. This crate does the
//! rest: it finds the inputs, takes them through workers in their order, resumes what an earlier
//! run left, writes files whole or not at all, answers signals, and prints a table for people or
//! JSON lines for machines. The command line of pointmill is such a program. The crate knows no
//! operator.
//!
//! Imports go one way: [`batch`] uses [`inputs`], [`outputs`] and [`flags`], which use the small
//! modules.
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![forbid(unsafe_code)]

pub mod batch;
pub mod device;
pub mod failure;
pub mod flags;
pub mod inputs;
pub mod interrupt;
pub mod json;
pub mod outputs;
pub mod picture;
pub mod pose;
pub mod printer;
pub mod program;
mod progress;
mod signal;
pub mod stats;
pub mod stderr;
pub mod text;
