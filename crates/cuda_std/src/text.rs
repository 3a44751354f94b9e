//! Formats numbers and texts like `core::fmt`, without its code.
//!
//! `core::fmt` calls through pointers, which costs a kernel thousands of instructions and a stack whose size `ptxas`
//! cannot tell. Where `cuda_builder` knows the types of all that a `print!` or a panic shows, it passes their values and
//! a *script* instead: the text, in which a byte 1 stands for a value, followed by
//!
//! - what the value is, a [`kind`]; 0 is the character 1 itself;
//! - which of the following there are: 1 flags, 2 width, 4 precision;
//! - the flags in four bytes and width and precision in two each, little endian, with the bits that `core::fmt` gives
//!   them.
//!
//! A byte 0 ends it. A text among the values takes two of them, its address and its length.

mod digits;
mod float;

pub(crate) use float::{ForFloats, ForNone};

/// a / b for b above zero, without the check that could panic: code that reports a panic must not panic.
#[inline(always)]
pub(crate) fn quotient(a: u64, b: u64) -> u64 {
    a.checked_div(b).unwrap_or(0)
}

/// Kinds of values. The other side is `format.rs` in `cuda_builder`.
pub(crate) mod kind {
    pub(crate) const UNSIGNED: u8 = 1;
    pub(crate) const SIGNED: u8 = 2;
    pub(crate) const LOWER_HEX: u8 = 3;
    pub(crate) const UPPER_HEX: u8 = 4;
    pub(crate) const OCTAL: u8 = 5;
    pub(crate) const BINARY: u8 = 6;
    pub(crate) const BOOL: u8 = 7;
    pub(crate) const CHAR: u8 = 8;
    pub(crate) const TEXT: u8 = 9;
    /// From here on in fours: `Display`, `Debug`, `LowerExp`, `UpperExp`.
    pub(crate) const F32: u8 = 10;
    pub(crate) const F64: u8 = 14;
}

/// Flag bits, the same as `core::fmt`'s.
mod flag {
    pub(super) const FILL: u32 = (1 << 21) - 1;
    pub(super) const PLUS: u32 = 1 << 21;
    pub(super) const ALTERNATE: u32 = 1 << 23;
    pub(super) const ZERO: u32 = 1 << 24;
    /// Left, right, centre, unknown.
    pub(super) const ALIGN: u32 = 29;
}

/// Where bytes go.
pub(crate) trait Sink {
    fn push(&mut self, byte: u8);
}

/// How a value is written.
#[derive(Clone, Copy)]
pub(crate) struct Spec {
    flags: u32,
    width: u32,
    precision: Option<u32>,
}

impl Spec {
    fn has(self, flag: u32) -> bool {
        self.flags & flag != 0
    }
}

/// Writes to a sink, or only measures what it would write.
pub(crate) struct Writer<'a, S> {
    sink: &'a mut S,
    measuring: bool,
    characters: u32,
}

impl<'a, S: Sink> Writer<'a, S> {
    pub(crate) fn new(sink: &'a mut S) -> Self {
        Self { sink, measuring: false, characters: 0 }
    }

    #[inline(never)]
    pub(crate) fn byte(&mut self, byte: u8) {
        if !self.measuring {
            self.sink.push(byte);
        } else if byte & 0xc0 != 0x80 {
            // The first byte of a character; the others begin with the bits 10.
            self.characters += 1;
        }
    }

    /// A character in UTF-8.
    #[inline(never)]
    fn character(&mut self, code: u32) {
        let more = match code {
            0..0x80 => 0,
            0x80..0x800 => 1,
            0x800..0x1_0000 => 2,
            _ => 3,
        };
        // The leading ones of the first byte give the number of bytes.
        let mark = if more == 0 { 0 } else { 0xff << (7 - more) & 0xff };
        self.byte((mark | code >> (6 * more)) as u8);
        for place in (0..more).rev() {
            crate::unroll!(none);
            self.byte((0x80 | code >> (6 * place) & 0x3f) as u8);
        }
    }

    fn fill(&mut self, code: u32, count: u32) {
        for _ in 0..count {
            crate::unroll!(none);
            self.character(code);
        }
    }

