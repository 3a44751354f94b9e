//! Coalescing: how many 32-byte sectors answer a warp's request.

use bytemuck::AnyBitPattern;
use cust::memory::{AsyncCopyDestination, DeviceBuffer, DeviceCopy};
use kernels_gpu::base::coalescing::{
    BLOCK, PaddedPoint, Pair, Point, Quad, copy_4_bytes, copy_8_bytes, copy_16_bytes, copy_scattered,
    copy_shifted, copy_some_lanes, copy_strided, stretch_arrays, stretch_in_place, stretch_padded_structs,
    stretch_staged_in_place, stretch_staged_structs, stretch_structs,
};

use warpsmith_kernels::structs::{to_arrays_async, to_structs_async};
use warpsmith_launch::{ErrorContext, Shape};

use super::demo::Demo;
use super::row::{self, Row, Workload};
use super::stage::Stage;
use super::target::{Fill, Target};
use crate::data::Random;
use crate::error::Error;
use crate::modules::LEVELS;
use crate::size::Size;
use crate::verify::exact;

/// The largest misalignment and stride shown.
const FURTHEST: usize = 32;
/// By how much structs are stretched: exact in f32.
const BY: f32 = 2.0;

pub struct CoalescingDemo;

impl Demo for CoalescingDemo {
    fn name(&self) -> &'static str {
        "coalescing"
    }

    fn title(&self) -> &'static str {
        "Global memory: 32-byte sectors"
    }

    fn measured_at(&self) -> usize {
        1 << 14
    }

    fn run(&self, stage: &Stage) -> Result<Vec<Row>, Error> {
        let n = stage.one_extent(1 << 14, 1 << 24, "a copy has one extent, for example 100000")?;
        // The longest source is read with the largest stride.
        stage.admit(Size::One(n), (n as u64).checked_mul(4 * (FURTHEST as u64 + 2)))?;
        let mut rows = copies(stage, n)?;
        rows.extend(widths(stage, n)?);
        rows.extend(structs(stage, n)?);
        rows.extend(conversions(stage, n)?);
        Ok(rows)
    }

    fn text(&self, rows: &[Row]) -> String {
        let of = |kernel: &str| rows.iter().filter(|row| row.kernel == kernel).cloned().collect::<Vec<_>>();
        let (shifted, strided) = (of("copy_shifted"), of("copy_strided"));
        let (left, right) = (grid("by", &shifted), grid("stride", &strided));
        let lines = |side: &[[String; 3]]| side.iter().map(|line| line.to_vec()).collect::<Vec<_>>();
        let read = "a warp's read, used";
        let headers: [&[&str]; 2] = [&["copy_shifted", "result", read], &["copy_strided", "result", read]];
        let mut out = crate::terminal::side_by_side(headers, [&lines(&left), &lines(&right)]);
        out.push('\n');
        let sentence = "A warp reads 32 × 4 bytes: 4 sectors if they are contiguous and begin at a multiple of 32 bytes.";
        out.push_str(&crate::terminal::wrapped("", sentence));
        for (kernel, word, rows) in [("copy_shifted", "by", &shifted), ("copy_strided", "stride", &strided)] {
            for (rows, shows) in row::shown_by(rows) {
                let cases: Vec<u32> = rows.into_iter().map(case).collect();
                let first = format!("  {kernel} ({word} {}): ", ranges(&cases));
                out.push_str(&crate::terminal::wrapped(&first, shows));
            }
        }
        out.push_str(&row::wrong(&[shifted, strided].concat()));
        let others = rows.iter().filter(|row| row.kernel != "copy_shifted" && row.kernel != "copy_strided");
        let (copies, structs): (Vec<Row>, Vec<Row>) =
            others.cloned().partition(|row| row.kernel.starts_with("copy"));
        for (title, rows) in [("Lanes and widths", copies), ("Structs of 12 and 16 bytes", structs)] {
            let heading = crate::terminal::wrapped("", &crate::terminal::heading(title));
            out.push_str(&format!("\n{heading}{}", row::text(&rows)));
        }
        out
    }
}

/// One launch that writes `expected.len()` elements, checked and timed.
fn moved<T: DeviceCopy + AnyBitPattern + Default + PartialEq + std::fmt::Debug + Sync, E>(
    stage: &Stage,
    row: Row,
    expected: &[T],
    bytes: usize,
    launch: impl Fn(&mut DeviceBuffer<T>) -> Result<(), E>,
) -> Result<Row, Error>
where
    Error: From<E>,
{
    if !stage.wants(&row.kernel) {
        return Ok(row);
    }
    let mut to = stage.target("the target", expected.len(), Fill::Zeros)?;
    moved_into(stage, row, &mut to, expected, bytes, launch)
}

