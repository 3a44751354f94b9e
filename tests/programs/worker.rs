//! One thread's program: random steps, each done by the device and by the model.

use std::collections::BTreeMap;

use crate::Random;
use crate::api::{self, PAGE};
use crate::arithmetic::Function;

const WORDS_A_PAGE: u64 = PAGE / 4;
/// Mappings that follow each other in the arena.
const PARTS: u64 = 4;
/// Places that a step uses at most, one a thread.
const THREADS: u64 = 64;
/// Pointers to memory of the heap.
const SLOTS: u64 = 24;
const STEPS: u64 = 24;

/// `change`: each thread makes a word of itself and its neighbour. `fetch`: of texels. `fetch2`: the same in rows. `move`:
/// one bulk copy in, one out. `grow`: memory of the heap into the slots, full of a number. `churn`: each thread puts new memory
/// into random slots; what was there is its own then: it checks and frees it. `shrink`: checks and frees what is left.
const KERNELS: &str = "
.version 8.3
.target sm_90a
.address_size 64
.extern .func (.param .b64 r) malloc(.param .b64 n);
.extern .func free(.param .b64 p);
.visible .entry change(.param .u64 places, .param .u64 b)
{
    .reg .pred %g; .reg .b32 %v<8>, %r<8>; .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [places];
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r1, %r1, %r2, %r3;
    mul.wide.u32 %rd2, %r1, 8; add.u64 %rd2, %rd1, %rd2; ld.global.u64 %rd3, [%rd2];
    ld.global.u32 %v0, [%rd3]; ld.global.u32 %v1, [%rd3+4];
FUNCTION
    st.global.u32 [%rd3], %v0;
    ret;
}
.visible .entry fetch(.param .u64 places, .param .u64 texture)
{
    .reg .b32 %r<12>; .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [places]; ld.param.u64 %rd4, [texture];
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r1, %r1, %r2, %r3;
    mul.wide.u32 %rd2, %r1, 8; add.u64 %rd2, %rd1, %rd2; ld.global.v2.u32 {%r4, %r5}, [%rd2];
    tex.1d.v4.u32.s32 {%r6, %r7, %r8, %r9}, [%rd4, {%r4}];
    st.global.u32 [%rd2], %r6;
    ret;
}
.visible .entry fetch2(.param .u64 places, .param .u64 texture)
{
    .reg .b32 %r<12>; .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [places]; ld.param.u64 %rd4, [texture];
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r1, %r1, %r2, %r3;
    mul.wide.u32 %rd2, %r1, 8; add.u64 %rd2, %rd1, %rd2; ld.global.v2.u32 {%r4, %r5}, [%rd2];
    tex.2d.v4.u32.s32 {%r6, %r7, %r8, %r9}, [%rd4, {%r4, %r5}];
    st.global.u32 [%rd2], %r6;
    ret;
}
.visible .entry move(.param .u64 to, .param .u64 from, .param .u64 bytes)
{
    .reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<8>;
    .shared .align 128 .b8 s[8192]; .shared .align 8 .b64 bar;
    ld.param.u64 %rd1, [to]; ld.param.u64 %rd2, [from]; ld.param.u32 %r1, [bytes];
    mov.u32 %r4, %tid.x; setp.ne.u32 %p0, %r4, 0; @%p0 ret;
    mov.u32 %r2, s; mov.u32 %r3, bar;
    mbarrier.init.shared::cta.b64 [%r3], 1;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], %r1;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd2], %r1, [%r3];
