//! Every form of instruction, and random chains of them: compiled against interpreted, bit for bit.

mod trials;

use differential::program::{self, Program};
use gpu_model::chips::H200;
use virtual_gpu::{Error, Gpu, Launch, Options};

/// What a program writes with so many threads, and whether it was compiled.
fn run(gpu: &Gpu, program: &Program, threads: u32) -> Result<(Vec<u8>, bool), Error> {
    let (module, input) = (gpu.load(&program.ptx())?, program.input(1));
    let kernel = module.kernel("cases").expect("it has that kernel");
    let mut output = vec![0; program.output_bytes()];
    let [from, to] = [&input, &output].map(|bytes| {
        let place = gpu.memory().alloc(bytes.len() as u64).expect("there is room");
        gpu.memory().write(place, bytes).expect("it is there");
        place
    });
    let launch = Launch::new(1, threads);
    gpu.launch(&kernel, &launch, &[from.to_le_bytes(), to.to_le_bytes()].concat(), &mut ())?;
    gpu.memory().read(to, &mut output)?;
    gpu.memory().free(from)?;
    gpu.memory().free(to)?;
    Ok((output, kernel.is_compiled()))
}

fn whole_warps_get_the_interpreters_bits_of_every_form() {
    every_form(differential::THREADS as u32);
}

/// There is other code for them.
fn warps_that_lack_lanes_get_the_interpreters_bits_of_every_form() {
    every_form(31);
}

fn every_form(threads: u32) {
    let interpreted = Gpu::with_options(&H200, Options { threads: 1, ..Options::default() });
    let options = Options {
        threads: 1,
        compiler: Some(compiled::compiler(true, compiled::Kept::Not)),
        ..Options::default()
    };
    let compiled = Gpu::with_options(&H200, options);
    let mut wrong = Vec::new();
    for program in program::all() {
        let (expected, found) =
            match (run(&interpreted, &program, threads), run(&compiled, &program, threads)) {
                (Ok(expected), Ok(found)) => (expected.0, found),
                (expected, found) => {
                    let fault = |result: Result<_, Error>| result.err().map(|error| error.to_string());
                    assert_eq!(fault(expected), fault(found), "{}", program.name);
                    continue;
                }
            };
        assert!(found.1, "{} is compiled", program.name);
        let found = found.0;
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
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

trials! {
    fn whole_warps_get_the_interpreters_bits_of_every_form;
    fn warps_that_lack_lanes_get_the_interpreters_bits_of_every_form;
}
