//! Prints the operations of a PTX file as the virtual GPU runs them, with the lines that they came from.
//!
//! `cargo run -p virtual_gpu --example listing -- kernel.ptx`

use gpu_model::chips::H200;
use virtual_gpu::Gpu;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("it takes the path of a PTX file")?;
    let module = Gpu::new(&H200).load(&std::fs::read_to_string(path)?)?;
    let code = module.code();
    let mut function = None;
    for pc in 0..code.len() as u32 {
        if code.function(pc) != function {
            function = code.function(pc);
            println!("{}:", function.unwrap_or_default());
        }
        println!("{pc:>6}  line {:<6} {}", code.ptx_line(pc), code.show(pc));
    }
    Ok(())
}
