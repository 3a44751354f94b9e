//! How undefined bytes of an instruction's sources become undefined bytes of its results.
//!
//! Arithmetic mixes all bytes. Moves, logic, shifts, conversions and permutations keep bytes apart, and compilers copy
//! and take apart structures with them: padding that was never written must not taint the fields beside it.

use virtual_gpu::observer::Register;

/// Bytes as masks: of `sources`, one for each of `reads` that is undefined, the undefined bytes of each of `writes`.
pub fn flow(
    opcode: &virtual_gpu::Opcode,
    immediates: &[u64],
    reads: &[Register],
    sources: &[u32],
    writes: &[Register],
    results: &mut Vec<u32>,
) {
    let all = sources.iter().fold(0, |all, bytes| all | bytes);
    let one = |bytes: u32| Some(vec![bytes]);
    let whole = if all == 0 { 0 } else { u32::MAX };
    let (types, width) = types(opcode);
    // A guard is among the registers read; it has been looked at, and is none of the operands.
    let operands: Vec<u32> = reads
        .iter()
        .zip(sources)
        .filter(|(register, _)| register.bytes != 0)
        .map(|(_, &bytes)| bytes)
        .collect();
    let predicate = reads.iter().zip(sources).any(|(register, &bytes)| register.bytes == 0 && bytes != 0);
    let known = match (opcode.name.as_str(), operands.as_slice()) {
        ("mov", &[source]) if writes.len() > 1 => {
            let part = width / writes.len() as u32;
            Some((0..writes.len() as u32).map(|i| source >> (i * part) & ((1 << part) - 1)).collect())
        }
        ("mov", parts) if parts.len() > 1 && immediates.is_empty() => {
            let part = width / parts.len() as u32;
            let mask = (1 << part) - 1;
            one(parts.iter().enumerate().fold(0, |all, (i, bytes)| all | (bytes & mask) << (i as u32 * part)))
        }
        ("mov" | "cvta", &[source]) => one(source),
        ("and", &[source]) if immediates.len() == 1 => one(source & bytes_of(immediates[0])),
        ("and" | "or" | "xor" | "not" | "lop3", _) => one(all),
        ("selp", _) => one(if predicate { u32::MAX } else { all }),
        ("shl", &[source]) if immediates.len() == 1 => {
            let (by, bits) = ((immediates[0] / 8).min(31) as u32, immediates[0] % 8);
            let moved = source << by;
            one(if bits == 0 { moved } else { moved | moved << 1 })
        }
        ("shr", &[source]) if immediates.len() == 1 => {
            let (by, bits) = ((immediates[0] / 8).min(31) as u32, immediates[0] % 8);
            let signed = types.first().is_some_and(|ty| ty.starts_with('s'));
            let sign = if signed && source >> (width - 1) & 1 != 0 { u32::MAX << (width - 1) } else { 0 };
            let source = source | sign;
            let moved = source >> by;
            one(if bits == 0 { moved } else { moved | moved >> 1 })
        }
        ("cvt", &[source]) => convert(&types, source).map(|bytes| vec![bytes]),
        ("bfe", &[source]) if immediates.len() == 2 => {
            let (at, length) = (immediates[0].min(63), immediates[1].min(64));
            let field = if length == 0 { 0 } else { (u64::MAX >> (64 - length)) << at };
            one(if source & bytes_of(field) == 0 { 0 } else { u32::MAX })
        }
        ("bfi", &[field, base]) if immediates.len() == 2 => {
            let (at, length) = (immediates[0].min(63), immediates[1].min(64));
            let place = if length == 0 { 0 } else { (u64::MAX >> (64 - length)) << at };
            let kept = base & bytes_of(!place);
            one(kept | (field << (at / 8)) & bytes_of(place))
        }
        ("prmt", &[a, b]) if immediates.len() == 1 => {
            let from = a & 0xF | (b & 0xF) << 4;
            one((0..4).fold(0, |mask, i| mask | (from >> (immediates[0] >> (4 * i) & 7) & 1) << i))
        }
        ("prmt", &[a]) if immediates.len() == 2 => {
            // One of the two is a constant; the other is first, as compilers write it.
            one((0..4).fold(0, |mask, i| mask | (a & 0xF & 1 << (immediates[1] >> (4 * i) & 7)).min(1) << i))
        }
        _ => None,
    };
    match known {
        Some(known) => results.extend(known),
        None => results.extend(writes.iter().map(|_| whole)),
    }
}

