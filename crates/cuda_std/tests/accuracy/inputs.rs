//! The inputs: edge cases, every binade, and seeded values where a function bends.

use super::cases::{One, Two};

/// A generator with a fixed seed (splitmix64).
pub struct Random(u64);

impl Random {
    pub fn new(seed: &str) -> Self {
        Random(
            seed.bytes()
                .fold(0x9e37_79b9_7f4a_7c15, |hash, b| (hash ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)),
        )
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// In [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Values of each format that are easy to get wrong.
const EDGES: [f64; 17] = [
    0.0,
    0.25,
    0.5,
    1.0,
    1.5,
    2.0,
    3.0,
    4.0,
    8.0,
    10.0,
    100.0,
    1e4,
    1e9,
    0.1,
    0.3333333333333333,
    std::f64::consts::FRAC_PI_4,
    std::f64::consts::PI,
];

/// `count` inputs for a function of one argument, in `f64`.
pub fn doubles(case: &One, count: usize) -> Vec<f64> {
    let mut random = Random::new(case.name);
    let mut inputs = Vec::new();
    for x in EDGES {
        inputs.extend([x, x.next_up(), x.next_down(), -x, -x.next_up(), -x.next_down()]);
    }
    inputs.extend([f64::from_bits(1), f64::MIN_POSITIVE, f64::MIN_POSITIVE.next_down(), f64::MAX]);
    inputs.extend([case.domain.0, case.domain.1]);
    for exponent in 0..2047 {
        let sign = random.next() << 63;
        inputs.push(f64::from_bits(sign | exponent << 52 | random.next() >> 12));
    }
    within(case.domain, case.hot, inputs, count, &mut random)
}

/// The same values rounded to `f32`, as `f64`.
pub fn singles(case: &One, count: usize) -> Vec<f64> {
    let mut random = Random::new(case.name_32);
    let mut inputs = Vec::new();
    for x in EDGES.map(|x| x as f32) {
        inputs.extend([x, x.next_up(), x.next_down(), -x, -x.next_up(), -x.next_down()]);
    }
    inputs.extend([f32::from_bits(1), f32::MIN_POSITIVE, f32::MIN_POSITIVE.next_down(), f32::MAX]);
    for exponent in 0..255_u32 {
        for _ in 0..4 {
            let bits = random.next() as u32;
            inputs.push(f32::from_bits(bits & 0x807f_ffff | exponent << 23));
        }
    }
    let inputs = inputs.into_iter().map(f64::from).collect();
    let mut inputs = within(case.domain, case.hot, inputs, count, &mut random);
    inputs.iter_mut().for_each(|x| *x = f64::from(*x as f32));
    inputs.retain(|x| case.domain.0 <= *x && *x <= case.domain.1 && x.is_finite());
    inputs
}

fn within(
    (low, high): (f64, f64),
    hot: f64,
    mut inputs: Vec<f64>,
    count: usize,
    random: &mut Random,
) -> Vec<f64> {
    // A zero at the end of a domain is a pole.
    inputs.retain(|x| (low <= *x && *x <= high) && !(*x == 0.0 && low == 0.0));
    let (low, high) = (low.max(-hot), high.min(hot));
    while inputs.len() < count {
        inputs.push(low + (high - low) * random.unit());
    }
    inputs
}

/// `count` pairs for a function of two arguments, in `f64`.
pub fn double_pairs(case: &Two, count: usize) -> Vec<(f64, f64)> {
    pairs(case, 1000.0, count)
}

/// The same values rounded to `f32`, as `f64`.
pub fn single_pairs(case: &Two, count: usize) -> Vec<(f64, f64)> {
    let mut inputs = pairs(case, 120.0, count);
    inputs.iter_mut().for_each(|(x, y)| (*x, *y) = (f64::from(*x as f32), f64::from(*y as f32)));
    inputs
}

/// With exponents up to `range`.
fn pairs(case: &Two, range: f64, count: usize) -> Vec<(f64, f64)> {
    let mut random = Random::new(case.name);
    let mut inputs = Vec::new();
    while inputs.len() < count {
        let mut number = |range: f64| {
            let size = ((random.unit() * 2.0 - 1.0) * range).exp2();
            if random.next() & 1 == 0 { size } else { -size }
        };
        let spread = if inputs.len() % 2 == 0 { range } else { 4.0 };
        let (mut x, mut y) = (number(spread), number(spread));
        if case.positive {
            // For powers: an exponent that keeps the result within the format, nearly.
            x = x.abs();
            y = y.signum() * (range * 1.02 / x.log2().abs()).min(y.abs());
            if inputs.len() % 4 == 1 {
                y = y.signum() * range * 1.02 / x.log2().abs() * random.unit();
            }
        }
        inputs.push((x, y));
    }
    inputs
}
