//! Queries of graphs: nodes, edges, roots, a drawing.

use std::fmt::Write;
use std::sync::Arc;

use super::{GRAPHS, NODES, Node, destroy, launch_in};
use crate::abi::{Answer, CUgraph, CUgraphNode, CUresult, In, Out, Text};

/// Stores as many handles as fit, or only their number if `place` is null.
fn list(handles: &[CUgraphNode], place: Out<CUgraphNode>, count: Out<usize>) -> Answer {
    if place.is_null() {
        return count.set(handles.len());
    }
    let room = count.get()?;
    for index in 0..room {
        place.set_at(index, handles.get(index).copied().unwrap_or(0));
    }
    count.set(handles.len().min(room))
}

fn all(graph: CUgraph) -> Answer<Vec<Arc<Node>>> {
    Ok(GRAPHS.get(graph)?.nodes().clone())
}

pub fn cuGraphGetNodes(graph: CUgraph, nodes: Out<CUgraphNode>, count: Out<usize>) -> Answer {
    let handles: Vec<_> = all(graph)?.iter().map(|node| node.handle).collect();
    list(&handles, nodes, count)
}

pub fn cuGraphGetRootNodes(graph: CUgraph, nodes: Out<CUgraphNode>, count: Out<usize>) -> Answer {
    let handles: Vec<_> =
        all(graph)?.iter().filter(|node| node.after().is_empty()).map(|node| node.handle).collect();
    list(&handles, nodes, count)
}

pub fn cuGraphGetEdges(
    graph: CUgraph,
    from: Out<CUgraphNode>,
    to: Out<CUgraphNode>,
    count: Out<usize>,
) -> Answer {
    count.required()?;
    if from.is_null() != to.is_null() {
        return Err(CUresult::INVALID_VALUE);
    }
    let nodes = all(graph)?;
    let mut edges = Vec::new();
    for node in &nodes {
        edges.extend(node.after().iter().map(|&first| (first, node.handle)));
    }
    let (first, second): (Vec<_>, Vec<_>) = edges.into_iter().unzip();
    let room = if from.is_null() { 0 } else { count.get()? };
    list(&first, from, count)?;
    if !to.is_null() {
        count.set(room)?;
        list(&second, to, count)?;
    }
    Ok(())
}

pub fn cuGraphNodeGetType(node: CUgraphNode, kind: Out<u32>) -> Answer {
    kind.required()?;
    kind.set(NODES.get(node)?.kind() as u32)
}

pub fn cuGraphNodeGetDependencies(node: CUgraphNode, nodes: Out<CUgraphNode>, count: Out<usize>) -> Answer {
    count.required()?;
    let after = NODES.get(node)?.after().clone();
    list(&after, nodes, count)
}

pub fn cuGraphNodeGetDependentNodes(node: CUgraphNode, nodes: Out<CUgraphNode>, count: Out<usize>) -> Answer {
    count.required()?;
    let graph = NODES.get(node)?.graph;
    let behind = all(graph)?
        .iter()
        .filter(|other| other.after().contains(&node))
        .map(|other| other.handle)
        .collect::<Vec<_>>();
    list(&behind, nodes, count)
}

pub fn cuGraphAddDependencies(
    graph: CUgraph,
    from: In<CUgraphNode>,
    to: In<CUgraphNode>,
    count: usize,
) -> Answer {
    let nodes = all(graph)?;
    let find = |handle| nodes.iter().find(|node| node.handle == handle).ok_or(CUresult::INVALID_VALUE);
    for (first, second) in from.array(count)?.into_iter().zip(to.array(count)?) {
        find(first)?;
        let second = find(second)?;
        if first == second.handle || second.after().contains(&first) {
            return Err(CUresult::INVALID_VALUE);
        }
        second.after().push(first);
    }
    Ok(())
}

pub fn cuGraphRemoveDependencies(
    graph: CUgraph,
    from: In<CUgraphNode>,
    to: In<CUgraphNode>,
    count: usize,
) -> Answer {
    GRAPHS.get(graph)?.refuse_if_it_allocates()?;
    let nodes = all(graph)?;
    for (first, second) in from.array(count)?.into_iter().zip(to.array(count)?) {
        let node = nodes.iter().find(|node| node.handle == second).ok_or(CUresult::INVALID_VALUE)?;
        let mut after = node.after();
        let at = after.iter().position(|&handle| handle == first).ok_or(CUresult::INVALID_VALUE)?;
        after.remove(at);
    }
    Ok(())
}

pub fn cuGraphDestroyNode(node: CUgraphNode) -> Answer {
    let graph = GRAPHS.get(NODES.get(node)?.graph)?;
    graph.refuse_if_it_allocates()?;
    let child = NODES.remove(node)?.child;
    {
        let mut nodes = graph.nodes();
        nodes.retain(|other| other.handle != node);
        nodes.iter().for_each(|other| other.after().retain(|&handle| handle != node));
    }
    child.map_or(Ok(()), destroy)
}

pub fn cuGraphDebugDotPrint(graph: CUgraph, path: Text, _flags: u32) -> Answer {
    let path = path.get()?;
    let nodes = all(graph)?;
    let number = |handle| nodes.iter().position(|node| node.handle == handle).unwrap_or(usize::MAX);
    let mut dot = String::from("digraph graph_1 {\n");
    for (index, node) in nodes.iter().enumerate() {
        let work = node.work().clone();
        let kernel = launch_in(&work).map(|launch| launch.kernel().name().to_owned());
        let label = kernel.unwrap_or_else(|_| format!("{:?}", node.kind()));
        // Writing to a string cannot fail.
        let _ = writeln!(dot, "    node{index} [label=\"{index}: {label}\"];");
        for &first in node.after().iter() {
            let _ = writeln!(dot, "    node{} -> node{index};", number(first));
        }
    }
    dot.push_str("}\n");
    std::fs::write(&*path, dot).map_err(|_| CUresult::OPERATING_SYSTEM)
}
