//! How many schedules it takes to find a bug that only one order of two blocks, or of two warps, shows, or only one that comes
//! in between.
//!
//! The kernels are made from templates: who of many has which of two roles, how much each does before and in between, and in
//! which memory. Each comes with its mirror image, in which the two have changed places.

use gpu_model::chips::H200;
use sanitizer::{Check, Checks, SCHEDULES, Sanitizer};
use virtual_gpu::{Gpu, Launch, Options};

/// A small generator with a good spread, so that the kernels are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, count: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) % count
    }
}

/// Bodies of the two roles. `{f}` is a flag, `{l}` a lock, `{d}` the data; `{work}` does something else.
const PATTERNS: [(&str, [&str; 2]); 7] = [
    (
        "a lock that is given back without a fence",
        ["{lock} {fence} {work} {update} {unlock}", "{lock} {fence} {work} {update} {fence} {unlock}"],
    ),
    (
        "a lock that is taken without a fence",
        ["{lock} {work} {update} {fence} {unlock}", "{lock} {fence} {work} {update} {fence} {unlock}"],
    ),
    (
        "a flag that is looked at once",
        [
            "{work} st.{space}.u32 [{d}], 5; {fence} {work} st.volatile.{space}.u32 [{f}], 1;",
            "{work} ld.volatile.{space}.u32 %r5, [{f}]; setp.eq.u32 %p1, %r5, 1; @%p1 ld.{space}.u32 %r6, [{d}];",
        ],
    ),
    (
        "a ticket that decides",
        [
            "{work} st.{space}.u32 [{d}], 5; {work} atom.{space}.add.u32 %r5, [{f}], 1;",
            "{work} atom.{space}.add.u32 %r5, [{f}], 1; setp.eq.u32 %p1, %r5, 1; {work} @%p1 st.{space}.u32 [{d}], 6;",
        ],
    ),
    (
        "a moment between two stores",
        [
            "{work} st.{space}.u32 [{d}], 5; st.volatile.{space}.u32 [{f}], 1; {work} st.volatile.{space}.u32 [{f}], 0;",
            "{work} ld.volatile.{space}.u32 %r5, [{f}]; setp.eq.u32 %p1, %r5, 1; @%p1 ld.{space}.u32 %r6, [{d}];",
        ],
    ),
    (
        "a moment between two looks",
        [
            "{work} ld.volatile.{space}.u32 %r5, [{f}]; {work} ld.volatile.{space}.u32 %r6, [{f}]; setp.ne.u32 %p1, %r5, %r6; \
         @%p1 ld.{space}.u32 %r6, [{d}];",
            "{work} st.{space}.u32 [{d}], 5; st.volatile.{space}.u32 [{f}], 1; {work}",
        ],
    ),
    (
        "a state that another moves on",
        [
            "{work} atom.{space}.cas.b32 %r5, [{f}], 0, 1; {work} atom.{space}.cas.b32 %r5, [{f}], 2, 3; \
         setp.eq.u32 %p1, %r5, 2; @%p1 ld.{space}.u32 %r6, [{d}];",
            "{work} st.{space}.u32 [{d}], 5; atom.{space}.cas.b32 %r5, [{f}], 1, 2;",
        ],
    ),
];

/// So many of them ask for an order only; for the rest somebody must come in between.
const ORDERS: usize = 4;

struct Case {
    pattern: usize,
    /// Of how many, and which two of them have the roles.
    count: u64,
    who: [u64; 2],
    /// Whether they are blocks, or warps of one.
    blocks: bool,
    shared: bool,
    work: [u64; 2],
}

impl Case {
    fn of(pattern: usize, random: &mut Random) -> Self {
        let blocks = random.below(2) == 0;
        let count = [2, 3, 4, 8, 16, 24][random.below(6) as usize];
        let first = random.below(count);
        let second = (first + 1 + random.below(count - 1)) % count;
        Case {
            pattern,
            count,
            who: [first, second],
            blocks,
            shared: !blocks && random.below(2) == 0,
            work: [random.below(4), random.below(4)],
        }
    }

    fn mirrored(&self) -> Self {
        let [first, second] = self.who;
        Case { who: [second, first], ..*self }
    }

