//! Programs compiled together, and each run under several schedules with all checks.

use crate::evaluate::{Input, Output, evaluate};
use crate::program::Program;
use crate::source;
use cuda_builder::{CudaBuilder, NvvmArch};
use gpu_model::chips::H200;
use sanitizer::{Checks, Format, Sanitizer, render};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use virtual_gpu::{Gpu, Launch, Module, Options};

/// A rule of the library, and how to take it away: a text of one of its files, and what replaces it.
pub struct Rule {
    pub name: &'static str,
    pub file: &'static str,
    pub text: &'static str,
    pub without: &'static str,
    /// Text of programs that show it, and how many times at least.
    pub shown_by: (&'static str, usize),
}

/// The rules without which programs go wrong.
pub const RULES: [Rule; 16] = [
    Rule {
        name: "sharing waits",
        file: "block.rs",
        text: "        self.wait();\n        // SAFETY: the barrier was just now.",
        without: "",
        shown_by: ("block.share(filled)", 1),
    },
    Rule {
        name: "reusing waits",
        file: "block.rs",
        text: "        self.wait();\n        // SAFETY: as above.",
        without: "",
        shown_by: ("block.reuse(", 1),
    },
    Rule {
        name: "an element of a slice has one owner",
        file: "output/slice.rs",
        text: "let i = block.x() * Block::<W, H, D>::THREADS + t.long_index();",
        without: "let i = block.x() * Block::<W, H, D>::THREADS + t.long_index() / 2;",
        shown_by: ("mut out: SliceMut<u32>", 1),
    },
    Rule {
        name: "an element of a matrix has one owner",
        file: "output/matrix.rs",
        text: "let (row, col) = (block.y() * R, block.x() * C);\n        elements",
        without: "let (row, col) = (block.y() * R / 2, block.x() * C);\n        elements",
        shown_by: ("mut out: MatrixMut<u32, Tiles", 1),
    },
    Rule {
        name: "an element of a linear map has one owner",
        file: "linear.rs",
        text: "let first = X * t.x()",
        without: "let first = X * (t.x() / 2)",
        shown_by: ("mut out: MatrixMut<u32, Linear", 1),
    },
    Rule {
        name: "all elements of a linear map have one",
        file: "linear.rs",
        text: "for turn in 0..R * C / (W * H * D) {",
        without: "for turn in 0..R * C / (W * H * D) - 1 {",
        shown_by: (".fill_by(", 1),
    },
    Rule {
        name: "an element of a tile has one owner",
        file: "own.rs",
        text: "let mut i = t.index();",
        without: "let mut i = t.index() / 2;",
        shown_by: (".fill(", 1),
    },
    Rule {
        name: "all elements of a tile are filled",
        file: "own.rs",
        text: "i < ROWS * COLS",
        without: "i + 1 < ROWS * COLS",
        shown_by: (".fill(", 1),
    },
    Rule {
        name: "counting waits",
        file: "counter.rs",
        text: "        self.wait();\n        // SAFETY: every element was filled before the barrier.",
        without: "",
        shown_by: ("block.count(", 1),
    },
    Rule {
        name: "adding is atomic",
        file: "counter.rs",
        text: "unsafe { T::add_shared(self.first().add(L::place(row, col)), value) }",
        without: "unsafe { core::mem::replace(&mut *self.first().add(L::place(row, col)), value) }",
        shown_by: ("block.count(", 1),
    },
    Rule {
        name: "an exchange waits",
        file: "counter.rs",
        text: "        self.wait();\n        let (t, first)",
        without: "        let (t, first)",
        shown_by: ("block.exchange(", 1),
    },
    Rule {
        name: "an element has one pair",
        file: "counter.rs",
        text: "let low = (i / distance) * distance + i;",
        without: "let low = i;",
        shown_by: ("block.exchange(", 1),
    },
    Rule {
        name: "warps' values are read after a wait",
        file: "collective.rs",
        text: "        self.wait();\n        scratch",
        without: "        scratch",
        shown_by: ("&mut scratch", 1),
    },
    Rule {
        name: "warps' values are written after a wait",
        file: "collective.rs",
        text: "if scratch.is_read",
        without: "if false",
        shown_by: ("&mut scratch", 2),
    },
    Rule {
        name: "copies are waited for",
        file: "block.rs",
        text: "copies::wait(F::PENDING);",
        without: "",
        shown_by: ("block.commit(", 1),
    },
    Rule {
        name: "no more groups are left on their way than began since",
        file: "copies.rs",
        text: "    0 -> 1;",
        without: "    0 -> 2;",
        shown_by: ("block.commit_after(", 1),
    },
];

/// The seeds of the schedules; the plain one has none.
const SCHEDULES: [Option<u64>; 3] = [None, Some(1), Some(2)];

/// Compiles the programs in this folder, which it makes. Returns the PTX, or what rustc or the builder said.
pub fn compile(folder: &Path, programs: &[Program], without: Option<&Rule>) -> Result<String, String> {
    write(folder, &[("lib", source(programs))], without)?;
    build(folder, None)
}

/// Compiles a crate of this text, without a pass of the builder's.
pub fn compile_text(folder: &Path, text: String, left_out: Option<&'static str>) -> Result<String, String> {
    write(folder, &[("lib", text)], None)?;
    build(folder, left_out)
}

/// Makes a crate of these files, whose names end without `.rs`.
pub fn write(folder: &Path, files: &[(&str, String)], without: Option<&Rule>) -> Result<(), String> {
    let write = || -> io::Result<()> {
        let crates = fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates"))?;
        fs::create_dir_all(folder.join("src"))?;
        let blockwise = match without {
            Some(rule) => changed(&crates, folder, rule)?,
            None => crates.join("blockwise"),
        };
        let name = folder.file_name().unwrap_or_default();
        // Cargo tells crates of one target folder apart by their names and by their places in their workspaces. Two that agree in
        // both are one to it: a crate that was written before another one was compiled would pass for compiled.
        let manifest = format!(
            "[package]\nname = {name:?}\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\nblockwise = {{ path = {blockwise:?} }}\n\n[workspace]\n"
        );
        fs::write(folder.join("Cargo.toml"), manifest)?;
        fs::copy(crates.join("../Cargo.lock"), folder.join("Cargo.lock"))?;
        files.iter().try_for_each(|(name, text)| fs::write(folder.join(format!("src/{name}.rs")), text))
    };
    write().map_err(|error| format!("{}: {error}", folder.display()))
}

/// Compiles a crate for the device.
pub fn build(folder: &Path, left_out: Option<&'static str>) -> Result<String, String> {
    let ptx = folder.join("random.ptx");
    let mut builder =
        CudaBuilder::new(folder).arch(NvvmArch::Compute80).build_args(&["--offline"]).copy_to(&ptx);
    builder.left_out = left_out;
    let built = builder.build();
    let built = built.map_err(|error| error.to_string())?;
    fs::read_to_string(built).map_err(|error| error.to_string())
}

/// Type-checks a crate, for the host. Returns rustc's errors: in which file of the crate each is, and the text.
pub fn errors(folder: &Path) -> Result<Vec<(String, String)>, String> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(folder).args(["check", "--offline", "--message-format=json", "--target-dir"]);
    let output = cargo.arg(folder.join("target")).output().map_err(|error| error.to_string())?;
    let errors: Vec<_> = String::from_utf8_lossy(&output.stdout).lines().filter_map(error_of).collect();
    if errors.is_empty() && !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(errors)
}

