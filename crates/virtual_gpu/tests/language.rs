//! What ordinary CUDA C++ needs from the executor (`tests/ptx/language.cu`): calls, recursion, tables, spaces, the
//! heap.

mod harness;

use harness::{Arg, Device};
use virtual_gpu::{Error, FaultKind, Launch};

const PTX: &str = include_str!("ptx/language.ptx");

#[test]
fn recursion_with_a_depth_of_its_own_in_each_lane() {
    let device = Device::new(PTX);
    let out = device.upload(&[0i32; 64]);
    device.launch("recursion", Launch::new(1, 64), &[Arg::Pointer(out)]);
    let fibonacci = [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89];
    let expected: Vec<i32> = (0..64).map(|i| fibonacci[i % 12]).collect();
    assert_eq!(device.download::<i32>(out, 64), expected);
}

#[test]
fn structs_are_passed_and_returned_by_value() {
    let device = Device::new(PTX);
    let points: Vec<[u32; 3]> =
        (0..40).map(|i| [(i as f32).to_bits(), (i as f32 * 2.0).to_bits(), i]).collect();
    let buffer = device.upload(points.as_flattened());
    let big = 7i64 << 32 | 5;
    device.launch("structs", Launch::new(1, 40), &[Arg::Pointer(buffer), Arg::Long(big)]);
    let found = device.download::<u32>(buffer, 120);
    for i in 0..40u32 {
        let (by, add) = if i % 2 == 1 { (i as f32, 7) } else { (0.5, (-big >> 32) as i32) };
        let x = i as f32;
        let expected = [(x + by).to_bits(), (2.0 * x - by).to_bits(), i.wrapping_add_signed(add)];
        assert_eq!(found[3 * i as usize..][..3], expected, "{i}");
    }
}

/// How nvcc compiles C's `...`: the remaining arguments as an array whose length each call gives.
#[test]
fn functions_that_take_any_number_of_arguments() {
    let device = Device::new(
        ".version 8.3\n.target sm_75\n.address_size 64\n\
         .func (.param .b32 result) sum(.param .b32 n, .param .align 8 .b8 %VAParam[]) {\n\
         .reg .b32 %r<5>; .reg .b64 %a; .reg .pred %p;\n\
         mov.u64 %a, %VAParam; ld.param.u32 %r1, [n]; mov.u32 %r2, 0;\n\
         AGAIN: setp.eq.u32 %p, %r1, 0; @%p bra DONE;\n\
         ld.local.u32 %r3, [%a]; add.u32 %r2, %r2, %r3; add.u64 %a, %a, 4; sub.u32 %r1, %r1, 1; bra AGAIN;\n\
         DONE: st.param.b32 [result], %r2; ret; }\n\
         .visible .entry variadic(.param .u64 out) {\n\
         .reg .b32 %r<5>; .reg .b64 %out; ld.param.u64 %out, [out]; mov.u32 %r1, %tid.x;\n\
         { .param .b32 n; .param .align 8 .b8 rest[8]; .param .b32 result;\n\
         st.param.b32 [n], 2; st.param.b32 [rest], %r1; st.param.b32 [rest+4], 100;\n\
         call (result), sum, (n, rest); ld.param.b32 %r2, [result]; }\n\
         { .param .b32 n; .param .align 8 .b8 rest[12]; .param .b32 result;\n\
         st.param.b32 [n], 3; st.param.b32 [rest], %r2; st.param.b32 [rest+4], 1000; st.param.b32 [rest+8], %r1;\n\
         call (result), sum, (n, rest); ld.param.b32 %r2, [result]; }\n\
         { .param .b32 n; .param .b32 result; st.param.b32 [n], 0;\n\
         call (result), sum, (n); ld.param.b32 %r3, [result]; }\n\
         add.u32 %r2, %r2, %r3; mad.wide.u32 %out, %r1, 4, %out; st.global.u32 [%out], %r2; ret; }\n",
    );
    let out = device.upload(&[0u32; 40]);
    device.launch("variadic", Launch::new(1, 40), &[Arg::Pointer(out)]);
    assert_eq!(device.download::<u32>(out, 40), (0..40).map(|i| 1100 + 2 * i).collect::<Vec<_>>());
}

#[test]
fn calls_through_a_table_of_functions() {
    let device = Device::new(PTX);
    let out = device.upload(&[0i32; 96]);
    device.launch("indirect", Launch::new(1, 96), &[Arg::Pointer(out)]);
    let expected: Vec<i32> = (0..96).map(|i| [2 * i, i * i, -i][i as usize % 3]).collect();
    assert_eq!(device.download::<i32>(out, 96), expected);
}

