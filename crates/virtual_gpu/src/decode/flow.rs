//! The order of a function's basic blocks: reverse post-order, so that lanes that diverged meet where their ways join.
//!
//! The executor runs the group of lanes with the lowest program counter first. With every block behind all blocks that
//! lead to it (loops aside), no group runs past the place where another would join it. Of two successors the one that
//! stands later in the text is visited first and so ends up behind the other, which keeps the compilers' own order.

use super::function::{Draft, Item};
use crate::op::{Guard, Op, OpKind, Touched};

struct BasicBlock {
    drafts: Vec<Draft>,
    /// Blocks it may go on with, the one that follows in the text last.
    successors: Vec<usize>,
    /// Whether its end runs on into the next block of the text.
    falls_through: bool,
}

/// Orders the items, and turns labels into program counters that start at `start`. Fails with a label that is nowhere.
pub(super) fn lay_out(items: Vec<Item>, labels: usize, start: u32) -> Result<Vec<Draft>, u32> {
    let mut label_block = vec![None; labels];
    let mut blocks = vec![BasicBlock { drafts: Vec::new(), successors: Vec::new(), falls_through: true }];
    let mut open = true;
    for item in items {
        match item {
            Item::Label(label) => {
                if !open || !blocks[blocks.len() - 1].drafts.is_empty() {
                    blocks.push(BasicBlock {
                        drafts: Vec::new(),
                        successors: Vec::new(),
                        falls_through: true,
                    });
                    open = true;
                }
                label_block[label as usize] = Some(blocks.len() - 1);
            }
            Item::Op(draft) => {
                if !open {
                    blocks.push(BasicBlock {
                        drafts: Vec::new(),
                        successors: Vec::new(),
                        falls_through: true,
                    });
                }
                let ends = matches!(
                    draft.op.kind,
                    OpKind::Branch { .. }
                        | OpKind::BranchIndexed { .. }
                        | OpKind::Return
                        | OpKind::Exit
                        | OpKind::Trap
                );
                let always = draft.op.guard.slot == Guard::ALWAYS.slot;
                if let Some(block) = blocks.last_mut() {
                    block.drafts.push(draft);
                    block.falls_through = !(ends && always);
                }
                open = !ends;
            }
        }
    }
    // Running off the end of a function returns from it.
    let position = blocks.iter().rev().find_map(|b| b.drafts.last()).map_or((0, None), |d| (d.line, d.loc));
    if blocks[blocks.len() - 1].falls_through {
        let mut end = glue(OpKind::Return);
        (end.line, end.loc) = position;
        blocks.push(BasicBlock { drafts: vec![end], successors: Vec::new(), falls_through: false });
    }
    for i in 0..blocks.len() {
        let mut successors = Vec::new();
        if let Some(last) = blocks[i].drafts.last_mut() {
            for &mut label in last.op.kind.targets_mut() {
                successors.push(label_block[label as usize].ok_or(label)?);
            }
        }
        if blocks[i].falls_through {
            successors.push(i + 1);
        }
        blocks[i].successors = successors;
    }

    let order = reverse_post_order(&blocks);
    let mut place = vec![u32::MAX; blocks.len()];
    let mut pc = start;
    let mut jumps = vec![false; blocks.len()];
    for (at, &i) in order.iter().enumerate() {
        place[i] = pc;
        jumps[i] = blocks[i].falls_through && order.get(at + 1) != Some(&(i + 1));
        pc += blocks[i].drafts.len() as u32 + u32::from(jumps[i]);
    }
    let mut drafts = Vec::with_capacity((pc - start) as usize);
    for &i in &order {
        let mut block = std::mem::take(&mut blocks[i].drafts);
        if let Some(last) = block.last_mut() {
            for target in last.op.kind.targets_mut() {
                // Known: the successors were found above, and whatever a block leads to is in the order.
                *target = label_block[*target as usize].map_or(start, |b| place[b]);
            }
        }
        let from = block.last().map(|d| (d.line, d.loc));
        drafts.append(&mut block);
        if jumps[i] {
            let mut jump = glue(OpKind::Jump { target: place[i + 1] });
            (jump.line, jump.loc) = from.unwrap_or(position);
            drafts.push(jump);
        }
    }
    Ok(drafts)
}

fn glue(kind: OpKind) -> Draft {
    Draft {
        op: Op { guard: Guard::ALWAYS, kind },
        line: 0,
        loc: None,
        touched: Touched::default(),
        opcode: None,
    }
}

/// The blocks that can be reached, each behind its predecessors where no loop forbids it.
fn reverse_post_order(blocks: &[BasicBlock]) -> Vec<usize> {
    let mut sorted: Vec<Vec<usize>> = blocks.iter().map(|b| b.successors.clone()).collect();
    for successors in &mut sorted {
        successors.sort_unstable_by(|a, b| b.cmp(a));
        successors.dedup();
    }
    let mut seen = vec![false; blocks.len()];
    let mut order = Vec::new();
    let mut stack = vec![(0, 0)];
    seen[0] = true;
    while let Some((block, next)) = stack.last_mut() {
        match sorted[*block].get(*next) {
            Some(&successor) => {
                *next += 1;
                if !seen[successor] {
                    seen[successor] = true;
                    stack.push((successor, 0));
                }
            }
            None => {
                order.push(*block);
                stack.pop();
            }
        }
    }
    order.reverse();
    order
}
