//! A kernel as the host knows it: its name, its parameters, and its launch limits.

/// A kernel, as `#[kernel]` describes it to the host. The type has the name of the kernel function.
///
/// ```
/// use cuda_std::{Kernel, kernel};
///
/// #[kernel]
/// pub unsafe fn saxpy(a: f32, x: &[f32], y: *mut f32) {}
///
/// assert_eq!(<saxpy as Kernel>::NAME, "saxpy");
/// let sizes: Vec<_> = <saxpy as Kernel>::ptx_params().map(|p| p.size).collect();
/// assert_eq!(sizes, [4, 8, 8, 8]); // a slice is a pointer and a length
/// ```
///
/// ```compile_fail,E0200
/// struct Other;
/// impl cuda_std::Kernel for Other { // launches trust it, hence `unsafe impl`
///     type Signature = fn(u64);
///     const NAME: &'static str = "saxpy";
///     const PARAMS: &'static [cuda_std::ParamLayout] = &[];
///     const LAUNCH_BOUNDS: cuda_std::LaunchBounds =
///         cuda_std::LaunchBounds { max_threads: None, min_blocks: None, max_registers: None, block_dim: None, cluster_dim: None };
///     const FILE: &'static str = "";
///     const LINE: u32 = 0;
/// }
/// ```
///
/// # Safety
/// Launches rely on it: signature, parameters and bounds must be those of the entry of that name.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a kernel",
    label = "neither a kernel nor an instance that one lists",
    note = "of a generic kernel the instances are kernels that its attribute lists, as in `#[kernel(T = [f32, f64])]`: extend that line"
)]
pub unsafe trait Kernel {
    /// A function pointer that takes the parameters: `fn(f32, &'static [f32], *mut f32)`. References and named lifetimes
    /// are `'static`; those that the source leaves out, as in `&Scene` for a `Scene<'a>`, may be any, which is why it is
    /// not a tuple.
    type Signature: Copy;
    /// The name of the PTX entry.
    const NAME: &'static str;
    /// The parameters as written in Rust, in order.
    const PARAMS: &'static [ParamLayout];
    /// The values of `#[launch_bounds]`, `#[block_dim]` and `#[cluster_dim]`.
    const LAUNCH_BOUNDS: LaunchBounds;
    /// The kernel's source file.
    const FILE: &'static str;
    /// The line of the kernel's name.
    const LINE: u32;
    /// The PTX that has the kernel, if the program embeds it by itself: that of a module marked `#[warpsmith::device]`.
    const EMBEDDED: Option<&'static EmbeddedPtx> = None;

    /// The parameters of the PTX entry, in order: two for a slice, none for a zero-sized type.
    fn ptx_params() -> impl Iterator<Item = PtxParam> {
        Self::PARAMS.iter().flat_map(ParamLayout::ptx)
    }
}

/// The PTX of a crate's device modules, one text for each feature level, lowest first.
#[derive(Debug)]
pub struct EmbeddedPtx(pub &'static [&'static str]);

/// A [`Kernel`]'s description as a value, so that kernels of different types fit in one list.
///
/// ```
/// use cuda_std::{Description, kernel};
///
/// #[kernel]
/// pub unsafe fn saxpy(a: f32, x: &[f32], y: *mut f32) {}
/// #[kernel]
/// pub unsafe fn sscal(a: f32, x: *mut f32) {}
///
/// const KERNELS: &[Description] = &[Description::of::<saxpy>(), Description::of::<sscal>()];
/// assert_eq!(KERNELS[1].to_string(), "sscal(a: f32, x: *mut f32)");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Description {
    /// The name of the entry in the PTX.
    pub name: &'static str,
    /// The parameters as written in Rust, in order.
    pub params: &'static [ParamLayout],
    /// The limits of its launches.
    pub bounds: LaunchBounds,
    /// Its source file, as passed to the compiler.
    pub file: &'static str,
    /// The line of its name.
    pub line: u32,
}

impl Description {
    /// The description of a kernel.
    pub const fn of<K: Kernel>() -> Self {
        Self { name: K::NAME, params: K::PARAMS, bounds: K::LAUNCH_BOUNDS, file: K::FILE, line: K::LINE }
    }
}

/// The signature in Rust, without `fn`.
impl core::fmt::Display for Description {
    fn fmt(&self, f: &mut core::fmt::Formatter) -> core::fmt::Result {
        write!(f, "{}(", self.name)?;
        for (i, param) in self.params.iter().enumerate() {
            // A parameter that travels in two parts is one parameter here.
            if i > 0 && self.params[i - 1].name == param.name {
                continue;
            }
            write!(f, "{}{}: {}", if i == 0 { "" } else { ", " }, param.name, param.rust_type)?;
        }
        write!(f, ")")
    }
}

/// The parameters of a [`Kernel::Signature`] as a tuple, `P`.
///
/// A function that takes `K: Kernel` reaches them with `where K::Signature: Takes<P>`.
pub trait Takes<P> {}

macro_rules! takes {
    ($($parameter:ident)*) => {
        impl<F: Fn($($parameter),*), $($parameter),*> Takes<($($parameter,)*)> for F {}
        takes!(@shorter $($parameter)*);
    };
    (@shorter) => {};
    (@shorter $first:ident $($rest:ident)*) => { takes!($($rest)*); };
}
takes!(A B C D E G H I J K L M N O P Q R S T U V W X Y Z A2 B2 C2 D2 E2 G2 H2);

/// One parameter of a kernel as written in Rust.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParamLayout {
    /// Its name.
    pub name: &'static str,
    /// Its type, as text.
    pub rust_type: &'static str,
    /// How it is passed.
    pub kind: ParamKind,
    /// `size_of` the type on the device.
    pub size: usize,
    /// `align_of` the type on the device.
    pub align: usize,
}

impl ParamLayout {
    /// The PTX parameters that carry this one.
    pub fn ptx(&self) -> impl Iterator<Item = PtxParam> + use<> {
        let Self { name, kind, size, align, .. } = *self;
        let (count, size) = match kind {
            ParamKind::Slice => (2, 8),
            _ if size == 0 => (0, 0),
            _ => (1, size),
        };
        (0..count).map(move |part| PtxParam { name, part, size, align })
    }
}

/// One parameter of a PTX entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PtxParam {
    /// The Rust parameter it carries.
    pub name: &'static str,
    /// 0, or 1 for the length of a slice.
    pub part: usize,
    /// Its size in bytes.
    pub size: usize,
    /// Its alignment in bytes.
    pub align: usize,
}

/// How a parameter is passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParamKind {
    /// The bytes of a struct, enum, union, array or tuple passed by value.
    Bytes,
    /// A number, `bool` or `char`.
    Scalar,
    /// A pointer or reference.
    Pointer,
    /// A pointer and a length.
    Slice,
}

/// A kernel's launch limits. All are absent unless the kernel declares them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LaunchBounds {
    /// The maximum number of threads per block.
    pub max_threads: Option<u32>,
    /// How many blocks should fit on a multiprocessor at once.
    pub min_blocks: Option<u32>,
    /// The maximum number of registers per thread.
    pub max_registers: Option<u32>,
    /// The exact shape of a block.
    pub block_dim: Option<[u32; 3]>,
    /// The exact shape of a cluster, in blocks.
    pub cluster_dim: Option<[u32; 3]>,
}
