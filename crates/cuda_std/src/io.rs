//! Printing from kernels, and assertions that end the launch.
//!
//! `print!` and `println!` format with Rust's own rules into a small buffer on the stack and hand it to the driver's
//! `vprintf` as the argument of a `"%s"`, so no device heap is needed and a `%` in the data is just a character.
//!
//! The driver keeps the text in a ring buffer (1 MiB unless the host sets `CU_LIMIT_PRINTF_FIFO_SIZE`; older text is
//! overwritten) and shows it when the host synchronises. A call of up to [`WHOLE`] bytes of text comes out in one
//! piece; longer text is complete too, but other threads may print between its pieces.
//!
//! Formatting a float, or anything by `{:?}`, may need more stack than the driver gives a thread by itself (1 KiB, since
//! `core`'s formatting calls through pointers and `ptxas` cannot add its frames up): let the host set
//! `CU_LIMIT_STACK_SIZE` to 4 KiB before it launches such a kernel.

use core::ffi::{CStr, c_void};
use core::fmt;
#[cfg(any(test, target_os = "cuda"))]
use core::mem::MaybeUninit;

/// The bytes of text that one `print!` surely prints in one piece.
pub const WHOLE: usize = 255;

#[cfg(target_os = "cuda")]
unsafe extern "C" {
    /// The driver's `printf`: a NUL-terminated format, and the arguments packed at their natural alignment.
    ///
    /// # Safety
    ///
    /// `valist` must hold what `format` asks for.
    pub fn vprintf(format: *const u8, valist: *const c_void) -> i32;

    /// Reports a failed assertion to the host, which sees `CUDA_ERROR_ASSERT`. May return: follow it by a trap.
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

#[cfg(target_os = "cuda")]
crate::intrinsic::intrinsics! {
    fn trap() = "llvm:llvm.trap";
}

/// Text on the stack, NUL-terminated for C, that goes to `sink` whenever it is full.
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

    fn push(&mut self, byte: u8) {
        // One byte stays free for the NUL.
        if self.length == CAPACITY - 1 {
            self.flush();
        }
        self.bytes[self.length].write(byte);
        self.length += 1;
    }

    /// Passes on the text so far, its NUL included. Out of line: every piece of text that is formatted may come here.
    #[inline(never)]
    fn flush(&mut self) {
        if self.length > 0 {
            (self.sink)(terminated(&mut self.bytes, self.length));
            self.length = 0;
        }
    }
}

/// The first `length` bytes, which `Text::push` wrote, and a NUL after them.
#[cfg(any(test, target_os = "cuda"))]
fn terminated(bytes: &mut [MaybeUninit<u8>], length: usize) -> &[u8] {
    bytes[length].write(0);
    // SAFETY: all bytes up to `length` have been written.
    unsafe { core::slice::from_raw_parts(bytes.as_ptr().cast::<u8>(), length + 1) }
}

#[cfg(any(test, target_os = "cuda"))]
impl<const CAPACITY: usize, S: FnMut(&[u8])> fmt::Write for Text<CAPACITY, S> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            // C ends a text at its first NUL: show the symbol for NUL instead of losing the rest.
            if byte == 0 {
                "\u{2400}".bytes().for_each(|byte| self.push(byte));
            } else {
                self.push(byte);
            }
        }
        Ok(())
    }
}

/// Prints `text`, which ends in a NUL, through `vprintf`.
#[cfg(target_os = "cuda")]
fn print_text(text: &[u8]) {
    #[repr(C)]
    struct Arguments {
        text: *const u8,
    }
    let arguments = Arguments { text: text.as_ptr() };
    // SAFETY: the format asks for one pointer to a NUL-terminated text, and that is what the arguments hold.
    unsafe { vprintf(c"%s".as_ptr().cast(), (&raw const arguments).cast()) };
}

/// A copy of `text` in global memory: the driver reads a failed assertion's text after its thread, and its stack, ended.
#[cfg(target_os = "cuda")]
fn kept(text: &[u8]) -> *const u8 {
    use core::sync::atomic::{AtomicU32, Ordering};
    const TEXTS: usize = 16;
    static mut KEPT: [[u8; 512]; TEXTS] = [[0; 512]; TEXTS];
    static NEXT: AtomicU32 = AtomicU32::new(0);

    // More threads than texts overwrite each other's; the launch has failed anyway.
    let slot = NEXT.fetch_add(1, Ordering::Relaxed) as usize % TEXTS;
    // SAFETY: the slot is in bounds, and a text has at most 512 bytes, its NUL included.
    unsafe {
        let start = (&raw mut KEPT).cast::<u8>().add(slot * 512);
        for (i, byte) in text.iter().enumerate() {
            start.add(i).write_volatile(*byte);
        }
        start
    }
}

