//! Slices of other libraries, lent to launches.

use std::ops::{Deref, DerefMut};

use cust::memory::DeviceCopy;

use crate::buffer_slice::{BufferSlice, BufferSliceMut};

/// An action at the drop of a guard.
pub(crate) trait OnDrop {}
impl<T> OnDrop for T {}

/// Elements of another library's slice, which launches may read.
///
/// Launches come after what that library has put on its streams before; what it puts there after the guard was dropped comes
/// after the launches.
pub struct SliceGuard<'b, T: DeviceCopy> {
    pub(crate) slice: BufferSlice<'b, T>,
    pub(crate) _after: Box<dyn OnDrop + 'b>,
}

/// Elements of another library's slice, which launches may write. See [`SliceGuard`].
pub struct SliceGuardMut<'b, T: DeviceCopy> {
    pub(crate) slice: BufferSliceMut<'b, T>,
    pub(crate) _after: Box<dyn OnDrop + 'b>,
}

impl<'b, T: DeviceCopy> Deref for SliceGuard<'b, T> {
    type Target = BufferSlice<'b, T>;

    fn deref(&self) -> &BufferSlice<'b, T> {
        &self.slice
    }
}

impl<'b, T: DeviceCopy> Deref for SliceGuardMut<'b, T> {
    type Target = BufferSliceMut<'b, T>;

    fn deref(&self) -> &BufferSliceMut<'b, T> {
        &self.slice
    }
}

impl<'b, T: DeviceCopy> DerefMut for SliceGuardMut<'b, T> {
    fn deref_mut(&mut self) -> &mut BufferSliceMut<'b, T> {
        &mut self.slice
    }
}

impl<'g, T: DeviceCopy> From<&'g SliceGuard<'_, T>> for BufferSlice<'g, T> {
    fn from(guard: &'g SliceGuard<'_, T>) -> Self {
        guard.slice
    }
}

impl<'g, T: DeviceCopy> From<&'g mut SliceGuardMut<'_, T>> for BufferSliceMut<'g, T> {
    fn from(guard: &'g mut SliceGuardMut<'_, T>) -> Self {
        guard.slice.reborrow()
    }
}
