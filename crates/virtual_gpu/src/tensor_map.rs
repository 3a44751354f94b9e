//! Tensor maps: created by `cuTensorMapEncodeTiled`, read by `cp.async.bulk.tensor`.
//!
//! The 128 bytes of a `CUtensorMap` are opaque, and those of real drivers are not documented: the layout here is our
//! own, with a marker so that bytes that were never encoded are recognised.

use std::fmt;

/// Bytes of an encoded map.
pub const BYTES: usize = 128;

const MARK: [u8; 8] = *b"WSTMAP\0\x01";

macro_rules! numbered {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $value:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$variant_doc])* $variant = $value,)* }

        impl $name {
            /// From its number in the driver API.
            pub fn from_number(number: u32) -> Option<Self> {
                match number { $($value => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

numbered! {
    /// `CUtensorMapDataType`: type of an element.
    #[allow(missing_docs)]
    DataType {
        U8 = 0, U16 = 1, U32 = 2, S32 = 3, U64 = 4, S64 = 5, F16 = 6, F32 = 7, F64 = 8, Bf16 = 9, F32Ftz = 10,
        Tf32 = 11, Tf32Ftz = 12,
    }
}

impl DataType {
    /// Bytes of an element.
    pub fn size(self) -> u32 {
        use DataType::*;
        match self {
            U8 => 1,
            U16 | F16 | Bf16 => 2,
            U32 | S32 | F32 | F32Ftz | Tf32 | Tf32Ftz => 4,
            U64 | S64 | F64 => 8,
        }
    }

    fn is_float(self) -> bool {
        use DataType::*;
        matches!(self, F16 | F32 | F64 | Bf16 | F32Ftz | Tf32 | Tf32Ftz)
    }
}

numbered! {
    /// `CUtensorMapSwizzle`: how the 16-byte pieces of a box are permuted in shared memory.
    Swizzle {
        /// In order.
        None = 0,
        /// Within 32 bytes.
        B32 = 1,
        /// Within 64 bytes.
        B64 = 2,
        /// Within 128 bytes.
        B128 = 3,
    }
}

impl Swizzle {
    /// Bytes that one pattern spans along a row; `None` has no pattern.
    pub fn span(self) -> Option<u32> {
        match self {
            Self::None => None,
            Self::B32 => Some(32),
            Self::B64 => Some(64),
            Self::B128 => Some(128),
        }
    }

    /// Where a byte of shared memory goes: the number of its 16-byte piece within the span is XORed with that of its
    /// 128-byte line.
    pub fn place(self, address: u32) -> u32 {
        let pieces = self.span().map_or(0, |span| span / 16 - 1);
        address ^ ((address >> 3) & (pieces << 4))
    }
}

/// A map, with the driver API's names. Only the first `rank` entries are used; [`TensorMap::validate`] checks the
/// rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TensorMap {
    /// Type of an element.
    pub data_type: DataType,
    /// Number of dimensions, 1 to 5.
    pub rank: u32,
    /// Device address of the first element.
    pub address: u64,
    /// Elements of each dimension, the innermost first.
    pub dims: [u64; 5],
    /// Bytes from one index to the next, for dimensions 1 and up.
    pub strides: [u64; 4],
    /// Elements of a box along each dimension.
    pub box_dims: [u32; 5],
    /// Steps between the elements that are copied.
    pub element_strides: [u32; 5],
    /// Permutation in shared memory.
    pub swizzle: Swizzle,
    /// Elements outside the tensor are NaN instead of zero.
    pub nan_fill: bool,
    /// For maps of `cuTensorMapEncodeIm2col`, which copy pixels instead of boxes.
    pub im2col: Option<Im2col>,
}

/// The box to copy of a tensor whose innermost dimension is channels, whose outermost is images, and whose others are an
/// image's pixels: some consecutive pixels, in the order of a bounding box, and some channels of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Im2col {
    /// Where the bounding box starts, in the 1 to 3 pixel dimensions.
    pub lower: [i16; 3],
    /// Where it ends, counted from the last pixel.
    pub upper: [i16; 3],
    /// How many channels to copy.
    pub channels: u32,
    /// How many pixels to copy.
    pub pixels: u32,
}

/// An invalid map: `what` violates its rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Invalid {
    what: &'static str,
    rule: &'static str,
    value: u64,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}, it must be {}", self.what, self.value, self.rule)
    }
}

