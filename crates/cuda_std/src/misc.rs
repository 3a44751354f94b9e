//! Odds and ends: breakpoints, profiler counters, the clock.

use crate::ptx;

/// Triggers a breakpoint in the debugger, if there is one.
#[inline(always)]
pub fn breakpoint() {
    // SAFETY: the instruction has no precondition.
    unsafe { ptx!("brkpt;") };
}

/// Increments profiler counter `counter` (`0..=7`) once for each warp that executes this.
///
/// # Panics
///
/// If `counter` is above 7.
#[inline(always)]
#[track_caller]
pub fn profiler_counter(counter: u32) {
    macro_rules! event {
        ($n:literal) => {
            // SAFETY: counting has no precondition.
            unsafe { ptx!("pmevent {n};", n = imm($n)) }
        };
    }
    // `pmevent` takes only a constant; the match disappears once `counter` is known, as it is in every real use.
    match counter {
        0 => event!(0),
        1 => event!(1),
        2 => event!(2),
        3 => event!(3),
        4 => event!(4),
        5 => event!(5),
        6 => event!(6),
        7 => event!(7),
        _ => panic!("profiler counters are numbered 0 to 7"),
    }
}

/// This multiprocessor's cycle counter.
///
/// The difference of two readings is the number of cycles between them in one thread. The compiler moves no memory
/// access across a reading.
#[inline(always)]
pub fn clock() -> u64 {
    let cycles: u64;
    // SAFETY: the instruction has no precondition.
    unsafe { ptx!("mov.u64 {cycles}, %clock64;", cycles = out(u64) cycles) };
    cycles
}