/// The types among the modifiers, and the bytes of the first.
fn types(opcode: &virtual_gpu::Opcode) -> (Vec<&str>, u32) {
    let types: Vec<&str> = opcode
        .modifiers
        .iter()
        .map(|word| word.as_str())
        .filter(|word| bytes_of_type(word).is_some())
        .collect();
    let width = types.first().and_then(|ty| bytes_of_type(ty)).unwrap_or(4);
    (types, width)
}

fn bytes_of_type(word: &str) -> Option<u32> {
    let bits: u32 = word.strip_prefix(['b', 'u', 's', 'f'])?.parse().ok()?;
    bits.is_multiple_of(8).then_some(bits / 8)
}

/// An integer conversion keeps the bytes that both types have, and extends by zeros or by the sign.
fn convert(types: &[&str], source: u32) -> Option<u32> {
    let &[to, from] = types else { return None };
    if to.starts_with('f') || from.starts_with('f') {
        return None;
    }
    let (to, bytes) = (bytes_of_type(to)?, bytes_of_type(from)?);
    let kept = source & ((1 << bytes) - 1);
    let sign = if from.starts_with('s') && to > bytes && kept >> (bytes - 1) & 1 != 0 {
        u32::MAX << bytes
    } else {
        0
    };
    Some((kept | sign) & ((1u64 << to) - 1) as u32)
}

/// The bytes in which a number has a bit.
fn bytes_of(number: u64) -> u32 {
    (0..8).filter(|i| number >> (8 * i) & 0xFF != 0).fold(0, |mask, i| mask | 1 << i)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(text: &str, immediates: &[u64], reads: &[(u32, u32)], writes: &[u32]) -> Vec<u32> {
        let (name, modifiers) = text.split_once('.').unwrap();
        let opcode = virtual_gpu::Opcode {
            name: name.into(),
            modifiers: modifiers.split('.').map(|word| word.into()).collect(),
        };
        let register = |bytes: u32| Register { slot: 0, bytes };
        let registers: Vec<_> = reads.iter().map(|read| register(read.0)).collect();
        let sources: Vec<_> = reads.iter().map(|read| read.1).collect();
        let written: Vec<_> = writes.iter().map(|&bytes| register(bytes)).collect();
        let mut results = Vec::new();
        flow(&opcode, immediates, &registers, &sources, &written, &mut results);
        results
    }

    #[test]
    fn padding_does_not_taint_the_fields_beside_it() {
        // struct { u8, 3 bytes of padding, u32 } read as 8 bytes.
        assert_eq!(result("mov.b64", &[], &[(8, 0b1110)], &[4, 4]), [0b1110, 0]);
        assert_eq!(result("shr.u64", &[32], &[(8, 0b1110)], &[8]), [0]);
        assert_eq!(result("and.b32", &[0xff], &[(4, 0b1110)], &[4]), [0]);
        assert_eq!(result("cvt.u16.u64", &[], &[(8, 0b1110)], &[4]), [0b10]);
        assert_eq!(result("cvt.u32.u8", &[], &[(4, 0b1110)], &[4]), [0]);
        assert_eq!(result("bfe.u32", &[8, 8], &[(4, 0b1101)], &[4]), [0]);
        assert_eq!(result("prmt.b32", &[0x5410], &[(4, 0b1100), (4, 0b1100)], &[4]), [0]);
    }

    #[test]
    fn arithmetic_mixes_all_bytes() {
        assert_eq!(result("add.s32", &[1], &[(4, 0b1000)], &[4]), [u32::MAX]);
        assert_eq!(result("cvt.rn.f32.u32", &[], &[(4, 0b1000)], &[4]), [u32::MAX]);
        assert_eq!(result("shr.s32", &[16], &[(4, 0b1000)], &[4])[0] & 0xF, 0b1110);
    }
}
