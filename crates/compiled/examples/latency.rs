//! How long a first launch waits for each kernel of a PTX file: interpreted, compiled before it runs, from the folder of
//! earlier code, and by default.
//!
//! `cargo run --release -p compiled --example latency -- FILE.ptx`
//!
//! The kernels get zeros for parameters, so most fault at once: what is timed is what comes before.

use std::time::{Duration, Instant};

use compiled::Kept;
use gpu_model::chips::H200;
use llvm_library::cache::Cache;
use virtual_gpu::{Gpu, Kernel, Launch, Options};

/// The time of each kernel's first launch in a new module.
fn first_launches(text: &str, compiling: Option<(bool, Kept)>) -> Result<Vec<Duration>, virtual_gpu::Error> {
    let compiler = compiling.map(|(eager, kept)| compiled::compiler(eager, kept));
    let options = Options { threads: 1, watchdog: Some(1 << 16), compiler, ..Options::default() };
    let gpu = Gpu::with_options(&H200, options);
    let module = gpu.load(text)?;
    let first_launch = |kernel: Kernel| {
        let params = vec![0; kernel.param_bytes()];
        let threads = kernel.max_threads().unwrap_or(256).min(256);
        let [x, y, z] = kernel.required_block().unwrap_or([threads, 1, 1]);
        let started = Instant::now();
        // A fault is an end as any other.
        let _ = gpu.launch(&kernel, &Launch::new(1, (x, y, z)), &params, &mut ());
        started.elapsed()
    };
    Ok(module.kernels().map(first_launch).collect())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    compiled::available()?;
    let file = std::env::args().nth(1).ok_or("the file of a PTX text is expected")?;
    let text = std::fs::read_to_string(file)?;
    let folder = std::env::temp_dir().join(format!("latency-{}", std::process::id()));
    let kept = || Kept::In(Cache::new(folder.clone(), 1 << 30));
    let forms = [
        ("interpreted", None),
        ("compiled", Some((true, kept()))),
        ("kept", Some((true, kept()))),
        ("default", Some((false, Kept::Not))),
    ];
    let mut columns = Vec::new();
    for (title, form) in forms {
        columns.push((title, first_launches(&text, form)?));
    }
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    println!("{:>40} {:>12} {:>12} {:>12} {:>12}  (ms)", "", "interpreted", "compiled", "kept", "default");
    let module = Gpu::with_options(&H200, Options::default()).load(&text)?;
    for (i, kernel) in module.kernels().enumerate() {
        let times: String =
            columns.iter().map(|column| format!(" {:>12.2}", milliseconds(column.1[i]))).collect();
        println!("{:>40}{times}", kernel.name());
    }
    for (title, mut column) in columns {
        column.sort();
        let (median, most) = (column[column.len() / 2], column[column.len() - 1]);
        println!("{title}: median {:.2} ms, most {:.2} ms", milliseconds(median), milliseconds(most));
    }
    std::fs::remove_dir_all(folder)?;
    Ok(())
}
