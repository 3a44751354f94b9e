//! Printing from kernels, and assertions that end the launch.
//!
//! `print!` and `println!` print what Rust's own do, through the driver's `vprintf`. They need no device heap, and a
//! `%` in the data is just a character. Numbers, `bool`s, characters, pointers, `&str`s, references to them and arrays
//! of up to 16 numbers or `bool`s, with any width, alignment, sign and precision, cost a kernel one call. If C's
//! `printf` formats all of them as Rust does, which holds for integers, they become its arguments; otherwise a small
//! formatter writes them into 256 bytes of stack.
//!
//! Types that format themselves (a struct's `{:?}`, a slice's, your own `Display`), and widths or precisions given as
//! arguments (`{:1$}`), need `core::fmt`. That works too, but adds thousands of instructions, and because it calls
//! through pointers, `ptxas` cannot compute how much stack it needs: set `CU_LIMIT_STACK_SIZE` to 4 KiB on the host
//! before you launch such a kernel (the driver gives a thread 1 KiB by default). Printing the fields one by one needs
//! neither.
//!
//! The driver keeps the text in a ring buffer (1 MiB unless the host sets `CU_LIMIT_PRINTF_FIFO_SIZE`; older text is
//! overwritten) and prints it when the host synchronises. The output of one call stays together, without another
//! thread's text in between. The exception is output longer than [`WHOLE`] bytes that holds more than integers, `bool`s
//! and constant text: it is complete, but other threads may print between its pieces.
//!
//! ```
//! use cuda_std::{kernel, println, thread};
//!
//! #[kernel]
//! pub unsafe fn show(values: &[f32]) {
//!     let i = thread::index_1d() as usize;
//!     if let Some(value) = values.get(i) {
//!         println!("{i:>3}: {value:8.3}, bits {:#010x}", value.to_bits());
//!     }
//! }
//! ```

#[cfg(any(test, target_os = "cuda"))]
use crate::text::Sink;
use core::ffi::c_void;
use core::fmt;
#[cfg(any(test, target_os = "cuda"))]
use core::mem::MaybeUninit;

/// Output of up to this many bytes from one `print!` is guaranteed to stay in one piece.
pub const WHOLE: usize = 255;

#[cfg(target_os = "cuda")]
unsafe extern "C" {
    /// The driver's `printf`: a NUL-terminated format, and the arguments packed at their natural alignment.
    ///
    /// # Safety
    ///
    /// `valist` must hold the arguments that `format` expects.
    pub fn vprintf(format: *const u8, valist: *const c_void) -> i32;

    /// Reports a failed assertion to the host, which sees `CUDA_ERROR_ASSERT`. It may return: put a trap after it.
    ///
    /// # Safety
    ///
    /// `message`, `file` and `function` must be NUL-terminated; `char_size` is 1.
    pub fn __assertfail(
        message: *const u8,
        file: *const u8,
        line: u32,
        function: *const u8,
        char_size: usize,
    );
}

/// The driver's `printf`: a NUL-terminated format, and the arguments packed at their natural alignment.
///
/// # Safety
///
/// `valist` must hold what `format` asks for.
#[cfg(not(target_os = "cuda"))]
pub unsafe fn vprintf(_format: *const u8, _valist: *const c_void) -> i32 {
    panic!("`vprintf` prints only on the GPU")
}

/// Reports a failed assertion to the host, which sees `CUDA_ERROR_ASSERT`. May return: follow it by a trap.
///
/// # Safety
///
/// `message`, `file` and `function` must be NUL-terminated; `char_size` is 1.
#[cfg(not(target_os = "cuda"))]
pub unsafe fn __assertfail(
    _message: *const u8,
    _file: *const u8,
    _line: u32,
    _function: *const u8,
    _char_size: usize,
) {
    panic!("`__assertfail` reports only on the GPU")
}

/// A NUL-terminated text on the stack that is passed to `sink` whenever it is full.
#[cfg(any(test, target_os = "cuda"))]
struct Text<const CAPACITY: usize, S: FnMut(&[u8])> {
    bytes: [MaybeUninit<u8>; CAPACITY],
    length: usize,
    sink: S,
}

#[cfg(any(test, target_os = "cuda"))]
impl<const CAPACITY: usize, S: FnMut(&[u8])> Text<CAPACITY, S> {
    fn new(sink: S) -> Self {
        Self { bytes: [const { MaybeUninit::uninit() }; CAPACITY], length: 0, sink }
    }