wait:
    mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r3], 0; @!%p1 bra wait;
    fence.proxy.async;
    cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], %r1;
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
    ret;
}
.func make(.param .b64 made, .param .b32 seed, .param .b64 wrong)
{
    // Memory of 16 to some thousand words, by the seed, each of which is the number of words.
    .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %rd<6>;
    ld.param.u32 %r1, [seed]; mul.lo.u32 %r1, %r1, 1664525; add.u32 %r1, %r1, 1013904223; shr.u32 %r1, %r1, 19;
    add.u32 %r1, %r1, 16;
    mul.wide.u32 %rd1, %r1, 4;
    { .param .b64 n; .param .b64 m; st.param.b64 [n], %rd1; call (m), malloc, (n); ld.param.b64 %rd2, [m]; }
    ld.param.u64 %rd3, [made]; st.u64 [%rd3], %rd2;
    setp.ne.u64 %p, %rd2, 0; @%p bra have;
    ld.param.u64 %rd3, [wrong]; red.add.u32 [%rd3], 1;
    ret;
have:
    mov.u32 %r2, 0;
again:
    st.u32 [%rd2], %r1; add.u64 %rd2, %rd2, 64; add.u32 %r2, %r2, 16;
    add.u32 %r3, %r2, 15; setp.lt.u32 %p, %r3, %r1; @%p bra again;
    ret;
}
.func unmake(.param .b64 made, .param .b64 wrong)
{
    .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [made]; ld.param.u64 %rd3, [wrong]; mov.u64 %rd2, %rd1; mov.u32 %r2, 0;
    setp.eq.u64 %p, %rd1, 0; @%p bra nothing;
    ld.u32 %r1, [%rd1];
again:
    ld.u32 %r4, [%rd2]; setp.ne.u32 %p, %r4, %r1; @%p red.add.u32 [%rd3], 1;
    add.u64 %rd2, %rd2, 64; add.u32 %r2, %r2, 16;
    add.u32 %r3, %r2, 15; setp.lt.u32 %p, %r3, %r1; @%p bra again;
    { .param .b64 n; st.param.b64 [n], %rd1; call free, (n); }
nothing:
    ret;
}
.visible .entry churn(.param .u64 slots, .param .u64 wrong, .param .u64 rounds)
{
    .reg .pred %p; .reg .b32 %r<12>; .reg .b64 %rd<10>; .local .align 8 .b8 made[8];
    ld.param.u64 %rd1, [slots]; ld.param.u64 %rd2, [wrong]; ld.param.u32 %r5, [rounds];
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r1, %r1, %r2, %r3;
again:
    mad.lo.u32 %r6, %r5, 40503, %r1;
    mov.u64 %rd3, made; cvta.local.u64 %rd3, %rd3;
    { .param .b64 a; .param .b32 b; .param .b64 c; st.param.b64 [a], %rd3; st.param.b32 [b], %r6; st.param.b64 [c], %rd2;
      call make, (a, b, c); }
    ld.u64 %rd4, [%rd3];
    rem.u32 %r7, %r6, 24; mul.wide.u32 %rd5, %r7, 8; add.u64 %rd5, %rd1, %rd5;
    fence.acq_rel.gpu;
    atom.acq_rel.gpu.global.exch.b64 %rd6, [%rd5], %rd4;
    fence.acq_rel.gpu;
    { .param .b64 a; .param .b64 c; st.param.b64 [a], %rd6; st.param.b64 [c], %rd2; call unmake, (a, c); }
    sub.u32 %r5, %r5, 1; setp.ne.u32 %p, %r5, 0; @%p bra again;
    ret;
}
.visible .entry shrink(.param .u64 slots, .param .u64 wrong, .param .u64 rounds)
{
    .reg .b32 %r<4>; .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [slots]; ld.param.u64 %rd2, [wrong];
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r1, %r1, %r2, %r3;
    mul.wide.u32 %rd3, %r1, 8; add.u64 %rd3, %rd1, %rd3; mov.u64 %rd5, 0;
    atom.global.exch.b64 %rd4, [%rd3], %rd5;
    { .param .b64 a; .param .b64 c; st.param.b64 [a], %rd4; st.param.b64 [c], %rd2; call unmake, (a, c); }
    ret;
}
";

/// What a program has.
pub struct Worker {
    random: Random,
    stream: usize,
    module: usize,
    function: Function,
    /// The first address of mappings that follow each other, and how many pages each has.
    arena: u64,
    parts: [u64; PARTS as usize],
    /// What the arena's words are, where they are not 0, by their number.
    words: BTreeMap<u64, u32>,
    slots: u64,
    /// Words of the heap that were not what they must be, and allocations that failed.
    wrong: u64,
}

impl Worker {
    pub fn new(context: usize, mut random: Random) -> Self {
        api::make_current(context);
        let function = Function::new(&mut random);
        let module = api::module(&KERNELS.replace("FUNCTION", &function.text()));
        let parts = std::array::from_fn(|_| 1 + random.below(3));
        let arena = api::reserve(parts.iter().sum());
        let stream = api::stream();
        let (slots, wrong) = (api::alloc(8 * SLOTS), api::alloc(4));
        let mut worker =
            Worker { random, stream, module, function, arena, parts, words: BTreeMap::new(), slots, wrong };
        (0..PARTS as usize).for_each(|part| worker.map(part));
        api::fill(slots, 0, 2 * SLOTS, stream);
        api::fill(wrong, 0, 1, stream);
        worker
    }

