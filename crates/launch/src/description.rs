//! What the host knows of a kernel, and whether PTX agrees.

use cuda_std::{Kernel, LaunchBounds, ParamLayout, PtxParam};

use crate::error::Error;

/// What `#[kernel]` tells the host, without the type.
#[derive(Clone, Copy, Debug)]
pub struct Description {
    /// The kernel's name.
    pub name: &'static str,
    /// Its parameters as written in Rust.
    pub params: &'static [ParamLayout],
    /// The limits of its launches.
    pub bounds: LaunchBounds,
    /// Its source file, as the compiler was given it.
    pub file: &'static str,
    /// Its line.
    pub line: u32,
}

impl Description {
    /// The description of a kernel.
    pub const fn of<K: Kernel>() -> Self {
        Self { name: K::NAME, params: K::PARAMS, bounds: K::LAUNCH_BOUNDS, file: K::FILE, line: K::LINE }
    }

    /// The kernel's signature in Rust.
    pub fn signature(&self) -> String {
        let params: Vec<String> =
            self.params.iter().map(|p| format!("{}: {}", p.name, p.rust_type)).collect();
        format!("{}({})", self.name, params.join(", "))
    }

    /// Compares the parameters of the PTX entry with this description.
    pub fn compare(&self, entry: &ptx::Function) -> Result<(), Error> {
        let expected: Vec<PtxParam> = self.params.iter().flat_map(ParamLayout::ptx).collect();
        let differs = |difference| Err(Error::Layout { kernel: self.name, difference });
        for (index, typed) in expected.iter().enumerate() {
            let part = if typed.part == 1 { " (its length)" } else { "" };
            let layout = |size: u64, align: u64| format!("{size} bytes aligned to {align}");
            let host = layout(typed.size as u64, typed.align as u64);
            let Some(param) = entry.params.get(index) else {
                return differs(format!(
                    "`{}`{part} is {host} on the host and missing in the PTX",
                    typed.name
                ));
            };
            let size = param.size().unwrap_or(0);
            if (size, param.alignment()) != (typed.size as u64, typed.align as u64) {
                let device = layout(size, param.alignment());
                return differs(format!(
                    "`{}`{part} is {host} on the host and {device} in the PTX",
                    typed.name
                ));
            }
        }
        if entry.params.len() > expected.len() {
            let (device, host) = (entry.params.len(), expected.len());
            return differs(format!("the PTX has {device} parameters, the host knows {host}"));
        }
        Ok(())
    }
}
