//! `cuda_std::unroll!` in a loop's body decides how often LLVM unrolls that loop.
//!
//! The macro leaves a call of a foreign function named `warpsmith:unroll:N` (or `full`, `none`). Here it becomes the
//! loop metadata that Clang makes of `#pragma unroll`, on the latches of the innermost loop around the call. Must come
//! before the optimiser, which would not find the loop as it was written.

use crate::bitcode::marks;
use crate::llvm::{Block, Context, Module, Opcode, TargetMachine, Value};
use std::collections::{HashMap, HashSet};

pub fn resolve(context: &Context, module: &Module<'_>) {
    for marker in module.functions() {
        let name = marker.name();
        let Some(how) = name.strip_prefix(marks::UNROLL) else { continue };
        let property = match how {
            "full" => ("llvm.loop.unroll.full", None),
            "none" => ("llvm.loop.unroll.disable", None),
            count => ("llvm.loop.unroll.count", count.parse().ok()),
        };
        for call in marker.users() {
            if call.as_instruction().is_none() || call.opcode() != Opcode::Call {
                continue;
            }
            let metadata = context.loop_metadata(call.location(), &[property]);
            for latch in innermost_latches(call.block()) {
                if let Some(branch) = latch.terminator() {
                    branch.set_metadata(context.metadata_kind("llvm.loop"), metadata);
                }
            }
            call.erase();
        }
        if !marker.is_used() {
            marker.delete_function();
        }
    }
}

/// Says, a line each, which loops are left that `unroll!` asked to unroll. Must come after the optimiser.
pub fn not_done(context: &Context, module: &Module<'_>, machine: &TargetMachine) -> Result<String, String> {
    // What was said of loops that a later pass did unroll.
    context.take_warnings();
    machine.run_passes(module, "function(transform-warning)")?;
    let warnings = context.take_warnings();
    let left = warnings.iter().filter_map(|warning| warning.split_once(": loop not unrolled"));
    let lines = left.map(|(place, _)| {
        let place = if place.starts_with("<unknown>") { String::new() } else { format!("{place}: ") };
        format!(
            "{place}this loop is not unrolled as `unroll!` asks. `full` needs a number of turns that is known when the kernel \
             is compiled; a number N needs that, too, where the loop holds a barrier or a shuffle"
        )
    });
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

/// The blocks that jump back to the head of the smallest loop around a block; none if it is in no loop.
fn innermost_latches(block: Block) -> Vec<Block> {
    let blocks = block.function().blocks();
    let predecessors = predecessors(&blocks);
    let dominators = dominators(&blocks, &predecessors);
    let mut loops: HashMap<Block, (HashSet<Block>, Vec<Block>)> = HashMap::new();
    for &latch in &blocks {
        for head in latch.terminator().map(Value::successors).unwrap_or_default() {
            // A jump to a block that dominates it closes a loop.
            if dominators.get(&latch).is_some_and(|set| set.contains(&head)) {
                let (body, latches) =
                    loops.entry(head).or_insert_with(|| (HashSet::from([head]), Vec::new()));
                latches.push(latch);
                let mut open = vec![latch];
                while let Some(next) = open.pop() {
                    if body.insert(next) {
                        open.extend(predecessors.get(&next).into_iter().flatten());
                    }
                }
            }
        }
    }
    let around = loops.into_values().filter(|(body, _)| body.contains(&block));
    around.min_by_key(|(body, _)| body.len()).map(|(_, latches)| latches).unwrap_or_default()
}

fn predecessors(blocks: &[Block]) -> HashMap<Block, Vec<Block>> {
    let mut predecessors: HashMap<Block, Vec<Block>> = HashMap::new();
    for &block in blocks {
        for next in block.terminator().map(Value::successors).unwrap_or_default() {
            predecessors.entry(next).or_default().push(block);
        }
    }
    predecessors
}

/// For each reachable block, the blocks on every way to it from the first, itself included.
fn dominators(blocks: &[Block], predecessors: &HashMap<Block, Vec<Block>>) -> HashMap<Block, HashSet<Block>> {
    let mut sets: HashMap<Block, HashSet<Block>> = HashMap::new();
    let Some((&first, rest)) = blocks.split_first() else { return sets };
    sets.insert(first, HashSet::from([first]));
    loop {
        let mut changed = false;
        for &block in rest {
            let known = predecessors.get(&block).into_iter().flatten().filter_map(|p| sets.get(p));
            let common = known.cloned().reduce(|a, b| a.intersection(&b).copied().collect());
            let Some(mut common) = common else { continue };
            common.insert(block);
            if sets.get(&block) != Some(&common) {
                sets.insert(block, common);
                changed = true;
            }
        }
        if !changed {
            return sets;
        }
    }
}
