//! Random programs with branches, loops, calls, barriers and memory: compiled against interpreted.
//!
//! Everything that a program can leave behind is compared: its output, what its clock showed, which counts the operations
//! that its warp had run, and how it faulted. Warps race on shared memory, so the order of their turns shows, too.
//!
//! `COMPILED_PROGRAMS=100000 cargo test -p compiled --test random` runs so many.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gpu_model::chips::H200;
use virtual_gpu::stretch::{Compiler, Function, Stretches};
use virtual_gpu::{Gpu, Launch, Options};

/// Counts what was compiled, so that nothing passes because all was interpreted.
#[derive(Debug)]
struct Counting {
    compiler: Arc<dyn Compiler>,
    made: AtomicU64,
}

// SAFETY: the code is another compiler's.
unsafe impl Compiler for Counting {
    fn patience(&self, function: &Function<'_>) -> u64 {
        self.compiler.patience(function)
    }

    fn compile(&self, function: &Function<'_>) -> Option<Stretches> {
        let made = self.compiler.compile(function);
        self.made.fetch_add(made.is_some().into(), Ordering::Relaxed);
        made
    }
}

const THREADS: u32 = 96;
const OUTPUTS: u32 = 8;
/// Bytes of a block's shared array, and of what all blocks share in global memory.
const SHARED: u32 = 1024;
const GLOBAL: u32 = 4096;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 20) % end
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len() as u64) as usize]
    }
}

/// A program under way.
struct Text {
    random: Random,
    ptx: String,
    labels: u32,
    depth: u32,
    loops: u32,
}

