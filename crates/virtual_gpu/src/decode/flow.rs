//! The order of a function's basic blocks: reverse post-order, so that lanes that diverged meet where their ways join.
//!
//! The executor runs the group of lanes with the lowest program counter first. With every block behind all blocks that
//! lead to it (loops aside), no group runs past the place where another would join it. Of two successors the one that
//! stands later in the text is visited first and so ends up behind the other, which keeps the compilers' own order.

use std::collections::HashMap;
use std::sync::Arc;

use super::draft::{Draft, Item};
use crate::form::op::{Guard, Op, OpKind, Touched};

struct BasicBlock {
    drafts: Vec<Draft>,
    /// Whether its end runs on into the next block of the text.
    falls_through: bool,
}

impl BasicBlock {
    fn new(drafts: Vec<Draft>, falls_through: bool) -> Self {
        BasicBlock { drafts, falls_through }
    }
}

/// Orders the items, and turns labels into program counters that start at `start`. Fails with a label that is nowhere.
///
/// Takes time in proportion to the operations, the labels and the entries of tables, but for sorting the ways on from each.
pub(super) fn lay_out(items: Vec<Item>, labels: usize, start: u32) -> Result<Vec<Draft>, u32> {
    let (mut blocks, label_block) = split(items, labels);
    let target_block = |label: u32| label_block[label as usize].ok_or(label);
    // Running off the end of a function returns from it.
    let position = blocks.iter().rev().find_map(|b| b.drafts.last()).map_or((0, None), |d| (d.line, d.loc));
    if blocks[blocks.len() - 1].falls_through {
        let mut end = glue(OpKind::Return);
        (end.line, end.loc) = position;
        blocks.push(BasicBlock::new(vec![end], false));
    }
    let (successors, tables) = successors(&mut blocks, target_block)?;

    let order: Vec<usize> =
        reverse_post_order(successors).into_iter().filter(|&node| node < blocks.len()).collect();
    let mut place = vec![u32::MAX; blocks.len()];
    let mut pc = start;
    let mut jumps = vec![false; blocks.len()];
    for (at, &i) in order.iter().enumerate() {
        place[i] = pc;
        jumps[i] = blocks[i].falls_through && order.get(at + 1) != Some(&(i + 1));
        pc += blocks[i].drafts.len() as u32 + u32::from(jumps[i]);
    }
    // Known: the successors were found above, and whatever a block leads to is in the order.
    let placed = |label: u32| label_block[label as usize].map_or(start, |block| place[block]);
    let tables: HashMap<*const u32, Arc<[u32]>> = tables
        .iter()
        .map(|table| (table.as_ptr(), table.iter().map(|&label| placed(label)).collect()))
        .collect();
    let mut drafts = Vec::with_capacity((pc - start) as usize);
    for &i in &order {
        let mut block = std::mem::take(&mut blocks[i].drafts);
        if let Some(last) = block.last_mut() {
            if let Some(target) = last.op.kind.target_mut() {
                *target = placed(*target);
            } else if let Some(table) = last.op.kind.table_mut()
                && let Some(placed) = tables.get(&table.as_ptr())
            {
                *table = placed.clone();
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

/// The basic blocks in the order of the text, and the block that each label stands before.
fn split(items: Vec<Item>, labels: usize) -> (Vec<BasicBlock>, Vec<Option<usize>>) {
    let mut label_block = vec![None; labels];
    let mut blocks = vec![BasicBlock::new(Vec::new(), true)];
    let mut open = true;
    for item in items {
        match item {
            Item::Label(label) => {
                if !open || !blocks[blocks.len() - 1].drafts.is_empty() {
                    blocks.push(BasicBlock::new(Vec::new(), true));
                    open = true;
                }
                label_block[label as usize] = Some(blocks.len() - 1);
            }
            Item::Op(draft) => {
                if !open {
                    blocks.push(BasicBlock::new(Vec::new(), true));
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
    (blocks, label_block)
}

/// The graph's nodes and the tables that are used. Behind the blocks a table is a node of its own, so that many branches
/// through one large table are not as many edges for each.
type Graph = (Vec<Vec<usize>>, Vec<Arc<[u32]>>);

/// Where each block may go on.
fn successors(
    blocks: &mut [BasicBlock],
    target_block: impl Fn(u32) -> Result<usize, u32>,
) -> Result<Graph, u32> {
    let count = blocks.len();
    let (mut tables, mut known) = (Vec::new(), HashMap::new());
    let mut successors = Vec::with_capacity(count);
    for (i, block) in blocks.iter_mut().enumerate() {
        let mut next = Vec::new();
        if let Some(last) = block.drafts.last_mut() {
            if let Some(&mut label) = last.op.kind.target_mut() {
                next.push(target_block(label)?);
            } else if let Some(table) = last.op.kind.table_mut() {
                next.push(*known.entry(table.as_ptr()).or_insert_with(|| {
                    tables.push(table.clone());
                    count + tables.len() - 1
                }));
            }
        }
        if block.falls_through {
            next.push(i + 1);
        }
        successors.push(next);
    }
    for table in &tables {
        successors.push(table.iter().map(|&label| target_block(label)).collect::<Result<_, _>>()?);
    }
    Ok((successors, tables))
}

fn glue(kind: OpKind) -> Draft {
    Draft {
        evaluate: None,
        op: Op { guard: Guard::ALWAYS, kind },
        line: 0,
        loc: None,
        touched: Touched::default(),
        opcode: None,
    }
}

/// The nodes that can be reached from the first, each behind its predecessors where no loop forbids it.
fn reverse_post_order(mut successors: Vec<Vec<usize>>) -> Vec<usize> {
    for next in &mut successors {
        next.sort_unstable_by(|a, b| b.cmp(a));
        next.dedup();
    }
    let mut seen = vec![false; successors.len()];
    let mut order = Vec::new();
    let mut stack = vec![(0, 0)];
    seen[0] = true;
    while let Some((block, next)) = stack.last_mut() {
        match successors[*block].get(*next) {
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
