//! Launches without `unsafe`, in a scope that waits for them at its end.

use std::marker::PhantomData;

use blockwise::{BlockCount, BlockwiseKernel, GridRequirement, UnmetRequirement};
use cuda_std::Takes;
use cust::context::CurrentContext;
use cust::memory::DeviceCopy;

use crate::capture::{between_captures, captures_for, refuse};
use crate::device::Device;
use crate::embedded::Launchable;
use crate::error::{Error, ErrorContext};
use crate::extra::peer::{self, DeviceAddress};
use crate::launcher::{Launcher, Shape};
use crate::lent::{AllLentFor, CopySource, CopyTarget, LentFor};
use crate::safe_argument::SafeArguments;

/// A scope of launches; see [`Device::scope`].
pub struct Scope<'scope, 'env: 'scope> {
    device: &'env Device,
    /// Launches go into a graph.
    is_capture: bool,
    /// Both invariant, as in `std::thread::Scope`.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// A launch's choices beside the kernel and its arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchOptions {
    /// Blocks along x, y, z. An output's map may leave it open, and compares it otherwise.
    pub grid: Option<[u32; 3]>,
    /// Bytes of dynamic shared memory of a block.
    pub shared: u32,
}

impl Device {
    /// Launches kernels without `unsafe`: what they borrow stays borrowed until the scope ends, and then all have ended.
    ///
    /// ```no_run
    /// use blockwise::prelude::*;
    /// use warpsmith_launch::{Buffer, Device, Error, Levels};
    ///
    /// #[kernel]
    /// pub fn add(block: Block<256>, a: &[f32], b: &[f32], mut sum: SliceMut<f32>) {
    ///     sum.write(&block, |_, i| a[i] + b[i]);
    /// }
    ///
    /// fn sum(device: &Device, levels: &Levels, a: &Buffer<f32>, b: &Buffer<f32>) -> Result<Vec<f32>, Error> {
    ///     let mut sum = device.zeroed(a.len())?;
    ///     let add = device.kernel::<add>(levels)?;
    ///     device.scope(|scope| scope.launch(&add, (a, b, &mut sum)))?;
    ///     device.download(&sum)
    /// }
    /// ```
    /// A buffer that a kernel still writes cannot be read:
    ///
    /// ```compile_fail,E0502
    /// # use blockwise::prelude::*;
    /// # use warpsmith_launch::{Buffer, Device, Launcher};
    /// # #[kernel]
    /// # pub fn fill(block: Block<256>, mut to: SliceMut<f32>) {}
    /// # fn early(device: &Device, fill: &Launcher<fill>, mut to: Buffer<f32>) {
    /// device.scope(|scope| {
    ///     scope.launch(fill, (&mut to,))?;
    ///     to.to_vec().map(drop)
    /// });
    /// # }
    /// ```
    /// Nor written, nor freed:
    ///
    /// ```compile_fail,E0505
    /// # use blockwise::prelude::*;
    /// # use warpsmith_launch::{Buffer, Device, Launcher};
    /// # #[kernel]
    /// # pub fn fill(block: Block<256>, mut to: SliceMut<f32>) {}
    /// # fn early(device: &Device, fill: &Launcher<fill>, mut to: Buffer<f32>) {
    /// device.scope(|scope| {
    ///     scope.launch(fill, (&mut to,))?;
    ///     Ok(drop(to))
    /// });
    /// # }
    /// ```
    pub fn scope<'env, R>(
        &'env self,
        launches: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        /// Waits, even if the closure panics.
        struct Wait<'d>(&'d Device);
        impl Drop for Wait<'_> {
            fn drop(&mut self) {
                let _ = self.0.finish();
            }
        }
        refuse(self.device_context(), || "begin a scope".into())?;
        // What was launched before without a scope may still run.
        let _current = self.device_context().enter().context("make the context current")?;
        {
            let _no_capture = between_captures(|| "begin a scope on another device".into())?;
            CurrentContext::synchronize().context("finish what was launched before")?;
        }
        self.synchronize()?;
        let wait = Wait(self);
        let result = launches(&Scope::of(self));
        let waited = self.finish();
        std::mem::forget(wait);
        result.and_then(|result| waited.map(|()| result))
    }
}

impl<'scope, 'env> Scope<'scope, 'env> {
    fn of(device: &'env Device) -> Self {
        Self { device, is_capture: false, scope: PhantomData, env: PhantomData }
    }