impl std::error::Error for Invalid {}

fn check(good: bool, what: &'static str, rule: &'static str, value: u64) -> Result<(), Invalid> {
    if good { Ok(()) } else { Err(Invalid { what, rule, value }) }
}

impl TensorMap {
    /// Checks the rules of `cuTensorMapEncodeTiled` (without interleaving).
    pub fn validate(&self) -> Result<(), Invalid> {
        let rank = self.rank as usize;
        let size = u64::from(self.data_type.size());
        check((1..=5).contains(&rank), "the rank", "1 to 5", self.rank.into())?;
        check(self.address.is_multiple_of(16), "the address", "a multiple of 16", self.address)?;
        for &length in &self.dims[..rank] {
            check((1..=1 << 32).contains(&length), "a dimension", "1 to 2^32", length)?;
        }
        for &stride in &self.strides[..rank - 1] {
            let good = stride.is_multiple_of(16) && stride < 1 << 40;
            check(good, "a stride", "a multiple of 16 below 2^40", stride)?;
        }
        if let Some(im2col) = &self.im2col {
            return self.validate_im2col(im2col);
        }
        for &length in &self.box_dims[..rank] {
            check((1..=256).contains(&length), "a box dimension", "1 to 256", length.into())?;
        }
        // The innermost dimension's is ignored.
        for &step in &self.element_strides[1..rank] {
            check((1..=8).contains(&step), "an element stride", "1 to 8", step.into())?;
        }
        self.validate_row(u64::from(self.box_dims[0]) * size)
    }

    /// The rules for what is contiguous in shared memory.
    fn validate_row(&self, inner: u64) -> Result<(), Invalid> {
        check(inner.is_multiple_of(16), "the box's innermost length in bytes", "a multiple of 16", inner)?;
        if let Some(span) = self.swizzle.span() {
            let rule = "at most the span of the swizzle";
            check(inner <= u64::from(span), "the box's innermost length in bytes", rule, inner)?;
        }
        let fill = !self.nan_fill || self.data_type.is_float();
        check(fill, "the fill", "zero unless the elements are floating-point numbers", 1)
    }

    /// The rules of `cuTensorMapEncodeIm2col`.
    fn validate_im2col(&self, im2col: &Im2col) -> Result<(), Invalid> {
        let rank = self.rank as usize;
        check((3..=5).contains(&rank), "the rank", "3 to 5", self.rank.into())?;
        let (least, most) = [(-32768, 32767), (-128, 127), (-16, 15)][rank - 3];
        for corner in im2col.lower[..rank - 2].iter().chain(&im2col.upper[..rank - 2]) {
            let rule = "within 16, 8 or 5 bits with a sign, for 3, 4 or 5 dimensions";
            check((least..=most).contains(corner), "a corner of the bounding box", rule, *corner as u64)?;
        }
        for &step in &self.element_strides[..rank] {
            check((1..=8).contains(&step), "an element stride", "1 to 8", step.into())?;
        }
        check(
            (1..=256).contains(&im2col.channels),
            "the number of channels",
            "1 to 256",
            im2col.channels.into(),
        )?;
        check(
            (1..=1024).contains(&im2col.pixels),
            "the number of pixels",
            "1 to 1024",
            im2col.pixels.into(),
        )?;
        self.validate_row(u64::from(im2col.channels) * u64::from(self.data_type.size()))
    }

