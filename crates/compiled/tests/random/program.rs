//! A random program: branches, loops, calls, barriers, memory, and what lanes do together.

use std::collections::HashSet;

use crate::memory::{self, CONSTANT, LOCAL, SHARED};
use crate::source::{REGISTERS, Source};

const OPERATIONS: &str = include_str!("operations.txt");
const TOGETHER: &str = include_str!("together.txt");

/// Bytes that each thread leaves behind.
pub const OUTPUT: u32 = 160;

/// What a program is full of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Straight,
    Divergent,
    Looping,
    Calling,
    All,
}

/// A program and how it is launched.
pub struct Program {
    pub ptx: String,
    pub blocks: u32,
    pub threads: u32,
}

/// Functions that programs call. `walk` calls itself.
const FUNCTIONS: &str = "
.func (.reg .b32 %out) mixed(.reg .b32 %in)
{
    mad.lo.u32 %out, %in, 77, 5;
    ret;
}
.func (.reg .b32 %out) turning(.reg .b32 %in)
{
    .reg .pred %p;
    .reg .b32 %n;
    and.b32 %n, %in, 7;
    mov.u32 %out, %in;
$turn:
    mad.lo.u32 %out, %out, 0x9e3779b1, %n;
    setp.eq.u32 %p, %n, 0;
    @%p ret;
    sub.u32 %n, %n, 1;
    bra $turn;
}
.func (.param .b32 result) walk(.param .b32 depth)
{
    .reg .pred %p;
    .reg .b32 %n, %a, %b;
    ld.param.u32 %n, [depth];
    and.b32 %n, %n, 3;
    mov.u32 %b, %laneid;
    setp.eq.u32 %p, %n, 0;
    @%p bra $leaf;
    sub.u32 %a, %n, 1;
    {
        .param .b32 given;
        .param .b32 got;
        st.param.b32 [given], %a;
        call (got), walk, (given);
        ld.param.b32 %b, [got];
    }
$leaf:
    mad.lo.u32 %b, %b, 3, %n;
    st.param.b32 [result], %b;
    ret;
}
.func storing(.reg .b64 %to, .reg .b32 %what)
{
    .reg .b32 %old;
    ld.u32 %old, [%to];
    xor.b32 %old, %old, %what;
    st.u32 [%to], %old;
    ret;
}
";

struct Writing {
    s: Source,
    kind: Kind,
    depth: u32,
    loops: u32,
    /// Where the innermost loop is left.
    ways_out: Vec<String>,
}

impl Writing {
    fn operation(&mut self) {
        let guard = self.s.guard();
        let text = self.s.form_of(OPERATIONS);
        // Of two that hand on a carry both run, or none.
        for one in text.split_inclusive(';') {
            self.s.line(&format!("{guard}{}", one.trim()));
        }
    }

    /// What the lanes that are here do together: all that are left of a warp at the top, else those of this way.
    fn together(&mut self) {
        let members = match self.depth {
            0 if self.s.random.one_in(3) => "-1",
            0 => "%members",
            _ => {
                self.s.line("activemask.b32 %mask;");
                "%mask"
            }
        };
        let text = self.s.form_of(&TOGETHER.replace("$m", members));
        self.s.line(&text);
    }

    fn barrier(&mut self) {
        let form = match self.s.random.below(6) {
            0..=2 => "bar.sync 0;",
            3 => "barrier.sync 1;",
            4 => "bar.red.popc.u32 $r, 0, $p;",
            _ => "bar.red.<and|or>.pred $p, 0, <$p|!$p>;",
        };
        let text = self.s.form(form);
        self.s.line(&text);
    }

    fn call(&mut self) {
        let guard = if self.depth > 0 { self.s.guard() } else { String::new() };
        let uniform = if self.depth == 0 { ".uni" } else { "" };
        let text = match self.s.random.below(5) {
            0 => format!("{guard}call{uniform} ($r), mixed, ($r);"),
            1 | 2 => format!("{guard}call{uniform} ($r), turning, ($r);"),
            3 => {
                let text = "{ .param .b32 given; .param .b32 got; st.param.b32 [given], $r; call (got), walk, (given); \
                            ld.param.b32 $r, [got]; }";
                text.to_owned()
            }
            _ => {
                let bytes = SHARED - 4;
                self.s.line(&format!("shl.b32 %at, %thread, 2; and.b32 %at, %at, {bytes};"));
                self.s.line("cvt.u64.u32 %far, %at; add.u64 %far, %far, %window;");
                format!("{guard}call{uniform} storing, (%far, $r);")
            }
        };
        let text = self.s.form(&text);
        self.s.line(&text);
    }

