//! `warpsmith occupancy`: blocks and warps per multiprocessor.

use std::sync::LazyLock;

use anyhow::Context as _;
use gpu_model::chips::{self, Chip};
use gpu_model::occupancy::{self, Advice, BlockNeeds, Example, Occupancy as Model};
use gpu_model::{Capability, SmLimits};
use serde::Serialize;
use virtual_gpu::Gpu;
use warpsmith_launch::{Description, Device};

use super::inspect;
use crate::answer::{Context, Outcome, Output, whole};
use crate::modules::LEVELS;
use crate::resources::Resources;
use crate::size::Size;
use crate::subject::{Named, Recording, Subject};
use crate::terminal;

/// Arguments of `occupancy`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
#[command(group(clap::ArgGroup::new("about").required(true).multiple(true).args(["names", "program", "block", "example"])))]
pub struct Occupancy {
    #[command(flatten)]
    subject: Subject,

    /// Shape of a block: N, XxY or XxYxZ; a kernel's own shape if it has one, else 256
    #[arg(long, allow_hyphen_values = true)]
    block: Option<Size>,

    /// Registers of a thread; without it and without a kernel they are unknown and left out
    #[arg(long, allow_hyphen_values = true, value_parser = whole(1, 1024))]
    registers: Option<u32>,

    /// Bytes of dynamic shared memory of a block
    #[arg(long, allow_hyphen_values = true, value_parser = whole(0, 1 << 30))]
    shared: Option<u32>,

    #[arg(long, value_parser = parse_chip, help = CHIP.as_str())]
    model: Option<&'static Chip>,

    /// A chip generation instead of a chip, 1.0 to 12.1
    #[arg(long, allow_hyphen_values = true, conflicts_with = "model")]
    capability: Option<Capability>,

    /// The worked examples of the teaching texts
    #[arg(long, conflicts_with_all = ["names", "program", "block", "registers", "shared", "model", "capability"])]
    example: bool,

    #[command(flatten)]
    output: Output,
}

const EXAMPLES: &str = "\
Examples:
  warpsmith occupancy matmul_tiled_16 transpose
  warpsmith occupancy matmul_dynamic --block 32x32 --shared 8192
  warpsmith occupancy kernels.ptx:saxpy --block 128         any PTX
  warpsmith occupancy saxpy -- cargo run                    as a program launches it, or p.json:saxpy, its profile
  warpsmith occupancy --block 16x16 --registers 40 --shared 2048
  warpsmith occupancy --block 256 --registers 64 --model rtx4090
  warpsmith occupancy --example";

/// The help of `--model`.
pub(in crate::commands) static CHIP: LazyLock<String> =
    LazyLock::new(|| format!("The chip: {}", chip_keys()));

fn chip_keys() -> String {
    chips::ALL.map(|chip| chip.key).join(", ")
}

/// Reads the key of a named chip.
pub(in crate::commands) fn parse_chip(key: &str) -> Result<&'static Chip, String> {
    chips::by_key(key).ok_or_else(|| format!("known are {}", chip_keys()))
}

#[derive(Serialize)]
struct Answer {
    capability: Capability,
    kernel: Option<String>,
    resources: Option<Resources>,
    limits: &'static SmLimits,
    occupancy: Model,
    advice: Vec<Advice>,
    /// Why such a chip does not run the kernel as it was compiled.
    #[serde(skip)]
    refusal: Option<String>,
}

#[derive(Serialize)]
struct Examples {
    examples: Vec<Example>,
}

