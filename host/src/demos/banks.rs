//! Banks: how many wavefronts one read of shared memory takes.

use cust::memory::{DeviceBuffer, DeviceCopy};
use gpu_model::profile::Counters;
use kernels_gpu::base::banks as k;
use warpsmith_launch::{Device, ErrorContext, Shape};

use super::demo::Demo;
use super::row::Row;
use super::stage::Stage;
use crate::counters::Counted;
use crate::error::Error;
use crate::modules::LEVELS;
use crate::size::Size;
use crate::terminal::{side_by_side, table, wrapped};
use crate::verify::exact;

/// How often each lane reads when the clock is read around it.
const TIMED_ROUNDS: u32 = 1024;

/// The expected value of an element, computed independently.
trait Element: Sync + DeviceCopy + Default + PartialEq + std::fmt::Debug {
    const KERNEL: &'static str;
    fn content(i: u32) -> Self;
    /// # Safety
    /// `index` and `out` hold 32 elements, each index inside the array; `cycles` holds one.
    unsafe fn launch(
        device: &Device,
        rounds: u32,
        index: &DeviceBuffer<u32>,
        out: &mut DeviceBuffer<Self>,
        cycles: &mut DeviceBuffer<u64>,
    ) -> Result<(), Error>;
}

macro_rules! elements {
    ($($element:ty, $bytes:literal, $kernel:ident: |$i:ident| $content:expr;)*) => {$(
        impl Element for $element {
            const KERNEL: &'static str = stringify!($kernel);

            fn content($i: u32) -> Self {
                $content
            }

            unsafe fn launch(
                device: &Device,
                rounds: u32,
                index: &DeviceBuffer<u32>,
                out: &mut DeviceBuffer<Self>,
                cycles: &mut DeviceBuffer<u64>,
            ) -> Result<(), Error> {
                let shape = Shape { grid: [1, 1, 1], block: [32, 1, 1], shared: 0 };
                // SAFETY: the caller's promise, which is what the kernel asks for.
                Ok(unsafe { device.kernel::<k::$kernel>(&LEVELS)?.launch(shape, (rounds, index, out, cycles))? })
            }
        }
    )*};
}
elements! {
    u8, 1, banks_1_byte: |i| (i ^ (i >> 8)) as u8;
    u16, 2, banks_2_bytes: |i| i as u16;
    u32, 4, banks_4_bytes: |i| i;
    u64, 8, banks_8_bytes: |i| (u64::from(i) << 32) | u64::from(!i);
    k::Wide, 16, banks_16_bytes: |i| k::Wide([i, !i, i << 8, i ^ 0x5555]);
}

/// Which element each lane reads.
pub struct Pattern {
    pub name: String,
    /// The element of each lane.
    pub index: [u32; 32],
}

impl Pattern {
    fn new(name: impl Into<String>, index: impl Fn(u32) -> u32) -> Self {
        Self { name: name.into(), index: std::array::from_fn(|lane| index(lane as u32)) }
    }

    /// The sentence on a read of elements of `bytes` bytes.
    fn shows(&self, bytes: u32) -> String {
        match (self.name.as_str(), self.index[1]) {
            ("broadcast" | "stride 0", _) => "all lanes want one element: a broadcast".into(),
            ("multicast, 4 words", _) => "neighbouring elements, each for eight lanes: a multicast".into(),
            ("multicast, one bank", _) => {
                format!("four elements, {} bytes apart, each for eight lanes", 32 * bytes)
            }
            ("column of 32×33", _) => format!("one column of padding: lanes {} bytes apart", 33 * bytes),
            (_, stride) if bytes == 4 && self.name.starts_with("stride") => {
                format!("lanes {stride} words apart: gcd({stride}, 32) lanes want one bank")
            }
            _ => format!("lanes {} bytes apart", (self.index[1] - self.index[0]) * bytes),
        }
    }

    /// Every pattern that the demo shows.
    pub fn all() -> Vec<Self> {
        let mut all: Vec<Self> =
            (0..=33).map(|stride| Self::new(format!("stride {stride}"), move |lane| lane * stride)).collect();
        all.extend([
            Self::new("broadcast", |_| 5),
            Self::new("multicast, 4 words", |lane| lane / 8),
            Self::new("multicast, one bank", |lane| lane / 8 * 32),
            Self::new("column of 32×32", |lane| lane * 32 + 3),
            Self::new("column of 32×33", |lane| lane * 33 + 3),
        ]);
        all
    }
}

pub struct BanksDemo;

