//! The dispatcher: the choice of kernels for a product, and its reasons.

use warpsmith_launch::Limits;

use super::element::Input;
use super::problem::Problem;
use super::variant::{Automatic, Request, Schedule, Split, Variant};
use super::{Operands, copied, cuda_cores, hopper, mma};
use crate::Error;

/// All variants, the fastest first: the order in which the dispatcher asks.
pub fn variants() -> impl Iterator<Item = &'static Variant> {
    #[cfg(feature = "ladder")]
    let ladder = super::ladder::VARIANTS;
    #[cfg(not(feature = "ladder"))]
    let ladder: &[Variant] = &[];
    let tensor_cores = hopper::VARIANTS.iter().chain([&copied::VARIANT]).chain(mma::VARIANTS).chain(ladder);
    cuda_cores::VARIANTS.iter().chain(tensor_cores)
}

/// The dispatcher's choice for a problem, with its reasons.
#[derive(Debug)]
pub struct Plan {
    pub(super) problem: Problem,
    variant: &'static Variant,
    pub(super) schedule: Box<dyn Schedule>,
    /// The addresses of A, B and C, modulo 16.
    offsets: [u64; 3],
    passed_over: Vec<(&'static str, String)>,
}

impl Plan {
    /// The plan for a product of matrices that lie there: that of the first variant that takes it, or of the one that is asked for.
    pub fn choose(
        limits: &Limits,
        problem: &Problem,
        operands: &Operands,
        request: Request<'_>,
    ) -> Result<Self, Error> {
        problem.check()?;
        let offsets = operands.offsets();
        let mut passed_over = Vec::new();
        let of_type = || variants().filter(|variant| variant.f32 == (problem.input == Input::F32));
        for variant in of_type() {
            match (request.variant, variant.automatic) {
                (Some(wanted), _) if wanted != variant.name => continue,
                (None, Automatic::Never) => continue,
                (None, Automatic::WhereCopiesPay) => {
                    let least = crate::costs::Costs::of(limits).copies_pay_from;
                    if problem.operations() < least {
                        let reason =
                            format!("fewer than {least:e} operations are not worth a copy of the matrices");
                        passed_over.push((variant.name, reason));
                        continue;
                    }
                }
                _ => {}
            }
            match (variant.schedule)(limits, problem, operands, &request) {
                Ok(schedule) => {
                    return Ok(Self { problem: *problem, variant, schedule, offsets, passed_over });
                }
                Err(reason) => passed_over.push((variant.name, reason)),
            }
        }
        if passed_over.is_empty() {
            let names: Vec<_> = of_type().map(|variant| variant.name).collect();
            let wanted = request.variant.unwrap_or("any");
            return Err(Error::Gemm(format!(
                "there is no variant `{wanted}`; there are {}",
                names.join(", ")
            )));
        }
        let reasons: Vec<_> =
            passed_over.into_iter().map(|(name, reason)| format!("{name}: {reason}")).collect();
        Err(Error::Gemm(format!("no kernel takes it here ({})", reasons.join("; "))))
    }

    /// The problem.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The variant.
    pub fn variant(&self) -> &'static Variant {
        self.variant
    }

    /// The name of the kernel that multiplies.
    pub fn kernel(&self) -> &'static str {
        self.schedule.kernel()
    }

    /// Whether the kernel of that name is one of its launches.
    pub fn launches(&self, kernel: &str) -> bool {
        self.schedule.launches(kernel)
    }

    /// The division of K.
    pub fn split(&self) -> Split {
        self.schedule.split()
    }

    /// Whether operands are packed to aligned rows first.
    pub fn packs(&self) -> bool {
        self.schedule.packs()
    }

    /// Whether operands are transposed first.
    pub fn transposes(&self) -> bool {
        self.schedule.transposes()
    }

    /// The tiling, where there is a choice.
    pub fn tiling(&self) -> Option<String> {
        self.schedule.words()
    }

    /// The variant and its tiling, in words.
    pub fn how(&self) -> String {
        let mut text = format!("{}: {}", self.variant.name, self.variant.about);
        if let Some(tiling) = self.tiling() {
            text += &format!("; {tiling}");
        }
        text
    }

    /// [`how`](Self::how), and why the variants before it were passed over.
    pub fn why(&self) -> String {
        let mut reasons: Vec<(Vec<&str>, &str)> = Vec::new();
        for (name, reason) in &self.passed_over {
            match reasons.iter_mut().find(|(_, other)| other == reason) {
                Some((names, _)) => names.push(name),
                None => reasons.push((vec![name], reason)),
            }
        }
        let mut text = self.how();
        for (names, reason) in reasons {
            text += &format!("; not {}: {reason}", names.join(" nor "));
        }
        text
    }

    /// Refuses matrices that begin elsewhere than those of the plan, which may count on where they do.
    pub(super) fn check(&self, operands: &Operands) -> Result<(), Error> {
        let differ = self.offsets.into_iter().zip(operands.offsets()).zip(["A", "B", "C"]);
        match differ.into_iter().find(|((planned, is), _)| planned != is) {
            Some(((planned, is), matrix)) => Err(Error::PlanMismatch { matrix, planned, is }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use gpu_model::chips::H200;

    use super::super::{Layout, Output};
    use super::*;

    fn limits(capability: (u32, u32), shared: u32) -> Limits {
        Limits { capability, shared_per_block_optin: shared, ..Limits::of_chip(&H200) }
    }

    const ALIGNED: Operands = Operands { a: 0x1000, b: 0x2000, c: 0x3000 };

    fn choose(
        limits: &Limits,
        problem: &Problem,
        operands: &Operands,
        variant: Option<&str>,
    ) -> Result<Plan, String> {
        let request = Request { variant, ..Request::default() };
        Plan::choose(limits, problem, operands, request).map_err(|error| error.to_string())
    }

    fn name(limits: &Limits, problem: &Problem, operands: &Operands) -> Result<&'static str, String> {
        choose(limits, problem, operands, None).map(|plan| plan.variant().name)
    }

    #[test]
    fn rows_at_multiples_of_16_bytes_take_the_fast_way_and_others_the_general_one() {
        let ampere = limits((8, 0), 163 << 10);
        let aligned = Problem::new((100, 104, 96), Input::F16, Output::F16, Layout::Nn);
        assert_eq!(name(&ampere, &aligned, &ALIGNED).unwrap(), "portable");
        let odd = Problem { lda: 97, ..aligned };
        assert_eq!(name(&ampere, &odd, &ALIGNED).unwrap(), "general");
        assert_eq!(name(&ampere, &aligned, &Operands { b: 0x2002, ..ALIGNED }).unwrap(), "general");
        let why = choose(&ampere, &odd, &ALIGNED, None).unwrap().why();
        assert!(why.contains("not portable: A's lines begin 194 bytes apart"), "{why}");
    }

    #[test]
    fn what_nothing_takes_is_refused_with_every_reason() {
        let product = Problem::new((64, 64, 64), Input::Bf16, Output::Bf16, Layout::Nt);
        let refused = name(&limits((7, 5), 64 << 10), &product, &ALIGNED).unwrap_err();
        assert!(
            refused.contains("portable: it needs compute capability 8.0") && refused.contains("general: ")
        );
        let small = limits((8, 6), 64 << 10);
        assert_eq!(name(&small, &product, &ALIGNED).unwrap(), "general");
        let unknown = choose(&small, &product, &ALIGNED, Some("fastest")).unwrap_err();
        assert!(unknown.contains("no variant `fastest`; there are hopper, "), "{unknown}");
    }
}
