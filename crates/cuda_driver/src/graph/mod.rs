//! Graphs: work kept as nodes with dependencies, made node by node or by capturing streams, and run as one.
//!
//! As in `foreign`, files here contain both objects and the functions on them: nothing else needs the objects.
#![allow(non_snake_case)]

mod any_node;
mod attributes;
mod capture;
mod edges;
mod events;
mod executable;
mod nodes;
mod owned;
mod queries;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use any_node::*;
pub use attributes::*;
pub use capture::*;
pub use edges::*;
pub use events::*;
pub use executable::*;
pub use nodes::*;
pub use owned::*;
pub use queries::*;

use crate::abi::{Answer, CUgraph, CUgraphNode, CUgraphNodeType, CUresult, Handle};
use crate::objects::launch::KernelLaunch;
use crate::objects::registry::{Registry, new_handle};
use crate::objects::work::Work;

pub static GRAPHS: Registry<Graph> = Registry::new(CUresult::INVALID_VALUE);
pub static NODES: Registry<Node> = Registry::new(CUresult::INVALID_VALUE);

#[derive(Default)]
pub struct Graph {
    nodes: Mutex<Vec<Arc<Node>>>,
    /// The program's objects that live as long as the graph.
    kept: Mutex<Vec<owned::Kept>>,
    /// The graph whose node owns this one.
    parent: Option<CUgraph>,
}

pub struct Node {
    pub handle: CUgraphNode,
    graph: CUgraph,
    work: Mutex<Arc<dyn Work>>,
    after: Mutex<Vec<CUgraphNode>>,
    child: Option<CUgraph>,
    original: Option<CUgraphNode>,
    /// The result of `cuGraphKernelNodeGetParams`; it stays valid as long as the node.
    shown: Mutex<Vec<ShownParams>>,
}

/// A parameter block, and the pointers into it that a program was given.
struct ShownParams {
    _block: Box<[u8]>,
    pointers: Box<[usize]>,
}

impl Graph {
    fn nodes(&self) -> MutexGuard<'_, Vec<Arc<Node>>> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept(&self) -> MutexGuard<'_, Vec<owned::Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(
        &self,
        graph: CUgraph,
        work: Arc<dyn Work>,
        after: Vec<CUgraphNode>,
        child: Option<CUgraph>,
    ) -> Answer<Arc<Node>> {
        let mut nodes = self.nodes();
        let mut seen = HashSet::new();
        if !after
            .iter()
            .all(|dependency| seen.insert(dependency) && nodes.iter().any(|node| node.handle == *dependency))
        {
            return Err(CUresult::INVALID_VALUE);
        }
        let handle = new_handle();
        let (work, after) = (Mutex::new(work), Mutex::new(after));
        let node =
            Arc::new(Node { handle, graph, work, after, child, original: None, shown: Mutex::default() });
        NODES.insert_as(handle, node.clone());
        nodes.push(node.clone());
        Ok(node)
    }

    /// The nodes in an order that respects every dependency; an error if there is none.
    fn sorted(&self) -> Answer<Vec<Arc<Node>>> {
        let nodes = self.nodes();
        let mut waiting: HashMap<Handle, usize> =
            nodes.iter().map(|node| (node.handle, node.after().len())).collect();
        let mut order = Vec::with_capacity(nodes.len());
        while order.len() < nodes.len() {
            let ready: Vec<_> =
                nodes.iter().filter(|node| waiting.get(&node.handle) == Some(&0)).cloned().collect();
            if ready.is_empty() {
                return Err(CUresult::INVALID_VALUE);
            }
            for node in &ready {
                waiting.remove(&node.handle);
            }
            for node in nodes.iter() {
                if let Some(count) = waiting.get_mut(&node.handle) {
                    *count -= node
                        .after()
                        .iter()
                        .filter(|after| ready.iter().any(|ready| ready.handle == **after))
                        .count();
                }
            }
            order.extend(ready);
        }
        Ok(order)
    }

    /// Fails for a graph that allocates or frees memory: the driver neither copies it nor takes anything from it.
    fn refuse_if_it_allocates(&self) -> Answer {
        let owns_memory =
            |node: &Arc<Node>| matches!(node.kind(), CUgraphNodeType::MEM_ALLOC | CUgraphNodeType::MEM_FREE);
        if self.nodes().iter().any(owns_memory) { Err(CUresult::NOT_SUPPORTED) } else { Ok(()) }
    }

    /// A copy with nodes and child graphs of its own, in the same order.
    fn duplicate(&self, parent: Option<CUgraph>) -> Answer<(CUgraph, Arc<Graph>)> {
        self.refuse_if_it_allocates()?;
        let kept = Mutex::new(owned::Kept::copy(&self.kept()));
        let copy = Arc::new(Graph { kept, parent, ..Graph::default() });
        let handle = GRAPHS.insert(copy.clone());
        let mut twins: HashMap<Handle, Handle> = HashMap::new();
        for node in self.nodes().iter() {
            let twin = Arc::new(Node {
                handle: new_handle(),
                graph: handle,
                work: Mutex::new(node.work().clone()),
                after: Mutex::default(),
                child: node.child.map(|child| copy_of_child(child, handle)).transpose()?,
                original: Some(node.handle),
                shown: Mutex::default(),
            });
            twins.insert(node.handle, twin.handle);
            NODES.insert_as(twin.handle, twin.clone());
            copy.nodes().push(twin);
        }
        for (node, twin) in self.nodes().iter().zip(copy.nodes().iter()) {
            *twin.after() = node.after().iter().filter_map(|after| twins.get(after).copied()).collect();
        }
        Ok((handle, copy))
    }
}

/// A copy of a graph that a node of `parent` owns.
fn copy_of_child(child: CUgraph, parent: CUgraph) -> Answer<CUgraph> {
    Ok(GRAPHS.get(child)?.duplicate(Some(parent))?.0)
}

impl Node {
    fn work(&self) -> MutexGuard<'_, Arc<dyn Work>> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn after(&self) -> MutexGuard<'_, Vec<CUgraphNode>> {
        self.after.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kind(&self) -> CUgraphNodeType {
        if self.child.is_some() { CUgraphNodeType::GRAPH } else { self.work().kind() }
    }
}

/// A work's kernel launch, for calls about kernel nodes.
fn launch_in(work: &Arc<dyn Work>) -> Answer<&KernelLaunch> {
    work.as_kind().ok_or(CUresult::INVALID_VALUE)
}
