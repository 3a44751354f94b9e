//! Random programs with branches, loops, calls, barriers and memory: compiled against interpreted.
//!
//! Everything that a program can leave behind is compared: its output, what its clock showed, which counts the operations
//! that its warp had run, how it faulted, and what a profiler counted of it. Warps race on shared memory, so the order of
//! their turns shows, too.
//!
//! `COMPILED_PROGRAMS=100000 cargo test --release -p compiled --test random -- --ignored` runs so many.

mod memory;
mod program;
mod source;
#[path = "../trials/mod.rs"]
mod trials;

use std::sync::Arc;
use std::time::{Duration, Instant};

use gpu_model::chips::H200;
use virtual_gpu::jit::Compiler;
use virtual_gpu::profiler::{LaunchProfile, Profiler};
use virtual_gpu::{Gpu, Launch, Options, Watch};

use memory::GLOBAL;
use program::{OUTPUT, Program};

/// What a program leaves behind, how it faulted, and whether it was compiled.
struct Left {
    compiled: bool,
    fault: Option<String>,
    outputs: Vec<u8>,
    everybodys: Vec<u8>,
}

fn left_by<O: Watch>(compiler: Option<Arc<dyn Compiler>>, program: &Program, observer: &mut O) -> Left {
    let refused = |error| panic!("{error}\n{}", program.ptx);
    // A program of which a lane waits for one that has ended does not end by itself.
    let options = Options { threads: 1, compiler, watchdog: Some(1 << 20), ..Options::default() };
    let gpu = Gpu::with_options(&H200, options);
    let module = gpu.load(&program.ptx).unwrap_or_else(refused);
    let kernel = module.kernel("program").expect("it has that kernel");
    let mut outputs = vec![0; (program.blocks * program.threads * OUTPUT) as usize];
    let mut everybodys = vec![3; GLOBAL as usize];
    let memory = gpu.memory();
    let [to, shared] = [&outputs, &everybodys].map(|bytes| {
        let place = memory.alloc(bytes.len() as u64).expect("there is room");
        memory.write(place, bytes).expect("it is there");
        place
    });
    let params = [&to.to_le_bytes()[..], &shared.to_le_bytes(), &77u32.to_le_bytes()].concat();
    let launch = Launch::new(program.blocks, program.threads);
    let fault = gpu.launch(&kernel, &launch, &params, observer).err().map(|fault| fault.to_string());
    memory.read(to, &mut outputs).expect("it is there");
    memory.read(shared, &mut everybodys).expect("it is there");
    Left { compiled: kernel.is_compiled(), fault, outputs, everybodys }
}

fn profiled(compiler: Option<Arc<dyn Compiler>>, program: &Program) -> (Left, LaunchProfile) {
    let mut profiler = Profiler::new();
    let left = left_by(compiler, program, &mut profiler);
    (left, profiler.finish())
}

fn compare(seed: u64, program: &Program, expected: &Left, found: &Left) {
    let ptx = &program.ptx;
    assert_eq!(expected.fault, found.fault, "program {seed}\n{ptx}");
    if let Some(at) = (0..expected.outputs.len()).find(|&at| expected.outputs[at] != found.outputs[at]) {
        let (thread, byte) = (at as u32 / OUTPUT, at as u32 % OUTPUT);
        panic!("program {seed} differs in thread {thread}, byte {byte}\n{ptx}");
    }
    if let Some(at) = (0..GLOBAL as usize).find(|&at| expected.everybodys[at] != found.everybodys[at]) {
        panic!("program {seed} differs in byte {at} of what all blocks share\n{ptx}");
    }
}

/// Compares a program's forms; whether it faulted.
fn judge(seed: u64) -> bool {
    let program = program::of(seed);
    let compiler = compiled::compiler(true, compiled::Kept::Not);
    let expected = left_by(None, &program, &mut ());
    let found = left_by(Some(compiler.clone()), &program, &mut ());
    assert!(found.compiled, "program {seed} is compiled\n{}", program.ptx);
    compare(seed, &program, &expected, &found);
    // Code that counts is other code.
    let counted = profiled(None, &program);
    let found = profiled(Some(compiler), &program);
    assert!(found.0.compiled, "program {seed} is compiled\n{}", program.ptx);
    compare(seed, &program, &expected, &counted.0);
    compare(seed, &program, &expected, &found.0);
    assert_eq!(counted.1, found.1, "program {seed}\n{}", program.ptx);
    expected.fault.is_some()
}

/// What a warp leaves behind, interpreted and compiled.
fn left_by_both(ptx: &str) -> Left {
    let program = Program { ptx: ptx.into(), blocks: 1, threads: 32 };
    let left = left_by(None, &program, &mut ());
    let found = left_by(Some(compiled::compiler(true, compiled::Kept::Not)), &program, &mut ());
    compare(0, &program, &left, &found);
    left
}

