//! Compiles fixtures, each combination of options once.

use cuda_builder::{CudaBuilder, CudaBuilderError, NvvmArch};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex};

/// Where this test run puts its files.
pub fn scratch() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("cuda-builder-tests")
}

pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// A builder for a fixture, as in a build script: device crates are cached in the target folder that `OUT_DIR` is in.
pub fn builder(name: &str, arch: NvvmArch) -> CudaBuilder {
    static OUT: LazyLock<PathBuf> = LazyLock::new(|| {
        let target =
            Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("tmp is in the target folder").to_owned();
        let out = target.join("tests/build/cuda_builder/out");
        // SAFETY: the first of all builders comes here while the others wait, and nothing else reads the environment.
        unsafe { std::env::set_var("OUT_DIR", &out) };
        out
    });
    let _ = &*OUT;
    CudaBuilder::new(fixture(name)).arch(arch)
}

/// Builds with these options, to a file named after them.
pub fn build(
    label: &str,
    name: &str,
    arch: NvvmArch,
    options: impl FnOnce(CudaBuilder) -> CudaBuilder,
) -> Result<String, CudaBuilderError> {
    let path = scratch().join(format!("{}-{arch}-{label}.ptx", name.replace(['/', '.'], "_")));
    let path = options(builder(name, arch)).copy_to(path).build()?;
    Ok(std::fs::read_to_string(path).expect("the PTX was written"))
}

/// The fixture's PTX for an architecture, with default options.
pub fn kernels(arch: NvvmArch) -> Arc<String> {
    with("default", arch, |builder| builder)
}

/// The fixture's PTX with other options.
pub fn with(label: &str, arch: NvvmArch, options: impl FnOnce(CudaBuilder) -> CudaBuilder) -> Arc<String> {
    type Cache = Mutex<HashMap<String, Arc<String>>>;
    static CACHE: LazyLock<Cache> = LazyLock::new(Cache::default);
    let mut cache = CACHE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let key = format!("{label} {arch}");
    if let Some(known) = cache.get(&key) {
        return known.clone();
    }
    let ptx = build(label, "kernels", arch, options).unwrap_or_else(|error| panic!("{error}"));
    cache.entry(key).or_insert_with(|| Arc::new(ptx)).clone()
}

/// One function of the PTX, without source lines.
pub fn function<'a>(ptx: &'a str, name: &str) -> Vec<&'a str> {
    let mut lines = ptx.lines();
    let is_head = |line: &str| {
        (line.contains(".entry ") || line.contains(".func ")) && line.contains(&format!(" {name}("))
    };
    let head = lines.find(|line| is_head(line)).unwrap_or_else(|| panic!("`{name}` is not in the PTX"));
    let mut all = vec![head];
    let mut depth = 0;
    for line in lines {
        if !line.trim_start().starts_with(".loc") {
            all.push(line.trim());
        }
        // Inline PTX has braces of its own.
        let count = |brace| line.matches(brace).count();
        depth += count('{');
        depth = depth.saturating_sub(count('}'));
        if depth == 0 && line.contains('}') {
            break;
        }
    }
    all
}

/// How often instructions that begin so stand in a function.
pub fn count(ptx: &str, name: &str, instruction: &str) -> usize {
    function(ptx, name).into_iter().filter(|line| unguarded(line).starts_with(instruction)).count()
}

fn unguarded(line: &str) -> &str {
    match line.strip_prefix('@') {
        Some(guarded) => guarded.split_once(' ').map_or("", |(_, rest)| rest.trim_start()),
        None => line,
    }
}

/// The parameters' directives, such as `.u64 .ptr .align 4`.
pub fn parameters(ptx: &str, name: &str) -> Vec<String> {
    let lines = function(ptx, name);
    let declared = lines.into_iter().skip(1).take_while(|line| !line.starts_with(')'));
    declared
        .map(|line| {
            let line = line.trim_start_matches(".param ").trim_end_matches(',');
            let end = line.find(&format!("{name}_param_")).expect("a parameter's name");
            let size = line[end..].find('[').map_or("", |at| &line[end + at..]);
            format!("{}{size}", line[..end].trim())
        })
        .collect()
}

/// Every string in the module's global data, with the places of values as `{}`.
pub fn texts(ptx: &str) -> Vec<String> {
    let data =
        ptx.lines().filter_map(|line| line.split_once("] = {")).map(|(_, data)| data.trim_end_matches("};"));
    data.map(|data| {
        let bytes = data.split(", ").filter_map(|byte| byte.parse::<u8>().ok()).filter(|byte| *byte != 0);
        bytes.map(|byte| if byte < 8 { "{}".to_owned() } else { char::from(byte).to_string() }).collect()
    })
    .collect()
}