    fn branch(&mut self) {
        let guard = self.s.form("@<|!>$p");
        match self.s.random.below(6) {
            0..=2 => {
                let end = self.s.label();
                self.s.line(&format!("{guard} bra {end};"));
                self.block();
                self.s.line(&format!("{end}:"));
            }
            3 | 4 => {
                let (other, end) = (self.s.label(), self.s.label());
                self.s.line(&format!("{guard} bra {other};"));
                self.block();
                self.s.line(&format!("bra {end};"));
                self.s.line(&format!("{other}:"));
                self.block();
                self.s.line(&format!("{end}:"));
            }
            _ => {
                let (table, end) = (self.s.label(), self.s.label());
                let ways: Vec<String> = (0..3).map(|_| self.s.label()).collect();
                self.s.line(&format!("{table}: .branchtargets {};", ways.join(", ")));
                let form = self.s.form("rem.u32 %at, $r, 3;");
                self.s.line(&form);
                self.s.line(&format!("brx.idx %at, {table};"));
                for way in ways {
                    self.s.line(&format!("{way}:"));
                    self.block();
                    self.s.line(&format!("bra {end};"));
                }
                self.s.line(&format!("{end}:"));
            }
        }
    }

    /// What code runs under a mask: a few operations and accesses, for some lanes.
    fn region(&mut self, deep: u32) {
        let guard = self.s.form("@<|!>$p");
        let (other, end) = (self.s.label(), self.s.label());
        let has_other = self.s.random.one_in(3);
        self.s.line(&format!("{guard} bra {};", if has_other { &other } else { &end }));
        self.ways(deep);
        if has_other {
            self.s.line(&format!("bra {end};"));
            self.s.line(&format!("{other}:"));
            self.ways(deep);
        }
        self.s.line(&format!("{end}:"));
    }

    fn ways(&mut self, deep: u32) {
        for _ in 0..1 + self.s.random.below(3) {
            match self.s.random.below(12) {
                0..=1 if deep < 2 => self.region(deep + 1),
                2..=4 => memory::accesses(&mut self.s),
                5 => self.s.line("activemask.b32 %r1;"),
                6 => {
                    let compare = self.s.form("setp.<lt|ge|eq|ne>.u32 $p, $w, $r;");
                    self.s.line(&compare);
                }
                _ => self.operation(),
            }
        }
    }

    fn turns(&mut self) {
        self.loops += 1;
        let (head, end) = (self.s.label(), self.s.label());
        let counter = format!("%count{}", self.loops);
        // As often for all lanes, or not.
        let most = if self.loops == 1 { 40 } else { 6 };
        let turns = 1 + self.s.random.below(most);
        if self.s.random.below(3) > 0 {
            self.s.line(&format!("mov.u32 {counter}, {turns};"));
        } else {
            self.s.line(&format!("rem.u32 {counter}, %thread, {turns}; add.u32 {counter}, {counter}, 1;"));
        }
        self.s.line(&format!("{head}:"));
        self.ways_out.push(end.clone());
        self.block();
        self.ways_out.pop();
        self.s.line(&format!("sub.u32 {counter}, {counter}, 1;"));
        self.s.line(&format!("setp.ne.u32 %again, {counter}, 0;"));
        self.s.line(&format!("@%again bra {head};"));
        self.s.line(&format!("{end}:"));
        self.loops -= 1;
    }

