//! Threads that wait for each other (`tests/ptx/threads.cu`): lanes, warps, blocks.

mod harness;

use harness::{Arg, Device};
use virtual_gpu::{Error, Fault, FaultKind, Launch, Options};

const PTX: &str = include_str!("ptx/threads.ptx");

/// The schedules under which results must not change.
fn schedules() -> Vec<Device> {
    [(1, None), (2, None), (3, Some(7)), (1, Some(42))]
        .into_iter()
        .map(|(threads, seed)| Device::with(PTX, Options { threads, seed, ..Options::default() }))
        .collect()
}

#[test]
fn functions_of_a_whole_warp() {
    for device in schedules() {
        let input: Vec<i32> = (0..64).map(|i| (i * 29 + 3) % 50).collect();
        let (a, out) = (device.upload(&input), device.upload(&[0i32; 64 * 12]));
        device.launch("warp_functions", Launch::new(1, 64), &[Arg::Pointer(a), Arg::Pointer(out)]);
        let found = device.download::<i32>(out, 64 * 12);
        for i in 0..64usize {
            let (start, lane) = (i / 32 * 32, i % 32);
            let warp = &input[start..start + 32];
            let mask = |f: &dyn Fn(i32) -> bool| {
                warp.iter().enumerate().filter(|(_, v)| f(**v)).fold(0u32, |m, (k, _)| m | 1 << k) as i32
            };
            let all_equal = warp.iter().all(|v| (v > &-1000) == (warp[0] > -1000));
            let expected = [
                warp.iter().sum(),
                warp[..=lane].iter().sum(),
                mask(&|v| v & 1 != 0),
                1,
                i32::from(warp.contains(&7)),
                mask(&|v| v & 3 == input[i] & 3),
                if all_equal { -1 } else { 0 },
                i32::from(all_equal),
                warp.iter().sum(),
                *warp.iter().max().unwrap(),
                warp[lane / 8 * 8 + (i * 3) % 8],
                if lane % 16 + 5 < 16 { warp[lane + 5] } else { warp[lane] },
            ];
            assert_eq!(found[12 * i..][..12], expected, "{i}");
        }
    }
}

#[test]
fn lanes_meet_again_after_they_diverged() {
    for device in schedules() {
        let out = device.upload(&[0i32; 32]);
        device.launch("divergent_warp_functions", Launch::new(1, 32), &[Arg::Pointer(out)]);
        let others = (0..32).filter(|i| i % 3 != 0 && i % 2 == 1).fold(0u32, |m, i| m | 1 << i) as i32;
        // `__activemask()` in the first branch depends on the schedule; whatever it is, the shuffle must work.
        let found = device.download::<i32>(out, 32);
        for i in (0..32).filter(|i| i % 3 != 0) {
            assert_eq!(found[i], others.wrapping_add(31 - i as i32), "{i}");
        }
        for i in (0..32).filter(|i| i % 3 == 0) {
            let counted = found[i] - (31 - i as i32);
            assert!((1..=11).contains(&counted), "{i}: {counted}");
        }
    }
}

#[test]
fn a_lock_among_lanes_warps_and_blocks() {
    for device in schedules() {
        for (name, each) in [("warp_lock", 4), ("spin_lock", 1)] {
            let (lock, data) = (device.upload(&[0i32]), device.upload(&[0i32]));
            device.launch(name, Launch::new(3, 64), &[Arg::Pointer(lock), Arg::Pointer(data)]);
            assert_eq!(device.download::<i32>(data, 1), [3 * 64 * each], "{name}");
        }
    }
}

#[test]
fn each_lane_waits_for_the_one_before() {
    for device in schedules() {
        let (flag, out) = (device.upload(&[0i32; 128]), device.upload(&[0i32; 128]));
        device.launch("lane_to_lane", Launch::new(1, 128), &[Arg::Pointer(flag), Arg::Pointer(out)]);
        let expected: Vec<i32> = (0..128).map(|i| i * (i + 1) / 2).collect();
        assert_eq!(device.download::<i32>(out, 128), expected);
    }
}

