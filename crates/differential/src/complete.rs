//! Functions for all 2^32 values of a word: hashes of what they give, by chunks of 2^16 neighbours.
//!
//! The word is the operand of a function of `f32`, the two operands of one of halves, the high word of an `f64`. A quotient
//! takes both operands from it: multiplied by an odd number, and stirred.

use anyhow::Context;

use crate::{Device, THREADS};

/// The instructions.
pub const FUNCTIONS: [&str; 25] = [
    "rcp.approx.f32",
    "rcp.approx.ftz.f32",
    "sqrt.approx.f32",
    "sqrt.approx.ftz.f32",
    "rsqrt.approx.f32",
    "rsqrt.approx.ftz.f32",
    "sin.approx.f32",
    "sin.approx.ftz.f32",
    "cos.approx.f32",
    "cos.approx.ftz.f32",
    "lg2.approx.f32",
    "lg2.approx.ftz.f32",
    "ex2.approx.f32",
    "ex2.approx.ftz.f32",
    "tanh.approx.f32",
    "ex2.approx.f16x2",
    "ex2.approx.ftz.bf16x2",
    "tanh.approx.f16x2",
    "tanh.approx.bf16x2",
    "rcp.approx.ftz.f64",
    "rsqrt.approx.ftz.f64",
    "div.approx.f32",
    "div.approx.ftz.f32",
    "div.full.f32",
    "div.full.ftz.f32",
];

/// The number of chunks.
pub const CHUNKS: u32 = 1 << 16;

/// The distance of the 18 chunks in a recording: zero is in the first, NaN in the last.
pub const SAMPLE: u32 = 3855;

/// Chunks from the first on: their distance and number.
#[derive(Clone, Copy)]
pub struct Chunks {
    pub stride: u32,
    pub count: u32,
}

/// The hashes of chunks as a device computes them.
pub fn hashes(device: &mut dyn Device, function: &str, chunks: Chunks) -> anyhow::Result<Vec<u32>> {
    let Chunks { stride, count } = chunks;
    let sums =
        device.run(&ptx(function), (count, THREADS as u32), &stride.to_le_bytes(), 8 * count as usize)?;
    Ok(sums.as_chunks::<8>().0.iter().map(|sum| u64::from_le_bytes(*sum) as u32).collect())
}

/// The statements that compute `%y` from `%x`.
fn evaluate(function: &str) -> String {
    if function.ends_with("x2") {
        return format!("{function} %y, %x;");
    }
    if function.ends_with("f64") {
        return format!(
            "mov.b64 %e, {{0x5A5AA5A5, %x}}; {function} %e, %e; mov.b64 {{%y, %high}}, %e; xor.b32 %y, %y, %high;"
        );
    }
    if function.starts_with("div") {
        return format!(
            "mul.lo.u32 %y, %x, 0x9E3779B1; mov.b32 %a, %y; shr.u32 %y, %x, 15; xor.b32 %y, %y, %x; \
             mul.lo.u32 %y, %y, 0x85EBCA6B; mov.b32 %b, %y; {function} %d, %a, %b; mov.b32 %y, %d;"
        );
    }
    format!("mov.b32 %a, %x; {function} %d, %a; mov.b32 %y, %d;")
}

/// A block for each chunk: adds to its sum a mix (splitmix64) of each input in the high word and the result in the low one.
fn ptx(function: &str) -> String {
    let (rounds, evaluate) = ((1 << 16) / THREADS, evaluate(function));
    format!(
        "
.version 8.0
.target sm_90
.address_size 64
.visible .entry cases(.param .u64 inputs, .param .u64 outputs)
{{
    .reg .pred %p;
    .reg .b32 %chunk, %stride, %block, %x, %y, %left, %high;
    .reg .f32 %a, %b, %d;
    .reg .f64 %e;
    .reg .b64 %inputs, %outputs, %at, %sum, %z, %s;
    ld.param.u64 %inputs, [inputs];
    ld.param.u64 %outputs, [outputs];
    ld.global.u32 %stride, [%inputs];
    mov.u32 %block, %ctaid.x;
    mul.lo.u32 %chunk, %block, %stride;
    shl.b32 %chunk, %chunk, 16;
    mov.u32 %x, %tid.x;
    add.u32 %x, %x, %chunk;
    mov.u64 %sum, 0;
    mov.u32 %left, {rounds};
next:
    {evaluate}
    mov.b64 %z, {{%y, %x}};
    add.u64 %z, %z, 0x9E3779B97F4A7C15;
    shr.u64 %s, %z, 30;
    xor.b64 %z, %z, %s;
    mul.lo.u64 %z, %z, 0xBF58476D1CE4E5B9;
    shr.u64 %s, %z, 27;
    xor.b64 %z, %z, %s;
    mul.lo.u64 %z, %z, 0x94D049BB133111EB;
    shr.u64 %s, %z, 31;
    xor.b64 %z, %z, %s;
    add.u64 %sum, %sum, %z;
    add.u32 %x, %x, {THREADS};
    sub.u32 %left, %left, 1;
    setp.ne.u32 %p, %left, 0;
    @%p bra next;
    mad.wide.u32 %at, %block, 8, %outputs;
    red.global.add.u64 [%at], %sum;
    ret;
}}
"
    )
}

/// A record of an instruction: the sum of all hashes, and those of a sample.
#[derive(Debug, PartialEq, Eq)]
pub struct Kept {
    pub all: u32,
    pub sample: Vec<u32>,
}

impl Kept {
    /// The sum of the hashes of all chunks, and each `stride`th.
    pub fn of(hashes: &[u32], stride: u32) -> Self {
        let all = hashes.iter().copied().fold(0, u32::wrapping_add);
        Self { all, sample: hashes.iter().copied().step_by(stride as usize).collect() }
    }

    /// An instruction's line of a recording.
    pub fn line(&self, function: &str) -> String {
        let sample: Vec<_> = self.sample.iter().map(|hash| format!("{hash:08x}")).collect();
        format!("{function} {:08x} {}\n", self.all, sample.join(" "))
    }

    /// An instruction's line among others.
    pub fn read(recording: &str, function: &str) -> anyhow::Result<Self> {
        let mut lines = recording.lines().map(|line| line.split(' '));
        let words = lines.find_map(|mut words| (words.next() == Some(function)).then_some(words));
        let words = words.with_context(|| format!("the recording lacks {function}"))?;
        let hashes = words.map(|word| u32::from_str_radix(word, 16)).collect::<Result<Vec<_>, _>>()?;
        let (&all, sample) = hashes.split_first().with_context(|| format!("{function} has no hash"))?;
        Ok(Self { all, sample: sample.to_vec() })
    }
}
