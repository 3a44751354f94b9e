//! From the sums in registers to C, a warp at a time.
//!
//! A warp has 16 rows of its warpgroup's 64. It lays 128 bytes of each in shared memory (64 elements of 16 bits or 32 of
//! 32), permuted as a tensor copy wants them, and one lane sends them off: 2 KiB, clipped at C's edge by the copy. Two such
//! pieces take turns, so that one is written while the other is read. No warp waits for another.

use cuda_std::ptx;
use cuda_std::warp::{lane_id, sync_warp};
use half::{bf16, f16};
use tile::hopper::{
    Barrier, Box2, SharedAddress, SharedBox, Sums, Swizzle128, TensorMap, Tf32, commit_stores,
    fence_tensor_copies, lane_here, load_matrices, store_matrices, wait_stores, wait_stores_read,
};

use tile::mma::Number;

use super::HopperGemm;

/// C as bytes: 16 rows of 128 bytes. Rows of C are multiples of 16 bytes: at its right edge a tensor copy writes whole groups
/// of 16, and what lies between the rows would be lost.
pub type OutputMap = TensorMap<u8, Swizzle128, Box2<16, 128>>;
type StagedBox = SharedBox<u8, Swizzle128, Box2<16, 128>>;

/// Bytes of shared memory of a warp: two pieces.
pub const STAGING: u32 = 2 * OutputMap::BOX_BYTES;

pub trait Sum: Number {
    /// `alpha · self`.
    fn scaled(self, alpha: f32) -> Self;
    /// `self + beta · before`.
    fn plus(self, beta: f32, before: Self) -> Self;
}

impl Sum for f32 {
    #[inline(always)]
    fn scaled(self, alpha: f32) -> Self {
        self * alpha
    }

    #[inline(always)]
    fn plus(self, beta: f32, before: Self) -> Self {
        self + beta * before
    }
}

impl Sum for i32 {
    #[inline(always)]
    fn scaled(self, alpha: f32) -> Self {
        self.wrapping_mul(alpha as i32)
    }

    #[inline(always)]
    fn plus(self, beta: f32, before: Self) -> Self {
        self.wrapping_add(before.wrapping_mul(beta as i32))
    }
}

/// How the sums of a type's products can be stored in less than 32 bits.
pub trait Narrow {
    type Sum: Sum;
    /// Whether they can.
    const NARROW: bool;
    /// Two sums in one word, the first in the lower half.
    fn pack(low: Self::Sum, high: Self::Sum) -> u32;
    /// The two halves of a word.
    fn unpack(word: u32) -> (Self::Sum, Self::Sum);
}

macro_rules! halves {
    ($($t:ty)*) => {$(
        impl Narrow for $t {
            type Sum = f32;
            const NARROW: bool = true;

            #[inline(always)]
            fn pack(low: f32, high: f32) -> u32 {
                <$t as tile::mma::Narrow>::pack(low, high)
            }

            #[inline(always)]
            fn unpack(word: u32) -> (f32, f32) {
                (<$t>::from_bits(word as u16).to_f32(), <$t>::from_bits((word >> 16) as u16).to_f32())
            }
        }
    )*};
}
halves!(f16 bf16);

macro_rules! words {
    ($($t:ty: $sum:ty;)*) => {$(
        impl Narrow for $t {
            type Sum = $sum;
            const NARROW: bool = false;

            #[inline(always)]
            fn pack(low: $sum, _high: $sum) -> u32 {
                Number::to_bits(low)
            }

            #[inline(always)]
            fn unpack(word: u32) -> ($sum, $sum) {
                (<$sum as Number>::from_bits(word), <$sum as Number>::from_bits(0))
            }
        }
    )*};
}
words! {
    Tf32: f32;
    i8: i32;
}

/// Sums packed two in a word, ready to be stored.
pub trait Packed: Copy {
    /// None yet.
    const EMPTY: Self;
    const COUNT: usize;
    /// A word; `index` is a constant once loops are unrolled.
    ///
    /// # Safety
    /// `index` is below [`COUNT`](Self::COUNT).
    unsafe fn get(&self, index: usize) -> u32;
    /// Sets a word, likewise.
    ///
    /// # Safety
    /// As [`get`](Self::get).
    unsafe fn set(&mut self, index: usize, word: u32);
}

