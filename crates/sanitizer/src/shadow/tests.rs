//! The shadow, access by access.

use super::*;
use crate::clock::Clocks;

const READ: Touch = Touch {
    write: false,
    strong: false,
    wide: false,
    system: false,
    volatile: false,
    asynchronous: false,
    copies: false,
    idle: false,
    order_dependent: false,
    non_coherent: false,
};
const WRITE: Touch = Touch { write: true, ..READ };
const ATOMIC: Touch = Touch { write: true, strong: true, wide: true, ..READ };

fn touch(
    shadow: &mut Shadow,
    clocks: &Clocks,
    word: u64,
    thread: u32,
    bytes: u8,
    how: Touch,
) -> Option<(Stamp, Clash)> {
    touch_with(shadow, clocks, word, thread, bytes, how, None)
}

fn touch_with(
    shadow: &mut Shadow,
    clocks: &Clocks,
    word: u64,
    thread: u32,
    bytes: u8,
    how: Touch,
    value: Option<u32>,
) -> Option<(Stamp, Clash)> {
    let lane = thread % 32;
    let stamp = Stamp::new(clocks.block(), clocks.step(thread), thread, thread / 32, (lane, lane), how);
    let asking = Asking { stamp: stamp.of_bytes(bytes), floor: clocks.floor(thread), clocks };
    if how.write { shadow.write(word, &asking, value) } else { shadow.read(word, &asking) }
}

fn meet(clocks: &mut Clocks, threads: impl Iterator<Item = u32> + Clone) {
    let mut meet = clocks.meet();
    threads.clone().for_each(|thread| clocks.arrive(thread, &mut meet));
    let met = meet.over();
    threads.for_each(|thread| clocks.leave(thread, &met));
}

#[test]
fn a_word_takes_no_more_than_fifteen_bytes_a_byte() {
    assert_eq!(size_of::<Word>(), 60);
}

#[test]
fn a_write_races_with_an_unordered_read_and_not_with_an_ordered_one() {
    let (mut clocks, mut shadow) = (Clocks::new(0, 64), Shadow::default());
    assert!(touch(&mut shadow, &clocks, 5, 0, 15, WRITE).is_none());
    assert!(touch(&mut shadow, &clocks, 5, 40, 15, READ).is_some(), "no barrier between");
    meet(&mut clocks, 0..64);
    assert!(touch(&mut shadow, &clocks, 5, 41, 15, READ).is_none());
    assert!(touch(&mut shadow, &clocks, 5, 0, 15, WRITE).is_some(), "write after read, no barrier");
}

#[test]
fn every_reader_is_remembered() {
    let (mut clocks, mut shadow) = (Clocks::new(0, 64), Shadow::default());
    for thread in 0..64 {
        assert!(touch(&mut shadow, &clocks, 0, thread, 15, READ).is_none());
    }
    // Thread 3 meets all but thread 50, then writes.
    meet(&mut clocks, (0..64).filter(|&thread| thread != 50));
    let (earlier, _) = touch(&mut shadow, &clocks, 0, 3, 15, WRITE).expect("thread 50 read it");
    assert_eq!((earlier.warp(), earlier.first()), (1, 18));
}

#[test]
fn readers_of_many_warps_are_remembered() {
    let (mut clocks, mut shadow) = (Clocks::new(0, 256), Shadow::default());
    for warp in 0..8 {
        let stamp = Stamp::new(0, clocks.step(warp * 32), 7, warp, (4, 4), READ).of_bytes(15);
        let asking = Asking { stamp, floor: 0, clocks: &clocks };
        assert!(shadow.read(0, &asking).is_none());
    }
    assert!(shadow.more.is_empty(), "one stamp stands for them all");
    // All but one of the readers meet the writer.
    meet(&mut clocks, (0..256).filter(|&thread| thread != 5 * 32 + 4));
    let (earlier, _) = touch(&mut shadow, &clocks, 0, 3, 15, WRITE).expect("a thread of warp 5 read it");
    assert_eq!((earlier.warp(), earlier.first()), (5, 4));
    meet(&mut clocks, 0..256);
    assert!(touch(&mut shadow, &clocks, 0, 3, 15, WRITE).is_none());
}

#[test]
fn an_atomic_does_not_cover_a_store_before_it() {
    let (clocks, mut shadow) = (Clocks::new(0, 64), Shadow::default());
    assert!(touch(&mut shadow, &clocks, 1, 0, 15, WRITE).is_none());
    assert!(touch(&mut shadow, &clocks, 1, 0, 15, ATOMIC).is_none());
    assert!(touch(&mut shadow, &clocks, 1, 40, 15, ATOMIC).is_some(), "races with the store");
}

#[test]
fn bytes_of_a_word_are_apart() {
    let (clocks, mut shadow) = (Clocks::new(0, 4), Shadow::default());
    for thread in 0..4 {
        assert!(touch(&mut shadow, &clocks, 9, thread, 1 << thread, WRITE).is_none());
    }
    assert!(touch(&mut shadow, &clocks, 9, 3, 2, READ).is_some());
    assert!(touch(&mut shadow, &clocks, 9, 3, 8, READ).is_none());
}

#[test]
fn atomics_meet_each_other_but_no_plain_write() {
    let (clocks, mut shadow) = (Clocks::new(0, 4), Shadow::default());
    assert!(touch(&mut shadow, &clocks, 1, 0, 15, ATOMIC).is_none());
    assert!(touch(&mut shadow, &clocks, 1, 1, 15, ATOMIC).is_none());
    assert!(touch(&mut shadow, &clocks, 1, 2, 15, WRITE).is_some());
}

#[test]
fn a_block_scope_atomic_does_not_order_with_another_blocks() {
    let (mut shadow, narrow) = (Shadow::default(), Touch { wide: false, ..ATOMIC });
    assert!(touch(&mut shadow, &Clocks::new(3, 4), 1, 0, 15, narrow).is_none());
    assert!(touch(&mut shadow, &Clocks::new(0, 4), 1, 1, 15, narrow).is_some());
}

#[test]
fn writes_of_equal_values_are_told_apart() {
    let (clocks, mut shadow) = (Clocks::new(0, 4), Shadow::default());
    assert!(touch_with(&mut shadow, &clocks, 1, 0, 15, WRITE, Some(7)).is_none());
    let equal = touch_with(&mut shadow, &clocks, 1, 1, 15, WRITE, Some(7)).unwrap();
    assert_eq!(equal.1, Clash::Equal);
    let other = touch_with(&mut shadow, &clocks, 1, 2, 15, WRITE, Some(8)).unwrap();
    assert_eq!(other.1, Clash::Unordered);
}

#[test]
fn an_asynchronous_copy_races_until_it_has_landed() {
    let (clocks, mut shadow) = (Clocks::new(0, 4), Shadow::default());
    let copy = Touch { asynchronous: true, ..WRITE };
    assert!(touch(&mut shadow, &clocks, 2, 0, 15, copy).is_none());
    assert!(touch(&mut shadow, &clocks, 2, 0, 15, READ).is_some(), "even for the thread itself");
    shadow.land(2, &Stamp::new(0, clocks.step(0), 0, 0, (0, 0), WRITE));
    assert!(touch(&mut shadow, &clocks, 2, 0, 15, READ).is_none());
}
