//! What kernels print, and how they panic, on the virtual GPU: compared with what Rust prints on the host.

use cuda_builder::{CudaBuilder, NvvmArch};
use gpu_model::chips::H200;
use std::cell::RefCell;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use virtual_gpu::{Error, FaultKind, Gpu, Launch, Options};

thread_local! {
    static SAID: RefCell<String> = const { RefCell::new(String::new()) };
}

macro_rules! say {
    () => { say!("") };
    ($($argument:tt)+) => {
        crate::SAID.with_borrow_mut(|said| {
            said.push_str(&format!($($argument)+));
            said.push('\n');
        })
    };
}
#[path = "fixtures/speaking/src/forms.rs"]
mod forms;
use forms::Values;

const VALUES: Values =
    Values { n: -1234, u: 9_876_543_210, small: 200, x: 0.1, y: 12345.678, c: 'é', b: true };
const TEXT: &str = "größer";

/// The PTX of `fixtures/speaking`, with overflow checks.
fn ptx() -> &'static str {
    static PTX: OnceLock<String> = OnceLock::new();
    PTX.get_or_init(|| {
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/speaking");
        let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join("speaking_fixture.ptx");
        let checks = ["--config", "profile.release.package.speaking.overflow-checks=true"];
        let built =
            CudaBuilder::new(fixture).arch(NvvmArch::Compute75).build_args(&checks).copy_to(copy).build();
        let path = built.unwrap_or_else(|error| panic!("the fixture must compile: {error}"));
        std::fs::read_to_string(path).unwrap()
    })
}

/// Places a value at its alignment after those before it.
fn pass<T: Copy>(params: &mut Vec<u8>, value: T) {
    params.resize(params.len().next_multiple_of(align_of::<T>()), 0);
    let start = (&raw const value).cast::<u8>();
    // SAFETY: the values passed here are numbers.
    params.extend(unsafe { std::slice::from_raw_parts(start, size_of::<T>()) });
}

fn upload(gpu: &Gpu, bytes: &[u8]) -> u64 {
    let address = gpu.memory().alloc(bytes.len() as u64).unwrap();
    gpu.memory().write(address, bytes).unwrap();
    address
}

/// Launches a kernel that takes `VALUES` and optionally `TEXT`.
fn launch(name: &str) {
    let gpu = Gpu::new(&H200);
    let module = gpu.load(ptx()).unwrap();
    let kernel = module.kernel(name).unwrap();
    let values = VALUES;
    // SAFETY: `Values` is plain data, whatever its padding holds.
    let bytes = unsafe { std::slice::from_raw_parts((&raw const values).cast::<u8>(), size_of::<Values>()) };
    let mut params = Vec::new();
    pass(&mut params, upload(&gpu, bytes));
    if kernel.param_bytes() > 8 {
        pass(&mut params, upload(&gpu, TEXT.as_bytes()));
        pass(&mut params, TEXT.len());
    }
    gpu.launch(&kernel, &Launch::new(1, 1), &params, &mut ()).unwrap();
}

/// What a kernel prints. The virtual GPU prints to standard output itself, so this needs a process of its own.
fn printed(name: &str) -> String {
    let own = std::env::current_exe().unwrap();
    ptx();
    let output =
        Command::new(own).args(["--exact", "prints", "--nocapture"]).env("SPEAK", name).output().unwrap();
    let output = String::from_utf8(output.stdout).unwrap();
    let (_, text) = output.split_once("<<<").unwrap_or_else(|| panic!("no output: {output}"));
    text.split_once(">>>").unwrap().0.to_owned()
}

fn said(speak: impl Fn()) -> String {
    SAID.take();
    speak();
    SAID.take()
}

#[test]
fn prints() {
    if let Ok(name) = std::env::var("SPEAK") {
        ptx();
        print!("<<<");
        std::io::Write::flush(&mut std::io::stdout()).unwrap();
        launch(&name);
        print!(">>>");
        return;
    }
    assert_eq!(printed("prints_as_c"), said(|| forms::as_c(&VALUES)));
    assert_eq!(printed("prints_by_script"), said(|| forms::by_script(&VALUES, TEXT)));
    assert_eq!(printed("prints_by_core"), said(|| forms::by_core(&VALUES, TEXT)));
}