    fn statement(&mut self) {
        let flows = self.depth < 3;
        let (branches, turns, calls) = match self.kind {
            Kind::Straight => (0, 0, 0),
            Kind::Divergent => (5, 0, 0),
            Kind::Looping => (1, 4, 0),
            Kind::Calling => (1, 1, 4),
            Kind::All => (3, 2, 1),
        };
        match self.s.random.below(40) {
            n if flows && n < branches => self.branch(),
            n if flows && self.loops < 3 && (5..5 + turns).contains(&n) => self.turns(),
            n if (10..10 + calls).contains(&n) => self.call(),
            15..=24 => memory::accesses(&mut self.s),
            25..=26 => self.together(),
            27 if self.depth == 0 => self.barrier(),
            28 => {
                let text = self
                    .s
                    .form_of("membar.<cta|gl>;\nfence.acq_rel.<cta|gpu>;\nfence.sc.cta;\nnanosleep.u32 20;");
                self.s.line(&text);
            }
            // A loop is left by some.
            29 if self.s.random.one_in(2) && !self.ways_out.is_empty() => {
                let end = self.ways_out.last().expect("it is in a loop").clone();
                let guard = self.s.form("@$p");
                self.s.line(&format!("{guard} bra {end};"));
            }
            31..=33 if self.kind != Kind::Straight => self.region(0),
            // A thread ends, or the program.
            30 if self.s.random.one_in(60) => {
                let text = self.s.form("@$p <ret|exit|ret|trap>;");
                self.s.line(&text);
            }
            _ => self.operation(),
        }
    }

    fn block(&mut self) {
        self.depth += 1;
        for _ in 0..1 + self.s.random.below(6) {
            self.statement();
        }
        self.depth -= 1;
    }

    /// What registers start with that the program names: what differs by thread, or not, and values at the edges.
    fn start(&mut self, named: &Named) {
        for i in 0..10u32 {
            let word = self.s.random.next() as u32;
            let form = match self.s.random.below(3) {
                0 => format!("mad.lo.u32 %r{i}, %thread, {}, %block;", 2 * i + 1),
                1 => format!("mov.u32 %r{i}, {word};"),
                _ => format!("mul.lo.u32 %r{i}, %thread, 0x9e3779b1;"),
            };
            named.then(&mut self.s, &format!("%r{i}"), &form);
        }
        for i in 0..6u32 {
            let form = match self.s.random.below(3) {
                0 => format!("mul.lo.u32 %at, %thread, {}; cvt.rn.f32.u32 %f{i}, %at;", 77 * i + 1),
                1 => format!("mov.b32 %f{i}, {};", self.s.random.next() as u32),
                _ => {
                    let edges =
                        "<0x7f800001|0x3f800000|0x80000000|0x00000001|0xff800000|0x00800000|0x7fc00000>";
                    format!("mov.b32 %f{i}, {};", self.s.form(edges))
                }
            };
            named.then(&mut self.s, &format!("%f{i}"), &form);
        }
        for i in 0..4 {
            let word = self.s.random.next() as u32;
            named.then(&mut self.s, &format!("%d{i}"), &format!("mul.wide.u32 %d{i}, %thread, {word};"));
            let below = self.s.random.below(64);
            named.then(&mut self.s, &format!("%p{i}"), &format!("setp.lt.u32 %p{i}, %thread, {below};"));
        }
        for i in 0..3 {
            named.then(&mut self.s, &format!("%h{i}"), &format!("cvt.u16.u32 %h{i}, %thread;"));
            named.then(&mut self.s, &format!("%g{i}"), &format!("cvt.rn.f64.u32 %g{i}, %thread;"));
        }
    }

    /// Each thread writes what it has, and what its clock shows: that counts the operations of its warp.
    fn end(&mut self, named: &Named) {
        self.s.line("mad.lo.u32 %at, %block, %threads, %thread;");
        self.s.line(&format!("mad.wide.u32 %out, %at, {OUTPUT}, %out;"));
        self.s.line("mov.u32 %at, %clock;");
        let named_of = |start: &str| -> Vec<String> {
            let (_, _, count) = REGISTERS.iter().find(|kind| kind.1 == start).expect("a kind");
            (0..*count).map(|i| format!("{start}{i}")).filter(|register| named.has(register)).collect()
        };
        let mut at = 0;
        for (bytes, registers) in [
            (8, [named_of("%d"), named_of("%g")].concat()),
            (4, [named_of("%r"), named_of("%f"), vec!["%at".to_owned()]].concat()),
            (2, named_of("%h")),
        ] {
            for group in registers.chunks(if bytes == 8 { 2 } else { 4 }) {
                let size = bytes * group.len().next_power_of_two() as u32;
                at = u32::next_multiple_of(at, size);
                // A vector has two or four: of three the last one goes twice.
                let filled: Vec<&str> =
                    (0..size / bytes).map(|i| &*group[(i as usize).min(group.len() - 1)]).collect();
                let text = match &filled[..] {
                    [one] => format!("st.global.b{} [%out+{at}], {one};", 8 * bytes),
                    more => format!(
                        "st.global.v{}.b{} [%out+{at}], {{{}}};",
                        more.len(),
                        8 * bytes,
                        more.join(", ")
                    ),
                };
                self.s.line(&text);
                at += size;
            }
        }
        for register in named_of("%p") {
            self.s.line(&format!("selp.u32 %at, 1, 0, {register}; st.global.u8 [%out+{at}], %at;"));
            at += 1;
        }
        assert!(at <= OUTPUT, "{at} bytes");
    }
}

