//! How undefined bits of an instruction's operands become undefined bits of its results.
//!
//! Compilers take structures apart, pack bit fields, and mask what they must not look at: `(flag & x) != 0`, `p && q`
//! with both sides computed, a field inserted into a byte that is half undefined. What decides is whether another value
//! of the undefined bits could have changed the result, so the operands' values are looked at, too. Where that is not
//! known, a result is undefined as a whole.

use virtual_gpu::alu::bits::PrmtMode;
use virtual_gpu::alu::compare::{BoolOp, FloatCmp, IntCmp, float};
use virtual_gpu::observer::{
    Arithmetic, CollectiveKind, Convert, Converted, Opcode, Operation, ProductHalf, Qualifiers, Register,
    Relation, ScalarType,
};

/// One operand in one lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Value {
    /// Its bits; those that are undefined may be anything.
    pub bits: u128,
    /// Which of them are undefined.
    pub undefined: u128,
}

impl Value {
    fn is_undefined(self) -> bool {
        self.undefined != 0
    }

    /// The value, where all of it is defined.
    fn known(self) -> Option<u128> {
        (self.undefined == 0).then_some(self.bits)
    }

    fn and(self, other: Value) -> Value {
        let undefined = self.undefined & other.undefined
            | self.undefined & other.bits & !other.undefined
            | other.undefined & self.bits & !self.undefined;
        Value { bits: self.bits & other.bits, undefined }
    }

    fn not(self) -> Value {
        Value { bits: !self.bits, ..self }
    }

    fn or(self, other: Value) -> Value {
        self.not().and(other.not()).not()
    }

    fn xor(self, other: Value) -> Value {
        Value { bits: self.bits ^ other.bits, undefined: self.undefined | other.undefined }
    }
}

/// The lowest `count` bits.
pub fn low(count: u32) -> u128 {
    if count >= 128 { u128::MAX } else { (1 << count) - 1 }
}

/// The bits of a register; a predicate has one.
pub fn all_of(register: Register) -> u128 {
    low((register.bytes * 8).max(1))
}

/// The undefined bits of each of `writes`.
pub fn flow(operation: Operation<'_>, operands: &[Value], writes: &[Register], results: &mut Vec<u128>) {
    if !operands.iter().any(|operand| operand.is_undefined()) {
        return results.extend(writes.iter().map(|_| 0));
    }
    match results_of(operation, operands, writes) {
        Some(known) => results.extend(known),
        None => results.extend(writes.iter().map(|_| u128::MAX)),
    }
}

fn bits_of(ty: ScalarType) -> u32 {
    if ty == ScalarType::Pred { 1 } else { 8 * ty.size() as u32 }
}

fn results_of(operation: Operation<'_>, operands: &[Value], writes: &[Register]) -> Option<Vec<u128>> {
    match (operation, operands) {
        (Operation::Arithmetic(arithmetic), _) => match arithmetic.opcode {
            Opcode::Move => moved(arithmetic.qualifiers, operands, writes.len()),
            Opcode::LogicOf3 => by_table(arithmetic.qualifiers, operands),
            Opcode::SetPredicate => compare(arithmetic.qualifiers, operands, writes.len()),
            _ => result_of(arithmetic, operands).map(|undefined| vec![undefined]),
        },
        // Whether the lane is in range, which guards the sum in scans, has nothing to do with the value.
        (Operation::Collective(shuffle), [value, places @ ..])
            if matches!(shuffle.kind, CollectiveKind::Shuffle(_)) =>
        {
            let known = places.iter().all(|place| !place.is_undefined());
            let of = |register: &Register| match (known, register.bytes) {
                (false, _) => u128::MAX,
                (true, 0) => 0,
                (true, _) => value.undefined,
            };
            Some(writes.iter().map(of).collect())
        }
        _ => None,
    }
}

