//! Launches: their arguments gathered and checked when they are issued, their kernels run in their stream's turn.

use std::ffi::c_void;
use std::sync::Arc;

use virtual_gpu::{Kernel, Launch};

use crate::abi::{
    Answer, CUfunction, CUgraphNodeType, CUlaunchAttributeID as Attribute, CUlaunchConfig, CUresult, In,
};
use crate::objects::context::Context;
use crate::objects::device::{chip, code_of, gpu};
use crate::objects::function::Function;
use crate::objects::kept_attributes::KeptAttributes;
use crate::objects::library::function_named;
use crate::objects::occupancy::resident_blocks;
use crate::objects::work::Work;
use crate::observe;
use crate::profile::Wanted;

#[derive(Clone)]
pub struct KernelLaunch {
    pub function: Arc<Function>,
    pub handle: CUfunction,
    pub launch: Launch,
    pub params: Vec<u8>,
    /// Attributes that say nothing of the shape.
    pub attributes: KeptAttributes,
    /// Who wants its profile.
    pub wanted: Wanted,
}

impl KernelLaunch {
    pub fn kernel(&self) -> &Kernel {
        &self.function.kernel
    }

    pub fn with_attributes_of(&self, other: &Self) -> Self {
        let Launch { cooperative, cluster, .. } = other.launch;
        let launch = Launch { cooperative, cluster, ..self.launch };
        Self { launch, attributes: other.attributes.clone(), ..self.clone() }
    }
}

impl Work for KernelLaunch {
    fn kind(&self) -> CUgraphNodeType {
        CUgraphNodeType::KERNEL
    }

    /// Runs the kernel to its end. A fault is told once.
    fn perform(&self, context: &Context) -> Answer {
        let run =
            observe::launch(gpu(), &context.quota, self.kernel(), &self.launch, &self.params, &self.wanted);
        run.map_err(|error| {
            crate::fault::report(&error);
            code_of(&error)
        })
    }
}

pub struct Request {
    pub function: CUfunction,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared: u32,
    pub cooperative: bool,
    pub cluster: Option<[u32; 3]>,
    pub params: In<*mut c_void>,
    pub extra: In<*mut c_void>,
}

impl Request {
    pub fn prepare(&self) -> Answer<KernelLaunch> {
        if self.function == 0 {
            return Err(CUresult::INVALID_HANDLE);
        }
        let function = function_named(self.function)?;
        let launch = self.shape(&function)?;
        let params = gather(&function.kernel, self.params, self.extra)?;
        let attributes = KeptAttributes::default();
        Ok(KernelLaunch {
            function,
            handle: self.function,
            launch,
            params,
            attributes,
            wanted: Wanted::here(),
        })
    }

    fn shape(&self, function: &Function) -> Answer<Launch> {
        let sm = chip().sm;
        let threads = self.block.iter().try_fold(1u32, |product, &extent| product.checked_mul(extent));
        let block_fits = threads.is_some_and(|threads| (1..=sm.threads_per_block).contains(&threads))
            && self.block[2] <= 64
            && function.kernel.required_block().is_none_or(|required| required == self.block);
        let grid_fits = !self.grid.contains(&0)
            && self.grid[0] <= i32::MAX as u32
            && self.grid[1] <= 65_535
            && self.grid[2] <= 65_535;
        if !block_fits || !grid_fits || threads.is_some_and(|threads| threads > function.max_threads()) {
            return Err(CUresult::INVALID_VALUE);
        }
        if self.shared > function.settings().dynamic_shared {
            return Err(CUresult::INVALID_VALUE);
        }
        let cluster = self.cluster.or(function.kernel.required_cluster()).unwrap_or([1; 3]);
        check_cluster(self.grid, cluster, function)?;
        let launch = Launch {
            grid: self.grid,
            block: self.block,
            cluster,
            dynamic_shared: self.shared,
            cooperative: self.cooperative,
        };
        if self.cooperative && launch.blocks() > resident_blocks(function, &launch) {
            return Err(CUresult::COOPERATIVE_LAUNCH_TOO_LARGE);
        }
        Ok(launch)
    }
}

