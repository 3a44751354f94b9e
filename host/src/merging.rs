//! Where `ptxas` merges loads: several of one thread, from neighbouring words of shared memory, become a wider one.
//!
//! It does so within a stretch of code without branches, barriers and stores, if it can prove that the first word is aligned
//! to the wider access. 16 loads of a row of a tile become 4 of 16 bytes; three fields of a 12-byte struct stay three, since
//! every other struct begins at an odd word.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ptx::{Instruction, Operand, SourceLines, Statement};
use virtual_gpu::is_library;
use warpsmith_launch::Error;

use crate::modules::LEVELS;

/// Loads of one source line that become fewer.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Merge {
    /// The file as the compiler named it.
    pub file: String,
    pub line: u32,
    /// PTX instructions.
    pub loads: usize,
    /// The number of merged loads.
    pub into: usize,
}

/// The merges in a kernel of this repository, by line; none if it is in no module.
pub fn of_kernel(kernel: &str) -> Result<Vec<Merge>, Error> {
    let Some(level) = LEVELS.of(kernel) else { return Ok(Vec::new()) };
    let module = ptx::parse(&level.alone(kernel))
        .map_err(|error| Error::Ptx { arch: level.arch(), error: Box::new(error) })?;
    let function = module.functions.iter().find(|function| function.name.as_str() == kernel);
    Ok(function.map(|function| merges(&module, function)).unwrap_or_default())
}

/// The merges in a kernel, by line.
pub fn merges(module: &ptx::Module, function: &ptx::Function) -> Vec<Merge> {
    let Some(body) = &function.body else { return Vec::new() };
    let lines = SourceLines::new(module);
    let mut code = Vec::new();
    flatten(&body.statements, &mut code);
    let mut alignments = Alignments::new(module, &body.statements, &code);
    let mut found: BTreeMap<(String, u32), (usize, usize)> = BTreeMap::new();
    for stretch in code.split(|step| step.is_none_or(ends_stretch)) {
        let mut rows: BTreeMap<(&str, i64), BTreeMap<i64, &Instruction>> = BTreeMap::new();
        for load in stretch.iter().copied().flatten() {
            if let Some((base, offset, width)) = shared_load(load) {
                rows.entry((base, width)).or_default().insert(offset, load);
            }
        }
        for ((base, width), loads) in rows {
            let aligned = alignments.of(base);
            for group in groups(&loads.keys().copied().collect(), width, aligned) {
                let Some(first) = loads.get(&group[0]).and_then(|load| load.loc) else { continue };
                let frames = lines.frames(first);
                let own = frames.iter().find(|frame| !is_library(&frame.file));
                let Some(frame) = own.or(frames.first()) else { continue };
                let (before, after) = found.entry((frame.file.to_string(), frame.line)).or_default();
                *before += group.len();
                *after += 1;
            }
        }
    }
    found.into_iter().map(|((file, line), (loads, into))| Merge { file, line, loads, into }).collect()
}

/// The instructions in order; `None` for a label, where control may come in from elsewhere.
pub fn flatten<'a>(statements: &'a [Statement], out: &mut Vec<Option<&'a Instruction>>) {
    for statement in statements {
        match statement {
            Statement::Instruction(instruction) => out.push(Some(instruction)),
            Statement::Label(..) => out.push(None),
            Statement::Block(block) => flatten(&block.statements, out),
            _ => {}
        }
    }
}

/// Whether loads before it are not moved behind it.
fn ends_stretch(instruction: &Instruction) -> bool {
    let name = instruction.opcode.name.as_str();
    matches!(
        name,
        "bra" | "brx" | "ret" | "exit" | "call" | "bar" | "barrier" | "fence" | "membar" | "atom" | "red"
    ) || name == "st" && !instruction.opcode.has("global")
}

/// Base, offset and width of a plain load of one word from shared memory.
fn shared_load(load: &Instruction) -> Option<(&str, i64, i64)> {
    let [space, ty] = &load.opcode.modifiers[..] else { return None };
    if load.opcode.name.as_str() != "ld" || !space.as_str().starts_with("shared") || load.guard.is_some() {
        return None;
    }
    let width = match ty.as_str() {
        "b32" | "u32" | "s32" | "f32" => 4,
        "b64" | "u64" | "s64" | "f64" => 8,
        _ => return None,
    };
    match load.operands.get(1)? {
        Operand::Address(address) => Some((address.base.as_ref()?.as_str(), address.offset, width)),
        _ => None,
    }
}

/// Offsets that one access of 16 bytes, or else of 8, takes together.
fn groups(offsets: &BTreeSet<i64>, width: i64, aligned: i64) -> Vec<Vec<i64>> {
    let mut groups = Vec::new();
    let mut taken = BTreeSet::new();
    for wide in [16, 8].into_iter().filter(|&wide| wide > width && aligned % wide == 0) {
        for &first in offsets.iter().filter(|&&first| first % wide == 0) {
            let group: Vec<i64> = (0..wide / width).map(|i| first + i * width).collect();
            if group.iter().all(|offset| offsets.contains(offset) && !taken.contains(offset)) {
                taken.extend(group.iter().copied());
                groups.push(group);
            }
        }
    }
    groups
}