/// An operation with one result.
fn result_of(arithmetic: &Arithmetic, operands: &[Value]) -> Option<u128> {
    let width = match arithmetic.qualifiers {
        Qualifiers::Type(ty) | Qualifiers::Integer { ty, .. } => bits_of(ty),
        _ => 32,
    };
    let signed = matches!(arithmetic.qualifiers, Qualifiers::Type(ty) if ty.is_signed());
    Some(match (arithmetic.opcode, operands, arithmetic.qualifiers) {
        (Opcode::ConvertAddress | Opcode::Not, &[source], _) => source.undefined,
        (Opcode::And, &[a, b], _) => a.and(b).undefined,
        (Opcode::Or, &[a, b], _) => a.or(b).undefined,
        (Opcode::Xor, &[a, b], _) => a.xor(b).undefined,
        (Opcode::Select, &[a, b, chooser], _) => match chooser.known() {
            Some(first) if first & 1 != 0 => a.undefined,
            Some(_) => b.undefined,
            None => a.xor(b).bits | a.undefined | b.undefined,
        },
        (Opcode::ShiftLeft, &[source, by], _) => shift_left(source.undefined, by.known()?) & low(width),
        (Opcode::ShiftRight, &[source, by], _) => shift_right(width, signed, source.undefined, by.known()?),
        (Opcode::FunnelShift, &[a, b, by], Qualifiers::FunnelShift { left, wrap }) => {
            let by = if wrap { by.known()? & 31 } else { by.known()?.min(32) } as u32;
            let both = b.undefined << 32 | a.undefined;
            (if left { both << by >> 32 } else { both >> by }) & low(32)
        }
        (Opcode::BitFieldExtract, &[source, at, length], _) => {
            let (at, length) = (at.known()? & 0xFF, (length.known()? & 0xFF).min(width.into()) as u32);
            let field = shift_right_plain(source.undefined, at) & low(length);
            let sign = signed
                && length > 0
                && source.undefined >> (width - 1).min((at as u32 + length) - 1) & 1 != 0;
            field | if sign { low(width) & !low(length) } else { 0 }
        }
        (Opcode::BitFieldInsert, &[field, base, at, length], _) => {
            let at = at.known()? & 0xFF;
            let place = shift_left(low((length.known()? & 0xFF) as u32), at) & low(width);
            base.undefined & !place | shift_left(field.undefined, at) & place
        }
        (Opcode::Permute, &[a, b, how], Qualifiers::Permute(PrmtMode::Generic)) => {
            permute(b.undefined << 32 | a.undefined, how.known()?)
        }
        (Opcode::BitReverse, &[source], _) => (source.undefined & low(width)).reverse_bits() >> (128 - width),
        (Opcode::Convert, &[source], Qualifiers::Convert(types)) => convert(types, source)?,
        // A sum's bit depends on those below it.
        (
            Opcode::Add | Opcode::Sub | Opcode::Neg,
            parts,
            Qualifiers::Integer { saturate: false, relu: false, .. },
        ) => from_lowest(parts) & low(width),
        (Opcode::Mul | Opcode::MultiplyAdd, parts, Qualifiers::Integer { half, saturate: false, .. }) => {
            match half? {
                ProductHalf::Low => from_lowest(parts) & low(width),
                ProductHalf::Wide => from_lowest(parts) & low(2 * width),
                ProductHalf::High => return None,
            }
        }
        _ => return None,
    })
}

/// `mov`, which packs and unpacks where it has several operands or results.
fn moved(qualifiers: Qualifiers, operands: &[Value], results: usize) -> Option<Vec<u128>> {
    let Qualifiers::Type(ty) = qualifiers else { return None };
    let part = |parts: usize| bits_of(ty) / parts as u32;
    Some(match operands {
        &[source] if results > 1 => {
            let part = part(results);
            (0..results as u32).map(|i| source.undefined >> (i * part) & low(part)).collect()
        }
        parts if parts.len() == results => parts.iter().map(|value| value.undefined).collect(),
        parts => {
            let part = part(parts.len());
            let place = |(i, value): (u32, &Value)| (value.undefined & low(part)) << (i * part);
            vec![(0..).zip(parts).map(place).fold(0, |all, bits| all | bits)]
        }
    })
}

/// `prmt`: each nibble of `how` picks a byte, or its sign.
fn permute(from: u128, how: u128) -> u128 {
    (0..4).fold(0, |all, i| {
        let pick = how >> (4 * i) & 0xF;
        let byte = from >> (8 * (pick & 7)) & 0xFF;
        let byte = match (pick & 8, byte & 0x80) {
            (0, _) => byte,
            (_, 0) => 0,
            _ => 0xFF,
        };
        all | byte << (8 * i)
    })
}

/// All bits from the lowest undefined one on.
fn from_lowest(parts: &[Value]) -> u128 {
    let undefined = parts.iter().fold(0, |all, part| all | part.undefined);
    undefined | undefined.wrapping_neg()
}

