//! Kernels that execute a batch of forms.

use std::fmt::Write;

use crate::THREADS;
use crate::chain;
use crate::form::{self, FAMILIES, Form};
use crate::operand::{Random, Register, draw_all};
use crate::record::Record;

/// Forms in one kernel.
const BATCH: usize = 100;
/// Random chains.
const CHAINS: usize = 80;
/// Bytes between the operands of neighbouring threads, whatever their width.
const SLOT: usize = 8;
/// Bytes of a cell for memory forms.
const CELL: usize = 2 * SLOT;

/// A batch of forms in one kernel.
pub struct Program {
    /// Family and number.
    pub name: String,
    /// Executed in order.
    pub forms: Vec<Form>,
}

/// All programs, family by family.
pub fn all() -> Vec<Program> {
    let families = FAMILIES.iter().map(|(family, text)| (*family, form::parse(text), BATCH));
    let chains = [("chain", chain::chains(CHAINS), BATCH / 10)];
    families
        .chain(chains)
        .flat_map(|(family, forms, batch)| {
            let batches: Vec<_> = forms.chunks(batch).map(<[Form]>::to_vec).collect();
            let named = |(i, forms)| Program { name: format!("{family}_{i}"), forms };
            batches.into_iter().enumerate().map(named).collect::<Vec<_>>()
        })
        .collect()
}

impl Program {
    /// The module's text.
    pub fn ptx(&self) -> String {
        let mut ptx = String::new();
        self.write(&mut ptx).expect("writing to a string");
        ptx
    }

    fn write(&self, ptx: &mut String) -> std::fmt::Result {
        let shared = CELL * (THREADS + 1);
        writeln!(ptx, ".version 8.3\n.target sm_90\n.address_size 64\n")?;
        writeln!(ptx, ".visible .entry cases(.param .u64 inputs, .param .u64 outputs)\n{{")?;
        writeln!(ptx, "    .shared .align {CELL} .b8 cells[{shared}];")?;
        writeln!(ptx, "    .reg .pred %in_mask;")?;
        writeln!(ptx, "    .reg .b32 %thread, %bit, %shared_cell, %block_cell;")?;
        writeln!(ptx, "    .reg .b64 %in, %out, %offset, %global_cell, %generic_cell;")?;
        writeln!(ptx, "    ld.param.b64 %in, [inputs];\n    ld.param.b64 %out, [outputs];")?;
        writeln!(ptx, "    mov.u32 %thread, %tid.x;")?;
        writeln!(ptx, "    mul.wide.u32 %offset, %thread, {SLOT};")?;
        writeln!(ptx, "    add.u64 %in, %in, %offset;\n    add.u64 %out, %out, %offset;")?;
        // Global cells, twice as wide as slots, follow the results.
        writeln!(ptx, "    add.u64 %global_cell, %out, %offset;")?;
        writeln!(ptx, "    add.u64 %global_cell, %global_cell, {};", self.results() * THREADS * SLOT)?;
        writeln!(ptx, "    mov.u32 %block_cell, cells;")?;
        writeln!(ptx, "    mad.lo.u32 %shared_cell, %thread, {CELL}, %block_cell;")?;
        writeln!(ptx, "    add.u32 %shared_cell, %shared_cell, {CELL};")?;
        writeln!(ptx, "    cvt.u64.u32 %generic_cell, %shared_cell;")?;
        writeln!(ptx, "    cvta.shared.u64 %generic_cell, %generic_cell;")?;
        writeln!(ptx, "    mov.u32 %bit, %laneid;\n    shr.u32 %bit, 0x5a5aa5a5, %bit;")?;
        writeln!(ptx, "    and.b32 %bit, %bit, 1;\n    setp.ne.u32 %in_mask, %bit, 0;")?;
        let (mut input, mut output) = (0, 0);
        for form in &self.forms {
            writeln!(ptx, "\n    {{")?;
            for place in form.inputs.iter().chain(&form.outputs) {
                writeln!(ptx, "        .reg .{} {};", place.kind.register().ptx(), place.name)?;
            }
            for place in &form.inputs {
                let at = input * THREADS * SLOT;
                input += 1;
                match place.kind.register() {
                    Register::Pred => {
                        writeln!(ptx, "        ld.global.b32 %bit, [%in+{at}];")?;
                        writeln!(ptx, "        setp.ne.u32 {}, %bit, 0;", place.name)?;
                    }
                    register => {
                        writeln!(ptx, "        ld.global.{} {}, [%in+{at}];", register.ptx(), place.name)?
                    }
                }
            }
            for instruction in form.instruction().split_inclusive(';') {
                writeln!(ptx, "        {}", instruction.trim())?;
            }
            for place in &form.outputs {
                let at = output * THREADS * SLOT;
                output += 1;
                match place.kind.register() {
                    Register::Pred => {
                        writeln!(ptx, "        selp.u32 %bit, 1, 0, {};", place.name)?;
                        writeln!(ptx, "        st.global.b32 [%out+{at}], %bit;")?;
                    }
                    register => {
                        writeln!(ptx, "        st.global.{} [%out+{at}], {};", register.ptx(), place.name)?
                    }
                }
            }
            writeln!(ptx, "    }}")?;
        }
        writeln!(ptx, "\n    ret;\n}}")
    }

