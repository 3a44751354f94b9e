//! Launches of kernels without `unsafe` that have no twin, so large that the interpreter takes milliseconds.

use crate::pairs::{ALONE, PAIRS, Parameter, Parameters, Shape};

/// The kernels without `unsafe` and the twins beside them, each with a launch.
pub fn all() -> Vec<(&'static str, (Shape, Vec<Parameter>))> {
    let of_pairs = PAIRS.iter().enumerate().flat_map(|(i, pair)| {
        let is_new = PAIRS[..i].iter().all(|earlier| earlier.safe != pair.safe);
        let both = [Some(pair.safe).filter(|_| is_new), Some(pair.raw).filter(|raw| raw.starts_with("raw_"))];
        both.into_iter().flatten().map(|kernel| (kernel, pair.launch(kernel, large(pair.counted[0]))))
    });
    let alone = ALONE.iter().map(|&(kernel, extent, make)| (kernel, make(large(extent))));
    let alone =
        alone.chain(others()).map(|(kernel, (shape, parameters))| (kernel, (shape, parameters.made())));
    of_pairs.chain(alone).collect()
}

/// An extent for timing instead of one for counting: of a line, or of a square.
fn large(counted: u32) -> u32 {
    match counted {
        0..=128 => 256,
        129..=512 => 512,
        _ => 1 << 19,
    }
}

const LINE: u32 = 1 << 18;
const SQUARE: u32 = 512;

fn others() -> Vec<(&'static str, (Shape, Parameters))> {
    let none = Parameters::default;
    let line = |all: Parameters| all.slice(LINE.into(), 4);
    let lines = |count: usize| (0..count).fold(none(), |all, _| line(all));
    let blocks = |threads: u32| Shape::line(LINE / threads, threads);
    let squares = |all: Parameters| all.matrix(SQUARE).output_matrix(SQUARE);
    let tiles = |x: u32, y: u32| Shape::new((SQUARE / x, SQUARE / y), (x, y));
    let a_half = 0.5f32.to_bits();
    let by_number = |number: u32| line(line(none().number(number)));
    vec![
        ("safe_add_before", (blocks(256), line(none().slice(u64::from(LINE / 256), 4)))),
        (
            "safe_align",
            (Shape::new((16, 16), (32, 1)), squares(none().numbers(&[15]).number(1).matrix(SQUARE))),
        ),
        ("safe_arrays_to_points", (blocks(256), lines(3).slice(3 * u64::from(LINE), 4))),
        ("safe_cheapest_step", (blocks(256), lines(3))),
        (
            "safe_columns_times",
            (Shape::line(SQUARE / 256, 256), {
                none().matrix(SQUARE).slice(SQUARE.into(), 4).slice(SQUARE.into(), 4)
            }),
        ),
        ("safe_convolve_rows", (tiles(64, 4), squares(none().slice(9, 4)))),
        ("safe_count_inside", (blocks(256), lines(2).slice(1, 4))),
        ("safe_divide_step", (tiles(16, 16), squares(none().number(3)))),
        ("safe_dot", (Shape::line(64, 256), lines(2).slice(64, 4))),
        ("safe_drop", (blocks(256), lines(1).slice(u64::from(LINE / 256), 4))),
        ("safe_eliminate", (tiles(32, 8), squares(none().number(3)))),
        ("safe_flow", (tiles(16, 16), squares(none().number(a_half)))),
        ("safe_flow_step", (tiles(16, 16), squares(none().number(a_half).matrix(SQUARE)))),
        (
            "safe_fourier",
            (Shape::line(128, 256), {
                let of = |all: Parameters| all.slice(128 * 512, 8).numbers(&[128, 512]);
                of(none()).memory(8 * 128 * 512).numbers(&[128, 512])
            }),
        ),
        ("safe_future", (blocks(256), lines(2))),
        ("safe_heat_step", (tiles(16, 16), squares(none().number(a_half).matrix(SQUARE)))),
        // The counter goes on from launch to launch.
        ("safe_keep", (blocks(256), holding(lines(1), [0].into_iter()).slice(64 * u64::from(LINE), 4))),
        (
            "safe_layer",
            (Shape::line(SQUARE, 128), {
                none().matrix(SQUARE).slice(SQUARE.into(), 4).slice(SQUARE.into(), 4)
            }),
        ),
        ("safe_left_and_right", (blocks(32), lines(3))),
        (
            "safe_merge",
            (blocks(256), {
                let sorted = || (0..LINE / 2).map(|i| 3 * i);
                holding(holding(none(), sorted()), sorted()).slice(LINE.into(), 4)
            }),
        ),
        ("safe_nearest_centres", (blocks(256), lines(1).slice(16, 4).slice(16, 4).slice(16, 4))),
        (
            "safe_option_prices",
            (blocks(128), line(line(line(line(line(none().numbers(&[a_half]).number(a_half))))))),
        ),
        (
            "safe_option_trees",
            (Shape::line(64, 256), {
                none().number(200).number(a_half).number(a_half).slice(64, 4).slice(64, 4).slice(64, 4)
            }),
        ),
        ("safe_pulls", (Shape::line(1024 / 128, 128), (0..3).fold(none(), |all, _| all.slice(1024, 4)))),
        (
            "safe_reach",
            (blocks(256), {
                let nodes = || (0..LINE).map(|i| i.wrapping_mul(0x9e37_79b1) % 1024);
                holding(holding(holding(none(), (0..1024).map(|i| i % 2)), nodes()), nodes()).slice(1024, 4)
            }),
        ),
        ("safe_recursion", (blocks(256), by_number(8))),
        ("safe_shorter_by_way_of", (tiles(16, 16), squares(none().number(3)))),
        (
            "safe_sparse_rows",
            (Shape::line(4096, 64), {
                let starts = holding(none(), (0..=4096).map(|row| 60 * row));
                let columns = (0..60 * 4096u32).map(|i| i.wrapping_mul(0x9e37_79b1) % 4096);
                holding(starts, columns).slice(60 * 4096, 4).slice(4096, 4).slice(4096, 4)
            }),
        ),
        ("safe_steps", (blocks(256), by_number(8))),
        ("safe_stride", (blocks(256), by_number(3))),
        ("safe_sums_by_fours", (Shape::line(LINE / 1024, 256), lines(2))),
        ("safe_transpose_by_columns", (Shape::new((16, 16), (32, 8)), squares(none()))),
        ("safe_walsh", (Shape::line(LINE / 512, 256), lines(2))),
        ("safe_wavelets", (Shape::line(LINE / 512, 256), lines(2))),
        ("safe_windows", {
            let shape = Shape { shared: 4 * (256 + 64), ..blocks(256) };
            (shape, by_number(64))
        }),
    ]
}

/// A slice of these numbers.
fn holding(all: Parameters, numbers: impl Iterator<Item = u32>) -> Parameters {
    let content: Vec<u8> = numbers.flat_map(u32::to_le_bytes).collect();
    let len = content.len() as u64 / 4;
    all.holding(content).long(len)
}
