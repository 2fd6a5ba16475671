//! Checks of a description before it is parsed.
//!
//! The parser compares the attributes of an element with each other, and the namespaces of an
//! element with those around it, so that their number must be bounded. A `<` starts each element
//! and stands in no attribute, so what lies between two of them has no more attributes than it has
//! equals signs before quotes. Texts may have some too; nothing is taken from them but their
//! number.

use crate::error::IoError;
use crate::fault::{Within, bail, fault};
use memchr::{memchr_iter, memmem};
use std::path::Path;

/// The most attributes of an element, where files have less than ten; and the most namespaces of a
/// file, where files have one for each extension.
const MOST: usize = 64;

/// Bytes of memory that the parser and the scans take at most for an element.
const ELEMENT: u64 = 256;

pub(super) fn check(path: &Path, xml: &[u8], max_memory: Option<u64>) -> Result<(), IoError> {
    let description = Within(path, "description");
    let most = |what: &str, found: usize| {
        if found <= MOST { Ok(()) } else { Err(fault!(description, LimitExceeded, what, "at most {MOST}", found)) }
    };
    most("namespaces", memmem::find_iter(xml, b"xmlns").count())?;
    let mut elements = 0u64;
    for part in xml.split(|&b| b == b'<') {
        elements += 1;
        let is_quote = |at: usize| {
            let next = part[at + 1..].iter().find(|b| !b.is_ascii_whitespace());
            next.is_some_and(|b| [b'"', b'\''].contains(b))
        };
        most("attributes of an element", memchr_iter(b'=', part).filter(|&at| is_quote(at)).count())?;
    }
    let memory = elements * ELEMENT + xml.len() as u64;
    match max_memory {
        Some(limit) if memory > limit => {
            let wanted = format!("at most {limit} bytes (the limit `max_memory`, --max-memory)");
            bail!(description, LimitExceeded, "memory", wanted, "{memory} bytes for {elements} elements")
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(xml: &str, max_memory: Option<u64>) -> String {
        check(Path::new("a"), xml.as_bytes(), max_memory).map_or_else(|e| e.to_string(), |()| "good".into())
    }

    #[test]
    fn attributes_and_namespaces_are_counted() {
        let element = |n: usize| format!("<a><b>x = y \"z\"</b><c {}/></a>", "q='>' \n".repeat(n));
        assert_eq!(told(&element(64), None), "good");
        // Quotes in front hide nothing, nor does what is no text.
        for xml in [element(65), format!("<?p \"?>{}", element(65)), format!("<!-- ' -->{}", element(65))] {
            assert_eq!(told(&xml, None), "a: description: attributes of an element: expected at most 64, got 65");
        }
        assert_eq!(told(&"<a k='1'/>".repeat(1000), None), "good");
        let spaces = |n: usize| (0..n).map(|i| format!("<a xmlns:n{i} = 'u'/>")).collect::<String>();
        assert_eq!(told(&spaces(64), None), "good");
        assert_eq!(told(&spaces(65), None), "a: description: namespaces: expected at most 64, got 65");
        let wanted = "a: description: memory: expected at most 99999 bytes (the limit `max_memory`, --max-memory), got 260256 bytes for 1001 elements";
        assert_eq!(told(&"<a/>".repeat(1000), Some(99_999)), wanted);
    }
}
