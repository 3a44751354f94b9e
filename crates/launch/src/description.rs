//! Whether PTX agrees with what the host knows of a kernel.

use cuda_std::{Description, ParamLayout, PtxParam};

use crate::error::Error;

/// Compares the parameters of the PTX entry with the description.
pub fn compare(kernel: &Description, entry: &ptx::Function) -> Result<(), Error> {
    let expected: Vec<PtxParam> = kernel.params.iter().flat_map(ParamLayout::ptx).collect();
    let differs = |difference| Err(Error::Layout { kernel: kernel.name, difference });
    for (index, typed) in expected.iter().enumerate() {
        let part = if typed.part == 1 { " (its length)" } else { "" };
        let layout = |size: u64, align: u64| format!("{size} bytes aligned to {align}");
        let host = layout(typed.size as u64, typed.align as u64);
        let Some(param) = entry.params.get(index) else {
            return differs(format!("`{}`{part} is {host} on the host and missing in the PTX", typed.name));
        };
        let size = param.size().unwrap_or(0);
        if (size, param.alignment()) != (typed.size as u64, typed.align as u64) {
            let device = layout(size, param.alignment());
            return differs(format!("`{}`{part} is {host} on the host and {device} in the PTX", typed.name));
        }
    }
    if entry.params.len() > expected.len() {
        let (device, host) = (entry.params.len(), expected.len());
        return differs(format!("the PTX has {device} parameters, the host knows {host}"));
    }
    Ok(())
}
