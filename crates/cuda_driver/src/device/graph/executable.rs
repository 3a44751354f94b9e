//! Graphs made ready to run.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{GRAPHS, Graph, Kept, NODES, Node, keep_attributes, refuse_if_global_capture_forbids};
use crate::abi::{
    Answer, CUDA_GRAPH_INSTANTIATE_PARAMS, CUDA_HOST_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS,
    CUDA_KERNEL_NODE_PARAMS_v1, CUDA_MEMCPY3D, CUDA_MEMSET_NODE_PARAMS, CUcontext, CUgraph, CUgraphExec,
    CUgraphNode, CUresult, CUstream, In, Out,
};
use crate::check;
use crate::device::context::{Context, current};
use crate::device::registry::Registry;
use crate::device::stream::target;
use crate::device::work::Op;

pub static EXECUTABLES: Registry<Executable> = Registry::new(CUresult::INVALID_VALUE);

/// An instantiated graph: its work in an order that keeps every dependency.
pub struct Executable {
    steps: Mutex<Vec<Step>>,
    /// Objects of the program's that live as long as this.
    kept: Arc<Vec<Kept>>,
    flags: u64,
}

#[derive(Clone)]
struct Step {
    node: CUgraphNode,
    op: Op,
    /// The steps that it depends on.
    after: Arc<[usize]>,
    enabled: bool,
}

impl Executable {
    /// Makes a graph ready.
    pub fn new(graph: &Graph) -> Answer<Self> {
        let nodes = graph.sorted()?;
        let places: HashMap<CUgraphNode, usize> =
            nodes.iter().enumerate().map(|(at, node)| (node.handle, at)).collect();
        let step = |node: &Arc<Node>| {
            let after = node.after().iter().filter_map(|before| places.get(before).copied()).collect();
            Step { node: node.handle, op: node.op().clone(), after, enabled: true }
        };
        let steps = Mutex::new(nodes.iter().map(step).collect());
        Ok(Self { steps, kept: Arc::new(Kept::copy(&graph.kept())), flags: 0 })
    }

    fn steps(&self) -> MutexGuard<'_, Vec<Step>> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it calls the program.
    pub fn calls_host(&self) -> bool {
        self.steps().iter().any(|step| step.op.calls_host())
    }

    /// The work of all steps.
    pub fn ops(&self) -> Vec<Op> {
        self.steps().iter().map(|step| step.op.clone()).collect()
    }

    /// Runs the steps one after the other.
    pub fn run(&self, context: &Context) {
        let steps = self.steps();
        let run = |step: &Step| {
            if step.enabled {
                step.op.run(context);
            }
        };
        match check::sanitizer() {
            None => steps.iter().for_each(run),
            Some(sanitizer) => {
                let after: Vec<_> = steps.iter().map(|step| step.after.to_vec()).collect();
                sanitizer.graph(&after, |node| run(&steps[node]));
            }
        }
    }

    /// The work as it is now: what a launch runs, whatever is changed later.
    fn snapshot(&self) -> Arc<Self> {
        let mut steps = self.steps().clone();
        for step in &mut steps {
            match &mut step.op {
                Op::RecordEvent(event) => *event = event.again(),
                Op::Graph(child) => *child = child.snapshot(),
                _ => {}
            }
        }
        Arc::new(Self { steps: Mutex::new(steps), kept: self.kept.clone(), flags: self.flags })
    }

    /// Leaves a node out of the launches to come, or takes it in again.
    pub fn enable(&self, node: CUgraphNode, enabled: bool) -> Answer {
        self.with_step(node, |step| step.enabled = enabled)
    }

    /// Whether launches run a node.
    pub fn is_enabled(&self, node: CUgraphNode) -> Answer<bool> {
        self.with_step(node, |step| step.enabled)
    }

