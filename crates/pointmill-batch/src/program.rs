//! A whole program: its arguments, its log, signals, panics, and its exit code.

use crate::failure::Failure;
use crate::flags::{Global, message, paths};
use crate::printer::{Printer, print_end};
use crate::{interrupt, stderr};
use clap::error::{ContextKind, ContextValue};
use clap::{Command, FromArgMatches};
use pointmill_io::escape;
use std::any::Any;
use std::ffi::OsString;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::prelude::*;

/// The parsed command line of a program.
pub trait Program: FromArgMatches {
    /// Names that other programs have for commands, and what to use here.
    const HINTS: &[(&str, &str)] = &[];

    /// The flags of every command.
    fn global(&self) -> &Global;

    /// Does what the command line asks for.
    ///
    /// # Errors
    /// The failure that ends the program.
    fn run(&self, printer: &mut Printer) -> Result<(), Failure>;
}

/// The arguments that the program was started with, its name first.
static ARGUMENTS: OnceLock<Vec<OsString>> = OnceLock::new();

/// The arguments that the program was started with, its name first.
pub fn arguments() -> &'static [OsString] {
    ARGUMENTS.get_or_init(|| std::env::args_os().collect())
}

/// Parses arguments, the name of the program first, and runs the program, once in a process. Results
/// are printed on stdout, everything about them on stderr. Returns the exit code.
pub fn main<P: Program>(mut command: Command, given: impl IntoIterator<Item = OsString>) -> u8 {
    command.build();
    let arguments = ARGUMENTS.get_or_init(|| given.into_iter().collect());
    let parsed = command.clone().try_get_matches_from(arguments);
    let parsed = parsed.and_then(|matches| Ok((P::from_arg_matches(&matches)?, matches)));
    let (program, matches) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => return explain(hinted(error, P::HINTS)),
    };
    let global = program.global();
    stderr::set_quiet(global.quiet);
    start_log(global);
    interrupt::install(if global.json { report_json } else { report });
    pointmill_io::hush_decoder_panics();
    let mut printer = Printer::new(global.json);
    let run = |printer: &mut Printer| {
        if let Some(threads) = global.threads.map(usize::from) {
            pointmill::set_num_threads(threads)?;
            pointmill_io::set_max_threads(threads);
        }
        paths::check(&command, &matches)?;
        program.run(printer)
    };
    let done = catch_unwind(AssertUnwindSafe(|| run(&mut printer)));
    let done = done.unwrap_or_else(|panic| Err(Failure::Internal(message_of(&*panic))));
    // A run that was interrupted reports that, even if it has come to its end meanwhile.
    match done.and_then(|()| interrupt::check()) {
        Ok(()) => 0,
        Err(failure) => end(&failure, &mut printer),
    }
}

/// Prints events on stderr, as many as the flags ask for.
fn start_log(global: &Global) {
    let level = [LevelFilter::WARN, LevelFilter::INFO, LevelFilter::DEBUG, LevelFilter::TRACE];
    // Errors alone, if that is asked for too.
    let level = if global.quiet { LevelFilter::ERROR } else { level[usize::from(global.logs).min(3)] };
    // Events about kernels that the driver compiles explain to people why a first run takes longer.
    let compiles = if stderr::is_watched() { level.max(LevelFilter::INFO) } else { level };
    let filter = Targets::new().with_default(level).with_target("pointmill::device", compiles);
    let to_stderr = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_filter(filter);
    tracing_subscriber::registry().with(to_stderr).init();
}

/// Reports a signal that ends the program before its next step.
fn report(failure: &Failure) {
    stderr::error(failure);
}

/// The same, for machines too.
fn report_json(failure: &Failure) {
    report(failure);
    print_end(failure);
}

/// Reports the failure that ends the program.
fn end(failure: &Failure, printer: &mut Printer) -> u8 {
    if !failure.is_reported() {
        stderr::error(failure);
    }
    printer.failure(failure);
    failure.exit_code()
}

/// The message of a panic. Its place is on stderr already.
fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic").to_owned()
}

/// An error about a command of another program's name, with what to use here.
fn hinted(mut error: clap::Error, hints: &[(&str, &str)]) -> clap::Error {
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidSubcommand) else { return error };
    if let Some((_, instead)) = hints.iter().find(|(name, _)| name == given) {
        error.remove(ContextKind::SuggestedSubcommand);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![format!("use {instead}").into()]));
    }
    error
}

/// Reports arguments that cannot be parsed, or prints the help that was asked for. Control bytes in
/// the arguments are escaped.
fn explain(error: clap::Error) -> u8 {
    let error = &error;
    let json = arguments().iter().skip(1).take_while(|arg| *arg != "--").any(|arg| arg == "--json");
    if error.use_stderr() && json {
        Printer::new(true).failure(&Failure::Usage(message(error)));
    }
    let harmless = arguments().iter().all(|arg| {
        let arg = arg.to_string_lossy();
        escape(&arg) == arg
    });
    // A closed stderr is ignored.
    if harmless {
        let _ = error.print();
    } else {
        // Without colours, and line by line: the message has lines of its own.
        let plain = error.render().to_string();
        let lines: Vec<_> = plain.split('\n').map(escape).collect();
        let _ = std::io::stderr().lock().write_all(lines.join("\n").as_bytes());
    }
    if error.use_stderr() { 2 } else { 0 }
}
