//! Pointers as they arrive from C, given types that say what the callee may do with them.
//!
//! Each is one machine pointer, created only by a foreign caller of an entry point. That call is `unsafe`. Every access
//! here relies on its contract, which is the driver API's: a pointer is null or valid for what the entry point does
//! with it. So the code of the virtual device is safe code.

use std::ffi::{CStr, c_char};

use super::result::{Answer, CUresult};

/// Where an entry point writes its results.
#[repr(transparent)]
pub struct Out<T>(*mut T);

impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Out<T> {}

impl<T> Out<T> {
    /// Wraps a pointer that is null or may be written.
    ///
    /// # Safety
    /// As long as the result is used, `pointer` is null or valid for writes of what is stored through it.
    pub const unsafe fn new(pointer: *mut T) -> Self {
        Self(pointer)
    }

    /// Whether the caller passed null.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The address itself.
    pub fn as_ptr(self) -> *mut T {
        self.0
    }

    /// Fails like the driver if the caller passed null.
    pub fn required(self) -> Answer<Self> {
        if self.is_null() { Err(CUresult::INVALID_VALUE) } else { Ok(self) }
    }

    /// Stores the only result; null is an invalid value.
    pub fn set(self, value: T) -> Answer {
        self.required()?.set_at(0, value);
        Ok(())
    }

    /// Stores a result that the caller may omit.
    pub fn set_if_given(self, value: T) {
        if !self.is_null() {
            self.set_at(0, value);
        }
    }

    /// Stores one element of an array of results.
    pub fn set_at(self, index: usize, value: T) {
        // SAFETY: the caller of the entry point vouches for the place and for the count it gave with it.
        unsafe { self.0.add(index).write_unaligned(value) }
    }
}

impl<T: Copy> Out<T> {
    /// Reads a parameter that is both input and output.
    pub fn get(self) -> Answer<T> {
        self.required()?;
        // SAFETY: not null, so the caller of the entry point vouches for it; in-out places are initialised.
        Ok(unsafe { self.0.read_unaligned() })
    }
}

/// A structure or an array that an entry point reads.
#[repr(transparent)]
pub struct In<T>(*const T);

impl<T> Clone for In<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for In<T> {}

impl<T: Copy> In<T> {
    /// Wraps a pointer that is null or may be read.
    ///
    /// # Safety
    /// As long as the result is used, `pointer` is null or valid for the reads made through it.
    pub const unsafe fn new(pointer: *const T) -> Self {
        Self(pointer)
    }

    /// Whether the caller gave nothing.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The address itself.
    pub fn as_ptr(self) -> *const T {
        self.0
    }

    /// The only structure; null is an invalid value.
    pub fn get(self) -> Answer<T> {
        if self.is_null() {
            return Err(CUresult::INVALID_VALUE);
        }
        Ok(self.at(0))
    }

    /// One element of an array; the caller has checked for null.
    pub fn at(self, index: usize) -> T {
        // SAFETY: the caller of the entry point vouches for the array and for the count it gave with it.
        unsafe { self.0.add(index).read_unaligned() }
    }

    /// An array of `count` elements; null is an invalid value unless the array is empty.
    pub fn array(self, count: usize) -> Answer<Vec<T>> {
        match count {
            0 => Ok(Vec::new()),
            _ if self.is_null() => Err(CUresult::INVALID_VALUE),
            _ => Ok((0..count).map(|index| self.at(index)).collect()),
        }
    }
}

/// A NUL-terminated name.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Text(*const c_char);

impl Text {
    /// Wraps a pointer that is null or a C string.
    ///
    /// # Safety
    /// As long as the result is used, `pointer` is null or points to a NUL-terminated string.
    pub const unsafe fn new(pointer: *const c_char) -> Self {
        Self(pointer)
    }

    /// The text; null is an invalid value.
    pub fn get(&self) -> Answer<std::borrow::Cow<'_, str>> {
        if self.0.is_null() {
            return Err(CUresult::INVALID_VALUE);
        }
        // SAFETY: not null, so the caller of the entry point vouches for a C string.
        Ok(unsafe { CStr::from_ptr(self.0) }.to_string_lossy())
    }
}

/// Copies `text` into a caller's buffer of `size` bytes, cut to fit and always terminated; the bytes stored, with
/// the terminator.
pub fn fill_text(place: Out<c_char>, size: usize, text: &str) -> usize {
    if place.is_null() || size == 0 {
        return 0;
    }
    let mut length = text.len().min(size - 1);
    while !text.is_char_boundary(length) {
        length -= 1;
    }
    for (index, byte) in text.as_bytes()[..length].iter().chain(&[0]).enumerate() {
        place.set_at(index, *byte as c_char);
    }
    length + 1
}