impl Text {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.ptx, "    {line}");
    }

    fn r(&mut self) -> String {
        format!("%r{}", self.random.below(10))
    }

    fn f(&mut self) -> String {
        format!("%f{}", self.random.below(6))
    }

    fn d(&mut self) -> String {
        format!("%d{}", self.random.below(4))
    }

    fn p(&mut self) -> String {
        format!("%p{}", self.random.below(4))
    }

    /// A register, or a constant that matters.
    fn word(&mut self) -> String {
        match self.random.below(5) {
            0 => self.random.of(&["0", "1", "31", "32", "255", "-1", "0x80000000", "7"]).to_owned(),
            _ => self.r(),
        }
    }

    fn guard(&mut self) -> String {
        match self.random.below(5) {
            0 => format!("@%p{} ", self.random.below(4)),
            1 => format!("@!%p{} ", self.random.below(4)),
            _ => String::new(),
        }
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("$L{}", self.labels)
    }

    fn arithmetic(&mut self) {
        let guard = self.guard();
        let (a, b, c, t) = (self.r(), self.word(), self.word(), self.r());
        let (x, y, z, u) = (self.f(), self.f(), self.f(), self.f());
        let (l, m, n) = (self.d(), self.d(), self.d());
        let (p, q, o) = (self.p(), self.p(), self.p());
        let text = match self.random.below(26) {
            0 => format!(
                "{} {t}, {a}, {b};",
                self.random.of(&["add.u32", "sub.s32", "and.b32", "or.b32", "xor.b32"])
            ),
            1 => format!(
                "{} {t}, {a}, {b};",
                self.random.of(&["mul.lo.u32", "mul.hi.s32", "mul.hi.u32", "min.s32", "max.u32"])
            ),
            2 => format!("{} {t}, {a}, {b};", self.random.of(&["shl.b32", "shr.u32", "shr.s32"])),
            3 => format!("mad.lo.s32 {t}, {a}, {b}, {c};"),
            4 => format!(
                "{} {u}, {x}, {y};",
                self.random.of(&["add.rn.f32", "sub.f32", "mul.rn.f32", "div.rn.f32", "min.f32", "max.f32"])
            ),
            5 | 6 => format!("fma.rn.f32 {u}, {x}, {y}, {z};"),
            7 => format!(
                "setp.{}.{} {p}, {a}, {b};",
                self.random.of(&["lt", "ge", "eq", "ne"]),
                self.random.of(&["s32", "u32"])
            ),
            8 => format!(
                "setp.{}.f32 {p}, {x}, {y};",
                self.random.of(&["lt", "geu", "eq", "neu", "num", "nan"])
            ),
            9 => format!("setp.lt.and.s32 {p}|{q}, {a}, {b}, {o};"),
            10 => format!("selp.b32 {t}, {a}, {b}, {p};"),
            11 => format!("mov.b32 {t}, {x};"),
            12 => format!("mov.b32 {x}, {t};"),
            13 => format!("mul.wide.s32 {l}, {a}, {b};"),
            14 => {
                format!("{} {l}, {m}, {n};", self.random.of(&["add.s64", "sub.u64", "mul.lo.s64", "xor.b64"]))
            }
            15 => format!("cvt.u32.u64 {t}, {l};"),
            16 => format!(
                "cvt.{}.{} {l}, {a};",
                self.random.of(&["u64", "s64"]),
                self.random.of(&["u32", "s32"])
            ),
            17 => format!("cvt.rn.f32.s32 {u}, {a};"),
            18 => format!("cvt.rzi.s32.f32 {t}, {x};"),
            19 => format!("{} {p}, {q}, {o};", self.random.of(&["and.pred", "or.pred", "xor.pred"])),
            20 => format!("lop3.b32 {t}, {a}, {b}, {c}, {};", self.random.below(256)),
            21 => format!(
                "{} {t}, {a};",
                self.random.of(&["popc.b32", "clz.b32", "brev.b32", "not.b32", "neg.s32", "abs.s32"])
            ),
            22 => format!("mov.u32 {t}, %clock;"),
            23 => format!(
                "{} {u}, {x};",
                self.random.of(&["sqrt.rn.f32", "neg.f32", "abs.f32", "rcp.approx.f32", "ex2.approx.f32"])
            ),
            24 => format!("mov.b64 {l}, {{{t}, {a}}};"),
            _ => format!(
                "{} {t}, {a}, {};",
                self.random.of(&["div.u32", "rem.s32"]),
                self.random.of(&["%r1", "3", "10"])
            ),
        };
        self.line(&format!("{guard}{text}"));
    }

    /// An access of shared or global memory at a place that is mostly inside.
    fn access(&mut self) {
        let (guard, index) = (self.guard(), self.r());
        let shared = self.random.below(2) == 0;
        let (space, base, bytes) =
            if shared { ("shared", "%shared", SHARED) } else { ("global", "%global", GLOBAL) };
        // Its own place, any place, one for all, or a row that other threads have; now and then one beyond the end.
        let width = [4, 4, 4, 8, 8, 16][self.random.below(6) as usize];
        let mask = (bytes - 1) & !(width - 1);
        match self.random.below(6) {
            0 => self.line(&format!("and.b32 %at, {index}, {mask};")),
            1 => self.line(&format!("mov.u32 %at, {};", self.random.0 as u32 & mask)),
            2 => {
                let shift = self.random.below(5);
                self.line(&format!("shr.u32 %at, %thread, {shift};"));
                self.line(&format!("mul.lo.u32 %at, %at, {width};"));
                self.line(&format!("and.b32 %at, %at, {mask};"));
            }
            _ => {
                self.line(&format!("mul.lo.u32 %at, %thread, {width};"));
                self.line(&format!("and.b32 %at, %at, {mask};"));
            }
        }
        if self.random.below(400) == 0 {
            self.line("add.u32 %at, %at, 65536;");
        }
        if shared {
            self.line("add.u32 %place, %at, %shared;");
        } else {
            self.line("cvt.u64.u32 %far, %at;");
            self.line(&format!("add.u64 %far, %far, {base};"));
        }
        let place = if shared { "[%place]" } else { "[%far]" };
        let (r, s, f, g, l, m) = (self.r(), self.r(), self.f(), self.f(), self.d(), self.d());
        let kind = self.random.below(5);
        let text = match (kind, width) {
            (0 | 1, 4) => format!("ld.{space}.u32 {r}, {place};"),
            (2, 4) => format!("ld.{space}.f32 {f}, {place};"),
            (_, 4) => format!("st.{space}.u32 {place}, {s};"),
            (0 | 1, 8) => format!("ld.{space}.u64 {l}, {place};"),
            (2, 8) => format!("ld.{space}.v2.f32 {{{f}, {g}}}, {place};"),
            (3, 8) => format!("st.{space}.v2.b32 {place}, {{{r}, {s}}};"),
            (_, 8) => format!("st.{space}.b64 {place}, {m};"),
            (0 | 1, _) => format!("ld.{space}.v4.u32 {{{r}, %r9, {s}, %r8}}, {place};"),
            (2, _) => format!("ld.{space}.v2.u64 {{{l}, {m}}}, {place};"),
            (3, _) => format!("st.{space}.v4.f32 {place}, {{{f}, {g}, {f}, %f0}};"),
            _ => format!("st.{space}.v2.b64 {place}, {{{m}, {l}}};"),
        };
        self.line(&format!("{guard}{text}"));
    }

    fn statement(&mut self) {
        match self.random.below(20) {
            0..=8 => self.arithmetic(),
            9..=12 => self.access(),
            13 => {
                let (p, a, b) = (self.p(), self.r(), self.word());
                self.line(&format!("setp.lt.u32 {p}, {a}, {b};"));
            }
            14 | 15 if self.depth < 3 => {
                let (end, p) = (self.label(), self.p());
                self.line(&format!("@{p} bra {end};"));
                self.block();
                self.line(&format!("{end}:"));
            }
            16 if self.depth < 3 => {
                let (other, end, p) = (self.label(), self.label(), self.p());
                self.line(&format!("@!{p} bra {other};"));
                self.block();
                self.line(&format!("bra.uni {end};"));
                self.line(&format!("{other}:"));
                self.block();
                self.line(&format!("{end}:"));
            }
            17 | 18 if self.depth < 3 && self.loops < 3 => {
                self.loops += 1;
                let (head, counter) = (self.label(), format!("%count{}", self.loops));
                // As often for all lanes, or not.
                let turns = 1 + self.random.below(40);
                if self.random.below(3) > 0 {
                    self.line(&format!("mov.u32 {counter}, {turns};"));
                } else {
                    self.line(&format!("rem.u32 {counter}, %thread, {turns};"));
                    self.line(&format!("add.u32 {counter}, {counter}, 1;"));
                }
                self.line(&format!("{head}:"));
                self.block();
                self.line(&format!("sub.u32 {counter}, {counter}, 1;"));
                self.line(&format!("setp.ne.u32 %again, {counter}, 0;"));
                self.line(&format!("@%again bra {head};"));
                self.loops -= 1;
            }
            19 if self.depth == 0 => match self.random.below(4) {
                0 => self.line("bar.sync 0;"),
                1 => {
                    let (a, t) = (self.r(), self.r());
                    self.line(&format!("call.uni ({t}), mixed, ({a});"));
                }
                2 => {
                    let (a, t) = (self.r(), self.r());
                    self.line(&format!("shfl.sync.bfly.b32 {t}, {a}, 5, 31, -1;"));
                }
                _ => {
                    let (a, t) = (self.r(), self.r());
                    self.line(&format!("atom.shared.add.u32 {t}, [%shared+64], {a};"));
                }
            },
            _ => self.arithmetic(),
        }
    }

    fn block(&mut self) {
        self.depth += 1;
        for _ in 0..1 + self.random.below(7) {
            self.statement();
        }
        self.depth -= 1;
    }
}