fn shift_left(bits: u128, by: u128) -> u128 {
    if by >= 128 { 0 } else { bits << by }
}

fn shift_right_plain(bits: u128, by: u128) -> u128 {
    if by >= 128 { 0 } else { bits >> by }
}

fn shift_right(width: u32, signed: bool, undefined: u128, by: u128) -> u128 {
    let by = by.min(width.into()) as u32;
    let sign = signed && undefined >> (width - 1) & 1 != 0;
    undefined >> by | if sign { low(width) & !low(width - by) } else { 0 }
}

/// `lop3`, and whether its result is not zero, joined with a predicate.
fn by_table(qualifiers: Qualifiers, operands: &[Value]) -> Option<Vec<u128>> {
    let Qualifiers::Table { table, join, .. } = qualifiers else { return None };
    let (&inputs, with) = operands.split_first_chunk::<3>()?;
    let result = lop3(inputs, table);
    let Some(join) = join else { return Some(vec![result.undefined]) };
    let holds = match (result.bits & !result.undefined, result.undefined) {
        (0, 0) => Some(false),
        (0, _) => None,
        _ => Some(true),
    };
    Some(vec![result.undefined, joined(predicate(holds), Some(join), with).undefined])
}

/// A bit of the result is undefined if the bits of the operands could be chosen so that it differs.
fn lop3(operands: [Value; 3], table: u8) -> Value {
    let of = |values: [u128; 3]| {
        (0..8).filter(|i| table >> i & 1 != 0).fold(0, |all, i: u32| {
            // The table's index has the first operand's bit on top.
            let bit =
                |operand: usize| if i >> (2 - operand) & 1 != 0 { values[operand] } else { !values[operand] };
            all | bit(0) & bit(1) & bit(2)
        })
    };
    let chosen = |choice: u32| {
        let mut values = operands.map(|operand| operand.bits & !operand.undefined);
        for (i, operand) in operands.iter().enumerate() {
            if choice >> i & 1 != 0 {
                values[i] |= operand.undefined;
            }
        }
        of(values)
    };
    let first = chosen(0);
    let undefined = (1..8).fold(0, |all, choice| all | chosen(choice) ^ first) & low(32);
    Value { bits: first & low(32), undefined }
}

/// An integer conversion keeps the bits that both types have, and extends by zeros or by the sign.
fn convert(types: Convert, source: Value) -> Option<u128> {
    let (Converted::Scalar(to, _), Converted::Scalar(from, _)) = (types.to, types.from) else { return None };
    if to.is_float() || from.is_float() || types.sat {
        return None;
    }
    let (to, bits) = (bits_of(to), bits_of(from));
    let kept = source.undefined & low(bits);
    let sign = from.is_signed() && to > bits && kept >> (bits - 1) & 1 != 0;
    Some((kept | if sign { low(to) & !low(bits) } else { 0 }) & low(to))
}

fn predicate(holds: Option<bool>) -> Value {
    Value { bits: u128::from(holds == Some(true)), undefined: u128::from(holds.is_none()) }
}

/// A predicate, joined with another one that may decide anyway.
fn joined(holds: Value, join: Option<BoolOp>, with: &[Value]) -> Value {
    match (join, with) {
        (Some(BoolOp::And), &[with, ..]) => holds.and(with),
        (Some(BoolOp::Or), &[with, ..]) => holds.or(with),
        (Some(BoolOp::Xor), &[with, ..]) => holds.xor(with),
        _ => holds,
    }
}

/// `setp`: whether the comparison has one outcome whatever the undefined bits are.
fn compare(qualifiers: Qualifiers, operands: &[Value], results: usize) -> Option<Vec<u128>> {
    let Qualifiers::Compare(compare) = qualifiers else { return None };
    let (&[a, b], with) = operands.split_first_chunk::<2>()?;
    let outcome = match compare.relation {
        Relation::Integer(how) => integers(how, compare.ty, a, b),
        Relation::Float(how) => match (a.known(), b.known()) {
            (Some(a), Some(b)) => Some(floats(how, compare.ty, a, b)?),
            _ => None,
        },
    };
    let both = [outcome, outcome.map(|holds| !holds)];
    let joined = |holds| joined(predicate(holds), compare.join, with).undefined & 1;
    Some(both.into_iter().take(results).map(joined).collect())
}

