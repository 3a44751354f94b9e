//! Operand kinds and the values drawn for them.

/// The width of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Register {
    /// `.pred`, stored as a byte.
    Pred,
    B16,
    B32,
    B64,
}

impl Register {
    /// The PTX type.
    pub fn ptx(self) -> &'static str {
        match self {
            Register::Pred => "pred",
            Register::B16 => "b16",
            Register::B32 => "b32",
            Register::B64 => "b64",
        }
    }

    /// Bytes kept of a result.
    pub fn bytes(self) -> usize {
        match self {
            Register::Pred => 1,
            Register::B16 => 2,
            Register::B32 => 4,
            Register::B64 => 8,
        }
    }
}

/// A binary floating-point format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Float {
    /// Fraction bits.
    pub fraction: u32,
    /// Exponent bits.
    pub exponent: u32,
}

/// Binary16.
pub const F16: Float = Float { fraction: 10, exponent: 5 };
/// The upper half of binary32.
pub const BF16: Float = Float { fraction: 7, exponent: 8 };
/// Binary32.
pub const F32: Float = Float { fraction: 23, exponent: 8 };
/// Binary64.
pub const F64: Float = Float { fraction: 52, exponent: 11 };

/// An operand's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// True or false.
    Pred,
    /// An integer of this width in bits.
    Int(u32),
    /// Two 16-bit integers.
    IntPair,
    Float(Float),
    /// Two 16-bit floats.
    FloatPair(Float),
    /// A shift count, bit position or length: mostly small.
    Count,
    /// A lane number, at times beyond 31.
    Lane,
    /// A small signed number.
    Offset,
    /// The clamp and segment mask of a shuffle.
    Clamp,
    /// One of few values, so that lanes agree; of this width in bits.
    Few(u32),
    /// An angle within one turn either way.
    Turn,
    /// An angle within fifty turns.
    Angle,
    /// An exponent: where powers and hyperbolic functions live.
    Exponent,
}

impl Kind {
    /// The kind of a name in a form.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "pred" => Kind::Pred,
            "u8" | "s8" | "b8" | "u16" | "s16" | "b16" => Kind::Int(16),
            "u32" | "s32" | "b32" => Kind::Int(32),
            "u64" | "s64" | "b64" => Kind::Int(64),
            "u16x2" | "s16x2" => Kind::IntPair,
            "f16" => Kind::Float(F16),
            "bf16" => Kind::Float(BF16),
            "f32" => Kind::Float(F32),
            "f64" => Kind::Float(F64),
            "f16x2" => Kind::FloatPair(F16),
            "bf16x2" => Kind::FloatPair(BF16),
            "count" => Kind::Count,
            "lane" => Kind::Lane,
            "offset" => Kind::Offset,
            "clamp" => Kind::Clamp,
            "few16" => Kind::Few(16),
            "few" => Kind::Few(32),
            "few64" => Kind::Few(64),
            "turn" => Kind::Turn,
            "angle" => Kind::Angle,
            "exponent" => Kind::Exponent,
            _ => return None,
        })
    }

    /// The register that holds it.
    pub fn register(self) -> Register {
        match self {
            Kind::Pred => Register::Pred,
            Kind::Int(16) | Kind::Few(16) => Register::B16,
            Kind::Int(64) | Kind::Few(64) => Register::B64,
            Kind::Float(float) => match float.fraction {
                52 => Register::B64,
                23 => Register::B32,
                _ => Register::B16,
            },
            _ => Register::B32,
        }
    }
}

/// SplitMix64.
pub struct Random(u64);

impl Random {
    /// Starts from a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.bits() % n
    }
}

/// The operands of one case. In some cases all are edge values: two that are NaN do not meet by chance.
pub fn draw_all(kinds: impl Iterator<Item = Kind>, random: &mut Random) -> Vec<u64> {
    let edges = random.below(10) == 0;
    let mut drawn = Vec::new();
    for kind in kinds {
        let value = if edges { draw_edge(kind, random) } else { draw(kind, random, &drawn) };
        drawn.push(value);
    }
    drawn
}

/// Draws an edge value, if the kind has such.
fn draw_edge(kind: Kind, random: &mut Random) -> u64 {
    match kind {
        Kind::Int(bits) => int_edge(bits, random),
        Kind::IntPair => int_edge(16, random) | int_edge(16, random) << 16,
        Kind::Float(format) => float_edge(format, random),
        Kind::FloatPair(format) => float_edge(format, random) | float_edge(format, random) << 16,
        _ => draw(kind, random, &[]),
    }
}

