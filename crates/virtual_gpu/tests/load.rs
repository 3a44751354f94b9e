//! How much work it is to load a module: proportional to its text, whatever its shape.
//!
//! `cargo test --release -p virtual_gpu --test load -- --ignored --nocapture` loads each shape with 100,000 instructions
//! and prints how long it took.

mod harness;

use std::fmt::Write;
use std::time::Instant;

use gpu_model::chips::H200;
use harness::{Arg, Device};
use virtual_gpu::{Gpu, Launch};

const HEAD: &str = ".version 8.0\n.target sm_90\n.address_size 64\n";
const SHARED: &str = ".shared .align 4 .b8 s[4096];\n";

/// A module with one kernel with this body, after module declarations.
fn kernel(module: &str, body: &str) -> String {
    format!("{HEAD}{module}.visible .entry k(.param .u64 p)\n{{\n{body}ret;\n}}\n")
}

/// Lines made by `line` from 0 to `n`.
fn lines(n: usize, line: impl Fn(usize) -> String) -> String {
    (0..n).fold(String::new(), |mut text, i| {
        text += &line(i);
        text.push('\n');
        text
    })
}

/// A shape of program: its name, and how to make one with about `n` instructions.
type Shape = (&'static str, fn(usize) -> String);

const SHAPES: &[Shape] = &[
    ("a chain of additions to a shared address", |n| {
        let first = ".reg .b64 %r<200002>;\nmov.u64 %r0, s;\n";
        kernel(SHARED, &format!("{first}{}", lines(n, |i| format!("add.u64 %r{}, %r{i}, 4;", i + 1))))
    }),
    ("the same written from its end", |n| {
        // Each block jumps back to the one before it in the text, which continues the chain.
        let mut body = format!(".reg .b64 %r<200002>;\nmov.u64 %r{n}, s;\nbra L{};\n", n - 1);
        for i in 0..n {
            let next = if i == 0 { "END".to_owned() } else { format!("L{}", i - 1) };
            write!(body, "L{i}:\nadd.u64 %r{i}, %r{}, 4;\nbra {next};\n", i + 1).unwrap();
        }
        kernel(SHARED, &format!("{body}END:\n"))
    }),
    ("differences of addresses in a loop", |n| {
        let step = |i: usize| match i % 3 {
            0 => format!("add.u64 %r{}, %r{}, 4;", (i + 1) % 97, i % 97),
            1 => format!("sub.u64 %r{}, %r{}, %r{};", (i + 5) % 97, i % 97, (i * 7) % 97),
            _ => format!("selp.b64 %r{}, %r{}, %r{}, %q;", (i + 2) % 97, (i + 3) % 97, (i * 5) % 97),
        };
        let head = ".reg .b64 %r<97>;\n.reg .pred %q;\nmov.u64 %r0, s;\nmov.u64 %r50, s;\nsetp.eq.u64 %q, %r0, 0;\nL:\n";
        kernel(SHARED, &format!("{head}{}@%q bra L;\n", lines(n, step)))
    }),
    ("one register written everywhere", |n| {
        let head = ".reg .b64 %r<3>;\nmov.u64 %r0, s;\n";
        kernel(SHARED, &format!("{head}{}", lines(n, |_| "add.u64 %r0, %r0, 4;".into())))
    }),
    ("a label and a branch for each instruction", |n| {
        let head = ".reg .b32 %r<2>;\n.reg .pred %q;\nmov.u32 %r0, 1;\nsetp.eq.u32 %q, %r0, 0;\n";
        let step = |i: usize| format!("L{i}: @%q bra L{};", (i * 7919) % n);
        kernel("", &format!("{head}{}", lines(n, step)))
    }),
    ("registers that live through many blocks", |n| {
        let half = n / 4;
        let define = lines(half, |i| format!("mov.u32 %r{i}, {i};"));
        let blocks = lines(half, |i| format!("@%q bra L{i};\nadd.u32 %r{i}, %r{i}, 1;\nL{i}:"));
        let uses = lines(half, |i| format!("add.u32 %sum, %sum, %r{i};"));
        let head = ".reg .b32 %r<50000>;\n.reg .b32 %sum;\n.reg .pred %q;\nmov.u32 %sum, 0;\nsetp.eq.u32 %q, %sum, 0;\n";
        kernel("", &format!("{head}{define}{blocks}{uses}"))
    }),
    ("loops around loops", |n| {
        let half = n / 2;
        let opens = lines(half, |i| format!("L{i}: add.u32 %r{i}, %r{i}, 1;"));
        let closes = lines(half, |i| format!("@%q bra L{};", half - 1 - i));
        let head = ".reg .b32 %r<50000>;\n.reg .pred %q;\nsetp.eq.u32 %q, 0, 1;\n";
        kernel("", &format!("{head}{opens}{closes}"))
    }),
    ("registers handed on around a loop", |n| {
        // What is known about the first propagates through all the others, one per iteration.
        let moves = lines(n, |i| format!("mov.u64 %r{}, %r{};", i, i + 1));
        let head = format!(
            ".reg .b64 %r<100002>;\n.reg .pred %q;\nmov.u64 %r{n}, s;\nsetp.eq.u64 %q, %r{n}, 0;\nL:\n"
        );
        kernel(SHARED, &format!("{head}{moves}@%q bra L;\n"))
    }),
    ("one large table for many branches", |n| {
        let labels = n / 3;
        let names: Vec<_> = (0..labels).map(|i| format!("L{i}")).collect();
        let head = ".reg .b32 %r<2>;\nmov.u32 %r0, 0;\n";
        let table = format!("T: .branchtargets {};\n", names.join(", "));
        let steps = lines(labels, |i| format!("add.u32 %r0, %r0, {i};\nbrx.idx %r0, T;\nL{i}:"));
        kernel("", &format!("{head}{table}{steps}"))
    }),
    ("one large table in a shared-memory program", |n| {
        let labels = n / 3;
        let names: Vec<_> = (0..labels).map(|i| format!("L{i}")).collect();
        let table = format!("T: .branchtargets {};\n", names.join(", "));
        let steps = lines(labels, |i| format!("add.u64 %r{}, %r{i}, 4;\nbrx.idx %i, T;\nL{i}:", i + 1));
        let head = ".reg .b64 %r<50000>;\n.reg .b32 %i;\nmov.u64 %r0, s;\nmov.u32 %i, 1;\n";
        kernel(SHARED, &format!("{head}{table}{steps}"))
    }),
    ("many small functions, each calling the one before", |n| {
        let count = n / 4;
        let functions = lines(count, |i| {
            let call = if i == 0 { String::new() } else { format!("call f{};\n", i - 1) };
            format!(
                ".func f{i}()\n{{\n.reg .b32 %r<3>;\nmov.u32 %r0, {i};\nadd.u32 %r1, %r0, 1;\n{call}ret;\n}}"
            )
        });
        kernel(&functions, &format!("call f{};\n", count - 1))
    }),
    ("many kernels that reach all functions and shared variables", |n| {
        let count = n / 4;
        let functions = lines(count, |i| {
            let call = if i == 0 { String::new() } else { format!("call f{};\n", i - 1) };
            format!(".func f{i}()\n{{\n{call}ret;\n}}\n.entry k{i}()\n{{\ncall f{i};\nret;\n}}")
        });
        let variables = lines(40, |i| format!(".shared .b8 s{i}[4];"));
        let uses = lines(40, |i| format!("st.shared.u8 [s{i}], 0;"));
        let first = format!(".func g()\n{{\n{uses}ret;\n}}\n");
        let functions = functions.replacen("{\nret;", "{\ncall g;\nret;", 1);
        kernel(&format!("{variables}{first}{functions}"), "")
    }),
    ("many calls in one function", |n| {
        let function = ".func (.param .b64 r) f(.param .b64 a)\n{\nret;\n}\n";
        let calls = lines(n / 4, |_| {
            "{ .param .b64 a; .param .b64 r; st.param.b64 [a], %r0;\ncall (r), f, (a);\nld.param.b64 %r0, [r]; }".into()
        });
        kernel(function, &format!(".reg .b64 %r<2>;\nmov.u64 %r0, 0;\n{calls}"))
    }),
    ("many registers", |n| {
        kernel("", &format!(".reg .b64 %r<200000>;\n{}", lines(n, |i| format!("mov.u64 %r{i}, {i};"))))
    }),
    ("many shared variables", |n| {
        let variables = lines(n / 2, |i| format!(".shared .b8 s{i}[2];"));
        kernel(&variables, &lines(n / 2, |i| format!("st.shared.u8 [s{i}], 0;")))
    }),
    ("many global variables", |n| {
        let variables = lines(n / 2, |i| format!(".global .b32 g{i} = {i};"));
        kernel(&variables, &lines(n / 2, |i| format!("st.global.u32 [g{i}], 0;")))
    }),
    ("many declarations", |n| {
        kernel("", &lines(n / 2, |i| format!(".reg .b32 %a{i};\nmov.u32 %a{i}, {i};")))
    }),
    ("blocks in blocks", |n| {
        let deep = 100;
        let one = |i: usize| {
            let (open, close) = ("{ .reg .b32 %x; mov.u32 %x, 1;\n".repeat(deep), "}".repeat(deep));
            format!("{open}add.u32 %x, %x, {i};\n{close}")
        };
        kernel("", &lines(n / deep, one))
    }),
    ("many places of the source, each inlined deeply", |n| {
        let mut body = String::from(".reg .b32 %r<2>;\n.loc 1 1 1\n");
        for i in 1..n / 2 {
            writeln!(
                body,
                ".loc 1 {} 1, function_name $name, inlined_at 1 {i} 1\nadd.u32 %r0, %r0, 1;",
                i + 1
            )
            .unwrap();
        }
        let debug = ".file 1 \"a.rs\"\n.section .debug_str\n{\n$name:\n.b8 102, 0\n}\n";
        format!("{}{debug}", kernel("", &body))
    }),
    ("compare-and-swap of one word", |n| {
        let step = |_| "ld.u32 %r0, [%a];\natom.cas.b32 %r1, [%a], %r0, 7;\nmov.u32 %r0, %r1;".into();
        let head = ".reg .b32 %r<2>;\n.reg .b64 %a;\nld.param.u64 %a, [p];\n";
        kernel("", &format!("{head}{}", lines(n / 3, step)))
    }),
];

fn load(text: &str) -> virtual_gpu::Module {
    Gpu::new(&H200).load(text).unwrap_or_else(|error| panic!("{error}"))
}

/// Each shape at two sizes: analyses examine each operation a few times, whatever the shape.
#[test]
fn the_work_of_loading_grows_as_the_program() {
    for (name, make) in SHAPES {
        for n in [300, 6000] {
            let module = load(&make(n));
            let steps = module.code().analysis_steps();
            assert!(steps <= 40 * n as u64, "{name}: {steps} steps for {n} instructions");
        }
    }
}

#[test]
#[ignore = "prints times of large modules"]
fn times_of_large_modules() {
    for (name, make) in SHAPES {
        let text = make(100_000);
        let start = Instant::now();
        let module = load(&text);
        let (time, code) = (start.elapsed(), module.code());
        println!("{time:>9.2?} {:>8} operations {:>8} steps: {name}", code.len(), code.analysis_steps());
    }
}

/// `&s[i] - s`, as C++'s pointers and Rust's `offset_from` compute it, in a loop that feeds it back.
#[test]
fn differences_of_addresses_in_one_shared_variable_load() {
    let text = kernel(
        SHARED,
        ".reg .b64 %r<9>;\n.reg .b32 %t;\n.reg .pred %q;\nld.param.u64 %r6, [p];\nmov.u64 %r0, s;\nmov.u64 %r1, s;\n\
         L:\nadd.u64 %r1, %r1, 12;\nsub.u64 %r2, %r1, %r0;\nadd.u64 %r3, %r0, %r2;\nsub.u64 %r4, %r3, %r1;\n\
         add.u64 %r1, %r1, %r4;\nsetp.lt.u64 %q, %r2, 120;\n@%q bra L;\nst.global.u64 [%r6], %r2;\nst.shared.u8 [%r3], 1;\n",
    );
    let device = Device::new(&text);
    let result = device.upload(&[0u64]);
    device.launch("k", Launch::new(1, 1), &[Arg::Pointer(result)]);
    assert_eq!(device.download::<u64>(result, 1), [120]);
    // A sum of the variable's address and a number is still known to point into the variable.
    let code = device.module.code();
    let store = (0..code.len() as u32).rev().find(|&pc| code.opcode(pc).is_some_and(|op| op.name == "st"));
    assert_eq!(code.shared_of(store.unwrap()), Some(0));
}
