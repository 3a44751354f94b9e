//! The interfaces of CUDA 12.3, whose edges carry data. Ours are plain: their data is all zero, and other data is
//! refused.

use std::ffi::c_void;

use super::*;
use crate::abi::{CUstream, In, Out};

/// `CUgraphEdgeData`: ports, type and reserved bytes.
pub(super) type EdgeData = [u8; 8];
pub(super) const PLAIN: EdgeData = [0; 8];

/// Fails unless the edges are plain.
pub(super) fn plain(data: *const c_void, count: usize) -> Answer {
    if data.is_null() {
        return Ok(());
    }
    // SAFETY: the caller vouches for data of as many edges as it gave.
    let data = unsafe { In::<EdgeData>::new(data.cast()) }.array(count)?;
    if data.iter().all(|edge| edge == &PLAIN) { Ok(()) } else { Err(CUresult::NOT_SUPPORTED) }
}

/// Stores the data of the edges that were listed.
fn tell(data: *mut c_void, count: Out<usize>) -> Answer {
    if !data.is_null() {
        // SAFETY: the caller vouches for room for as many edges as it asked for.
        let place = unsafe { Out::<EdgeData>::new(data.cast()) };
        (0..count.get()?).for_each(|index| place.set_at(index, PLAIN));
    }
    Ok(())
}

/// The functions for edges with data: those that list edges, then those that change them.
macro_rules! edges {
    (
        $($list:ident = $older_list:ident ($handle:ident, $nodes:ident $(, $others:ident)?);)*
        => $($change:ident = $older:ident ($($arg:ident: $type:ty),*) $data:ident, $count:ident $(, $flags:ident)?;)*
    ) => {
        $(pub fn $list(
            $handle: Handle,
            $nodes: Out<CUgraphNode>,
            $($others: Out<CUgraphNode>,)?
            data: *mut c_void,
            count: Out<usize>,
        ) -> Answer {
            $older_list($handle, $nodes, $($others,)? count)?;
            if $nodes.is_null() { Ok(()) } else { tell(data, count) }
        })*

        $(pub fn $change($($arg: $type,)* $data: *const c_void, $count: usize $(, $flags: u32)?) -> Answer {
            plain($data, $count)?;
            $older($($arg,)* $count $(, $flags)?)
        })*
    };
}

edges! {
    cuGraphGetEdges_v2 = cuGraphGetEdges (graph, from, to);
    cuGraphNodeGetDependencies_v2 = cuGraphNodeGetDependencies (node, nodes);
    cuGraphNodeGetDependentNodes_v2 = cuGraphNodeGetDependentNodes (node, nodes);
    =>
    cuGraphAddDependencies_v2 = cuGraphAddDependencies
        (graph: CUgraph, from: In<CUgraphNode>, to: In<CUgraphNode>) data, count;
    cuGraphRemoveDependencies_v2 = cuGraphRemoveDependencies
        (graph: CUgraph, from: In<CUgraphNode>, to: In<CUgraphNode>) data, count;
    cuStreamUpdateCaptureDependencies_v2 = cuStreamUpdateCaptureDependencies
        (stream: CUstream, nodes: Out<CUgraphNode>) data, count, flags;
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