/// The same into a target that other rows have used.
fn moved_into<T: DeviceCopy + AnyBitPattern + Default + PartialEq + std::fmt::Debug + Sync, E>(
    stage: &Stage,
    row: Row,
    to: &mut Target<'_, T>,
    expected: &[T],
    bytes: usize,
    launch: impl Fn(&mut DeviceBuffer<T>) -> Result<(), E>,
) -> Result<Row, Error>
where
    Error: From<E>,
{
    if !stage.wants(&row.kernel) {
        return Ok(row);
    }
    to.wipe()?;
    let counters = stage.once(&row.kernel, || launch(to.buffer()))?;
    let time = stage.time(|| launch(to.buffer()))?;
    let verdict = exact(to.read()?, expected);
    Ok(row.checked(verdict).counted(counters).timed(time, Workload { flops: 0.0, bytes: bytes as f64 }))
}

/// `len` elements on the device: the numbers, again and again.
fn repeated(stage: &Stage, numbers: &[f32], len: usize) -> Result<DeviceBuffer<f32>, Error> {
    let once = stage.upload("the source", numbers)?;
    // SAFETY: all of it is written below.
    let all = unsafe { DeviceBuffer::uninitialized(len) }.context("allocate the source")?;
    for start in (0..len).step_by(numbers.len()) {
        let count = numbers.len().min(len - start);
        let (mut to, from) = (all.index(start..start + count), once.index(..count));
        // SAFETY: both buffers live until the copies are waited for.
        unsafe { to.async_copy_from(&from, stage.device.stream().cust()) }.context("repeat the source")?;
    }
    stage.device.synchronize()?;
    Ok(all)
}

fn row(stage: &Stage, kernel: &str, case: impl Into<String>, n: usize) -> Row {
    Row::new("coalescing", kernel, case, n, stage.device.kind())
}

/// Reads in different patterns, writes contiguously.
#[expect(clippy::undocumented_unsafe_blocks, reason = "one argument, above the first launch, holds for all")]
fn copies(stage: &Stage, n: usize) -> Result<Vec<Row>, Error> {
    let device = stage.device;
    // The longest stride reads far: the source is the same numbers over and over, so that the host need not make, keep and
    // send gigabytes. Their count is odd: no stride comes back to a number before it has met most of the others.
    let numbers = Random::new(3).units((n + FURTHEST) | 1);
    let from = repeated(stage, &numbers, n * FURTHEST + FURTHEST)?;
    let shape = Shape::line(n, BLOCK);
    let count = n as u32;
    let mut to = stage.target("the target", n, Fill::Zeros)?;
    let mut rows = Vec::new();

    // SAFETY (all launches of this function): `from` holds n × 32 + 32 elements, the target n, and an order of n
    // elements names only the first n.
    for shift in 0..=FURTHEST {
        let launch = |to: &mut DeviceBuffer<f32>| unsafe {
            device.kernel::<copy_shifted>(&LEVELS)?.launch(shape, (count, shift as u32, &from, to))
        };
        let row = row(stage, "copy_shifted", format!("by {shift}"), n);
        let shows = match shift {
            0 => "aligned: 4 sectors for a warp's 128 bytes; the yardstick",
            _ if shift % 8 == 0 => "8 elements are a sector: aligned again",
            _ => "off the sectors' starts: a warp touches 5 sectors, 80 % used",
        };
        let row = moved_into(stage, row, &mut to, &numbers[shift..shift + n], 8 * n, launch)?;
        rows.push(row.shows(shows));
    }
    for stride in 1..=FURTHEST {
        let launch = |to: &mut DeviceBuffer<f32>| unsafe {
            device.kernel::<copy_strided>(&LEVELS)?.launch(shape, (count, stride as u32, &from, to))
        };
        let row = row(stage, "copy_strided", format!("stride {stride}"), n);
        let expected: Vec<f32> = match stage.wants(&row.kernel) {
            true => (0..n).map(|i| numbers[i * stride % numbers.len()]).collect(),
            false => Vec::new(),
        };
        let shows = match stride {
            1 => "contiguous: 4 sectors, all used",
            2 => "every other element: 8 sectors, half of each used",
            3..8 => "each step further costs 4 sectors more, and less of each is used",
            _ => {
                "a sector for each lane, 4 of 32 bytes used: no more sectors beyond, but ever further apart in memory"
            }
        };
        rows.push(moved_into(stage, row, &mut to, &expected, 8 * n, launch)?.shows(shows));
    }
    let order = Random::new(4).permutation(count);
    let on_device = stage.upload("the order", &order)?;
    let expected: Vec<f32> = order.iter().map(|&i| numbers[i as usize]).collect();
    let scattered = moved(stage, row(stage, "copy_scattered", "", n), &expected, 12 * n, |to| unsafe {
        device.kernel::<copy_scattered>(&LEVELS)?.launch(shape, (count, &on_device, &from, to))
    })?;
    rows.push(scattered.shows("a random order: nearly a sector for each lane"));
    for (lanes, case) in [(0xffff_fffe_u32, "one lane left out"), (0x5555_5555, "every other lane left out")]
    {
        let expected: Vec<f32> =
            (0..n).map(|i| if lanes >> (i % 32) & 1 == 1 { numbers[i] } else { 0.0 }).collect();
        let some = moved(stage, row(stage, "copy_some_lanes", case, n), &expected, 8 * n, |to| unsafe {
            device.kernel::<copy_some_lanes>(&LEVELS)?.launch(shape, (count, lanes, &from, to))
        })?;
        rows.push(some.shows("lanes left out cost no sector, and save none that a neighbour needs"));
    }
    row::against_first(&mut rows);
    Ok(rows)
}

