//! Every form of instruction, and random chains of them: compiled against interpreted, bit for bit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use differential::{Device, program};
use gpu_model::chips::H200;
use virtual_gpu::stretch::{Compiler, Function, Stretches};
use virtual_gpu::{Gpu, Options};

/// Counts what was compiled, so that nothing passes because all was interpreted.
#[derive(Debug)]
struct Counting {
    compiler: Arc<dyn Compiler>,
    made: AtomicU64,
}

// SAFETY: the code is another compiler's.
unsafe impl Compiler for Counting {
    fn patience(&self, function: &Function<'_>) -> u64 {
        self.compiler.patience(function)
    }

    fn compile(&self, function: &Function<'_>) -> Option<Stretches> {
        let made = self.compiler.compile(function);
        self.made.fetch_add(made.is_some().into(), Ordering::Relaxed);
        made
    }
}

#[test]
fn every_form_gives_the_interpreters_bits() {
    if let Err(why) = compiled::available() {
        panic!("{why}");
    }
    let counting = Arc::new(Counting { compiler: compiled::compiler(true), made: AtomicU64::new(0) });
    let mut interpreted = Gpu::with_options(&H200, Options { threads: 1, ..Options::default() });
    let options = Options { threads: 1, compiler: Some(counting.clone()), ..Options::default() };
    let mut compiled = Gpu::with_options(&H200, options);
    let mut wrong = Vec::new();
    let mut ran = 0;
    for program in program::all() {
        let (ptx, input) = (program.ptx(), program.input(1));
        let run = |gpu: &mut Gpu| gpu.run(&ptx, &input, program.output_bytes()).map_err(|e| e.to_string());
        let (expected, found) = match (run(&mut interpreted), run(&mut compiled)) {
            (Ok(expected), Ok(found)) => (expected, found),
            (expected, found) => {
                assert_eq!(expected, found, "{}", program.name);
                continue;
            }
        };
        ran += 1;
        // The results of each form, then what the forms left in memory.
        let outputs = program.forms.iter().flat_map(|form| form.outputs.iter().map(move |_| &form.text));
        let columns = 8 * differential::THREADS;
        let mut columns = expected.chunks(columns).zip(found.chunks(columns));
        for (text, (expected, found)) in outputs.zip(&mut columns) {
            if let Some(at) = (0..expected.len()).find(|&at| expected[at] != found[at]) {
                wrong.push(format!("{text}: thread {}, byte {}", at / 8, at % 8));
            }
        }
        assert!(columns.all(|(expected, found)| expected == found), "{}: memory differs", program.name);
    }
    assert_eq!(counting.made.load(Ordering::Relaxed), ran, "all that ran were compiled");
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