#[test]
fn branches_through_a_table() {
    let device = Device::new(PTX);
    let input: Vec<i32> = (0..128).map(|i| i * 37 % 10).collect();
    let (a, out) = (device.upload(&input), device.upload(&[0i32; 128]));
    device.launch("choices", Launch::new(2, 64), &[Arg::Pointer(a), Arg::Pointer(out)]);
    let expected: Vec<i32> = (0..128i32)
        .map(|i| match input[i as usize] {
            0 => 100,
            1 => i * 3,
            2 => i - 7,
            3 => i ^ 21,
            4 => i.count_ones() as i32,
            5 => i << 2,
            6 => -i,
            7 => i / 3,
            _ => i % 5,
        })
        .collect();
    assert_eq!(device.download::<i32>(out, 128), expected);
}

#[test]
fn lanes_leave_a_loop_one_by_one() {
    let device = Device::new(PTX);
    let input: Vec<u32> = (1..=256).collect();
    let (a, out) = (device.upload(&input), device.upload(&[0i32; 256]));
    device.launch("collatz", Launch::new(2, 128), &[Arg::Pointer(a), Arg::Pointer(out)]);
    let steps = |n: u32| {
        std::iter::successors(Some(u64::from(n)), |&n| {
            (n != 1).then_some(if n % 2 == 1 { 3 * n + 1 } else { n / 2 })
        })
        .count() as i32
            - 1
    };
    let expected: Vec<i32> = input.iter().map(|&n| steps(n)).collect();
    assert_eq!(device.download::<i32>(out, 256), expected);
}

#[test]
fn local_arrays_with_computed_indices() {
    let device = Device::new(PTX);
    let input: Vec<i32> = (0..16 * 48).map(|i| (i * 7919 + 13) % 1009 - 500).collect();
    let data = device.upload(&input);
    device.launch("local_sort", Launch::new(1, 48), &[Arg::Pointer(data)]);
    let mut expected = input;
    expected.chunks_mut(16).for_each(<[i32]>::sort_unstable);
    assert_eq!(device.download::<i32>(data, 16 * 48), expected);
}

#[test]
fn one_pointer_reaches_shared_dynamic_and_local_memory() {
    let device = Device::new(PTX);
    let out = device.upload(&[0i32; 64]);
    for round in 1..=2 {
        device.launch("spaces", Launch::new(1, 64).dynamic_shared(256), &[Arg::Pointer(out)]);
        let counter = device.module.global("counter").unwrap();
        assert_eq!(device.download::<i32>(counter.address, 1), [40 + 64 * round]);
    }
    let table = [3, 1, 4, 1];
    let expected: Vec<i32> = (0..64)
        .map(|i: usize| {
            let value = match i % 3 {
                0 => (63 - i as i32) * 2,
                1 => table[(63 - i) & 3],
                _ => i as i32 + (i as i32 & 3),
            };
            value + table[(i >> 2) & 3]
        })
        .collect();
    assert_eq!(device.download::<i32>(out, 64), expected);
    assert!(!device.module.global("table").unwrap().writable);
}

#[test]
fn the_heap_gives_and_takes() {
    let device = Device::new(PTX);
    let out = device.upload(&[0i32; 64]);
    let before = device.gpu.memory().info();
    device.launch("heap", Launch::new(1, 64), &[Arg::Pointer(out)]);
    let expected: Vec<i32> = (0..64).map(|i| 10 * i).collect();
    assert_eq!(device.download::<i32>(out, 64), expected);
    assert_eq!(device.gpu.memory().info(), before);
}

#[test]
fn double_precision_functions() {
    let device = Device::new(PTX);
    let input: Vec<f64> = (1..=32).map(|i| f64::from(i) * 0.37).collect();
    let (a, out) = (device.upload(&input), device.upload(&[0f64; 192]));
    device.launch("doubles", Launch::new(1, 32), &[Arg::Pointer(a), Arg::Pointer(out)]);
    let found = device.download::<f64>(out, 192);
    for (i, &x) in input.iter().enumerate() {
        let expected = [x.sqrt(), 1.0 / x, x.sin(), (-x).exp(), x.powf(1.5), x.ln()];
        // sqrt and division are exact; CUDA promises 2 ulp for the rest.
        assert_eq!(found[6 * i..6 * i + 2], expected[..2]);
        for k in 2..6 {
            let (found, expected) = (found[6 * i + k], expected[k]);
            assert!(
                (found - expected).abs() <= 4.0 * f64::EPSILON * expected.abs(),
                "{x} {k}: {found} {expected}"
            );
        }
    }
}