/// 4, 8 and 16 bytes a lane, the same bytes in all.
#[expect(clippy::undocumented_unsafe_blocks, reason = "one argument, above the first launch, holds for all")]
fn widths(stage: &Stage, n: usize) -> Result<Vec<Row>, Error> {
    let device = stage.device;
    let numbers = Random::new(5).units(n.next_multiple_of(4));
    let len = numbers.len();
    let pairs: Vec<Pair> = numbers.chunks_exact(2).map(|c| Pair([c[0], c[1]])).collect();
    let quads: Vec<Quad> = numbers.chunks_exact(4).map(|c| Quad([c[0], c[1], c[2], c[3]])).collect();
    let (by_4, by_8, by_16) = (
        stage.upload("the source", &numbers)?,
        stage.upload("the source", &pairs)?,
        stage.upload("the source", &quads)?,
    );
    let row = |kernel, bytes| row(stage, kernel, format!("{bytes} bytes a lane"), len);
    // SAFETY (all three): source and target hold as many elements as the kernel is told.
    let mut rows = vec![
        moved(stage, row("copy_4_bytes", 4), &numbers, 8 * len, |to| unsafe {
            device.kernel::<copy_4_bytes>(&LEVELS)?.launch(Shape::line(len, BLOCK), (len as u32, &by_4, to))
        })?
        .shows("4 sectors a request"),
        moved(stage, row("copy_8_bytes", 8), &pairs, 8 * len, |to| unsafe {
            device
                .kernel::<copy_8_bytes>(&LEVELS)?
                .launch(Shape::line(len / 2, BLOCK), (len as u32 / 2, &by_8, to))
        })?
        .shows("8 sectors a request, half as many requests: the same sectors"),
        moved(stage, row("copy_16_bytes", 16), &quads, 8 * len, |to| unsafe {
            device
                .kernel::<copy_16_bytes>(&LEVELS)?
                .launch(Shape::line(len / 4, BLOCK), (len as u32 / 4, &by_16, to))
        })?
        .shows("16 sectors a request; wider was slower on capability 1.x only"),
    ];
    row::against_first(&mut rows);
    Ok(rows)
}