    pub fn run(mut self) {
        for _ in 0..STEPS {
            match self.random.below(9) {
                0 => self.remap(),
                1 | 2 => self.change(),
                3 => self.fetch(),
                4 => self.bulk_move(),
                5 => self.churn(),
                6 => self.copy(),
                7 => self.through_the_host(),
                _ => self.fill(),
            }
            if self.random.below(4) == 0 {
                self.check();
            }
        }
        self.check();
        self.end();
    }

    fn kernel(&self, name: &str) -> usize {
        api::function(self.module, name)
    }

    fn words_in_all(&self) -> u64 {
        self.parts.iter().sum::<u64>() * WORDS_A_PAGE
    }

    fn address(&self, word: u64) -> u64 {
        self.arena + 4 * word
    }

    /// Where a part begins: its first word.
    fn start(&self, part: usize) -> u64 {
        self.parts[..part].iter().sum::<u64>() * WORDS_A_PAGE
    }

    fn map(&mut self, part: usize) {
        let start = self.start(part);
        api::map(self.address(start), self.parts[part]);
    }

    /// New memory in the place of a part's.
    fn remap(&mut self) {
        let part = self.random.below(PARTS) as usize;
        let (start, words) = (self.start(part), self.parts[part] * WORDS_A_PAGE);
        api::unmap(self.address(start), self.parts[part]);
        self.map(part);
        self.words.retain(|word, _| !(start..start + words).contains(word));
    }

    /// A word of the arena, most often near a seam, with so many behind it.
    fn place(&mut self, room: u64) -> u64 {
        let last = self.words_in_all() - room;
        let part = 1 + self.random.below(PARTS - 1) as usize;
        let seam = self.start(part);
        match self.random.below(3) {
            0 => self.random.below(last + 1),
            _ => (seam + 64).saturating_sub(self.random.below(64 + 2 * room)).min(last),
        }
    }

    fn word(&self, word: u64) -> u32 {
        self.words.get(&word).copied().unwrap_or(0)
    }

    /// Two numbers a place, one place a thread, in device memory of their own.
    fn upload(&self, places: &[u64]) -> u64 {
        let numbers: Vec<u32> = places.iter().flat_map(|&n| [n as u32, (n >> 32) as u32]).collect();
        let buffer = api::alloc_async(8 * places.len() as u64, self.stream);
        api::write(buffer, &numbers, self.stream);
        buffer
    }

    /// Some places, in blocks of threads.
    fn threads(&mut self) -> (u32, u32) {
        let blocks = 1 + self.random.below(4) as u32;
        (blocks, 1 + self.random.below(THREADS / u64::from(blocks)) as u32)
    }

    fn change(&mut self) {
        let (blocks, threads) = self.threads();
        // Apart, so that no thread reads what another writes.
        let mut places = std::collections::BTreeSet::new();
        while places.len() < (blocks * threads) as usize {
            places.insert(self.place(2) & !1);
        }
        let addresses: Vec<u64> = places.iter().map(|&word| self.address(word)).collect();
        let buffer = self.upload(&addresses);
        let runs = self.random.below(4);
        let kernel = self.kernel("change");
        let (stream, words) = (self.stream, [buffer, 0]);
        match runs {
            0 => api::launch(kernel, blocks, threads, stream, &words),
            runs => api::as_graph(stream, runs, || api::launch(kernel, blocks, threads, stream, &words)),
        }
        api::free_async(buffer, stream);
        for _ in 0..runs.max(1) {
            for &word in &places {
                let (x, y) = (self.word(word), self.word(word + 1));
                self.words.insert(word, self.function.of(x, y));
            }
        }
    }