    fn put(&mut self, byte: u8) {
        // One byte is reserved for the NUL.
        if self.length == CAPACITY - 1 {
            self.flush();
        }
        // No index that could panic: its message would make each kernel's copy of this function different.
        if let Some(place) = self.bytes.get_mut(self.length) {
            place.write(byte);
            self.length += 1;
        }
    }

    /// Passes on the text so far, including its NUL. Out of line, because every formatted piece of text may end up
    /// here.
    #[inline(never)]
    fn flush(&mut self) {
        if self.length > 0 {
            (self.sink)(terminated(&mut self.bytes, self.length));
            self.length = 0;
        }
    }
}

/// The first `length` bytes, which `Text::push` wrote, followed by a NUL.
#[cfg(any(test, target_os = "cuda"))]
fn terminated(bytes: &mut [MaybeUninit<u8>], length: usize) -> &[u8] {
    let Some(end) = bytes.get_mut(length) else { return &[0] };
    end.write(0);
    // SAFETY: all bytes up to `length` have been written.
    unsafe { core::slice::from_raw_parts(bytes.as_ptr().cast::<u8>(), length + 1) }
}

#[cfg(any(test, target_os = "cuda"))]
impl<const CAPACITY: usize, S: FnMut(&[u8])> Sink for Text<CAPACITY, S> {
    fn push(&mut self, byte: u8) {
        // C ends a string at the first NUL: show the symbol for NUL so that the rest is not lost.
        if byte == 0 {
            "\u{2400}".bytes().for_each(|byte| self.put(byte));
        } else {
            self.put(byte);
        }
    }
}

#[cfg(any(test, target_os = "cuda"))]
impl<const CAPACITY: usize, S: FnMut(&[u8])> fmt::Write for Text<CAPACITY, S> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.bytes().for_each(|byte| self.push(byte));
        Ok(())
    }
}

/// Prints `text`, which must end with a NUL, through `vprintf`.
#[cfg(target_os = "cuda")]
fn print_text(text: &[u8]) {
    #[repr(C)]
    struct Arguments {
        text: *const u8,
    }
    let arguments = Arguments { text: text.as_ptr() };
    // SAFETY: the format expects one pointer to a NUL-terminated string, and the arguments hold exactly that.
    unsafe { vprintf(c"%s".as_ptr().cast(), (&raw const arguments).cast()) };
}

/// The formatters that `cuda_builder` calls in place of [`print()`]: they take a script and its values.
#[cfg(target_os = "cuda")]
macro_rules! formatters {
    ($($name:ident = $symbol:literal, $floats:expr;)*) => {$(
        #[unsafe(export_name = $symbol)]
        #[inline(never)]
        unsafe extern "C" fn $name(script: *const u8, values: *const u64) {
            let mut text = Text::<{ WHOLE + 1 }, _>::new(print_text);
            let mut writer = crate::text::Writer::new(&mut text);
            // SAFETY: the builder passes a script and as many values as it needs.
            unsafe { writer.follow(script, |index| values.add(index).read(), $floats) };
            text.flush();
        }
    )*};
}

#[cfg(target_os = "cuda")]
formatters! {
    print_values = "__warpsmith_print", crate::text::ForNone;
    print_f32 = "__warpsmith_print_f32", crate::text::ForFloats::<false>;
    print_f64 = "__warpsmith_print_f64", crate::text::ForFloats::<true>;
}

/// Called by `print!`. `cuda_builder` replaces the call if it can format all of the values itself.
#[doc(hidden)]
#[inline(never)]
pub fn print(arguments: fmt::Arguments<'_>) {
    #[cfg(target_os = "cuda")]
    {
        let mut text = Text::<{ WHOLE + 1 }, _>::new(print_text);
        // Text written before a `Display` returned an error is still printed.
        let _ = fmt::Write::write_fmt(&mut text, arguments);
        text.flush();
    }
    #[cfg(not(target_os = "cuda"))]
    std::print!("{arguments}");
}

/// `print!` for kernels: formats like Rust's, and prints through the driver. See [`io`](crate::io).
#[macro_export]
macro_rules! print {
    ($($argument:tt)*) => {
        $crate::io::print(::core::format_args!($($argument)*))
    };
}

