//! Typed launches: what the host passes is checked against the kernel's own parameter types when it compiles, and the
//! shape of the launch against kernel and device before it starts.

use std::marker::PhantomData;

use blockwise::BlockwiseKernel;
use cuda_std::{Kernel, Takes};
use cust::function::{BlockSize, Function, FunctionAttribute};

use crate::argument::{Arguments, PackedArguments};
use crate::device::Device;
use crate::error::{Error, ErrorContext};
use crate::extra::{self, Extended};
use crate::fingerprint;
use crate::limits::Limits;

/// The shape of a launch: its blocks, their threads, and the dynamic shared memory of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Blocks along x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block along x, y, z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory of a block.
    pub shared: u32,
}

impl Shape {
    /// One-dimensional blocks of `block` threads, as many as `threads` need.
    pub fn line(threads: usize, block: u32) -> Self {
        let blocks = threads.div_ceil(block.max(1) as usize);
        Self { grid: [u32::try_from(blocks).unwrap_or(u32::MAX), 1, 1], block: [block, 1, 1], shared: 0 }
    }

    /// Blocks that cover `width` × `height` elements in tiles of `tile` (width, height).
    pub fn tiles((width, height): (usize, usize), tile: (usize, usize), block: (u32, u32)) -> Self {
        let blocks =
            |extent: usize, tile: usize| u32::try_from(extent.div_ceil(tile.max(1))).unwrap_or(u32::MAX);
        Self {
            grid: [blocks(width, tile.0), blocks(height, tile.1), 1],
            block: [block.0, block.1, 1],
            shared: 0,
        }
    }

    /// The shape with dynamic shared memory.
    pub fn with_shared(self, shared: u32) -> Self {
        Self { shared, ..self }
    }
}

/// A kernel on a device.
pub struct Launcher<'d, K> {
    device: &'d Device,
    function: Function<'d>,
    static_shared: u32,
    max_threads: u32,
    /// The fingerprint of a kernel without `unsafe` in the PTX.
    fingerprint: Option<&'static str>,
    kernel: PhantomData<K>,
}

impl<'d, K: Kernel> Launcher<'d, K> {
    pub(crate) fn new(
        device: &'d Device,
        function: Function<'d>,
        fingerprint: Option<&'static str>,
    ) -> Result<Self, Error> {
        let attribute = |which| {
            let value = function
                .get_attribute(which)
                .context(format!("read the attributes of `{}`", ptx::rust_name(K::NAME)))?;
            Ok::<_, Error>(value.max(0) as u32)
        };
        let static_shared = attribute(FunctionAttribute::SharedMemorySizeBytes)?;
        let max_threads = attribute(FunctionAttribute::MaxThreadsPerBlock)?;
        Ok(Self { device, function, static_shared, max_threads, fingerprint, kernel: PhantomData })
    }

    /// Compares the kernel with the one in the PTX: a dozen numbers, which costs far less than a launch.
    pub(crate) fn check_fingerprint(&self) -> Result<(), Error>
    where
        K: BlockwiseKernel,
    {
        match fingerprint::difference(K::FINGERPRINT, self.fingerprint) {
            Some(difference) => Err(Error::KernelMismatch { kernel: K::NAME, difference }),
            None => Ok(()),
        }
    }

    /// The device that it was found on.
    pub(crate) fn device(&self) -> &'d Device {
        self.device
    }

    /// `cust`'s function.
    pub fn function(&self) -> &Function<'d> {
        &self.function
    }

    /// Starts the kernel on the device's stream, once the shape has been checked. An empty grid is no launch.
    ///
    /// # Safety
    /// The arguments keep what the kernel's `# Safety` asks for: lengths behind pointers, above all.
    pub unsafe fn launch<P>(&self, shape: Shape, arguments: impl Arguments<P>) -> Result<(), Error>
    where
        K::Signature: Takes<P>,
    {
        // SAFETY: the caller's promise.
        unsafe { self.launch_extended(shape, Extended::default(), arguments) }
    }

    /// Starts the kernel with a cluster chosen at the launch, or with leave to begin before the kernel before it has ended.
    ///
    /// # Safety
    /// As [`launch`](Self::launch); a kernel that may begin early waits by itself before it touches memory.
    pub unsafe fn launch_extended<P>(
        &self,
        shape: Shape,
        extended: Extended,
        arguments: impl Arguments<P>,
    ) -> Result<(), Error>
    where
        K::Signature: Takes<P>,
    {
        if shape.grid.contains(&0) {
            return Ok(());
        }
        self.check(shape)
            .and_then(|()| check_cluster(shape.grid, K::LAUNCH_BOUNDS.cluster_dim.or(extended.cluster)))
            .map_err(|problem| Error::Launch { kernel: K::NAME, problem })?;
        if extended.cooperative {
            self.check_residence(shape)?;
        }
        if shape.shared + self.static_shared > self.device.limits().shared_per_block {
            extra::allow_dynamic_shared(&self.function, shape.shared).context(format!(
                "give `{}` {} bytes of dynamic shared memory",
                ptx::rust_name(K::NAME),
                shape.shared
            ))?;
        }
        let mut packed = PackedArguments::default();
        arguments.pack(&mut packed);
        let mut pointers = packed.pointers();
        let stream = self.device.stream();
        // SAFETY: `Arguments` passes one value for each PTX parameter, of its size; the rest is the caller's promise.
        let launched = unsafe {
            if extended == Extended::default() {
                let ([gx, gy, gz], [bx, by, bz]) = (shape.grid, shape.block);
                stream.launch(&self.function, (gx, gy, gz), (bx, by, bz), shape.shared, &pointers)
            } else {
                extra::launch_extended(
                    stream,
                    &self.function,
                    shape.grid,
                    shape.block,
                    shape.shared,
                    extended,
                    &mut pointers,
                )
            }
        };
        launched.context(format!("launch `{}`", ptx::rust_name(K::NAME)))
    }

    /// Blocks that wait for each other must all fit on the device at once.
    fn check_residence(&self, shape: Shape) -> Result<(), Error> {
        let [x, y, z] = shape.block;
        let of_one = self
            .function
            .max_active_blocks_per_multiprocessor(BlockSize::xyz(x, y, z), shape.shared as usize)
            .context(format!("ask how many blocks of `{}` fit", ptx::rust_name(K::NAME)))?;
        let fit = u64::from(of_one) * u64::from(self.device.limits().sms);
        let blocks: u64 = shape.grid.into_iter().map(u64::from).product();
        if blocks > fit {
            let problem =
                format!("{blocks} blocks may wait for each other, the device holds {fit} of them at once");
            return Err(Error::Launch { kernel: K::NAME, problem });
        }
        Ok(())
    }

    /// Refuses a launch of this shape if kernel or device forbid it.
    fn check(&self, shape: Shape) -> Result<(), String> {
        check_block(shape.block, &K::LAUNCH_BOUNDS, self.max_threads, self.device.limits())?;
        let limits = self.device.limits();
        for (axis, (is, most)) in ["x", "y", "z"].into_iter().zip(shape.grid.into_iter().zip(limits.grid)) {
            if is > most {
                return Err(format!("the grid has {is} blocks along {axis}, the device admits {most}"));
            }
        }
        let shared = u64::from(self.static_shared) + u64::from(shape.shared);
        if shared > u64::from(limits.shared_per_block_optin) {
            return Err(format!(
                "a block needs {shared} bytes of shared memory, the device has {} for a block",
                limits.shared_per_block_optin
            ));
        }
        Ok(())
    }
}