impl Occupancy {
    /// Runs the command.
    pub fn run(&self, context: &Context) -> anyhow::Result<Outcome> {
        if self.example {
            let examples = Examples { examples: occupancy::examples()? };
            self.output.print(&examples, example_text)?;
            return Ok(Outcome::Well);
        }
        let asked = match (self.capability, self.model) {
            (Some(capability), _) => Some(SmLimits::known(capability)?),
            (None, model) => model.map(|chip| chip.sm),
        };
        let (kernels, outcome) = self.kernels(context, asked)?;
        match &kernels[..] {
            [] if self.subject.is_empty() => self.output.print(&self.of(None, asked)?, text)?,
            [] => anyhow::bail!("there is no kernel in it"),
            [kernel] => self.output.print(&self.of(Some(kernel), asked)?, text)?,
            several => {
                let answers: Vec<Answer> =
                    several.iter().map(|kernel| self.of(Some(kernel), asked)).collect::<Result<_, _>>()?;
                let texts = |answers: &Vec<Answer>| answers.iter().map(text).collect::<Vec<_>>().join("\n");
                self.output.print(&answers, texts)?;
            }
        }
        Ok(outcome)
    }

    /// The answer for a kernel, or for numbers alone.
    fn of(&self, one: Option<&Kernel>, asked: Option<&'static SmLimits>) -> anyhow::Result<Answer> {
        let own = one.map(|kernel| kernel.limits);
        let limits = own.or(asked).unwrap_or(chips::H200.sm);
        let block = self.block.or(one.map(|kernel| kernel.block));
        let block = block.ok_or_else(|| anyhow::anyhow!("say the shape of a block: --block 16x16"))?;
        let threads = threads(block)?;
        if let Some(kernel) = one {
            admits(kernel, block, threads)?;
        }
        let resources = one.map(|kernel| kernel.resources.clone());
        let needs = BlockNeeds {
            threads,
            registers_per_thread: self
                .registers
                .or(resources.as_ref().and_then(|resources| resources.registers))
                .unwrap_or(0),
            static_shared: resources.as_ref().map_or(0, |resources| resources.static_shared),
            dynamic_shared: self.shared.or(one.map(|kernel| kernel.dynamic_shared)).unwrap_or(0),
        };
        let found = Model::new(limits, needs)?;
        let advice = found.advice(limits);
        Ok(Answer {
            capability: limits.capability,
            kernel: one.map(|kernel| kernel.name.clone()),
            refusal: one.and_then(|kernel| kernel.refusal.clone()),
            resources,
            limits,
            occupancy: found,
            advice,
        })
    }
}

/// A kernel, and what its launches are like as far as is known.
struct Kernel {
    name: String,
    limits: &'static SmLimits,
    resources: Resources,
    /// The only shape that it is compiled for.
    required: Option<[u32; 3]>,
    max_threads: Option<u32>,
    /// The shape of its launches, or else one that it admits.
    block: Size,
    dynamic_shared: u32,
    refusal: Option<String>,
}

impl Occupancy {
    /// The kernels that are meant, none if only numbers are given; and how the program ended that was run for them.
    fn kernels(
        &self,
        context: &Context,
        asked: Option<&'static SmLimits>,
    ) -> anyhow::Result<(Vec<Kernel>, Outcome)> {
        let limits = asked.unwrap_or(chips::H200.sm);
        if !self.subject.program.is_empty() {
            let recording = self.subject.recording(None)?;
            return Ok((launched(&recording, limits), recording.outcome));
        }
        let mut kernels = Vec::new();
        for named in self.subject.named()? {
            match named {
                Named::Kernel { kernel, .. } => kernels.push(of_repository(kernel, context, asked)?),
                named @ Named::Profile { .. } => kernels.extend(launched(&named.recording(None)?, limits)),
                Named::Ptx { file, kernel } => {
                    let text = std::fs::read_to_string(&file)
                        .with_context(|| format!("cannot read {}", file.display()))?;
                    let module = Gpu::new(&chips::H200)
                        .load(&text)
                        .with_context(|| format!("{} is refused", file.display()))?;
                    let all: Vec<virtual_gpu::Kernel> = module.kernels().collect();
                    let names: Vec<&str> = all.iter().map(virtual_gpu::Kernel::name).collect();
                    if let Some(kernel) = &kernel {
                        inspect::known(kernel, &names)?;
                    }
                    let meant = |found: &&virtual_gpu::Kernel| {
                        kernel.as_deref().is_none_or(|kernel| kernel == found.name())
                    };
                    kernels.extend(all.iter().filter(meant).map(|found| of_ptx(found, &text, limits)));
                }
            }
        }
        Ok((kernels, Outcome::Well))
    }
}

