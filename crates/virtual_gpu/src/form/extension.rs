//! Instructions that are neither per lane nor operations of their own: asynchronous copies, `mbarrier`, matrix
//! operations, textures.

use super::asynchronous::{
    ArriveOn, BarrierCluster, BulkGroup, CommitGroup, CopyAsync, Linear, PendingCount, Publish, Replace,
    StoreAsync, TensorLoad, TensorStore, Test, Update, WaitGroups,
};
use super::matrix::{
    FragmentAccess, FragmentMultiply, GroupMultiply, MatrixAccess, SparseMultiply, Together, Transpose,
    WarpMultiply,
};
use super::registers::Slot;
use super::texture::{IsType, Query, SurfaceAccess, TextureFetch};

/// Defines the enum of all of them, and `each_extension!`, which does the same thing with any of them.
macro_rules! extensions {
    ($($name:ident),* $(,)?) => {
        /// An instruction of a special kind.
        #[derive(Debug)]
        pub(crate) enum Extension {
            $($name($name),)*
        }

        $(impl From<$name> for Extension {
            fn from(made: $name) -> Self {
                Extension::$name(made)
            }
        })*

        /// `each_extension!(extension, one => expression)`
        macro_rules! each_extension {
            ($extension:expr, $one:ident => $does:expr) => {
                match $extension {
                    $($crate::form::extension::Extension::$name($one) => $does,)*
                }
            };
        }
        pub(crate) use each_extension;
    };
}

extensions! {
    Stack,
    CopyAsync,
    CommitGroup,
    WaitGroups,
    ArriveOn,
    Update,
    Test,
    PendingCount,
    Linear,
    BulkGroup,
    StoreAsync,
    TensorLoad,
    TensorStore,
    Replace,
    Publish,
    BarrierCluster,
    WarpMultiply,
    SparseMultiply,
    FragmentMultiply,
    GroupMultiply,
    Together,
    MatrixAccess,
    Transpose,
    FragmentAccess,
    TextureFetch,
    IsType,
    Query,
    SurfaceAccess,
}

/// Local memory that a function allocates while it runs.
#[derive(Debug)]
pub(crate) enum Stack {
    /// `alloca`: the address goes to `target`.
    Take { target: Slot, bytes: Slot, align: u32, wide: bool },
    /// `stacksave`
    Save { target: Slot, wide: bool },
    /// `stackrestore`
    Restore { source: Slot, wide: bool },
}

/// Which lanes an instruction needs to go on with the next one, whatever other warps do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    AnyLanes,
    WholeWarp,
}

impl Extension {
    /// `None` if it may have to wait for others.
    pub fn needs(&self) -> Option<Needs> {
        use Extension::*;
        match self {
            CopyAsync(_) | CommitGroup(_) | WaitGroups(_) | ArriveOn(_) | Update(_) | PendingCount(_)
            | Linear(_) | BulkGroup(_) | StoreAsync(_) | TensorLoad(_) | TensorStore(_) => {
                Some(Needs::AnyLanes)
            }
            WarpMultiply(_) | SparseMultiply(_) | FragmentMultiply(_) | GroupMultiply(_)
            | MatrixAccess(_) | Transpose(_) | FragmentAccess(_) => Some(Needs::WholeWarp),
            _ => None,
        }
    }
}