/// A grid is made of whole clusters.
fn check_cluster(grid: [u32; 3], cluster: Option<[u32; 3]>) -> Result<(), String> {
    let Some(cluster) = cluster else { return Ok(()) };
    for (axis, (blocks, of)) in ["x", "y", "z"].into_iter().zip(grid.into_iter().zip(cluster)) {
        if of == 0 || !blocks.is_multiple_of(of) {
            return Err(format!(
                "the grid has {blocks} blocks along {axis}, a cluster {of}: it must be a multiple"
            ));
        }
    }
    Ok(())
}

fn check_block(
    block: [u32; 3],
    bounds: &cuda_std::LaunchBounds,
    max_threads: u32,
    limits: &Limits,
) -> Result<(), String> {
    let threads: u64 = block.into_iter().map(u64::from).product();
    if let Some(exact) = bounds.block_dim
        && exact != block
    {
        return Err(format!("the block is {block:?}, the kernel is compiled for {exact:?}"));
    }
    if let Some(most) = bounds.max_threads
        && threads > u64::from(most)
    {
        return Err(format!("the block has {threads} threads, the kernel's launch bound is {most}"));
    }
    if threads == 0 {
        return Err("the block has no threads".into());
    }
    for (axis, (is, most)) in ["x", "y", "z"].into_iter().zip(block.into_iter().zip(limits.block)) {
        if is > most {
            return Err(format!("the block has {is} threads along {axis}, the device admits {most}"));
        }
    }
    if threads > u64::from(limits.threads_per_block) {
        return Err(format!(
            "the block has {threads} threads, the device admits {}",
            limits.threads_per_block
        ));
    }
    if threads > u64::from(max_threads) {
        return Err(format!("the block has {threads} threads, this kernel's registers allow {max_threads}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use cuda_std::LaunchBounds;
    use gpu_model::chips::H200;

    use super::*;

    fn limits() -> Limits {
        Limits::of_chip(&H200)
    }

    #[test]
    fn blocks_are_checked_against_kernel_and_device() {
        let none = LaunchBounds::default();
        let exact = LaunchBounds { block_dim: Some([16, 16, 1]), ..none };
        let bound = LaunchBounds { max_threads: Some(128), ..none };
        let check = |block, bounds: &LaunchBounds| check_block(block, bounds, 512, &limits());
        assert_eq!(check([16, 16, 1], &exact), Ok(()));
        assert!(check([32, 8, 1], &exact).unwrap_err().contains("[16, 16, 1]"));
        assert!(
            check([129, 1, 1], &bound).unwrap_err().contains("129 threads, the kernel's launch bound is 128")
        );
        assert!(check([0, 1, 1], &none).unwrap_err().contains("no threads"));
        assert!(check([1, 1, 65], &none).unwrap_err().contains("65 threads along z"));
        assert!(check([64, 17, 1], &none).unwrap_err().contains("1088 threads, the device admits 1024"));
        assert!(check([1024, 1, 1], &none).unwrap_err().contains("registers allow 512"));
    }

    #[test]
    fn grids_are_made_of_whole_clusters() {
        assert_eq!(check_cluster([6, 1, 1], Some([2, 1, 1])), Ok(()));
        assert_eq!(check_cluster([5, 1, 1], None), Ok(()));
        assert!(
            check_cluster([5, 1, 1], Some([2, 1, 1])).unwrap_err().contains("5 blocks along x, a cluster 2")
        );
    }

    #[test]
    fn shapes_cover_what_they_are_asked_to() {
        assert_eq!(Shape::line(1000, 256).grid, [4, 1, 1]);
        assert_eq!(Shape::line(0, 256).grid, [0, 1, 1]);
        assert_eq!(Shape::tiles((33, 64), (32, 32), (32, 8)).grid, [2, 2, 1]);
    }
}