impl Demo for BanksDemo {
    fn name(&self) -> &'static str {
        "banks"
    }

    fn title(&self) -> &'static str {
        "Shared memory: 32 banks of 4 bytes"
    }

    fn takes(&self, _: Size) -> bool {
        false
    }

    fn run(&self, stage: &Stage) -> Result<Vec<Row>, Error> {
        if stage.size.is_some() {
            return Err(Error::Size(
                "the demo of banks is one warp, whatever the size: leave --size out".into(),
            ));
        }
        let mut rows = Vec::new();
        for pattern in Pattern::all() {
            rows.push(row::<u8>(stage, &pattern)?);
            rows.push(row::<u16>(stage, &pattern)?);
            rows.push(row::<u32>(stage, &pattern)?);
            rows.push(row::<u64>(stage, &pattern)?);
            rows.push(row::<k::Wide>(stage, &pattern)?);
        }
        Ok(rows)
    }

    fn text(&self, rows: &[Row]) -> String {
        let widths = [u8::KERNEL, u16::KERNEL, u32::KERNEL, u64::KERNEL, k::Wide::KERNEL];
        let mut patterns: Vec<&str> = Vec::new();
        for row in rows {
            if !patterns.contains(&row.case.as_str()) {
                patterns.push(&row.case);
            }
        }
        let cell = |pattern: &str, kernel: &str| {
            let row = rows.iter().find(|row| row.case == pattern && row.kernel == kernel)?;
            let wavefronts = row.counters.map(|counters| counters.shared_load.wavefronts.to_string());
            let cycles = row.cycles.map(|cycles| format!("{cycles:.0}"));
            Some(match (row.ok, wavefronts, cycles) {
                (false, ..) => crate::terminal::WRONG.to_owned(),
                (true, Some(wavefronts), Some(cycles)) => format!("{wavefronts} → {cycles}"),
                (true, Some(only), None) | (true, None, Some(only)) => only,
                (true, None, None) => crate::terminal::RIGHT.to_owned(),
            })
        };
        let cells = |pattern: &str| widths.map(|kernel| cell(pattern, kernel).unwrap_or_default());
        let header = ["pattern", "1 byte", "2", "4", "8", "16"];
        let measured = rows.iter().any(|row| row.cycles.is_some());
        let mut out = match measured {
            // With cycles beside them, the counts of one pattern fill a line. Strides that agree in all share one.
            true => table(&header, &alike(&patterns, cells)),
            // Two patterns a line, so that it fits a screen.
            false => {
                let half = patterns.len().div_ceil(2);
                let line = |pattern: &&str| [vec![(*pattern).to_owned()], cells(pattern).to_vec()].concat();
                let lines: Vec<Vec<String>> = patterns.iter().map(line).collect();
                let (left, right) = lines.split_at(half);
                side_by_side([&header, &header], [left, right])
            }
        };
        if measured {
            out.push_str(
                "\nBefore the arrow wavefronts, behind it the GPU's cycles from one read to the next.",
            );
        }
        out.push('\n');
        for sentence in [
            "Wavefronts of one warp's read, per element width (virtual GPU, per PTX instruction): the most different words \
             wanted from one bank, summed over groups of 32 lanes (up to 4 bytes), 16 lanes (8) and 8 lanes (16).",
            "Strides of 4-byte words conflict gcd(stride, 32)-fold; one word for many lanes costs one wavefront.",
        ] {
            out.push_str(&wrapped("", sentence));
        }
        out + &super::row::wrong(rows)
    }
}

fn row<T: Element>(stage: &Stage, pattern: &Pattern) -> Result<Row, Error> {
    let device = stage.device;
    let index = stage.upload("the indices", &pattern.index)?;
    let mut out = stage.upload("the results", &[T::default(); 32])?;
    let mut cycles = stage.upload("the clock", &[0u64])?;
    // SAFETY: 32 indices below 32 × 33, 32 results, one clock.
    let counters =
        stage.once(T::KERNEL, || unsafe { T::launch(device, 1, &index, &mut out, &mut cycles) })?;
    let expected: Vec<T> = pattern.index.iter().map(|&i| T::content(i)).collect();
    let verdict = exact(&stage.download("the results", &out)?, &expected);
    let mut row = Row::new("banks", T::KERNEL, pattern.name.clone(), 32, device.kind()).checked(verdict);
    // SAFETY: as above.
    let mut timed = || unsafe { T::launch(device, TIMED_ROUNDS, &index, &mut out, &mut cycles) };
    if device.is_virtual() {
        stage.time(timed)?;
    } else {
        timed()?;
        device.synchronize()?;
        let cycles = cycles.as_host_vec().context("read the clock")?;
        row.cycles = cycles.first().map(|&cycles| cycles as f64 / f64::from(TIMED_ROUNDS));
    }
    // The one read is all that loads from shared memory; the stores that fill the array are not the lesson.
    let read = counters.map(|all| Counted {
        counters: Counters { shared_load: all.counters.shared_load, ..Counters::default() },
        ..all
    });
    Ok(row.counted(read).shows(pattern.shows(size_of::<T>() as u32)))
}

/// A line for each pattern, strides with the same cells in one.
fn alike(patterns: &[&str], cells: impl Fn(&str) -> [String; 5]) -> Vec<Vec<String>> {
    let mut lines: Vec<(String, [String; 5])> = Vec::new();
    for &pattern in patterns {
        let cells = cells(pattern);
        let stride = pattern.strip_prefix("stride ");
        let same = |line: &&mut (String, _)| line.0.starts_with("stride ") && line.1 == cells;
        match (stride, lines.iter_mut().find(same)) {
            (Some(stride), Some((name, _))) => {
                name.push_str(", ");
                name.push_str(stride);
            }
            _ => lines.push((pattern.to_owned(), cells)),
        }
    }
    lines.into_iter().map(|(name, cells)| [vec![name], cells.to_vec()].concat()).collect()
}
