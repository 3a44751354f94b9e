//! Stops the host's accesses to closed pages: notes the access, opens the allocation, and lets the access go on.
//!
//! The handler of SIGSEGV looks up the address in a fixed table, and passes all that is not ours to the handler that was there
//! before. Only an access of the host's own code to managed or pinned memory gets further. The note is made on a stack of its own,
//! since that of a signal may be small. It takes the calls that led to the access, and for that allocates: an allocator of the
//! program that keeps its own lists in pages which a kernel used up, and accesses them before the wait, may hang here.
//!
//! A thread that blocks SIGSEGV ends with such an access, and a system call answers EFAULT: a mistake either way. Where the
//! program has a handler of its own since, no page is closed.

use std::ffi::c_void;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use sanitizer::HostAccess;

use crate::fork;

/// Allocations that are watched at a time; others stay open.
const MOST: usize = 1024;
const STACK: usize = 1 << 18;
/// The longest wait for another thread's note.
const PATIENCE: Duration = Duration::from_secs(1);
/// `si_code` of a fault in a page that is there, and closed.
const ACCESS_DENIED: i32 = 2;

struct WatchedRange {
    /// 0 where there is none.
    start: AtomicU64,
    /// The end of its last page.
    end: AtomicU64,
}

static TABLE: [WatchedRange; MOST] =
    [const { WatchedRange { start: AtomicU64::new(0), end: AtomicU64::new(0) } }; MOST];
/// Accesses that were stopped since they were last asked for. They are few: each opens an allocation.
static STOPPED: Mutex<Vec<HostAccess>> = Mutex::new(Vec::new());
/// The end of the stack on which accesses are noted, and whether it is in use.
static NOTES: AtomicUsize = AtomicUsize::new(0);
static NOTING: AtomicBool = AtomicBool::new(false);
/// Handlers that look at the table, or note.
static HANDLING: AtomicUsize = AtomicUsize::new(0);
/// The handler before wanted to be called once, and was.
static SPENT: AtomicBool = AtomicBool::new(false);
static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();

pub(super) fn page_size() -> u64 {
    // SAFETY: this call has no preconditions.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// Takes an allocation into the table, one thread at a time. False if there is no room, or no handler.
pub(super) fn watch(range: &Range<u64>) -> bool {
    static INSTALLED: OnceLock<bool> = OnceLock::new();
    if !range.start.is_multiple_of(page_size()) || !*INSTALLED.get_or_init(install) {
        return false;
    }
    let free = TABLE.iter().find(|place| place.start.load(Ordering::Relaxed) == 0);
    free.inspect(|place| {
        place.end.store(range.end.next_multiple_of(page_size()), Ordering::SeqCst);
        place.start.store(range.start, Ordering::SeqCst);
    })
    .is_some()
}

/// Takes an allocation out of the table, whose pages are open. No handler touches them afterwards.
pub(super) fn unwatch(range: &Range<u64>) {
    let known = TABLE.iter().find(|place| place.start.load(Ordering::Relaxed) == range.start);
    known.inspect(|place| place.start.store(0, Ordering::SeqCst));
    wait_for_handlers(Duration::MAX);
}

/// Waits for handlers under way. In a forked process their threads are not there.
fn wait_for_handlers(limit: Duration) {
    let start = Instant::now();
    while HANDLING.load(Ordering::SeqCst) != 0 && start.elapsed() < limit && !fork::is_child() {
        std::thread::yield_now();
    }
}

/// Tells whether a fault comes to the handler here.
pub(super) fn is_watching() -> bool {
    let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut c_void) = on_closed_page;
    PREVIOUS.get().is_some() && current_action().is_some_and(|now| now.sa_sigaction == handler as usize)
}

pub(super) fn open(range: &Range<u64>) -> bool {
    protect(range, libc::PROT_READ | libc::PROT_WRITE)
}

/// Closes pages to stores, and to `all` accesses.
pub(super) fn close(range: &Range<u64>, all: bool) {
    protect(range, if all { libc::PROT_NONE } else { libc::PROT_READ });
}

/// Opens all pages, in a process that was forked off.
pub(crate) fn open_all() {
    for place in &TABLE {
        let (start, end) = (place.start.load(Ordering::Relaxed), place.end.load(Ordering::Relaxed));
        if start != 0 {
            open(&(start..end));
        }
    }
}

/// The accesses that were stopped since the last time.
pub(super) fn take() -> Vec<HostAccess> {
    wait_for_handlers(PATIENCE);
    std::mem::take(&mut *STOPPED.lock().unwrap_or_else(PoisonError::into_inner))
}

fn protect(range: &Range<u64>, protection: i32) -> bool {
    // SAFETY: the table's ranges, and pages in them, are mappings of the driver's own. They are there until `unwatch` has
    // returned, which waits for handlers that found them. Kernels and the driver use them only while they are open.
    unsafe { libc::mprotect(range.start as *mut c_void, (range.end - range.start) as usize, protection) == 0 }
}

fn current_action() -> Option<libc::sigaction> {
    // SAFETY: an all-zero action is valid, and only written.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        (libc::sigaction(libc::SIGSEGV, std::ptr::null(), &mut now) == 0).then_some(now)
    }
}