    pub fn to_bytes(&self) -> [u8; BYTES] {
        let mut bytes = Vec::with_capacity(BYTES);
        bytes.extend(MARK);
        bytes.extend(self.address.to_le_bytes());
        bytes.extend([self.data_type as u8, self.rank as u8, self.swizzle as u8, self.nan_fill.into()]);
        for i in 0..5 {
            bytes.extend((self.dims[i].wrapping_sub(1) as u32).to_le_bytes());
            bytes.extend((self.box_dims[i].wrapping_sub(1) as u8).to_le_bytes());
            bytes.push(self.element_strides[i] as u8);
        }
        for stride in self.strides {
            bytes.extend(stride.to_le_bytes());
        }
        if let Some(Im2col { lower, upper, channels, pixels }) = self.im2col {
            bytes.push(1);
            lower.into_iter().chain(upper).for_each(|corner| bytes.extend(corner.to_le_bytes()));
            bytes.extend((channels as u16).to_le_bytes());
            bytes.extend((pixels as u16).to_le_bytes());
        }
        bytes.resize(BYTES, 0);
        let mut array = [0; BYTES];
        array.copy_from_slice(&bytes);
        array
    }

    /// Decodes the 128 bytes; `None` if they are not a map.
    pub fn from_bytes(bytes: &[u8; BYTES]) -> Option<Self> {
        Self::from_bytes_unchecked(bytes).filter(|map| map.validate().is_ok())
    }

    /// The same for a map that may still be inconsistent.
    pub(crate) fn from_bytes_unchecked(bytes: &[u8; BYTES]) -> Option<Self> {
        fn take<const N: usize>(bytes: &[u8; BYTES], at: &mut usize) -> [u8; N] {
            let taken = std::array::from_fn(|i| bytes[*at + i]);
            *at += N;
            taken
        }
        let mut at = 0;
        if take::<8>(bytes, &mut at) != MARK {
            return None;
        }
        let address = u64::from_le_bytes(take(bytes, &mut at));
        let [data_type, rank, swizzle, nan_fill] = take(bytes, &mut at);
        let mut map = Self {
            data_type: DataType::from_number(data_type.into())?,
            rank: rank.into(),
            address,
            dims: [1; 5],
            strides: [0; 4],
            box_dims: [1; 5],
            element_strides: [1; 5],
            swizzle: Swizzle::from_number(swizzle.into())?,
            nan_fill: nan_fill != 0,
            im2col: None,
        };
        for i in 0..5 {
            map.dims[i] = u64::from(u32::from_le_bytes(take(bytes, &mut at))) + 1;
            let [box_dim, step] = take(bytes, &mut at);
            map.box_dims[i] = u32::from(box_dim) + 1;
            map.element_strides[i] = step.into();
        }
        for stride in &mut map.strides {
            *stride = u64::from_le_bytes(take(bytes, &mut at));
        }
        if take::<1>(bytes, &mut at) != [0] {
            let mut corner = || i16::from_le_bytes(take(bytes, &mut at));
            let lower = std::array::from_fn(|_| corner());
            let upper = std::array::from_fn(|_| corner());
            let mut count = || u32::from(u16::from_le_bytes(take(bytes, &mut at)));
            map.im2col = Some(Im2col { lower, upper, channels: count(), pixels: count() });
        }
        Some(map)
    }

    /// How many elements a box has along dimension `i`.
    fn taken(&self, i: usize) -> u32 {
        if i == 0 { self.box_dims[0] } else { self.box_dims[i].div_ceil(self.element_strides[i]) }
    }

    /// Bytes of a box: what a copy writes, and what its barrier counts. `u32::MAX` for a box too large for any memory.
    pub fn box_bytes(&self) -> u32 {
        if let Some(im2col) = &self.im2col {
            return self.row_bytes().saturating_mul(im2col.pixels);
        }
        (1..self.rank as usize).fold(self.row_bytes(), |bytes, i| bytes.saturating_mul(self.taken(i)))
    }

