//! `warpsmith inspect`: what a kernel became.

mod lines;
mod sass;

use std::fmt::Write;

use anyhow::Context as _;
use serde::Serialize;
use warpsmith_launch::Description;

use crate::answer::{Context, Outcome, Output};
use crate::merging;
use crate::modules::LEVELS;
use crate::registry;
use crate::source;
use crate::subject::{Named, Recording, Subject};

/// Arguments of `inspect`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
#[command(group(clap::ArgGroup::new("about").required(true).multiple(true).args(["names", "program"])))]
pub struct Inspect {
    #[command(flatten)]
    subject: Subject,

    #[command(flatten)]
    form: Form,

    /// The architecture that ptxas compiles for, such as sm_75; sm_90, or the one that the PTX is for, if left out
    #[arg(long, value_parser = architecture)]
    arch: Option<String>,

    #[command(flatten)]
    output: Output,
}

#[derive(clap::Args, Debug)]
#[group(multiple = false)]
struct Form {
    /// The PTX; the default
    #[arg(long)]
    ptx: bool,
    /// The optimised LLVM module before it became PTX
    #[arg(long)]
    llvm: bool,
    /// The machine code that ptxas makes of the PTX, with registers, spills and source lines
    #[arg(long)]
    sass: bool,
    /// Each source line with its PTX and, where ptxas is, its machine code beside it
    #[arg(long)]
    lines: bool,
    /// The source: of any PTX that says its lines, where the files are on this machine
    #[arg(long)]
    source: bool,
}

/// A file, as the compiler named it, and a line.
type FileLine = (String, u32);

const EXAMPLES: &str = "\
Examples:
  warpsmith inspect matmul_tiled_16
  warpsmith inspect matmul_tiled_16 --source
  warpsmith inspect matmul_tiled_16 --lines
  warpsmith inspect kernels.ptx:saxpy --sass                 any PTX, or one kernel of it
  warpsmith inspect saxpy --source -- cargo run              of what a program loads
  warpsmith inspect matmul_tiled_16 --sass --arch sm_75      see `warpsmith doctor`";

fn architecture(text: &str) -> Result<String, String> {
    let digits = text.strip_prefix("sm_").unwrap_or("");
    let number = digits.trim_end_matches(['a', 'f']);
    if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) {
        Ok(text.to_owned())
    } else {
        Err("an architecture is written sm_90".into())
    }
}

/// The shape of `inspect --json`.
#[derive(Serialize)]
struct Answer {
    kernel: String,
    form: &'static str,
    file: String,
    line: u32,
    text: String,
}

impl Inspect {
    /// Runs the command.
    pub fn run(&self, _context: &Context) -> anyhow::Result<Outcome> {
        let (mut answers, mut outcome) = (Vec::new(), Outcome::Well);
        if let Some(recording) = self.subject.run()? {
            for kernel in wanted(&recording, &self.subject.names)? {
                let text = recording.modules.iter().find(|text| entry(text, &kernel).is_some());
                let text = text.with_context(|| format!("`{kernel}` is in no module of the program"))?;
                answers.push(self.of_ptx(text, &kernel, "")?);
            }
            outcome = recording.outcome;
        }
        for named in if answers.is_empty() { self.subject.named()? } else { Vec::new() } {
            match named {
                Named::Kernel { kernel, .. } => answers.push(self.of_repository(kernel)?),
                Named::Profile { file, .. } => {
                    anyhow::bail!("{} is a profile, which has no code: name PTX or a program", file.display())
                }
                Named::Ptx { file, kernel } => {
                    let text = std::fs::read_to_string(&file)
                        .with_context(|| format!("cannot read {}", file.display()))?;
                    let module = ptx::parse(&text).with_context(|| format!("{}", file.display()))?;
                    let all: Vec<&str> = entries(&module).collect();
                    if let Some(kernel) = &kernel {
                        known(kernel, &all)?;
                    }
                    for kernel in kernel.as_deref().map_or(all, |kernel| vec![kernel]) {
                        answers.push(self.of_ptx(&text, kernel, &file.display().to_string())?);
                    }
                }
            }
        }
        let text = |answers: &[Answer]| {
            answers.iter().map(|answer| answer.text.as_str()).collect::<Vec<_>>().join("\n")
        };
        match &answers[..] {
            [answer] => self.output.print(answer, |answer| answer.text.clone())?,
            several => self.output.print(&several, |answers| text(answers))?,
        }
        Ok(outcome)
    }

