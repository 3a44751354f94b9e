//! Where kernels have the shared variables that they reach.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::rc::Rc;
use std::sync::Arc;

use gpu_model::Chip;

use crate::Error;
use crate::decode::reach::Reached;
use crate::form::program::{Code, KernelCode};

/// Where shared variables lie in a block's shared memory.
#[derive(Clone)]
struct SharedLayout {
    offsets: Arc<[(u32, u32)]>,
    bytes: u32,
    dynamic_align: u32,
}

impl SharedLayout {
    /// Gives each of the variables its offset. Fails with the bytes that are too many.
    fn of(variables: &[u32], code: &Code, limit: u32) -> Result<Self, u32> {
        let mut layout = SharedLayout { offsets: Arc::new([]), bytes: 0, dynamic_align: 16 };
        let mut offsets = Vec::new();
        // The widest alignment first wastes least, as ptxas does it.
        let mut order = variables.to_vec();
        order.sort_by_key(|&v| std::cmp::Reverse(code.shared[v as usize].align));
        for index in order {
            let variable = &code.shared[index as usize];
            if variable.dynamic {
                layout.dynamic_align = layout.dynamic_align.max(variable.align);
                continue;
            }
            let offset = layout.bytes.next_multiple_of(variable.align);
            offsets.push((index, offset));
            layout.bytes = offset.saturating_add(variable.size);
            if layout.bytes > limit {
                return Err(layout.bytes);
            }
        }
        offsets.sort_unstable();
        layout.offsets = offsets.into();
        Ok(layout)
    }
}

/// Places the shared variables that the kernels reach; kernels that reach the same share a layout.
pub(super) fn place(
    kernels: Vec<(KernelCode, Rc<Reached>)>,
    const_bytes: u32,
    code: &Code,
    chip: &Chip,
) -> Result<Vec<KernelCode>, Error> {
    let limit = chip.sm.shared_per_block_optin;
    let mut layouts: HashMap<*const Reached, SharedLayout> = HashMap::new();
    let place = |(mut kernel, reached): (KernelCode, Rc<Reached>)| {
        let layout = match layouts.entry(Rc::as_ptr(&reached)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => match SharedLayout::of(&reached.shared, code, limit) {
                Ok(layout) => place.insert(layout),
                Err(asked) => {
                    return Err(Error::LaunchLimit {
                        kernel: kernel.name,
                        what: "the size of its shared arrays in bytes",
                        asked: asked.into(),
                        limit: limit.into(),
                    });
                }
            },
        };
        kernel.shared_offsets = layout.offsets.clone();
        kernel.static_shared = layout.bytes;
        kernel.dynamic_align = layout.dynamic_align;
        kernel.asks_reserved_shared = reached.asks_reserved_shared;
        kernel.const_bytes = const_bytes;
        Ok(kernel)
    };
    kernels.into_iter().map(place).collect()
}