macro_rules! packed {
    ($($count:literal)*) => {$(
        impl Packed for [u32; $count] {
            const EMPTY: Self = [0; $count];
            const COUNT: usize = $count;

            #[inline(always)]
            unsafe fn get(&self, index: usize) -> u32 {
                // SAFETY: the caller's promise.
                unsafe { *self.get_unchecked(index) }
            }

            #[inline(always)]
            unsafe fn set(&mut self, index: usize, word: u32) {
                // SAFETY: the caller's promise.
                unsafe { *self.get_unchecked_mut(index) = word }
            }
        }
    )*};
}
packed!(0 16 32 48);

/// A warp's way to C.
pub struct Epilogue<'a> {
    map: &'a OutputMap,
    p: HopperGemm,
    pieces: SharedAddress,
    loaded: Barrier,
    parity: u32,
}

impl<'a> Epilogue<'a> {
    /// With [`STAGING`] bytes at `pieces`, and a barrier that expects one arrival.
    #[inline(always)]
    pub fn new(map: &'a OutputMap, p: HopperGemm, pieces: SharedAddress, loaded: Barrier) -> Self {
        Self { map, p, pieces, loaded, parity: 0 }
    }

    /// Stores the warp's 16 rows of C from (`row`, `col`) on.
    ///
    /// # Safety
    /// All lanes of the warp call it, with the sums of a product that is finished.
    #[inline(always)]
    pub unsafe fn store<T: Narrow, S: Sums<Sum = T::Sum>>(&mut self, sums: &S, row: u32, col: u32) {
        // SAFETY: the caller's promise.
        unsafe {
            if T::NARROW && self.p.wide == 0 {
                self.halves::<T, S>(sums, row, col);
            } else {
                self.words(sums, row, col);
            }
        }
    }

    /// Whether C can be stored from packed sums, piece by piece and later.
    #[inline(always)]
    pub fn can_defer<T: Narrow>(&self) -> bool {
        T::NARROW && self.p.wide == 0 && self.p.beta == 0.0
    }

    /// Packs the sums from piece `piece` on.
    ///
    /// # Safety
    /// The product is finished.
    #[inline(always)]
    pub unsafe fn pack<T: Narrow, S: Sums<Sum = T::Sum>, W: Packed>(&self, sums: &S, piece: usize) -> W {
        let mut packed = W::EMPTY;
        for i in 0..W::COUNT {
            cuda_std::unroll!(full);
            // SAFETY: a piece has 32 sums, and from this one on there are twice as many sums as words.
            unsafe {
                let sum = |which: usize| sums.get(32 * piece + 2 * i + which).scaled(self.p.alpha);
                packed.set(i, T::pack(sum(0), sum(1)));
            }
        }
        packed
    }

    /// Stores the first piece: 64 columns of the warp's 16 rows from (`row`, `col`) on.
    ///
    /// # Safety
    /// All lanes of the warp call it, with the sums of a product that is finished.
    #[inline(always)]
    pub unsafe fn store_first<T: Narrow, S: Sums<Sum = T::Sum>>(&mut self, sums: &S, row: u32, col: u32) {
        // SAFETY: the caller's promise.
        unsafe {
            let packed: [u32; 16] = self.pack::<T, S, _>(sums, 0);
            // The tile before may have ended with this very piece; it is long since read.
            let piece = self.free_piece::<0>(0);
            self.send_packed(&packed, 0, piece, row, col);
        }
    }

    /// Stores piece `j` of sums that are packed from the second piece on.
    ///
    /// # Safety
    /// All lanes of the warp call it.
    #[inline(always)]
    pub unsafe fn store_packed<W: Packed>(&mut self, j: usize, packed: &W, row: u32, col: u32) {
        // SAFETY: the caller's promise.
        unsafe {
            let piece = self.free_piece::<1>(j);
            self.send_packed(packed, j - 1, piece, row, col + j as u32 * 64);
        }
    }