    /// A kernel of this repository.
    fn of_repository(&self, kernel: &Description) -> anyhow::Result<Answer> {
        let level = LEVELS.of(kernel.name).with_context(|| format!("`{}` is in no module", kernel.name))?;
        let (form, text) = match &self.form {
            form if form.source => ("source", source_of(kernel.file, kernel.line, kernel.name)?),
            form if form.llvm => ("llvm", llvm(kernel.name)?),
            form if form.sass => ("sass", sass(kernel.name, level.ptx(), self.arch.as_deref())?),
            form if form.lines => ("lines", lines::lines(kernel.name, level.ptx(), self.arch.as_deref())?),
            _ => ("ptx", ptx(kernel.name, level.ptx())?),
        };
        let (kernel, file, line) = (kernel.name.to_owned(), registry::source(kernel).to_owned(), kernel.line);
        Ok(Answer { kernel, form, file, line, text })
    }

    /// A kernel of any PTX.
    fn of_ptx(&self, text: &str, kernel: &str, file: &str) -> anyhow::Result<Answer> {
        let place = place(text, kernel)?;
        let (form, shown) = match &self.form {
            form if form.llvm => {
                anyhow::bail!("`{kernel}` is there as PTX: --ptx, --sass, --lines and --source show it")
            }
            form if form.source => {
                let (file, line) = place.as_ref().with_context(|| {
                    format!("the PTX of `{kernel}` does not say its lines (nvcc does with -lineinfo)")
                })?;
                ("source", source_of(file, *line, kernel)?)
            }
            form if form.sass => ("sass", sass(kernel, text, self.arch.as_deref())?),
            form if form.lines => ("lines", lines::lines(kernel, text, self.arch.as_deref())?),
            _ => ("ptx", ptx(kernel, text)?),
        };
        let (file, line) = place.map_or((file.to_owned(), 0), |(file, line)| (source::relative(&file), line));
        Ok(Answer { kernel: kernel.to_owned(), form, file, line, text: shown })
    }
}

/// The kernels of a module, in the order of the text.
fn entries(module: &ptx::Module) -> impl Iterator<Item = &str> {
    let entries = module.functions.iter().filter(|function| function.kind == ptx::FunctionKind::Entry);
    entries.map(|function| function.name.as_str())
}

/// Refuses a name that is none of a module's kernels.
pub(in crate::commands) fn known(kernel: &str, all: &[&str]) -> anyhow::Result<()> {
    anyhow::ensure!(
        all.contains(&kernel),
        "there is no kernel `{kernel}`;{} it has {}",
        ptx::meant(kernel, all.iter().copied()),
        all.join(", ")
    );
    Ok(())
}

/// The kernels of a program that are asked for: by name, or all of them.
fn wanted(recording: &Recording, names: &[String]) -> anyhow::Result<Vec<String>> {
    let modules: Vec<ptx::Module> =
        recording.modules.iter().map(|text| ptx::parse(text)).collect::<Result<_, _>>()?;
    let all: Vec<&str> = modules.iter().flat_map(entries).collect();
    for name in names {
        known(name, &all)?;
    }
    let all = || all.iter().map(|&name| name.to_owned());
    Ok(if names.is_empty() { all().collect() } else { names.to_vec() })
}

/// From the line that begins with `start` to the line that is `end`.
fn cut(text: &str, start: &str, end: &str) -> Option<String> {
    let at = text.find(start)?;
    let begin = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let length = text[at..].find(end)? + end.len();
    Some(text[begin..at + length].to_owned())
}

/// A kernel in a text of PTX, from its line to the brace that ends it.
fn entry<'a>(text: &'a str, kernel: &str) -> Option<&'a str> {
    let at = text.find(&format!(".entry {kernel}("))?;
    let begin = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let mut depth = 0;
    let brace = text[at..].char_indices().find(|(_, letter)| match letter {
        '{' => {
            depth += 1;
            false
        }
        '}' => {
            depth -= 1;
            depth == 0
        }
        _ => false,
    })?;
    let end = at + brace.0 + 1;
    Some(&text[begin..if text[end..].starts_with('\n') { end + 1 } else { end }])
}

fn ptx(kernel: &str, text: &str) -> anyhow::Result<String> {
    entry(text, kernel).map(str::to_owned).with_context(|| format!("`{kernel}` is not in the PTX"))
}

