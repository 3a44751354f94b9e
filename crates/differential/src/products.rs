//! Instructions of tensor cores on random operands: hashes of their results, by blocks.
//!
//! A round is two products: the second has A's signs changed and adds to the first, so that nearly everything cancels.

use std::fmt::Write;

use crate::Device;
use crate::complete::Chunks;

/// The blocks whose results are recorded.
pub const BLOCKS: u32 = 320;

/// The distance of the two blocks in a recording.
pub const SAMPLE: u32 = 160;

/// An instruction's family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Mma,
    MmaSparse,
    Wmma,
    Wgmma,
    WgmmaSparse,
}
use Family::{Mma, MmaSparse, Wgmma, WgmmaSparse, Wmma};

/// An element type of a matrix: its bits, and the words drawn for it as `drawn & mask | base`, of a plain round and of any bits.
struct Element {
    name: &'static str,
    bits: usize,
    mask: u32,
    base: u32,
    any: u32,
    sign: u32,
}

const ELEMENTS: [Element; 9] = {
    const fn element(name: &'static str, bits: usize, words: [u32; 4]) -> Element {
        let [mask, base, any, sign] = words;
        Element { name, bits, mask, base, any, sign }
    }
    [
        element("f16", 16, [0xBFFF_BFFF, 0x2000_2000, !0, 0x8000_8000]),
        element("bf16", 16, [0x87FF_87FF, 0x3C00_3C00, !0, 0x8000_8000]),
        element("tf32", 32, [0x87FF_E000, 0x3C00_0000, 0xFFFF_E000, 0x8000_0000]),
        element("e4m3", 8, [0xBFBF_BFBF, 0x1010_1010, !0, 0x8080_8080]),
        element("e5m2", 8, [0xBFBF_BFBF, 0x2020_2020, !0, 0x8080_8080]),
        element("f32", 32, [0x83FF_FFFF, 0x3E00_0000, !0, 0x8000_0000]),
        element("s8", 8, [!0, 0, !0, !0]),
        element("u8", 8, [!0, 0, !0, !0]),
        element("s32", 32, [!0, 0, !0, !0]),
    ]
};

fn element(name: &str) -> &'static Element {
    ELEMENTS.iter().find(|element| element.name == name).expect("the table has the type")
}

/// An instruction: family, extents, and types of the sums and of A and B.
#[derive(Clone, Copy)]
pub struct Instruction {
    family: Family,
    extents: (usize, usize, usize),
    sums: &'static str,
    input: &'static str,
}

/// The numbers of which operands are drawn.
#[derive(Clone, Copy)]
pub enum Operands {
    /// Those of sixteen neighbouring exponents.
    Near,
    /// All, with infinities, NaNs and subnormals.
    All,
}

impl Operands {
    /// A recording's word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Near => "near",
            Self::All => "all",
        }
    }
}

/// The records: an instruction's operands and name, and what makes them.
pub fn all() -> Vec<(String, Instruction, Operands)> {
    let of = |instruction: Instruction| {
        [Operands::Near, Operands::All]
            .map(|operands| (format!("{}:{}", operands.name(), instruction.name()), instruction, operands))
    };
    instructions().into_iter().flat_map(of).collect()
}

/// The instructions that are compared.
fn instructions() -> Vec<Instruction> {
    const FLOATS: [(&str, usize); 5] = [("f16", 16), ("bf16", 16), ("tf32", 8), ("e4m3", 32), ("e5m2", 32)];
    let mut all = Vec::new();
    let mut add = |family, extents, sums, input| all.push(Instruction { family, extents, sums, input });
    for (input, k) in FLOATS {
        if !input.starts_with('e') {
            add(Mma, (16, 8, k / 2), "f32", input);
            add(MmaSparse, (16, 8, k), "f32", input);
        }
        add(Mma, (16, 8, k), "f32", input);
        add(MmaSparse, (16, 8, 2 * k), "f32", input);
        add(Wgmma, (64, 8, k), "f32", input);
        add(WgmmaSparse, (64, 8, 2 * k), "f32", input);
        if !matches!(input, "bf16" | "tf32") {
            add(Mma, (16, 8, k), "f16", input);
            add(Wgmma, (64, 8, k), "f16", input);
            add(WgmmaSparse, (64, 8, 2 * k), "f16", input);
        }
    }
    for (input, sums, k) in [("f16", "f32", 16), ("f16", "f16", 16), ("bf16", "f32", 16), ("tf32", "f32", 8)]
    {
        add(Wmma, (16, 16, k), sums, input);
    }
    for input in ["s8", "u8"] {
        add(Mma, (16, 8, 32), "s32", input);
        add(MmaSparse, (16, 8, 64), "s32", input);
        add(Wgmma, (64, 8, 32), "s32", input);
        add(WgmmaSparse, (64, 8, 64), "s32", input);
        add(Wmma, (16, 16, 16), "s32", input);
    }
    all
}

