//! Several byte strings as one, each after its length: what goes through a pipe and into the cache.

/// Puts parts into one.
pub fn pack(parts: &[&[u8]]) -> Vec<u8> {
    let mut packed = Vec::with_capacity(parts.iter().map(|part| part.len() + 8).sum());
    for part in parts {
        packed.extend((part.len() as u64).to_le_bytes());
        packed.extend(*part);
    }
    packed
}

/// Takes the parts out again; `None` if the bytes are not whole.
pub fn unpack(mut packed: &[u8]) -> Option<Vec<&[u8]>> {
    let mut parts = Vec::new();
    while !packed.is_empty() {
        let (len, rest) = packed.split_first_chunk()?;
        let (part, rest) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*len)).ok()?)?;
        parts.push(part);
        packed = rest;
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_back_and_half_a_parcel_does_not() {
        let parts: [&[u8]; 3] = [b"one", b"", b"three"];
        let packed = pack(&parts);
        assert_eq!(unpack(&packed).unwrap(), parts);
        assert!(unpack(&packed[..packed.len() - 1]).is_none());
    }
}
