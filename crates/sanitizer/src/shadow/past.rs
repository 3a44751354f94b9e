//! The summary of a shadow when its launch is over, and how it forgets.

use super::{EMPTY, PAGE, Shadow, Stamp};

pub fn words_of(page: u64) -> std::ops::Range<u64> {
    page * PAGE..(page + 1) * PAGE
}

impl Shadow {
    /// Forgets what was done to a word.
    pub fn forget(&mut self, word: u64) {
        if let Some(&page) = self.index.get(&(word / PAGE)) {
            let at = &mut self.pages[page as usize][(word % PAGE) as usize];
            if at.more != 0 {
                self.more[at.more as usize - 1].clear();
                self.free.push(at.more);
            }
            *at = EMPTY;
        }
    }

    /// Forgets what was done to a range of bytes.
    pub fn forget_range(&mut self, address: u64, bytes: u64) {
        let range = address / 4..address.saturating_add(bytes).div_ceil(4);
        let here = |page: &u64| range.start < (page + 1) * PAGE && page * PAGE < range.end;
        let touched: Vec<u64> = self.pages().filter(here).flat_map(words_of).collect();
        touched.into_iter().filter(|word| range.contains(word)).for_each(|word| self.forget(word));
    }

    /// The pages that something was done to.
    pub fn pages(&self) -> impl Iterator<Item = u64> + '_ {
        self.index.keys().copied()
    }

    /// Whether something was done to a page.
    pub fn has_page(&self, page: u64) -> bool {
        self.index.contains_key(&page)
    }

    /// For each word of a page, the bytes that were touched, and those that were written; `None` where nothing was done.
    pub fn bytes_of(&self, page: u64) -> Option<impl Iterator<Item = (u32, u32)> + '_> {
        let words = &self.pages[*self.index.get(&page)? as usize];
        Some(words.iter().map(|at| {
            // Most are written whole, once.
            if at.write.bytes() == 0xF && !at.write.is_empty() {
                return (0xF, 0xF);
            }
            let more = match at.more {
                0 => &[],
                more => self.more[more as usize - 1].as_slice(),
            };
            let stamps = [at.write, at.reads[0], at.reads[1]].into_iter();
            let all = stamps.chain(more.iter().map(|(stamp, _)| *stamp)).filter(|stamp| !stamp.is_empty());
            all.fold((0, 0), |(touched, written), stamp| {
                let bytes = stamp.bytes();
                (touched | bytes, written | if stamp.writes() { bytes } else { 0 })
            })
        }))
    }

    /// Accesses of a word, and the value that plain stores left there.
    pub fn stamps(&self, word: u64) -> impl Iterator<Item = (Stamp, Option<u32>)> + '_ {
        let at =
            self.index.get(&(word / PAGE)).map(|&page| &self.pages[page as usize][(word % PAGE) as usize]);
        let more = at.filter(|at| at.more != 0).map(|at| &self.more[at.more as usize - 1]);
        let own = at.into_iter().flat_map(|at| {
            let written = |stamp: Stamp| (stamp, stamp.writes().then_some(at.value));
            [written(at.write), (at.reads[0], None), (at.reads[1], None)]
        });
        let more = more.into_iter().flatten().map(|&(stamp, value)| (stamp, stamp.writes().then_some(value)));
        own.chain(more).filter(|(stamp, _)| !stamp.is_empty())
    }
}
