//! Copies and fills use the widest accesses that their alignment allows.
//!
//! LLVM's NVPTX back end turns `memcpy`, `memmove` and `memset` of unknown or larger size into loops over bytes. Those
//! that are left after the optimiser become, here, straight-line code if they are small and loops over 16-byte (or as
//! much as aligned) elements if not, with the rest in smaller steps.

use crate::llvm::{At, Binary, Block, Builder, Cast, Context, Linkage, Module, Opcode, Type, Value};

/// Up to this many accesses are written out.
const STRAIGHT: u64 = 32;

/// Rewrites all of them; whether there was any. The loops are functions that the inliner must then put in place.
pub fn widen(context: &Context, module: &Module<'_>) -> bool {
    let mut any = false;
    for function in module.functions() {
        for call in function.instructions() {
            let Some(kind) = kind(call) else { continue };
            rewrite(context, module, call, kind);
            call.erase();
            any = true;
        }
    }
    any
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Copy,
    /// The two may overlap.
    Move,
    Fill,
}

fn kind(call: Value) -> Option<Kind> {
    if call.opcode() != Opcode::Call {
        return None;
    }
    let callee = call.called()?.as_function()?;
    let name = callee.name();
    [("llvm.memcpy.", Kind::Copy), ("llvm.memmove.", Kind::Move), ("llvm.memset.", Kind::Fill)]
        .into_iter()
        .find(|(prefix, _)| name.starts_with(prefix))
        .map(|(_, kind)| kind)
}

/// The type of an access of `bytes` bytes.
fn access_type(context: &Context, bytes: u64) -> Type {
    match bytes {
        16 => context.vector(context.int(32), 4),
        _ => context.int(bytes as u32 * 8),
    }
}

struct Operation<'a> {
    context: &'a Context,
    kind: Kind,
    to: Value,
    /// The source, or the byte of a fill.
    from: Value,
    align: u64,
}

/// Rewrites one call; what needs a loop becomes a call of a function that the inliner then puts in place.
fn rewrite(context: &Context, module: &Module<'_>, call: Value, kind: Kind) {
    let (to, from, len) = (call.operand(0), call.operand(1), call.operand(2));
    let alignment = |index| call.call_enum_attribute(At::Parameter(index), "align").unwrap_or(1);
    let align = if kind == Kind::Fill { alignment(0) } else { alignment(0).min(alignment(1)) }.clamp(1, 16);
    let build = Builder::before(call);
    match len.as_int() {
        Some(0) => {}
        Some(len) if (len as u64).div_ceil(align) <= STRAIGHT => {
            Operation { context, kind, to, from, align }.straight(&build, len as u64);
        }
        _ => {
            let int = context.int(64);
            let len = if len.ty().int_width() == 64 { len } else { build.cast(Cast::ZExt, len, int) };
            let looping = loop_function(context, module, kind, align, to.ty(), from.ty());
            build.call(looping.value_type(), looping, &[to, from, len]);
        }
    }
}

/// A function `(to, from or byte, length)` with the loops. Elements are as wide as the addresses prove to be aligned
/// when it runs, and as the static alignment at least.
fn loop_function(
    context: &Context,
    module: &Module<'_>,
    kind: Kind,
    align: u64,
    to: Type,
    from: Type,
) -> Value {
    let (to_space, from_space) = (to.address_space(), from.address_space());
    let name = format!("warpsmith_{kind:?}_{align}_{to_space}_{from_space}").to_lowercase();
    if let Some(function) = module.function(&name) {
        return function;
    }
    let int = context.int(64);
    let function = module.add_function(&name, context.void().function(&[to, from, int]));
    function.set_linkage(Linkage::Internal);
    function.add_enum_attribute(At::Function, "alwaysinline", 0);
    let (to, from, len) = (function.parameter(0), function.parameter(1), function.parameter(2));
    let after = function.append_block("after");
    Builder::at_end(after).return_void();
    let mut block = function.append_block("start");
    block.move_before(after);
    for width in [16, 4].into_iter().filter(|width| *width > align) {
        let build = Builder::at_end(block);
        let mut addresses = build.cast(Cast::PtrToInt, to, int);
        if kind != Kind::Fill {
            addresses = build.binary(Binary::Or, addresses, build.cast(Cast::PtrToInt, from, int));
        }
        let misaligned = build.binary(Binary::And, addresses, int.int(width as i64 - 1));
        let (aligned, other) = (function.append_block("aligned"), function.append_block("other"));
        build.branch_if(build.compare(32, misaligned, int.int(0)), aligned, other);
        Operation { context, kind, to, from, align: width }.in_loops(aligned, len, align, after);
        block = other;
    }
    Operation { context, kind, to, from, align }.in_loops(block, len, align, after);
    function
}

