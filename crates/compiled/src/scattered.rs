//! Accesses to any addresses within one range of memory, as functions that the code calls.
//!
//! The arguments are the addresses, the lanes, and the range. If all lanes are inside, and aligned, the function does the access and
//! returns true; else it does nothing, and the interpreter takes over.

mod wide;

use std::fmt::Write;

use virtual_gpu::jit::{AtomicFunction, AtomicOp, MemoryOp};

use crate::values::{BITS, LONGS, WORDS};

/// An access by what its function depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Scattered {
    kind: Kind,
    /// Bytes of an element, and of its register by 4.
    width: u32,
    rows: u32,
    elements: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Load { signed: bool },
    Store,
    Atomic { name: &'static str, shared: bool },
}

impl Scattered {
    /// That of a load or store, if there is one.
    pub fn access(op: &MemoryOp, writes: bool) -> Option<Self> {
        let kind = if writes { Kind::Store } else { Kind::Load { signed: op.signed } };
        let fits = op.width <= 4 * op.rows && op.rows <= 2 && matches!(op.data.len(), 1 | 2 | 4);
        (fits && !op.multimem).then_some(Scattered {
            kind,
            width: op.width,
            rows: op.rows,
            elements: op.data.len() as u32,
        })
    }

    /// That of an atomic, if there is one.
    pub fn atomic(op: &AtomicOp, shared: bool) -> Option<Self> {
        use AtomicFunction::*;
        let name = match op.function {
            And => "and",
            Or => "or",
            Xor => "xor",
            Exchange => "xchg",
            CompareAndSwap => "cmpxchg",
            Add => "add",
            MinUnsigned => "umin",
            MaxUnsigned => "umax",
            MinSigned => "min",
            MaxSigned => "max",
            _ => return None,
        };
        let fits = matches!(op.width, 4 | 8) && op.operands.len() == 1 && !op.multimem;
        let kind = Kind::Atomic { name, shared };
        fits.then_some(Scattered { kind, width: op.width, rows: op.width / 4, elements: 1 })
    }

    pub fn name(&self) -> String {
        let Scattered { kind, width, rows, elements } = self;
        let kind = match kind {
            Kind::Load { signed: false } => "load".into(),
            Kind::Load { signed: true } => "load_signed".into(),
            Kind::Store => "store".into(),
            Kind::Atomic { name, shared } => format!("{name}_{}", if *shared { "shared" } else { "global" }),
        };
        format!("@{kind}_{width}_{rows}_{elements}")
    }