fn install() -> bool {
    let Some(before) = current_action() else { return false };
    let _ = PREVIOUS.set(before);
    // SAFETY: a new mapping touches nothing that exists; the handler is a plain function that lives as long as the process. It
    // takes over the mask of the one before, which it may call, and that one's stack.
    unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let stack = libc::mmap(std::ptr::null_mut(), STACK, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        if stack == libc::MAP_FAILED {
            return false;
        }
        NOTES.store(stack as usize + STACK, Ordering::Relaxed);
        let mut action = before;
        let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut c_void) = on_closed_page;
        action.sa_sigaction = handler as usize;
        action.sa_flags |= libc::SA_SIGINFO | libc::SA_ONSTACK;
        action.sa_flags &= !libc::SA_RESETHAND;
        libc::sigaction(libc::SIGSEGV, &action, std::ptr::null_mut()) == 0
    }
}

/// The handler. Backtraces know it by its name (`sanitizer::origin`).
extern "C" fn on_closed_page(signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the system passes the fault's description and the interrupted thread's state.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as u64) };
    if code == ACCESS_DENIED {
        // SAFETY: the thread's own place for errors.
        let errno = unsafe { *libc::__errno_location() };
        // Before the table is looked at: `unwatch` changes it, and then looks at this. All are SeqCst, so one sees the other.
        HANDLING.fetch_add(1, Ordering::SeqCst);
        let opened = open_and_note(address, context);
        HANDLING.fetch_sub(1, Ordering::SeqCst);
        // SAFETY: as above.
        unsafe { *libc::__errno_location() = errno };
        if opened {
            return;
        }
    }
    pass_on(signal, code, info, context);
}

/// False if the address is not that of watched memory.
fn open_and_note(address: u64, context: *mut c_void) -> bool {
    let holds = |place: &WatchedRange| {
        let start = place.start.load(Ordering::SeqCst);
        // The place may be another allocation's by the time its end is read.
        let end = place.end.load(Ordering::SeqCst);
        let same = start != 0 && place.start.load(Ordering::SeqCst) == start;
        (same && (start..end).contains(&address)).then_some(start..end)
    };
    let Some(range) = TABLE.iter().find_map(holds) else { return false };
    if !open(&range) {
        return false;
    }
    if fork::is_child() {
        return true;
    }
    let start = Instant::now();
    while NOTING.swap(true, Ordering::Acquire) {
        // Another thread's note; or this thread's, where the program lets the signal interrupt its handler.
        if start.elapsed() > PATIENCE {
            return true;
        }
        std::hint::spin_loop();
    }
    let access = (address, is_store(context));
    on_stack(NOTES.load(Ordering::Relaxed), note, &access);
    NOTING.store(false, Ordering::Release);
    true
}

/// Does what the handler before would have done.
fn pass_on(signal: i32, code: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    let Some(previous) = PREVIOUS.get() else { return };
    let called = !matches!(previous.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN);
    let once = called && previous.sa_flags & libc::SA_RESETHAND != 0;
    let spent = once && SPENT.swap(true, Ordering::Relaxed);
    let handler = if spent { libc::SIG_DFL } else { previous.sa_sigaction };
    // Sent by a process, and not by an instruction.
    let sent = code <= 0;
    // SAFETY: the program installed that handler for these arguments; an instruction that faults without one does so again.
    unsafe {
        if handler == libc::SIG_IGN && sent {
            // Ignored.
        } else if handler == libc::SIG_DFL || handler == libc::SIG_IGN {
            let mut default: libc::sigaction = std::mem::zeroed();
            default.sa_sigaction = libc::SIG_DFL;
            libc::sigaction(signal, &default, std::ptr::null_mut());
            if sent {
                libc::raise(signal);
            }
        } else if previous.sa_flags & libc::SA_SIGINFO != 0 {
            type Informed = extern "C" fn(i32, *mut libc::siginfo_t, *mut c_void);
            std::mem::transmute::<usize, Informed>(handler)(signal, info, context);
        } else {
            std::mem::transmute::<usize, extern "C" fn(i32)>(handler)(signal);
        }
    }
}

/// Tells stores from loads, if the processor does.
fn is_store(context: *mut c_void) -> Option<bool> {
    #[cfg(target_arch = "x86_64")]
    {
        // Bit 1 of a page fault's error code (Intel SDM, volume 3, 4.7).
        // SAFETY: the system's state of the interrupted thread.
        let state = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext };
        Some(state.gregs[libc::REG_ERR as usize] & 2 != 0)
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = context;
        None
    }
}

extern "C" fn note(&(address, writes): &(u64, Option<bool>)) {
    // A panic must not cross the frame of the signal.
    let _ = std::panic::catch_unwind(|| {
        let access = HostAccess::here(address, writes);
        STOPPED.lock().unwrap_or_else(PoisonError::into_inner).push(access);
    });
}

/// Calls a function on another stack, by frames that a backtrace can follow.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
extern "C" fn on_stack(end: usize, run: extern "C" fn(&(u64, Option<bool>)), access: &(u64, Option<bool>)) {
    std::arch::naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "mov rsp, rdi",
        "mov rdi, rdx",
        "call rsi",
        "mov rsp, rbp",
        "pop rbp",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
    )
}

/// Calls a function on another stack, by frames that a backtrace can follow.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
extern "C" fn on_stack(end: usize, run: extern "C" fn(&(u64, Option<bool>)), access: &(u64, Option<bool>)) {
    std::arch::naked_asm!(
        ".cfi_startproc",
        "stp x29, x30, [sp, #-16]!",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset x29, -16",
        ".cfi_offset x30, -8",
        "mov x29, sp",
        ".cfi_def_cfa x29, 16",
        "mov sp, x0",
        "mov x0, x2",
        "blr x1",
        "mov sp, x29",
        "ldp x29, x30, [sp], #16",
        ".cfi_def_cfa sp, 0",
        ".cfi_restore x29",
        ".cfi_restore x30",
        "ret",
        ".cfi_endproc",
    )
}
