//! Fundamental types and state spaces.

use std::fmt;

macro_rules! spelled {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$variant_doc])* $variant,)* }

        impl $name {
            /// The word in PTX, without the dot.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// The variant for this word of PTX, given without the dot.
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($text => Some(Self::$variant),)* _ => None }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, ".{}", self.as_str())
            }
        }
    };
}

spelled! {
    /// A fundamental type, as it appears in declarations and instruction modifiers.
    #[allow(missing_docs)]
    ScalarType {
        U8 = "u8", U16 = "u16", U32 = "u32", U64 = "u64",
        S8 = "s8", S16 = "s16", S32 = "s32", S64 = "s64",
        B8 = "b8", B16 = "b16", B32 = "b32", B64 = "b64", B128 = "b128",
        F16 = "f16", F32 = "f32", F64 = "f64",
        Bf16 = "bf16", Tf32 = "tf32",
        F16x2 = "f16x2", Bf16x2 = "bf16x2", F32x2 = "f32x2",
        U16x2 = "u16x2", S16x2 = "s16x2",
        Pred = "pred",
        TexRef = "texref", SamplerRef = "samplerref", SurfRef = "surfref",
    }
}

impl ScalarType {
    /// Size in memory. A predicate counts as one byte, an opaque reference as its 64-bit handle.
    pub fn size(self) -> u64 {
        use ScalarType::*;
        match self {
            U8 | S8 | B8 | Pred => 1,
            U16 | S16 | B16 | F16 | Bf16 => 2,
            U32 | S32 | B32 | F32 | Tf32 | F16x2 | Bf16x2 | U16x2 | S16x2 => 4,
            U64 | S64 | B64 | F64 | F32x2 | TexRef | SamplerRef | SurfRef => 8,
            B128 => 16,
        }
    }

    /// True for `s8` to `s64` and `s16x2`.
    pub fn is_signed(self) -> bool {
        use ScalarType::*;
        matches!(self, S8 | S16 | S32 | S64 | S16x2)
    }

    /// True for all floating-point types, including packed ones.
    pub fn is_float(self) -> bool {
        use ScalarType::*;
        matches!(self, F16 | F32 | F64 | Bf16 | Tf32 | F16x2 | Bf16x2 | F32x2)
    }
}

spelled! {
    /// A state space.
    Space {
        Reg = "reg",
        /// A predefined special register.
        SReg = "sreg",
        Const = "const",
        Global = "global",
        Local = "local",
        /// Kernel parameters, or a device function's arguments and results.
        Param = "param",
        Shared = "shared",
        /// Textures in global memory; kept for old modules.
        Tex = "tex",
    }
}

spelled! {
    /// The visibility of a symbol.
    Linkage {
        /// Defined in another module.
        Extern = "extern",
        /// Defined here, visible to others.
        Visible = "visible",
        /// Defined here unless another module defines it too.
        Weak = "weak",
        /// Like `.weak`, for variables: the largest definition wins.
        Common = "common",
    }
}
