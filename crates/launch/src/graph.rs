//! Graphs: work that is captured once and launched many times.

use std::ffi::c_char;
use std::ptr;
use std::sync::Arc;

use cust::sys;

use crate::capture::{CapturedGraph, capture, refuse};
use crate::device::{Device, DeviceContext};
use crate::error::{Error, ErrorContext};
use crate::extra::result;
use crate::graph_argument::{GraphArguments, GraphBound, GraphKind, Lent};
use crate::lent::AllLentFor;
use crate::scope::Scope;

/// Work captured into a CUDA graph; [`Device::capture`] makes one.
///
/// `K` are the kinds of its arguments, and `F` records its work: the graph borrows what `F` borrows.
pub struct Graph<'env, K: GraphKind, F> {
    device: &'env Device,
    record: F,
    executable: ExecutableGraph,
    /// The arguments that the executable graph has, or had before an update failed.
    bound: K::Bound,
    is_current: bool,
}

impl Device {
    /// Captures what `record` launches and copies into a graph, which nothing has run yet.
    ///
    /// The arguments are lent as in [`scope`](Self::scope), but each launch of the graph is given them anew: between launches
    /// they are free to be read and written. In `record` a `&Buffer` is a [`BufferSlice`](crate::BufferSlice), a `&mut Buffer` a
    /// [`BufferSliceMut`](crate::BufferSliceMut), a matrix one of their matrices, and a value itself.
    ///
    /// ```no_run
    /// use blockwise::prelude::*;
    /// use warpsmith_launch::{Buffer, Device, Error, Levels};
    ///
    /// #[kernel]
    /// pub fn scale(block: Block<256>, by: f32, x: &[f32], mut y: SliceMut<f32>) {
    ///     y.write(&block, |_, i| by * x[i]);
    /// }
    ///
    /// fn ten_times(device: &Device, levels: &Levels, x: &Buffer<f32>) -> Result<Vec<f32>, Error> {
    ///     let scale = device.kernel::<scale>(levels)?;
    ///     let (mut y, mut z) = (device.zeroed::<f32>(x.len())?, device.zeroed::<f32>(x.len())?);
    ///     let mut graph = device.capture((2.0f32, x, &mut y), |scope, (by, x, mut y)| {
    ///         scope.launch(&scale, (by, x, &mut y))
    ///     })?;
    ///     for step in 0..10 {
    ///         graph.launch((step as f32, x, &mut y))?;
    ///     }
    ///     graph.launch((3.0, x, &mut z))?; // another buffer of the same length
    ///     device.download(&y)
    /// }
    /// ```
    /// A buffer made in `record` is gone when the graph is launched:
    ///
    /// ```compile_fail,E0597
    /// # use blockwise::prelude::*;
    /// # use warpsmith_launch::{Device, Launcher};
    /// # #[kernel]
    /// # pub fn fill(block: Block<256>, mut to: SliceMut<f32>) {}
    /// # fn gone(device: &Device, fill: &Launcher<fill>) {
    /// device.capture((), |scope, ()| {
    ///     let mut local = device.zeroed(1000)?;
    ///     scope.launch(fill, (&mut local,))
    /// });
    /// # }
    /// ```
    /// A buffer that the graph borrows for good outlives it:
    ///
    /// ```compile_fail,E0505
    /// # use blockwise::prelude::*;
    /// # use warpsmith_launch::{Buffer, Device, Launcher};
    /// # #[kernel]
    /// # pub fn copy(block: Block<256>, from: &[f32], mut to: SliceMut<f32>) {}
    /// # fn gone(device: &Device, copy: &Launcher<copy>, from: Buffer<f32>, mut to: Buffer<f32>) {
    /// let mut graph = device.capture((&mut to,), |scope, (mut to,)| scope.launch(copy, (&from, &mut to))).unwrap();
    /// drop(from);
    /// graph.launch((&mut to,));
    /// # }
    /// ```
    pub fn capture<'env, A, F>(&'env self, arguments: A, record: F) -> Result<Graph<'env, A::Kinds, F>, Error>
    where
        A: GraphArguments,
        F: for<'s> FnMut(&'s Scope<'s, 'env>, Lent<'s, A::Kinds>) -> Result<(), Error>,
    {
        let (mut record, bound) = (record, arguments.bound());
        let _current = self.device_context().enter().context("make the context current")?;
        let captured = recorded(self, &mut record, arguments)?;
        let executable = ExecutableGraph::new(&captured, self.device_context())?;
        Ok(Graph { device: self, record, executable, bound, is_current: true })
    }
}