/// `println!` for kernels: [`print!`](crate::print) and a newline.
#[macro_export]
macro_rules! println {
    () => {
        $crate::print!("\n")
    };
    ($($argument:tt)*) => {
        $crate::print!("{}\n", ::core::format_args!($($argument)*))
    };
}

/// Ends the launch with `CUDA_ERROR_ASSERT` and shows both sides and the source location, unless the sides are equal.
///
/// On the device the values of numbers, `bool`s, `char`s, `&str`s and arrays of them (the first four elements) are shown, and
/// of others the type.
#[macro_export]
macro_rules! assert_eq {
    ($left:expr, $right:expr $(,)?) => {
        $crate::__assert_compare!("==", $left, $right, left == right, "")
    };
    ($left:expr, $right:expr, $($message:tt)+) => {
        $crate::__assert_compare!("==", $left, $right, left == right, ": {}", ::core::format_args!($($message)+))
    };
}

/// Ends the launch with `CUDA_ERROR_ASSERT` and shows both sides and the source location, if the sides are equal.
///
/// On the device the values of numbers, `bool`s, `char`s, `&str`s and arrays of them (the first four elements) are shown, and
/// of others the type.
#[macro_export]
macro_rules! assert_ne {
    ($left:expr, $right:expr $(,)?) => {
        $crate::__assert_compare!("!=", $left, $right, left != right, "")
    };
    ($left:expr, $right:expr, $($message:tt)+) => {
        $crate::__assert_compare!("!=", $left, $right, left != right, ": {}", ::core::format_args!($($message)+))
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __assert_compare {
    ($sign:literal, $left:expr, $right:expr, $l:ident $operator:tt $r:ident, $format:literal $(, $message:expr)?) => {
        match (&$left, &$right) {
            ($l, $r) => {
                if !(*$l $operator *$r) {
                    ::core::panic!(
                        ::core::concat!("assertion failed: ({} {} {})", $format, "\nleft : {:?}\nright: {:?}"),
                        ::core::stringify!($left), $sign, ::core::stringify!($right) $(, $message)?, *$l, *$r
                    )
                }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::ffi::CStr;
    use fmt::Write;
    use std::vec::Vec;

    /// The text that C's `%s` would print for the pieces, and their number.
    fn printed<const CAPACITY: usize>(arguments: fmt::Arguments<'_>) -> (Vec<u8>, usize) {
        let (mut whole, mut pieces) = (Vec::new(), 0);
        let mut text = Text::<CAPACITY, _>::new(|piece: &[u8]| {
            whole.extend_from_slice(CStr::from_bytes_with_nul(piece).unwrap().to_bytes());
            pieces += 1;
        });
        text.write_fmt(arguments).unwrap();
        text.flush();
        (whole, pieces)
    }

    #[test]
    fn what_fits_is_one_piece() {
        let (text, pieces) = printed::<16>(format_args!("{}{}", "0123456789", "abcde"));
        core::assert_eq!((text.as_slice(), pieces), (&b"0123456789abcde"[..], 1));
    }

    #[test]
    fn longer_text_is_not_cut() {
        let long = "x%sé".repeat(100);
        let (text, pieces) = printed::<16>(format_args!("{long}"));
        core::assert_eq!(text, long.as_bytes());
        core::assert_eq!(pieces, long.len().div_ceil(15));
    }

    #[test]
    fn nul_does_not_end_the_text() {
        let (text, _) = printed::<16>(format_args!("a\0b"));
        core::assert_eq!(text, "a\u{2400}b".as_bytes());
    }

    #[test]
    fn nothing_is_no_piece() {
        core::assert_eq!(printed::<16>(format_args!("")), (Vec::new(), 0));
    }

    #[test]
    #[should_panic(expected = "assertion failed: (1 + 1 == 3): sums 7\nleft : 2\nright: 3")]
    fn failed_equality_names_both_sides() {
        crate::assert_eq!(1 + 1, 3, "sums {}", 7);
    }

    #[test]
    #[should_panic(expected = "assertion failed: (2 != 1 + 1)\nleft : 2\nright: 2")]
    fn failed_inequality_names_both_sides() {
        crate::assert_ne!(2, 1 + 1);
    }

    #[test]
    fn true_assertions_pass() {
        crate::assert_eq!(1 + 1, 2);
        crate::assert_ne!(f32::NAN, f32::NAN, "a NaN differs from itself");
    }
}