/// A panic's message and line.
fn panic_of(gpu: &Gpu, which: u32) -> String {
    let module = gpu.load(ptx()).unwrap();
    let kernel = module.kernel("panics").unwrap();
    let mut params = Vec::new();
    pass(&mut params, which);
    pass(&mut params, 7_i32);
    pass(&mut params, 2.25_f32);
    pass(&mut params, 1e6_f64);
    let slice: Vec<u8> = [10_u32, 20, 30, 40].iter().flat_map(|x| x.to_le_bytes()).collect();
    pass(&mut params, upload(gpu, &slice));
    pass(&mut params, 4_u64);
    pass(&mut params, upload(gpu, &[0; 8]));
    match gpu.launch(&kernel, &Launch::new(1, 1), &params, &mut ()) {
        Ok(()) => "nothing".into(),
        Err(Error::Fault(fault)) => match fault.kind {
            FaultKind::Assert(message) => message,
            other => format!("{other:?}"),
        },
        Err(other) => other.to_string(),
    }
}

/// The message of each kind of panic, and the function it names if that is not the kernel.
const PANICS: [(&str, &str); 43] = [
    ("2.250 at     7 of   1.00e6", ""),
    ("2.25 and 1000000.0, 0x0007 true 'é'", ""),
    ("index out of bounds: the len is 4 but the index is 7", ""),
    ("range 7..4 out of range for slice of length 4", ""),
    ("range 0..7 out of range for slice of length 4", ""),
    ("range 7..3 out of range for slice of length 4", ""),
    ("index out of bounds: the len is 4 but the index is 7", ""),
    ("attempt to divide by zero", ""),
    ("attempt to calculate the remainder with a divisor of zero", ""),
    ("attempt to add with overflow", ""),
    ("attempt to shift left with overflow", ""),
    ("attempt to negate with overflow", ""),
    ("called `Result::unwrap()` on an `Err` value, a `speaking::Trouble`", "unwrap"),
    ("called `Result::unwrap()` on an `Err` value: 7.5", "unwrap"),
    ("a whole number: 7.5", "expect"),
    ("called `Result::unwrap()` on an `Err` value: \"too large\"", "unwrap"),
    ("called `Option::unwrap()` on a `None` value", ""),
    ("an element", ""),
    ("assertion `left == right` failed: left: 7, right: 8", ""),
    ("assertion `left != right` failed: x is 2.2: left: 2.25, right: 2.25", ""),
    ("assertion failed: (n + 1 == 9): after 7 steps\nleft : 8\nright: 9", ""),
    ("assertion failed: (n != 7)\nleft : 7\nright: 7", ""),
    ("internal error: entered unreachable code: n is 7", ""),
    ("not yet implemented", ""),
    ("not implemented: case 7", ""),
    ("RefCell already mutably borrowed", "borrow"),
    (
        "copy_from_slice: source slice length (3) does not match destination slice length (2)",
        "copy_from_slice_impl",
    ),
    ("words: too large (\"too large\")", ""),
    ("2.25 is not above 100.0", ""),
    (
        "assertion `left == right` failed: left: <core::result::Result<i32, speaking::Trouble>>, \
         right: <core::result::Result<i32, speaking::Trouble>>",
        "",
    ),
    ("a quotient", ""),
    ("chunk size must be non-zero", ""),
    ("argument of integer logarithm must be positive", ""),
    ("attempt to divide with overflow", ""),
    ("called `Option::unwrap()` on a `None` value", ""),
    ("from_digit: radix is too high (maximum 36)", "from_digit"),
    ("byte range 3..8 of a `str` of 8 bytes is out of bounds or splits a character", ""),
    ("[7, 2] of [2.2, 1.0]", ""),
    ("assertion `left == right` failed: left: [1, 2, 3, 7], right: [1, 2, 3, 4]", ""),
    ("[7, 7, 7, 7, …] [[7, 2], [3, 4]]", ""),
    ("assertion `left == right` failed: left: ['a', 'b'], right: ['a', 'h']", ""),
    ("called `Result::unwrap()` on an `Err` value: [\"few\", \"many\"]", "unwrap"),
    ("shuffle width must be a power of two, at most 32", "clamp_and_section"),
];

