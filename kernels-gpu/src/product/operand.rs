//! How a block's piece of A or B gets into shared memory.
//!
//! In shared memory a stage holds [`STEP`] rows, one for each k, of `LINES` neighbouring rows of op(A) or columns of op(B)
//! and four words of padding: what a thread needs for one k lies side by side. In global memory either the lines are
//! contiguous ([`straight`](super::straight): the copy keeps its form, 16 bytes at a time where they are aligned) or the k of
//! each line are ([`turned`](super::turned): 4 or 8 elements of a line become words that lie a row apart).
//!
//! Lines beyond the matrix repeat others of it: see [`OperandStart::line`].

/// Elements along K that a stage holds.
pub const STEP: usize = 8;

/// The most that a thread holds of one step's piece.
pub type Held = [f32; 8];

/// Words from one k to the next in shared memory: with 4 more than the lines, stores down a column of lines × k find
/// each its own bank.
pub const fn pitch(lines: usize) -> usize {
    lines + 4
}

/// Where a piece begins.
#[derive(Clone, Copy)]
pub struct OperandStart {
    pub from: *const f32,
    /// Elements from one of its stored rows to the next.
    pub ld: u32,
    /// The block's first line.
    pub first: u32,
    /// How many lines the matrix has, at least 1.
    pub lines: u32,
    /// The first k, below zero where K is padded.
    pub k: i32,
    /// The piece's address in the first stage.
    pub to: u32,
}

impl OperandStart {
    /// The matrix's line for the tile's `line`, the first of `width` that are copied together: itself, or, beyond the last line,
    /// as far before it.
    ///
    /// Repeating the last line alone would be right, too, but an asynchronous copy in which many threads want one address takes
    /// as many times as long.
    #[inline(always)]
    pub fn line(&self, line: usize, width: u32) -> usize {
        let (line, last) = (self.first + line as u32, self.lines - width);
        line.min(last).saturating_sub(line.saturating_sub(last)) as usize
    }
}

/// A piece of A or B, as one thread moves its share of it from step to step: either fetched and stored, or copied
/// asynchronously. The other way's methods do nothing.
#[expect(unused_variables, reason = "the other way's methods do nothing")]
pub trait Operand {
    /// Elements of a step that a thread holds between fetching and storing them; 0 where the step is copied
    /// asynchronously.
    const HOLDS: usize;

    /// The thread's share.
    ///
    /// # Safety
    /// The matrix is as `at` says.
    unsafe fn new(at: OperandStart) -> Self;

    /// Fetches the first step into registers: the first `skip` k of it are zeros.
    ///
    /// # Safety
    /// The step is inside the matrix but for what is skipped.
    #[inline(always)]
    unsafe fn fetch_first(&mut self, skip: u32) -> Held {
        [0.0; 8]
    }

    /// Fetches the next step into registers.
    ///
    /// # Safety
    /// As for [`fetch_first`](Self::fetch_first), with nothing skipped.
    #[inline(always)]
    unsafe fn fetch(&mut self) -> Held {
        [0.0; 8]
    }

    /// Stores what was fetched into the stage that is `back` from the one to be filled.
    ///
    /// # Safety
    /// No thread reads that stage before the next barrier.
    #[inline(always)]
    unsafe fn store(&self, back: u32, held: Held) {}

    /// Starts to copy the first step into the stage to be filled: the first `skip` k of it are zeros.
    ///
    /// # Safety
    /// As for [`fetch_first`](Self::fetch_first), and no thread reads the stage until the copies were waited for.
    #[inline(always)]
    unsafe fn copy_first(&mut self, skip: u32) {}

    /// Starts to copy the next step.
    ///
    /// # Safety
    /// As for [`copy_first`](Self::copy_first), with nothing skipped.
    #[inline(always)]
    unsafe fn copy(&mut self) {}

    /// Goes on to another stage, `flip` from the last.
    fn turn(&mut self, flip: u32);
}