    /// The type of its registers.
    pub fn register(&self) -> &'static str {
        if self.rows == 1 { WORDS } else { LONGS }
    }

    /// Its result: whether it was done, and then the loaded register, if it is one; of an atomic the old values, and how many
    /// have changed.
    pub fn result(&self) -> String {
        let register = self.register();
        match self.kind {
            Kind::Load { .. } if self.gives_several() => "{ i1 }".into(),
            Kind::Load { .. } => format!("{{ i1, {register} }}"),
            Kind::Store => "{ i1 }".into(),
            Kind::Atomic { .. } => format!("{{ i1, {register}, i64 }}"),
        }
    }

    /// Whether results are several registers: the function writes them to its last argument, one place for all calls. LLVM would
    /// take stack for each.
    pub fn gives_several(&self) -> bool {
        self.elements > 1 && matches!(self.kind, Kind::Load { .. })
    }

    /// Registers that it takes.
    fn operands(&self) -> u32 {
        match self.kind {
            Kind::Load { .. } => 0,
            Kind::Store => self.elements,
            Kind::Atomic { name: "cmpxchg", .. } => 2,
            Kind::Atomic { .. } => 1,
        }
    }

    /// The function.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let bytes = self.width * self.elements;
        let (name, result) = (self.name(), self.result());
        let mut line = |line: String| {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{line}");
        };
        let mut operands: String =
            (0..self.operands()).map(|i| format!(", {} %operand{i}", self.register())).collect();
        if self.gives_several() {
            operands += ", ptr %several";
        }
        line(format!(
            "define internal {result} {name}({LONGS} %addresses, i32 %mask, i64 %start, i64 %bytes, ptr %host{operands}) #1 {{"
        ));
        if !self.by_vector() {
            self.reserve(&mut line);
        } else if self.is_wide() {
            line(format!("  %at = alloca {WORDS}"));
        }
        for step in [
            splat("start", "i64", "%start"),
            format!("  %offsets = sub {LONGS} %addresses, %starts"),
            format!("  %room = sub i64 %bytes, {bytes}"),
            splat("room", "i64", "%room"),
            format!("  %beyond = icmp ugt {LONGS} %offsets, %rooms"),
            format!("  %low = and {LONGS} %addresses, splat (i64 {})", bytes - 1),
            format!("  %askew = icmp ne {LONGS} %low, zeroinitializer"),
            format!("  %wrong = or {BITS} %beyond, %askew"),
            format!("  %wrongs = bitcast {BITS} %wrong to i32"),
            "  %lost = and i32 %wrongs, %mask".into(),
            "  %inside = icmp eq i32 %lost, 0".into(),
            format!("  %enough = icmp uge i64 %bytes, {bytes}"),
            // Offsets are numbers of 32 bits with a sign.
            "  %short = icmp ult i64 %bytes, 2147483648".into(),
            "  %somewhere = icmp ne i32 %mask, 0".into(),
            "  %fits = and i1 %inside, %enough".into(),
            "  %near = and i1 %short, %somewhere".into(),
            "  %can = and i1 %fits, %near".into(),
            "  br i1 %can, label %go, label %no".into(),
            "no:".into(),
            format!("  ret {result} zeroinitializer"),
            "go:".into(),
            format!("  %index = trunc {LONGS} %offsets to {WORDS}"),
        ] {
            line(step);
        }
        match self.kind {
            _ if !self.by_vector() => self.one_by_one(&mut line),
            Kind::Store => self.scatter(&mut line),
            _ => self.gather(&mut line),
        }
        line("}".into());
        text
    }

    fn by_vector(&self) -> bool {
        matches!(self.width, 4 | 8) && !matches!(self.kind, Kind::Atomic { .. })
    }

    /// Whether a lane accesses 16 bytes.
    fn is_wide(&self) -> bool {
        self.by_vector()
            && self.elements > 1
            && self.width * self.elements == 16
            && self.width == 4 * self.rows
    }

    /// Room for what [`Scattered::one_by_one`] indexes by lane.
    fn reserve(&self, line: &mut impl FnMut(String)) {
        line(format!("  %at = alloca {WORDS}"));
        for i in 0..self.operands() {
            line(format!("  %in{i} = alloca {}", self.register()));
        }
        if !matches!(self.kind, Kind::Store) {
            for e in 0..self.elements {
                line(format!("  %out{e} = alloca {}", self.memory().0));
            }
        }
    }

    fn gather(&self, line: &mut impl FnMut(String)) {
        let (ty, one) = self.memory();
        if self.is_wide() {
            wide::load(self, line);
        }
        line(format!("  %lanes = bitcast i32 %mask to {BITS}"));
        let is_row = self.row(line);
        for e in 0..self.elements {
            line(format!("  %host{e} = getelementptr i8, ptr %host, i64 {}", e * self.width));
            line(format!("  %places{e} = getelementptr i8, ptr %host{e}, {WORDS} %index"));
            line(format!(
                "  %gathered{e} = call {ty} @llvm.masked.gather.v32{one}.v32p0(<32 x ptr> align {} %places{e}, {BITS} %lanes, {ty} zeroinitializer)",
                self.width
            ));
        }
        if is_row {
            line("  br label %found".into());
            line("row:".into());
            line(format!(
                "  %loaded0 = call {ty} @llvm.masked.load.v32{one}.p0(ptr align {} %place, {BITS} %lanes, {ty} zeroinitializer)",
                self.width
            ));
            line("  br label %found".into());
            line("found:".into());
            line(format!("  %found0 = phi {ty} [ %loaded0, %row ], [ %gathered0, %apart ]"));
        }
        for e in 0..self.elements {
            if !is_row {
                line(format!("  %found{e} = bitcast {ty} %gathered{e} to {ty}"));
            }
            self.extend(line, e, &ty);
        }
        self.give(line);
    }

    fn scatter(&self, line: &mut impl FnMut(String)) {
        let (ty, one) = self.memory();
        if self.is_wide() {
            wide::store(self, line);
        }
        line(format!("  %lanes = bitcast i32 %mask to {BITS}"));
        for e in 0..self.elements {
            let (operand, register) = (format!("%operand{e}"), self.register());
            let narrow = if ty == register { "bitcast" } else { "trunc" };
            line(format!("  %value{e} = {narrow} {register} {operand} to {ty}"));
        }
        let is_row = self.row(line);
        for e in 0..self.elements {
            line(format!("  %host{e} = getelementptr i8, ptr %host, i64 {}", e * self.width));
            line(format!("  %places{e} = getelementptr i8, ptr %host{e}, {WORDS} %index"));
            // Of several lanes at one place the last one's value stays.
            line(format!(
                "  call void @llvm.masked.scatter.v32{one}.v32p0({ty} %value{e}, <32 x ptr> align {} %places{e}, {BITS} %lanes)",
                self.width
            ));
        }
        line(format!("  ret {} {{ i1 true }}", self.result()));
        if is_row {
            line("row:".into());
            line(format!(
                "  call void @llvm.masked.store.v32{one}.p0({ty} %value0, ptr align {} %place, {BITS} %lanes)",
                self.width
            ));
            line(format!("  ret {} {{ i1 true }}", self.result()));
        }
    }

    /// Whether single elements may lie side by side after all, in the order of the lanes, is tested: goes to `row` with their
    /// `%place`, as seen from the first lane, or on to `apart`. A processor takes much longer to gather and scatter.
    fn row(&self, line: &mut impl FnMut(String)) -> bool {
        if self.elements != 1 {
            return false;
        }
        let distances: Vec<String> = (0..32).map(|lane| format!("i32 {}", lane * self.width)).collect();
        line(format!("  %from = sub {WORDS} %index, <{}>", distances.join(", ")));
        line(format!("  %firsts = shufflevector {WORDS} %from, {WORDS} poison, {WORDS} zeroinitializer"));
        line(format!("  %alike = icmp eq {WORDS} %from, %firsts"));
        line(format!("  %alikes = bitcast {BITS} %alike to i32"));
        line("  %in_row = and i32 %alikes, %mask".into());
        line("  %is_row = icmp eq i32 %in_row, %mask".into());
        line(format!("  %first = extractelement {WORDS} %from, i32 0"));
        line("  %distance = sext i32 %first to i64".into());
        // The first lane may stay away, and its place lie outside.
        line("  %place = getelementptr i8, ptr %host, i64 %distance".into());
        line("  br i1 %is_row, label %row, label %apart".into());
        line("apart:".into());
        true
    }

    /// A loop over the lanes.
    fn one_by_one(&self, line: &mut impl FnMut(String)) {
        let (ty, one) = self.memory();
        let register = self.register();
        let lane = if self.rows == 1 { "i32" } else { "i64" };
        line(format!("  store {WORDS} %index, ptr %at"));
        for i in 0..self.operands() {
            line(format!("  store {register} %operand{i}, ptr %in{i}"));
        }
        if !matches!(self.kind, Kind::Store) {
            for e in 0..self.elements {
                line(format!("  store {ty} zeroinitializer, ptr %out{e}"));
            }
        }
        line("  br label %lane".into());
        line("lane:".into());
        line("  %left = phi i32 [ %mask, %go ], [ %rest, %next ]".into());
        line("  %changes = phi i64 [ 0, %go ], [ %changed, %next ]".into());
        line("  %number = call i32 @llvm.cttz.i32(i32 %left, i1 true)".into());
        line("  %slot = getelementptr i32, ptr %at, i32 %number".into());
        line("  %offset = load i32, ptr %slot".into());
        line("  %place = getelementptr i8, ptr %host, i32 %offset".into());
        for i in 0..self.operands() {
            line(format!("  %from{i} = getelementptr {lane}, ptr %in{i}, i32 %number"));
            line(format!("  %value{i} = load {lane}, ptr %from{i}"));
        }
        let mut changed = "%changes".to_owned();
        match self.kind {
            Kind::Load { .. } => {
                for e in 0..self.elements {
                    line(format!("  %place{e} = getelementptr i8, ptr %place, i64 {}", e * self.width));
                    line(format!("  %element{e} = load {one}, ptr %place{e}, align {}", self.width));
                    line(format!("  %to{e} = getelementptr {one}, ptr %out{e}, i32 %number"));
                    line(format!("  store {one} %element{e}, ptr %to{e}"));
                }
            }
            Kind::Store => {
                for e in 0..self.elements {
                    let mut value = format!("%value{e}");
                    if one != lane {
                        line(format!("  %element{e} = trunc {lane} {value} to {one}"));
                        value = format!("%element{e}");
                    }
                    line(format!("  %place{e} = getelementptr i8, ptr %place, i64 {}", e * self.width));
                    line(format!("  store {one} {value}, ptr %place{e}, align {}", self.width));
                }
            }
            Kind::Atomic { name, shared } => {
                update(line, name, shared, one, self.width);
                line(format!("  %to = getelementptr {one}, ptr %out0, i32 %number"));
                line(format!("  store {one} %old, ptr %to"));
                line(format!("  %differs = icmp ne {one} %new, %old"));
                line("  %more = zext i1 %differs to i64".into());
                line("  %sum = add i64 %changes, %more".into());
                changed = "%sum".into();
            }
        }
        line("  br label %next".into());
        line("next:".into());
        line(format!("  %changed = add i64 {changed}, 0"));
        line("  %less = sub i32 %left, 1".into());
        line("  %rest = and i32 %left, %less".into());
        line("  %over = icmp eq i32 %rest, 0".into());
        line("  br i1 %over, label %done, label %lane".into());
        line("done:".into());
        if matches!(self.kind, Kind::Store) {
            line(format!("  ret {} {{ i1 true }}", self.result()));
            return;
        }
        for e in 0..self.elements {
            line(format!("  %found{e} = load {ty}, ptr %out{e}"));
            self.extend(line, e, &ty);
        }
        self.give(line);
    }

    /// Makes registers of what was found.
    fn extend(&self, line: &mut impl FnMut(String), e: u32, ty: &str) {
        let register = self.register();
        if ty == register {
            line(format!("  %whole{e} = bitcast {ty} %found{e} to {register}"));
        } else {
            let extend = if self.kind == (Kind::Load { signed: true }) { "sext" } else { "zext" };
            line(format!("  %whole{e} = {extend} {ty} %found{e} to {register}"));
        }
    }

    /// Returns them.
    fn give(&self, line: &mut impl FnMut(String)) {
        let (result, register) = (self.result(), self.register());
        if self.gives_several() {
            for e in 0..self.elements {
                line(format!("  %give{e} = getelementptr {register}, ptr %several, i32 {e}"));
                line(format!("  store {register} %whole{e}, ptr %give{e}"));
            }
            line(format!("  ret {result} {{ i1 true }}"));
            return;
        }
        line(format!("  %given = insertvalue {result} zeroinitializer, i1 true, 0"));
        let mut last = "%given".to_owned();
        for e in 0..self.elements {
            line(format!("  %given{e} = insertvalue {result} {last}, {register} %whole{e}, {}", e + 1));
            last = format!("%given{e}");
        }
        if matches!(self.kind, Kind::Atomic { .. }) {
            line(format!("  %all = insertvalue {result} {last}, i64 %changed, 2"));
            last = "%all".into();
        }
        line(format!("  ret {result} {last}"));
    }

    /// The types of an element's lanes in memory, and of one.
    fn memory(&self) -> (String, &'static str) {
        let one = match self.width {
            1 => "i8",
            2 => "i16",
            4 => "i32",
            _ => "i64",
        };
        (format!("<32 x {one}>"), one)
    }
}

