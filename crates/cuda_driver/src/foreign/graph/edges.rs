//! The interfaces of CUDA 12.3, whose edges carry data. Ours are plain: their data is all zero, and other data is
//! refused.

use std::ffi::c_void;

use super::*;
use crate::abi::{CUstream, In, Out};

/// `CUgraphEdgeData`: ports, type and reserved bytes.
type EdgeData = [u8; 8];

/// Fails for edges that are not plain.
pub(super) fn plain(data: *const c_void, count: usize) -> Answer {
    if data.is_null() {
        return Ok(());
    }
    // SAFETY: the caller vouches for data of as many edges as it gave.
    let data = unsafe { In::<EdgeData>::new(data.cast()) }.array(count)?;
    if data.iter().all(|edge| edge == &[0; 8]) { Ok(()) } else { Err(CUresult::NOT_SUPPORTED) }
}

/// Stores the data of as many edges as were told.
fn tell(data: *mut c_void, count: Out<usize>) -> Answer {
    if !data.is_null() {
        // SAFETY: the caller vouches for room for as many edges as it asked for.
        let place = unsafe { Out::<EdgeData>::new(data.cast()) };
        (0..count.get()?).for_each(|index| place.set_at(index, [0; 8]));
    }
    Ok(())
}

pub fn cuGraphGetEdges_v2(
    graph: CUgraph,
    from: Out<CUgraphNode>,
    to: Out<CUgraphNode>,
    data: *mut c_void,
    count: Out<usize>,
) -> Answer {
    cuGraphGetEdges(graph, from, to, count)?;
    if from.is_null() { Ok(()) } else { tell(data, count) }
}

pub fn cuGraphNodeGetDependencies_v2(
    node: CUgraphNode,
    nodes: Out<CUgraphNode>,
    data: *mut c_void,
    count: Out<usize>,
) -> Answer {
    cuGraphNodeGetDependencies(node, nodes, count)?;
    if nodes.is_null() { Ok(()) } else { tell(data, count) }
}

pub fn cuGraphNodeGetDependentNodes_v2(
    node: CUgraphNode,
    nodes: Out<CUgraphNode>,
    data: *mut c_void,
    count: Out<usize>,
) -> Answer {
    cuGraphNodeGetDependentNodes(node, nodes, count)?;
    if nodes.is_null() { Ok(()) } else { tell(data, count) }
}

pub fn cuGraphAddDependencies_v2(
    graph: CUgraph,
    from: In<CUgraphNode>,
    to: In<CUgraphNode>,
    data: *const c_void,
    count: usize,
) -> Answer {
    plain(data, count)?;
    cuGraphAddDependencies(graph, from, to, count)
}

pub fn cuGraphRemoveDependencies_v2(
    graph: CUgraph,
    from: In<CUgraphNode>,
    to: In<CUgraphNode>,
    data: *const c_void,
    count: usize,
) -> Answer {
    plain(data, count)?;
    cuGraphRemoveDependencies(graph, from, to, count)
}

pub fn cuStreamUpdateCaptureDependencies_v2(
    stream: CUstream,
    nodes: Out<CUgraphNode>,
    data: *const c_void,
    count: usize,
    flags: u32,
) -> Answer {
    plain(data, count)?;
    cuStreamUpdateCaptureDependencies(stream, nodes, count, flags)
}

/// `CUgraphExecUpdateResultInfo`.
#[repr(C)]
struct UpdateResult {
    result: u32,
    error_node: CUgraphNode,
    error_from_node: CUgraphNode,
}

pub fn cuGraphExecUpdate_v2(exec: Handle, graph: CUgraph, place: *mut c_void) -> Answer {
    // SAFETY: the caller vouches for a place of this structure.
    let place = unsafe { Out::<UpdateResult>::new(place.cast()) }.required()?;
    let (mut error_node, mut result) = (0, 0);
    // SAFETY: both places are locals that outlive the call.
    let updated = unsafe { cuGraphExecUpdate(exec, graph, Out::new(&mut error_node), Out::new(&mut result)) };
    place.set(UpdateResult { result, error_node, error_from_node: 0 })?;
    updated
}
