//! Graphs that are ready to run.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{GRAPHS, Graph, Kept, Node, RecordEvent, in_place_of};
use crate::abi::{
    Answer, CUDA_GRAPH_INSTANTIATE_PARAMS, CUgraph, CUgraphExec, CUgraphExecUpdateResult as Update,
    CUgraphNode, CUgraphNodeType, CUresult, CUstream, Out,
};
use crate::check;
use crate::objects::context::{Context, current};
use crate::objects::registry::Registry;
use crate::objects::stream::target;
use crate::objects::work::Work;

pub static EXECUTABLES: Registry<Executable> = Registry::new(CUresult::INVALID_VALUE);

/// An instantiated graph: its work in an order that respects every dependency.
pub struct Executable {
    steps: Mutex<Vec<Step>>,
    /// The program's objects that live as long as this.
    kept: Mutex<Arc<Vec<Kept>>>,
    flags: u64,
}

#[derive(Clone)]
struct Step {
    node: CUgraphNode,
    work: Arc<dyn Work>,
    after: Arc<[usize]>,
    enabled: bool,
}

impl Executable {
    pub fn new(graph: &Graph) -> Answer<Self> {
        let nodes = graph.sorted()?;
        let places: HashMap<CUgraphNode, usize> =
            nodes.iter().enumerate().map(|(at, node)| (node.handle, at)).collect();
        let step = |node: &Arc<Node>| {
            let after = node.after().iter().filter_map(|before| places.get(before).copied()).collect();
            let work = match node.child {
                Some(child) => Arc::new(Self::new(&*GRAPHS.get(child)?)?) as Arc<dyn Work>,
                None => node.work().clone(),
            };
            Ok(Step { node: node.handle, work, after, enabled: true })
        };
        let steps = Mutex::new(nodes.iter().map(step).collect::<Answer<_>>()?);
        Ok(Self { steps, kept: Mutex::new(Kept::shared(&graph.kept())), flags: 0 })
    }

    fn steps(&self) -> MutexGuard<'_, Vec<Step>> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept(&self) -> Arc<Vec<Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn works(&self) -> Vec<Arc<dyn Work>> {
        self.steps().iter().map(|step| step.work.clone()).collect()
    }

    /// The work as it is now: what a launch runs, whatever changes later.
    fn snapshot(&self) -> Arc<Self> {
        let mut steps = self.steps().clone();
        for step in &mut steps {
            if let Some(event) = step.work.as_kind::<RecordEvent>() {
                step.work = Arc::new(event.again());
            } else if let Some(child) = step.work.as_kind::<Self>() {
                step.work = child.snapshot();
            }
        }
        Arc::new(Self { steps: Mutex::new(steps), kept: Mutex::new(self.kept()), flags: self.flags })
    }

    /// Excludes a node from later launches, or includes it again.
    pub fn enable(&self, node: CUgraphNode, enabled: bool) -> Answer {
        self.with_step(node, |step| step.enabled = enabled)
    }

    pub fn is_enabled(&self, node: CUgraphNode) -> Answer<bool> {
        self.with_step(node, |step| step.enabled)
    }

    /// Only kernels, copies and fills can be excluded.
    fn with_step<T>(&self, node: CUgraphNode, act: impl FnOnce(&mut Step) -> T) -> Answer<T> {
        let mut steps = self.steps();
        let step = steps.iter_mut().find(|step| step.node == node).ok_or(CUresult::INVALID_VALUE)?;
        match step.work.kind() {
            CUgraphNodeType::KERNEL | CUgraphNodeType::MEMCPY | CUgraphNodeType::MEMSET => Ok(act(step)),
            _ => Err(CUresult::INVALID_VALUE),
        }
    }

    /// Gives a node's step other parameters; the kind of work stays.
    pub fn change(&self, node: CUgraphNode, work: Arc<dyn Work>) -> Answer {
        let mut steps = self.steps();
        let step = steps.iter_mut().find(|step| step.node == node).ok_or(CUresult::INVALID_VALUE)?;
        step.work = in_place_of(&step.work, work)?;
        Ok(())
    }
}

impl Work for Executable {
    fn kind(&self) -> CUgraphNodeType {
        CUgraphNodeType::GRAPH
    }

    fn perform(&self, context: &Context) -> Answer {
        let steps = self.steps();
        let run = |step: &Step| {
            if step.enabled {
                step.work.run(context);
            }
        };
        match check::sanitizer() {
            None => steps.iter().for_each(run),
            Some(sanitizer) => {
                let after: Vec<_> = steps.iter().map(|step| step.after.to_vec()).collect();
                sanitizer.graph(&after, |node| run(&steps[node]));
            }
        }
        Ok(())
    }

    fn calls_host(&self) -> bool {
        self.steps().iter().any(|step| step.work.calls_host())
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
    // An upload needs a stream, which this call does not have; a graph launched from the device frees nothing.
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
    if let Some(capture) = target.capture() {
        return capture.add(&target, launch);
    }
    target.refuse_if_it_waits_for_a_capture()?;
    let context = target.context.handle;
    let mark = target.run_after(launch.clone(), launch.waits())?;
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
    let exec = EXECUTABLES.get(exec)?;
    let new = Executable::new(&*GRAPHS.get(graph)?)?;
    error_node.set_if_given(0);
    let mut steps = exec.steps();
    let kept = new.kept();
    let new = new.steps();
    if steps.len() != new.len() {
        result.set_if_given(Update::ERROR_TOPOLOGY_CHANGED as u32);
        return Err(CUresult::GRAPH_EXEC_UPDATE_FAILURE);
    }
    for (old, new) in steps.iter().zip(new.iter()) {
        if old.work.kind() != new.work.kind() {
            error_node.set_if_given(new.node);
            result.set_if_given(Update::ERROR_NODE_TYPE_CHANGED as u32);
            return Err(CUresult::GRAPH_EXEC_UPDATE_FAILURE);
        }
    }
    for (old, new) in steps.iter_mut().zip(new.iter()) {
        old.work = new.work.clone();
    }
    *exec.kept.lock().unwrap_or_else(PoisonError::into_inner) = kept;
    result.set_if_given(Update::SUCCESS as u32);
    Ok(())
}

pub fn cuGraphExecChildGraphNodeSetParams(exec: CUgraphExec, node: CUgraphNode, child: CUgraph) -> Answer {
    let child = Executable::new(&*GRAPHS.get(child)?)?;
    EXECUTABLES.get(exec)?.change(node, Arc::new(child))
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
