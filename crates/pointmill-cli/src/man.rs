//! `pointmill man`: manual pages of all commands.

use crate::failure::Failure;
use crate::interrupt::undivided;
use crate::outputs::clear_unfinished;
use crate::printer::Printer;
use crate::text::shown;
use clap::Command;
use clap_mangen::Man;
use pointmill_io::{Place, write_whole};
use std::io::Write;
use std::path::Path;

/// Runs the command.
pub(crate) fn run(mut all: Command, out: Option<&Path>, printer: &mut Printer) -> Result<(), Failure> {
    // It gives every command its name and the flags of all.
    all.build();
    let Some(out) = out else { return printer.plain(&page(&all)?) };
    std::fs::create_dir_all(out).map_err(Failure::io(out, "make the folder"))?;
    clear_unfinished(out)?;
    let mut left = vec![&all];
    while let Some(command) = left.pop() {
        left.extend(command.get_subcommands().filter(|command| command.get_name() != "help"));
        let (path, page) = (out.join(Man::new(command.clone()).get_filename()), page(command)?);
        undivided(|| write_whole(Place { path: &path, follow_links: false }, |file| file.write_all(&page)))?;
        printer.text(&pointmill_io::escape(&shown(&path)))?;
    }
    Ok(())
}

fn page(command: &Command) -> Result<Vec<u8>, Failure> {
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page).map_err(Failure::io("stdout".as_ref(), "write"))?;
    Ok(page)
}
