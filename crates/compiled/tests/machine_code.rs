//! Where machine code comes from, where it lies, and when it goes.

mod trials;

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use compiled::Kept;
use gpu_model::chips::H200;
use llvm_library::cache::Cache;
use virtual_gpu::jit::Compiler;
use virtual_gpu::{Gpu, Kernel, Launch, Options};

/// Each thread turns `turns` times, and leaves what it computed and what its clock shows then. `salt` makes other code.
fn turning(salt: u32) -> String {
    format!(
        ".version 8.3 .target sm_90 .address_size 64
        .visible .entry turning(.param .u64 out, .param .u32 turns)
        {{
            .reg .pred %p; .reg .b32 %n, %x, %t, %c; .reg .b64 %o, %a;
            ld.param.u64 %o, [out];
            ld.param.u32 %n, [turns];
            mov.u32 %t, %tid.x;
            mov.u32 %x, {salt};
        $turn:
            mad.lo.u32 %x, %x, 1664525, %t;
            shr.u32 %c, %x, 7;
            xor.b32 %x, %x, %c;
            sub.u32 %n, %n, 1;
            setp.ne.u32 %p, %n, 0;
            @%p bra $turn;
            mov.u32 %c, %clock;
            mul.wide.u32 %a, %t, 8;
            add.u64 %o, %o, %a;
            st.global.v2.u32 [%o], {{%x, %c}};
            ret;
        }}"
    )
}

const THREADS: u32 = 64;

struct Turning {
    gpu: Gpu,
    kernel: Kernel,
    out: u64,
}

impl Turning {
    fn new(salt: u32, compiler: Option<Arc<dyn Compiler>>) -> Self {
        let gpu = Gpu::with_options(&H200, Options { threads: 1, compiler, ..Options::default() });
        let kernel = gpu.load(&turning(salt)).unwrap().kernel("turning").unwrap();
        let out = gpu.memory().alloc((8 * THREADS).into()).unwrap();
        Turning { gpu, kernel, out }
    }

    fn run(&self, turns: u32) -> Vec<u8> {
        let params = [&self.out.to_le_bytes()[..], &turns.to_le_bytes()].concat();
        self.gpu.launch(&self.kernel, &Launch::new(1, THREADS), &params, &mut ()).unwrap();
        let mut left = vec![0; 8 * THREADS as usize];
        self.gpu.memory().read(self.out, &mut left).unwrap();
        left
    }

    /// Runs it until its code is there, for two minutes at most: the compiler's thread may have to wait for a processor.
    fn is_compiled_soon(&self, turns: u32) -> bool {
        let started = Instant::now();
        while !self.kernel.is_compiled() && started.elapsed() < Duration::from_secs(120) {
            self.run(turns);
        }
        self.kernel.is_compiled()
    }
}

fn code_that_comes_while_a_kernel_runs_changes_nothing() {
    let expected = Turning::new(1, None).run(1 << 20);
    let usual = Turning::new(1, Some(compiled::compiler(false, Kept::Not)));
    assert_eq!(usual.run(1 << 20), expected, "the code comes on the way, or later");
    assert!(usual.is_compiled_soon(1 << 20));
    assert_eq!(usual.run(1 << 20), expected, "from the start");
}

/// Files of a folder.
fn entries(folder: &tempfile::TempDir) -> Vec<std::path::PathBuf> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

fn what_was_made_before_is_used_before_it_would_be_made() {
    let folder = tempfile::tempdir().unwrap();
    let kept = || Kept::In(Cache::new(folder.path().into(), 1 << 20));
    const MOST: usize = 10_000;
    // Too short to be worth compiling, long enough to be worth a look.
    let turns = 3000;
    let first = Turning::new(2, Some(compiled::compiler(false, kept())));
    let expected = first.run(turns);
    assert!(!first.kernel.is_compiled() && entries(&folder).is_empty());
    assert!(first.is_compiled_soon(turns));
    assert_eq!(entries(&folder).len(), 1);
    let second = Turning::new(2, Some(compiled::compiler(false, kept())));
    let runs = (0..MOST).take_while(|_| {
        assert_eq!(second.run(turns), expected);
        std::thread::sleep(Duration::from_millis(10));
        !second.kernel.is_compiled()
    });
    // Not when it is found is tested here, but that nothing is compiled for it.
    assert!(runs.count() < MOST);
    assert_eq!(entries(&folder).len(), 1);
}