/// The error of one of cargo's messages, if it is one and names a place.
fn error_of(line: &str) -> Option<(String, String)> {
    let message = &serde_json::from_str::<serde_json::Value>(line).ok()?["message"];
    let spans = message["spans"].as_array().filter(|_| message["level"] == "error")?;
    let of_crate =
        |span: &&serde_json::Value| span["file_name"].as_str().is_some_and(|file| file.starts_with("src/"));
    let file = spans.iter().find(of_crate)?["file_name"].as_str()?;
    Some((file.to_owned(), message["rendered"].as_str()?.to_owned()))
}

/// A copy of the library without a rule.
fn changed(crates: &Path, folder: &Path, rule: &Rule) -> io::Result<PathBuf> {
    let copy = folder.join("blockwise");
    let _ = fs::remove_dir_all(&copy);
    copy_folder(&crates.join("blockwise/src"), &copy.join("src"))?;
    let path_of = |name: &str| crates.join(name);
    let manifest = format!(
        "[package]\nname = \"blockwise\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[features]\nhost = []\n\n[dependencies]\n\
         cuda_std = {{ path = {:?}, default-features = false }}\ncuda_std_macros = {{ path = {:?} }}\ntile = {{ path = {:?} }}\n",
        path_of("cuda_std"),
        path_of("cuda_std_macros"),
        path_of("tile")
    );
    fs::write(copy.join("Cargo.toml"), manifest)?;
    let path = copy.join("src").join(rule.file);
    let text = fs::read_to_string(&path)?;
    if text.matches(rule.text).count() != 1 {
        let message = format!("the rule \"{}\" is not in {} once: `{}`", rule.name, rule.file, rule.text);
        return Err(io::Error::other(message));
    }
    fs::write(path, text.replace(rule.text, rule.without))?;
    Ok(copy)
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

/// Programs that were compiled together, loaded on a GPU for each schedule.
pub struct Loaded(Vec<(Option<u64>, Gpu, Module)>);

/// Loads the programs.
pub fn load(ptx: &str) -> Result<Loaded, String> {
    let load = |seed| {
        let gpu = Gpu::with_options(&H200, Options { threads: 1, seed, ..Options::default() });
        let module = gpu.load(ptx).map_err(|error| error.to_string())?;
        Ok((seed, gpu, module))
    };
    SCHEDULES.into_iter().map(load).collect::<Result<_, _>>().map(Loaded)
}

/// Runs a program under each schedule. The error says the first thing that is wrong.
pub fn run(Loaded(schedules): &Loaded, program: &Program) -> Result<(), String> {
    let numbers = |count: usize, factor: u32| -> Vec<u32> {
        (0..count as u32).map(|i| i.wrapping_mul(factor).rotate_left(7)).collect()
    };
    let [rows, cols] = program.matrix;
    let input = Input {
        elements: numbers(program.input, 2_654_435_761),
        matrix: numbers(rows * cols, 2_246_822_519),
    };
    let expected = evaluate(program, &input);
    for (seed, gpu, module) in schedules {
        let got = launch(gpu, module, program, &input).map_err(|error| format!("under {seed:?}: {error}"))?;
        for (what, got, expected) in
            [("element", got.elements, &expected.elements), ("counter", got.counters, &expected.counters)]
        {
            if let Some(at) = (0..expected.len()).find(|at| got[*at] != expected[*at]) {
                return Err(format!(
                    "under {seed:?}: {what} {at} of {} is {}, not {}",
                    got.len(),
                    got[at],
                    expected[at]
                ));
            }
        }
    }
    Ok(())
}

/// The result of one launch, unless a check found something.
fn launch(gpu: &Gpu, module: &Module, program: &Program, input: &Input) -> Result<Output, String> {
    let kernel = module.kernel(&program.name).ok_or("the kernel is not in the PTX")?;
    let sanitizer = Sanitizer::new(Checks::ALL);
    let allocate = |words: usize| -> Result<u64, String> {
        let address = gpu.memory().alloc(4 * words as u64).map_err(|error| error.to_string())?;
        sanitizer.host_allocated(address, 4 * words as u64, None);
        Ok(address)
    };
    let upload = |words: &[u32]| -> Result<u64, String> {
        let address = allocate(words.len())?;
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        gpu.memory().write(address, &bytes).map_err(|error| error.to_string())?;
        sanitizer.host_wrote(address, bytes.len() as u64);
        Ok(address)
    };
    let download = |address: u64, words: usize| -> Result<Vec<u32>, String> {
        let mut bytes = vec![0; 4 * words];
        gpu.memory().read(address, &mut bytes).map_err(|error| error.to_string())?;
        Ok(bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect())
    };
    let [rows, cols] = program.extents;
    let (from, matrix) = (upload(&input.elements)?, upload(&input.matrix)?);
    let (counters, to) = (upload(&vec![0; program.counters])?, allocate(rows * cols)?);

    // The slice, the number, the matrix, the counters and the output: where each lies, and its extents.
    let pair = |[rows, cols]: [usize; 2]| rows as u64 | (cols as u64) << 32;
    let extents = if program.map.is_of_matrix() { pair(program.extents) } else { cols as u64 };
    let values = [
        from,
        input.elements.len() as u64,
        u64::from(program.scalar),
        matrix,
        input.matrix.len() as u64,
        pair(program.matrix),
        counters,
        program.counters as u64,
        to,
        extents,
    ];
    if kernel.params().len() != values.len() {
        return Err(format!("the kernel has {} parameters", kernel.params().len()));
    }
    let mut parameters = vec![0; kernel.param_bytes()];
    for (parameter, value) in kernel.params().iter().zip(values) {
        let (at, size) = (parameter.offset as usize, parameter.size as usize);
        parameters[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
    }
    let ([across, down], [width, height]) = (program.grid(), program.block);
    let shape = Launch::new((across as u32, down as u32), (width as u32, height as u32));
    let launched = gpu.launch(&kernel, &shape, &parameters, &mut sanitizer.launch());
    let findings = sanitizer.findings();
    if !findings.is_empty() {
        return Err(render(&findings, Format::Text));
    }
    launched.map_err(|error| error.to_string())?;
    Ok(Output { elements: download(to, rows * cols)?, counters: download(counters, program.counters)? })
}
