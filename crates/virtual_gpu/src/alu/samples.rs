//! Operands for tests: edge values mixed with random bits, from a fixed seed.

/// SplitMix64.
pub struct Samples(pub u64);

impl Samples {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A finite or infinite `f64`: any, near another in magnitude, or an edge.
    pub fn f64(&mut self) -> f64 {
        let bits = self.bits();
        let edge =
            [0.0, 1.0, f64::MAX, f64::MIN_POSITIVE, 5e-324, f64::INFINITY, 1.5, 1.0 - f64::EPSILON / 2.0];
        let a = match self.bits() % 8 {
            0 => edge[bits as usize % edge.len()],
            1 | 2 => f64::from_bits(bits),
            3 => f64::from_bits(bits & 0x800f_ffff_ffff_ffff),
            4 => (bits % 1024) as f64,
            _ => f64::from_bits(bits & 0x800f_ffff_ffff_ffff | (1003 + bits % 41) << 52),
        };
        let a = if a.is_nan() { 3.0 } else { a };
        if bits >> 40 & 1 != 0 { -a } else { a }
    }

    /// A finite or infinite `f32`.
    pub fn f32(&mut self) -> f32 {
        let bits = self.bits() as u32;
        let edge =
            [0.0, 1.0, f32::MAX, f32::MIN_POSITIVE, 1e-45, f32::INFINITY, 1.5, 1.0 - f32::EPSILON / 2.0];
        let a = match self.bits() % 8 {
            0 => edge[bits as usize % edge.len()],
            1 | 2 => f32::from_bits(bits),
            3 => f32::from_bits(bits & 0x807f_ffff),
            4 => (bits % 1024) as f32,
            _ => f32::from_bits(bits & 0x807f_ffff | (110 + bits % 34) << 23),
        };
        let a = if a.is_nan() { 3.0 } else { a };
        if self.bits() & 1 != 0 { -a } else { a }
    }
}