/// A loop of divergent branches, each of which becomes many instructions for LLVM.
fn branching(branches: u32) -> String {
    let branch = |i: u32| {
        let least = i * 77_777_777;
        format!(
            "setp.lt.u32 %p, %x, {least}; @%p bra B{i}; xor.b32 %x, %x, %t; mad.lo.u32 %x, %x, 5, %t; B{i}:\n"
        )
    };
    let branches: String = (0..branches).map(branch).collect();
    format!(
        ".version 8.3 .target sm_90 .address_size 64
        .visible .entry branching(.param .u64 out, .param .u32 turns)
        {{
            .reg .pred %p; .reg .b32 %n, %x, %t; .reg .b64 %o;
            ld.param.u64 %o, [out];
            ld.param.u32 %n, [turns];
            mov.u32 %t, %tid.x;
            mov.u32 %x, %t;
        $turn:
            {branches}
            sub.u32 %n, %n, 1;
            setp.ne.u32 %p, %n, 0;
            @%p bra $turn;
            st.global.u32 [%o], %x;
            ret;
        }}"
    )
}

fn a_text_that_takes_llvm_long_waits_for_as_long() {
    let folder = tempfile::tempdir().unwrap();
    let compiler = compiled::compiler(false, Kept::In(Cache::new(folder.path().into(), 1 << 30)));
    let gpu =
        Gpu::with_options(&H200, Options { threads: 1, compiler: Some(compiler), ..Options::default() });
    let kernel = gpu.load(&branching(40)).unwrap().kernel("branching").unwrap();
    let out = gpu.memory().alloc(4).unwrap();
    let params = [&out.to_le_bytes()[..], &1000u32.to_le_bytes()].concat();
    // By its length alone it would be compiled before the last launch, after half as many as by its text.
    for _ in 0..150 {
        gpu.launch(&kernel, &Launch::new(1, 32), &params, &mut ()).unwrap();
    }
    assert!(!kernel.is_compiled() && entries(&folder).is_empty());
}

fn a_damaged_entry_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let run = || {
        let turning = Turning::new(
            3,
            Some(compiled::compiler(true, Kept::In(Cache::new(folder.path().into(), 1 << 20)))),
        );
        let left = turning.run(100);
        assert!(turning.kernel.is_compiled());
        left
    };
    let expected = run();
    // For warps whose lanes are together, and for others.
    assert_eq!(entries(&folder).len(), 2);
    for path in entries(&folder) {
        let whole = fs::read(&path).unwrap();
        for at in [0, 20, 40, whole.len() / 2, whole.len() - 1] {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x10;
            fs::write(&path, &damaged).unwrap();
            assert_eq!(run(), expected);
            assert!(fs::read(&path).unwrap() == whole, "byte {at}: it is whole again");
        }
    }
}

fn a_folder_that_cannot_be_written_is_no_failure() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let kept = Kept::In(Cache::new(file.join("below"), 1 << 20));
    let turning = Turning::new(4, Some(compiled::compiler(true, kept)));
    assert_eq!(turning.run(100), Turning::new(4, None).run(100));
    assert!(turning.kernel.is_compiled());
}

/// Each thread keeps so many registers through a loop.
fn holding(registers: u32) -> String {
    let each = |operation: &dyn Fn(u32) -> String| (0..registers).map(operation).collect::<String>();
    format!(
        ".version 8.3 .target sm_90 .address_size 64
        .visible .entry holding(.param .u64 data)
        {{
            .reg .b32 %t, %n, %sum, %r<{registers}>; .reg .b64 %a, %b; .reg .pred %p;
            ld.param.u64 %a, [data];
            mov.u32 %t, %tid.x;
            mul.wide.u32 %b, %t, 4;
            add.u64 %a, %a, %b;
            ld.global.u32 %sum, [%a];
            {}
            mov.u32 %n, 0;
            again:
            {}
            add.u32 %n, %n, 1;
            setp.lt.u32 %p, %n, 3;
            @%p bra again;
            {}
            st.global.u32 [%a], %sum;
            ret;
        }}",
        each(&|i| format!("mad.lo.u32 %r{i}, %sum, {}, %t;\n", 2 * i + 1)),
        each(&|i| format!("mad.lo.u32 %r{i}, %r{i}, 5, %r{};\n", (i + 1) % registers)),
        each(&|i| format!("xor.b32 %sum, %sum, %r{i};\n")),
    )
}

