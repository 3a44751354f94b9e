//! Products on tensor cores: which kernel takes which product, and why.
//!
//! ```
//! use cust::memory::DeviceBuffer;
//! use warpsmith_launch::Wish;
//! use warpsmith_launch::Device;
//! use host::tensor::{Input, Layout, Output, Problem, multiply};
//!
//! # fn main() -> anyhow::Result<()> {
//! let device = Device::open(Wish::Virtual)?;
//! let (a, b) = (DeviceBuffer::from_slice(&[1i8, 2, 3, 4])?, DeviceBuffer::from_slice(&[1i8, 0, 0, 1])?);
//! let mut c = DeviceBuffer::from_slice(&[0i32; 4])?;
//! let problem = Problem::new((2, 2, 2), Input::S8, Output::S32, Layout::Nn);
//! let choice = multiply(&device, &problem, &a, &b, &mut c)?;
//! device.synchronize()?;
//! assert_eq!(c.as_host_vec()?, [1, 2, 3, 4]);
//! // Rows of two bytes are no fast kernel's.
//! assert_eq!(choice.variant.name, "general");
//! # Ok(())
//! # }
//! ```

mod copied;
mod hopper;
#[cfg(feature = "ladder")]
mod hopper_ladder;
mod plan;
mod portable;
mod problem;
mod transposed;

use cust::memory::DeviceBuffer;
use warpsmith_launch::{Device, Limits};

pub use problem::{Input, InputElement, Layout, Order, Output, OutputElement, Problem};

use crate::error::Error;

/// Where the matrices' first elements lie on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operands {
    /// A.
    pub a: u64,
    /// B.
    pub b: u64,
    /// C.
    pub c: u64,
}

/// A way to compute a product.
pub struct Variant {
    /// Its name, as `--variant` takes it.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// Whether the dispatcher takes it by itself.
    pub automatic: Automatic,
    /// Why this device, or this product, is not for it.
    pub refusal: fn(&Limits, &Problem, &Operands) -> Option<String>,
    /// How it would deal the product out, in words, where there is a choice.
    pub plan: fn(&Limits, &Problem) -> Option<String>,
    /// Makes everything ready for launches.
    pub prepare: for<'d> fn(&'d Device, &Problem, &Operands) -> Result<Prepared<'d>, Error>,
}

/// Whether the dispatcher takes a variant that is not named.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Automatic {
    /// No: it is a step on the way to a fast kernel, or one plan of several.
    Never,
    /// Wherever it can.
    Always,
    /// For products of at least so many operations: what comes first costs too much for smaller ones.
    From(f64),
}

/// A launch that can be repeated.
pub struct Prepared<'d> {
    /// The kernel's name.
    pub kernel: &'static str,
    launch: Box<dyn Fn() -> Result<(), Error> + 'd>,
}

impl<'d> Prepared<'d> {
    /// A launch of `kernel`, as `launch` does it on the device's stream.
    pub fn new(kernel: &'static str, launch: impl Fn() -> Result<(), Error> + 'd) -> Self {
        Self { kernel, launch: Box::new(launch) }
    }

    /// Starts the kernel.
    ///
    /// # Safety
    /// The matrices are still where they were when it was prepared.
    pub unsafe fn launch(&self) -> Result<(), Error> {
        (self.launch)()
    }
}

/// All variants, the fastest first: the order in which the dispatcher asks.
pub fn variants() -> impl Iterator<Item = &'static Variant> {
    #[cfg(feature = "ladder")]
    let ladder = hopper_ladder::VARIANTS;
    #[cfg(not(feature = "ladder"))]
    let ladder: &[Variant] = &[];
    hopper::VARIANTS.iter().chain([&copied::VARIANT]).chain(portable::VARIANTS).chain(ladder)
}

/// What the dispatcher took.
pub struct Choice {
    /// The variant.
    pub variant: &'static Variant,
    /// How it deals the product out, where there is a choice.
    pub plan: Option<String>,
    /// The variants before it, and why each was passed over.
    pub passed_over: Vec<(&'static str, String)>,
}

impl Choice {
    /// What was taken, and how it deals the product out.
    pub fn how(&self) -> String {
        let mut text = format!("{}: {}", self.variant.name, self.variant.about);
        if let Some(plan) = &self.plan {
            text += &format!("; {plan}");
        }
        text
    }