/// A kernel of this repository, on the device that is asked for or another.
fn of_repository(
    kernel: &Description,
    context: &Context,
    asked: Option<&'static SmLimits>,
) -> anyhow::Result<Kernel> {
    let device = Device::open(context.device)?;
    let (major, minor) = device.limits().capability;
    let own = Capability::new(u8::try_from(major)?, u8::try_from(minor)?);
    let limits = asked.map_or_else(|| SmLimits::known(own), Ok)?;
    Ok(Kernel {
        name: kernel.name.to_owned(),
        limits,
        resources: Resources::of(&device, kernel, limits.capability)?,
        required: kernel.bounds.block_dim,
        max_threads: kernel.bounds.max_threads,
        block: block_of(kernel.bounds.block_dim, kernel.bounds.max_threads),
        dynamic_shared: 0,
        refusal: refusal(kernel.name, limits.capability),
    })
}

/// A kernel of any PTX.
fn of_ptx(kernel: &virtual_gpu::Kernel, text: &str, limits: &'static SmLimits) -> Kernel {
    let (required, max_threads) = (kernel.required_block(), kernel.max_threads());
    Kernel {
        name: ptx::rust_name(kernel.name()).into_owned(),
        limits,
        resources: Resources::of_ptx(kernel, text, limits.capability),
        required,
        max_threads,
        block: block_of(required, max_threads),
        dynamic_shared: 0,
        refusal: None,
    }
}

/// The kernels of a recording, each as its largest blocks were launched.
fn launched(recording: &Recording, limits: &'static SmLimits) -> Vec<Kernel> {
    let kernels = recording.kernels();
    let largest = kernels.iter().filter_map(|kernel| {
        let launches = recording.of(kernel).map(|launch| &launch.profile);
        launches.max_by_key(|launch| (launch.block.iter().product::<u32>(), launch.shared_bytes))
    });
    let described = largest.map(|launch| {
        let resources = Resources::launched(&launch.kernel, launch, &recording.modules, limits.capability);
        let [x, y, z] = launch.block.map(|extent| extent as usize);
        Kernel {
            name: launch.kernel.clone(),
            limits,
            dynamic_shared: launch.shared_bytes.saturating_sub(resources.static_shared),
            resources,
            required: None,
            max_threads: None,
            block: Size::Three(x, y, z),
            refusal: None,
        }
    });
    described.collect()
}

/// The shape that a kernel demands, or 256 threads.
fn block_of(required: Option<[u32; 3]>, max_threads: Option<u32>) -> Size {
    match required {
        Some([x, y, z]) => Size::Three(x as usize, y as usize, z as usize),
        None => Size::One(max_threads.map_or(256, |most| most.min(256)) as usize),
    }
}

/// Refuses a shape that the kernel cannot be launched with.
fn admits(kernel: &Kernel, block: Size, threads: u32) -> anyhow::Result<()> {
    let [x, y, z] = extents(block);
    if let Some(own) = kernel.required {
        let [a, b, c] = own;
        anyhow::ensure!(
            [x, y, z] == own.map(|extent| extent as usize),
            "`{}` is written for blocks of {a}x{b}x{c} threads, not {x}x{y}x{z}",
            kernel.name
        );
    }
    let most = kernel.max_threads.unwrap_or(u32::MAX);
    anyhow::ensure!(
        threads <= most,
        "`{}` admits blocks of at most {most} threads, not {threads}",
        kernel.name
    );
    Ok(())
}

/// A shape in three dimensions.
fn extents(block: Size) -> [usize; 3] {
    match block {
        Size::One(x) => [x, 1, 1],
        Size::Two(x, y) => [x, y, 1],
        Size::Three(x, y, z) => [x, y, z],
    }
}