/// The hashes of blocks' results.
pub fn hashes(
    device: &mut dyn Device,
    instruction: &Instruction,
    operands: Operands,
    blocks: Chunks,
) -> anyhow::Result<Vec<u32>> {
    let Chunks { stride, count } = blocks;
    let shape = (count, instruction.threads() as u32);
    let sums = device.run(&instruction.ptx(operands), shape, &stride.to_le_bytes(), 8 * count as usize)?;
    Ok(sums.as_chunks::<8>().0.iter().map(|sum| (u64::from_le_bytes(*sum) >> 32) as u32).collect())
}

impl Instruction {
    fn threads(&self) -> usize {
        if self.is_of_warpgroup() { 128 } else { 64 }
    }

    fn is_of_warpgroup(&self) -> bool {
        matches!(self.family, Wgmma | WgmmaSparse)
    }

    fn is_sparse(&self) -> bool {
        matches!(self.family, MmaSparse | WgmmaSparse)
    }

    /// The instruction as PTX has it.
    pub fn name(&self) -> String {
        let Self { sums, input, .. } = *self;
        let (m, n, k) = self.extents;
        let shape = format!("m{m}n{n}k{k}");
        match self.family {
            Mma => format!("mma.sync.aligned.{shape}.row.col.{sums}.{input}.{input}.{sums}"),
            MmaSparse => {
                format!("mma.sp::ordered_metadata.sync.aligned.{shape}.row.col.{sums}.{input}.{input}.{sums}")
            }
            Wmma if input == "f16" => format!("wmma.mma.sync.aligned.row.col.{shape}.{sums}.{sums}"),
            Wmma => format!("wmma.mma.sync.aligned.row.col.{shape}.{sums}.{input}.{input}.{sums}"),
            Wgmma => format!("wgmma.mma_async.sync.aligned.{shape}.{sums}.{input}.{input}"),
            WgmmaSparse => format!("wgmma.mma_async.sp.sync.aligned.{shape}.{sums}.{input}.{input}"),
        }
    }

    /// Words of a thread for a matrix of `elements` elements.
    fn words(&self, elements: usize, ty: &str) -> usize {
        // Those of a warpgroup, or of a warp of the block.
        let threads = if self.is_of_warpgroup() { self.threads() } else { 32 };
        elements * element(ty).bits / 32 / threads
    }

    /// Rounds that make 10,485,760 results or more.
    fn rounds(&self) -> usize {
        let (m, n, _) = self.extents;
        let groups = if self.is_of_warpgroup() { 1 } else { 2 };
        10_485_760usize.div_ceil(2 * m * n * groups * BLOCKS as usize)
    }

    /// A block draws operands, multiplies and adds its results to its hash, in rounds.
    pub fn ptx(&self, operands: Operands) -> String {
        let mut ptx = String::new();
        self.write(&mut ptx, operands).expect("writing to a string");
        ptx
    }