    /// Bytes of a box along its innermost dimension.
    pub fn row_bytes(&self) -> u32 {
        self.im2col.map_or(self.box_dims[0], |im2col| im2col.channels) * self.data_type.size()
    }

    /// The rows of the box at `coordinates`, in their order in shared memory.
    pub fn rows(&self, coordinates: [i32; 5]) -> impl Iterator<Item = BoxRow> + '_ {
        let size = i64::from(self.data_type.size());
        let first = i64::from(coordinates[0]);
        let start = first.clamp(0, self.dims[0] as i64);
        let end = (first + i64::from(self.box_dims[0])).clamp(start, self.dims[0] as i64);
        let count = self.box_bytes() / self.row_bytes();
        (0..count).map(move |row| {
            let mut rest = row;
            let mut offset = start * size;
            let mut inside = start < end;
            for i in 1..self.rank as usize {
                let step = rest % self.taken(i);
                rest /= self.taken(i);
                let index = i64::from(coordinates[i]) + i64::from(step * self.element_strides[i]);
                inside &= (0..self.dims[i] as i64).contains(&index);
                offset = offset.wrapping_add(index.wrapping_mul(self.strides[i - 1] as i64));
            }
            BoxRow {
                shared: row * self.row_bytes(),
                global: self.address.wrapping_add(offset as u64),
                skip: ((start - first) * size) as u32,
                bytes: if inside { ((end - start) * size) as u32 } else { 0 },
            }
        })
    }

    /// The bounding box in which copies of pixels start, for each pixel dimension: first and last.
    pub fn bounds(&self, im2col: &Im2col) -> impl Iterator<Item = (i64, i64)> + '_ {
        let corners = im2col.lower.into_iter().zip(im2col.upper);
        let pixels = (self.rank as usize).saturating_sub(2).min(3);
        self.dims[1..]
            .iter()
            .zip(corners)
            .take(pixels)
            .map(|(&length, (lower, upper))| (i64::from(lower), length as i64 - 1 + i64::from(upper)))
    }

    /// The channels of the pixels from `coordinates` on, in their order in shared memory. Each pixel is `offsets`
    /// beyond the one that the walk through the bounding box reaches.
    pub fn pixels(&self, im2col: Im2col, coordinates: [i32; 5], offsets: [u16; 3]) -> Vec<BoxRow> {
        let rank = self.rank as usize;
        let size = i64::from(self.data_type.size());
        let first = i64::from(coordinates[0]);
        let start = first.clamp(0, self.dims[0] as i64);
        let end = (first + i64::from(im2col.channels)).clamp(start, self.dims[0] as i64);
        let bounds: Vec<_> = self.bounds(&im2col).collect();
        let mut at: [i64; 5] = std::array::from_fn(|i| coordinates[i].into());
        let mut rows = Vec::with_capacity(im2col.pixels as usize);
        for pixel in 0..im2col.pixels {
            let mut inside = start < end;
            let mut offset = start * size;
            for i in 1..rank {
                let index = at[i] + offsets.get(i - 1).filter(|_| i + 1 < rank).map_or(0, |&o| i64::from(o));
                inside &= (0..self.dims[i] as i64).contains(&index);
                offset = offset.wrapping_add(index.wrapping_mul(self.strides[i - 1] as i64));
            }
            rows.push(BoxRow {
                shared: pixel * self.row_bytes(),
                global: self.address.wrapping_add(offset as u64),
                skip: ((start - first) * size) as u32,
                bytes: if inside { ((end - start) * size) as u32 } else { 0 },
            });
            // The next pixel: along the row, then the next row, slice, image.
            for (i, &(lower, upper)) in bounds.iter().enumerate() {
                at[i + 1] += i64::from(self.element_strides[i + 1]);
                if at[i + 1] <= upper {
                    break;
                }
                at[i + 1] = lower;
                if i + 1 == bounds.len() {
                    at[rank - 1] += 1;
                }
            }
        }
        rows
    }

    /// A box that is all outside the tensor.
    pub fn filled(&self) -> Vec<u8> {
        let mut data = vec![0; self.box_bytes() as usize];
        if self.nan_fill {
            // 0x7fff… : all bits but the sign.
            data.fill(0xFF);
            let size = self.data_type.size() as usize;
            data.iter_mut().skip(size - 1).step_by(size).for_each(|last| *last = 0x7F);
        }
        data
    }
}