fn code_that_wants_much_stack_is_left_to_the_interpreter() {
    for (registers, is_compiled) in [(16, true), (600, false)] {
        let run = |compiler| {
            let gpu = Gpu::with_options(&H200, Options { threads: 2, compiler, ..Options::default() });
            let kernel = gpu.load(&holding(registers)).unwrap().kernel("holding").unwrap();
            let mut bytes: Vec<u8> = (0..4 * THREADS).map(|i| (i % 251) as u8).collect();
            let data = gpu.memory().alloc(bytes.len() as u64).unwrap();
            gpu.memory().write(data, &bytes).unwrap();
            gpu.launch(&kernel, &Launch::new(1, THREADS), &data.to_le_bytes(), &mut ()).unwrap();
            gpu.memory().read(data, &mut bytes).unwrap();
            (bytes, kernel.is_compiled())
        };
        let (expected, _) = run(None);
        let (found, compiled) = run(Some(compiled::compiler(true, Kept::Not)));
        assert!(found == expected, "{registers} registers");
        assert_eq!(compiled, is_compiled, "{registers} registers");
    }
}

#[cfg(target_os = "linux")]
/// How the process's memory is mapped: rights, and whether it is of no file.
fn mapped() -> Vec<(String, bool)> {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let fields = maps.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    fields.map(|fields| (fields[1].to_owned(), fields.len() < 6)).collect()
}

#[cfg(target_os = "linux")]
fn nothing_is_writable_and_executable_while_code_is_made_and_runs() {
    let done = AtomicBool::new(false);
    let mut seen = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for salt in 10..14 {
                let turning = Turning::new(salt, Some(compiled::compiler(true, Kept::Not)));
                turning.run(1 << 20);
                assert!(turning.kernel.is_compiled());
            }
            done.store(true, Ordering::Release);
        });
        while !done.load(Ordering::Acquire) {
            for (rights, is_no_file) in mapped() {
                assert!(!(rights.contains('w') && rights.contains('x')), "{rights}");
                seen += u32::from(is_no_file && rights.starts_with("r-x"));
            }
        }
    });
    assert!(seen > 0, "the code was there to be looked at");
}

#[cfg(target_os = "linux")]
/// Bytes that the process has in memory.
fn resident() -> u64 {
    let pages = fs::read_to_string("/proc/self/statm").unwrap();
    4096 * pages.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
}

/// Compiles and drops so many modules; bytes that the process has grown by since a quarter of them.
#[cfg(target_os = "linux")]
fn grown_by(modules: u32) -> u64 {
    let mut after_some = 0;
    for salt in 0..modules {
        let turning = Turning::new(100 + salt, Some(compiled::compiler(true, Kept::Not)));
        turning.run(10);
        assert!(turning.kernel.is_compiled());
        drop(turning);
        if salt == modules / 4 {
            after_some = resident();
        }
        if (salt + 1).is_multiple_of(1000) {
            println!("{:6.1} MiB after {} modules", resident() as f64 / f64::from(1 << 20), salt + 1);
        }
    }
    resident().saturating_sub(after_some)
}

#[cfg(target_os = "linux")]
fn modules_that_are_gone_leave_no_memory_behind() {
    let grown = grown_by(120);
    // Other tests of this file run beside it.
    assert!(grown < 64 << 20, "{grown} bytes more after 120 modules than after a quarter of them");
}

/// Takes minutes.
#[cfg(target_os = "linux")]
fn ten_thousand_modules_leave_no_memory_behind() {
    let grown = grown_by(10_000);
    assert!(grown < 8 << 20, "{grown} bytes more after 10,000 modules than after a quarter of them");
}

trials! {
    fn code_that_comes_while_a_kernel_runs_changes_nothing;
    fn what_was_made_before_is_used_before_it_would_be_made;
    fn a_text_that_takes_llvm_long_waits_for_as_long;
    fn a_damaged_entry_is_made_anew;
    fn a_folder_that_cannot_be_written_is_no_failure;
    fn code_that_wants_much_stack_is_left_to_the_interpreter;
    #[cfg(target_os = "linux")]
    fn nothing_is_writable_and_executable_while_code_is_made_and_runs;
    #[cfg(target_os = "linux")]
    fn modules_that_are_gone_leave_no_memory_behind;
    #[cfg(target_os = "linux")]
    fn ten_thousand_modules_leave_no_memory_behind, ignored;
}