/// The new value of an atomic, and its update. No other thread reaches a block's shared memory meanwhile.
fn update(line: &mut impl FnMut(String), name: &str, shared: bool, ty: &str, align: u32) {
    if shared {
        line(format!("  %old = load {ty}, ptr %place, align {align}"));
    } else if name == "cmpxchg" {
        line(format!("  %both = cmpxchg ptr %place, {ty} %value0, {ty} %value1 seq_cst seq_cst"));
        line(format!("  %old = extractvalue {{ {ty}, i1 }} %both, 0"));
    } else {
        line(format!("  %old = atomicrmw {name} ptr %place, {ty} %value0 seq_cst"));
    }
    match name {
        "xchg" => line(format!("  %new = add {ty} %value0, 0")),
        "cmpxchg" => {
            line(format!("  %equal = icmp eq {ty} %old, %value0"));
            line(format!("  %new = select i1 %equal, {ty} %value1, {ty} %old"));
        }
        "umin" | "umax" | "min" | "max" => {
            let name = match name {
                "min" => "smin",
                "max" => "smax",
                unsigned => unsigned,
            };
            line(format!("  %new = call {ty} @llvm.{name}.{ty}({ty} %old, {ty} %value0)"));
        }
        plain => line(format!("  %new = {plain} {ty} %old, %value0")),
    }
    if shared {
        line(format!("  store {ty} %new, ptr %place, align {align}"));
    }
}

/// A value in all lanes: `%NAMEs`.
fn splat(name: &str, ty: &str, value: &str) -> String {
    format!(
        "  %{name}_one = insertelement <32 x {ty}> poison, {ty} {value}, i32 0\n  %{name}s = shufflevector <32 x {ty}> %{name}_one, <32 x {ty}> poison, {WORDS} zeroinitializer"
    )
}
