//! Machine code, and the source line that each instruction came from.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use virtual_gpu::is_library;

use super::FileLine;
use crate::programs;

/// A kernel as `ptxas` compiles it.
pub(super) struct Machine {
    /// Registers and spills, as `ptxas` says them.
    pub resources: String,
    /// The instructions and labels in order.
    pub code: Vec<Step>,
}

/// An instruction or a label.
pub(super) struct Step {
    /// The line of the kernel that it came from, outside of libraries if there is one.
    pub place: Option<FileLine>,
    pub text: String,
}

/// Compiles a module for the kernel's sake, and disassembles it.
pub(super) fn assemble(kernel: &str, ptx: &str, arch: Option<&str>) -> anyhow::Result<Machine> {
    let tool = |name: &str| {
        programs::find(name)
            .with_context(|| format!("`{name}` is not here; `warpsmith doctor` says how to get it"))
    };
    let (ptxas, nvdisasm) = (tool("ptxas")?, tool("nvdisasm")?);
    let folder = tempfile::Builder::new().prefix("warpsmith-inspect-").tempdir()?;
    let file = |name: &str| -> PathBuf { folder.path().join(name) };
    let (source, object) = (file("kernels.ptx"), file("kernels.cubin"));
    std::fs::write(&source, ptx)?;
    let arch = arch.unwrap_or_else(|| wanted(ptx));
    let resources = run(Command::new(&ptxas)
        .args(["-v", "-lineinfo", &format!("-arch={arch}"), "-e", kernel, "-o"])
        .args([&object, &source]))?;
    let code = run(Command::new(&nvdisasm)
        .env("PATH", with_folder_of(&ptxas))
        .args(["--print-code", "--print-line-info-inline"])
        .arg(&object))?;
    let about = resources.lines().filter(|line| line.contains("registers") || line.contains("spill"));
    let resources = about.map(|line| format!("{}\n", line.trim())).collect();
    Ok(Machine { resources, code: steps(&code, kernel) })
}

/// The architecture that PTX is for if it runs on no other, else that of the H200.
fn wanted(ptx: &str) -> &str {
    let target = ptx.lines().find_map(|line| line.trim().strip_prefix(".target "));
    let target = target.and_then(|names| names.split([',', ' ']).next()).map(str::trim);
    target.filter(|name| name.ends_with('a')).unwrap_or("sm_90")
}

/// `nvdisasm`'s text of a kernel: before an instruction of another line than the last, the line's frames.
fn steps(text: &str, kernel: &str) -> Vec<Step> {
    let begin = format!(".text.{kernel}:");
    let body = text.lines().skip_while(|line| line.trim() != begin).skip(1);
    let (mut steps, mut frames, mut told): (Vec<Step>, Vec<FileLine>, bool) = Default::default();
    for line in body.take_while(|line| !line.starts_with("//--")) {
        let trimmed = line.trim();
        if let Some(frame) = frame(trimmed) {
            if std::mem::take(&mut told) {
                frames.clear();
            }
            frames.push(frame);
        } else if trimmed.starts_with("/*") || trimmed.starts_with(".L") {
            told = true;
            let own = frames.iter().find(|(file, _)| !is_library(file)).or(frames.first());
            steps.push(Step { place: own.cloned(), text: trimmed.to_owned() });
        }
    }
    steps
}

/// The place in `//## File "lib.rs", line 7 inlined at …`.
fn frame(comment: &str) -> Option<FileLine> {
    let (file, rest) = comment.strip_prefix("//## File \"")?.split_once("\", line ")?;
    Some((file.to_owned(), rest.split(' ').next()?.parse().ok()?))
}

/// `nvdisasm` may want its neighbours, which lie beside `ptxas`.
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

    const PRINTED: &str = "
//--------------------- .text.scale --------------------------
	.section	.text.scale,\"ax\",@progbits
scale:
.text.scale:
	//## File \"/p/src/lib.rs\", line 7
        /*0000*/                   LDC R1, c[0x0][0x28] ;
	//## File \"/rustc/1/library/core/src/num.rs\", line 9 inlined at \"/p/src/lib.rs\", line 8
	//## File \"/p/src/lib.rs\", line 8
        /*0010*/              @!P0 EXIT ;
.L_x_0:
        /*0020*/                   BRA `(.L_x_0);
//--------------------- .text.other --------------------------
.text.other:
        /*0000*/                   EXIT ;
";

    #[test]
    fn an_instruction_belongs_to_the_line_outside_of_libraries() {
        let steps = steps(PRINTED, "scale");
        let lines: Vec<_> = steps.iter().map(|step| step.place.as_ref().map(|place| place.1)).collect();
        assert_eq!(lines, [Some(7), Some(8), Some(8), Some(8)]);
        assert!(steps[1].text.ends_with("@!P0 EXIT ;") && steps[2].text == ".L_x_0:");
    }

    #[test]
    fn ptx_for_one_architecture_is_compiled_for_it() {
        assert_eq!(wanted(".version 8.0\n.target sm_90a\n"), "sm_90a");
        assert_eq!(wanted(".target sm_75, debug"), "sm_90");
    }
}