/// Captures the work with these arguments.
fn recorded<'env, A: GraphArguments, F>(
    device: &'env Device,
    record: &mut F,
    arguments: A,
) -> Result<CapturedGraph, Error>
where
    F: for<'s> FnMut(&'s Scope<'s, 'env>, Lent<'s, A::Kinds>) -> Result<(), Error>,
{
    capture(device.device_context(), || record(&Scope::of_capture(device), arguments.lend()))
}

impl<'env, K: GraphKind, F> Graph<'env, K, F>
where
    F: for<'s> FnMut(&'s Scope<'s, 'env>, Lent<'s, K>) -> Result<(), Error>,
{
    /// Launches the graph, and waits for it.
    ///
    /// Arguments must have the lengths of those that it was captured with. If they lie elsewhere, or a value differs, the work
    /// is recorded again and the graph updated in place, which costs about what the launches would.
    pub fn launch(&mut self, arguments: impl GraphArguments<Kinds = K>) -> Result<(), Error> {
        let device = self.device;
        let launched = self.start(arguments);
        // Waits whatever was started.
        device.finish().and(launched)
    }

    /// Puts it on the device's stream.
    fn start(&mut self, arguments: impl GraphArguments<Kinds = K>) -> Result<(), Error> {
        let device_context = self.device.device_context();
        refuse(device_context, || "launch a graph".into())?;
        let _current = device_context.enter().context("make the context current")?;
        let given = arguments.bound();
        if let Some(difference) = self.bound.difference(&given) {
            return Err(Error::Graph(difference));
        }
        if !self.is_current || self.bound != given {
            let captured = recorded(self.device, &mut self.record, arguments)?;
            self.is_current = false;
            self.executable.update(&captured)?;
            (self.bound, self.is_current) = (given, true);
        }
        self.executable.launch()
    }
}

impl<'scope, 'env: 'scope> Scope<'scope, 'env> {
    /// Launches a graph without waiting; see [`Graph::launch`]. What is written more than once in a scope is passed as
    /// `&mut BufferSliceMut`.
    pub fn launch_graph<'graph: 'scope, K: GraphKind, F>(
        &'scope self,
        graph: &mut Graph<'graph, K, F>,
        arguments: impl GraphArguments<Kinds = K> + AllLentFor<'scope>,
    ) -> Result<(), Error>
    where
        F: for<'s> FnMut(&'s Scope<'s, 'graph>, Lent<'s, K>) -> Result<(), Error> + 'scope,
    {
        if !ptr::eq(graph.device, self.device()) {
            return Err(Error::Graph("it was captured on another device than the scope's".into()));
        }
        self.admit(&arguments)?;
        graph.start(arguments)
    }
}

/// An executable graph of the driver's.
struct ExecutableGraph {
    handle: sys::CUgraphExec,
    device_context: Arc<DeviceContext>,
}

// SAFETY: any thread may use a handle of the driver's; `&mut` is needed to change it.
unsafe impl Send for ExecutableGraph {}
// SAFETY: as above.
unsafe impl Sync for ExecutableGraph {}

impl ExecutableGraph {
    fn new(captured: &CapturedGraph, device_context: &Arc<DeviceContext>) -> Result<Self, Error> {
        let mut handle = ptr::null_mut();
        // SAFETY: the graph is alive; the place is valid for the call, and no log is asked for.
        let made = result(unsafe {
            sys::cuGraphInstantiate_v2(&mut handle, captured.0, ptr::null_mut(), ptr::null_mut::<c_char>(), 0)
        });
        made.context("instantiate the graph")?;
        Ok(Self { handle, device_context: device_context.clone() })
    }

    /// Takes another graph's parameters; launches in flight keep theirs.
    fn update(&mut self, captured: &CapturedGraph) -> Result<(), Error> {
        let (mut node, mut why) =
            (ptr::null_mut(), sys::CUgraphExecUpdateResult_enum::CU_GRAPH_EXEC_UPDATE_SUCCESS);
        // SAFETY: both graphs are alive, and the places valid for the call.
        let updated = result(unsafe { sys::cuGraphExecUpdate(self.handle, captured.0, &mut node, &mut why) });
        updated.map_err(|_| {
            Error::Graph(format!(
                "with these arguments other work was recorded than when it was captured ({why:?}): capture a graph for each"
            ))
        })
    }

    fn launch(&self) -> Result<(), Error> {
        // SAFETY: it is alive; its work uses memory that the launch was lent, or that the recording closure borrows.
        let launched = unsafe { sys::cuGraphLaunch(self.handle, self.device_context.stream.as_inner()) };
        result(launched).context("launch the graph")
    }
}

impl Drop for ExecutableGraph {
    fn drop(&mut self) {
        let _current = self.device_context.enter();
        let _ = self.device_context.stream.finish();
        // SAFETY: it is ours alone, and its launches have ended.
        unsafe { sys::cuGraphExecDestroy(self.handle) };
    }
}