fn program(seed: u64) -> String {
    let random = Random(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) | 1);
    let mut text = Text { random, ptx: String::new(), labels: 0, depth: 0, loops: 0 };
    text.ptx += ".version 8.3\n.target sm_90\n.address_size 64\n";
    text.ptx +=
        ".func (.reg .b32 %out) mixed(.reg .b32 %in)\n{\n    mad.lo.u32 %out, %in, 77, 5;\n    ret;\n}\n";
    text.ptx += ".visible .entry program(.param .u64 outputs, .param .u64 everybodys)\n{\n";
    let _ = writeln!(text.ptx, "    .shared .align 16 .b8 array[{SHARED}];");
    for line in [
        ".reg .pred %p<4>, %again;",
        ".reg .b32 %thread, %block, %threads, %r<10>, %at, %place, %shared, %count<4>;",
        ".reg .f32 %f<6>;",
        ".reg .b64 %d<4>, %far, %global, %out;",
        "ld.param.u64 %out, [outputs];",
        "ld.param.u64 %global, [everybodys];",
        "mov.u32 %shared, array;",
        "mov.u32 %thread, %tid.x;",
        "mov.u32 %block, %ctaid.x;",
        "mov.u32 %threads, %ntid.x;",
    ] {
        text.line(line);
    }
    for i in 0..10u32 {
        match text.random.below(3) {
            0 => text.line(&format!("mad.lo.u32 %r{i}, %thread, {}, %block;", 2 * i + 1)),
            1 => text.line(&format!("mov.u32 %r{i}, {};", text.random.0 as u32)),
            _ => text.line(&format!("mul.lo.u32 %r{i}, %thread, 0x9e3779b1;")),
        }
    }
    for i in 0..6u32 {
        match text.random.below(3) {
            0 => text.line(&format!("cvt.rn.f32.u32 %f{i}, %r{i};")),
            1 => text.line(&format!("mov.b32 %f{i}, %r{i};")),
            _ => {
                let edges = ["0x7f800001", "0x3f800000", "0x80000000", "0x00000001", "0xff800000"];
                let edge = text.random.of(&edges);
                text.line(&format!("mov.b32 %f{i}, {edge};"));
            }
        }
    }
    for i in 0..4 {
        text.line(&format!("mul.wide.u32 %d{i}, %r{i}, 3;"));
        text.line(&format!("setp.lt.u32 %p{i}, %r{i}, %r{};", i + 3));
    }
    for _ in 0..12 + text.random.below(30) {
        text.statement();
    }
    for line in [
        "mad.lo.u32 %at, %block, %threads, %thread;".to_owned(),
        format!("mul.wide.u32 %far, %at, {};", 8 * OUTPUTS),
        "add.u64 %out, %out, %far;".into(),
        "mov.u32 %r9, %clock;".into(),
    ] {
        text.line(&line);
    }
    let kept = ["%d0", "%d1", "%d2", "%d3"];
    for (i, kept) in kept.iter().enumerate() {
        text.line(&format!("st.global.b64 [%out+{}], {kept};", 8 * i));
    }
    for (i, kept) in ["%r0", "%r1", "%r9", "%f1", "%f2", "%f5", "%r5", "%r7"].iter().enumerate() {
        text.line(&format!("st.global.b32 [%out+{}], {kept};", 32 + 4 * i));
    }
    text.ptx += "    ret;\n}\n";
    text.ptx
}

