//! What is said on standard error where `cust` only gives a code: in processes of their own, which end as they should.
#![cfg(target_os = "linux")]

use std::process::Command;

use cust::context::CurrentContext;
use cust::error::CudaError;
use cust::launch;
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use warpsmith_cuda::{DevicePreference, choose};

const KERNELS: &str = "
.version 7.0
.target sm_75
.address_size 64
.visible .global .align 4 .u32 _ZN7kernels4SEED17h0123456789abcdefE;
.visible .entry tile(.param .u64 to) .reqntid 16, 16, 1 { ret; }
.visible .entry bound(.param .u32 n) .maxntid 128, 1, 1 { ret; }
.visible .entry _ZN7kernels6hidden17h0123456789abcdefE() { ret; }
.visible .entry culprit() { .reg .b64 %to; .loc 1 7 5; mov.u64 %to, 16; st.global.u64 [%to], %to; ret; }
.file 1 \"src/culprit.rs\"
.visible .entry add(.param .u64 a, .param .u64 a_len, .param .u64 b, .param .u64 b_len) { ret; }";

/// What is tried, its answer, and what the line says.
const CASES: [(&str, CudaError, &[&str]); 10] = [
    ("name", CudaError::NotFound, &["no kernel `tyle`", "did you mean `tile`?", "`bound`"]),
    ("mangled", CudaError::NotFound, &["no kernel `hidden`", "#[unsafe(no_mangle)]"]),
    ("static", CudaError::NotFound, &["no variable `SEED`", "#[unsafe(no_mangle)]"]),
    ("block", CudaError::InvalidValue, &["`tile`", "blocks of 16x16x1 threads, and the launch has 256x1x1"]),
    ("bound", CudaError::InvalidValue, &["`bound`", "at most 128 threads, and the launch has 256x1x1"]),
    ("grid", CudaError::InvalidValue, &["a grid of 0x1x1 has no blocks"]),
    ("shared", CudaError::InvalidValue, &["49152 bytes of dynamic shared memory", "asks for 60000"]),
    ("few", CudaError::InvalidValue, &["do not fit `add`", "parameter 2, `b`", "takes 4 arguments"]),
    ("small", CudaError::InvalidValue, &["parameter 1, `a_len`, has 8 bytes", "smaller"]),
    ("odd", CudaError::InvalidValue, &["parameter 1, `a_len`, has 8 bytes", "none of that size"]),
];

/// Not a test of its own: one case.
#[test]
#[ignore = "run by another test, in a process of its own"]
fn child() {
    let case = std::env::var("EXPLAINED").unwrap();
    choose(Some(DevicePreference::Virtual), None).unwrap_or_else(|refused| panic!("{refused}"));
    let _context = cust::quick_init().unwrap();
    let module = Module::from_ptx(KERNELS, &[]).unwrap();
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None).unwrap();
    let function = |name| module.get_function(name).unwrap();
    let (mut words, to) = ([0u64; 8], 0u64);
    let words = words.as_mut_ptr();
    // SAFETY: no kernel reads its parameters; the driver is asked to see that the arguments do not fit.
    let answer = unsafe {
        match case.as_str() {
            "name" => module.get_function("tyle").map(drop),
            "mangled" => module.get_function("hidden").map(drop),
            "static" => module.get_global::<u32>(c"SEED").map(drop),
            "block" => {
                let function = function("tile");
                launch!(function<<<1, 256, 0, stream>>>(to))
            }
            "bound" => {
                let function = function("bound");
                launch!(function<<<1, 256, 0, stream>>>(1u32))
            }
            "grid" => {
                let function = function("bound");
                launch!(function<<<0, 32, 0, stream>>>(1u32))
            }
            "shared" => {
                let function = function("bound");
                launch!(function<<<1, 32, 60_000, stream>>>(1u32))
            }
            // Behind the two pointers lies what no argument is.
            "few" => {
                let arguments =
                    [words.cast(), words.add(1).cast(), 0x1234usize as *mut _, 0x1234usize as *mut _];
                stream.launch(&function("add"), 1, 32, 0, &arguments[..2])
            }
            // The second is 4 bytes long, and the third follows it.
            "small" => {
                let second = words.add(1);
                let arguments =
                    [words.cast(), second.cast(), second.cast::<u32>().add(1).cast(), words.cast()];
                stream.launch(&function("add"), 1, 32, 0, &arguments)
            }
            _ => {
                let second = words.cast::<u32>().add(3);
                let arguments = [words.cast(), second.cast(), words.add(4).cast(), words.add(5).cast()];
                stream.launch(&function("add"), 1, 32, 0, &arguments)
            }
        }
    };
    let expected = CASES.iter().find(|(name, ..)| *name == case).unwrap();
    assert_eq!(answer.unwrap_err(), expected.1);
}

#[test]
fn a_refusal_is_one_line_that_says_why() {
    for (case, _, parts) in CASES {
        let run = |explain: &str| {
            let mut program = Command::new(std::env::current_exe().unwrap());
            program.args(["--exact", "child", "--ignored", "--nocapture"]);
            let output = program.env("EXPLAINED", case).env("WARPSMITH_EXPLAIN", explain).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{case}: {said}");
            said
        };
        let said = run("1");
        let lines: Vec<&str> = said.lines().filter(|line| line.starts_with("warpsmith: ")).collect();
        let [line] = lines[..] else { panic!("{case}: {said}") };
        assert!(parts.iter().all(|part| line.contains(part)), "{case}: {line}");
        assert!(!run("0").contains("warpsmith: "), "{case}");
    }
}

/// Not a test of its own: a kernel faults in one test, and another one of the process fails.
#[test]
#[ignore = "run by another test, in a process of its own"]
fn lost() {
    choose(Some(DevicePreference::Virtual), None).unwrap_or_else(|refused| panic!("{refused}"));
    let context = cust::quick_init().unwrap();
    let module = Module::from_ptx(KERNELS, &[]).unwrap();
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None).unwrap();
    let culprit = module.get_function("culprit").unwrap();
    // SAFETY: it has no arguments, and it writes where no memory is.
    unsafe { launch!(culprit<<<1, 1, 0, stream>>>()) }.unwrap();
    assert_eq!(stream.synchronize(), Err(CudaError::IllegalAddress));
    let innocent = || {
        CurrentContext::set_current(&context).unwrap();
        for _ in 0..2 {
            assert_eq!(CurrentContext::synchronize(), Err(CudaError::IllegalAddress));
        }
    };
    std::thread::scope(|threads| _ = threads.spawn(innocent));
}

#[test]
fn a_thread_that_did_not_cause_a_fault_is_told_once_which_kernel_did() {
    let mut program = Command::new(std::env::current_exe().unwrap());
    let output = program.args(["--exact", "lost", "--ignored", "--nocapture"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = said.lines().filter(|line| line.starts_with("warpsmith: ")).collect();
    let [fault, reminder] = lines[..] else { panic!("{said}") };
    assert!(fault.contains("illegal address") && fault.contains("`culprit`"), "{fault}");
    assert_eq!(
        reminder,
        "warpsmith: cuCtxSynchronize fails with CUDA_ERROR_ILLEGAL_ADDRESS (700): the context was lost when kernel \
         `culprit` faulted at src/culprit.rs:7"
    );
}