    /// Kernels, copies and fills alone can be left out.
    fn with_step<T>(&self, node: CUgraphNode, act: impl FnOnce(&mut Step) -> T) -> Answer<T> {
        let mut steps = self.steps();
        let step = steps.iter_mut().find(|step| step.node == node).ok_or(CUresult::INVALID_VALUE)?;
        match step.op {
            Op::Launch(_) | Op::Copy(_) | Op::Fill(_) => Ok(act(step)),
            _ => Err(CUresult::INVALID_VALUE),
        }
    }

    /// Gives the step of a node other parameters; the kind of work stays.
    pub fn change(&self, node: CUgraphNode, mut op: Op) -> Answer {
        let mut steps = self.steps();
        let step = steps.iter_mut().find(|step| step.node == node).ok_or(CUresult::INVALID_VALUE)?;
        if std::mem::discriminant(&step.op) != std::mem::discriminant(&op) {
            return Err(CUresult::INVALID_VALUE);
        }
        keep_attributes(&step.op, &mut op);
        step.op = op;
        Ok(())
    }
}

fn instantiate(place: Out<CUgraphExec>, graph: CUgraph, flags: u64) -> Answer {
    place.required()?;
    current()?;
    let executable = Executable { flags, ..Executable::new(&*GRAPHS.get(graph)?)? };
    place.set(EXECUTABLES.insert(executable))
}

/// `CUDA_GRAPH_INSTANTIATE_FLAG_…`
const KNOWN_FLAGS: u64 = 0xf;
const DEVICE_LAUNCH: u64 = 4;

pub fn cuGraphInstantiateWithFlags(place: Out<CUgraphExec>, graph: CUgraph, flags: u64) -> Answer {
    const AUTO_FREE_ON_LAUNCH: u64 = 1;
    const UPLOAD: u64 = 2;
    // An upload needs a stream, which this call has none of; a graph that the device launches frees nothing.
    let both = AUTO_FREE_ON_LAUNCH | DEVICE_LAUNCH;
    if flags & !KNOWN_FLAGS != 0 || flags & UPLOAD != 0 || flags & both == both {
        return Err(CUresult::INVALID_VALUE);
    }
    if flags & DEVICE_LAUNCH != 0 {
        return Err(CUresult::NOT_SUPPORTED);
    }
    instantiate(place, graph, flags)
}

pub fn cuGraphInstantiate_v2(
    place: Out<CUgraphExec>,
    graph: CUgraph,
    error_node: Out<CUgraphNode>,
    log: Out<std::ffi::c_char>,
    size: usize,
) -> Answer {
    error_node.set_if_given(0);
    crate::abi::pointers::fill_text(log, size, "");
    instantiate(place, graph, 0)
}

pub fn cuGraphInstantiateWithParams(
    place: Out<CUgraphExec>,
    graph: CUgraph,
    params: Out<CUDA_GRAPH_INSTANTIATE_PARAMS>,
) -> Answer {
    let mut given = params.get()?;
    given.hErrNode_out = 0;
    given.result_out = 0;
    params.set(given)?;
    if given.flags & !KNOWN_FLAGS != 0 {
        return Err(CUresult::INVALID_VALUE);
    }
    if given.flags & DEVICE_LAUNCH != 0 {
        return Err(CUresult::NOT_SUPPORTED);
    }
    instantiate(place, graph, given.flags)
}

pub fn cuGraphUpload(exec: CUgraphExec, stream: CUstream) -> Answer {
    EXECUTABLES.get(exec)?;
    target(stream).map(|_| ())
}

pub fn cuGraphLaunch(exec: CUgraphExec, stream: CUstream) -> Answer {
    let target = target(stream)?;
    let exec = EXECUTABLES.get(exec)?;
    let launch = exec.snapshot();
    if target.capture().is_some() {
        return target.issue(Op::Graph(launch));
    }
    refuse_if_global_capture_forbids(&target)?;
    let context = target.context.handle;
    let mark = target.run_after(Op::Graph(launch.clone()), launch.waits(context)?)?;
    launch.recorded(context, mark);
    Ok(())
}

