//! Medians, their spread, and the interval of a speed ratio.

use serde::Serialize;

/// The samples of one contender, in milliseconds a launch.
#[derive(Clone, Debug, Serialize)]
pub struct Spread {
    /// Half of the samples are below.
    pub median: f64,
    /// A quarter of the samples are below.
    pub lower_quartile: f64,
    /// A quarter of the samples are above.
    pub upper_quartile: f64,
    /// How many samples.
    pub samples: usize,
}

impl Spread {
    /// Sums up samples; `None` without any.
    pub fn of(samples: &[f64]) -> Option<Self> {
        let sorted = sorted(samples);
        (!sorted.is_empty()).then(|| Self {
            median: quantile(&sorted, 0.5),
            lower_quartile: quantile(&sorted, 0.25),
            upper_quartile: quantile(&sorted, 0.75),
            samples: sorted.len(),
        })
    }
}

/// The other's median time over ours, with a 95 % interval: above 1 we are faster.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SpeedRatio {
    /// The ratio of the medians.
    pub ratio: f64,
    /// Lower end of the 95 % interval.
    pub low: f64,
    /// Upper end of the 95 % interval.
    pub high: f64,
}

impl SpeedRatio {
    /// From pairs taken in turn in one run: `(ours, other)` in the same unit.
    ///
    /// The interval is a bootstrap over whole pairs, so a drift of the clock that hits both sides of a pair cancels.
    /// The resampling is seeded: the same samples give the same interval.
    pub fn of_pairs(pairs: &[(f64, f64)]) -> Option<Self> {
        if pairs.is_empty() {
            return None;
        }
        let ratio_of = |chosen: &mut dyn Iterator<Item = (f64, f64)>| {
            let (ours, other): (Vec<f64>, Vec<f64>) = chosen.unzip();
            quantile(&sorted(&other), 0.5) / quantile(&sorted(&ours), 0.5)
        };
        let ratio = ratio_of(&mut pairs.iter().copied());
        let mut random = SplitMix(0x57a7_15f1);
        let resampled: Vec<f64> = (0..RESAMPLES)
            .map(|_| {
                let mut draw = (0..pairs.len()).map(|_| pairs[random.below(pairs.len())]);
                ratio_of(&mut draw)
            })
            .collect();
        let resampled = sorted(&resampled);
        Some(Self { ratio, low: quantile(&resampled, 0.025), high: quantile(&resampled, 0.975) })
    }

    /// A goal holds when the interval's upper end reaches it.
    pub fn reaches(&self, goal: f64) -> bool {
        self.high >= goal
    }
}

/// Two thousand resamples place the ends of a 95 % interval to about half a percent of their rank.
const RESAMPLES: usize = 2000;

fn sorted(samples: &[f64]) -> Vec<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// Linear interpolation between the two ranks around `share`.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let rank = share * (sorted.len() - 1) as f64;
    let (below, above) = (rank.floor() as usize, rank.ceil() as usize);
    sorted[below] + (sorted[above] - sorted[below]) * (rank - below as f64)
}

struct SplitMix(u64);

impl SplitMix {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(z ^ (z >> 31)) * bound as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_of_known_samples() {
        let spread = Spread::of(&[5.0, 1.0, 3.0, 2.0, 4.0]).unwrap();
        assert_eq!((spread.lower_quartile, spread.median, spread.upper_quartile), (2.0, 3.0, 4.0));
        assert!(Spread::of(&[]).is_none());
    }

    #[test]
    fn a_twice_as_fast_kernel_has_ratio_two_and_a_tight_interval() {
        let pairs: Vec<_> = (0..40).map(|i| (1.0 + f64::from(i % 3) * 0.001, 2.0)).collect();
        let ratio = SpeedRatio::of_pairs(&pairs).unwrap();
        assert!((ratio.ratio - 2.0).abs() < 0.01 && ratio.low > 1.98 && ratio.high < 2.01, "{ratio:?}");
        assert!(ratio.reaches(1.99) && !ratio.reaches(2.1));
    }

    #[test]
    fn noisy_pairs_have_a_wide_interval_around_the_ratio() {
        let pairs: Vec<_> = (0..40).map(|i| (1.0, if i % 2 == 0 { 0.8 } else { 1.2 })).collect();
        let ratio = SpeedRatio::of_pairs(&pairs).unwrap();
        assert!(ratio.low < 0.9 && ratio.high > 1.1, "{ratio:?}");
    }
}