    /// A scope whose launches this thread captures.
    pub(crate) fn of_capture(device: &'env Device) -> Self {
        Self { is_capture: true, ..Self::of(device) }
    }

    /// Refuses memory that other code may reach before the scope's end, and other threads than the one that captures, whose
    /// launches nothing would wait for.
    pub(crate) fn admit(&self, arguments: &impl AllLentFor<'scope>) -> Result<(), Error> {
        if self.is_capture && !captures_for(self.device.device_context()) {
            return Err(Error::Graph(
                "another thread captures it, and only that one can launch in it".into(),
            ));
        }
        if !arguments.fit(self.device.device_context().number()) {
            return Err(Error::Shared(
                "a slice of another `Device` was lent by a borrow of this launch: lend it whole, or use its own device".into(),
            ));
        }
        Ok(())
    }

    pub(crate) fn device(&self) -> &'env Device {
        self.device
    }

    /// Copies elements on the device, to as many.
    pub fn copy<T: DeviceCopy>(
        &'scope self,
        from: impl CopySource<T> + LentFor<'scope>,
        to: impl CopyTarget<T> + LentFor<'scope>,
    ) -> Result<(), Error> {
        let ((at_from, given), (at_to, has)) = (from.elements(), to.elements());
        self.admit(&(from, to))?;
        if given != has {
            return Err(Error::Length { given, has });
        }
        let place = |address| DeviceAddress { device: self.device, address };
        // SAFETY: both have the bytes, and are lent until the scope has ended, which waits for the copy.
        let copied =
            unsafe { peer::copy(place(at_to), place(at_from), given * size_of::<T>(), self.device.stream()) };
        copied.context(format!("copy {given} elements on the device"))
    }

    /// Starts a kernel whose outputs decide the grid.
    pub fn launch<K: BlockwiseKernel, P>(
        &'scope self,
        kernel: impl Launchable<K>,
        arguments: impl SafeArguments<P> + AllLentFor<'scope>,
    ) -> Result<(), Error>
    where
        K::Signature: Takes<P>,
    {
        self.launch_with(kernel, LaunchOptions::default(), arguments)
    }

    /// Starts a kernel with a grid of one's own, or with dynamic shared memory.
    pub fn launch_with<K: BlockwiseKernel, P>(
        &'scope self,
        kernel: impl Launchable<K>,
        options: LaunchOptions,
        arguments: impl SafeArguments<P> + AllLentFor<'scope>,
    ) -> Result<(), Error>
    where
        K::Signature: Takes<P>,
    {
        kernel.on(self.device, |kernel| self.start(kernel, options, arguments))
    }

    fn start<K: BlockwiseKernel, P>(
        &'scope self,
        kernel: &Launcher<'_, K>,
        options: LaunchOptions,
        arguments: impl SafeArguments<P> + AllLentFor<'scope>,
    ) -> Result<(), Error>
    where
        K::Signature: Takes<P>,
    {
        let refuse = |problem| Error::Launch { kernel: K::NAME, problem };
        if !std::ptr::eq(kernel.device(), self.device) {
            return Err(refuse("it was found on another device than the scope's".into()));
        }
        self.admit(&arguments)?;
        kernel.check_fingerprint()?;
        if let Some(UnmetRequirement { relation, left, right }) = K::unmet_requirement(&arguments.extents()) {
            return Err(refuse(format!("it requires {relation}, and was given {left} and {right}")));
        }
        let block = K::LAUNCH_BOUNDS.block_dim.unwrap_or([1; 3]);
        let threads = block.into_iter().map(|side| side as usize).product();
        let requirements =
            named(K::PARAMS.iter().map(|parameter| parameter.name), arguments.grid_requirements(threads));
        let grid = grid(&requirements, options.grid, self.device.limits().grid).map_err(refuse)?;
        // SAFETY: the arguments are borrowed until the scope has ended, which waits for the kernel; the grid is the one that
        // the outputs' maps ask for; what else a kernel without `unsafe` needs, its types and the builder see to.
        unsafe { kernel.launch(Shape { grid, block, shared: options.shared }, arguments) }
    }
}

/// The requirements of those arguments that have one, each with its parameter's name. A parameter that travels in several parts has
/// its name several times in a row; so have parameters named `_`, and then the numbers tell them apart.
fn named<'n>(
    parts: impl Iterator<Item = &'n str>,
    requirements: Vec<Option<GridRequirement>>,
) -> Vec<(String, GridRequirement)> {
    let mut names: Vec<&str> = parts.collect();
    names.dedup();
    let one_each = names.len() == requirements.len();
    let name = |number: usize| {
        if one_each { names[number].to_owned() } else { format!("parameter {}", number + 1) }
    };
    requirements
        .into_iter()
        .enumerate()
        .filter_map(|(number, requirement)| Some((name(number), requirement?)))
        .collect()
}

