//! Attributes of kernel nodes, and nodes that launches skip.

use std::ffi::c_void;
use std::sync::Arc;

use super::{EXECUTABLES, NODES, launch_in};
use crate::abi::{Answer, CUgraphExec, CUgraphNode, CUlaunchAttributeID as Attribute, In, Out};
use crate::objects::kept_attributes::Value;
use crate::objects::launch::{KernelLaunch, check_cluster};

fn get(launch: &KernelLaunch, attribute: Attribute) -> Value {
    let mut value = [0; 8];
    match attribute {
        Attribute::COOPERATIVE => value[0] = launch.launch.cooperative.into(),
        Attribute::CLUSTER_DIMENSION => {
            let [x, y, z] = launch.launch.cluster.map(u64::from);
            (value[0], value[1]) = (x | y << 32, z);
        }
        _ => value = launch.attributes.get(attribute).unwrap_or_default(),
    }
    value
}

fn set(launch: &mut KernelLaunch, attribute: Attribute, value: Value) -> Answer {
    match attribute {
        Attribute::COOPERATIVE => launch.launch.cooperative = value[0] as u32 != 0,
        Attribute::CLUSTER_DIMENSION => {
            let cluster = [value[0] as u32, (value[0] >> 32) as u32, value[1] as u32];
            let cluster = if cluster == [0; 3] { [1; 3] } else { cluster };
            check_cluster(launch.launch.grid, cluster, &launch.function)?;
            launch.launch.cluster = cluster;
        }
        _ => launch.attributes.set(attribute, value),
    }
    Ok(())
}

pub fn cuGraphKernelNodeGetAttribute(node: CUgraphNode, number: u32, value: *mut c_void) -> Answer {
    let work = NODES.get(node)?.work().clone();
    // SAFETY: the caller vouches for a place of the union's size.
    unsafe { Out::<Value>::new(value.cast()) }.set(get(launch_in(&work)?, number.try_into()?))
}

pub fn cuGraphKernelNodeSetAttribute(node: CUgraphNode, number: u32, value: *const c_void) -> Answer {
    let node = NODES.get(node)?;
    // SAFETY: the caller vouches for a union.
    let value = unsafe { In::<Value>::new(value.cast()) }.get()?;
    let mut work = node.work();
    let mut launch = launch_in(&work)?.clone();
    set(&mut launch, number.try_into()?, value)?;
    *work = Arc::new(launch);
    Ok(())
}

pub fn cuGraphKernelNodeCopyAttributes(to: CUgraphNode, from: CUgraphNode) -> Answer {
    let (to, from) = (NODES.get(to)?, NODES.get(from)?.work().clone());
    let mut work = to.work();
    let copied = launch_in(&work)?.with_attributes_of(launch_in(&from)?);
    *work = Arc::new(copied);
    Ok(())
}

pub fn cuGraphNodeSetEnabled(exec: CUgraphExec, node: CUgraphNode, enabled: u32) -> Answer {
    EXECUTABLES.get(exec)?.enable(node, enabled != 0)
}

pub fn cuGraphNodeGetEnabled(exec: CUgraphExec, node: CUgraphNode, enabled: Out<u32>) -> Answer {
    enabled.required()?;
    enabled.set(EXECUTABLES.get(exec)?.is_enabled(node)?.into())
}