fn integers(how: IntCmp, ty: ScalarType, a: Value, b: Value) -> Option<bool> {
    let width = bits_of(ty);
    // Signed numbers compare as unsigned ones do when the sign is turned round.
    let turn = if ty.is_signed() { 1 << (width - 1) } else { 0 };
    let range = |value: Value| {
        let (bits, undefined) = ((value.bits ^ turn) & low(width), value.undefined & low(width));
        (bits & !undefined, bits | undefined)
    };
    let ((a_low, a_high), (b_low, b_high)) = (range(a), range(b));
    let below = |high: u128, low: u128, other_low: u128, other_high: u128| match () {
        () if high < other_low => Some(true),
        () if low >= other_high => Some(false),
        () => None,
    };
    let less = || below(a_high, a_low, b_low, b_high);
    let greater = || below(b_high, b_low, a_low, a_high);
    let differ = || match (a.bits ^ b.bits) & !(a.undefined | b.undefined) & low(width) {
        0 if (a.undefined | b.undefined) & low(width) == 0 => Some(false),
        0 => None,
        _ => Some(true),
    };
    match how {
        IntCmp::Eq => differ().map(|differ| !differ),
        IntCmp::Ne => differ(),
        IntCmp::Lt => less(),
        IntCmp::Ge => less().map(|less| !less),
        IntCmp::Gt => greater(),
        IntCmp::Le => greater().map(|greater| !greater),
    }
}