    /// Writes a body in a field of the width that the format asks for: numbers to the right, their sign (0 if there is
    /// none) and their prefix before zeros; texts to the left.
    fn padded(&mut self, spec: Spec, number: Option<(u8, u8)>, body: impl Fn(&mut Self)) {
        let (sign, prefix) = number.unwrap_or((0, 0));
        let before = |this: &mut Self| {
            if sign != 0 {
                this.byte(sign);
            }
            if prefix != 0 {
                this.byte(b'0');
                this.byte(prefix);
            }
        };
        let (mut padding, mut left) = (0, 0);
        let zeros = number.is_some() && spec.has(flag::ZERO);
        let fill = if zeros { u32::from(b'0') } else { spec.flags & flag::FILL };
        // First to measure, then to write: as one loop, so that the body appears only once in the code.
        for measuring in [spec.width > 0, false] {
            crate::unroll!(none);
            (self.measuring, self.characters) = (measuring, 0);
            if !zeros {
                self.fill(fill, left);
            }
            before(self);
            if zeros {
                self.fill(fill, left);
            }
            body(self);
            if !measuring {
                // Without a width there is nothing to measure, and the first iteration has already written everything.
                self.fill(fill, padding - left);
                break;
            }
            padding = spec.width.saturating_sub(self.characters);
            left = match (spec.flags >> flag::ALIGN, zeros) {
                (_, true) | (1, _) => padding,
                (0, _) => 0,
                (2, _) => padding / 2,
                _ => {
                    if number.is_some() {
                        padding
                    } else {
                        0
                    }
                }
            };
        }
        self.measuring = false;
    }

    #[inline(never)]
    fn integer(&mut self, spec: Spec, negative: bool, magnitude: u64, kind: u8) {
        let (radix, prefix, ten) = match kind {
            kind::LOWER_HEX => (16, b'x', b'a'),
            kind::UPPER_HEX => (16, b'x', b'A'),
            kind::OCTAL => (8, b'o', 0),
            kind::BINARY => (2, b'b', 0),
            _ => (10, 0, 0),
        };
        let sign = match negative {
            true => b'-',
            false if spec.has(flag::PLUS) => b'+',
            false => 0,
        };
        let prefix = if spec.has(flag::ALTERNATE) { prefix } else { 0 };
        self.padded(spec, Some((sign, prefix)), |this| {
            let mut unit = 1_u64;
            while quotient(magnitude, unit) >= radix {
                crate::unroll!(none);
                unit *= radix;
            }
            while unit > 0 {
                crate::unroll!(none);
                let (above, with) = (quotient(quotient(magnitude, unit), radix), quotient(magnitude, unit));
                let digit = (with - above * radix) as u8;
                this.byte(if digit < 10 { b'0' + digit } else { ten + (digit - 10) });
                unit = quotient(unit, radix);
            }
        });
    }

    /// A text, truncated to as many characters as the precision allows.
    #[inline(never)]
    fn text(&mut self, spec: Spec, text: &[u8]) {
        self.padded(spec, None, |this| {
            let mut left = spec.precision.unwrap_or(u32::MAX);
            for byte in text {
                crate::unroll!(none);
                if byte & 0xc0 != 0x80 {
                    if left == 0 {
                        break;
                    }
                    left -= 1;
                }
                this.byte(*byte);
            }
        });
    }

    /// Follows a script.
    ///
    /// # Safety
    ///
    /// `script` must follow the format above, and `value` must provide its values.
    pub(crate) unsafe fn follow<F: float::Floats>(
        &mut self,
        script: *const u8,
        mut value: impl FnMut(usize) -> u64,
        floats: F,
    ) {
        let (mut at, mut values) = (0, 0);
        let mut next = || {
            // SAFETY: the script goes on until its end.
            let byte = unsafe { script.add(at).read() };
            at += 1;
            byte
        };
        let mut next_value = || {
            values += 1;
            value(values - 1)
        };
        loop {
            crate::unroll!(none);
            let byte = next();
            if byte == 0 {
                break;
            }
            if byte != 1 {
                self.byte(byte);
                continue;
            }
            let (kind, present) = (next(), next());
            let mut number = |bit: u8, bytes: u32| {
                let mut number = 0;
                if present & bit != 0 {
                    for byte in 0..bytes {
                        number |= u32::from(next()) << (8 * byte);
                    }
                }
                number
            };
            let flags = number(1, 4);
            let width = number(2, 2);
            let precision = number(4, 2);
            let spec = Spec {
                flags: if present & 1 == 0 { u32::from(b' ') | 3 << flag::ALIGN } else { flags },
                width,
                precision: (present & 4 != 0).then_some(precision),
            };
            if kind == 0 {
                self.byte(1);
                continue;
            }
            let bits = next_value();
            match kind {
                kind::SIGNED => {
                    let signed = bits as i64;
                    self.integer(spec, signed < 0, signed.unsigned_abs(), kind);
                }
                kind::UNSIGNED..=kind::BINARY => self.integer(spec, false, bits, kind),
                kind::BOOL => self.text(spec, if bits & 1 == 1 { b"true" } else { b"false" }),
                kind::CHAR => self.padded(spec, None, |this| {
                    if spec.precision != Some(0) {
                        this.character(bits as u32);
                    }
                }),
                kind::TEXT => {
                    let length = next_value() as usize;
                    let start = core::ptr::with_exposed_provenance(bits as usize);
                    // SAFETY: the two values are the parts of a `&str`.
                    self.text(spec, unsafe { core::slice::from_raw_parts(start, length) });
                }
                _ => floats.write(self, spec, bits, kind),
            }
        }
    }
}

#[cfg(test)]
mod tests;