/// The grid on which all outputs agree.
fn grid(
    requirements: &[(impl AsRef<str>, GridRequirement)],
    chosen: Option<[u32; 3]>,
    most: [u32; 3],
) -> Result<[u32; 3], String> {
    let mut grid = [0; 3];
    for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
        let mut exact: Option<(&str, usize)> = None;
        let mut suggested = None;
        for (output, requirement) in requirements {
            let output = output.as_ref();
            match (requirement[axis], exact) {
                (BlockCount::Exactly(parts), Some((other, theirs))) if parts != theirs => {
                    return Err(format!(
                        "`{other}` has parts for {theirs} blocks along {name}, `{output}` for {parts}"
                    ));
                }
                (BlockCount::Exactly(parts), _) => exact = Some((output, parts)),
                (BlockCount::Suggested(parts), _) => suggested = suggested.max(Some(parts)),
            }
        }
        let blocks = match (exact, chosen.map(|grid| grid[axis] as usize)) {
            (Some((output, parts)), Some(blocks)) if parts != blocks => {
                return Err(format!(
                    "the grid has {blocks} blocks along {name}, `{output}` has parts for {parts}"
                ));
            }
            (Some((_, parts)), _) => parts,
            (None, Some(blocks)) => blocks,
            (None, None) => suggested.ok_or("no output decides the grid: choose one")?,
        };
        let admitted = u32::try_from(blocks).ok().filter(|blocks| *blocks <= most[axis]);
        grid[axis] = admitted.ok_or_else(|| {
            format!("the grid has {blocks} blocks along {name}, the device admits {}", most[axis])
        })?;
    }
    Ok(grid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use BlockCount::{Exactly, Suggested};

    #[test]
    fn no_demand_is_lost_where_parameters_share_a_name() {
        let line = [Exactly(4), Exactly(1), Exactly(1)];
        let all = |names: &[&'static str], requirements| named(names.iter().copied(), requirements);
        assert_eq!(all(&["a", "a", "c", "c"], vec![None, Some(line)]), [("c".to_owned(), line)]);
        // fn k(block, _: u32, _: u32, c: SliceMut<f32>)
        assert_eq!(
            all(&["_", "_", "c", "c"], vec![None, None, Some(line)]),
            [("parameter 3".to_owned(), line)]
        );
    }

    #[test]
    fn outputs_and_choice_agree_on_the_grid_or_say_both_values() {
        let line = |x| [x, Exactly(1), Exactly(1)];
        let grid = |requirements: &[(&str, GridRequirement)], chosen| {
            grid(requirements, chosen, [0x7fff_ffff, 65535, 65535])
        };
        assert_eq!(grid(&[("a", line(Exactly(4))), ("b", line(Suggested(9)))], None), Ok([4, 1, 1]));
        assert_eq!(grid(&[("a", line(Suggested(4))), ("b", line(Suggested(9)))], None), Ok([9, 1, 1]));
        assert_eq!(grid(&[("a", line(Suggested(4)))], Some([7, 1, 1])), Ok([7, 1, 1]));
        assert_eq!(grid(&[], Some([7, 2, 3])), Ok([7, 2, 3]));
        let refused =
            |requirements: &[(&str, GridRequirement)], chosen| grid(requirements, chosen).unwrap_err();
        assert_eq!(
            refused(&[("a", line(Exactly(4))), ("b", line(Exactly(5)))], None),
            "`a` has parts for 4 blocks along x, `b` for 5"
        );
        assert_eq!(
            refused(&[("a", line(Suggested(4)))], Some([4, 2, 1])),
            "the grid has 2 blocks along y, `a` has parts for 1"
        );
        assert_eq!(grid(&[], None).unwrap_err(), "no output decides the grid: choose one");
        assert_eq!(
            refused(&[("a", line(Exactly(1 << 33)))], None),
            "the grid has 8589934592 blocks along x, the device admits 2147483647"
        );
        assert_eq!(
            refused(&[("a", [Exactly(1), Exactly(70000), Exactly(1)])], None),
            "the grid has 70000 blocks along y, the device admits 65535"
        );
    }
}