    /// Stores all pieces but the first through other shared memory, without a wait: piece `j` through what lies `j` ·
    /// `stride` bytes behind `room`.
    ///
    /// # Safety
    /// All lanes of the warp call it; nothing else uses 2 KiB in each of these places any more, multiples of 1024.
    #[inline(always)]
    pub unsafe fn store_rest_through<W: Packed>(
        &mut self,
        (room, stride): (SharedAddress, u32),
        packed: &W,
        row: u32,
        col: u32,
    ) {
        let pieces = 1 + W::COUNT as u32 / 16;
        // SAFETY: the caller's promise.
        unsafe {
            let piece = |j: u32| StagedBox::at(room.plus(j * stride));
            for j in 1..pieces {
                cuda_std::unroll!(full);
                self.write_packed(packed, j as usize - 1, piece(j));
            }
            // One fence for all of them: each takes as long as a piece.
            fence_tensor_copies();
            sync_warp(u32::MAX);
            if lane_id() == 0 {
                for j in 1..pieces {
                    cuda_std::unroll!(full);
                    self.map.store(piece(j), [((col + j * 64) * 2) as i32, row as i32]);
                }
                commit_stores();
            }
        }
    }

    #[inline(always)]
    unsafe fn write_packed<W: Packed>(&self, packed: &W, of: usize, piece: StagedBox) {
        let lane = lane_id();
        let (line, right) = (lane % 16, lane / 16);
        // SAFETY: the caller's promise; a thread has 16 words of 64 columns.
        unsafe {
            for q in 0..4 {
                cuda_std::unroll!(full);
                let word = |i: usize| packed.get(16 * of + 4 * q as usize + i);
                store_matrices(piece.piece(line, 2 * q + right), [word(0), word(1), word(2), word(3)]);
            }
        }
    }

    #[inline(always)]
    unsafe fn send_packed<W: Packed>(&mut self, packed: &W, of: usize, piece: StagedBox, row: u32, col: u32) {
        // SAFETY: the caller's promise.
        unsafe {
            self.write_packed(packed, of, piece);
            self.end(piece, [(col * 2) as i32, row as i32]);
        }
    }

    /// A piece that may be written once at most `READING` stores still read.
    #[inline(always)]
    unsafe fn free_piece<const READING: u32>(&self, index: usize) -> StagedBox {
        // SAFETY: the warp's own memory, two pieces; all lanes come here.
        unsafe {
            if lane_id() == 0 {
                wait_stores_read::<READING>();
            }
            sync_warp(u32::MAX);
            StagedBox::at(self.pieces.plus(index as u32 % 2 * OutputMap::BOX_BYTES))
        }
    }

    #[inline(always)]
    pub fn finish(self) {
        if lane_id() == 0 {
            wait_stores::<0>();
        }
    }

    /// 16-bit elements: pieces of 64 columns, each four times four matrices of 8 × 8.
    #[inline(always)]
    unsafe fn halves<T: Narrow, S: Sums<Sum = T::Sum>>(&mut self, sums: &S, row: u32, col: u32) {
        let lane = lane_here();
        // Matrices by lane / 8: upper left, lower left, upper right, lower right.
        let (line, right) = (lane % 16, lane / 16);
        for j in 0..S::COUNT / 32 {
            cuda_std::unroll!(full);
            // SAFETY: the caller's promise; a thread has 32 sums of 64 columns.
            unsafe {
                let at = [((col + j as u32 * 64) * 2) as i32, row as i32];
                // After an odd number of pieces, the same one comes twice.
                let again = j == 0 && (S::COUNT / 32) % 2 == 1;
                let piece = self.begin(j, at, again);
                for q in 0..4 {
                    cuda_std::unroll!(full);
                    let place = piece.piece(line, 2 * q + right);
                    let first = 32 * j + 8 * q as usize;
                    let mut four = [0; 4];
                    let mut values = [(sums.get(0), sums.get(0)); 4];
                    for i in 0..4 {
                        cuda_std::unroll!(full);
                        let sum = |which: usize| sums.get(first + 2 * i + which).scaled(self.p.alpha);
                        values[i] = (sum(0), sum(1));
                    }
                    if self.p.beta != 0.0 {
                        let before = load_matrices(place);
                        for i in 0..4 {
                            cuda_std::unroll!(full);
                            let (low, high) = T::unpack(before[i]);
                            values[i].0 = values[i].0.plus(self.p.beta, low);
                            values[i].1 = values[i].1.plus(self.p.beta, high);
                        }
                    }
                    for i in 0..4 {
                        cuda_std::unroll!(full);
                        four[i] = T::pack(values[i].0, values[i].1);
                    }
                    store_matrices(place, four);
                }
                self.end(piece, at);
            }
        }
    }

