//! The decimal digits of floats: the fewest that read back as the same float, or a given number of correctly rounded
//! ones.
//!
//! A float is r / s · 10^k with r and s integers of many words, and each step takes one digit from r / s: Steele and
//! White's algorithm. It needs no tables and few instructions, and every digit is right. Tables would be faster, but a
//! kernel that prints has other worries.

/// The working state for one float, and its digits: 0.d₁d₂d₃… · 10^`exponent`.
pub(crate) struct Decimal<const WORDS: usize, const DIGITS: usize> {
    /// The remaining value, half the distance to the float below it, and what both are multiples of.
    numbers: [[u32; WORDS]; 3],
    digits: [u8; DIGITS],
    count: usize,
    pub exponent: i32,
}

/// The most digits after the point that [`Decimal::exact`] has room for, for the largest floats too.
pub(crate) const MAX_PRECISION: usize = 32;

/// For `f32`: below 2^-149 · 100 / 2^-151 in all numbers, and 39 digits before the point.
pub(crate) type OfF32 = Decimal<6, { 39 + MAX_PRECISION + 1 }>;
/// For `f64`: numbers below 100 · 2^1076, and 309 digits before the point.
pub(crate) type OfF64 = Decimal<35, { 309 + MAX_PRECISION + 1 }>;

/// A finite float above zero: `mantissa` · 2^`exponent`.
#[derive(Clone, Copy)]
pub(crate) struct Binary {
    mantissa: u64,
    exponent: i32,
    /// The float below is only half as far away as the one above.
    nearer_below: bool,
}

impl Binary {
    /// Takes the bits of a float apart, whose fraction has `fraction` bits, the last of them worth 2^`least` in
    /// subnormal numbers.
    pub(crate) fn of(bits: u64, fraction: u32, least: i32) -> Self {
        let (field, stored) = ((bits >> fraction) as i32, bits & ((1 << fraction) - 1));
        let normal = field != 0;
        Self {
            mantissa: if normal { stored | 1 << fraction } else { stored },
            exponent: least + if normal { field - 1 } else { 0 },
            nearer_below: stored == 0 && field > 1,
        }
    }
}

/// Multiplies by a small number.
#[inline(never)]
fn multiply(number: &mut [u32], factor: u32) {
    let mut carry = 0;
    for word in number {
        crate::unroll!(none);
        let product = u64::from(*word) * u64::from(factor) + carry;
        *word = product as u32;
        carry = product >> 32;
    }
}

fn multiply_by_power_of_ten(number: &mut [u32], power: i32) {
    let mut left = power;
    while left >= 9 {
        crate::unroll!(none);
        multiply(number, 1_000_000_000);
        left -= 9;
    }
    while left > 0 {
        crate::unroll!(none);
        multiply(number, 10);
        left -= 1;
    }
}

/// The sign of a - b - c · `factor`, for a factor below 8.
#[inline(never)]
fn compare(a: &[u32], b: &[u32], c: &[u32], factor: u32) -> i32 {
    let (mut carry, mut any) = (0_i64, 0);
    for ((a, b), c) in a.iter().zip(b).zip(c) {
        crate::unroll!(none);
        carry += i64::from(*a) - i64::from(*b) - (u64::from(*c) * u64::from(factor)) as i64;
        any |= carry as u32;
        carry >>= 32;
    }
    if carry < 0 { -1 } else { i32::from(any != 0) }
}

/// The integer part of r / s, which is below ten; subtracts that many times s from r.
#[inline(never)]
fn take_digit(r: &mut [u32], s: &[u32]) -> u8 {
    let mut digit = 0;
    while compare(r, s, s, 0) >= 0 {
        crate::unroll!(none);
        let mut carry = 0_i64;
        for (r, s) in r.iter_mut().zip(s) {
            crate::unroll!(none);
            carry += i64::from(*r) - i64::from(*s);
            *r = carry as u32;
            carry >>= 32;
        }
        digit += 1;
    }
    digit
}

/// `value` · 2^`shift`.
#[inline(never)]
fn set(number: &mut [u32], value: u64, shift: i32) {
    let mut at = -shift;
    for word in number {
        crate::unroll!(none);
        *word = match at {
            0..64 => (value >> at) as u32,
            -63..0 => (value << -at) as u32,
            _ => 0,
        };
        at += 32;
    }
}

impl<const WORDS: usize, const DIGITS: usize> Decimal<WORDS, DIGITS> {
    pub(crate) const fn new() -> Self {
        Self { numbers: [[0; WORDS]; 3], digits: [0; DIGITS], count: 0, exponent: 0 }
    }

