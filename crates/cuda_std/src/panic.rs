//! How the device reports a panic.
//!
//! `cuda_builder` replaces every call of `core`'s panic functions. A panic whose text is known at compile time calls
//! `__assertfail` with it. A panic with values calls [`report`], which formats them; if they are not all plain
//! integers, it calls a function that follows a script ([`crate::text`]). `core::fmt` is not involved, so a kernel that
//! may panic is no larger for it.

#[cfg(any(test, target_os = "cuda"))]
use crate::text::quotient;

/// Size of one message buffer, including the NUL.
#[cfg(any(test, target_os = "cuda"))]
const LENGTH: usize = 192;
/// Messages that have room. A panic ends the launch, so that one is read; which of several is not known.
#[cfg(target_os = "cuda")]
const MESSAGES: u32 = 32;
/// The message of further threads that panic before the launch has ended.
#[cfg(target_os = "cuda")]
const NO_ROOM: &core::ffi::CStr = c"a panic after 32 others, whose text has no room";

/// In global memory, since the driver reads a message after its thread has ended, and so that no kernel needs stack
/// space for a panic that may never happen.
#[cfg(target_os = "cuda")]
static mut TEXTS: [[u8; LENGTH]; MESSAGES as usize] = [[0; LENGTH]; MESSAGES as usize];

/// The buffer for a message: bytes beyond its length are dropped, and each write leaves a NUL behind it.
#[cfg(target_os = "cuda")]
struct Slot {
    start: *mut u8,
    length: usize,
}

#[cfg(target_os = "cuda")]
impl Slot {
    /// One that no other thread has.
    fn new() -> Option<Self> {
        use core::sync::atomic::{AtomicU32, Ordering};
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let slot = NEXT.fetch_add(1, Ordering::Relaxed);
        (slot < MESSAGES).then(|| {
            // SAFETY: the slot is in bounds.
            Self { start: unsafe { (&raw mut TEXTS).cast::<u8>().add(slot as usize * LENGTH) }, length: 0 }
        })
    }

    fn write(&mut self, at: usize, byte: u8) {
        // SAFETY: callers keep `at` below `LENGTH`.
        unsafe { self.start.add(at).write_volatile(byte) };
    }
}

#[cfg(target_os = "cuda")]
impl crate::text::Sink for Slot {
    fn push(&mut self, byte: u8) {
        if self.length < LENGTH - 1 {
            self.write(self.length, byte);
            self.length += 1;
        }
        self.write(self.length, 0);
    }
}

/// Writes a message with its values, and ends the launch.
///
/// In `text`, a byte 1 stands for the next value as an unsigned number, 2 as a signed one.
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
    let mut message = NO_ROOM.as_ptr().cast();
    if let Some(mut slot) = Slot::new() {
        // SAFETY: the builder passes a text that ends in a NUL.
        let byte = |at: usize| unsafe { text.add(at).read() };
        write(byte, [a, b, c, d], |at, byte| slot.write(at, byte));
        message = slot.start.cast_const();
    }
    // SAFETY: all three texts end in a NUL.
    unsafe { crate::io::__assertfail(message, file, line, function, 1) };
}

/// The same with a script, for any format.
#[cfg(target_os = "cuda")]
macro_rules! reporters {
    ($($name:ident = $symbol:literal, $floats:expr;)*) => {$(
        #[unsafe(export_name = $symbol)]
        #[cold]
        #[inline(never)]
        #[expect(clippy::too_many_arguments, reason = "values in memory would need a stack in every kernel that may panic")]
        unsafe extern "C" fn $name(
            script: *const u8, file: *const u8, line: u32, function: *const u8,
            a: u64, b: u64, c: u64, d: u64, e: u64, f: u64, g: u64, h: u64,
        ) {
            let mut message = NO_ROOM.as_ptr().cast();
            // A chain of selects: an array indexed at run time would need local memory.
            let value = |index: usize| match index {
                0 => a,
                1 => b,
                2 => c,
                3 => d,
                4 => e,
                5 => f,
                6 => g,
                _ => h,
            };
            if let Some(mut slot) = Slot::new() {
                let mut writer = crate::text::Writer::new(&mut slot);
                // SAFETY: the builder passes a script and the values that it asks for.
                unsafe { writer.follow(script, value, $floats) };
                message = slot.start.cast_const();
            }
            // SAFETY: all three texts end in a NUL: the message's stands behind its last byte from the beginning on.
            unsafe { crate::io::__assertfail(message, file, line, function, 1) };
        }
    )*};
}

#[cfg(target_os = "cuda")]
reporters! {
    report_values = "__warpsmith_panic_formatted", crate::text::ForNone;
    report_f32 = "__warpsmith_panic_formatted_f32", crate::text::ForFloats::<false>;
    report_f64 = "__warpsmith_panic_formatted_f64", crate::text::ForFloats::<true>;
}

/// Formats into at most `LENGTH` bytes, the last of them a NUL. One place where a byte is put: any index may panic, so
/// this is in most kernels.
#[cfg(any(test, target_os = "cuda"))]
#[inline(always)]
fn write(text: impl Fn(usize) -> u8, values: [u64; 4], mut put: impl FnMut(usize, u8)) {
    let (mut at, mut read, mut next) = (0, 0, 0);
    // The digits of `value` from this one down are still to be written.
    let (mut unit, mut value) = (0, 0);
    while at < LENGTH - 1 {
        crate::unroll!(none);
        let byte = if unit > 0 {
            let digit = (quotient(value, unit) % 10) as u8;
            unit /= 10;
            b'0' + digit
        } else {
            let byte = text(read);
            read += 1;
            if byte == 1 || byte == 2 {
                // A chain of selects: an array indexed at run time would need local memory.
                value = match next {
                    0 => values[0],
                    1 => values[1],
                    2 => values[2],
                    _ => values[3],
                };
                next += 1;
                let negative = byte == 2 && (value as i64) < 0;
                if negative {
                    value = value.wrapping_neg();
                }
                unit = 1;
                while quotient(value, unit) >= 10 {
                    crate::unroll!(none);
                    unit *= 10;
                }
                if !negative {
                    continue;
                }
                b'-'
            } else {
                byte
            }
        };
        if byte == 0 {
            break;
        }
        put(at, byte);
        at += 1;
    }
    put(at, 0);
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
        super::write(|at| text[at], values, |at, byte| bytes[at] = byte);
        let end = bytes.iter().position(|b| *b == 0).expect("a NUL");
        String::from_utf8(bytes[..end].to_vec()).expect("text")
    }

    #[test]
    fn values_stand_where_the_text_has_them() {
        assert_eq!(message("len \u{1} index \u{1}", [3, 7, 0, 0]), "len 3 index 7");
        let signed = [(-12_i64) as u64, i64::MIN as u64, u64::MAX, 0];
        assert_eq!(message("\u{2} \u{2} \u{1} \u{1}", signed), format!("-12 {} {} 0", i64::MIN, u64::MAX));
    }

    #[test]
    fn long_messages_are_cut() {
        assert_eq!(message(&"x".repeat(500), [0; 4]).len(), super::LENGTH - 1);
    }
}