#[test]
fn the_first_block_waits_for_the_last() {
    for device in schedules() {
        let (flag, out) = (device.upload(&[0i32; 12]), device.upload(&[0i32; 12]));
        device.launch("block_to_block", Launch::new(12, 32), &[Arg::Pointer(flag), Arg::Pointer(out)]);
        let expected: Vec<i32> = (0..12).map(|i| i * (i + 1) / 2).collect();
        assert_eq!(device.download::<i32>(out, 12), expected);
    }
}

#[test]
fn a_barrier_of_the_whole_grid() {
    for device in schedules() {
        let n = 6 * 64;
        let initial: Vec<i32> = (0..n).map(|i| i * 3 % 101).collect();
        let (data, out) = (device.upload(&initial), device.upload(&vec![0i32; n as usize]));
        let args = [Arg::Pointer(data), Arg::Pointer(out), Arg::Int(3)];
        device.launch("grid_barrier", Launch::new(6, 64).cooperative(), &args);
        let expected: Vec<i32> = (0..n as usize).map(|i| initial[(i + 3) % n as usize] + 3).collect();
        assert_eq!(device.download::<i32>(out, n as usize), expected);
    }
}

#[test]
fn block_barriers_that_reduce() {
    for device in schedules() {
        let input: Vec<i32> = (0..3 * 256).map(|i| (i * 31 + 5) % 97).collect();
        let (a, out) = (device.upload(&input), device.upload(&[0i32; 12]));
        device.launch("block_reduce", Launch::new(3, 256), &[Arg::Pointer(a), Arg::Pointer(out)]);
        let expected: Vec<i32> = input
            .chunks(256)
            .flat_map(|c| {
                let odd = c.iter().filter(|v| *v & 1 == 1).count() as i32;
                [c.iter().sum(), odd, i32::from(c.contains(&77)), 1]
            })
            .collect();
        assert_eq!(device.download::<i32>(out, 12), expected);
    }
}

#[test]
fn warps_hand_over_through_named_barriers() {
    for device in schedules() {
        let out = device.upload(&[0i32; 256]);
        device.launch("producer_consumer", Launch::new(1, 64), &[Arg::Pointer(out)]);
        let expected: Vec<i32> = (0..256).map(|i| i / 32 * 100 + 31 - i % 32).collect();
        assert_eq!(device.download::<i32>(out, 256), expected);
    }
}

/// Odd lanes of odd blocks end before they write the register that their neighbours ask them for.
const UNWRITTEN: &str = "
.version 8.0
.target sm_90
.address_size 64
.visible .entry unwritten(.param .u64 out) {
    .reg .pred %p<3>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    and.b32 %r3, %r1, %r2;
    and.b32 %r3, %r3, 1;
    setp.ne.u32 %p1, %r3, 0;
    @%p1 bra end;
    mad.lo.u32 %r4, %r2, 100, 7;
    shfl.sync.down.b32 %r5, %r4, 1, 31, -1;
    setp.ne.u32 %p2, %r1, 0;
    @%p2 bra end;
    mul.wide.u32 %rd2, %r2, 4;
    add.u64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r5;
end:
    ret;
}";

#[test]
fn what_a_lane_has_not_written_is_not_what_another_block_left() {
    for threads in [1, 2] {
        let device = Device::with(UNWRITTEN, Options { threads, ..Options::default() });
        let out = device.upload(&[-1i32; 64]);
        device.launch("unwritten", Launch::new(64, 32), &[Arg::Pointer(out)]);
        let found = device.download::<i32>(out, 64);
        assert!((0..64).step_by(2).all(|block| found[block] == 100 * block as i32 + 7), "{found:?}");
        assert!((1..64).step_by(2).all(|block| found[block] == found[1]), "{found:?}");
    }
}

