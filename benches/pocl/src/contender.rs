//! A process that launches what it is told and says how long each launch took.

use std::collections::HashMap;
use std::ffi::c_void;
use std::io::{BufRead, Write};
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::module::Module;
use warpsmith_launch::Device;

use crate::opencl::{OpenCl, Twin};
use crate::program::{Argument, Program, Source, all};

/// A side of the comparison: launches a program.
trait Contender {
    /// Whatever must be there before the first launch.
    fn prepare(&mut self, program: &Program) -> Result<()>;
    /// A launch, to its end.
    fn launch(&mut self, program: &Program) -> Result<()>;
    fn read(&mut self, program: &Program, buffer: usize) -> Result<Vec<u8>>;
}

/// Answers each line, the number of a program, with a launch's nanoseconds. Before the first launch of a program that counts
/// there is one that leaves its result in `folder`.
pub fn serve(is_pocl: bool, folder: &Path) -> Result<()> {
    let mut contender: Box<dyn Contender> =
        if is_pocl { Box::new(Pocl::open()?) } else { Box::new(VirtualGpu::open(folder)?) };
    let programs = all();
    let mut prepared = vec![false; programs.len()];
    let mut answers = std::io::stdout().lock();
    writeln!(answers, "ready")?;
    for line in std::io::stdin().lock().lines() {
        let number: usize = line?.parse()?;
        let program = &programs[number];
        if !prepared[number] {
            contender.prepare(program)?;
            contender.launch(program)?;
            let result = contender.read(program, program.result.0)?;
            std::fs::write(folder.join(format!("{}.{number}", std::process::id())), result)?;
            prepared[number] = true;
        }
        let start = Instant::now();
        contender.launch(program)?;
        writeln!(answers, "{}", start.elapsed().as_nanos())?;
    }
    Ok(())
}

struct Pocl {
    opencl: OpenCl,
    twins: HashMap<&'static str, Twin>,
}

impl Pocl {
    fn open() -> Result<Self> {
        Ok(Self { opencl: OpenCl::open(include_str!("twins.cl"))?, twins: HashMap::new() })
    }
}

impl Contender for Pocl {
    fn prepare(&mut self, program: &Program) -> Result<()> {
        self.twins.insert(program.twin, self.opencl.prepare(program)?);
        Ok(())
    }
    fn launch(&mut self, program: &Program) -> Result<()> {
        self.opencl.launch(&self.twins[program.twin])
    }
    fn read(&mut self, program: &Program, buffer: usize) -> Result<Vec<u8>> {
        self.opencl.read(&self.twins[program.twin], buffer)
    }
}

struct VirtualGpu {
    device: Device,
    modules: Vec<(Source, Module)>,
    buffers: HashMap<&'static str, Vec<DeviceBuffer<u8>>>,
}

impl VirtualGpu {
    fn open(folder: &Path) -> Result<Self> {
        let device = Device::from_environment()?;
        let load = |source: Source| {
            let path = folder.join(source.ptx());
            let ptx = std::fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
            Ok((source, Module::from_ptx(ptx, &[])?))
        };
        let modules = Source::ALL.into_iter().map(load).collect::<Result<_>>()?;
        Ok(Self { device, modules, buffers: HashMap::new() })
    }
}

impl Contender for VirtualGpu {
    fn prepare(&mut self, program: &Program) -> Result<()> {
        let buffers = program.buffers.iter().map(|content| DeviceBuffer::from_slice(content));
        self.buffers.insert(program.name, buffers.collect::<Result<_, _>>()?);
        Ok(())
    }
    fn launch(&mut self, program: &Program) -> Result<()> {
        let (_, module) =
            self.modules.iter().find(|module| module.0 == program.source).context("no such module")?;
        let function = module.get_function(program.kernel)?;
        let buffers = &self.buffers[program.name];
        let values: Vec<Vec<u8>> = program
            .arguments
            .iter()
            .map(|argument| match argument {
                Argument::Buffer(buffer) => buffers[*buffer].as_device_ptr().as_raw().to_le_bytes().to_vec(),
                other => other.bytes(),
            })
            .collect();
        let pointers: Vec<*mut c_void> =
            values.iter().map(|value| value.as_ptr().cast_mut().cast()).collect();
        let ([grid_x, grid_y], [block_x, block_y]) = (program.grid, program.block);
        // SAFETY: each program's arguments are its kernel's, of buffers as long as their lengths say.
        unsafe {
            self.device.stream().launch(
                &function,
                (grid_x, grid_y, 1),
                (block_x, block_y, 1),
                0,
                &pointers,
            )?;
        }
        Ok(self.device.synchronize()?)
    }
    fn read(&mut self, program: &Program, buffer: usize) -> Result<Vec<u8>> {
        let buffer = &self.buffers[program.name][buffer];
        let mut content = vec![0; buffer.len()];
        buffer.copy_to(&mut content)?;
        Ok(content)
    }
}
