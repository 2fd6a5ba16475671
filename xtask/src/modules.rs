//! One PTX text into a text for each module.

use pointmill_kernels::{MODULES, Module, Properties};

/// The modules' texts, in the order of [`MODULES`]: what the compiler wrote before the first
/// function, and the module's entries with their performance directives.
pub(crate) fn split(text: &str) -> Result<Vec<String>, String> {
    let (head, mut functions) = parts(text);
    let mut texts = Vec::new();
    for module in &MODULES {
        let mut own = String::new();
        for kernel in module.kernels {
            let at = functions.iter().position(|f| f.name == kernel.name);
            let function = functions.remove(at.ok_or_else(|| format!("no kernel {} in the PTX", kernel.name))?);
            own += &with_directives(function.text, kernel)?;
        }
        texts.push(head_of(&head, &own, module));
    }
    match functions.iter().find(|f| f.is_entry) {
        Some(left) => Err(format!("kernel {} is in no list of KERNELS", left.name)),
        None => Ok(texts),
    }
}

struct Function<'a> {
    name: &'a str,
    is_entry: bool,
    text: &'a str,
}

/// The lines before the first function, and the functions. A function is announced by a comment and
/// ends where the next is announced.
fn parts(text: &str) -> (Vec<&str>, Vec<Function<'_>>) {
    let starts: Vec<usize> = text.match_indices("\t// .globl\t").map(|(at, _)| at).collect();
    let first = starts.first().copied().unwrap_or(text.len());
    let mut head: Vec<&str> = text[..first].lines().collect();
    let mut functions = Vec::new();
    for (i, start) in starts.iter().enumerate() {
        let body = &text[*start..starts.get(i + 1).copied().unwrap_or(text.len())];
        let line = body.lines().next().unwrap_or_default();
        let name = line.rsplit('\t').next().unwrap_or_default();
        // Constants stand behind the announcement of the first function.
        head.extend(body.lines().filter(|line| line.starts_with(".global ")));
        functions.push(Function { name, is_entry: body.contains("\n.visible .entry "), text: body });
    }
    (head, functions)
}

/// A module's text: of the head those constants that its entries name.
fn head_of(head: &[&str], own: &str, module: &Module) -> String {
    let needed = |line: &str| match line.strip_prefix(".global ") {
        Some(constant) => {
            let name = constant.split('[').next().and_then(|left| left.rsplit(' ').next());
            name.is_some_and(|name| own.contains(name))
        }
        None => !line.is_empty() && !line.starts_with("//"),
    };
    let head = head.iter().filter(|line| needed(line)).fold(String::new(), |head, line| head + line + "\n");
    format!("// Kernels of {}.\n{head}\n{own}", module.folder)
}

/// An entry with the performance directives of its kernel behind its parameters; rustc has no
/// attribute for them.
fn with_directives(text: &str, kernel: &Properties) -> Result<String, String> {
    let mut text: String =
        text.lines().filter(|line| !line.starts_with(".global ")).fold(String::new(), |text, line| text + line + "\n");
    if let Some(blocks) = kernel.min_blocks {
        let body = text.find("\n{").ok_or_else(|| format!("kernel {} has no body", kernel.name))?;
        text.insert_str(body, &format!("\n.maxntid {}, 1, 1\n.minnctapersm {blocks}", kernel.block));
    }
    Ok(text)
}