/// Threads of a block, whatever its shape.
fn threads(block: Size) -> anyhow::Result<u32> {
    let [.., z] = extents(block);
    anyhow::ensure!(z <= 64, "a block of {block} threads is deeper than any chip admits (64 in z)");
    extents(block)
        .into_iter()
        .try_fold(1usize, usize::checked_mul)
        .and_then(|threads| u32::try_from(threads).ok())
        .ok_or_else(|| anyhow::anyhow!("a block of {block} threads is larger than any chip admits (1024)"))
}

fn text(answer: &Answer) -> String {
    let paint = report::text::Paint { colour: terminal::colour(&std::io::stdout()) };
    let found = &answer.occupancy;
    let mut out = String::new();
    if let (Some(kernel), Some(resources)) = (&answer.kernel, &answer.resources) {
        let registers = match (found.needs.registers_per_thread, resources.registers) {
            (0, _) => "registers unknown".to_owned(),
            (count, Some(own)) if own == count => {
                format!("{count} registers a thread (from {})", resources.registers_from)
            }
            (count, _) => format!("{count} registers a thread (as asked for)"),
        };
        let needs = format!(
            "{registers}, {} of static and {} of dynamic shared memory",
            report::unit::bytes(resources.static_shared.into()),
            report::unit::bytes(found.needs.dynamic_shared.into())
        );
        out.push_str(&terminal::wrapped(&format!("{}: ", terminal::heading(kernel)), &needs));
    }
    let blocks = format!(
        "{} of {} on a multiprocessor of capability {} ({}): {} of {} warps, {:.0} %",
        report::text::counted(found.blocks.into(), "block", "blocks"),
        report::text::counted(found.needs.threads.into(), "thread", "threads"),
        answer.capability,
        answer.capability.architecture(),
        found.warps,
        answer.limits.warps,
        found.fraction * 100.0
    );
    out.push_str(&terminal::wrapped("", &blocks));
    out.push('\n');
    out.push_str(&report::text::occupancy(found, answer.limits, terminal::width(), paint));
    if found.needs.registers_per_thread == 0 {
        let reason = answer.resources.as_ref().map_or("none were given", |own| own.registers_from.as_str());
        let sentence = format!("Registers are unknown ({reason}): fewer blocks may really fit.");
        note(&mut out, &sentence);
    }
    if found.needs.dynamic_shared == 0
        && answer.resources.as_ref().is_some_and(|resources| resources.uses_dynamic_shared)
    {
        note(
            &mut out,
            "It takes dynamic shared memory, whose size each launch decides. This table assumes none: add --shared BYTES. \
             `warpsmith profile KERNEL --json` says what its demo takes (shared_bytes).",
        );
    }
    if found.needs_opt_in {
        let sentence = format!(
            "More than {} bytes of shared memory: the kernel must opt in before its launch.",
            answer.limits.shared_per_block
        );
        note(&mut out, &sentence);
    }
    if let Some(reason) = &answer.refusal {
        note(
            &mut out,
            &format!(
                "These are that chip's limits, but as compiled the kernel does not run there: {reason}."
            ),
        );
    }
    if answer.advice.is_empty() {
        out.push_str("\nNothing here would let more warps in.\n");
    } else {
        out.push_str("\nWhat would help:\n");
        for advice in &answer.advice {
            out.push_str(&terminal::wrapped("  ", &advice.to_string()));
        }
    }
    out
}

/// A sentence of its own.
fn note(out: &mut String, sentence: &str) {
    out.push('\n');
    out.push_str(&terminal::wrapped("", sentence));
}

/// Why chips of that capability do not run the kernel as it was compiled.
fn refusal(kernel: &str, capability: Capability) -> Option<String> {
    let level = LEVELS.of(kernel)?;
    level.refusal((capability.major.into(), capability.minor.into()))
}

fn example_text(examples: &Examples) -> String {
    let mut out = String::new();
    for example in &examples.examples {
        out.push_str(&terminal::wrapped("", &terminal::heading(example.question)));
        out.push_str(&terminal::wrapped("  ", &format!("{}: {}", example.reasoning, example.answer)));
        out.push('\n');
    }
    out
}