    /// 32-bit elements: pieces of 32 columns; a lane has two neighbours of each of two rows, four times.
    #[inline(always)]
    unsafe fn words<S: Sums<Sum: Sum>>(&mut self, sums: &S, row: u32, col: u32) {
        let lane = lane_here();
        let (line, pair) = (lane / 4, lane % 4);
        for j in 0..S::COUNT / 16 {
            cuda_std::unroll!(full);
            // SAFETY: the caller's promise; a thread has 16 sums of 32 columns.
            unsafe {
                let at = [((col + j as u32 * 32) * 4) as i32, row as i32];
                let piece = self.begin(j, at, false);
                for q in 0..4 {
                    cuda_std::unroll!(full);
                    for below in 0..2 {
                        cuda_std::unroll!(full);
                        let place = piece.piece(line + 8 * below, 2 * q + pair / 2).plus(pair % 2 * 8).bits();
                        let first = 16 * j + 4 * q as usize + 2 * below as usize;
                        let mut values = (sums.get(first), sums.get(first + 1));
                        values = (values.0.scaled(self.p.alpha), values.1.scaled(self.p.alpha));
                        if self.p.beta != 0.0 {
                            let (a, b): (u32, u32);
                            ptx!("ld.shared.v2.b32 {{{a}, {b}}}, [{place}];",
                                 a = out(u32) a, b = out(u32) b, place = in(u32) place);
                            values.0 = values.0.plus(self.p.beta, S::Sum::from_bits(a));
                            values.1 = values.1.plus(self.p.beta, S::Sum::from_bits(b));
                        }
                        ptx!("st.shared.v2.b32 [{place}], {{{a}, {b}}};",
                             a = in(u32) values.0.to_bits(), b = in(u32) values.1.to_bits(), place = in(u32) place);
                    }
                }
                self.end(piece, at);
            }
        }
    }

    /// A piece that may be written, the one before it too if it is the same `again`; it holds what C holds if that is needed.
    /// Each thread then reads only what it writes.
    #[inline(always)]
    unsafe fn begin(&mut self, index: usize, at: [i32; 2], again: bool) -> StagedBox {
        // SAFETY: the warp's own memory, two pieces; all lanes come here.
        unsafe {
            let piece = StagedBox::at(self.pieces.plus(index as u32 % 2 * OutputMap::BOX_BYTES));
            if lane_id() == 0 {
                if again {
                    wait_stores_read::<0>();
                } else {
                    wait_stores_read::<1>();
                }
                if self.p.beta != 0.0 {
                    self.loaded.arrive_expecting(OutputMap::BOX_BYTES);
                    self.map.load(piece, at, self.loaded);
                }
            }
            sync_warp(u32::MAX);
            if self.p.beta != 0.0 {
                self.loaded.wait(self.parity);
                self.parity ^= 1;
            }
            piece
        }
    }

    #[inline(always)]
    unsafe fn end(&mut self, piece: StagedBox, at: [i32; 2]) {
        fence_tensor_copies();
        // SAFETY: all lanes come here, each after its fence.
        unsafe {
            sync_warp(u32::MAX);
            if lane_id() == 0 {
                self.map.store(piece, at);
                commit_stores();
            }
        }
    }
}