/// What `print!` calls.
#[doc(hidden)]
#[inline(never)]
pub fn print(arguments: fmt::Arguments<'_>) {
    #[cfg(target_os = "cuda")]
    {
        let mut text = Text::<{ WHOLE + 1 }, _>::new(print_text);
        // A `Display` that reports an error still has printed what it wrote: show that much.
        let _ = fmt::Write::write_fmt(&mut text, arguments);
        text.flush();
    }
    #[cfg(not(target_os = "cuda"))]
    std::print!("{arguments}");
}

/// A failed comparison, as `assert_eq!` and `assert_ne!` describe it to [`assert_failed`].
#[doc(hidden)]
pub struct Comparison<'a> {
    /// `==` or `!=`.
    pub operator: &'static str,
    /// The source text of both sides.
    pub expressions: (&'static str, &'static str),
    /// The values of both sides.
    pub values: (&'a dyn fmt::Debug, &'a dyn fmt::Debug),
    /// What the user adds.
    pub message: Option<fmt::Arguments<'a>>,
}

impl fmt::Display for Comparison<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "assertion failed: ({} {} {})", self.expressions.0, self.operator, self.expressions.1)?;
        if let Some(message) = self.message {
            write!(f, ": {message}")?;
        }
        write!(f, "\nleft : {:?}\nright: {:?}", self.values.0, self.values.1)
    }
}

/// Ends the launch with what a comparison found; on the host, panics with it.
#[doc(hidden)]
#[inline(never)]
#[cold]
#[track_caller]
pub fn assert_failed(comparison: Comparison<'_>, place: (&'static CStr, u32, &'static CStr)) -> ! {
    #[cfg(target_os = "cuda")]
    {
        let (file, line, function) = place;
        let mut text = Text::<512, _>::new(print_text);
        let _ = fmt::Write::write_fmt(&mut text, format_args!("{comparison}"));
        // Of a report longer than the buffer all but the last piece has been printed.
        let message = kept(terminated(&mut text.bytes, text.length));
        // SAFETY: all three texts end in a NUL.
        unsafe { __assertfail(message, file.as_ptr().cast(), line, function.as_ptr().cast(), 1) };
        // SAFETY: a trap ends the launch, so nothing comes after it.
        unsafe {
            trap();
            core::hint::unreachable_unchecked()
        }
    }
    #[cfg(not(target_os = "cuda"))]
    {
        let _ = place;
        panic!("{comparison}")
    }
}

/// `print!` for kernels: formats as Rust does, prints through the driver. See [`io`](crate::io).
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

/// Ends the launch with `CUDA_ERROR_ASSERT` and a message, values and place included, unless both sides are equal.
#[macro_export]
macro_rules! assert_eq {
    ($left:expr, $right:expr $(,)?) => {
        $crate::__assert_compare!(==, $left, $right, ::core::option::Option::None)
    };
    ($left:expr, $right:expr, $($message:tt)+) => {
        $crate::__assert_compare!(==, $left, $right, ::core::option::Option::Some(::core::format_args!($($message)+)))
    };
}

/// Ends the launch with `CUDA_ERROR_ASSERT` and a message, values and place included, if both sides are equal.
#[macro_export]
macro_rules! assert_ne {
    ($left:expr, $right:expr $(,)?) => {
        $crate::__assert_compare!(!=, $left, $right, ::core::option::Option::None)
    };
    ($left:expr, $right:expr, $($message:tt)+) => {
        $crate::__assert_compare!(!=, $left, $right, ::core::option::Option::Some(::core::format_args!($($message)+)))
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __assert_compare {
    ($operator:tt, $left:expr, $right:expr, $message:expr) => {
        match (&$left, &$right) {
            (left, right) => {
                if !(*left $operator *right) {
                    $crate::io::assert_failed(
                        $crate::io::Comparison {
                            operator: ::core::stringify!($operator),
                            expressions: (::core::stringify!($left), ::core::stringify!($right)),
                            values: (left, right),
                            message: $message,
                        },
                        (
                            $crate::io::c_str(::core::concat!(::core::file!(), "\0")),
                            ::core::line!(),
                            $crate::io::c_str(::core::concat!(::core::module_path!(), "\0")),
                        ),
                    )
                }
            }
        }
    };
}

/// A literal with its NUL, as the macros make them.
#[doc(hidden)]
pub const fn c_str(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => c"",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fmt::Write;
    use std::vec::Vec;

    /// What C's `%s` would print of the pieces, and their number.
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
