//! How undefined bits of an instruction's operands become undefined bits of its results.
//!
//! Compilers take structures apart, pack bit fields, and mask what they must not look at: `(flag & x) != 0`, `p && q`
//! with both sides computed, a field inserted into a byte that is half undefined. What decides is whether another value
//! of the undefined bits could have changed the result, so the operands' values are looked at, too. Where that is not
//! known, a result is undefined as a whole.

use virtual_gpu::Opcode;
use virtual_gpu::observer::Register;

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

/// The undefined bits of each of `writes`, of which at least one operand has some.
pub fn flow(opcode: &Opcode, operands: &[Value], writes: &[Register], results: &mut Vec<u128>) {
    let whole = if operands.iter().any(|operand| operand.is_undefined()) { u128::MAX } else { 0 };
    let form = Form::of(opcode);
    match results_of(&form, operands, writes) {
        Some(known) => results.extend(known),
        None => results.extend(writes.iter().map(|_| whole)),
    }
}

/// An instruction's name, its other modifiers, and its types.
struct Form<'a> {
    name: &'a str,
    words: Vec<&'a str>,
    types: Vec<&'a str>,
}

impl<'a> Form<'a> {
    fn of(opcode: &'a Opcode) -> Self {
        let (types, words) =
            opcode.modifiers.iter().map(|word| word.as_str()).partition(|word| bits_of_type(word).is_some());
        Form { name: opcode.name.as_str(), words, types }
    }

    /// Bits of the first type.
    fn width(&self) -> u32 {
        self.types.first().and_then(|ty| bits_of_type(ty)).unwrap_or(32)
    }

    fn is_float(&self) -> bool {
        self.types.iter().any(|ty| ty.starts_with('f'))
    }

    fn is_signed(&self) -> bool {
        self.types.first().is_some_and(|ty| ty.starts_with('s'))
    }

    fn has(&self, word: &str) -> bool {
        self.words.contains(&word)
    }
}

fn bits_of_type(word: &str) -> Option<u32> {
    if word == "pred" {
        return Some(1);
    }
    word.strip_prefix(['b', 'u', 's', 'f'])?.parse().ok().filter(|bits| [8, 16, 32, 64, 128].contains(bits))
}

