//! Shared variables that a kernel reaches through the functions that it calls: it must place them.

use std::rc::Rc;

use crate::form::program::{FunctionCode, Init, SharedSize};

/// Most shared variables that the functions of a module may come to, each function's counted. Only what a function adds to
/// those of its callees is kept anew, so real modules have a few thousand.
const MAX_REACHED: usize = 1 << 26;

/// Variables that a function and all its callees use.
#[derive(Debug, Default)]
pub(super) struct Reached {
    /// Shared variables of the module, ascending.
    pub shared: Vec<u32>,
    /// Whether something asks where the system's own part of shared memory lies.
    pub asks_reserved_shared: bool,
    /// Whether something is called through a register: then any function may be.
    calls_indirectly: bool,
}

impl Reached {
    /// Variables that a function's own code uses.
    fn by_itself(function: &FunctionCode) -> Self {
        let asks = |init: &Init| match init {
            Init::SharedSize(size) => !matches!(size, SharedSize::Total | SharedSize::Aggregate),
            _ => false,
        };
        Reached {
            shared: function.shared_used.to_vec(),
            asks_reserved_shared: function.inits.iter().any(|(_, init)| asks(init)),
            calls_indirectly: function.calls_indirectly,
        }
    }

    fn add(&mut self, other: &Reached) {
        self.shared.extend_from_slice(&other.shared);
        self.asks_reserved_shared |= other.asks_reserved_shared;
        self.calls_indirectly |= other.calls_indirectly;
    }

    fn holds(&self, other: &Reached) -> bool {
        (self.asks_reserved_shared || !other.asks_reserved_shared)
            && (self.calls_indirectly || !other.calls_indirectly)
            && other.shared.iter().all(|variable| self.shared.binary_search(variable).is_ok())
    }
}

/// The variables that each function reaches. Functions that call each other in a circle reach the same; the circles are found by Tarjan's
/// algorithm, callees first, so each call is looked at once. Fails with a function if that is too much to keep.
pub(super) fn reached(functions: &[FunctionCode]) -> Result<Vec<Rc<Reached>>, u32> {
    let mut all = Reached::default();
    functions.iter().for_each(|function| all.add(&Reached::by_itself(function)));
    all.shared.sort_unstable();
    all.shared.dedup();
    let all = Rc::new(all);
    let mut made: Vec<Rc<Reached>> = vec![Rc::default(); functions.len()];
    let mut kept = 0;
    let mut circle_of = vec![0; functions.len()];
    for (number, circle) in (1..).zip(circles(functions)) {
        circle.iter().for_each(|&function| circle_of[function as usize] = number);
        let mut own = Reached::default();
        let mut callees: Vec<Rc<Reached>> = Vec::new();
        for &function in &circle {
            own.add(&Reached::by_itself(&functions[function as usize]));
            let calls = functions[function as usize].calls.iter();
            let outward = calls.filter(|&&callee| circle_of[callee as usize] != number);
            callees.extend(outward.map(|&callee| made[callee as usize].clone()));
        }
        callees.sort_by_key(|callee| (callee.shared.len(), Rc::as_ptr(callee)));
        callees.dedup_by(|a, b| Rc::ptr_eq(a, b));
        let largest = callees.last().filter(|largest| {
            largest.holds(&own)
                && callees.iter().all(|callee| Rc::ptr_eq(callee, largest) || largest.holds(callee))
        });
        let reached = match largest {
            _ if own.calls_indirectly || callees.iter().any(|callee| callee.calls_indirectly) => all.clone(),
            Some(largest) => largest.clone(),
            None => {
                callees.iter().for_each(|callee| own.add(callee));
                own.shared.sort_unstable();
                own.shared.dedup();
                kept += own.shared.len();
                Rc::new(own)
            }
        };
        if kept > MAX_REACHED {
            return Err(circle[0]);
        }
        for function in circle {
            made[function as usize] = reached.clone();
        }
    }
    Ok(made)
}

/// The strongly connected parts of the graph of calls, callees before their callers.
fn circles(functions: &[FunctionCode]) -> Vec<Vec<u32>> {
    const UNSEEN: u32 = u32::MAX;
    let mut order = vec![UNSEEN; functions.len()];
    let mut lowest = vec![0; functions.len()];
    let mut waits = vec![false; functions.len()];
    let (mut waiting, mut circles) = (Vec::new(), Vec::new());
    let mut seen = 0;
    for first in 0..functions.len() as u32 {
        if order[first as usize] != UNSEEN {
            continue;
        }
        // A function, and the call of it that is looked at next.
        let mut path = vec![(first, 0)];
        while let Some((function, next)) = path.last_mut() {
            let at = *function as usize;
            if *next == 0 && order[at] == UNSEEN {
                (order[at], lowest[at]) = (seen, seen);
                seen += 1;
                waiting.push(*function);
                waits[at] = true;
            }
            match functions[at].calls.get(*next) {
                Some(&callee) => {
                    *next += 1;
                    if order[callee as usize] == UNSEEN {
                        path.push((callee, 0));
                    } else if waits[callee as usize] {
                        lowest[at] = lowest[at].min(order[callee as usize]);
                    }
                }
                None => {
                    path.pop();
                    if let Some(&(caller, _)) = path.last() {
                        lowest[caller as usize] = lowest[caller as usize].min(lowest[at]);
                    }
                    if lowest[at] == order[at] {
                        let start = waiting.iter().rposition(|&other| other as usize == at).unwrap_or(0);
                        let circle = waiting.split_off(start);
                        circle.iter().for_each(|&member| waits[member as usize] = false);
                        circles.push(circle);
                    }
                }
            }
        }
    }
    circles
}
