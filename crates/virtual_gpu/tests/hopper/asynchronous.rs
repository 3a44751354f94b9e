//! Asynchronous copies, mbarriers and clusters in kernels written by hand (`asynchronous.ptx`).

use crate::device::{Device, pointers};
use virtual_gpu::{Error, FaultKind, Launch};

const PTX: &str = include_str!("asynchronous.ptx");

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn a_copy_lands_when_it_is_waited_for() {
    let device = Device::new(PTX);
    let values: Vec<u64> = (0..32).map(|i| i * 0x1_0000_0001 + 0x10_0000_0001).collect();
    let input = device.upload(&values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>());
    let out = device.upload(&[0; 1024]);
    device.launch("deferred", Launch::new(1, 32), &pointers(&[input, out])).unwrap();
    let read = device.download(out, 1024);
    let words: Vec<u64> = read.as_chunks().0.iter().map(|&word| u64::from_le_bytes(word)).collect();
    assert_eq!(words[..32], [77; 32]);
    assert_eq!(words[32..64], values);
    assert_eq!(words[64..96], [78; 32]);
    // Four bytes and zeros for even lanes, only zeros for odd ones.
    let halves: Vec<u64> = (0..32).map(|i| if i % 2 == 0 { values[i] & 0xFFFF_FFFF } else { 0 }).collect();
    assert_eq!(words[96..], halves);
}

#[test]
fn a_producer_and_a_consumer_take_turns() {
    let device = Device::new(PTX);
    let values: Vec<u32> = (0..160).map(|i| i * i).collect();
    let (input, out) = (device.upload(&bytes(&values)), device.upload(&[0; 128]));
    device.launch("producer_consumer", Launch::new(1, 64), &pointers(&[input, out])).unwrap();
    let expected: Vec<u32> =
        (0..32).map(|lane| (0..5).map(|round| values[round * 32 + lane]).sum()).collect();
    assert_eq!(device.words(out, 32), expected);
}

#[test]
fn bulk_copies_come_go_and_add() {
    let device = Device::new(PTX);
    let values: Vec<u32> = (100..116).collect();
    let (input, out) = (device.upload(&bytes(&values)), device.upload(&bytes(&[7; 32])));
    device.launch("bulk", Launch::new(1, 16), &pointers(&[input, out])).unwrap();
    let words = device.words(out, 32);
    assert_eq!(words[..16], (101..117).collect::<Vec<_>>());
    assert_eq!(words[16..], (108..124).collect::<Vec<_>>());
}

#[test]
fn blocks_of_a_cluster_reach_each_other() {
    let device = Device::new(PTX);
    let out = device.upload(&[0; 4 * 32 * 6]);
    let launch = Launch { cluster: [2, 1, 1], ..Launch::new(6, 32) };
    device.launch("cluster", launch, &pointers(&[0, out])).unwrap();
    let expected: Vec<u32> = (0..6 * 32).map(|i| (1 - i / 32 % 2) * 1000 + i % 32).collect();
    assert_eq!(device.words(out, 6 * 32), expected);
    // `.reqnctapercluster` implies the cluster.
    let again = device.upload(&[0; 4 * 32 * 6]);
    device.launch("cluster", Launch::new(6, 32), &pointers(&[0, again])).unwrap();
    assert_eq!(device.words(again, 6 * 32), expected);
}

/// The fault of a kernel of 32 threads whose body is `body`, with shared memory `tile` and a barrier `bar`.
fn fault(body: &str) -> FaultKind {
    let ptx = format!(
        ".version 8.0 .target sm_90a .address_size 64
         .visible .entry k(.param .u64 in) {{
            .reg .pred %p; .reg .b32 %r<9>; .reg .b64 %rd<9>;
            .shared .align 128 .b8 tile[256]; .shared .align 8 .b64 bar;
            ld.param.u64 %rd1, [in]; mov.u32 %r1, %tid.x;
            {body}
            ret;
         }}"
    );
    let device = Device::new(&ptx);
    let input = device.upload(&[0; 256]);
    match device.launch("k", Launch::new(1, 32), &pointers(&[input])) {
        Err(Error::Fault(fault)) => fault.kind,
        other => panic!("{other:?}"),
    }
}

#[test]
fn misuse_is_a_fault() {
    let illegal = |body: &str| match fault(body) {
        FaultKind::IllegalInstruction(why) | FaultKind::IllegalSync(why) => why,
        other => panic!("{other}"),
    };
    assert!(illegal("mbarrier.arrive.shared.b64 _, [bar];").contains("never initialised"));
    let once = "setp.eq.u32 %p, %r1, 0; @%p mbarrier.init.shared.b64 [bar], 31; bar.warp.sync -1;";
    assert!(illegal(&format!("{once} mbarrier.arrive.shared.b64 _, [bar], 40;")).contains("waits for 31"));
    assert!(illegal("mov.u32 %r1, 0; mbarrier.init.shared.b64 [bar], %r1;").contains("not 0"));
    let bulk = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes";
    assert!(
        illegal(&format!("{once} mov.u32 %r2, 24; {bulk} [tile], [%rd1], %r2, [bar];"))
            .contains("multiple of 16")
    );
    assert!(matches!(
        fault(&format!("{once} {bulk} [tile+8], [%rd1], 16, [bar];")),
        FaultKind::MisalignedAddress { .. }
    ));
    assert!(matches!(
        fault(&format!("{once} {bulk} [tile], [%rd1], 4096, [bar];")),
        FaultKind::IllegalAddress { .. }
    ));
    assert!(matches!(
        fault("cp.async.ca.shared.global [tile], [%rd1+4096], 4;"),
        FaultKind::IllegalAddress { .. }
    ));
    assert!(matches!(
        fault("cp.async.ca.shared.global [tile+2], [%rd1], 4;"),
        FaultKind::MisalignedAddress { .. }
    ));
    let tensor = "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes";
    assert!(illegal(&format!("{once} {tensor} [tile], [%rd1, {{%r1}}], [bar];")).contains("no tensor map"));
}