fn results_of(form: &Form<'_>, operands: &[Value], writes: &[Register]) -> Option<Vec<u128>> {
    let width = form.width();
    let one = |undefined: u128| Some(vec![undefined]);
    match (form.name, operands) {
        ("mov", &[source]) if writes.len() > 1 => {
            let part = width / writes.len() as u32;
            Some((0..writes.len() as u32).map(|i| source.undefined >> (i * part) & low(part)).collect())
        }
        ("mov", parts) if parts.len() > 1 => {
            let part = width / parts.len() as u32;
            let place = |(i, value): (u32, &Value)| (value.undefined & low(part)) << (i * part);
            one((0..).zip(parts).map(place).fold(0, |all, bits| all | bits))
        }
        ("mov" | "cvta", &[source]) => one(source.undefined),
        ("not", &[source]) => one(source.undefined),
        // Whether the lane is in range, which guards the sum in scans, has nothing to do with the value.
        ("shfl", [value, places @ ..]) => {
            let known = places.iter().all(|place| !place.is_undefined());
            let of = |register: &Register| match (known, register.bytes) {
                (false, _) => u128::MAX,
                (true, 0) => 0,
                (true, _) => value.undefined,
            };
            Some(writes.iter().map(of).collect())
        }
        ("and", &[a, b]) => one(a.and(b).undefined),
        ("or", &[a, b]) => one(a.or(b).undefined),
        ("xor", &[a, b]) => one(a.xor(b).undefined),
        ("lop3", &[a, b, c, table]) => one(lop3([a, b, c], table.known()? as u32)),
        ("lop3", parts) => one(parts.iter().fold(0, |all, part| all | part.undefined)),
        ("selp", &[a, b, chooser]) => one(match chooser.known() {
            Some(first) => {
                if first & 1 != 0 {
                    a.undefined
                } else {
                    b.undefined
                }
            }
            None => a.xor(b).bits | a.undefined | b.undefined,
        }),
        ("setp", _) => compare(form, operands, writes.len()),
        ("shl", &[source, by]) => one(shift_left(source.undefined, by.known()?) & low(width)),
        ("shr", &[source, by]) => one(shift_right(form, source.undefined, by.known()?)),
        ("shf", &[a, b, by]) => {
            let by = if form.has("clamp") { by.known()?.min(32) } else { by.known()? & 31 } as u32;
            let both = b.undefined << 32 | a.undefined;
            one(if form.has("l") { both << by >> 32 & low(32) } else { both >> by & low(32) })
        }
        ("bfe", &[source, at, length]) => {
            let (at, length) = (at.known()? & 0xFF, (length.known()? & 0xFF).min(width.into()) as u32);
            let field = shift_right_plain(source.undefined, at) & low(length);
            let sign = form.is_signed()
                && length > 0
                && source.undefined >> (width - 1).min((at as u32 + length) - 1) & 1 != 0;
            one(field | if sign { low(width) & !low(length) } else { 0 })
        }
        ("bfi", &[field, base, at, length]) => {
            let place = shift_left(low((length.known()? & 0xFF) as u32), at.known()? & 0xFF) & low(width);
            one(base.undefined & !place | shift_left(field.undefined, at.known()? & 0xFF) & place)
        }
        ("prmt", &[a, b, how]) if form.words.is_empty() => {
            let (from, how) = (b.undefined << 32 | a.undefined, how.known()?);
            one((0..4).fold(0, |all, i| {
                let pick = how >> (4 * i) & 0xF;
                let byte = from >> (8 * (pick & 7)) & 0xFF;
                let byte = match pick & 8 {
                    0 => byte,
                    _ => {
                        if byte & 0x80 != 0 {
                            0xFF
                        } else {
                            0
                        }
                    }
                };
                all | byte << (8 * i)
            }))
        }
        ("brev", &[source]) => one((source.undefined & low(width)).reverse_bits() >> (128 - width)),
        ("cvt", &[source]) => convert(form, source).map(|undefined| vec![undefined]),
        // A sum's bit depends on those below it.
        ("add" | "sub" | "neg", parts) if !form.is_float() && form.words.is_empty() => {
            one(from_lowest(parts) & low(width))
        }
        ("mul" | "mad", parts) if !form.is_float() && (form.has("lo") || form.has("wide")) => {
            one(from_lowest(parts) & low(if form.has("wide") { 2 * width } else { width }))
        }
        _ => None,
    }
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

fn shift_right(form: &Form<'_>, undefined: u128, by: u128) -> u128 {
    let width = form.width();
    let by = by.min(width.into()) as u32;
    let sign = form.is_signed() && undefined >> (width - 1) & 1 != 0;
    undefined >> by | if sign { low(width) & !low(width - by) } else { 0 }
}

/// A bit of the result is undefined if the bits of the operands could be chosen so that it differs.
fn lop3(operands: [Value; 3], table: u32) -> u128 {
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
    (1..8).fold(0, |all, choice| all | chosen(choice) ^ first) & low(32)
}

/// An integer conversion keeps the bits that both types have, and extends by zeros or by the sign.
fn convert(form: &Form<'_>, source: Value) -> Option<u128> {
    let &[to, from] = form.types.as_slice() else { return None };
    if form.is_float() || form.has("sat") {
        return None;
    }
    let (to, bits) = (bits_of_type(to)?, bits_of_type(from)?);
    let kept = source.undefined & low(bits);
    let sign = from.starts_with('s') && to > bits && kept >> (bits - 1) & 1 != 0;
    Some((kept | if sign { low(to) & !low(bits) } else { 0 }) & low(to))
}

/// `setp`: whether the comparison has one outcome whatever the undefined bits are, and whether the predicate that it is
/// combined with decides anyway.
fn compare(form: &Form<'_>, operands: &[Value], results: usize) -> Option<Vec<u128>> {
    let (&[a, b], with) = operands.split_first_chunk::<2>()?;
    let outcome = outcome(form, a, b);
    let one = |outcome: Option<bool>| match outcome {
        Some(holds) => Value { bits: holds.into(), undefined: 0 },
        None => Value { bits: 0, undefined: 1 },
    };
    let combined = |holds: Value| match with.first() {
        None => holds,
        Some(&with) if form.has("and") => holds.and(with),
        Some(&with) if form.has("or") => holds.or(with),
        Some(&with) => holds.xor(with),
    };
    let both = [one(outcome), one(outcome.map(|holds| !holds))];
    Some(both.into_iter().take(results).map(|holds| combined(holds).undefined & 1).collect())
}

fn outcome(form: &Form<'_>, a: Value, b: Value) -> Option<bool> {
    let width = form.width();
    let how = *form.words.first()?;
    if form.is_float() {
        return floats(how, width, a.known()?, b.known()?);
    }
    // Signed numbers compare as unsigned ones do when the sign is turned round.
    let turn = if form.is_signed() { 1 << (width - 1) } else { 0 };
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
    let less = below(a_high, a_low, b_low, b_high);
    let greater = below(b_high, b_low, a_low, a_high);
    let differ = match (a.bits ^ b.bits) & !(a.undefined | b.undefined) & low(width) {
        0 if (a.undefined | b.undefined) & low(width) == 0 => Some(false),
        0 => None,
        _ => Some(true),
    };
    match how {
        "eq" => differ.map(|differ| !differ),
        "ne" => differ,
        "lt" | "lo" => less,
        "ge" | "hs" => less.map(|less| !less),
        "gt" | "hi" => greater,
        "le" | "ls" => greater.map(|greater| !greater),
        _ => None,
    }
}

fn floats(how: &str, width: u32, a: u128, b: u128) -> Option<bool> {
    let order = match width {
        32 => f32::from_bits(a as u32).partial_cmp(&f32::from_bits(b as u32)),
        64 => f64::from_bits(a as u64).partial_cmp(&f64::from_bits(b as u64)),
        _ => return None,
    };
    let (how, unordered) = match how.strip_suffix('u') {
        Some(how) if how.len() == 2 => (how, true),
        _ => (how, false),
    };
    if matches!(how, "nan" | "num") {
        return None;
    }
    let Some(order) = order else { return Some(unordered) };
    Some(match how {
        "eq" => order.is_eq(),
        "ne" => order.is_ne(),
        "lt" => order.is_lt(),
        "le" => order.is_le(),
        "gt" => order.is_gt(),
        "ge" => order.is_ge(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first result of an instruction whose operands are (bits, undefined bits).
    fn results(text: &str, operands: &[(u128, u128)], writes: &[u32]) -> Vec<u128> {
        let (name, modifiers) = text.split_once('.').unwrap();
        let opcode =
            Opcode { name: name.into(), modifiers: modifiers.split('.').map(|word| word.into()).collect() };
        let operands: Vec<_> = operands.iter().map(|&(bits, undefined)| Value { bits, undefined }).collect();
        let written: Vec<_> = writes.iter().map(|&bytes| Register { slot: 0, bytes }).collect();
        let mut results = Vec::new();
        flow(&opcode, &operands, &written, &mut results);
        results
    }

    fn result(text: &str, operands: &[(u128, u128)]) -> u128 {
        results(text, operands, &[4])[0]
    }

    const PADDED: (u128, u128) = (0x0000_0007_0000_0001, 0xFFFF_FF00);

    #[test]
    fn padding_does_not_taint_the_fields_beside_it() {
        // struct { u8, 3 bytes of padding, u32 } read as 8 bytes.
        assert_eq!(results("mov.b64", &[PADDED], &[4, 4]), [0xFFFF_FF00, 0]);
        assert_eq!(result("shr.u64", &[PADDED, (32, 0)]), 0);
        assert_eq!(result("and.b32", &[(0, 0xFFFF_FF00), (0xFF, 0)]), 0);
        assert_eq!(result("and.b32", &[(0xFF, 0), (0, 0xFFFF_FF00)]), 0);
        assert_eq!(result("cvt.u16.u64", &[PADDED]), 0xFF00);
        assert_eq!(result("cvt.u32.u8", &[(0, 0xFFFF_FF00)]), 0);
        assert_eq!(result("bfe.u32", &[(0, 0xFFFF_00FF), (8, 0), (8, 0)]), 0);
        assert_eq!(result("prmt.b32", &[(0, 0xFFFF_0000), (0, 0xFFFF_0000), (0x5410, 0)]), 0);
        assert_eq!(result("shf.r.wrap.b32", &[(0, 0xFFFF_FFFF), (0, 0), (32, 0)]), 0xFFFF_FFFF);
    }

    #[test]
    fn a_bit_field_is_apart_from_the_others_of_its_byte() {
        // x = x & 0xFB | 4, as a compiler sets one bit of a byte that was never written.
        assert_eq!(result("and.b32", &[(0, 0xFF), (0xFB, 0)]), 0xFB);
        assert_eq!(result("or.b32", &[(0, 0xFB), (4, 0)]), 0xFB);
        assert_eq!(result("shr.u32", &[(4, 0xFB), (2, 0)]) & 1, 0);
        assert_eq!(result("bfi.b32", &[(1, 0), (0, 0xFF), (2, 0), (1, 0)]), 0xFB);
        // (a & b) | c, bit by bit.
        assert_eq!(result("lop3.b32", &[(0, 0xFF), (0, 0), (5, 0), (0xEA, 0)]), 0);
        assert_eq!(result("lop3.b32", &[(0, 0xFF), (0x0F, 0), (0, 0), (0xEA, 0)]), 0x0F);
    }

    #[test]
    fn a_comparison_that_comes_out_the_same_is_defined() {
        let unknown = (0, 0xFFFF_FFFF);
        assert_eq!(result("setp.gt.s32", &[unknown, (5, 0)]), 1);
        assert_eq!(result("setp.gt.and.s32", &[unknown, (5, 0), (0, 0)]), 0, "and false");
        assert_eq!(result("setp.gt.and.s32", &[unknown, (5, 0), (1, 0)]), 1);
        assert_eq!(result("setp.gt.or.s32", &[unknown, (5, 0), (1, 0)]), 0, "or true");
        assert_eq!(result("setp.ne.s32", &[(0x100, 0xFF), (0, 0)]), 0, "a defined bit differs");
        assert_eq!(result("setp.lt.u32", &[(3, 0xFF), (0x100, 0)]), 0, "whatever the byte is");
        assert_eq!(result("setp.lt.s32", &[(0, 0x8000_0000), (0, 0)]), 1);
        assert_eq!(result("and.pred", &[(0, 1), (0, 0)]), 0);
        assert_eq!(result("or.pred", &[(0, 1), (0, 0)]), 1);
        assert_eq!(result("selp.b32", &[unknown, (1, 0), (0, 0)]), 0, "the other one was chosen");
        assert_eq!(result("selp.b32", &[(6, 0), (6, 0), (0, 1)]), 0, "both are the same");
    }

    #[test]
    fn arithmetic_carries_upwards() {
        assert_eq!(result("add.s32", &[(0, 0x100), (1, 0)]), 0xFFFF_FF00);
        assert_eq!(result("add.f32", &[(0, 0x100), (1, 0)]), u128::MAX);
        assert_eq!(result("cvt.rn.f32.u32", &[(0, 1)]), u128::MAX);
        assert_eq!(result("shr.s32", &[(0, 0x8000_0000), (16, 0)]), 0xFFFF_8000);
    }
}
