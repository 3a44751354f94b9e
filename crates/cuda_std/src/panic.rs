//! How a panic on the device is reported.
//!
//! `cuda_builder` replaces every call of `core`'s panic functions. One whose text is known when compiling calls
//! `__assertfail` with it; one with values calls [`report`], which writes them into the text. `core::fmt` takes no part,
//! so a kernel that may panic is no larger for it.

/// Room for one message, its NUL included.
#[cfg(any(test, target_os = "cuda"))]
const LENGTH: usize = 192;
/// Messages at once: more threads than this that panic together overwrite each other's.
#[cfg(target_os = "cuda")]
const MESSAGES: usize = 32;

/// In global memory, since the driver reads a message after its thread has ended, and so that no kernel needs a stack
/// for a panic that may never come.
#[cfg(target_os = "cuda")]
static mut TEXTS: [[u8; LENGTH]; MESSAGES] = [[0; LENGTH]; MESSAGES];

/// Writes a message with its values and ends the launch.
///
/// In `text`, a byte below 8 stands for the next of the values: 1 unsigned, 2 signed, 3 `bool`, 4 `char`, 5 the bits of
/// an `f64`, 6 and 7 hexadecimal with small and with large letters.
#[cfg(target_os = "cuda")]
#[unsafe(export_name = "__warpsmith_panic_with_values")]
#[cold]
#[inline(never)]
unsafe extern "C" fn report(
    text: *const u8,
    file: *const u8,
    line: u32,
    function: *const u8,
    a: u64,
    b: u64,
    c: u64,
    d: u64,
) {
    use core::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);

    let slot = NEXT.fetch_add(1, Ordering::Relaxed) as usize % MESSAGES;
    // SAFETY: the slot is in bounds, and its bytes are plain; a message torn by another thread is still bytes.
    let message = unsafe { (&raw mut TEXTS).cast::<u8>().add(slot * LENGTH) };
    let mut put = |at: usize, byte: u8| {
        // SAFETY: `write` keeps `at` below `LENGTH`.
        unsafe { message.add(at).write_volatile(byte) };
    };
    // SAFETY: the builder passes a text that ends in a NUL.
    let byte = |at: usize| unsafe { text.add(at).read() };
    write(byte, [a, b, c, d], &mut put);
    // SAFETY: all three texts end in a NUL.
    unsafe { crate::io::__assertfail(message, file, line, function, 1) };
}

/// Formats into at most `LENGTH` bytes, the last of them a NUL.
#[cfg(any(test, target_os = "cuda"))]
#[inline(always)]
fn write(text: impl Fn(usize) -> u8, values: [u64; 4], put: &mut impl FnMut(usize, u8)) {
    let mut at = 0;
    let mut put = |byte: u8| {
        if at < LENGTH - 1 {
            put(at, byte);
            at += 1;
        }
        put(at, 0);
    };
    let (mut read, mut next) = (0, 0);
    loop {
        let byte = text(read);
        read += 1;
        if byte == 0 {
            break;
        }
        if byte >= 8 {
            put(byte);
            continue;
        }
        // A chain of selects: an array indexed at run time would need local memory.
        let value = match next {
            0 => values[0],
            1 => values[1],
            2 => values[2],
            _ => values[3],
        };
        next += 1;
        match byte {
            2 if (value as i64) < 0 => {
                put(b'-');
                decimal((value as i64).unsigned_abs(), &mut put);
            }
            3 if value & 1 == 1 => b"true".iter().for_each(|byte| put(*byte)),
            3 => b"false".iter().for_each(|byte| put(*byte)),
            4 => utf8(value as u32, &mut put),
            5 => float(f64::from_bits(value), &mut put),
            6 => hexadecimal(value, b'a', &mut put),
            7 => hexadecimal(value, b'A', &mut put),
            _ => decimal(value, &mut put),
        }
    }
}

/// Digits after nine begin with `ten`.
#[cfg(any(test, target_os = "cuda"))]
#[inline(always)]
fn hexadecimal(value: u64, ten: u8, put: &mut impl FnMut(u8)) {
    let digits = (64 - value.leading_zeros()).div_ceil(4).max(1);
    for place in (0..digits).rev() {
        let digit = (value >> (4 * place) & 15) as u8;
        put(if digit < 10 { b'0' + digit } else { ten + digit - 10 });
    }
}

#[cfg(any(test, target_os = "cuda"))]
#[inline(always)]
fn decimal(value: u64, put: &mut impl FnMut(u8)) {
    let mut unit = 1_u64;
    while value / unit >= 10 {
        unit *= 10;
    }
    while unit > 0 {
        put(b'0' + (value / unit % 10) as u8);
        unit /= 10;
    }
}

