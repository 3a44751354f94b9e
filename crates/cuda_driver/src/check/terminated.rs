//! SIGTERM ends a checked program with a report, unless the program handles the signal itself.
//!
//! A handler may do next to nothing, so it wakes a thread through a pipe. That thread reports, and lets the signal end the process
//! as it would have.

use std::sync::atomic::{AtomicI32, Ordering};

use super::RUNNING;

/// The pipe's end for the handler, and the process that has the thread: one that is forked off has none.
static WAKE: AtomicI32 = AtomicI32::new(-1);
static OWNER: AtomicI32 = AtomicI32::new(0);

/// Installs the handler, if the signal would end the process.
pub(super) fn report_first() {
    let mut ends = [0; 2];
    // SAFETY: `ends` has room for two descriptors; an all-zero action is one without flags and mask.
    unsafe {
        let mut before: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(libc::SIGTERM, std::ptr::null(), &mut before) != 0
            || before.sa_sigaction != libc::SIG_DFL
            || libc::pipe(ends.as_mut_ptr()) != 0
        {
            return;
        }
        for end in ends {
            libc::fcntl(end, libc::F_SETFD, libc::FD_CLOEXEC);
        }
        let watcher = std::thread::Builder::new().name("warpsmith-sigterm".to_owned());
        if watcher.spawn(move || report_when_woken(ends[0])).is_err() {
            return;
        }
        WAKE.store(ends[1], Ordering::Relaxed);
        OWNER.store(libc::getpid(), Ordering::Relaxed);
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = wake as extern "C" fn(i32) as usize;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(libc::SIGTERM, &action, std::ptr::null_mut());
    }
}

extern "C" fn wake(signal: i32) {
    // SAFETY: each of these calls is allowed in a handler.
    unsafe {
        if libc::getpid() == OWNER.load(Ordering::Relaxed) {
            libc::write(WAKE.load(Ordering::Relaxed), std::ptr::from_ref(&0u8).cast(), 1);
        } else {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
    }
}

fn report_when_woken(pipe: i32) {
    let mut byte = 0u8;
    // SAFETY: one byte of room; a read that a signal interrupts is begun again.
    while unsafe { libc::read(pipe, std::ptr::from_mut(&mut byte).cast(), 1) } != 1 {}
    if let Some(Some(running)) = RUNNING.get() {
        let _ = std::panic::catch_unwind(|| running.report());
    }
    // SAFETY: the signal ends the process, as it would have without the checks.
    unsafe {
        libc::signal(libc::SIGTERM, libc::SIG_DFL);
        libc::kill(libc::getpid(), libc::SIGTERM);
    }
}