/// Draws an operand. `earlier` are the form's operands so far, to which a new one is at times made to relate.
fn draw(kind: Kind, random: &mut Random, earlier: &[u64]) -> u64 {
    match kind {
        Kind::Pred => random.below(2),
        Kind::Int(bits) => int(bits, random, earlier),
        Kind::IntPair => int(16, random, &[]) | int(16, random, &[]) << 16,
        Kind::Float(format) => float(format, random, earlier),
        Kind::FloatPair(format) => {
            let low: Vec<u64> = earlier.iter().map(|e| e & 0xffff).collect();
            let high: Vec<u64> = earlier.iter().map(|e| e >> 16 & 0xffff).collect();
            float(format, random, &low) | float(format, random, &high) << 16
        }
        Kind::Count => match random.below(8) {
            0 => random.bits() & 0xffff_ffff,
            1 => [31, 32, 33, 63, 64, 65, 255, 256][random.below(8) as usize],
            _ => random.below(34),
        },
        Kind::Lane => {
            let limit = if random.below(4) == 0 { 64 } else { 32 };
            random.below(limit)
        }
        Kind::Offset => (random.below(17) as i64 - 8) as u64 & 0xffff_ffff,
        Kind::Clamp => [0x1f, 0, 0x181f, 0x1000, 0x1c03, 0x0707][random.below(6) as usize],
        Kind::Few(bits) => (random.below(3) * 0x8000_4000_2001) & (u64::MAX >> (64 - bits)),
        Kind::Turn => scaled(std::f64::consts::TAU, random),
        Kind::Angle => scaled(100.0 * std::f64::consts::PI, random),
        Kind::Exponent => match random.below(4) {
            0 => float(F32, random, &[]),
            1 => scaled(150.0, random),
            _ => scaled(4.0, random),
        },
    }
}

/// An `f32` evenly from `-limit..limit`.
fn scaled(limit: f64, random: &mut Random) -> u64 {
    let unit = (random.bits() >> 11) as f64 / (1u64 << 52) as f64 - 1.0;
    ((unit * limit) as f32).to_bits() as u64
}

fn int_edge(bits: u32, random: &mut Random) -> u64 {
    let mask = u64::MAX >> (64 - bits);
    let top = 1u64 << (bits - 1);
    [0, 1, mask, top, top - 1, 2, mask - 1, top + 1, 0x7f, 0x80, 0xff, 0x100][random.below(12) as usize]
}

fn int(bits: u32, random: &mut Random, earlier: &[u64]) -> u64 {
    let mask = u64::MAX >> (64 - bits);
    let value = match random.below(8) {
        0 => int_edge(bits, random),
        1 => {
            let power = 1u64 << random.below(bits as u64);
            [power, power.wrapping_sub(1), power.wrapping_neg()][random.below(3) as usize]
        }
        2 => random.bits() >> random.below(64),
        3 => (random.bits() >> random.below(64)).wrapping_neg(),
        4 if !earlier.is_empty() => {
            let other = earlier[random.below(earlier.len() as u64) as usize];
            [other, other.wrapping_neg(), !other, other.wrapping_add(1)][random.below(4) as usize]
        }
        _ => random.bits(),
    };
    value & mask
}

fn float_edge(format: Float, random: &mut Random) -> u64 {
    let fractions = (1u64 << format.fraction) - 1;
    let infinity = ((1u64 << format.exponent) - 1) << format.fraction;
    let one = ((1u64 << (format.exponent - 1)) - 1) << format.fraction;
    let nan = infinity | random.bits() & fractions >> 1 | 1;
    let quiet = 1 << (format.fraction - 1);
    let magnitude = [
        0,
        1,
        fractions,
        fractions + 1,
        one,
        one - 1,
        infinity - 1,
        infinity,
        infinity | quiet,
        infinity | fractions,
        nan,
        nan | quiet,
    ][random.below(12) as usize];
    magnitude | random.below(2) << (format.fraction + format.exponent)
}

fn float(format: Float, random: &mut Random, earlier: &[u64]) -> u64 {
    let Float { fraction, exponent } = format;
    let sign = 1u64 << (fraction + exponent);
    let top_field = (1u64 << exponent) - 1;
    let infinity = top_field << fraction;
    let bias = top_field >> 1;
    let fractions = (1u64 << fraction) - 1;
    let with_field = |field: u64, random: &mut Random| field << fraction | random.bits() & fractions;
    let magnitude = match random.below(16) {
        0 => return float_edge(format, random),
        // Halves and integers of a few bits, and the borders of the integer types.
        1 | 2 => {
            let field = bias.wrapping_sub(2) + random.below(8);
            field << fraction | random.bits() & fractions & !(fractions >> 4)
        }
        3 => {
            let bits = [7, 8, 15, 16, 31, 32, 63, 64][random.below(8) as usize];
            if bias + bits >= top_field {
                infinity - 1
            } else {
                ((bias + bits) << fraction) - random.below(3)
            }
        }
        4 => random.bits() & fractions,
        // With an earlier operand, a product or quotient at the border of the subnormals or of overflow.
        5 | 6 if !earlier.is_empty() => {
            let other = earlier[0] >> fraction & top_field;
            let target =
                [bias + 1 - random.below(4), 2 * bias + bias - random.below(3)][random.below(2) as usize];
            let field = if random.below(2) == 0 { target as i64 - other as i64 } else { other as i64 - 1 };
            let all_ones = random.below(3) == 0;
            let field = field.clamp(0, top_field as i64 - 1) as u64;
            if all_ones { field << fraction | fractions } else { with_field(field, random) }
        }
        // Near an earlier operand, so that sums cancel.
        7 | 8 if !earlier.is_empty() => {
            let other = earlier[random.below(earlier.len() as u64) as usize] & (sign - 1);
            other.saturating_add(random.below(5)).saturating_sub(2)
        }
        9 => random.bits() & (sign - 1),
        10 | 11 => with_field((bias - bias / 8) + random.below(bias / 4 + 1), random),
        // Few significant bits: ties and exact cases.
        12 => with_field(bias - 3 + random.below(7), random) & !(fractions >> 3),
        _ => with_field(bias - 3 + random.below(7), random),
    };
    magnitude & (sign - 1) | if random.below(2) == 0 { sign } else { 0 }
}