    /// The same, and why the variants before it were passed over.
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
}

/// Chooses a variant: the one of that name, or the first that takes the product.
pub fn choose(
    limits: &Limits,
    problem: &Problem,
    operands: &Operands,
    wanted: Option<&str>,
) -> Result<Choice, Error> {
    problem.check()?;
    let mut passed_over = Vec::new();
    for variant in variants() {
        match wanted {
            Some(wanted) if wanted != variant.name => continue,
            None if variant.automatic == Automatic::Never => continue,
            _ => {}
        }
        if let (None, Automatic::From(least)) = (wanted, variant.automatic)
            && problem.operations() < least
        {
            let reason = format!("fewer than {least:e} operations are not worth a copy of the matrices");
            passed_over.push((variant.name, reason));
            continue;
        }
        match (variant.refusal)(limits, problem, operands) {
            None => {
                let plan = (variant.plan)(limits, problem);
                return Ok(Choice { variant, plan, passed_over });
            }
            Some(reason) => passed_over.push((variant.name, reason)),
        }
    }
    if passed_over.is_empty() {
        let names: Vec<_> = variants().map(|variant| variant.name).collect();
        let wanted = wanted.unwrap_or("any");
        return Err(Error::Product(format!(
            "there is no variant `{wanted}`; there are {}",
            names.join(", ")
        )));
    }
    let reasons: Vec<_> = passed_over.into_iter().map(|(name, reason)| format!("{name}: {reason}")).collect();
    Err(Error::Product(format!("no kernel takes it here ({})", reasons.join("; "))))
}

/// Makes the launch of a variant ready. An empty C needs no launch, and gets none.
///
/// # Safety
/// A, B and C lie at `operands`, as long as `problem` says, for as long as the launch is used.
pub unsafe fn prepare<'d>(
    device: &'d Device,
    variant: &Variant,
    problem: &Problem,
    operands: &Operands,
) -> Result<Prepared<'d>, Error> {
    if problem.m == 0 || problem.n == 0 {
        return Ok(Prepared::new("nothing", || Ok(())));
    }
    (variant.prepare)(device, problem, operands)
}

/// C = alpha · A · B + beta · C of buffers that begin with the matrices, by the variant that the dispatcher chooses.
pub fn multiply<I: InputElement, O: OutputElement>(
    device: &Device,
    problem: &Problem,
    a: &DeviceBuffer<I>,
    b: &DeviceBuffer<I>,
    c: &mut DeviceBuffer<O>,
) -> Result<Choice, Error> {
    if (I::INPUT, O::OUTPUT) != (problem.input, problem.output) {
        return Err(Error::Product(format!(
            "the buffers hold {} and {}, the product is described as one of {} and {}",
            I::INPUT.name(),
            O::OUTPUT.name(),
            problem.input.name(),
            problem.output.name()
        )));
    }
    problem.check()?;
    let has = [a.len(), b.len(), c.len()];
    for ((name, ..), (needed, has)) in
        problem.matrices().into_iter().zip(problem.lengths().into_iter().zip(has))
    {
        if needed > has {
            return Err(Error::Product(format!("{name} needs {needed} elements, its buffer has {has}")));
        }
    }
    let operands = Operands {
        a: a.as_device_ptr().as_raw(),
        b: b.as_device_ptr().as_raw(),
        c: c.as_device_ptr().as_raw(),
    };
    let choice = choose(device.limits(), problem, &operands, None)?;
    // SAFETY: the buffers are as long as the matrices, and alive until the launch has been enqueued; what frees them
    // waits for the device.
    unsafe { prepare(device, choice.variant, problem, &operands)?.launch()? };
    Ok(choice)
}

#[cfg(test)]
mod tests {
    use gpu_model::chips::H200;

    use super::*;

    fn limits(capability: (u32, u32), shared: u32) -> Limits {
        Limits { capability, shared_per_block_optin: shared, ..Limits::of_chip(&H200) }
    }

    const ALIGNED: Operands = Operands { a: 0x1000, b: 0x2000, c: 0x3000 };

    fn name(limits: &Limits, problem: &Problem, operands: &Operands) -> Result<&'static str, String> {
        choose(limits, problem, operands, None)
            .map(|choice| choice.variant.name)
            .map_err(|error| error.to_string())
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
        let unknown = choose(&small, &product, &ALIGNED, Some("fastest")).err().unwrap().to_string();
        assert!(unknown.contains("no variant `fastest`; there are"), "{unknown}");
    }
}