    fn write(&self, ptx: &mut String, operands: Operands) -> std::fmt::Result {
        let (m, n, k) = self.extents;
        let inner = if self.is_sparse() { k / 2 } else { k };
        // The fragments of `wmma` for halves hold each element twice.
        let copies = if self.family == Wmma && self.input == "f16" { 2 } else { 1 };
        let a = copies * self.words(m * inner, self.input);
        let b = copies * self.words(n * k, self.input);
        let sums = self.words(m * n, self.sums);
        let is_wgmma = self.is_of_warpgroup();
        writeln!(ptx, ".version 8.7\n.target sm_90a\n.address_size 64")?;
        writeln!(ptx, ".visible .entry cases(.param .u64 inputs, .param .u64 outputs)\n{{")?;
        writeln!(ptx, ".shared .align 1024 .b8 memory[4096];")?;
        writeln!(
            ptx,
            ".reg .b32 %a<9>, %b<9>, %c<9>, %d<9>, %thread, %block, %threads, %drawn, %low, %round;"
        )?;
        writeln!(ptx, ".reg .b32 %meta, %own, %warp, %at;")?;
        writeln!(
            ptx,
            ".reg .b64 %outputs, %slot, %state, %z, %s, %sum, %word, %b_at; .reg .pred %any, %more, %add;"
        )?;
        writeln!(
            ptx,
            "ld.param.u64 %outputs, [outputs]; mov.u32 %thread, %tid.x; mov.u32 %block, %ctaid.x;"
        )?;
        writeln!(ptx, "mul.wide.u32 %slot, %block, 8; add.u64 %outputs, %outputs, %slot;")?;
        writeln!(
            ptx,
            "ld.param.u64 %slot, [inputs]; ld.global.u32 %low, [%slot]; mul.lo.u32 %block, %block, %low;"
        )?;
        writeln!(ptx, "mov.u32 %threads, %ntid.x; mad.lo.u32 %own, %block, %threads, %thread;")?;
        writeln!(ptx, "cvt.u64.u32 %state, %own; mad.lo.u64 %state, %state, 0xD1342543DE82EF95, 1;")?;
        writeln!(ptx, "mov.u64 %sum, 0; mov.u32 %round, {}; setp.eq.u32 %add, 0, 0;", self.rounds())?;
        // Each warp, or the block of a warpgroup, has a part of the memory of its own.
        writeln!(ptx, "shr.u32 %warp, %thread, 5; shl.b32 %warp, %warp, 11; mov.u32 %own, memory;")?;
        if is_wgmma {
            writeln!(ptx, "mad.lo.u32 %at, %thread, 4, %own; shr.u32 %own, %own, 4;")?;
            // Core matrices of 128 bytes follow each other along K.
            writeln!(ptx, "cvt.u64.u32 %b_at, %own; or.b64 %b_at, %b_at, 0x0000001000080000;")?;
        } else {
            writeln!(
                ptx,
                "add.u32 %own, %own, %warp; and.b32 %at, %thread, 31; mad.lo.u32 %at, %at, 4, %own;"
            )?;
        }
        writeln!(ptx, "setp.eq.u32 %any, {}, 1;\nnext:", u32::from(matches!(operands, Operands::All)))?;
        if self.family == Wmma {
            self.load_fragments(ptx, [a, b, sums])?;
        } else {
            for i in 0..a {
                draw(ptx, &format!("%a{i}"), self.input)?;
            }
            for i in 0..if is_wgmma { 1 } else { b } {
                draw(ptx, &format!("%b{i}"), self.input)?;
            }
            for i in 0..sums {
                draw(ptx, &format!("%c{i}"), self.sums)?;
            }
        }
        if self.is_sparse() {
            // Each four bits are two places of four in order; of two, for tf32.
            let places = if self.input == "tf32" { "0x4EE44E4E" } else { "0x4E9DC8E4" };
            draw(ptx, "%meta", "s32")?;
            writeln!(ptx, "and.b32 %meta, %meta, 28; shf.l.wrap.b32 %meta, {places}, {places}, %meta;")?;
        }
        if is_wgmma {
            writeln!(ptx, "bar.sync 0; st.shared.b32 [%at], %b0; fence.proxy.async; bar.sync 0;")?;
        }
        for is_second in [false, true] {
            if is_second {
                for i in 0..a {
                    writeln!(ptx, "xor.b32 %a{i}, %a{i}, {};", element(self.input).sign)?;
                }
                for i in 0..sums {
                    writeln!(ptx, "mov.b32 %c{i}, %d{i};")?;
                }
            }
            self.multiply(ptx, [a, b, sums])?;
            self.add_to_hash(ptx, sums)?;
        }
        writeln!(ptx, "sub.u32 %round, %round, 1; setp.ne.u32 %more, %round, 0;\n@%more bra next;")?;
        writeln!(
            ptx,
            "mul.lo.u64 %sum, %sum, 0x9E3779B97F4A7C15; red.global.add.u64 [%outputs], %sum;\nret;\n}}"
        )
    }