#[cfg(any(test, target_os = "cuda"))]
#[inline(always)]
fn utf8(code: u32, put: &mut impl FnMut(u8)) {
    match code {
        0..0x80 => put(code as u8),
        0x80..0x800 => {
            put(0xc0 | (code >> 6) as u8);
            put(0x80 | (code & 63) as u8);
        }
        0x800..0x1_0000 => {
            put(0xe0 | (code >> 12) as u8);
            put(0x80 | (code >> 6 & 63) as u8);
            put(0x80 | (code & 63) as u8);
        }
        _ => {
            put(0xf0 | (code >> 18 & 7) as u8);
            put(0x80 | (code >> 12 & 63) as u8);
            put(0x80 | (code >> 6 & 63) as u8);
            put(0x80 | (code & 63) as u8);
        }
    }
}

/// Seven significant digits, in scientific notation where that is shorter.
#[cfg(any(test, target_os = "cuda"))]
#[inline(always)]
fn float(value: f64, put: &mut impl FnMut(u8)) {
    if value.is_nan() {
        return b"NaN".iter().for_each(|byte| put(*byte));
    }
    let mut magnitude = f64::from_bits(value.to_bits() & !(1 << 63));
    if value.to_bits() >> 63 == 1 {
        put(b'-');
    }
    if magnitude.is_infinite() {
        return b"inf".iter().for_each(|byte| put(*byte));
    }
    let mut exponent = 0_i32;
    if magnitude != 0.0 && !(1e-4..1e7).contains(&magnitude) {
        while magnitude >= 10.0 {
            magnitude /= 10.0;
            exponent += 1;
        }
        while magnitude < 1.0 {
            magnitude *= 10.0;
            exponent -= 1;
        }
    }
    let scaled = (magnitude * 1e6 + 0.5) as u64;
    decimal(scaled / 1_000_000, put);
    put(b'.');
    let mut fraction = scaled % 1_000_000;
    let mut unit = 100_000;
    loop {
        put(b'0' + (fraction / unit) as u8);
        fraction %= unit;
        if fraction == 0 {
            break;
        }
        unit /= 10;
    }
    if exponent != 0 {
        put(b'e');
        if exponent < 0 {
            put(b'-');
        }
        decimal(u64::from(exponent.unsigned_abs()), put);
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::format;
    use std::string::String;
    use std::vec::Vec;

    fn message(text: &str, values: [u64; 4]) -> String {
        let text: Vec<u8> = text.bytes().chain([0]).collect();
        let mut bytes = std::vec![0xff; super::LENGTH];
        super::write(|at| text[at], values, &mut |at, byte| bytes[at] = byte);
        let end = bytes.iter().position(|b| *b == 0).expect("a NUL");
        String::from_utf8(bytes[..end].to_vec()).expect("text")
    }

    #[test]
    fn values_stand_where_the_text_has_them() {
        assert_eq!(message("len \u{1} index \u{1}", [3, 7, 0, 0]), "len 3 index 7");
        let signed = [(-12_i64) as u64, i64::MIN as u64, u64::MAX, 0];
        assert_eq!(message("\u{2} \u{2} \u{1} \u{1}", signed), format!("-12 {} {} 0", i64::MIN, u64::MAX));
        assert_eq!(message("\u{3}\u{3}\u{4}\u{4}", [1, 0, 'é' as u64, '🦀' as u64]), "truefalseé🦀");
    }

    #[test]
    fn bits_are_written_as_core_writes_them() {
        let values = [0, 0x10, 0xDEAD_BEEF, u64::MAX];
        let expected = format!("{:x} {:X} {:x} {:X}", values[0], values[1], values[2], values[3]);
        assert_eq!(message("\u{6} \u{7} \u{6} \u{7}", values), expected);
    }

    #[test]
    fn floats_read_back() {
        for value in [0.0, 1.5, -2.25, 1234567.0, 1e-3, 3.25e20, -7.5e-30, f64::MAX] {
            let text = message("\u{5}", [value.to_bits(), 0, 0, 0]);
            let back: f64 = text.parse().expect("a number");
            assert!((back - value).abs() <= value.abs() * 1e-5, "{value} became {text}");
        }
        assert_eq!(
            message("\u{5} \u{5}", [f64::NAN.to_bits(), f64::NEG_INFINITY.to_bits(), 0, 0]),
            "NaN -inf"
        );
    }

    #[test]
    fn long_messages_are_cut() {
        assert_eq!(message(&"x".repeat(500), [0; 4]).len(), super::LENGTH - 1);
    }
}
