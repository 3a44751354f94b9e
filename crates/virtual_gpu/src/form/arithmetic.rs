//! Arithmetic by name: which operation, on which types and registers.

use super::qualifiers::Qualifiers;
use super::registers::Slot;

/// An arithmetic operation: the same in every lane, registers only. This describes it completely; `evaluate` finds the
/// function that computes it.
#[derive(Debug)]
pub struct Arithmetic {
    pub opcode: Opcode,
    pub qualifiers: Qualifiers,
    /// The registers it writes, in the order of the text.
    pub targets: Box<[Slot]>,
    /// The registers it reads, in the order of the text; constants are in registers too.
    pub sources: Box<[Slot]>,
}

macro_rules! opcodes {
    ($($opcode:ident $name:literal)*) => {
        /// The first word of an arithmetic instruction.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Opcode {
            $($opcode,)*
        }

        impl Opcode {
            /// The opcode with this name, if it is arithmetic.
            pub fn of(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Opcode::$opcode),)*
                    _ => None,
                }
            }

            /// As PTX writes it.
            pub fn name(self) -> &'static str {
                match self {
                    $(Opcode::$opcode => $name,)*
                }
            }
        }
    };
}

opcodes! {
    Abs "abs"
    Add "add"
    AddCarry "addc"
    And "and"
    BitFieldExtract "bfe"
    BitFieldInsert "bfi"
    BitFind "bfind"
    BitMask "bmsk"
    BitReverse "brev"
    CountLeadingZeros "clz"
    ConditionalNot "cnot"
    CopySign "copysign"
    Cosine "cos"
    CreatePolicy "createpolicy"
    Convert "cvt"
    ConvertAddress "cvta"
    Div "div"
    DotProduct2 "dp2a"
    DotProduct4 "dp4a"
    Exp2 "ex2"
    FusedMultiplyAdd "fma"
    FindNthSet "fns"
    GetCtaRank "getctarank"
    IsSpace "isspacep"
    Log2 "lg2"
    LogicOf3 "lop3"
    MultiplyAdd "mad"
    MultiplyAdd24 "mad24"
    MultiplyAddCarry "madc"
    MapToCta "mapa"
    Max "max"
    Min "min"
    Move "mov"
    Mul "mul"
    Mul24 "mul24"
    Neg "neg"
    Not "not"
    Or "or"
    PopulationCount "popc"
    Permute "prmt"
    Reciprocal "rcp"
    Rem "rem"
    ReciprocalRoot "rsqrt"
    SumOfDifferences "sad"
    Select "selp"
    Set "set"
    SetPredicate "setp"
    FunnelShift "shf"
    ShiftLeft "shl"
    ShiftRight "shr"
    Sine "sin"
    SelectBySign "slct"
    Root "sqrt"
    Sub "sub"
    SubCarry "subc"
    SignExtend "szext"
    Tanh "tanh"
    TestProperty "testp"
    VideoAbsDiff "vabsdiff"
    VideoAbsDiff2 "vabsdiff2"
    VideoAbsDiff4 "vabsdiff4"
    VideoAdd "vadd"
    VideoAdd2 "vadd2"
    VideoAdd4 "vadd4"
    VideoAverage2 "vavrg2"
    VideoAverage4 "vavrg4"
    VideoMultiplyAdd "vmad"
    VideoMax "vmax"
    VideoMax2 "vmax2"
    VideoMax4 "vmax4"
    VideoMin "vmin"
    VideoMin2 "vmin2"
    VideoMin4 "vmin4"
    VideoSet "vset"
    VideoSet2 "vset2"
    VideoSet4 "vset4"
    VideoShiftLeft "vshl"
    VideoShiftRight "vshr"
    VideoSub "vsub"
    VideoSub2 "vsub2"
    VideoSub4 "vsub4"
    Xor "xor"
}