    fn ptx(&self) -> String {
        let space = if self.shared { "shared" } else { "global" };
        let [f, l, d, own] = match self.shared {
            true => ["s", "s+64", "s+128", "%r2"].map(str::to_owned),
            false => ["%rd1", "%rd1+64", "%rd1+128", "%rd2"].map(str::to_owned),
        };
        let role = |role: usize| {
            let work = format!("ld.{space}.u32 %r7, [{own}]; st.{space}.u32 [{own}], %r7; ");
            let work = work.repeat(self.work[role] as usize);
            let lock = format!("again{role}");
            PATTERNS[self.pattern].1[role]
                .replace("{lock}", &format!(
                    "{lock}: atom.{space}.cas.b32 %r5, [{l}], 0, 1; setp.ne.u32 %p1, %r5, 0; @%p1 bra {lock};"
                ))
                .replace("{unlock}", &format!("atom.{space}.exch.b32 %r5, [{l}], 0;"))
                .replace("{update}", &format!("ld.{space}.u32 %r6, [{d}]; add.u32 %r6, %r6, 1; st.{space}.u32 [{d}], %r6;"))
                .replace("{fence}", "membar.gl;")
                .replace("{work}", &work)
                .replace("{space}", space)
                .replace("{f}", &f)
                .replace("{d}", &d)
        };
        let me =
            if self.blocks { "mov.u32 %r1, %ctaid.x;" } else { "mov.u32 %r1, %tid.x; shr.u32 %r1, %r1, 5;" };
        let lead = "mov.u32 %r3, %tid.x; and.b32 %r3, %r3, 31; setp.ne.u32 %p2, %r3, 0; @%p2 bra end;";
        let clear = match self.shared {
            true => {
                "st.shared.u32 [s], 0; st.shared.u32 [s+64], 0; st.shared.u32 [s+128], 0; st.shared.u32 [%r2], 0; bar.sync 0;"
            }
            false => "",
        };
        format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n\
             .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<3>; .shared .align 16 .b8 s[4096];\n\
             ld.param.u64 %rd1, [p]; {me} mul.wide.u32 %rd2, %r1, 4; add.u64 %rd2, %rd1, %rd2; add.u64 %rd2, %rd2, 1024;\n\
             shl.b32 %r2, %r1, 2; mov.u32 %r3, s; add.u32 %r2, %r2, %r3; add.u32 %r2, %r2, 1024;\n{clear}\n{lead}\n\
             setp.eq.u32 %p1, %r1, {}; @%p1 bra first; setp.eq.u32 %p1, %r1, {}; @%p1 bra second; bra.uni end;\n\
             first: {}\nbra.uni end;\nsecond: {}\nend: ret;\n}}\n",
            self.who[0],
            self.who[1],
            role(0),
            role(1),
        )
    }

    /// The first schedule that shows the race.
    fn found_by(&self, most: u64) -> Option<u64> {
        let ptx = self.ptx();
        let launch = match self.blocks {
            true => Launch::new(self.count as u32, 32),
            false => Launch::new(1, 32 * self.count as u32),
        };
        (0..most).find(|&seed| {
            let options = Options {
                seed: (seed != 0).then_some(seed),
                threads: 1,
                spin_limit: Some(100_000),
                ..Options::default()
            };
            let gpu = Gpu::with_options(&H200, options);
            let sanitizer = Sanitizer::new("race".parse::<Checks>().unwrap());
            let buffer = gpu.memory().alloc(4096).unwrap();
            gpu.memory().write(buffer, &[0; 4096]).unwrap();
            let kernel = gpu.load(&ptx).unwrap_or_else(|error| panic!("{error}\n{ptx}")).kernel("k").unwrap();
            gpu.launch(&kernel, &launch, &buffer.to_le_bytes(), &mut sanitizer.launch()).unwrap();
            sanitizer.findings().iter().any(|finding| finding.check() == Check::Race)
        })
    }
}

/// By the schedule that found each of 200 kernels of some patterns and their mirror images.
fn found(patterns: std::ops::Range<usize>, most: u64) -> Vec<Option<u64>> {
    let mut random = Random(23);
    let patterns: Vec<usize> = patterns.collect();
    let cases = (0..200).map(|number| Case::of(patterns[number % patterns.len()], &mut random));
    cases.flat_map(|case| [case.mirrored().found_by(most), case.found_by(most)]).collect()
}

fn within(found: &[Option<u64>], schedules: u64) -> usize {
    found.iter().flatten().filter(|&&schedule| schedule < schedules).count()
}

#[test]
fn the_default_schedules_show_either_order() {
    let default = u64::from(SCHEDULES);
    let found = found(0..ORDERS, 10 * default);
    let within = |schedules| within(&found, schedules);
    println!(
        "orders: of {} within 1: {}, 2: {}, {default}: {}",
        found.len(),
        within(1),
        within(2),
        within(default)
    );
    assert!(within(default) * 100 >= found.len() * 99, "{found:?}");
    assert_eq!(within(10 * default), found.len());
}

#[test]
fn more_schedules_show_what_comes_in_between() {
    let default = u64::from(SCHEDULES);
    let found = found(ORDERS..PATTERNS.len(), 10 * default);
    let within = |schedules| within(&found, schedules);
    println!(
        "in between: of {} within 1: {}, 2: {}, 4: {}, 8: {}, 16: {}, {}: {}",
        found.len(),
        within(1),
        within(2),
        within(4),
        within(8),
        within(16),
        10 * default,
        within(10 * default)
    );
    assert!(within(default) * 100 >= found.len() * 99, "{found:?}");
    assert_eq!(within(10 * default), found.len(), "{found:?}");
}