#[test]
fn single_precision_functions() {
    let device = Device::new(PTX);
    let input: Vec<f32> = (1..=32).map(|i| i as f32 * 0.37).collect();
    let (a, out) = (device.upload(&input), device.upload(&[0f32; 192]));
    device.launch("floats", Launch::new(1, 32), &[Arg::Pointer(a), Arg::Pointer(out)]);
    let found = device.download::<f32>(out, 192);
    for (i, &x) in input.iter().enumerate() {
        let x64 = f64::from(x);
        let expected = [
            x64.sqrt(),
            3.0 / x64,
            f64::from(x * 1000.0).sin(),
            (-x64).exp(),
            f64::from(x * 100.0) % f64::from(1.7f32),
            x64.ln(),
        ];
        for k in 0..6 {
            let (found, expected) = (f64::from(found[6 * i + k]), expected[k]);
            let bound = 3.0 * f64::from(f32::EPSILON) * expected.abs().max(1e-3);
            assert!((found - expected).abs() <= bound, "{x} {k}: {found} {expected}");
        }
    }
}

#[test]
fn bit_instructions() {
    let device = Device::new(PTX);
    let input: Vec<u32> = (0..64u32).map(|i| i.wrapping_mul(0x9e37_79b9).rotate_left(i)).collect();
    let (a, out) = (device.upload(&input), device.upload(&[0u32; 640]));
    device.launch("bits", Launch::new(1, 64), &[Arg::Pointer(a), Arg::Pointer(out)]);
    let found = device.download::<u32>(out, 640);
    for i in 0..64usize {
        let (x, y) = (input[i], input[i ^ 1]);
        let byte = |v: u32, k: usize| v.to_le_bytes()[k];
        let permuted = u32::from_le_bytes([byte(x, 0), byte(y, 0), byte(x, 1), byte(y, 1)]);
        let dot: i32 =
            (0..4).map(|k| i32::from(byte(x, k) as i8) * i32::from(byte(y, k) as i8)).sum::<i32>() + 7;
        let sums: [u8; 4] = std::array::from_fn(|k| byte(x, k).wrapping_add(byte(y, k)));
        let expected = [
            x.reverse_bits(),
            x.leading_zeros(),
            if x == 0 { 0 } else { x.trailing_zeros() + 1 },
            permuted,
            ((u64::from(y) << 32 | u64::from(x)) << (i & 31) >> 32) as u32,
            ((u64::from(x) * u64::from(y)) >> 32) as u32,
            dot as u32,
            u32::from_le_bytes(sums),
            (u64::from(x) * u64::from(y) % 1_000_003) as u32,
            x.abs_diff(y).wrapping_add(5),
        ];
        assert_eq!(found[10 * i..][..10], expected, "{i}");
    }
}

#[test]
fn printing_runs() {
    // The text itself goes to the process's standard output; other tests cover the formatting.
    Device::new(PTX).launch("print", Launch::new(2, 32), &[Arg::Int(5)]);
}

fn fault(device: &Device, name: &str, n: i32) -> virtual_gpu::Fault {
    match device.try_launch(name, Launch::new(1, 32), &[Arg::Int(n)]) {
        Err(Error::Fault(fault)) => *fault,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_fault_in_a_library_names_the_call() {
    let device = Device::new(
        ".version 8.0\n.target sm_75\n.address_size 64\n\
         .func deepest() {\n.loc 2 7 1\ntrap;\nret;\n}\n\
         .func library() {\n.loc 2 5 1\ncall deepest;\nret;\n}\n\
         .func own() {\n.loc 1 9 5\ncall library;\nret;\n}\n\
         .visible .entry kernel(.param .u32 n) {\n.loc 1 3 5\ncall own;\nret;\n}\n\
         .file 1 \"/home/user/kernel.rs\"\n.file 2 \"/rust/library/core/src/check.rs\"\n",
    );
    let lines: Vec<u32> =
        fault(&device, "kernel", 0).location.frames.iter().map(|frame| frame.line).collect();
    assert_eq!(lines, [7, 5, 9], "up to the first line that is no library's");
}

#[test]
fn assertions_and_traps_end_the_launch() {
    let device = Device::new(PTX);
    device.launch("assertion", Launch::new(1, 32), &[Arg::Int(3)]);
    let asserted = fault(&device, "assertion", 4);
    assert_eq!(asserted.thread, [5, 0, 0]);
    assert_eq!(asserted.kind.cuda_code(), 710);
    assert!(
        matches!(&asserted.kind, FaultKind::Assert(text) if text.contains("n <= 3") && text.contains("language.cu:99"))
    );
    let trapped = fault(&device, "trapped", 9);
    assert_eq!((trapped.thread, trapped.kind), ([9, 0, 0], FaultKind::Trap));
    device.launch("trapped", Launch::new(1, 32), &[Arg::Int(77)]);
}
