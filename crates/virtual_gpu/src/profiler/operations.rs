//! The arithmetic of an instruction: its lanes' floating-point operations, and products on tensor cores.

use gpu_model::profile::{Operations, TensorOperations};

use crate::matrix::element::Element;
use crate::matrix::mma::{Mma, Shape};
use crate::matrix::wgmma::Wgmma;
use crate::matrix::wmma::Wmma;

/// For one lane that executes the instruction. A matrix instruction counts evenly for each lane that takes part.
pub(super) fn of(opcode: &ptx::Opcode) -> Operations {
    match opcode.name.as_str() {
        "add" | "sub" | "mul" => of_lane(opcode, 1),
        "fma" | "mad" => of_lane(opcode, 2),
        "mma" | "wmma" | "wgmma" => Operations { tensor: of_tensor(opcode), ..Operations::default() },
        _ => Operations::default(),
    }
}

fn of_lane(opcode: &ptx::Opcode, each: u64) -> Operations {
    let mut operations = Operations::default();
    for modifier in &opcode.modifiers {
        match modifier.as_str() {
            "f16" | "bf16" => operations.f16 = each,
            "f16x2" | "bf16x2" => operations.f16 = 2 * each,
            "f32" => operations.f32 = each,
            "f32x2" => operations.f32 = 2 * each,
            "f64" => operations.f64 = each,
            _ => {}
        }
    }
    // `fma.rn.f32.f16` and the like compute in the first type, the wider one.
    if operations.f32 > 0 {
        operations.f16 = 0;
    }
    operations
}

fn of_tensor(opcode: &ptx::Opcode) -> TensorOperations {
    let words: Vec<&str> = opcode.modifiers.iter().map(|modifier| modifier.as_str()).collect();
    // Factors, shape, and how many lanes share the product.
    let product = match opcode.name.as_str() {
        // One warp, or a quarter of it.
        "mma" => {
            Mma::parse(&words).map(|form| (form.a, form.shape, if form.is_quad_pairs() { 8 } else { 32 }))
        }
        "wmma" => Wmma::parse(&words).map(|form| (form.a, form.shape, 32)),
        // Four warps.
        _ => Wgmma::parse(&words).map(|form| (form.a, form.shape, 128)),
    };
    let Ok((element, Shape { m, n, k }, lanes)) = product else { return TensorOperations::default() };
    let each = (2 * m * n * k) as u64 / lanes;
    let none = TensorOperations::default();
    match element {
        Element::F16 | Element::Bf16 => TensorOperations { f16: each, ..none },
        Element::Tf32 => TensorOperations { tf32: each, ..none },
        Element::F64 => TensorOperations { f64: each, ..none },
        Element::E4m3 | Element::E5m2 => TensorOperations { f8: each, ..none },
        Element::S8 | Element::U8 => TensorOperations { s8: each, ..none },
        Element::S4 | Element::U4 | Element::B1 => none,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(instruction: &str) -> Operations {
        let mut words = instruction.split('.').map(ptx::Name::from);
        super::of(&ptx::Opcode { name: words.next().unwrap(), modifiers: words.collect() })
    }

    #[test]
    fn a_multiply_add_counts_two_and_packed_types_by_element() {
        assert_eq!(of("add.rn.f32").f32, 1);
        assert_eq!(of("fma.rn.f32"), Operations { f32: 2, ..Operations::default() });
        assert_eq!(of("fma.rn.f16x2").f16, 4);
        assert_eq!(of("fma.rn.f64").f64, 2);
        assert_eq!(of("mad.lo.s32"), Operations::default());
        assert_eq!(of("ex2.approx.f32"), Operations::default());
    }

    /// A product of m × n × k has 2 m n k operations, for all participating lanes together.
    #[test]
    fn matrix_instructions_count_their_products() {
        for (instruction, lanes, expected) in [
            ("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", 32, (2 * 16 * 8 * 16, 0, 0, 0, 0)),
            ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 32, (0, 2 * 16 * 8 * 8, 0, 0, 0)),
            ("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", 32, (0, 0, 2 * 8 * 8 * 4, 0, 0)),
            // Four products at once, one for each pair of quads.
            ("mma.sync.aligned.m8n8k4.col.row.f32.f16.f16.f32", 32, (4 * 2 * 8 * 8 * 4, 0, 0, 0, 0)),
            ("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", 32, (0, 0, 0, 0, 2 * 16 * 8 * 32)),
            ("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", 32, (2 * 16 * 16 * 16, 0, 0, 0, 0)),
            ("wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16", 128, (2 * 64 * 256 * 16, 0, 0, 0, 0)),
            ("wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3", 128, (0, 0, 0, 2 * 64 * 128 * 32, 0)),
        ] {
            let all = of(instruction) * lanes;
            let TensorOperations { f16, tf32, f64, f8, s8 } = all.tensor;
            assert_eq!((f16, tf32, f64, f8, s8), expected, "{instruction}");
            assert_eq!((all.f16, all.f32, all.f64), (0, 0, 0), "{instruction}");
        }
        assert_eq!(of("wgmma.fence.sync.aligned"), Operations::default());
    }
}
