//! Operations that do the same to every lane: from a function of scalars to a closure over a frame's rows.
//!
//! `map1` to `map3` compute all 32 lanes, wanted or not, in a form that the compiler turns into vector instructions, and
//! keep those of the mask; on x86 they are compiled for AVX2 and FMA, and what has neither goes lane by lane: a second copy
//! in vectors was a fifth of this crate. `each1` to `each3` always go so, for functions that take long. The functions must
//! be total: they see what inactive lanes hold.

use super::Evaluate;
use crate::form::registers::{Lane, Regs, Slot, lanes_of};

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("bmi2")
}

/// Makes `$name`, which boxes the closure `$body`. On x86 that is compiled for AVX2, and `$each` is for processors without.
macro_rules! versions {
    ($(#[$doc:meta])* $name:ident <$($g:ident),*> ($($arg:ident),*) $f:ident: $bound:path, |$r:ident, $mask:ident| $body:block
        else $each:expr) => {
        $(#[$doc])*
        pub(crate) fn $name<$($g: Lane + 'static),*>(
            $($arg: Slot,)*
            $f: impl $bound + Copy + Send + Sync + 'static,
        ) -> Evaluate {
            #[inline(always)]
            fn run<$($g: Lane),*>($r: Regs, $mask: u32, $($arg: Slot,)* $f: impl $bound) $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
            fn run_avx2<$($g: Lane),*>($r: Regs, $mask: u32, $($arg: Slot,)* $f: impl $bound) {
                run::<$($g),*>($r, $mask, $($arg,)* $f)
            }

            #[cfg(target_arch = "x86_64")]
            if has_avx2() {
                // SAFETY: the processor has the features that `run_avx2` is compiled for.
                Box::new(move |$r, $mask| unsafe { run_avx2::<$($g),*>($r, $mask, $($arg,)* $f) })
            } else {
                $each
            }
            #[cfg(not(target_arch = "x86_64"))]
            Box::new(move |$r, $mask| run::<$($g),*>($r, $mask, $($arg,)* $f))
        }
    };
}

// SAFETY of the blocks below: decoding gave each slot a register of the frame's function, of the width that the types
// of the operation have (`Decoder::source` and `Decoder::target` check it).

versions! {
    map1<A, D>(d, a) f: Fn(A) -> D, |r, mask| {
        let mut out = [D::Store::default(); 32];
        // SAFETY: see above.
        unsafe {
            let a = &*r.lanes::<A::Store>(a);
            for i in 0..32 {
                out[i] = f(A::get(a[i])).put();
            }
            r.store(d, &out, mask);
        }
    } else each1(d, a, f)
}

versions! {
    map2<A, B, D>(d, a, b) f: Fn(A, B) -> D, |r, mask| {
        let mut out = [D::Store::default(); 32];
        // SAFETY: see above.
        unsafe {
            let (a, b) = (&*r.lanes::<A::Store>(a), &*r.lanes::<B::Store>(b));
            for i in 0..32 {
                out[i] = f(A::get(a[i]), B::get(b[i])).put();
            }
            r.store(d, &out, mask);
        }
    } else each2(d, a, b, f)
}

versions! {
    map3<A, B, C, D>(d, a, b, c) f: Fn(A, B, C) -> D, |r, mask| {
        let mut out = [D::Store::default(); 32];
        // SAFETY: see above.
        unsafe {
            let (a, b, c) = (&*r.lanes::<A::Store>(a), &*r.lanes::<B::Store>(b), &*r.lanes::<C::Store>(c));
            for i in 0..32 {
                out[i] = f(A::get(a[i]), B::get(b[i]), C::get(c[i])).put();
            }
            r.store(d, &out, mask);
        }
    } else each3(d, a, b, c, f)
}

versions! {
    /// Predicate `d = f(a, b)`
    test2<A, B>(d, a, b) f: Fn(A, B) -> bool, |r, mask| {
        // SAFETY: see above.
        unsafe {
            let (a, b) = (&*r.lanes::<A::Store>(a), &*r.lanes::<B::Store>(b));
            let mut bytes = [0u8; 32];
            for i in 0..32 {
                bytes[i] = u8::from(f(A::get(a[i]), B::get(b[i])));
            }
            r.set_predicate(d, pack(&bytes), mask);
        }
    } else Box::new(move |r, mask| {
        // SAFETY: see above.
        unsafe {
            let bits = lanes_of(mask).filter(|&i| f(r.get(a, i), r.get(b, i))).fold(0, |bits, i| bits | 1 << i);
            r.set_predicate(d, bits, mask);
        }
    })
}

versions! {
    select<A>(d, a, b, p) f: Fn(A) -> A, |r, mask| {
        let mut out = [A::Store::default(); 32];
        // SAFETY: see above.
        unsafe {
            let (a, b, p) = (&*r.lanes::<A::Store>(a), &*r.lanes::<A::Store>(b), r.predicate(p));
            for i in 0..32 {
                out[i] = f(A::get(if p >> i & 1 != 0 { a[i] } else { b[i] })).put();
            }
            r.store(d, &out, mask);
        }
    } else Box::new(move |r, mask| {
        // SAFETY: see above.
        unsafe {
            let p = r.predicate(p);
            for i in lanes_of(mask) {
                r.set(d, i, f(r.get(if p >> i & 1 != 0 { a } else { b }, i)));
            }
        }
    })
}

/// One bit for each byte, which is 0 or 1.
#[inline(always)]
fn pack(bytes: &[u8; 32]) -> u32 {
    // A multiplication gathers the low bits of eight bytes in the top byte.
    let mut mask = 0;
    for (i, eight) in bytes.as_chunks::<8>().0.iter().enumerate() {
        let bits = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        mask |= (bits as u32) << (8 * i);
    }
    mask
}

/// `d = f(a)`, lane by lane.
pub(crate) fn each1<A: Lane, D: Lane>(
    d: Slot,
    a: Slot,
    f: impl Fn(A) -> D + Send + Sync + 'static,
) -> Evaluate {
    Box::new(move |r, mask| {
        for i in lanes_of(mask) {
            // SAFETY: see above.
            unsafe { r.set(d, i, f(r.get(a, i))) }
        }
    })
}

/// `d = f(a, b)`, lane by lane.
pub(crate) fn each2<A: Lane, B: Lane, D: Lane>(
    d: Slot,
    a: Slot,
    b: Slot,
    f: impl Fn(A, B) -> D + Send + Sync + 'static,
) -> Evaluate {
    Box::new(move |r, mask| {
        for i in lanes_of(mask) {
            // SAFETY: see above.
            unsafe { r.set(d, i, f(r.get(a, i), r.get(b, i))) }
        }
    })
}

/// `d = f(a, b, c)`, lane by lane.
pub(crate) fn each3<A: Lane, B: Lane, C: Lane, D: Lane>(
    d: Slot,
    a: Slot,
    b: Slot,
    c: Slot,
    f: impl Fn(A, B, C) -> D + Send + Sync + 'static,
) -> Evaluate {
    Box::new(move |r, mask| {
        for i in lanes_of(mask) {
            // SAFETY: see above.
            unsafe { r.set(d, i, f(r.get(a, i), r.get(b, i), r.get(c, i))) }
        }
    })
}

/// `d = f(a, b, c, e)`, lane by lane.
pub(crate) fn each4<A: Lane, B: Lane, C: Lane, E: Lane, D: Lane>(
    d: Slot,
    [a, b, c, e]: [Slot; 4],
    f: impl Fn(A, B, C, E) -> D + Send + Sync + 'static,
) -> Evaluate {
    Box::new(move |r, mask| {
        for i in lanes_of(mask) {
            // SAFETY: see above.
            unsafe { r.set(d, i, f(r.get(a, i), r.get(b, i), r.get(c, i), r.get(e, i))) }
        }
    })
}

/// `d = f(a, c)` of several values `a`, lane by lane.
pub(crate) fn each_of<A: Lane, C: Lane, D: Lane, const N: usize>(
    d: Slot,
    a: [Slot; N],
    c: Slot,
    f: impl Fn([A; N], C) -> D + Send + Sync + 'static,
) -> Evaluate {
    Box::new(move |r, mask| {
        for i in lanes_of(mask) {
            // SAFETY: see above.
            unsafe { r.set(d, i, f(a.map(|a| r.get(a, i)), r.get(c, i))) }
        }
    })
}

/// Predicate `d = f(a)`, lane by lane.
pub(crate) fn test1<A: Lane>(d: Slot, a: Slot, f: impl Fn(A) -> bool + Send + Sync + 'static) -> Evaluate {
    Box::new(move |r, mask| {
        let bits = lanes_of(mask)
            // SAFETY: see above.
            .filter(|&i| f(unsafe { r.get(a, i) }))
            .fold(0, |bits, i| bits | 1 << i);
        // SAFETY: see above.
        unsafe { r.set_predicate(d, bits, mask) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::form::registers::Row;

    #[test]
    fn only_the_lanes_of_the_mask_change() {
        let mut rows = [Row::ZERO; 3];
        rows[0] = Row(std::array::from_fn(|i| i as u32));
        rows[1] = Row([10; 32]);
        // SAFETY: three rows, slots 0 to 2.
        let regs = unsafe { Regs::new(rows.as_mut_ptr()) };
        map2::<u32, u32, u32>(2, 0, 1, |a, b| a + b)(regs, 0x8000_0005);
        for (i, &value) in rows[2].0.iter().enumerate() {
            assert_eq!(value, if [0, 2, 31].contains(&i) { i as u32 + 10 } else { 0 });
        }
    }

    #[test]
    fn tests_pack_into_a_mask() {
        let mut rows = [Row::ZERO; 3];
        rows[0] = Row(std::array::from_fn(|i| (i as u32 * 7) % 32));
        rows[1] = Row([13; 32]);
        rows[2].0[0] = 0xffff_0000;
        // SAFETY: three rows, slots 0 to 2.
        let regs = unsafe { Regs::new(rows.as_mut_ptr()) };
        test2::<u32, u32>(2, 0, 1, |a, b| a < b)(regs, 0x00ff_ffff);
        let expected = (0..24).filter(|i| (i * 7) % 32 < 13).fold(0xff00_0000u32, |m, i| m | 1 << i);
        assert_eq!(rows[2].0[0], expected);
    }
}
