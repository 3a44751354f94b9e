//! Launches: their arguments are gathered and checked when they are issued, their kernels run in stream order.

use std::ffi::c_void;
use std::sync::Arc;

use virtual_gpu::{Kernel, Launch};

use crate::abi::{
    Answer, CUfunction, CUgraphNodeType, CUlaunchAttributeID as Attribute, CUlaunchConfig, CUresult, In,
};
use crate::objects::arguments::gather;
use crate::objects::context::{CONTEXTS, Context};
use crate::objects::device::code_of;
use crate::objects::explain::refused;
use crate::objects::function::Function;
use crate::objects::kept_attributes::KeptAttributes;
use crate::objects::library::function_in;
use crate::objects::occupancy::resident_blocks;
use crate::objects::registry::OfContext;
use crate::objects::work::Work;
use crate::observe;
use crate::profile::Wanted;

#[derive(Clone)]
pub struct KernelLaunch {
    pub function: Arc<Function>,
    pub handle: CUfunction,
    pub launch: Launch,
    pub params: Vec<u8>,
    /// Attributes that do not concern the shape.
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

    /// Runs the kernel to its end. A fault is reported once.
    fn perform(&self, context: &Context) -> Answer {
        // A graph may contain kernels of other contexts than the one it is launched in.
        let owner = self.function.context();
        let owner = if owner == context.handle { None } else { CONTEXTS.get(owner).ok() };
        let context = owner.as_deref().unwrap_or(context);
        let (gpu, quota) = (&context.device.gpu, &context.quota);
        let run = observe::launch(gpu, quota, self.kernel(), &self.launch, &self.params, &self.wanted);
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
    /// A launch that will run in `context`.
    pub fn prepare(&self, context: &Context) -> Answer<KernelLaunch> {
        if self.function == 0 {
            return Err(CUresult::INVALID_HANDLE);
        }
        let function = function_in(context, self.function)?;
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
        if let Some(why) = self.unfit(function) {
            return Err(refused(CUresult::INVALID_VALUE, || {
                format!("`{}`: {why}", ptx::rust_name(function.kernel.name()))
            }));
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
        let (blocks, resident) = (launch.blocks(), resident_blocks(function, &launch));
        if self.cooperative && blocks > resident {
            return Err(refused(CUresult::COOPERATIVE_LAUNCH_TOO_LARGE, || {
                let name = ptx::rust_name(function.kernel.name());
                format!(
                    "`{name}`: a cooperative grid of {blocks} blocks, of which {resident} fit the GPU at a time"
                )
            }));
        }
        Ok(launch)
    }

    /// Why no device, or not this kernel, accepts a launch of that shape.
    fn unfit(&self, function: &Function) -> Option<String> {
        let sm = function.chip().sm;
        let shape = |[x, y, z]: [u32; 3]| format!("{x}x{y}x{z}");
        let (grid, block) = (shape(self.grid), shape(self.block));
        if self.block.contains(&0) {
            return Some(format!("a block of {block} has no threads"));
        }
        let required = function.kernel.required_block().filter(|required| *required != self.block);
        if let Some(required) = required {
            let required = shape(required);
            return Some(format!(
                "it is compiled for blocks of {required} threads, and the launch has {block}"
            ));
        }
        let threads = self.block.iter().map(|&extent| u64::from(extent)).product::<u64>();
        if let Some(most) = function.kernel.max_threads().filter(|&most| threads > u64::from(most)) {
            return Some(format!(
                "its launch bounds admit blocks of at most {most} threads, and the launch has {block}"
            ));
        }
        if threads > u64::from(sm.threads_per_block) || self.block[2] > 64 {
            let most = sm.threads_per_block;
            return Some(format!(
                "a block has at most {most} threads, 64 along z, and the launch has {block}"
            ));
        }
        if self.grid.contains(&0) {
            return Some(format!("a grid of {grid} has no blocks: is a length 0?"));
        }
        if self.grid[0] > i32::MAX as u32 || self.grid[1] > 65_535 || self.grid[2] > 65_535 {
            return Some(format!(
                "a grid has at most 2147483647x65535x65535 blocks, and the launch has {grid}"
            ));
        }
        let most = function.settings().dynamic_shared;
        (self.shared > most).then(|| {
            format!(
                "it may have {most} bytes of dynamic shared memory, and the launch asks for {}; with \
                 MAX_DYNAMIC_SHARED_SIZE_BYTES set on it, up to {}",
                self.shared,
                sm.shared_per_block_optin.saturating_sub(function.kernel.static_shared())
            )
        })
    }
}

/// Fails for clusters that the chip does not support, or that do not divide the grid.
pub fn check_cluster(grid: [u32; 3], cluster: [u32; 3], function: &Function) -> Answer {
    if cluster == [1; 3] {
        return Ok(());
    }
    if function.chip().capability().major < 9 {
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

/// A launch's attributes about its shape. Those that only affect scheduling are ignored here.
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
