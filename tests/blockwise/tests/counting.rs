//! Each counter of each line, of the kernels and of their twins: machine code counts what the interpreter counts.

mod prepared;
#[path = "../../../crates/compiled/tests/trials/mod.rs"]
mod trials;
mod twins;

use gpu_model::chips::H200;
use virtual_gpu::profiler::Profiler;
use virtual_gpu::{Gpu, Options};

use prepared::prepare;
use twins::pairs::PAIRS;

fn machine_code_counts_what_the_interpreter_counts() {
    let compiler = compiled::compiler(true, compiled::Kept::AsUsual);
    let [safe_ptx, raw_ptx] = twins::modules();
    let profile = |ptx: &str, kernel: &str, parameters, compiler: Option<_>| {
        let gpu = Gpu::with_options(&H200, Options { compiler, ..Options::default() });
        let (kernel, launch, parameters, _) = prepare(&gpu, ptx, kernel, parameters);
        let mut profiler = Profiler::new();
        gpu.launch(&kernel, &launch, &parameters, &mut profiler).unwrap();
        (profiler.finish(), kernel.is_compiled())
    };
    let mut kernels: Vec<_> = PAIRS.iter().flat_map(|pair| [(pair, pair.safe), (pair, pair.raw)]).collect();
    kernels.sort_by_key(|kernel| kernel.1);
    kernels.dedup_by_key(|kernel| kernel.1);
    let mut compiled = 0;
    for (pair, kernel) in &kernels {
        let ptx = if *kernel == pair.safe || kernel.starts_with("raw_") { safe_ptx } else { raw_ptx };
        let launch = || pair.launch(kernel, pair.counted[0]);
        let (expected, _) = profile(ptx, kernel, launch(), None);
        let (found, is_compiled) = profile(ptx, kernel, launch(), Some(compiler.clone()));
        assert_eq!(expected, found, "{kernel}");
        compiled += usize::from(is_compiled);
    }
    // Some use more stack than machine code may, or are too long.
    assert!(compiled * 10 >= kernels.len() * 9, "{compiled} of {} are compiled", kernels.len());
}

trials! {
    fn machine_code_counts_what_the_interpreter_counts;
}