/// Fails for clusters that the chip has not, or that the grid is no multiple of.
pub fn check_cluster(grid: [u32; 3], cluster: [u32; 3], function: &Function) -> Answer {
    if cluster == [1; 3] {
        return Ok(());
    }
    if chip().capability().major < 9 {
        return Err(CUresult::INVALID_CLUSTER_SIZE);
    }
    let blocks = cluster.iter().try_fold(1u32, |product, &extent| product.checked_mul(extent));
    if !blocks.is_some_and(|blocks| (1..=function.max_cluster()).contains(&blocks)) {
        return Err(CUresult::INVALID_CLUSTER_SIZE);
    }
    if (0..3).any(|axis| !grid[axis].is_multiple_of(cluster[axis])) {
        return Err(CUresult::INVALID_VALUE);
    }
    Ok(())
}

/// The parameter block, from an array of pointers or from a buffer that the program laid out.
fn gather(kernel: &Kernel, params: In<*mut c_void>, extra: In<*mut c_void>) -> Answer<Vec<u8>> {
    let mut block = vec![0; kernel.param_bytes()];
    match (params.is_null(), extra.is_null()) {
        (false, false) => return Err(CUresult::INVALID_VALUE),
        (true, true) if kernel.params().is_empty() => {}
        (true, true) => return Err(CUresult::INVALID_VALUE),
        (false, true) => {
            for (index, param) in kernel.params().iter().enumerate() {
                let (start, size) = (param.offset as usize, param.size as usize);
                let value = params.at(index);
                if size == 0 {
                    continue;
                }
                if value.is_null() {
                    return Err(CUresult::INVALID_VALUE);
                }
                // SAFETY: the caller of the launch vouches for one value for each parameter, of its size.
                let value = unsafe { std::slice::from_raw_parts(value.cast::<u8>(), size) };
                block[start..start + size].copy_from_slice(value);
            }
        }
        (true, false) => {
            let given = extra_buffer(extra)?;
            let used = kernel.params().last().map_or(0, |last| (last.offset + last.size) as usize);
            if given.len() < used {
                return Err(CUresult::INVALID_VALUE);
            }
            let length = given.len().min(block.len());
            block[..length].copy_from_slice(&given[..length]);
        }
    }
    Ok(block)
}

/// The buffer of `CU_LAUNCH_PARAM_BUFFER_POINTER` and `CU_LAUNCH_PARAM_BUFFER_SIZE`.
fn extra_buffer<'a>(extra: In<*mut c_void>) -> Answer<&'a [u8]> {
    const END: usize = 0;
    const POINTER: usize = 1;
    const SIZE: usize = 2;
    const MOST: usize = 16;
    let (mut pointer, mut size) = (std::ptr::null::<u8>(), 0);
    for index in (0..MOST).step_by(2) {
        match extra.at(index) as usize {
            END => {
                if pointer.is_null() && size != 0 {
                    break;
                }
                if size == 0 {
                    return Ok(&[]);
                }
                // SAFETY: the caller of the launch vouches for a buffer of the size that it gave.
                return Ok(unsafe { std::slice::from_raw_parts(pointer, size) });
            }
            POINTER => pointer = extra.at(index + 1).cast_const().cast(),
            SIZE => {
                // SAFETY: this option's value points at a `size_t`.
                let place = unsafe { In::<usize>::new(extra.at(index + 1).cast_const().cast()) };
                size = place.get()?;
            }
            _ => break,
        }
    }
    Err(CUresult::INVALID_VALUE)
}

/// What the attributes of a launch say of its shape. Those that only steer scheduling mean nothing here.
pub fn attributes(config: &CUlaunchConfig) -> Answer<(bool, Option<[u32; 3]>)> {
    let (mut cooperative, mut cluster) = (false, None);
    // SAFETY: the caller of the launch vouches for its array of attributes.
    let attrs = unsafe { In::new(config.attrs.cast_const()) }.array(config.numAttrs as usize)?;
    for attr in attrs {
        let word = |index: usize| (attr.value[index / 2] >> (32 * (index % 2))) as u32;
        match Attribute::try_from(attr.id)? {
            Attribute::COOPERATIVE => cooperative = word(0) != 0,
            Attribute::CLUSTER_DIMENSION => {
                cluster = Some([word(0), word(1), word(2)]).filter(|c| c != &[0; 3])
            }
            Attribute::PROGRAMMATIC_EVENT | Attribute::LAUNCH_COMPLETION_EVENT => {
                return Err(CUresult::NOT_SUPPORTED);
            }
            _ => {}
        }
    }
    Ok((cooperative, cluster))
}
