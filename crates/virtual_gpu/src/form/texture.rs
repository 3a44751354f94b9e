//! Textures and surfaces.

use super::access::AddressOperand;
use super::registers::Slot;

/// How an instruction addresses an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// Number of coordinates apart from the layer: 1 to 3.
    pub dimensions: u32,
    /// The first operand is a layer.
    pub layered: bool,
    pub cube: bool,
}

/// Where a fetch gets its level from.
#[derive(Debug)]
pub(crate) enum Level {
    /// The image itself.
    Base,
    Given(Slot),
    /// The same, as an integer.
    GivenWhole(Slot),
    /// How much the coordinates change from one lane to its neighbours: along x, then along y.
    Gradients(Box<[Slot]>, Box<[Slot]>),
}

/// The content of a result register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Result4 {
    /// 32 bits each.
    Words,
    /// A binary16 each.
    Halves,
    /// Two registers with two binary16 each.
    HalfPairs,
}

/// `tex`, `tld4`
#[derive(Debug)]
pub(crate) struct TextureFetch {
    pub handle: AddressOperand,
    pub geometry: Geometry,
    /// Coordinates are integers.
    pub integer: bool,
    pub layer: Slot,
    pub coordinates: Box<[Slot]>,
    /// Offset from the coordinates to the element that is read, by dimension; empty if there is none.
    pub offsets: Box<[Slot]>,
    pub level: Level,
    pub gather: Option<usize>,
    pub targets: Box<[Slot]>,
    pub result: Result4,
    /// Receives whether the data was resident, which it always is.
    pub resident: Slot,
}

/// A query of `txq` or `suq`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Question {
    Width,
    Height,
    Depth,
    /// `CL_UNORM_INT8` and so on, as OpenCL numbers them.
    DataType,
    /// `CL_R` and so on.
    Order,
    Normalized,
    ArraySize,
    Levels,
    Samples,
    /// Whether a surface's layout is linear.
    Layout,
}

/// A test of `istypep`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opaque {
    Texture,
    Surface,
    /// Never true: image and sampler share a handle.
    Sampler,
}

/// `istypep`
#[derive(Debug)]
pub(crate) struct IsType {
    pub handle: Slot,
    pub kind: Opaque,
    pub target: Slot,
}

/// `txq`, `suq`
#[derive(Debug)]
pub(crate) struct Query {
    pub handle: AddressOperand,
    pub surface: bool,
    pub question: Question,
    pub level: Slot,
    pub target: Slot,
}

/// The effect of an access outside a surface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outside {
    /// Ends the launch.
    Trap,
    /// Goes to the nearest element.
    Clamp,
    /// Reads zero; writes nothing.
    Zero,
}

/// An access to a surface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SurfaceAction {
    Load,
    Store,
    /// Stores channels of 32 bits, converted to the surface's format.
    StoreFormatted,
    Reduce(SurfaceReduction),
}

/// The operation of `sured`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SurfaceReduction {
    Add,
    MinUnsigned,
    MaxUnsigned,
    MinSigned,
    MaxSigned,
    And,
    Or,
}

/// `suld`, `sust`, `sured`
#[derive(Debug)]
pub(crate) struct SurfaceAccess {
    pub handle: AddressOperand,
    pub layer: Slot,
    pub coordinates: Box<[Slot]>,
    pub action: SurfaceAction,
    pub outside: Outside,
    /// Bytes of each register's value: 1, 2, 4, 8.
    pub width: u32,
    /// x counts elements, not bytes.
    pub by_element: bool,
    pub data: Box<[Slot]>,
}
