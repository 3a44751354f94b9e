//! Clocks that threads release at a place, for threads that acquire there.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use super::{Blocks, Known, Snapshot, covers, join_steps};

/// Knowledge that lies in a memory location (an atomic, an `mbarrier`) for its readers of any block.
///
/// Where all threads of a grid count at one place, each asks and adds in turn. What one adds is most often its own step alone,
/// so what was last asked for and last put in is kept, and only what is new is looked at: the cost must not grow with the blocks
/// that came by.
#[derive(Debug, Clone, Default)]
pub struct Gathered {
    steps: Blocks,
    /// The same as one block last asked for it, and whether nothing came since: threads that spin ask again and again.
    asked: Option<(u32, Arc<Known>)>,
    is_fresh: bool,
    /// The clocks of all blocks but one, as that one last asked for them, unless they have changed.
    others: Option<(u32, Arc<Blocks>)>,
    /// The last clock put in, and its block.
    last_put: Option<(u32, Arc<Known>)>,
}

impl Gathered {
    /// Whether nothing was ever put in.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    pub fn put(&mut self, snapshot: &Snapshot) {
        self.put_known(snapshot.block, &snapshot.known);
        let mine = self.steps.entry(snapshot.block).or_insert_with(|| (&*snapshot.known.own).into());
        if mine[snapshot.thread as usize] < snapshot.step {
            Arc::make_mut(mine)[snapshot.thread as usize] = snapshot.step;
            self.has_changed(snapshot.block);
        }
    }

    /// A block's clock here has grown.
    fn has_changed(&mut self, block: u32) {
        self.is_fresh = false;
        if self.others.as_ref().is_some_and(|(of, _)| *of != block) {
            self.others = None;
        }
    }

    pub(super) fn put_known(&mut self, block: u32, known: &Arc<Known>) {
        // Nothing is ever taken away, so what was put in or given out before holds nothing new. Who spins on a lock puts in the
        // same again and again.
        let before = |same: &dyn Fn(&Arc<Known>) -> bool| {
            [&self.last_put, &self.asked]
                .into_iter()
                .flatten()
                .any(|(of, before)| *of == block && same(before))
        };
        if before(&|before| Arc::ptr_eq(before, known)) {
            return;
        }
        let same_others = before(&|before| Arc::ptr_eq(&before.others, &known.others));
        match self.steps.get_mut(&block) {
            Some(mine) => {
                if !covers(mine, &known.own) {
                    *mine = mine.iter().zip(&known.own).map(|(&m, &t)| m.max(t)).collect();
                    self.has_changed(block);
                }
            }
            None => {
                self.steps.insert(block, (&*known.own).into());
                self.has_changed(block);
            }
        }
        if !same_others {
            for (&block, steps) in known.others.iter() {
                let is_new = match self.steps.entry(block) {
                    Entry::Occupied(mut mine) => join_steps(mine.get_mut(), steps),
                    Entry::Vacant(place) => {
                        place.insert(steps.clone());
                        true
                    }
                };
                if is_new {
                    self.has_changed(block);
                }
            }
        }
        self.last_put = Some((block, known.clone()));
    }

    pub(super) fn for_block(&mut self, block: u32, threads: usize) -> Arc<Known> {
        if let Some((asked, known)) = &self.asked
            && *asked == block
            && self.is_fresh
        {
            return known.clone();
        }
        let own = self.steps.get(&block).map_or_else(|| vec![0; threads].into(), |steps| (**steps).into());
        let others = match self.others.take() {
            Some((of, others)) if of == block => others,
            _ => {
                let others = self.steps.iter().filter(|(b, _)| **b != block);
                Arc::new(others.map(|(&b, steps)| (b, steps.clone())).collect())
            }
        };
        self.others = Some((block, others.clone()));
        let known = Known { own, floor: 0, others }.settle();
        self.asked = Some((block, known.clone()));
        self.is_fresh = true;
        known
    }
}
