//! Steps backwards where a condition does not hold: `pointer.sub(usize::from(!taken))`.
//!
//! The back end of LLVM 22 takes addresses that differ by a constant from each other (`slsr`), and for that it takes
//! `sext(!taken)` for `sext(taken) - 1`. Of two pointers of which either the one or the other steps back, as where `core`'s
//! stable sort merges from behind, the second is then 16 bytes off. The same number as a choice between two constants it leaves
//! alone.

use crate::llvm::{Builder, Context, Module, Opcode};

/// Writes them so. Must come last: the optimiser prefers the other form.
pub fn choose(context: &Context, module: &Module<'_>) {
    let bit = context.int(1);
    for extended in module.functions().into_iter().flat_map(|function| function.instructions()) {
        if extended.opcode() != Opcode::SExt {
            continue;
        }
        let negated = extended.operand(0);
        if negated.as_instruction().is_none() || negated.opcode() != Opcode::Xor || negated.ty() != bit {
            continue;
        }
        let ty = extended.ty();
        let chosen = Builder::before(extended).select(negated, ty.int(-1), ty.int(0));
        extended.replace_all_uses(chosen);
        extended.erase();
    }
}
