//! Attributes of kernel nodes, and nodes that a launch leaves out.

use std::ffi::c_void;

use super::{EXECUTABLES, NODES};
use crate::abi::attributes::launch as attribute;
use crate::abi::{Answer, CUgraphExec, CUgraphNode, CUresult, In, Out};
use crate::device::launch::LaunchOp;
use crate::device::work::Op;

/// `CUlaunchAttributeValue`: a union of 64 bytes.
pub type Value = [u64; 8];
/// The last attribute that CUDA 13 knows.
const KNOWN: u32 = 18;

/// Attributes that say nothing of the shape: kept as they are set.
#[derive(Clone, Default)]
pub struct KeptAttributes(Vec<(u32, Value)>);

impl KeptAttributes {
    /// The value that was set.
    pub fn get(&self, number: u32) -> Option<Value> {
        self.0.iter().find(|(known, _)| *known == number).map(|&(_, value)| value)
    }

    /// Sets a value.
    pub fn set(&mut self, number: u32, value: Value) {
        self.0.retain(|(known, _)| *known != number);
        self.0.push((number, value));
    }
}

fn get(launch: &LaunchOp, number: u32) -> Answer<Value> {
    let mut value = [0; 8];
    match number {
        attribute::COOPERATIVE => value[0] = launch.launch.cooperative.into(),
        attribute::CLUSTER_DIMENSION => {
            let [x, y, z] = launch.launch.cluster.map(u64::from);
            (value[0], value[1]) = (x | y << 32, z);
        }
        known if known <= KNOWN => value = launch.attributes.get(number).unwrap_or_default(),
        _ => return Err(CUresult::INVALID_VALUE),
    }
    Ok(value)
}

fn set(launch: &mut LaunchOp, number: u32, value: Value) -> Answer {
    match number {
        attribute::COOPERATIVE => launch.launch.cooperative = value[0] as u32 != 0,
        attribute::CLUSTER_DIMENSION => {
            let cluster = [value[0] as u32, (value[0] >> 32) as u32, value[1] as u32];
            let cluster = if cluster == [0; 3] { [1; 3] } else { cluster };
            crate::device::launch::check_cluster(launch.launch.grid, cluster, &launch.function)?;
            launch.launch.cluster = cluster;
        }
        known if known <= KNOWN => launch.attributes.set(number, value),
        _ => return Err(CUresult::INVALID_VALUE),
    }
    Ok(())
}

pub fn cuGraphKernelNodeGetAttribute(node: CUgraphNode, number: u32, value: *mut c_void) -> Answer {
    let node = NODES.get(node)?;
    let op = node.op();
    let Op::Launch(launch) = &*op else { return Err(CUresult::INVALID_VALUE) };
    // SAFETY: the caller vouches for a place of the union's size.
    unsafe { Out::<Value>::new(value.cast()) }.set(get(launch, number)?)
}

pub fn cuGraphKernelNodeSetAttribute(node: CUgraphNode, number: u32, value: *const c_void) -> Answer {
    let node = NODES.get(node)?;
    // SAFETY: the caller vouches for a union.
    let value = unsafe { In::<Value>::new(value.cast()) }.get()?;
    let mut op = node.op();
    let Op::Launch(launch) = &mut *op else { return Err(CUresult::INVALID_VALUE) };
    set(launch, number, value)
}

pub fn cuGraphKernelNodeCopyAttributes(to: CUgraphNode, from: CUgraphNode) -> Answer {
    let (to, from) = (NODES.get(to)?, NODES.get(from)?);
    let Op::Launch(from) = from.op().clone() else { return Err(CUresult::INVALID_VALUE) };
    let mut op = to.op();
    let Op::Launch(to) = &mut *op else { return Err(CUresult::INVALID_VALUE) };
    (to.launch.cooperative, to.launch.cluster) = (from.launch.cooperative, from.launch.cluster);
    to.attributes = from.attributes;
    Ok(())
}

pub fn cuGraphNodeSetEnabled(exec: CUgraphExec, node: CUgraphNode, enabled: u32) -> Answer {
    EXECUTABLES.get(exec)?.enable(node, enabled != 0)
}

pub fn cuGraphNodeGetEnabled(exec: CUgraphExec, node: CUgraphNode, enabled: Out<u32>) -> Answer {
    enabled.required()?;
    enabled.set(EXECUTABLES.get(exec)?.is_enabled(node)?.into())
}