    fn results(&self) -> usize {
        self.forms.iter().map(|f| f.outputs.len()).sum()
    }

    /// Size of the output buffer: the results, then the cells of memory forms.
    pub fn output_bytes(&self) -> usize {
        (self.results() * SLOT + CELL) * THREADS
    }

    /// The operands of one form: for each place, those of all threads.
    pub fn operands(form: &Form, seed: u64) -> Vec<Vec<u64>> {
        let mut random = Random::new(form.hash() ^ seed);
        let mut columns = vec![Vec::with_capacity(THREADS); form.inputs.len()];
        for _ in 0..THREADS {
            let drawn = draw_all(form.inputs.iter().map(|place| place.kind), &mut random);
            for (column, value) in columns.iter_mut().zip(drawn) {
                column.push(value);
            }
        }
        columns
    }

    /// The input buffer.
    pub fn input(&self, seed: u64) -> Vec<u8> {
        let columns = self.forms.iter().flat_map(|form| Self::operands(form, seed));
        let mut input: Vec<u8> = columns.flatten().flat_map(u64::to_le_bytes).collect();
        // A program without operands still gets a buffer.
        input.resize(input.len().max(SLOT), 0);
        input
    }

    /// Takes the results out of the output buffer.
    pub fn collect(&self, output: &[u8], record: &mut Record) {
        let mut columns = output.chunks_exact(THREADS * SLOT);
        for form in &self.forms {
            let mut results = Vec::new();
            for place in &form.outputs {
                let column = columns.next().expect("the output holds every result");
                let bytes = place.kind.register().bytes();
                results.extend(column.chunks_exact(SLOT).flat_map(|slot| &slot[..bytes]));
            }
            record.insert(form, results);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_operands() {
        let forms = form::parse("fma.rn.f32 <d:f32>, <a:f32>, <b:f32>, <c:f32>");
        assert_eq!(Program::operands(&forms[0], 1), Program::operands(&forms[0], 1));
        assert_ne!(Program::operands(&forms[0], 1), Program::operands(&forms[0], 2));
    }

    #[test]
    fn results_keep_the_width_of_their_register() {
        let forms = form::parse("setp.lt.u16 <p:pred>, <a:u16>, <b:u16>; add.u16 <d:u16>, <a:u16>, <b:u16>");
        let program = Program { name: String::new(), forms };
        assert_eq!(program.output_bytes(), THREADS * (2 * SLOT + CELL));
        let mut output = vec![0; program.output_bytes()];
        output[THREADS * SLOT..][..2].copy_from_slice(&[0x34, 0x12]);
        let mut record = Record::new(0);
        program.collect(&output, &mut record);
        let results = record.results(&program.forms[0]).unwrap();
        assert_eq!(results.len(), THREADS * 3);
        assert_eq!(results[THREADS..][..2], [0x34, 0x12]);
    }

    #[test]
    fn every_program_is_ptx() {
        for program in all() {
            if let Err(error) = ptx::parse(&program.ptx()) {
                panic!("{}: {error}", program.name);
            }
        }
    }
}
