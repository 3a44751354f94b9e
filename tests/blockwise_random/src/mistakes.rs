//! Mistakes that a rule of the library forbids: a right program that has one must not type-check.

/// A text of a program, and what stands there instead.
pub struct Mistake {
    pub name: &'static str,
    pub text: &'static str,
    pub instead: &'static str,
}

/// Where the output is written: before it all is in scope, at the level of the block.
const AT_THE_END: &str = "    out.write(&block, ";

macro_rules! before_the_end {
    ($name:literal: $line:literal) => {
        Mistake { name: $name, text: AT_THE_END, instead: concat!("    ", $line, "\n    out.write(&block, ") }
    };
}

/// At least one for each rule.
pub const MISTAKES: [Mistake; 17] = [
    before_the_end!("a thread reaches the block": "block.each(|t| { if t.x() == 0 { block.each(|_| 0_u32); } });"),
    before_the_end!("a block is made": "let other = Block::<32> {};"),
    before_the_end!("a thread changes what the block sees": "let mut seen = 0_u32; block.each(|t| seen = t.index() as u32);"),
    before_the_end!("a thread changes a cell of the block": "let seen = core::cell::Cell::new(0); block.each(|t| seen.set(t.index()));"),
    before_the_end!("a thread stays": "let mut kept = block.each(|t| t);"),
    before_the_end!("the block takes the way of a thread": "if block.each(|t| t.x() == 0) { block.each(|_| 0_u32); }"),
    before_the_end!("an output is divided twice": "let other: SliceMut<u32, Part<7>> = out;"),
    before_the_end!("an output is written by a thread": "block.each(|t| out.write(&block, |_, _| 0));"),
    before_the_end!("a reduction within a thread": "block.each(|t| block.reduce(&mut scratch, &block.each(|_| 1_u32), |a, b| a.max(b)));"),
    before_the_end!("a shuffle within a thread": "block.warps(|warp| { let ones = warp.each(|_| 1_u32); warp.each(|t| warp.of_lane(&ones, 0)) });"),
    before_the_end!("a warp stays": "let mut kept = None; block.warps(|warp| { kept = Some(warp); warp.each(|_| 0_u32) });"),
    Mistake {
        name: "nobody waits for a tile that is filled",
        text: "block.share(filled)",
        instead: "filled",
    },
    Mistake {
        name: "nobody waits for a tile that is read",
        text: " = block.reuse(shared",
        instead: " = (shared",
    },
    Mistake { name: "nobody waits for a tile that is added to", text: "block.count(tile", instead: "(tile" },
    Mistake { name: "copies are shared that no group has", text: "block.commit(tile", instead: "(tile" },
    Mistake { name: "an element of a linear map has two owners", text: "{ 1 }>>", instead: "{ 0 }>>" },
    Mistake {
        name: "copies are shared as if they had ended",
        text: "block.share(filling",
        instead: "(filling",
    },
];