/// 12-byte structs, and the remedies.
#[expect(clippy::undocumented_unsafe_blocks, reason = "one argument, above the first launch, holds for all")]
fn structs(stage: &Stage, n: usize) -> Result<Vec<Row>, Error> {
    let device = stage.device;
    let numbers = Random::new(6).units(3 * n);
    let points: Vec<Point> = numbers.chunks_exact(3).map(|c| Point { x: c[0], y: c[1], z: c[2] }).collect();
    let padded: Vec<PaddedPoint> = points.iter().map(|&point| PaddedPoint { point, pad: 0.5 }).collect();
    let arrays: Vec<f32> = (0..3 * n).map(|i| numbers[3 * (i % n) + i / n]).collect();

    let stretched: Vec<Point> =
        points.iter().map(|p| Point { x: p.x * 2.0, y: p.y * 3.0, z: p.z * 4.0 }).collect();
    let stretched_padded: Vec<PaddedPoint> =
        stretched.iter().map(|&point| PaddedPoint { point, pad: 0.5 }).collect();
    let stretched_arrays: Vec<f32> =
        arrays.iter().enumerate().map(|(i, &x)| x * [2.0, 3.0, 4.0][i / n]).collect();

    let from = stage.upload("the points", &points)?;
    let from_padded = stage.upload("the padded points", &padded)?;
    let from_arrays = stage.upload("the arrays", &arrays)?;
    let shape = Shape::line(n, BLOCK);
    let count = n as u32;
    let row = |kernel| row(stage, kernel, "", n);

    // SAFETY (all launches of this function): every buffer holds n structs, or 3 n floats.
    let mut rows = vec![
        moved(stage, row("stretch_structs"), &stretched, 24 * n, |to| unsafe {
            device.kernel::<stretch_structs>(&LEVELS)?.launch(shape, (count, BY, &from, to))
        })?
        .shows("12-byte structs as they lie: three accesses, each 12 sectors for 128 bytes"),
        moved(stage, row("stretch_padded_structs"), &stretched_padded, 24 * n, |to| unsafe {
            device.kernel::<stretch_padded_structs>(&LEVELS)?.launch(shape, (count, BY, &from_padded, to))
        })?
        .shows("padded to 16 bytes: one access, a quarter of the bytes unused"),
        moved(stage, row("stretch_arrays"), &stretched_arrays, 24 * n, |to| unsafe {
            device.kernel::<stretch_arrays>(&LEVELS)?.launch(shape, (count, BY, &from_arrays, to))
        })?
        .shows("a structure of arrays: three accesses of 4 sectors, nothing unused"),
        moved(stage, row("stretch_staged_structs"), &stretched, 24 * n, |to| unsafe {
            device.kernel::<stretch_staged_structs>(&LEVELS)?.launch(shape, (count, BY, &from, to))
        })?
        .shows("contiguous outside, stride 3 in shared memory, which is odd: no conflict"),
    ];
    for staged in [false, true] {
        // In place there is no second buffer: each launch stretches what the one before left, so one is checked.
        let mut own = stage.upload("the points", &points)?;
        let launch = |own: &mut DeviceBuffer<Point>| unsafe {
            match staged {
                false => device.kernel::<stretch_in_place>(&LEVELS)?.launch(shape, (count, BY, own)),
                true => device.kernel::<stretch_staged_in_place>(&LEVELS)?.launch(shape, (count, BY, own)),
            }
        };
        let kernel = if staged { "stretch_staged_in_place" } else { "stretch_in_place" };
        let counters = stage.once(kernel, || launch(&mut own))?;
        let verdict = exact(&stage.download("the points", &own)?, &stretched);
        let time = stage.time(|| launch(&mut own))?;
        let work = Workload { flops: 0.0, bytes: 24.0 * n as f64 };
        let shows = if staged { "and staged" } else { "updated where they lie" };
        rows.push(row(kernel).checked(verdict).counted(counters).timed(time, work).shows(shows));
    }
    row::against_first(&mut rows);
    Ok(rows)
}