#[test]
fn lanes_that_never_come_are_a_deadlock() {
    // Half of the warp waits for a matrix instruction that the other half does not execute while it waits for more.
    let body = "setp.lt.u32 %p, %r1, 16; @%p bra half; bar.sync 1, 64; half:
                ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [tile];";
    assert!(matches!(fault(body), FaultKind::Deadlock(_)));
}

/// Launches one cluster, without a limit on waiting, after one of the two arrivals that the first phase of `bar` takes.
fn waits(body: &str, cluster: u32, threads: u32) -> Result<(), Error> {
    let ptx = format!(
        ".version 8.0 .target sm_90a .address_size 64
         .func wait(.reg .b32 bar)
         {{
            .reg .pred %p;
            again: mbarrier.try_wait.parity.shared::cta.b64 %p, [bar], 0; @!%p bra again;
            ret;
         }}
         .visible .entry k()
         {{
            .reg .pred %p, %q; .reg .b32 %r<9>; .reg .b64 %rd<9>;
            .shared .align 8 .b64 bar;
            mov.u32 %r1, %tid.x; mov.u32 %r2, bar; mov.u32 %r4, %cluster_ctarank; mov.u32 %r5, 0;
            setp.eq.u32 %p, %r1, 0;
            @%p mbarrier.init.shared.b64 [bar], 2;
            barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
            @%p mbarrier.arrive.shared.b64 _, [bar];
            {body}
            ret;
         }}"
    );
    let launch = Launch { cluster: [cluster, 1, 1], ..Launch::new(cluster, threads) };
    Device::new(&ptx).launch("k", launch, &[])
}

#[test]
fn a_phase_that_nothing_completes_is_a_deadlock() {
    let endless = |body: &str| match waits(body, 1, 96) {
        Err(Error::Fault(fault)) => fault.kind.to_string(),
        other => panic!("{other:?}"),
    };
    let plain = "again: mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 0; @!%q bra again;";
    let message = "for a phase of an mbarrier that nothing completes any more";
    assert!(endless(plain).contains(message));
    assert!(endless("call wait, (%r2);").contains(message), "in a function");
    let some = "setp.lt.u32 %p, %r1, 40; @!%p bra meet;";
    let others = format!("{some} {plain} meet: bar.sync 0;");
    assert!(endless(&others).contains(message), "others are at a barrier");
    let diverged = "rem.u32 %r3, %r1, 3; mul.lo.u32 %r3, %r3, 8;
                    setp.eq.u32 %q, %r3, 0; @%q bra one; setp.eq.u32 %q, %r3, 8; @%q bra two; ret;
                    one: mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 0; @!%q bra one; ret;
                    two: mbarrier.test_wait.parity.shared::cta.b64 %q, [bar], 0; @!%q bra two;";
    assert!(endless(diverged).contains(message), "lanes wait in several loops");
}

#[test]
fn a_long_wait_for_a_phase_ends() {
    let counts =
        "again: add.u32 %r5, %r5, 1; mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 0; @%q bra done;
                  setp.lt.u32 %q, %r5, 3000; @%q bra again; done:";
    let by_clock = "mov.u64 %rd1, %clock64;
                    again: mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 0; @%q bra done;
                    mov.u64 %rd2, %clock64; sub.u64 %rd2, %rd2, %rd1; setp.lt.u64 %q, %rd2, 30000; @%q bra again; done:";
    let computes = "setp.ne.u32 %p, %r1, 64; @%p bra wait;
                    more: add.u32 %r5, %r5, 1; setp.lt.u32 %p, %r5, 100000; @%p bra more;
                    mbarrier.arrive.shared.b64 _, [bar];
                    wait: mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 0; @!%q bra wait;";
    let remote = "setp.ne.u32 %p, %r1, 64; @%p bra wait;
                  mul.lo.u32 %r6, %r4, 100000;
                  more: add.u32 %r5, %r5, 1; setp.lt.u32 %p, %r5, %r6; @%p bra more;
                  xor.b32 %r4, %r4, 1; mapa.shared::cluster.u32 %r3, %r2, %r4;
                  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r3];
                  wait: mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 0; @!%q bra wait;
                  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;";
    let polls = "xor.b32 %r6, %r4, 1; mapa.shared::cluster.u32 %r3, %r2, %r6;
                 setp.eq.u32 %p, %r4, 0; @%p bra again;
                 more: add.u32 %r5, %r5, 1; setp.lt.u32 %p, %r5, 30000; @%p bra more;
                 setp.eq.u32 %p, %r1, 0; @%p mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r3];
                 bra done;
                 again: mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 1; @!%q bra done;
                 mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 0; @!%q bra again;
                 done: barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;";
    for (name, body, cluster) in [
        ("polls", polls, 2),
        ("counts", counts, 1),
        ("clock", by_clock, 1),
        ("computes", computes, 1),
        ("remote", remote, 2),
    ] {
        assert!(waits(body, cluster, 96).is_ok(), "{name}: {:?}", waits(body, cluster, 96));
    }
}
