//! The header of the workers is made of their lists: `POINTMILL_WRITE_DOCS=1 cargo test` writes it.

use super::params::{layout, numbers};
use super::*;
use pointmill::params::Params;
use pointmill::record::Kind;
use std::fmt::Write;
use std::path::Path;

fn upper(name: &str) -> String {
    name.to_uppercase().replace('-', "_")
}

/// A text of Rust's documentation in a comment of C.
fn comment(doc: &str, indent: &str) -> String {
    let first = doc.split("\n\n").next().unwrap_or_default();
    let words = first.split_whitespace().collect::<Vec<_>>().join(" ").replace('`', "");
    let mut lines = vec![String::new()];
    for word in words.split(' ') {
        if lines.last().is_some_and(|line| line.len() + word.len() > 100) {
            lines.push(String::new());
        }
        let line = lines.last_mut().unwrap();
        *line += if line.is_empty() { "" } else { " " };
        *line += word;
    }
    lines.iter().map(|line| format!("{indent}// {line}\n")).collect()
}

fn type_of(kind: Kind, bytes: usize) -> &'static str {
    match kind {
        Kind::Optional(kind) => type_of(*kind, bytes),
        Kind::Float | Kind::Array(_) if bytes == 4 => "float",
        Kind::Float | Kind::Array(_) => "double",
        _ if bytes == 4 => "uint32_t",
        _ => "uint64_t",
    }
}

fn operator<W: Worker>(to: &mut String, arrays: &str) {
    let name = W::NAME;
    for parameter in W::Params::PARAMETERS {
        if let Kind::Name(names) = parameter.kind {
            let of = format!("{name}_{}", parameter.name);
            let all =
                names.iter().enumerate().map(|(i, one)| format!("  POINTMILL_{}_{} = {i},\n", upper(&of), upper(one)));
            write!(to, "enum pointmill_{of} {{\n{}}};\n\n", all.collect::<String>()).unwrap();
        }
    }
    writeln!(to, "// Parameters of {name}; pointmill_{name}_params_init() sets the defaults.").unwrap();
    write!(
        to,
        "typedef struct pointmill_{name}_params {{\n  // sizeof(pointmill_{name}_params)\n  size_t struct_size;\n"
    )
    .unwrap();
    for parameter in W::Params::PARAMETERS {
        *to += &comment(parameter.doc, "  ");
        match parameter.kind {
            Kind::Name(_) => writeln!(to, "  // An enum pointmill_{name}_{}.", parameter.name).unwrap(),
            Kind::Optional(Kind::Float) => to.push_str("  // Minus infinity is none.\n"),
            Kind::Optional(_) => to.push_str("  // 0 is none.\n"),
            _ => {}
        }
        let many =
            if let Kind::Array(_) = parameter.kind { format!("[{}]", numbers(parameter.kind)) } else { String::new() };
        writeln!(to, "  {} {}{many};", type_of(parameter.kind, parameter.bytes), parameter.name).unwrap();
    }
    writeln!(to, "}} pointmill_{name}_params;\n").unwrap();
    write!(
        to,
        "static inline pointmill_status pointmill_{name}_params_init(pointmill_{name}_params *params) {{\n  \
         return pointmill_worker_defaults(\"{name}\", params, sizeof *params);\n}}\n\n\
         // A worker on the stream, to be destroyed by pointmill_worker_destroy(). NULL are the default parameters.\n\
         static inline pointmill_status pointmill_{name}_create(const pointmill_stream *stream,\n    \
         const pointmill_{name}_params *params, pointmill_worker **worker) {{\n  \
         return pointmill_worker_create(\"{name}\", stream, params, worker);\n}}\n\n"
    )
    .unwrap();
    for input in W::INPUTS {
        let text = format!(
            "{} {}: {}{}",
            input.argument,
            input.shape,
            input.doc,
            if input.optional { " NULL is none." } else { "" }
        );
        *to += &comment(&text, "");
        if input.kind == InputKind::Splits {
            *to += "// Numbers of u64 on the host.\n";
        }
    }
    *to += &format!("// Arrays of the result: {arrays}.\n");
    let parameters =
        W::INPUTS.iter().map(|input| format!(", const pointmill_array *{}", input.argument)).collect::<String>();
    let inputs =
        W::INPUTS.iter().map(|input| format!("    {{sizeof(pointmill_input), \"{0}\", {0}}},\n", input.argument));
    write!(
        to,
        "static inline pointmill_status pointmill_{name}_run(pointmill_worker *worker{parameters}) {{\n  \
         const pointmill_input inputs[] = {{\n{}  }};\n  \
         return pointmill_worker_run(worker, inputs, sizeof inputs / sizeof *inputs);\n}}\n\n",
        inputs.collect::<String>()
    )
    .unwrap();
}

fn arrays<W: Worker>() -> String {
    use pointmill::interop::ArrayName;
    let text = |array: &<W::Out as DeviceArrays>::Array| {
        let shape = array.doc().split('.').next().unwrap_or_default().replace('`', "");
        format!("\"{}\" {shape}", array.name())
    };
    <W::Out as DeviceArrays>::Array::ALL.iter().map(text).collect::<Vec<_>>().join(", ")
}

#[test]
fn the_header_is_that_of_the_lists() {
    let mut text =
        "/* Made of the lists of the workers by crates/pointmill-c/tests/unit/header.rs; included by pointmill.h. */\n\
        #ifndef POINTMILL_WORKERS_H\n#define POINTMILL_WORKERS_H\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
            .to_owned();
    operator::<Suppressor>(&mut text, &arrays::<Suppressor>());
    operator::<Downsampler>(&mut text, &arrays::<Downsampler>());
    operator::<FurthestSampler>(&mut text, &arrays::<FurthestSampler>());
    operator::<BallQuery>(&mut text, &arrays::<BallQuery>());
    operator::<Knn>(&mut text, &arrays::<Knn>());
    text += "#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/pointmill_workers.h");
    if std::env::var_os("POINTMILL_WRITE_DOCS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), text, "run with POINTMILL_WRITE_DOCS=1");
}

/// The struct of C has the layout that is counted with.
#[test]
fn structs_are_laid_out_as_in_c() {
    #[repr(C)]
    struct Nms(usize, u32, f32, f32, u32, u32, u32);
    #[repr(C)]
    struct Downsample(usize, [f32; 3], u32, u64);
    let (places, size) = layout(<Suppressor as Worker>::Params::PARAMETERS);
    assert_eq!(
        (size, places[2], places[5]),
        (size_of::<Nms>(), std::mem::offset_of!(Nms, 3), std::mem::offset_of!(Nms, 6))
    );
    let (places, size) = layout(<Downsampler as Worker>::Params::PARAMETERS);
    assert_eq!((size, places[2]), (size_of::<Downsample>(), std::mem::offset_of!(Downsample, 3)));
}
