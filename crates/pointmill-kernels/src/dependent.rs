//! Kernels that begin while the one before them in the stream ends (programmatic dependent launch),
//! on GPUs that can.
//!
//! Between two kernels of a stream a GPU waits for the first to drain, then starts the blocks of
//! the second: about a microsecond each time. From compute capability 9.0 on, the blocks of the
//! second may start earlier and wait inside. Two instructions do it, as the first of each kernel:
//! one waits until all work before the kernel is done and visible, the other lets the next kernel
//! start. Nothing stands before the wait, so a kernel sees what it would see without. Source: PTX
//! ISA, `griddepcontrol`.

use std::borrow::Cow;

/// The oldest compute capability with the instructions.
pub const SINCE: (u8, u8) = (9, 0);

/// The first instructions of each kernel.
const PROLOGUE: &str = "\tgriddepcontrol.wait;\n\tgriddepcontrol.launch_dependents;\n";

/// PTX text of any number of kernels for a GPU of this compute capability: where the GPU can, each
/// waits for the one before itself.
pub fn text_for(ptx: &str, capability: (u8, u8)) -> Cow<'_, str> {
    if capability < SINCE {
        return Cow::Borrowed(ptx);
    }
    let mut text = String::with_capacity(ptx.len() + (8 << 10));
    let mut in_head = false;
    for line in ptx.split_inclusive('\n') {
        match line {
            ".target sm_70\n" => text += ".target sm_90\n",
            line => text += line,
        }
        in_head |= line.starts_with(".visible .entry ");
        if in_head && line == "{\n" {
            text += PROLOGUE;
            in_head = false;
        }
    }
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MODULES;

    #[test]
    fn each_kernel_waits_before_anything_else() {
        for module in &MODULES {
            assert_eq!(text_for(module.ptx(), (8, 9)), module.ptx());
            let text = text_for(module.ptx(), (9, 0));
            assert!(text.contains("\n.target sm_90\n") && !text.contains(".target sm_70"), "{}", module.folder);
            let bodies: Vec<_> = text.split(".visible .entry ").skip(1).collect();
            assert_eq!(bodies.len(), module.kernels.len());
            for body in bodies {
                let (_, inside) = body.split_once("\n{\n").unwrap();
                assert!(inside.starts_with(PROLOGUE) && inside.matches("griddepcontrol").count() == 2, "{body:.60}");
            }
            assert_eq!(text.replace(PROLOGUE, "").replace("sm_90", "sm_70"), module.ptx());
        }
    }
}
