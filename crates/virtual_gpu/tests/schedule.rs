//! A seed changes the schedule, and the same seed gives the same one.

mod harness;

use harness::{Arg, Device};
use virtual_gpu::{Launch, Options};

/// Each warp draws a number and stores its own at that index: the result is the order in which the warps came.
const TICKETS: &str = "
.version 8.0
.target sm_75
.address_size 64
.visible .entry tickets(.param .u64 counter, .param .u64 out)
{
    .reg .b64 %rd<4>;
    .reg .b32 %r<6>;
    .reg .pred %p;
    ld.param.u64 %rd1, [counter];
    ld.param.u64 %rd2, [out];
    mov.u32 %r1, %laneid;
    setp.ne.u32 %p, %r1, 0;
    @%p exit;
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r2, 256, %r3;
    atom.global.add.u32 %r5, [%rd1], 1;
    mul.wide.u32 %rd3, %r5, 4;
    add.u64 %rd2, %rd2, %rd3;
    st.global.u32 [%rd2], %r4;
    ret;
}";

fn order(seed: Option<u64>) -> Vec<u32> {
    let device = Device::with(TICKETS, Options { threads: 1, seed, ..Options::default() });
    let (counter, out) = (device.upload(&[0u32]), device.upload(&[0u32; 32]));
    device.launch("tickets", Launch::new(4, 256), &[Arg::Pointer(counter), Arg::Pointer(out)]);
    device.download(out, 32)
}

#[test]
fn without_a_seed_warps_and_blocks_come_in_their_order() {
    let expected: Vec<u32> = (0..32).map(|i| i / 8 * 256 + i % 8 * 32).collect();
    assert_eq!(order(None), expected);
}

#[test]
fn a_seed_changes_the_order_and_repeats_it() {
    let plain = order(None);
    let seeded: Vec<_> = (1..6).map(|seed| order(Some(seed))).collect();
    assert!(seeded.iter().any(|o| *o != plain));
    for (seed, found) in (1..6).zip(&seeded) {
        assert_eq!(order(Some(seed)), *found);
        let mut sorted = found.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, plain, "every warp came once");
    }
}
