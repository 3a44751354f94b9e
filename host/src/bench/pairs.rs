//! Two contenders measured in turn in one run.

use cust::error::CudaResult;
use serde::Serialize;
use warpsmith_launch::Stream;

use super::graph::{Replay, Sampler};
use super::statistics::{SpeedRatio, Spread};

/// Something that can be launched over and over: it enqueues one launch on the bench's stream, with the buffer set
/// it is told.
pub type Enqueue<'a> = Box<dyn FnMut(usize) -> CudaResult<()> + 'a>;

/// Measurements of a pair of contenders.
#[derive(Clone, Debug, Serialize)]
pub struct PairTimes {
    /// Our times, milliseconds a launch.
    pub ours: Spread,
    /// The other's times.
    pub other: Spread,
    /// The other's median over ours.
    pub ratio: SpeedRatio,
}

/// How long to measure.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Pairs that count; at least 30 make a result worth publishing.
    pub pairs: usize,
    /// Milliseconds that one sample should take at least: event resolution is half a microsecond, and a graph's
    /// start costs a few.
    pub sample_ms: f64,
    /// Milliseconds of warm-up, both contenders in turn: the clock settles under load within a second or two.
    pub warm_up_ms: f64,
    /// Whether launches are captured into graphs; if not, they are enqueued one by one.
    pub captured: bool,
    /// Whether everything is kept short, for an overview of many rows.
    pub quick: bool,
}

impl Default for Plan {
    fn default() -> Self {
        Self { pairs: 40, sample_ms: 2.0, warm_up_ms: 600.0, captured: true, quick: false }
    }
}

impl Plan {
    /// A plan for many rows in little time.
    pub fn quick() -> Self {
        Self { pairs: 16, warm_up_ms: 150.0, quick: true, ..Self::default() }
    }
}

impl Plan {
    /// One contender with as many launches as make a sample long enough.
    fn sampler<'a>(&self, stream: &Stream, mut enqueue: Enqueue<'a>) -> CudaResult<Sampler<'a>> {
        enqueue(0)?;
        stream.synchronize()?;
        let once = Replay::capture(stream, 1, &mut enqueue)?;
        once.time(stream)?;
        let estimate = once.time(stream)?.min(once.time(stream)?).max(0.0005);
        let launches = (self.sample_ms / estimate).ceil().clamp(1.0, 500.0) as u32;
        Ok(if self.captured {
            Sampler::Captured(Replay::capture(stream, launches, &mut enqueue)?)
        } else {
            Sampler::Direct(enqueue, launches)
        })
    }

    /// Measures two contenders in turn; which goes first changes with every pair.
    pub fn pair(&self, stream: &Stream, ours: Enqueue<'_>, other: Enqueue<'_>) -> CudaResult<PairTimes> {
        let mut ours = self.sampler(stream, ours)?;
        let mut other = self.sampler(stream, other)?;
        let begin = std::time::Instant::now();
        while begin.elapsed().as_secs_f64() * 1e3 < self.warm_up_ms {
            ours.time(stream)?;
            other.time(stream)?;
        }
        let mut pairs = Vec::with_capacity(self.pairs);
        for turn in 0..self.pairs.max(1) {
            pairs.push(if turn % 2 == 0 {
                let first = ours.time(stream)?;
                (first, other.time(stream)?)
            } else {
                let first = other.time(stream)?;
                (ours.time(stream)?, first)
            });
        }
        let (our_times, other_times): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        Ok(PairTimes {
            ours: Spread::of(&our_times).expect("at least one pair"),
            other: Spread::of(&other_times).expect("at least one pair"),
            ratio: SpeedRatio::of_pairs(&pairs).expect("at least one pair"),
        })
    }
}
