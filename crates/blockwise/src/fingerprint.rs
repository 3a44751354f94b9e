//! The fingerprint of a kernel, by which a launch knows that host and device compiled the same one: the block, each parameter,
//! the requirements and the kernel's identity, as numbers.
//!
//! A safe launch computes the grid from the host's types and tests the host's relations, and the kernel trusts its own. One source
//! may give two kernels, by `cfg`, and PTX may have a kernel of the same name from elsewhere. So the device build writes its
//! numbers beside the entry, and the launch compares them with the host's.
//!
//! The numbers are three of the block's shape, the number of parameters and [`OF_PARAMETER`] for each, the number of relations and
//! [`OF_RELATION`] for each, and the [identity](Fingerprint::identity) as text, eight bytes a number.

/// The numbers of a parameter: its kind, its map's name and two constants, and of its elements the name, size, alignment and
/// the two halves of the digest of their fields.
pub const OF_PARAMETER: usize = 9;

/// The numbers of a relation: the operator, and for each of a side's two terms what it asks of which parameter, or that it is a
/// number, and which, or that there is none.
pub const OF_RELATION: usize = 9;

/// Up to eight letters as a number.
pub const fn word(text: &str) -> u64 {
    assert!(text.len() <= 8, "a word has up to eight letters");
    word_at(text.as_bytes(), 0)
}

/// Eight bytes of a text as a number, or as many as there are.
pub(crate) const fn word_at(text: &[u8], start: usize) -> u64 {
    let end = if text.len() - start < 8 { text.len() } else { start + 8 };
    let (mut word, mut at) = (0, end);
    while at > start {
        at -= 1;
        word = word << 8 | text[at] as u64;
    }
    word
}

/// The map of a parameter that has none.
pub(crate) const NO_MAP: [u64; 3] = [0; 3];

/// The length of a kernel's numbers.
pub const fn count(parameters: usize, relations: usize, identity: &str) -> usize {
    5 + OF_PARAMETER * parameters + OF_RELATION * relations + identity.len().div_ceil(8)
}

/// A kernel's numbers; there are [`count`] of them.
pub const fn numbers<const N: usize>(
    block: [u32; 3],
    parameters: &[[u64; OF_PARAMETER]],
    relations: &[[u64; OF_RELATION]],
    identity: &str,
) -> [u64; N] {
    let [x, y, z] = block;
    let (mut all, mut at) = ([0; N], 0);
    push(&mut all, &mut at, &[x as u64, y as u64, z as u64, parameters.len() as u64]);
    push(&mut all, &mut at, parameters.as_flattened());
    push(&mut all, &mut at, &[relations.len() as u64]);
    push(&mut all, &mut at, relations.as_flattened());
    let mut byte = 0;
    while byte < identity.len() {
        push(&mut all, &mut at, &[word_at(identity.as_bytes(), byte)]);
        byte += 8;
    }
    assert!(at == N);
    all
}

const fn push(all: &mut [u64], at: &mut usize, numbers: &[u64]) {
    let mut next = 0;
    while next < numbers.len() {
        all[*at] = numbers[next];
        *at += 1;
        next += 1;
    }
}

/// A kernel's numbers, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint<'a> {
    /// The block's shape.
    pub block: &'a [u64],
    /// The kind of each parameter.
    pub parameters: &'a [[u64; OF_PARAMETER]],
    /// Relations that the parameters satisfy.
    pub relations: &'a [[u64; OF_RELATION]],
    /// A text of three lines: the package and its version, the path of the module, the signature's tokens.
    pub identity: &'a [u64],
}

impl<'a> Fingerprint<'a> {
    /// Takes numbers apart that are a kernel's.
    pub fn read(numbers: &'a [u64]) -> Option<Self> {
        let (block, rest) = numbers.split_at_checked(3)?;
        let (parameters, rest) = chunks(rest)?;
        let (relations, identity) = chunks(rest)?;
        Some(Self { block, parameters, relations, identity })
    }
}

/// A number, that number of chunks, and the rest.
fn chunks<const N: usize>(numbers: &[u64]) -> Option<(&[[u64; N]], &[u64])> {
    let (count, rest) = numbers.split_first()?;
    let all = usize::try_from(*count).ok()?.checked_mul(N)?;
    let (chunks, rest) = rest.split_at_checked(all)?;
    Some((chunks.as_chunks().0, rest))
}