/// Odd and even lanes execute the same instructions at different places, with operands in different registers, and the odd
/// ones as much of a loop that begins with the second vote of the even ones.
const TWO_PLACES: &str = "
.version 8.0
.target sm_90
.address_size 64
.visible .entry two_places(.param .u64 out) {
    .reg .pred %p<8>;
    .reg .b32 %r<32>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mad.wide.u32 %rd2, %r1, 28, %rd1;
    and.b32 %r2, %r1, 1;
    setp.ne.u32 %p1, %r2, 0;
    shr.u32 %r3, %r1, 2;
    setp.lt.u32 %p2, %r1, 8;
    setp.ge.u32 %p3, %r1, 8;
    mov.u32 %r20, 0;
    @%p1 bra odd;
    vote.sync.ballot.b32 %r4, %p2, -1;
    shfl.sync.bfly.b32 %r5|%p4, %r1, 1, 31, -1;
    match.any.sync.b32 %r6, %r3, -1;
    redux.sync.add.s32 %r7, %r1, -1;
    vote.sync.all.pred %p5, %p2, -1;
    selp.u32 %r8, 1, 0, %p5;
    bar.warp.sync -1;
    vote.sync.ballot.b32 %r20, %p2, -1;
    vote.sync.ballot.b32 %r21, %p3, -1;
    bra end;
odd:
    mov.u32 %r9, 0;
    vote.sync.ballot.b32 %r14, !%p3, -1;
    add.u32 %r10, %r1, 100;
    shfl.sync.bfly.b32 %r5, %r10, 1, 31, -1;
    match.any.sync.b32 %r6, %r3, -1;
    redux.sync.add.s32 %r7, %r1, -1;
    vote.sync.all.pred %p6, %p3, -1;
    selp.u32 %r8, 1, 0, %p6;
    bar.warp.sync -1;
    mov.u32 %r4, %r14;
loop:
    setp.ne.u32 %p7, %r9, 0;
    xor.pred %p7, %p7, %p2;
    mov.u32 %r20, %r21;
    vote.sync.ballot.b32 %r21, %p7, -1;
    add.u32 %r9, %r9, 1;
    setp.lt.u32 %p6, %r9, 2;
    @%p6 bra loop;
end:
    st.global.u32 [%rd2], %r4;
    st.global.u32 [%rd2+4], %r5;
    st.global.u32 [%rd2+8], %r6;
    st.global.u32 [%rd2+12], %r7;
    st.global.u32 [%rd2+16], %r8;
    st.global.u32 [%rd2+20], %r20;
    st.global.u32 [%rd2+24], %r21;
    ret;
}";

#[test]
fn lanes_of_one_mask_meet_at_alike_instructions() {
    for seed in [None, Some(7), Some(42)] {
        let device = Device::with(TWO_PLACES, Options { threads: 1, seed, ..Options::default() });
        let out = device.upload(&[-1i32; 7 * 32]);
        device.launch("two_places", Launch::new(1, 32), &[Arg::Pointer(out)]);
        let found = device.download::<i32>(out, 7 * 32);
        for lane in 0..32i32 {
            let neighbour = lane ^ 1;
            let expected =
                [0xFF, neighbour + 100 * (neighbour & 1), 0xF << (lane / 4 * 4), 31 * 32 / 2, 0, 0xFF, !0xFF];
            assert_eq!(found[7 * lane as usize..][..7], expected, "lane {lane}, seed {seed:?}");
        }
    }
}

#[test]
fn lanes_of_one_mask_do_not_meet_at_different_votes() {
    let others =
        TWO_PLACES.replacen("vote.sync.ballot.b32 %r4, %p2, -1;", "vote.sync.any.pred %p4, %p2, -1;", 1);
    let device = Device::new(&others);
    let fault = fault(&device, "two_places", Launch::new(1, 32));
    assert!(matches!(fault.kind, FaultKind::Deadlock(_)), "{fault}");
}