pub fn cuGraphExecDestroy(exec: CUgraphExec) -> Answer {
    EXECUTABLES.remove(exec).map(|_| ())
}

pub fn cuGraphExecUpdate(
    exec: CUgraphExec,
    graph: CUgraph,
    error_node: Out<CUgraphNode>,
    result: Out<u32>,
) -> Answer {
    const SUCCESS: u32 = 0;
    const TOPOLOGY_CHANGED: u32 = 2;
    const NODE_TYPE_CHANGED: u32 = 3;
    let exec = EXECUTABLES.get(exec)?;
    let new = Executable::new(&*GRAPHS.get(graph)?)?;
    error_node.set_if_given(0);
    let mut steps = exec.steps();
    let new = new.steps();
    if steps.len() != new.len() {
        result.set_if_given(TOPOLOGY_CHANGED);
        return Err(CUresult::GRAPH_EXEC_UPDATE_FAILURE);
    }
    for (old, new) in steps.iter().zip(new.iter()) {
        if std::mem::discriminant(&old.op) != std::mem::discriminant(&new.op) {
            error_node.set_if_given(new.node);
            result.set_if_given(NODE_TYPE_CHANGED);
            return Err(CUresult::GRAPH_EXEC_UPDATE_FAILURE);
        }
    }
    for (old, new) in steps.iter_mut().zip(new.iter()) {
        old.op = new.op.clone();
    }
    result.set_if_given(SUCCESS);
    Ok(())
}

pub fn cuGraphExecKernelNodeSetParams(
    exec: CUgraphExec,
    node: CUgraphNode,
    params: In<CUDA_KERNEL_NODE_PARAMS_v1>,
) -> Answer {
    NODES.get(node)?;
    EXECUTABLES.get(exec)?.change(node, super::launch_of(&params.get()?)?)
}

pub fn cuGraphExecKernelNodeSetParams_v2(
    exec: CUgraphExec,
    node: CUgraphNode,
    params: In<CUDA_KERNEL_NODE_PARAMS>,
) -> Answer {
    NODES.get(node)?;
    EXECUTABLES.get(exec)?.change(node, super::launch_of_v2(&params.get()?)?)
}

pub fn cuGraphExecMemcpyNodeSetParams(
    exec: CUgraphExec,
    node: CUgraphNode,
    params: In<CUDA_MEMCPY3D>,
    _context: CUcontext,
) -> Answer {
    EXECUTABLES.get(exec)?.change(node, super::copy_of(&params.get()?)?)
}

pub fn cuGraphExecMemsetNodeSetParams(
    exec: CUgraphExec,
    node: CUgraphNode,
    params: In<CUDA_MEMSET_NODE_PARAMS>,
    _context: CUcontext,
) -> Answer {
    EXECUTABLES.get(exec)?.change(node, super::fill_of(&params.get()?)?)
}

pub fn cuGraphExecHostNodeSetParams(
    exec: CUgraphExec,
    node: CUgraphNode,
    params: In<CUDA_HOST_NODE_PARAMS>,
) -> Answer {
    EXECUTABLES.get(exec)?.change(node, super::call_of(&params.get()?)?)
}

pub fn cuGraphExecChildGraphNodeSetParams(exec: CUgraphExec, node: CUgraphNode, child: CUgraph) -> Answer {
    let child = Executable::new(&*GRAPHS.get(child)?)?;
    EXECUTABLES.get(exec)?.change(node, Op::Graph(child.into()))
}

pub fn cuGraphExecGetId(exec: CUgraphExec, id: Out<u32>) -> Answer {
    id.required()?;
    EXECUTABLES.get(exec)?;
    id.set(super::id_of(exec))
}

pub fn cuGraphExecGetFlags(exec: CUgraphExec, flags: Out<u64>) -> Answer {
    flags.required()?;
    flags.set(EXECUTABLES.get(exec)?.flags)
}