    /// Draws matrices into memory, and loads the fragments of `wmma` from there.
    fn load_fragments(&self, ptx: &mut String, [a, b, sums]: [usize; 3]) -> std::fmt::Result {
        let (m, n, k) = self.extents;
        let shape = format!("m{m}n{n}k{k}");
        let matrices = [
            ("a", m * k, self.input, a, k),
            ("b", n * k, self.input, b, k),
            ("c", m * n, self.sums, sums, n),
        ];
        for (matrix, elements, ty, words, line) in matrices {
            for word in 0..self.words(elements, ty) {
                draw(ptx, "%low", ty)?;
                writeln!(ptx, "st.shared.b32 [%at+{}], %low;", 128 * word)?;
            }
            let order = if matrix == "b" { "col" } else { "row" };
            let fragment = list(&format!("%{matrix}"), words);
            writeln!(ptx, "bar.warp.sync -1;")?;
            writeln!(
                ptx,
                "wmma.load.{matrix}.sync.aligned.{order}.{shape}.shared.{ty} {fragment}, [%own], {line};"
            )?;
            writeln!(ptx, "bar.warp.sync -1;")?;
        }
        Ok(())
    }

    /// D = A · B + C.
    fn multiply(&self, ptx: &mut String, [a, b, sums]: [usize; 3]) -> std::fmt::Result {
        let [a, b, c, d] = [list("%a", a), list("%b", b), list("%c", sums), list("%d", sums)];
        let name = self.name();
        let factors = match (self.input, self.sums) {
            (_, "s32") => "",
            ("f16" | "bf16", _) => ", 1, 1, 0",
            _ => ", 1, 1",
        };
        match self.family {
            Mma | Wmma => writeln!(ptx, "{name} {d}, {a}, {b}, {c};"),
            MmaSparse => writeln!(ptx, "{name} {d}, {a}, {b}, {c}, %meta, 0;"),
            Wgmma | WgmmaSparse => {
                for i in 0..sums {
                    writeln!(ptx, "mov.b32 %d{i}, %c{i};")?;
                }
                let places = if self.is_sparse() { ", %meta, 0" } else { "" };
                writeln!(ptx, "wgmma.fence.sync.aligned;\n{name} {d}, {a}, %b_at{places}, %add{factors};")?;
                writeln!(ptx, "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;")
            }
        }
    }

    /// Adds the results to the thread's hash: those of `wmma` as memory has them, whose places in registers nothing tells.
    fn add_to_hash(&self, ptx: &mut String, sums: usize) -> std::fmt::Result {
        let in_memory = self.family == Wmma;
        if in_memory {
            let (m, n, k) = self.extents;
            let fragment = list("%d", sums);
            writeln!(
                ptx,
                "wmma.store.d.sync.aligned.row.m{m}n{n}k{k}.shared.{} [%own], {fragment}, {n};\nbar.warp.sync -1;",
                self.sums
            )?;
        }
        for i in 0..sums {
            if in_memory {
                writeln!(ptx, "ld.shared.b32 %low, [%at+{}]; cvt.u64.u32 %word, %low;", 128 * i)?;
            } else {
                writeln!(ptx, "cvt.u64.u32 %word, %d{i};")?;
            }
            writeln!(ptx, "mad.lo.u64 %sum, %sum, 0xAEF17502108EF2D9, %word;")?;
        }
        if in_memory {
            writeln!(ptx, "bar.warp.sync -1;")?;
        }
        Ok(())
    }
}

/// A list of registers in braces.
fn list(name: &str, count: usize) -> String {
    let registers: Vec<_> = (0..count).map(|i| format!("{name}{i}")).collect();
    format!("{{{}}}", registers.join(", "))
}

/// Draws a word of a type (splitmix64).
fn draw(ptx: &mut String, register: &str, ty: &str) -> std::fmt::Result {
    let Element { mask, base, any, .. } = element(ty);
    writeln!(
        ptx,
        "add.u64 %state, %state, 0x9E3779B97F4A7C15; shr.u64 %s, %state, 30; xor.b64 %z, %state, %s;"
    )?;
    writeln!(ptx, "mul.lo.u64 %z, %z, 0xBF58476D1CE4E5B9; shr.u64 %s, %z, 27; xor.b64 %z, %z, %s;")?;
    writeln!(ptx, "mul.lo.u64 %z, %z, 0x94D049BB133111EB; mov.b64 {{%low, %drawn}}, %z;")?;
    writeln!(ptx, "and.b32 {register}, %drawn, {mask}; add.u32 {register}, {register}, {base};")?;
    writeln!(ptx, "and.b32 %drawn, %drawn, {any}; selp.b32 {register}, %drawn, {register}, %any;")
}