fn floats(how: FloatCmp, ty: ScalarType, a: u128, b: u128) -> Option<bool> {
    match ty {
        ScalarType::F32 => Some(float(how, f32::from_bits(a as u32), f32::from_bits(b as u32))),
        ScalarType::F64 => Some(float(how, f64::from_bits(a as u64), f64::from_bits(b as u64))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use gpu_model::chips::H200;
    use virtual_gpu::Gpu;

    use super::*;

    /// The results of an instruction whose operands are (bits, undefined bits).
    fn results(text: &str, operands: &[(u128, u128)], writes: &[u32]) -> Vec<u128> {
        let module = format!(
            ".version 8.0 .target sm_90 .address_size 64 .visible .entry k() {{ .reg .b16 %h<4>; .reg .b32 %r<9>; \
             .reg .b64 %d<4>; .reg .f32 %f<4>; .reg .pred %p<4>; {text}; }}"
        );
        let module = Gpu::new(&H200).load(&module).unwrap_or_else(|error| panic!("{text}: {error}"));
        let operands: Vec<_> = operands.iter().map(|&(bits, undefined)| Value { bits, undefined }).collect();
        let written: Vec<_> = writes.iter().map(|&bytes| Register { slot: 0, bytes }).collect();
        let mut results = Vec::new();
        flow(module.code().operation(0), &operands, &written, &mut results);
        results
    }

    fn result(text: &str, operands: &[(u128, u128)]) -> u128 {
        results(text, operands, &[4])[0]
    }

    const PADDED: (u128, u128) = (0x0000_0007_0000_0001, 0xFFFF_FF00);

    #[test]
    fn padding_does_not_taint_the_fields_beside_it() {
        // struct { u8, 3 bytes of padding, u32 } read as 8 bytes.
        assert_eq!(results("mov.b64 {%r1, %r2}, %d1", &[PADDED], &[4, 4]), [0xFFFF_FF00, 0]);
        assert_eq!(results("mov.b64 %d1, {%r1, %r2}", &[(0, 0xFF), (0, 0)], &[8]), [0xFF]);
        assert_eq!(result("shr.u64 %d1, %d2, %r1", &[PADDED, (32, 0)]), 0);
        assert_eq!(result("and.b32 %r1, %r2, %r3", &[(0, 0xFFFF_FF00), (0xFF, 0)]), 0);
        assert_eq!(result("and.b32 %r1, %r2, %r3", &[(0xFF, 0), (0, 0xFFFF_FF00)]), 0);
        assert_eq!(result("cvt.u16.u64 %h1, %d1", &[PADDED]), 0xFF00);
        assert_eq!(result("cvt.u32.u8 %r1, %h1", &[(0, 0xFFFF_FF00)]), 0);
        assert_eq!(result("bfe.u32 %r1, %r2, %r3, %r4", &[(0, 0xFFFF_00FF), (8, 0), (8, 0)]), 0);
        let bytes = [(0, 0xFFFF_0000), (0, 0xFFFF_0000), (0x5410, 0)];
        assert_eq!(result("prmt.b32 %r1, %r2, %r3, %r4", &bytes), 0);
        let shifted = [(0, 0xFFFF_FFFF), (0, 0), (32, 0)];
        assert_eq!(result("shf.r.wrap.b32 %r1, %r2, %r3, %r4", &shifted), 0xFFFF_FFFF);
    }

    #[test]
    fn a_bit_field_is_apart_from_the_others_of_its_byte() {
        // x = x & 0xFB | 4, as a compiler sets one bit of a byte that was never written.
        assert_eq!(result("and.b32 %r1, %r2, %r3", &[(0, 0xFF), (0xFB, 0)]), 0xFB);
        assert_eq!(result("or.b32 %r1, %r2, %r3", &[(0, 0xFB), (4, 0)]), 0xFB);
        assert_eq!(result("shr.u32 %r1, %r2, %r3", &[(4, 0xFB), (2, 0)]) & 1, 0);
        let field = [(1, 0), (0, 0xFF), (2, 0), (1, 0)];
        assert_eq!(result("bfi.b32 %r1, %r2, %r3, %r4, %r5", &field), 0xFB);
        // (a & b) | c, bit by bit.
        let lop3 = "lop3.b32 %r1, %r2, %r3, %r4, 0xEA";
        assert_eq!(result(lop3, &[(0, 0xFF), (0, 0), (5, 0)]), 0);
        assert_eq!(result(lop3, &[(0, 0xFF), (0x0F, 0), (0, 0)]), 0x0F);
    }

    #[test]
    fn a_comparison_that_comes_out_the_same_is_defined() {
        let unknown = (0, 0xFFFF_FFFF);
        assert_eq!(result("setp.gt.s32 %p1, %r1, %r2", &[unknown, (5, 0)]), 1);
        let and = "setp.gt.and.s32 %p1, %r1, %r2, %p2";
        assert_eq!(result(and, &[unknown, (5, 0), (0, 0)]), 0, "and false");
        assert_eq!(result(and, &[unknown, (5, 0), (1, 0)]), 1);
        let or = "setp.gt.or.s32 %p1, %r1, %r2, %p2";
        assert_eq!(result(or, &[unknown, (5, 0), (1, 0)]), 0, "or true");
        assert_eq!(result("setp.ne.s32 %p1, %r1, %r2", &[(0x100, 0xFF), (0, 0)]), 0, "a defined bit differs");
        assert_eq!(result("setp.lt.u32 %p1, %r1, %r2", &[(3, 0xFF), (0x100, 0)]), 0, "whatever the byte is");
        assert_eq!(result("setp.lo.u32 %p1, %r1, %r2", &[(3, 0xFF), (1 << 31, 0)]), 0, "without a sign");
        assert_eq!(result("setp.lt.s32 %p1, %r1, %r2", &[(0, 0x8000_0000), (0, 0)]), 1);
        assert_eq!(result("and.pred %p1, %p2, %p3", &[(0, 1), (0, 0)]), 0);
        assert_eq!(result("or.pred %p1, %p2, %p3", &[(0, 1), (0, 0)]), 1);
        let select = "selp.b32 %r1, %r2, %r3, %p1";
        assert_eq!(result(select, &[unknown, (1, 0), (0, 0)]), 0, "the other one was chosen");
        assert_eq!(result(select, &[(6, 0), (6, 0), (0, 1)]), 0, "both are the same");
    }

    #[test]
    fn arithmetic_carries_upwards() {
        assert_eq!(result("add.s32 %r1, %r2, %r3", &[(0, 0x100), (1, 0)]), 0xFFFF_FF00);
        assert_eq!(result("add.f32 %f1, %f2, %f3", &[(0, 0x100), (1, 0)]), u128::MAX);
        assert_eq!(result("cvt.rn.f32.u32 %f1, %r1", &[(0, 1)]), u128::MAX);
        assert_eq!(result("shr.s32 %r1, %r2, %r3", &[(0, 0x8000_0000), (16, 0)]), 0xFFFF_8000);
        assert_eq!(result("mul.wide.u32 %d1, %r1, %r2", &[(0, 0x100), (3, 0)]), low(64) & !0xFF);
    }
}