fn llvm(kernel: &str) -> anyhow::Result<String> {
    let entry = format!("@{kernel}(");
    for packed in warpsmith_kernels::LLVM {
        let text = lz4_flex::block::decompress_size_prepended(packed)?;
        let module = std::str::from_utf8(&text)?;
        if let Some(define) = module.lines().find(|line| line.starts_with("define") && line.contains(&entry))
        {
            return cut(module, define, "\n}\n")
                .with_context(|| format!("`{kernel}` does not end in the LLVM module"));
        }
    }
    anyhow::bail!("`{kernel}` is not in the LLVM module")
}

/// Where a kernel of any PTX comes from: the place, outside what was inlined, of its first instruction that has one.
fn place(text: &str, kernel: &str) -> anyhow::Result<Option<(String, u32)>> {
    let module = ptx::parse(text)?;
    let function = module.functions.iter().find(|function| function.name.as_str() == kernel);
    let Some(body) = function.and_then(|function| function.body.as_ref()) else { return Ok(None) };
    let lines = ptx::SourceLines::new(&module);
    let mut code = Vec::new();
    merging::flatten(&body.statements, &mut code);
    let mut places = code.into_iter().flatten().filter_map(|instruction| instruction.loc);
    let frame = places.find_map(|loc| lines.frames(loc).pop());
    Ok(frame.map(|frame| (frame.file.to_string(), frame.line)))
}

/// The function of that name in a file, which one of its lines is known of.
fn source_of(file: &str, line: u32, function: &str) -> anyhow::Result<String> {
    let path =
        source::locate(file).with_context(|| format!("{} is not on this machine", source::relative(file)))?;
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let lines: Vec<&str> = text.lines().collect();
    let known = (line as usize).saturating_sub(1).min(lines.len().saturating_sub(1));
    // A kernel's first instructions may have its attribute's line.
    let known = (known..lines.len()).find(|&i| !lines[i].trim_start().starts_with('#')).unwrap_or(known);
    // A kernel that a macro writes has its name nowhere.
    let named = |i: &usize| {
        lines[*i].contains(&format!("{function}(")) || lines[*i].contains(&format!("{function}<"))
    };
    let at = (0..=known).rev().find(named).unwrap_or(known);
    // The documentation and attributes above belong to it; the body ends with a brace in the same column.
    let mut first = at;
    while first > 0 && lines[first - 1].trim_start().starts_with(['/', '#']) {
        first -= 1;
    }
    let indent = lines[at].len() - lines[at].trim_start().len();
    let close = format!("{}}}", " ".repeat(indent));
    let last = (at..lines.len()).find(|&i| lines[i] == close).unwrap_or(lines.len() - 1);
    Ok(lines[first..=last].join("\n"))
}

/// The machine code, with the source line before what came of it.
fn sass(kernel: &str, ptx: &str, arch: Option<&str>) -> anyhow::Result<String> {
    let machine = sass::assemble(kernel, ptx, arch)?;
    let mut out = machine.resources;
    let mut last = None;
    for step in machine.code {
        if let Some((file, line)) = step.place.as_ref().filter(|_| step.place != last) {
            let text = source::line(file, *line).unwrap_or_default();
            let _ = writeln!(out, "// {}:{line}  {}", source::relative(file), text.trim());
        }
        let _ = writeln!(out, "    {}", step.text);
        last = step.place;
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_shows_the_kernel_and_nothing_after_it() {
        for (_, kernel) in registry::kernels() {
            let level = LEVELS.of(kernel.name).unwrap();
            let ptx = ptx(kernel.name, level.ptx()).unwrap();
            assert_eq!(ptx.matches(".entry").count(), 1, "{}", kernel.name);
            assert!(ptx.ends_with("}\n"));
            assert_eq!(ptx.matches('{').count(), ptx.matches('}').count(), "{}", kernel.name);
            assert!(llvm(kernel.name).unwrap().starts_with("define"), "{}", kernel.name);
        }
        let (_, kernel) = registry::find("matmul_naive").unwrap();
        let (file, line) = place(LEVELS.of(kernel.name).unwrap().ptx(), kernel.name).unwrap().unwrap();
        let rust = source_of(kernel.file, kernel.line, kernel.name).unwrap();
        for line in [line, kernel.line + 3] {
            assert_eq!(source_of(&file, line, kernel.name).unwrap(), rust, "from line {line}");
        }
        assert!(
            rust.starts_with("///") && rust.contains("fn matmul_naive") && rust.ends_with("\n}"),
            "{rust}"
        );
    }

    #[test]
    fn architectures() {
        assert!(architecture("sm_90").is_ok() && architecture("sm_90a").is_ok());
        assert!(architecture("90").is_err() && architecture("sm_").is_err() && architecture("sm_x").is_err());
    }
}
