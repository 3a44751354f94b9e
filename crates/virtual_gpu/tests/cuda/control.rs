use virtual_gpu::Launch;

use crate::device::{Device, Plain};
use crate::numbers;

/// Every check on the optimised and on the debug build (`nvcc -G`), whose variables all live in local memory.
macro_rules! on_both_builds {
    ($($check:ident)*) => {
        mod optimised {
            $(#[test] fn $check() { super::$check(&crate::device(include_bytes!("control.ptx.gz"))) })*
        }
        mod debug {
            $(#[test] fn $check() { super::$check(&crate::device(include_bytes!("control_debug.ptx.gz"))) })*
        }
    };
}

on_both_builds! { collatz recursion recursive_sort_in_local_memory calls_through_tables virtual_functions interpreter_with_a_dense_switch queens }

fn collatz(device: &Device) {
    let steps = device.zeros::<u32>(512);
    device.launch("collatz", Launch::new(4, 128), &[steps.arg()]);
    let reference =
        |n: u64| std::iter::successors(Some(n), |&n| Some(if n % 2 == 0 { n / 2 } else { 3 * n + 1 }));
    let want: Vec<u32> = (1..=512).map(|n| reference(n).position(|n| n == 1).unwrap() as u32).collect();
    assert_eq!(device.download::<u32>(steps), want);
}

fn recursion(device: &Device) {
    let out = device.zeros::<u32>(128);
    device.launch("recursion", Launch::new(1, 64), &[out.arg()]);
    let fibonacci = [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233];
    // Ackermann's function has closed forms in its first rows.
    let ackermann = |m: u32, n: u32| [n + 1, n + 2, 2 * n + 3][m as usize];
    let want: Vec<u32> =
        (0..64).flat_map(|t| [fibonacci[t as usize % 14], ackermann(t % 3, t % 5)]).collect();
    assert_eq!(device.download::<u32>(out), want);
}

fn recursive_sort_in_local_memory(device: &Device) {
    let mut rows: Vec<i32> = numbers(1).take(40 * 24).map(|n| (n as i32) >> (n >> 60)).collect();
    let array = device.upload(&rows);
    device.launch("sort_rows", Launch::new(1, 40), &[array.arg()]);
    rows.chunks_exact_mut(24).for_each(<[i32]>::sort_unstable);
    assert_eq!(device.download::<i32>(array), rows);
}

fn calls_through_tables(device: &Device) {
    let a: Vec<i32> = numbers(2).take(64).map(|n| n as i32 % 1000).collect();
    let b: Vec<i32> = numbers(3).take(64).map(|n| n as i32 % 1000).collect();
    let out = device.zeros::<i32>(64);
    device.launch(
        "through_table",
        Launch::new(1, 64),
        &[device.upload(&a).arg(), device.upload(&b).arg(), out.arg()],
    );
    let want: Vec<i32> = (0..64)
        .map(|t| match (a[t] ^ t as i32) & 3 {
            0 => a[t] + b[t],
            1 => a[t] - b[t],
            2 => a[t].wrapping_mul(b[t]),
            _ => a[t].wrapping_pow(b[t] as u32 & 7),
        })
        .collect();
    assert_eq!(device.download::<i32>(out), want);
}

fn virtual_functions(device: &Device) {
    let out = device.zeros::<i32>(64);
    device.launch("virtual_calls", Launch::new(1, 64), &[out.arg()]);
    let want: Vec<i32> = (0..64)
        .map(|t: i32| match t * 7 % 3 {
            0 => t * t * 100 + 4,
            1 => (t + 1) * (t + 1) / 2 * 100 + t + 1,
            _ => t + 2,
        })
        .collect();
    assert_eq!(device.download::<i32>(out), want);
}

fn interpreter_with_a_dense_switch(device: &Device) {
    let program: Vec<u8> = numbers(4).take(100).map(|n| n as u8).collect();
    let out = device.zeros::<i32>(96);
    let args = [device.upload(&program).arg(), 100i32.bytes(), out.arg()];
    device.launch("machine", Launch::new(1, 96), &args);
    let run = |t: i32| {
        let (mut acc, mut other, mut pc) = (t, 1i32, 0i32);
        while pc < 100 {
            let mut skip = false;
            match (program[pc as usize] as i32 + t) % 11 {
                0 => acc = acc.wrapping_add(3),
                1 => acc = acc.wrapping_mul(5),
                2 => acc ^= other,
                3 => {
                    other = other.wrapping_add(acc);
                    skip = true;
                }
                4 => {
                    acc = acc.wrapping_sub(17);
                    other = other.wrapping_shl(1);
                }
                5 => other = other.wrapping_shl(1),
                6 => pc += acc & 1,
                7 => acc = acc.wrapping_neg(),
                8 => std::mem::swap(&mut acc, &mut other),
                9 => acc >>= 1,
                _ => other ^= 0x55,
            }
            if !skip {
                acc = acc.wrapping_add(pc);
            }
            pc += 1;
        }
        acc ^ other
    };
    assert_eq!(device.download::<i32>(out), (0..96).map(run).collect::<Vec<_>>());
}

fn queens(device: &Device) {
    let counts = device.zeros::<u32>(32);
    device.launch("queens", Launch::new(1, 32), &[counts.arg()]);
    let known = [2, 10, 4, 40];
    assert_eq!(device.download::<u32>(counts), (0..32).map(|t| known[t % 4]).collect::<Vec<u32>>());
}