/// What a program leaves behind.
fn left_by(
    compiler: Option<Arc<dyn Compiler>>,
    ptx: &str,
) -> Result<(Vec<u8>, Option<String>), virtual_gpu::Error> {
    let gpu = Gpu::with_options(&H200, Options { threads: 1, compiler, ..Options::default() });
    let module = gpu.load(ptx)?;
    let kernel = module.kernel("program").expect("it has that kernel");
    let bytes = 2 * THREADS * 8 * OUTPUTS;
    let (outputs, everybodys) = (gpu.memory().alloc(bytes.into())?, gpu.memory().alloc(GLOBAL.into())?);
    gpu.memory().write(outputs, &vec![0; bytes as usize])?;
    gpu.memory().write(everybodys, &vec![3; GLOBAL as usize])?;
    let params = [outputs.to_le_bytes(), everybodys.to_le_bytes()].concat();
    let fault = gpu.launch(&kernel, &Launch::new(2, THREADS), &params, &mut ()).err();
    let mut left = vec![0; (bytes + GLOBAL) as usize];
    gpu.memory().read(outputs, &mut left[..bytes as usize])?;
    gpu.memory().read(everybodys, &mut left[bytes as usize..])?;
    Ok((left, fault.map(|fault| fault.to_string())))
}

#[test]
fn random_programs_do_what_the_interpreter_does() {
    if let Err(why) = compiled::available() {
        panic!("{why}");
    }
    let counting = Arc::new(Counting { compiler: compiled::compiler(true), made: AtomicU64::new(0) });
    let count = std::env::var("COMPILED_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(20);
    let first = std::env::var("COMPILED_FIRST").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let mut faulted = 0;
    for seed in first..first + count {
        let ptx = program(seed);
        let expected = left_by(None, &ptx).unwrap_or_else(|error| panic!("{error}\n{ptx}"));
        let found = left_by(Some(counting.clone()), &ptx).expect("it loads");
        faulted += u64::from(expected.1.is_some());
        assert_eq!(expected.1, found.1, "program {seed}\n{ptx}");
        let at = (0..expected.0.len()).find(|&i| expected.0[i] != found.0[i]);
        let (thread, byte) = (at.unwrap_or(0) as u32 / (8 * OUTPUTS), at.unwrap_or(0) as u32 % (8 * OUTPUTS));
        assert!(at.is_none(), "program {seed} differs in thread {thread}, byte {byte}\n{ptx}");
    }
    assert_eq!(counting.made.load(Ordering::Relaxed), count, "all are compiled");
    println!("{count} programs, {faulted} of which fault");
}
