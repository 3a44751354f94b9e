//! How long a demo will take on the virtual GPU: measured at two small sizes, before a person waits for a large one.

use std::time::{Duration, Instant};

use super::demo::Demo;
use super::row::Row;
use super::stage::Stage;
use crate::error::Error;
use crate::size::Size;
use crate::terminal::{self, Progress};

/// Below this, nothing is announced.
const WORTH_TELLING: Duration = Duration::from_secs(20);
/// How long a person waits without complaint: the proposed size takes about this long.
const PATIENCE: Duration = Duration::from_secs(10);
/// A size is large if it has this many times the elements of the one that is measured.
const LARGE: f64 = 3.0;

/// A demo's estimated time.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Forecast {
    time: Duration,
    /// A size of the same shape that takes [`PATIENCE`].
    instead: Size,
}

/// Says how long the demo will take at its size, if that is long; its progress then has an end.
///
/// If small sizes tell nothing, as for kernels that take only large problems, it says nothing.
pub fn announce(demo: &dyn Demo, stage: &Stage) -> Result<(), Error> {
    let Some(size) = stage.size.filter(|_| stage.device.is_virtual()) else { return Ok(()) };
    let edge = demo.measured_at();
    // Launches that are watched from outside are those that were asked for, and no others.
    let watched = ["WARPSMITH_PROFILE", "WARPSMITH_CHECK"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|set| !set.is_empty()));
    if watched || is_small(size, edge) {
        return Ok(());
    }
    stage.progress.step("how long will it take?");
    let measure = |edge: usize| -> Result<(Vec<Row>, Duration, u64), Error> {
        let progress = Progress::new(demo.name(), false);
        let small = Stage {
            size: Some(Size::One(edge)),
            dynamic_tile: stage.dynamic_tile,
            only: stage.only,
            ..Stage::new(stage.device, &progress)
        };
        let begun = Instant::now();
        let rows = demo.run(&small)?;
        Ok((rows, begun.elapsed(), progress.steps()))
    };
    // The first also decodes the kernels, which is not counted.
    measure(edge / 4)?;
    let ((_, short, _), (rows, long, steps)) = (measure(edge / 2)?, measure(edge)?);
    let Some(row) = rows.first() else { return Ok(()) };
    let dimensions = row.size.split('x').count() as u32;
    let forecast = forecast(size, dimensions, edge, short, long);
    stage.progress.expect(steps + 1);
    if forecast.time >= WORTH_TELLING {
        let sentence = format!(
            "at {size} this demo takes about {} on the virtual GPU, as measured at {edge}; --size {} would take about {}, and \
             Ctrl-C ends it",
            words(forecast.time),
            forecast.instead,
            words(PATIENCE)
        );
        stage.progress.note(&terminal::wrapped("note: ", &sentence));
    }
    Ok(())
}

/// Whether a size is not much more than the one that is measured.
fn is_small(size: Size, edge: usize) -> bool {
    let extents = extents(size);
    let elements: f64 = extents.iter().map(|&extent| extent as f64).product();
    elements < LARGE * (edge as f64).powi(extents.len() as i32)
}

fn extents(size: Size) -> Vec<usize> {
    match size {
        Size::One(n) => vec![n],
        Size::Two(m, n) => vec![m, n],
        Size::Three(m, n, k) => vec![m, n, k],
    }
}

/// The work of a size, in elements or in multiply-adds.
fn work(size: Size, dimensions: u32) -> f64 {
    match size {
        Size::One(n) => (n as f64).powi(dimensions as i32),
        Size::Two(..) if dimensions == 3 => {
            let (m, n, k) = size.product();
            m as f64 * n as f64 * k as f64
        }
        _ => extents(size).into_iter().map(|extent| extent as f64).product(),
    }
}

/// From the times at half the edge and at the edge: what does not grow with the work is taken off.
fn forecast(size: Size, dimensions: u32, edge: usize, short: Duration, long: Duration) -> Forecast {
    let [half, whole, asked] =
        [Size::One(edge / 2), Size::One(edge), size].map(|size| work(size, dimensions));
    let each = (long.as_secs_f64() - short.as_secs_f64()).max(0.0) / (whole - half);
    let fixed = (long.as_secs_f64() - whole * each).max(0.0);
    let seconds = fixed + each * asked;
    // Of the same shape, and of round extents.
    let shrink =
        ((PATIENCE.as_secs_f64() - fixed).max(0.1) / (seconds - fixed)).powf(1.0 / f64::from(dimensions));
    let shrunk = |extent: usize| match (extent as f64 * shrink) as usize {
        few @ 0..64 => few.max(1),
        many => many - many % (1 << (many.ilog2() - 3)),
    };
    let instead = match size {
        Size::One(n) => Size::One(shrunk(n)),
        Size::Two(m, n) => Size::Two(shrunk(m), shrunk(n)),
        Size::Three(m, n, k) => Size::Three(shrunk(m), shrunk(n), shrunk(k)),
    };
    Forecast { time: Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX), instead }
}

/// A time as a person says it.
fn words(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} minutes", seconds.div_ceil(60)),
        seconds => format!("{} hours", seconds.div_ceil(3600)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cube_of_eight_times_the_edge_is_512_times_the_work() {
        let milliseconds = Duration::from_millis;
        // 20 ms whatever the size, 10 ms for half the edge, 80 ms for the edge.
        let found = forecast(Size::One(1024), 3, 128, milliseconds(30), milliseconds(100));
        assert_eq!(found.time.as_secs_f64().round(), 41.0);
        // 10 s are a quarter of it: the cube of 0.62, which makes 639, and 64 more would be too many.
        assert_eq!(found.instead, Size::One(576));
        let a_quarter = forecast(Size::Three(1024, 1024, 256), 3, 128, milliseconds(30), milliseconds(100));
        assert_eq!(a_quarter.time.as_secs_f64().round(), 10.0);
    }

    #[test]
    fn the_shape_decides_the_work() {
        assert_eq!(work(Size::One(10), 1), 10.0);
        assert_eq!(work(Size::One(10), 2), 100.0);
        assert_eq!(work(Size::Two(10, 4), 2), 40.0);
        // K is the smaller of two, as in `Size::product`.
        assert_eq!(work(Size::Two(10, 4), 3), 160.0);
        assert_eq!(work(Size::Three(10, 4, 2), 3), 80.0);
    }

    #[test]
    fn small_sizes_are_not_measured_first() {
        assert!(is_small(Size::One(767), 256) && !is_small(Size::One(768), 256));
        assert!(is_small(Size::Two(1000, 37), 256) && !is_small(Size::Two(10_000, 37), 256));
        assert!(is_small(Size::Three(144, 272, 128), 128) && !is_small(Size::Three(1, 4096, 4096), 128));
    }

    #[test]
    fn times_in_words() {
        let words = |seconds| words(Duration::from_secs(seconds));
        assert_eq!(
            (words(45), words(130), words(7300)),
            ("45 s".into(), "3 minutes".into(), "3 hours".into())
        );
    }
}