impl Operation<'_> {
    /// Every access written out: all loads first, so that overlap does not matter.
    fn straight(&self, build: &Builder, len: u64) {
        let mut steps = Vec::new();
        let mut at = 0;
        while at < len {
            let mut bytes = self.align;
            while at + bytes > len || at % bytes != 0 {
                bytes /= 2;
            }
            steps.push((at, bytes));
            at += bytes;
        }
        let values: Vec<Value> =
            steps.iter().map(|&(at, bytes)| self.value(build, self.constant(at), bytes)).collect();
        for ((at, bytes), value) in steps.into_iter().zip(values) {
            let place = build.offset(self.context.int(8), self.to, self.constant(at));
            build.store(value, place, bytes as u32);
        }
    }

    fn constant(&self, value: u64) -> Value {
        self.context.int(64).int(value as i64)
    }

    /// The value for offset `at`: loaded from the source, or the byte of a fill repeated.
    fn value(&self, build: &Builder, at: Value, bytes: u64) -> Value {
        let ty = access_type(self.context, bytes);
        if self.kind != Kind::Fill {
            let place = build.offset(self.context.int(8), self.from, at);
            return build.load(ty, place, bytes as u32);
        }
        let wide = self.context.int(bytes as u32 * 8);
        let byte = build.cast(Cast::ZExt, self.from, wide);
        let ones = (0..bytes).fold(0_u128, |ones, index| ones | 1 << (8 * index));
        let ones = if bytes == 16 { wide.int128(ones) } else { wide.int(ones as i64) };
        build.cast(Cast::Bits, build.binary(Binary::Mul, byte, ones), ty)
    }

    /// A loop over wide elements, then one in steps of `small` over what is left; backwards if the destination lies
    /// behind the source and the two may overlap. Both end in `after`.
    fn in_loops(&self, from: Block, len: Value, small: u64, after: Block) {
        let int = self.context.int(64);
        let build = Builder::at_end(from);
        let count =
            |bytes: u64, len| build.binary(Binary::LShr, len, int.int(i64::from(bytes.trailing_zeros())));
        let wide_count = count(self.align, len);
        let wide_bytes = build.binary(Binary::Mul, wide_count, int.int(self.align as i64));
        let left = build.binary(Binary::Sub, len, wide_bytes);
        let small = if self.align == small { 1 } else { small };
        let small_count = count(small, left);
        let small_bytes = build.binary(Binary::Mul, small_count, int.int(small as i64));
        let small_end = build.binary(Binary::Add, wide_bytes, small_bytes);
        let byte_count = build.binary(Binary::Sub, left, small_bytes);
        let zero = int.int(0);
        let mut loops = vec![(wide_count, self.align, zero), (small_count, small, wide_bytes)];
        if small > 1 {
            loops.push((byte_count, 1, small_end));
        }
        if self.kind != Kind::Move {
            let end = loops
                .into_iter()
                .fold(from, |block, (count, bytes, start)| self.counted(block, count, bytes, start, false));
            Builder::at_end(end).branch(after);
            return;
        }
        let address = |pointer| build.cast(Cast::PtrToInt, pointer, int);
        let overlaps_ahead = build.compare(36, address(self.from), address(self.to));
        let function = from.function();
        let (ahead, behind) = (function.append_block("ahead"), function.append_block("behind"));
        build.branch_if(overlaps_ahead, behind, ahead);
        let forwards = loops
            .iter()
            .fold(ahead, |block, &(count, bytes, start)| self.counted(block, count, bytes, start, false));
        Builder::at_end(forwards).branch(after);
        let backwards = loops
            .iter()
            .rev()
            .fold(behind, |block, &(count, bytes, start)| self.counted(block, count, bytes, start, true));
        Builder::at_end(backwards).branch(after);
    }

    /// A loop of `count` accesses of `bytes` bytes from `start` on; returns the open block after it.
    fn counted(&self, from: Block, count: Value, bytes: u64, start: Value, backwards: bool) -> Block {
        let int = self.context.int(64);
        let function = from.function();
        let (body, done) = (function.append_block("copy"), function.append_block("copied"));
        let entry = Builder::at_end(from);
        entry.branch_if(entry.compare(32, count, int.int(0)), done, body);
        let build = Builder::at_end(body);
        let index = build.phi(int);
        let next = build.binary(Binary::Add, index, int.int(1));
        let element = if backwards {
            build.binary(Binary::Sub, build.binary(Binary::Sub, count, int.int(1)), index)
        } else {
            index
        };
        let at = build.binary(Binary::Add, start, build.binary(Binary::Mul, element, int.int(bytes as i64)));
        let value = self.value(&build, at, bytes);
        build.store(value, build.offset(self.context.int(8), self.to, at), bytes as u32);
        build.branch_if(build.compare(36, next, count), body, done);
        build.add_incoming(index, int.int(0), from);
        build.add_incoming(index, next, body);
        done
    }
}