#[test]
fn threads_that_ended_are_not_waited_for() {
    for device in schedules() {
        let out = device.upload(&[0i32; 128]);
        device.launch("early_exit", Launch::new(1, 128), &[Arg::Pointer(out)]);
        assert_eq!(device.download::<i32>(out, 40), [40; 40]);
    }
}

#[test]
fn counts_in_shared_and_global_memory() {
    for device in schedules() {
        let input: Vec<u8> = (0..10_000u32).map(|i| (i * i / 7) as u8).collect();
        let (a, bins) = (device.upload(&input), device.upload(&[0u32; 256]));
        device.launch(
            "histogram",
            Launch::new(4, 128),
            &[Arg::Pointer(a), Arg::Pointer(bins), Arg::Int(10_000)],
        );
        let mut expected = [0; 256];
        input.iter().for_each(|&b| expected[b as usize] += 1);
        assert_eq!(device.download::<u32>(bins, 256), expected);
    }
}

#[test]
fn atomics_of_every_kind() {
    for device in schedules() {
        let i = device.upload(&[0i32, 0, 0, 0, 0, -1]);
        let u = device.upload(&[0u32, 4]);
        let (f, d, l) = (device.upload(&[1f32]), device.upload(&[1f64]), device.upload(&[0u64; 2]));
        let args = [i, u, f, d, l].map(Arg::Pointer);
        device.launch("atomics", Launch::new(4, 64), &args);
        let n = 256;
        let xor = (0..n).fold(0, |x, t| x ^ t);
        assert_eq!(device.download::<i32>(i, 6), [n * (n - 1) / 2, n - 1, 1 - n, xor, -1, !0xffff]);
        assert_eq!(device.download::<u32>(u, 2), [256 % 10, 4 + 10 * 26 - 256]);
        assert_eq!(device.download::<f32>(f, 1), [129.0]);
        assert_eq!(device.download::<f64>(d, 1), [65.0]);
        assert_eq!(device.download::<u64>(l, 2), [256 << 33, 255 << 34]);
    }
}

#[test]
fn clocks_go_on() {
    let device = Device::new(PTX);
    let out = device.upload(&[0i64; 2]);
    device.launch("time_passes", Launch::new(1, 32), &[Arg::Pointer(out)]);
    let found = device.download::<i64>(out, 2);
    assert!(found[0] >= 1000 && found[1] > 0, "{found:?}");
}

fn fault(device: &Device, name: &str, launch: Launch) -> Fault {
    let out = device.upload(&[0i32]);
    match device.try_launch(name, launch, &[Arg::Pointer(out)]) {
        Err(Error::Fault(fault)) => *fault,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_deadlock_is_reported_with_who_waits_where() {
    for device in schedules() {
        let stuck = fault(&device, "deadlock", Launch::new(1, 64));
        let FaultKind::Deadlock(report) = &stuck.kind else { panic!("{stuck}") };
        for part in ["warp 0", "warp 1", "for barrier 1", "for barrier 2", "threads.cu"] {
            assert!(report.contains(part), "{part:?} is not in {report}");
        }
        let stuck = fault(&device, "lost_lane", Launch::new(1, 32));
        let FaultKind::Deadlock(report) = &stuck.kind else { panic!("{stuck}") };
        assert!(report.contains("for lanes 0xffff0000 of the member mask 0xffffffff"), "{report}");
    }
}

#[test]
fn the_watchdog_ends_what_never_ends() {
    let device = Device::with(PTX, Options { threads: 2, watchdog: Some(3_000_000), ..Options::default() });
    let fault = fault(&device, "forever", Launch::new(4, 64));
    assert!(matches!(fault.kind, FaultKind::Timeout { instructions: 3_000_001.., .. }), "{fault}");
    assert_eq!(fault.kind.cuda_code(), 702);
}