/// Known alignment of addresses.
struct Alignments<'a> {
    definitions: HashMap<&'a str, Vec<&'a Instruction>>,
    variables: HashMap<&'a str, i64>,
    known: HashMap<&'a str, i64>,
}

/// No access is wider.
const MOST: i64 = 64;

impl<'a> Alignments<'a> {
    fn new(module: &'a ptx::Module, own: &'a [Statement], code: &[Option<&'a Instruction>]) -> Self {
        let mut definitions: HashMap<&str, Vec<&Instruction>> = HashMap::new();
        for &instruction in code.iter().flatten() {
            if let Some(Operand::Name(result)) = instruction.operands.first() {
                definitions.entry(result.as_str()).or_default().push(instruction);
            }
        }
        let inside = own.iter().filter_map(|statement| match statement {
            Statement::Variable(variable) => Some(&**variable),
            _ => None,
        });
        let variables = module.variables.iter().chain(inside);
        let variables =
            variables.map(|variable| (variable.name.as_str(), variable.alignment() as i64)).collect();
        Self { definitions, variables, known: HashMap::new() }
    }

    fn of(&mut self, name: &'a str) -> i64 {
        if let Some(&known) = self.known.get(name).or_else(|| self.variables.get(name)) {
            return known.min(MOST);
        }
        // A register of a loop is made from itself: what the other ways say decides.
        self.known.insert(name, MOST);
        let definitions = self.definitions.get(name).cloned().unwrap_or_default();
        let all = definitions.iter().map(|definition| self.made_by(definition)).min();
        let found = if definitions.is_empty() { 1 } else { all.unwrap_or(1) };
        self.known.insert(name, found);
        found
    }

    fn made_by(&mut self, definition: &'a Instruction) -> i64 {
        let operands = &definition.operands;
        let mut at = |index: usize| operands.get(index).map_or(1, |operand| self.operand(operand));
        match definition.opcode.name.as_str() {
            "mov" | "cvta" | "cvt" => at(1),
            "add" | "sub" | "or" | "selp" | "min" | "max" => at(1).min(at(2)),
            "and" => at(1).max(at(2)),
            "mul" | "mad" if definition.opcode.has("hi") => 1,
            "mul" => (at(1) * at(2)).min(MOST),
            "mad" => (at(1) * at(2)).min(MOST).min(at(3)),
            "shl" => match operands.get(2) {
                Some(Operand::Constant(by)) => (at(1) << by.integer().unwrap_or(0).min(6)).min(MOST),
                _ => at(1),
            },
            _ => 1,
        }
    }

    fn operand(&mut self, operand: &'a Operand) -> i64 {
        match operand {
            Operand::Name(name) => self.of(name.as_str()),
            Operand::Constant(constant) => constant.integer().map_or(1, |number| power_of(number as i64)),
            Operand::Symbol(symbol) => self.of(symbol.name.as_str()).min(power_of(symbol.offset)),
            _ => 1,
        }
    }
}

/// The largest power of two that divides a number.
fn power_of(number: i64) -> i64 {
    1 << number.trailing_zeros().min(MOST.trailing_zeros())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merges(kernel: &str) -> Vec<Merge> {
        of_kernel(kernel).unwrap()
    }

    fn counts(kernel: &str) -> (usize, usize) {
        let merges = merges(kernel);
        merges.iter().fold((0, 0), |(loads, into), merge| (loads + merge.loads, into + merge.into))
    }

    /// As ptxas 13.5 compiles them for sm_90.
    #[test]
    fn what_is_merged_is_what_the_assembler_merges() {
        for (kernel, expected) in [
            ("matmul_tiled_16", (16, 4)),
            ("matmul_tiled_32", (32, 8)),
            ("matmul_dynamic", (0, 0)),
            ("transpose_tile", (0, 0)),
            ("stretch_staged_structs", (0, 0)),
        ] {
            assert_eq!(counts(kernel), expected, "{kernel}");
        }
    }

    #[test]
    fn a_merged_load_is_told_at_its_line() {
        let found = merges("matmul_tiled_16");
        let [merge] = &found[..] else { panic!("{found:?}") };
        let text = crate::source::line(&merge.file, merge.line).unwrap();
        assert!(text.contains("tile_a"), "{text}");
    }

    #[test]
    fn only_whole_aligned_groups_are_merged() {
        let offsets = |all: &[i64]| all.iter().copied().collect::<BTreeSet<_>>();
        assert_eq!(groups(&offsets(&[0, 4, 8, 12, 16, 20]), 4, 16), [vec![0, 4, 8, 12], vec![16, 20]]);
        assert_eq!(groups(&offsets(&[0, 4, 8, 12]), 4, 8), [vec![0, 4], vec![8, 12]]);
        assert!(groups(&offsets(&[0, 4, 8, 12]), 4, 4).is_empty());
        assert!(groups(&offsets(&[4, 8]), 4, 16).is_empty());
        assert_eq!(groups(&offsets(&[0, 8]), 8, 16), [vec![0, 8]]);
    }
}