/// A lane is handed what one holds that has gone another way, and that does not use it any more itself.
fn what_is_handed_over_is_kept() {
    let ptx = ".version 8.6
        .target sm_90
        .address_size 64
        .visible .entry program(.param .u64 outputs, .param .u64 everybodys, .param .u32 number)
        {
            .reg .b32 %thread, %held, %got, %members;
            .reg .b64 %out;
            .reg .pred %p;
            ld.param.u64 %out, [outputs];
            mov.u32 %thread, %tid.x;
            mad.wide.u32 %out, %thread, 160, %out;
            mov.u32 %got, 0;
            mad.lo.u32 %held, %thread, 3, 1000;
            setp.lt.u32 %p, %thread, 2;
            @%p bra $behind;
            mul.lo.u32 %held, %thread, 5;
            activemask.b32 %members;
            shfl.sync.bfly.b32 %got, %held, 2, 31, %members;
        $behind:
            mov.u32 %held, %thread;
            st.global.v2.u32 [%out], {%got, %held};
            ret;
        }";
    let left = left_by_both(ptx);
    let handed: Vec<u8> =
        (2..4).flat_map(|lane| left.outputs[lane * OUTPUT as usize..][..4].to_vec()).collect();
    assert_eq!(handed, [1000u32, 1003].map(u32::to_le_bytes).concat());
}

/// A group has waited and runs out of turn, until it meets all others; where they split next, it is the first to run.
fn who_runs_out_of_turn_is_the_first_where_all_split() {
    let ptx = ".version 8.6
        .target sm_90
        .address_size 64
        .visible .entry program(.param .u64 outputs, .param .u64 everybodys, .param .u32 number)
        {
            .reg .b32 %thread, %turn, %got, %mixed;
            .reg .b64 %out;
            .reg .pred %high, %again, %new;
            .shared .b32 cell;
            ld.param.u64 %out, [outputs];
            mov.u32 %thread, %tid.x;
            mad.wide.u32 %out, %thread, 160, %out;
            mov.u32 %turn, 0;
            mov.u32 %mixed, 0;
            setp.ge.u32 %high, %thread, 16;
            @!%high bra $head;
            bra $ahead;
        $head:
            add.u32 %turn, %turn, 1;
            @%high bra $behind;
            atom.shared.add.u32 %got, [cell], 1;
            mad.lo.u32 %mixed, %mixed, 31, %got;
        $behind:
            atom.shared.add.u32 %got, [cell], 1;
            mad.lo.u32 %mixed, %mixed, 37, %got;
            setp.lt.u32 %again, %turn, 100;
            @%again bra $head;
        $ahead:
            setp.eq.u32 %new, %turn, 0;
            @%new bra $head;
            mov.u32 %got, %clock;
            st.global.v2.u32 [%out], {%mixed, %got};
            ret;
        }";
    left_by_both(ptx);
}

fn random_programs_do_what_the_interpreter_does() {
    let count = 30;
    let faulted = (0..count).filter(|&seed| judge(seed)).count();
    assert!(faulted <= 8, "{faulted} of {count} fault");
}

/// `COMPILED_PROGRAMS` of them from `COMPILED_FIRST` on. It goes on after one that differs. The number of the program under
/// way is in the file that `COMPILED_AT` names, should a program take the process with it.
fn as_many_as_are_asked_for() {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse().ok());
    let (first, count) = (number("COMPILED_FIRST").unwrap_or(0), number("COMPILED_PROGRAMS").unwrap_or(1000));
    let at = std::env::var("COMPILED_AT").ok();
    let (mut different, mut faulted) = (Vec::new(), 0);
    let mut said = Instant::now();
    for seed in first..first + count {
        if let Some(file) = &at {
            std::fs::write(file, seed.to_string()).expect("COMPILED_AT can be written");
        }
        match std::panic::catch_unwind(|| judge(seed)) {
            Ok(fault) => faulted += u64::from(fault),
            // What differs has been printed.
            Err(_) => {
                println!("program {seed} differs");
                different.push(seed);
            }
        }
        let ran = seed + 1 - first;
        if said.elapsed() > Duration::from_secs(10) || ran == count {
            println!(
                "{ran} of {count} programs from {first} on: {faulted} fault, {} differ",
                different.len()
            );
            said = Instant::now();
        }
    }
    assert!(different.is_empty(), "these programs differ: {different:?}");
}

trials! {
    fn what_is_handed_over_is_kept;
    fn who_runs_out_of_turn_is_the_first_where_all_split;
    fn random_programs_do_what_the_interpreter_does;
    fn as_many_as_are_asked_for, ignored;
}