/// From structs to arrays and back: the kernels that make remedy 2 possible where the data comes as structs.
fn conversions(stage: &Stage, n: usize) -> Result<Vec<Row>, Error> {
    let device = stage.device;
    // Each array begins at a multiple of 16 bytes, so that it can be moved by vectors.
    let pitch = n.next_multiple_of(4);
    let numbers = Random::new(7).units(4 * n);
    let points: Vec<Point> = numbers.chunks_exact(4).map(|c| Point { x: c[0], y: c[1], z: c[2] }).collect();
    let quads: Vec<Quad> = numbers.chunks_exact(4).map(|c| Quad([c[0], c[1], c[2], c[3]])).collect();
    let arrays = |fields: usize| {
        let mut arrays = vec![0.0f32; fields * pitch];
        arrays.chunks_mut(pitch).enumerate().for_each(|(field, array)| {
            for (i, element) in array[..n].iter_mut().enumerate() {
                *element = numbers[4 * i + field];
            }
        });
        arrays
    };
    let (three, four) = (arrays(3), arrays(4));
    let from_points = stage.upload("the points", &points)?;
    let from_quads = stage.upload("the quads", &quads)?;
    let from_three = stage.upload("three arrays", &three)?;
    let from_four = stage.upload("four arrays", &four)?;
    let row = |kernel| row(stage, kernel, "", n);
    // In all four the stage waits for the launch before source or target is used again.
    let mut rows = vec![
        moved(stage, row("points_to_arrays"), &three, 24 * n, |to| {
            // SAFETY: as above.
            unsafe { to_arrays_async(device, pitch, &from_points, to) }
        })?
        .shows("12-byte structs become three arrays: 16 bytes a lane on both sides"),
        moved(stage, row("arrays_to_points"), &points, 24 * n, |to| {
            // SAFETY: as above.
            unsafe { to_structs_async(device, pitch, &from_three, to) }
        })?
        .shows("and back"),
        moved(stage, row("quads_to_arrays"), &four, 32 * n, |to| {
            // SAFETY: as above.
            unsafe { to_arrays_async(device, pitch, &from_quads, to) }
        })?
        .shows("16-byte structs: one chunk in nine stays unused, to keep 4 fields from one bank"),
        moved(stage, row("arrays_to_quads"), &quads, 32 * n, |to| {
            // SAFETY: as above.
            unsafe { to_structs_async(device, pitch, &from_four, to) }
        })?
        .shows("and back, through the same chunks"),
    ];
    row::against_first(&mut rows);
    Ok(rows)
}

/// Cases that read the same number of sectors, and about as fast.
struct Alike {
    cases: Vec<u32>,
    result: &'static str,
    read: String,
    /// The slowest and the fastest rate, where rates were measured.
    rates: Option<(f64, f64)>,
}

/// Case, result and what a warp reads. Cases that read the same share a line, if their rates are within a tenth.
fn grid(word: &str, rows: &[Row]) -> Vec<[String; 3]> {
    let mut lines: Vec<Alike> = Vec::new();
    for row in rows {
        let result = if row.ok { crate::terminal::RIGHT } else { crate::terminal::WRONG };
        let read = read(row);
        let case = case(row);
        let widened = |(least, most): (f64, f64), rate: f64| (f64::min(least, rate), f64::max(most, rate));
        let takes = |line: &&mut Alike| {
            let near = match (line.rates, row.gb_per_s) {
                (Some(rates), Some(rate)) => {
                    let (least, most) = widened(rates, rate);
                    most <= 1.1 * least
                }
                (None, None) => true,
                _ => false,
            };
            line.result == result && line.read == read && near
        };
        match lines.iter_mut().find(takes) {
            Some(line) => {
                line.cases.push(case);
                line.rates = line.rates.zip(row.gb_per_s).map(|(rates, rate)| widened(rates, rate));
            }
            None => {
                let rates = row.gb_per_s.map(|rate| (rate, rate));
                lines.push(Alike { cases: vec![case], result, read, rates });
            }
        }
    }
    let line = |line: Alike| {
        let rate = match line.rates {
            Some((least, most)) if format!("{least:.0}") == format!("{most:.0}") => format!("{most:.0} GB/s"),
            Some((least, most)) => format!("{least:.0} to {most:.0} GB/s"),
            None => String::new(),
        };
        let parts = [line.read, rate];
        let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        [format!("{word} {}", ranges(&line.cases)), line.result.to_owned(), parts.join(", ")]
    };
    lines.into_iter().map(line).collect()
}

/// The shift or the stride of a row.
fn case(row: &Row) -> u32 {
    row.case.rsplit(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// The cost of a warp's read.
fn read(row: &Row) -> String {
    let sectors = row.counters.map(|counters| counters.global_load).filter(|read| read.requests > 0);
    let Some(read) = sectors else { return String::new() };
    let used = 100.0 * read.bytes as f64 / (32 * read.sectors) as f64;
    let each = read.sectors as f64 / read.requests as f64;
    format!("{} sectors, {used:.0} %", (100.0 * each).round() / 100.0)
}

/// `1, 2, 3, 5` as `1-3, 5`.
fn ranges(numbers: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let run = |(first, last)| if first == last { format!("{first}") } else { format!("{first}-{last}") };
    runs.into_iter().map(run).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::ranges;

    #[test]
    fn neighbours_become_ranges() {
        assert_eq!(ranges(&[0, 8, 16]), "0, 8, 16");
        assert_eq!(ranges(&[1, 2, 3, 5, 9, 10]), "1-3, 5, 9-10");
        assert_eq!(ranges(&[]), "");
    }
}