/// A row of a box, and which part of it is in the tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoxRow {
    /// The row's offset in the box, before swizzling.
    pub shared: u32,
    /// Address of the first byte inside the tensor.
    pub global: u64,
    /// How many bytes of the row come before it.
    pub skip: u32,
    /// How many bytes are inside the tensor; 0 if the row is outside.
    pub bytes: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 5 rows of 40 `f16`, rows 96 bytes apart; boxes of 2 rows of 16.
    fn map() -> TensorMap {
        TensorMap {
            data_type: DataType::F16,
            rank: 2,
            address: 0x1000,
            dims: [40, 5, 1, 1, 1],
            strides: [96, 0, 0, 0],
            box_dims: [16, 2, 1, 1, 1],
            element_strides: [1; 5],
            swizzle: Swizzle::B32,
            nan_fill: false,
            im2col: None,
        }
    }

    /// The pixels of a 3×3 filter's middle column over a 4×3 image with a border of one: by hand.
    #[test]
    fn pixels_walk_through_the_bounding_box() {
        let im2col = Im2col { lower: [-1, -1, 0], upper: [-1, -1, 0], channels: 4, pixels: 6 };
        let map = TensorMap {
            data_type: DataType::F32,
            rank: 4,
            address: 0x1000,
            dims: [8, 4, 3, 2, 1],
            strides: [32, 128, 384, 0],
            swizzle: Swizzle::None,
            im2col: Some(im2col),
            ..map()
        };
        assert_eq!(map.validate(), Ok(()));
        assert_eq!(TensorMap::from_bytes(&map.to_bytes()), Some(map));
        assert_eq!((map.row_bytes(), map.box_bytes()), (16, 96));
        // The box goes from -1 to 2 in a row and from -1 to 1 in a column.
        assert_eq!(map.bounds(&im2col).collect::<Vec<_>>(), [(-1, 2), (-1, 1)]);
        let rows = map.pixels(im2col, [4, 1, 0, 1, 0], [1, 0, 0]);
        let place = |w: i64, h: i64, n: i64| 0x1000 + 16 + 32 * w + 128 * h + 384 * n;
        let expected = [(2, 0, 1), (3, 0, 1), (0, 1, 1), (1, 1, 1), (2, 1, 1), (3, 1, 1)];
        for (row, (w, h, n)) in rows.iter().zip(expected) {
            assert_eq!((row.global, row.bytes), (place(w, h, n) as u64, 16), "{w} {h} {n}");
        }
        // Above the image and after the last one there is nothing.
        let rows = map.pixels(im2col, [0, 1, -1, 1, 0], [0, 0, 0]);
        assert_eq!(rows.iter().map(|row| row.bytes).collect::<Vec<_>>(), [0, 0, 0, 16, 16, 16]);
        let rows = map.pixels(im2col, [0, 1, 1, 1, 0], [0, 0, 0]);
        assert_eq!(rows.iter().map(|row| row.bytes).collect::<Vec<_>>(), [16, 16, 0, 0, 0, 0]);
        assert!(TensorMap { rank: 2, ..map }.validate().is_err());
    }

    #[test]
    fn bytes_and_back() {
        let mut map = map();
        map.dims = [1 << 32, 3, 1, 7, 5];
        map.box_dims = [16, 256, 1, 2, 5];
        map.rank = 5;
        map.strides = [16, 32, (1 << 40) - 16, 48];
        map.nan_fill = true;
        assert_eq!(TensorMap::from_bytes(&map.to_bytes()), Some(map));
        assert_eq!(TensorMap::from_bytes(&[0; BYTES]), None);
    }

    #[test]
    fn rules() {
        assert_eq!(map().validate(), Ok(()));
        let broken: [fn(&mut TensorMap); 10] = [
            |m| m.rank = 0,
            |m| m.rank = 6,
            |m| m.address = 8,
            |m| m.dims[1] = 0,
            |m| m.strides[0] = 24,
            |m| m.box_dims[1] = 257,
            |m| m.box_dims[0] = 12,
            |m| m.box_dims[0] = 32,
            |m| m.element_strides[1] = 9,
            |m| {
                m.data_type = DataType::U16;
                m.nan_fill = true;
            },
        ];
        for (index, breaks) in broken.iter().enumerate() {
            let mut map = map();
            breaks(&mut map);
            assert!(map.validate().is_err(), "{index}");
        }
    }

    #[test]
    fn rows_inside_and_outside() {
        let map = map();
        assert_eq!(map.box_bytes(), 64);
        let rows = |x, y| map.rows([x, y, 0, 0, 0]).collect::<Vec<_>>();
        let row = |shared, global, skip, bytes| BoxRow { shared, global, skip, bytes };
        assert_eq!(rows(8, 1), [row(0, 0x1000 + 16 + 96, 0, 32), row(32, 0x1000 + 16 + 192, 0, 32)]);
        // Four elements before the tensor, one row above it.
        assert_eq!(rows(-4, -1)[0].bytes, 0);
        assert_eq!(rows(-4, -1)[1], row(32, 0x1000, 8, 24));
        // Beyond the right and lower edge.
        assert_eq!(rows(32, 4)[0], row(0, 0x1000 + 64 + 384, 0, 16));
        assert_eq!(rows(32, 4)[1].bytes, 0);
        assert!(rows(40, 0).iter().all(|row| row.bytes == 0));
        assert!(rows(i32::MAX, i32::MIN).iter().all(|row| row.bytes == 0));
    }

    #[test]
    fn a_box_beyond_all_memory_has_a_size() {
        let map = TensorMap { rank: 5, box_dims: [16, 256, 256, 256, 256], strides: [96; 4], ..map() };
        assert_eq!(map.validate(), Ok(()));
        assert_eq!(map.box_bytes(), u32::MAX);
    }

    #[test]
    fn steps_between_elements() {
        let map = TensorMap { box_dims: [16, 4, 1, 1, 1], element_strides: [1, 2, 1, 1, 1], ..map() };
        assert_eq!(map.box_bytes(), 64);
        let rows: Vec<_> = map.rows([0, 1, 0, 0, 0]).map(|row| (row.global - 0x1000) / 96).collect();
        assert_eq!(rows, [1, 3]);
    }

    /// The pattern in the programming guide's pictures: in each 128-byte line, the piece's number is combined with the
    /// line's number modulo the pieces of the span.
    #[test]
    fn swizzles() {
        for address in (0..2048).step_by(16) {
            let (line, piece) = (address / 128, address / 16 % 8);
            assert_eq!(Swizzle::B128.place(address), line * 128 + (piece ^ (line % 8)) * 16);
            assert_eq!(Swizzle::B64.place(address), line * 128 + (piece ^ (line % 4)) * 16);
            assert_eq!(Swizzle::B32.place(address), line * 128 + (piece ^ (line % 2)) * 16);
            assert_eq!(Swizzle::None.place(address), address);
        }
        assert_eq!(Swizzle::B128.place(0x87), 0x97);
    }

    #[test]
    fn fills() {
        let map = TensorMap { nan_fill: true, ..map() };
        assert_eq!(map.filled(), [0xFF, 0x7F].repeat(32));
    }
}