#[test]
fn panics_say_what_was_wrong() {
    let gpu = Gpu::new(&H200);
    for (which, (expected, function)) in (0..).zip(PANICS) {
        let message = panic_of(&gpu, which);
        let (text, place) = message.rsplit_once(" (").unwrap_or_else(|| panic!("{which}: {message}"));
        assert_eq!(text, expected, "panic {which}");
        let function = if function.is_empty() { "speaking::panics)" } else { function };
        assert!(place.contains(".rs:") && place.contains(function), "panic {which} in {place}");
    }
    assert_eq!(panic_of(&gpu, PANICS.len() as u32), "nothing");
    // `cuda_std` names who called it.
    assert!(panic_of(&gpu, 42).contains("(src/lib.rs:"));
}

/// More threads panic than messages have room: none is made of two.
#[test]
fn panics_of_many_threads_do_not_mix() {
    for seed in 0..8 {
        let gpu = Gpu::with_options(&H200, Options { seed: Some(seed), ..Options::default() });
        let mut params = Vec::new();
        pass(&mut params, upload(&gpu, &[0; 16]));
        pass(&mut params, 4_u64);
        pass(&mut params, upload(&gpu, &[0; 8]));
        let kernel = gpu.load(ptx()).unwrap().kernel("each_panics").unwrap();
        let Err(Error::Fault(fault)) = gpu.launch(&kernel, &Launch::new(16, 256), &params, &mut ()) else {
            panic!("it must fail");
        };
        let FaultKind::Assert(message) = fault.kind else { panic!("{:?}", fault.kind) };
        let whole = (1..10).any(|digit| {
            message.starts_with(&format!(
                "index out of bounds: the len is 4 but the index is {} (",
                digit * 1_111_111
            ))
        });
        assert!(whole || message.starts_with("a panic after 32 others"), "seed {seed}: {message}");
    }
}

/// `alloc` does not pass on who asked for memory, but the message still has the line.
#[test]
fn a_failed_allocation_names_the_line_that_asked() {
    let source = include_str!("fixtures/speaking/src/lib.rs");
    for (which, what) in (0_u32..).zip(["with_capacity", "handle_alloc_error", "reserve", "vec!"]) {
        let gpu = Gpu::new(&H200);
        let mut params = Vec::new();
        pass(&mut params, which);
        pass(&mut params, 1_u64 << 45);
        pass(&mut params, upload(&gpu, &[0; 8]));
        let kernel = gpu.load(ptx()).unwrap().kernel("allocates").unwrap();
        let Err(Error::Fault(fault)) = gpu.launch(&kernel, &Launch::new(1, 1), &params, &mut ()) else {
            panic!("{what} must fail");
        };
        let asked =
            source.lines().position(|line| line.ends_with(&format!("// asked here, {what}"))).unwrap();
        let FaultKind::Assert(message) = fault.kind else { panic!("{what}: {:?}", fault.kind) };
        assert!(message.starts_with("memory allocation failed (src/lib.rs:"), "{what}: {message}");
        assert!(message.contains(&format!("src/lib.rs:{},", asked + 1)), "{what}: {message}");
    }
}

/// A function's instructions in the PTX.
fn instructions(start: &str) -> usize {
    let (_, function) = ptx().split_once(start).unwrap_or_else(|| panic!("no {start}"));
    let body = function.split("\n}").next().unwrap().lines().map(str::trim);
    body.filter(|line| line.ends_with(';') && !line.starts_with(['.', '{', '/'])).count()
}

/// `core::fmt` writes the fields that only it can write. Everything else must do without it.
#[test]
fn formatting_code_is_small() {
    for entry in ["prints_as_c", "prints_by_script", "prints_a_float", "prints_together", "panics"] {
        let (_, kernel) = ptx().split_once(&format!(".entry {entry}(")).unwrap();
        let kernel = kernel.split("\n}").next().unwrap();
        assert!(!kernel.contains("core3fmt") && !kernel.contains("2io5print,"), "`{entry}` calls core::fmt");
    }
    // A line of integers is its arguments and one call.
    assert!(instructions(".entry prints_integers(") < 20);
    // What every kernel contains that may panic with values.
    assert!(instructions(".func __warpsmith_panic_with_values(") < 130);
    // One formatter, however many kernels print.
    let formatters = ptx().split(".func __warpsmith_print").skip(1);
    let defined = formatters.filter(|after| {
        after.split([';', '{']).next().is_some_and(|head| after[head.len()..].starts_with('{'))
    });
    assert_eq!(defined.count(), 1);
}