/// Which registers a text names.
struct Named(HashSet<String>);

impl Named {
    fn of(text: &str) -> Self {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '%');
        Named(words.filter(|word| word.starts_with('%')).map(str::to_owned).collect())
    }

    fn has(&self, register: &str) -> bool {
        self.0.contains(register)
    }

    /// Writes a line if the text names a register.
    fn then(&self, s: &mut Source, register: &str, line: &str) {
        if self.has(register) {
            s.line(line);
        }
    }
}

/// The program of a seed.
pub fn of(seed: u64) -> Program {
    let mut s = Source::new(seed);
    let kinds = [Kind::Straight, Kind::Divergent, Kind::Looping, Kind::Calling, Kind::All];
    let kind = kinds[(seed % 5) as usize];
    let threads = [64, 64, 96, 32, 40, 128, 1, 33][s.random.below(8) as usize];
    let blocks = 1 + s.random.below(3) as u32;
    let mut w = Writing { s, kind, depth: 0, loops: 0, ways_out: Vec::new() };
    // Small ones take the least time for what they find; a few are large.
    let statements = if w.s.random.one_in(12) { 12 + w.s.random.below(24) } else { 3 + w.s.random.below(10) };
    for _ in 0..statements {
        w.statement();
    }
    let body = std::mem::take(&mut w.s.ptx);
    let named = Named::of(&body);
    head(&mut w.s);
    for (register, line) in [
        ("", "ld.param.u64 %out, [outputs];"),
        ("", "mov.u32 %thread, %tid.x;"),
        ("", "mov.u32 %block, %ctaid.x;"),
        ("", "mov.u32 %threads, %ntid.x;"),
        ("%global", "ld.param.u64 %global, [everybodys];"),
        ("%shared", "mov.u32 %shared, array;"),
        ("%own", "mov.u32 %own, mine;"),
        ("%constants", "mov.u64 %constants, constants;"),
        ("%window", "mov.u64 %window, array; cvta.shared.u64 %window, %window;"),
        ("%members", "activemask.b32 %members;"),
    ] {
        if register.is_empty() || named.has(register) {
            w.s.line(line);
        }
    }
    w.start(&named);
    w.s.ptx += &body;
    w.end(&named);
    w.s.ptx += "    ret;\n}\n";
    Program { ptx: w.s.ptx, blocks, threads }
}

/// Everything before the first operation.
fn head(s: &mut Source) {
    let bytes: Vec<String> = (0..CONSTANT).map(|i| (i * 37 % 251).to_string()).collect();
    s.ptx += ".version 8.6\n.target sm_90\n.address_size 64\n";
    s.ptx += &format!(".const .align 16 .b8 constants[{CONSTANT}] = {{{}}};\n", bytes.join(", "));
    s.ptx += FUNCTIONS;
    s.ptx += ".visible .entry program(.param .u64 outputs, .param .u64 everybodys, .param .u32 number)\n{\n";
    s.line(&format!(".shared .align 16 .b8 array[{SHARED}];"));
    s.line(&format!(".local .align 16 .b8 mine[{LOCAL}];"));
    for (letter, start, count) in REGISTERS {
        let ty = match letter {
            'r' => "b32",
            'h' => "b16",
            'd' => "b64",
            'f' => "f32",
            'g' => "f64",
            _ => "pred",
        };
        s.line(&format!(".reg .{ty} {start}<{count}>;"));
    }
    s.line(".reg .pred %again;");
    s.line(".reg .b32 %thread, %block, %threads, %at, %place, %shared, %own, %members, %mask, %count<4>;");
    s.line(".reg .b64 %far, %global, %window, %constants, %out;");
}
