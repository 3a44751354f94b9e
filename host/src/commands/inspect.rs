//! `warpsmith inspect`: what a kernel became.

use std::path::Path;
use std::process::Command;

use anyhow::Context as _;
use serde::Serialize;
use warpsmith_launch::{Description, Level};

use crate::answer::{Context, Outcome, Output};
use crate::modules::LEVELS;
use crate::programs;
use crate::registry;
use crate::source;

/// Arguments of `inspect`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Inspect {
    /// The kernel; `warpsmith list` has them all
    kernel: String,

    #[command(flatten)]
    form: Form,

    /// The architecture that ptxas compiles for, such as sm_90
    #[arg(long, default_value = "sm_90", value_parser = architecture)]
    arch: String,

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
    /// The machine code that ptxas makes of the PTX, with registers and spills
    #[arg(long)]
    sass: bool,
    /// The Rust source
    #[arg(long)]
    source: bool,
}

const EXAMPLES: &str = "\
Examples:
  warpsmith inspect matmul_tiled_16
  warpsmith inspect matmul_tiled_16 --source
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
    kernel: &'static str,
    form: &'static str,
    file: &'static str,
    line: u32,
    text: String,
}

impl Inspect {
    /// Runs the command.
    pub fn run(&self, _context: &Context) -> anyhow::Result<Outcome> {
        let (_, kernel) = registry::find(&self.kernel)?;
        let level = LEVELS.of(kernel.name)?.with_context(|| format!("`{}` is in no module", kernel.name))?;
        let (form, text) = match &self.form {
            form if form.source => ("source", rust(kernel)?),
            form if form.llvm => ("llvm", llvm(kernel.name)?),
            form if form.sass => ("sass", sass(kernel.name, level, &self.arch)?),
            _ => ("ptx", ptx(kernel.name, level)?),
        };
        let answer =
            Answer { kernel: kernel.name, form, file: registry::source(kernel), line: kernel.line, text };
        self.output.print(&answer, |answer| answer.text.clone())?;
        Ok(Outcome::Well)
    }
}

/// From the line that begins with `start` to the line that is `end`.
fn cut(text: &str, start: &str, end: &str) -> Option<String> {
    let at = text.find(start)?;
    let begin = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let length = text[at..].find(end)? + end.len();
    Some(text[begin..at + length].to_owned())
}

fn ptx(kernel: &str, level: &Level) -> anyhow::Result<String> {
    // Inline PTX has braces of its own at the start of a line; an empty line comes before that of the kernel alone.
    let text = cut(level.ptx(), &format!(".entry {kernel}("), "\n\n}\n");
    text.with_context(|| format!("`{kernel}` is not in the PTX"))
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

fn rust(kernel: &Description) -> anyhow::Result<String> {
    let path = source::locate(kernel.file)
        .with_context(|| format!("{} is not on this machine", registry::source(kernel)))?;
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let lines: Vec<&str> = text.lines().collect();
    let at = (kernel.line as usize).saturating_sub(1).min(lines.len().saturating_sub(1));
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

/// Compiles the module and disassembles the kernel.
fn sass(kernel: &str, level: &Level, arch: &str) -> anyhow::Result<String> {
    let tool = |name: &str| {
        programs::find(name)
            .with_context(|| format!("`{name}` is not here; `warpsmith doctor` says how to get it"))
    };
    let (ptxas, cuobjdump) = (tool("ptxas")?, tool("cuobjdump")?);
    let folder = std::env::temp_dir().join(format!("warpsmith-inspect-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let result = (|| {
        let (source, object) = (folder.join("kernels.ptx"), folder.join("kernels.cubin"));
        std::fs::write(&source, level.ptx())?;
        let resources = run(Command::new(&ptxas)
            .args(["-v", &format!("-arch={arch}"), "-e", kernel, "-o"])
            .args([&object, &source]))?;
        let code = run(Command::new(&cuobjdump)
            .env("PATH", with_folder_of(&ptxas))
            .args(["-sass", "-fun", kernel])
            .arg(&object))?;
        let about = resources.lines().filter(|line| line.contains("registers") || line.contains("spill"));
        Ok(about.map(|line| format!("{}\n", line.trim())).collect::<String>() + &code)
    })();
    // Left behind, the folder would only be litter.
    let _ = std::fs::remove_dir_all(&folder);
    result
}

/// `cuobjdump` starts `nvdisasm`, which lies beside `ptxas`.
fn with_folder_of(program: &Path) -> std::ffi::OsString {
    let mut folders: Vec<_> = program.parent().map(Path::to_owned).into_iter().collect();
    folders.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    std::env::join_paths(folders).unwrap_or_default()
}

fn run(command: &mut Command) -> anyhow::Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot run {name}"))?;
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "{name} fails: {}", text.trim());
    Ok(text.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_shows_the_kernel_and_nothing_after_it() {
        for (_, kernel) in registry::kernels() {
            let level = LEVELS.of(kernel.name).unwrap().unwrap();
            let ptx = ptx(kernel.name, level).unwrap();
            assert_eq!(ptx.matches(".entry").count(), 1, "{}", kernel.name);
            assert!(ptx.ends_with("}\n"));
            assert_eq!(ptx.matches('{').count(), ptx.matches('}').count(), "{}", kernel.name);
            assert!(llvm(kernel.name).unwrap().starts_with("define"), "{}", kernel.name);
        }
        let (_, kernel) = registry::find("matmul_naive").unwrap();
        let rust = rust(kernel).unwrap();
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
