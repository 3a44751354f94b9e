//! Accesses of 16 bytes by each of all lanes, lane by lane: a vector of a lane takes a processor about as long as one element
//! of a gather.
//!
//! Lanes are taken in groups whose elements fill a vector of 512 bits. A group of as many lanes as there are elements, squared,
//! is that many *lines*: the 128 bits of line `j` are those of each group's lane `j`. Elements become lines, and lines elements, by
//! the same exchanges of neighbours within 128 bits.

use super::Scattered;
use crate::values::WORDS;

/// 128 bits in a vector.
const PARTS: u32 = 4;

/// Goes on to `some` if lanes are missing.
pub fn load(scattered: &Scattered, line: &mut impl FnMut(String)) {
    let (n, (ty, one)) = (scattered.elements, scattered.memory());
    begin(line);
    let part = format!("<{n} x {one}>");
    for lane in 0..32 {
        line(format!("  %part{lane} = load {part}, ptr %lane{lane}, align {}", scattered.width));
    }
    let groups = 32 / (PARTS * n);
    for group in 0..groups {
        let mut lines = Vec::new();
        for j in 0..n {
            let lane = |q: u32| format!("%part{}", PARTS * n * group + q * n + j);
            let low = joined(line, (n, one), (&lane(0), &lane(1)), &format!("%low{group}_{j}"));
            let high = joined(line, (n, one), (&lane(2), &lane(3)), &format!("%high{group}_{j}"));
            lines.push(joined(line, (2 * n, one), (&low, &high), &format!("%line{group}_{j}")));
        }
        exchange(line, (n, one), lines, |e| format!("%of{group}_{e}"));
    }
    for e in 0..n {
        let mut whole = (0..groups).map(|group| format!("%of{group}_{e}")).collect::<Vec<_>>();
        let mut lanes = PARTS * n;
        while whole.len() > 1 {
            let pairs = whole.chunks(2).enumerate();
            let name = |i: usize| format!("%of{e}_{lanes}_{i}");
            whole = pairs.map(|(i, two)| joined(line, (lanes, one), (&two[0], &two[1]), &name(i))).collect();
            lanes *= 2;
        }
        line(format!("  %to{e} = getelementptr {ty}, ptr %several, i32 {e}"));
        line(format!("  store {ty} {}, ptr %to{e}", whole[0]));
    }
    line(format!("  ret {} {{ i1 true }}", scattered.result()));
    line("some:".into());
}

/// The same.
pub fn store(scattered: &Scattered, line: &mut impl FnMut(String)) {
    let (n, (ty, one)) = (scattered.elements, scattered.memory());
    begin(line);
    let (group, whole) = (PARTS * n, scattered.result());
    for first in (0..32).step_by(group as usize) {
        let mut elements = Vec::new();
        for e in 0..n {
            let name = format!("%of{first}_{e}");
            line(format!(
                "  {name} = shufflevector {ty} %operand{e}, {ty} poison, {}",
                numbers(first..first + group)
            ));
            elements.push(name);
        }
        exchange(line, (n, one), elements, |j| format!("%line{first}_{j}"));
        for lane in 0..group {
            let (q, j) = (lane / n, lane % n);
            let (lane, from) = (first + lane, format!("<{group} x {one}>"));
            let part = numbers(n * q..n * (q + 1));
            line(format!("  %part{lane} = shufflevector {from} %line{first}_{j}, {from} poison, {part}"));
            // Of several lanes at one place the last one's value stays.
            line(format!("  store <{n} x {one}> %part{lane}, ptr %lane{lane}, align {}", scattered.width));
        }
    }
    line(format!("  ret {whole} {{ i1 true }}"));
    line("some:".into());
}

/// Where each lane goes.
fn begin(line: &mut impl FnMut(String)) {
    line("  %all = icmp eq i32 %mask, -1".into());
    line("  br i1 %all, label %each, label %some".into());
    line("each:".into());
    // A processor loads a word faster than it takes one out of a vector, which LLVM would have it do.
    line(format!("  store volatile {WORDS} %index, ptr %at"));
    for lane in 0..32 {
        line(format!("  %at{lane} = getelementptr i32, ptr %at, i32 {lane}"));
        line(format!("  %offset{lane} = load volatile i32, ptr %at{lane}"));
        line(format!("  %lane{lane} = getelementptr i8, ptr %host, i32 %offset{lane}"));
    }
}

/// Two vectors one behind the other.
fn joined(
    line: &mut impl FnMut(String),
    (lanes, one): (u32, &str),
    (first, second): (&str, &str),
    name: &str,
) -> String {
    let ty = format!("<{lanes} x {one}>");
    line(format!("  {name} = shufflevector {ty} {first}, {ty} {second}, {}", numbers(0..2 * lanes)));
    name.to_owned()
}

/// Of `n` vectors: what is element `b` of each 128 bits of vector `a` becomes element `a` of vector `b`.
fn exchange(
    line: &mut impl FnMut(String),
    (n, one): (u32, &str),
    mut vectors: Vec<String>,
    name: impl Fn(u32) -> String,
) {
    let lanes = PARTS * n;
    let ty = format!("<{lanes} x {one}>");
    let mut distance = n / 2;
    while distance > 0 {
        let mut next = vectors.clone();
        for a in (0..n).filter(|a| a & distance == 0) {
            let b = a + distance;
            for (to, upper) in [(a, 0), (b, distance)] {
                // The half of one, and beside it that of the other.
                let from = |lane: u32| match lane & distance {
                    0 => (lane & !distance) + upper,
                    _ => lanes + (lane & !distance) + upper,
                };
                let from: Vec<u32> = (0..lanes).map(from).collect();
                let result = if distance == 1 { name(to) } else { format!("{}_{distance}", name(to)) };
                line(format!(
                    "  {result} = shufflevector {ty} {}, {ty} {}, {}",
                    vectors[a as usize],
                    vectors[b as usize],
                    numbers(from)
                ));
                next[to as usize] = result;
            }
        }
        vectors = next;
        distance /= 2;
    }
}

fn numbers(lanes: impl IntoIterator<Item = u32>) -> String {
    let lanes: Vec<String> = lanes.into_iter().map(|lane| format!("i32 {lane}")).collect();
    format!("<{} x i32> <{}>", lanes.len(), lanes.join(", "))
}