    /// How many digits there are.
    pub(crate) fn count(&self) -> i32 {
        self.count as i32
    }

    /// The digit at a position, as a character; zero before the first and after the last.
    pub(crate) fn digit(&self, place: i32) -> u8 {
        let known = usize::try_from(place).ok().filter(|place| *place < self.count);
        b'0' + known.and_then(|place| self.digits.get(place)).unwrap_or(&0)
    }

    /// Sets r / s to `float` / 10^k for a k that is right or one too low. Both r and m have the unit of a quarter of
    /// the mantissa's last place.
    fn begin(&mut self, float: Binary) {
        let [r, m, s] = &mut self.numbers;
        let exponent = float.exponent - 2;
        set(r, float.mantissa << 2, exponent.max(0));
        set(m, if float.nearer_below { 1 } else { 2 }, exponent.max(0));
        set(s, 1, (-exponent).max(0));
        // 2^b <= float, and the factor is log10(2) · 2^32, a little less than that.
        let b = 63 - float.mantissa.leading_zeros() as i32 + float.exponent;
        let k = ((i64::from(b) * 1_292_913_986) >> 32) as i32 + 1;
        multiply_by_power_of_ten(s, k);
        multiply_by_power_of_ten(r, -k);
        multiply_by_power_of_ten(m, -k);
        (self.exponent, self.count) = (k, 0);
    }

    /// How many words the numbers use, including room for what a step adds.
    fn used(&self) -> usize {
        let mut used = 1;
        for (index, ((r, m), s)) in
            self.numbers[0].iter().zip(&self.numbers[1]).zip(&self.numbers[2]).enumerate()
        {
            crate::unroll!(none);
            if r | m | s != 0 {
                used = index + 2;
            }
        }
        used.min(WORDS)
    }

    /// The fewest digits that read back as `float`, and among those the nearest.
    pub(crate) fn shortest(&mut self, float: Binary) {
        self.begin(float);
        let used = self.used();
        let [r, m, s] = &mut self.numbers;
        let (Some(r), Some(m), Some(s)) = (r.get_mut(..used), m.get_mut(..used), s.get_mut(..used)) else {
            return;
        };
        let above = if float.nearer_below { 2 } else { 1 };
        // A tie between neighbours reads back as the float with the even mantissa.
        let halfway_is_in = i32::from(float.mantissa & 1 == 0);
        if compare(s, r, m, above) < halfway_is_in {
            self.exponent += 1;
        } else {
            multiply(r, 10);
            multiply(m, 10);
        }
        let round_up = loop {
            crate::unroll!(none);
            let digit = take_digit(r, s);
            if let Some(place) = self.digits.get_mut(self.count) {
                *place = digit;
                self.count += 1;
            }
            let down = compare(r, m, m, 0) < halfway_is_in;
            let up = compare(s, r, m, above) < halfway_is_in;
            if down || up {
                break up && (!down || compare(s, r, r, 1) <= 0);
            }
            multiply(r, 10);
            multiply(m, 10);
        };
        if round_up {
            self.round_up();
        }
    }

    /// `precision` digits after the point, or if `scientific` after the first; the last is rounded, ties to even.
    pub(crate) fn exact(&mut self, float: Binary, precision: i32, scientific: bool) {
        self.begin(float);
        let used = self.used();
        let [r, _, s] = &mut self.numbers;
        let (Some(r), Some(s)) = (r.get_mut(..used), s.get_mut(..used)) else { return };
        if compare(r, s, s, 0) >= 0 {
            self.exponent += 1;
        } else {
            multiply(r, 10);
        }
        let wanted = precision + if scientific { 1 } else { self.exponent };
        if wanted < 0 {
            return;
        }
        let mut last = 0;
        for _ in 0..wanted {
            crate::unroll!(none);
            last = take_digit(r, s);
            if let Some(place) = self.digits.get_mut(self.count) {
                *place = last;
                self.count += 1;
            }
            multiply(r, 10);
        }
        let half = compare(r, s, s, 4);
        if half > 0 || half == 0 && last & 1 == 1 {
            self.round_up();
        }
    }

    /// Adds one in the last place. Nines become zeros, which can be dropped.
    fn round_up(&mut self) {
        while self.count > 0 {
            crate::unroll!(none);
            if let Some(last) = self.digits.get_mut(self.count - 1)
                && *last < 9
            {
                *last += 1;
                return;
            }
            self.count -= 1;
        }
        if let Some(first) = self.digits.first_mut() {
            *first = 1;
        }
        (self.count, self.exponent) = (1, self.exponent + 1);
    }
}