    fn fetch(&mut self) {
        let (blocks, threads) = self.threads();
        let count = (blocks * threads) as usize;
        // Textures begin at multiples of 512 bytes; rows go up in steps of 32.
        let rows = self.random.below(2) == 1;
        let first = self.place(WORDS_A_PAGE / 2) & !127;
        let words = self.words_in_all() - first;
        let pitch = 8 * (1 + self.random.below(2000));
        let (width, height) = if rows { (1 + self.random.below(pitch), words / pitch) } else { (words, 0) };
        let height = height.min(65_000);
        let texture = api::texture(self.address(first), [width, height, 4 * pitch]);
        let (mut texels, mut expected) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let word = self.place(1).max(first) - first;
            let (x, y) = if rows { (word % pitch % width, word / pitch % height) } else { (word, 0) };
            texels.push(y << 32 | x);
            expected.push(self.word(first + y * pitch + x));
        }
        let buffer = self.upload(&texels);
        let kernel = self.kernel(if rows { "fetch2" } else { "fetch" });
        api::launch(kernel, blocks, threads, self.stream, &[buffer, texture]);
        let found: Vec<u32> =
            api::read(buffer, 2 * count, self.stream).chunks(2).map(|pair| pair[0]).collect();
        assert_eq!(found, expected, "{width} by {height} from word {first}");
        api::free_async(buffer, self.stream);
        api::end_texture(texture);
    }

    fn take(&self, from: u64, count: u64) -> Vec<u32> {
        (from..from + count).map(|word| self.word(word)).collect()
    }

    fn put(&mut self, to: u64, words: &[u32]) {
        for (index, &value) in words.iter().enumerate() {
            self.words.insert(to + index as u64, value);
        }
    }

    fn bulk_move(&mut self) {
        let count = 4 * (1 + self.random.below(500));
        let (from, to) = (self.place(count) & !3, self.place(count) & !3);
        let words = [self.address(to), self.address(from), 4 * count];
        api::launch(self.kernel("move"), 1, 32, self.stream, &words);
        let moved = self.take(from, count);
        self.put(to, &moved);
    }

    fn copy(&mut self) {
        let count = 1 + self.random.below(3000);
        let (from, to) = (self.place(count), self.place(count));
        if from.abs_diff(to) < count {
            return;
        }
        api::copy(self.address(to), self.address(from), count, self.stream);
        let copied = self.take(from, count);
        self.put(to, &copied);
    }

    fn fill(&mut self) {
        let count = 1 + self.random.below(3000);
        let (to, value) = (self.place(count), self.random.word());
        api::fill(self.address(to), value, count, self.stream);
        self.put(to, &vec![value; count as usize]);
    }

    /// Words from memory of the host that the device reaches, which goes as soon as they are there.
    fn through_the_host(&mut self) {
        let count = 1 + self.random.below(2000);
        let to = self.place(count);
        let values: Vec<u32> = (0..count).map(|_| self.random.word()).collect();
        if self.random.below(2) == 0 {
            let place = api::pinned(count as usize);
            // SAFETY: the pinned words are this thread's, and as many.
            unsafe { std::slice::from_raw_parts_mut(place, count as usize) }.copy_from_slice(&values);
            api::copy(self.address(to), place as u64, count, self.stream);
            // Which waits for what the context does.
            api::unpin(place);
        } else {
            let mut words = values.clone();
            api::register(&mut words);
            api::copy(self.address(to), words.as_ptr() as u64, count, self.stream);
            api::synchronize(self.stream);
            api::unregister(&mut words);
        }
        self.put(to, &values);
    }

    fn churn(&mut self) {
        let kernel = self.kernel("churn");
        let rounds = 1 + self.random.below(6);
        let (blocks, threads) = self.threads();
        let words = [self.slots, self.wrong, rounds];
        let stream = self.stream;
        match self.random.below(3) {
            0 => api::as_graph(stream, 2, || api::launch(kernel, blocks, threads, stream, &words)),
            _ => api::launch(kernel, blocks, threads, stream, &words),
        }
        if self.random.below(2) == 0 {
            api::launch(self.kernel("shrink"), 2, SLOTS as u32 / 2, stream, &words);
        }
    }

    /// Compares the arena's words with what they must be: all that are not 0, and their neighbours.
    fn check(&mut self) {
        const RUN: u64 = 1024;
        let end = self.words_in_all();
        let mut next = 0;
        let starts: Vec<u64> = self.words.keys().copied().collect();
        for word in starts {
            if word < next {
                continue;
            }
            let first = word.saturating_sub(8).max(next);
            let count = RUN.min(end - first);
            let found = api::read(self.address(first), count as usize, self.stream);
            for (index, &found) in found.iter().enumerate() {
                let word = first + index as u64;
                assert_eq!(found, self.word(word), "word {word} of {end}");
            }
            next = first + count;
        }
        assert_eq!(api::read(self.wrong, 1, self.stream), [0], "the heap");
    }

    fn end(mut self) {
        // Now and then the context ends with what is left on its heap.
        if self.random.below(2) == 0 {
            let words = [self.slots, self.wrong, 0];
            api::launch(self.kernel("shrink"), 1, SLOTS as u32, self.stream, &words);
            assert_eq!(api::read(self.wrong, 1, self.stream), [0], "the heap at the end");
        }
        api::synchronize(self.stream);
        for part in 0..PARTS as usize {
            let start = self.start(part);
            api::unmap(self.address(start), self.parts[part]);
        }
        api::release(self.arena, self.parts.iter().sum());
        api::free(self.slots);
        api::free(self.wrong);
        api::unload(self.module);
        api::end_stream(self.stream);
    }
}
