//! Each building block of `tile::hopper`, in a kernel that does little else, against plain loops; and the functions of
//! `cuda_std`'s mathematics, in kernels, against themselves on the host.

use std::collections::BTreeMap;
use std::ffi::c_void;

use cust::function::GridSize;
use cust::memory::{CopyDestination, DeviceBuffer, DeviceCopy};
use cust::module::Module;
use host::modules::LEVELS;
use kernels_gpu::hopper::first;
use tile::hopper::{BoxShape, Element, Swizzle, TensorMap};
use warpsmith_launch::extra::{Tensor, allow_dynamic_shared, tensor_map};
use warpsmith_launch::{Bf16, Device, F16, Shape};

use crate::{Case, Needs};

static PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/blocks.ptx"));

/// The cases.
pub fn cases() -> Vec<Case> {
    let mut cases = vec![
        Case::new("hopper::matrices_turn", matrices),
        Case::new("hopper::a_box_goes_to_both_blocks", multicast),
        Case::new("hopper::a_box_of_three_dimensions", three_dimensions),
        Case::new("hopper::attention", attention),
        Case::new("hopper::first_product", first_product),
        Case::new("hopper::documented_multicast", documented_multicast),
        Case::new("hopper::documented_product_of_bytes", documented_bytes),
    ];
    for stages in [1, 2, 3, 7] {
        cases.push(Case::new(format!("hopper::ring_of_{stages}"), move |device| ring(device, stages)));
    }
    for (name, columns) in [("plain", 32), ("swizzled_32", 8), ("swizzled_64", 16), ("swizzled_128", 32)] {
        cases.push(Case::new(format!("hopper::box_{name}"), move |device| boxes(device, name, columns)));
    }
    let bf16 = |value: i32| Bf16(half::bf16::from_f32(value as f32));
    let f16 = |value: i32| F16(half::f16::from_f32(value as f32));
    for (layout, n) in [("nt", 64), ("tn", 64), ("nt", 256), ("nn", 256)] {
        cases.push(Case::new(format!("hopper::product_bf16_{n}_{layout}"), move |device| {
            product::<half::bf16, _>(device, &format!("product_bf16_{n}_{layout}"), n, layout, bf16)
        }));
    }
    for layout in ["tt", "tn"] {
        cases.push(Case::new(format!("hopper::product_f16_128_{layout}"), move |device| {
            product::<half::f16, _>(device, &format!("product_f16_128_{layout}"), 128, layout, f16)
        }));
    }
    cases.push(Case::new("hopper::product_tf32_128_nt", |device| {
        product::<tile::hopper::Tf32, _>(device, "product_tf32_128_nt", 128, "nt", |value| value as f32)
    }));
    cases.push(Case::new("hopper::product_s8_128_nt", |device| {
        product::<i8, _>(device, "product_s8_128_nt", 128, "nt", |value| value as i8)
    }));
    cases.push(Case::new("mathematics::f32_rounds_alike_inlined", |device| {
        mathematics(
            device,
            "mathematics_f32",
            38,
            |x| x as f32,
            blocks::mathematics::all::<f32>,
            f32::to_bits,
        )
    }));
    cases.push(Case::new("mathematics::f64_rounds_alike_inlined", |device| {
        mathematics(device, "mathematics_f64", 308, |x| x, blocks::mathematics::all::<f64>, f64::to_bits)
    }));
    // One module, which the driver compiles for this capability only.
    cases.into_iter().map(|case| case.needs(Needs::Exactly((9, 0)))).collect()
}

/// Functions in a kernel against the same functions on the host, bit for bit: of ordinary sizes, of all sizes up to
/// 10 to the power of `greatest`, and of what is no ordinary number.
fn mathematics<T: DeviceCopy + std::fmt::Debug, B: PartialEq>(
    device: &Device,
    kernel: &str,
    greatest: i32,
    of: impl Copy + Fn(f64) -> T,
    all: impl Fn(T, T) -> [T; blocks::mathematics::RESULTS],
    bits: impl Fn(T) -> B,
) -> anyhow::Result<()> {
    let mut random = host::data::Random::new(11);
    let special = [0.0, -0.0, 1.0, -1.0, f64::INFINITY, -f64::INFINITY, f64::NAN, 3.4e38, -1.5e38, 1e-45];
    let exponent =
        |i: i32| if i % 2 == 0 { i / 2 % 7 - 4 } else { i / 2 % (2 * greatest + 2) - greatest - 1 };
    let numbers = random.units(4096 - special.len()).into_iter().zip(0..);
    let numbers = numbers.map(|(unit, i)| f64::from(unit) * 10f64.powi(exponent(i)));
    let inputs: Vec<T> = numbers.chain(special).map(of).collect();
    let others: Vec<T> = random.units(4096).into_iter().map(|unit| of(f64::from(unit) * 3.0)).collect();
    let (x, y) = (DeviceBuffer::from_slice(&inputs)?, DeviceBuffer::from_slice(&others)?);
    let zero = of(0.0);
    let mut got = vec![zero; inputs.len() * blocks::mathematics::RESULTS];
    let out = DeviceBuffer::from_slice(&got)?;
    let (mut x, mut y, mut to) = (x.as_device_ptr(), y.as_device_ptr(), out.as_device_ptr());
    let (mut length, mut other) = (inputs.len(), inputs.len());
    let mut arguments =
        [argument(&mut x), argument(&mut length), argument(&mut y), argument(&mut other), argument(&mut to)];
    launch(device, kernel, (32, 128, 0), &mut arguments)?;
    out.copy_to(&mut got)?;
    // The first difference of each function.
    let mut differences = BTreeMap::new();
    for (i, got) in got.chunks_exact(blocks::mathematics::RESULTS).enumerate() {
        let want = all(inputs[i], others[i]);
        for (function, (got, want)) in got.iter().zip(want).enumerate() {
            let same = bits(*got) == bits(want) || (format!("{got:?}{want:?}") == "NaNNaN");
            if !same {
                differences.entry(function).or_insert_with(|| {
                    let (x, y) = (&inputs[i], &others[i]);
                    format!("function {function} of {x:?}, {y:?}: {got:?}, on the host {want:?}")
                });
            }
        }
    }
    let differences: Vec<String> = differences.into_values().collect();
    anyhow::ensure!(differences.is_empty(), "{}", differences.join("\n"));
    Ok(())
}

/// Launches a kernel of this crate's own module and waits for it.
fn launch(
    device: &Device,
    kernel: &str,
    (grid, block, shared): (impl Into<GridSize>, u32, u32),
    arguments: &mut [*mut c_void],
) -> anyhow::Result<()> {
    let module = Module::from_ptx(PTX, &[])?;
    let function = module.get_function(kernel)?;
    allow_dynamic_shared(&function, shared)?;
    // SAFETY: the callers pass one value for each parameter, of its type, and buffers of the sizes that it needs.
    unsafe { device.stream().launch(&function, grid, block, shared, arguments)? };
    device.synchronize()?;
    Ok(())
}

fn argument<T>(value: &mut T) -> *mut c_void {
    (&raw mut *value).cast()
}

fn matrices(device: &Device) -> anyhow::Result<()> {
    let words: Vec<u32> = (0..128).map(|i| i * 0x1_0003 + 7).collect();
    let (from, to) = (DeviceBuffer::from_slice(&words)?, DeviceBuffer::from_slice(&[0u32; 128])?);
    let (mut a, mut b) = (from.as_device_ptr(), to.as_device_ptr());
    launch(device, "matrices_turn", (1, 32, 0), &mut [argument(&mut a), argument(&mut b)])?;
    let got = to.as_host_vec()?;
    for (lane, i) in (0..32).flat_map(|lane| (0..4).map(move |i| (lane, i))) {
        // Loading begins with the rows of the last matrix.
        anyhow::ensure!(got[lane * 4 + i] == words[lane * 4 + (i + 3) % 4], "lane {lane}, word {i}");
    }
    Ok(())
}

fn ring(device: &Device, stages: u32) -> anyhow::Result<()> {
    let out = DeviceBuffer::from_slice(&[0u32; 129])?;
    let mut pointer = out.as_device_ptr();
    launch(device, &format!("ring_of_{stages}"), (1, 256, 0), &mut [argument(&mut pointer)])?;
    let sum: u32 = (0..blocks::roles::COUNT).sum();
    let mut expected = vec![sum; 128];
    expected.push(sum * 128);
    anyhow::ensure!(out.as_host_vec()? == expected);
    Ok(())
}

const HEIGHT: usize = 70;
const WIDTH: usize = 52;
/// Words from row to row: some are left over.
const PITCH: usize = 60;
const OLD: u32 = 0xEEEE_EEEE;

fn map<T: Element, S: Swizzle, B: BoxShape>(
    address: u64,
    extents: &[u64],
    pitches: &[u64],
) -> anyhow::Result<TensorMap<T, S, B>> {
    Ok(tensor_map(Tensor { address, extents, pitches, lines: None })?)
}

/// A matrix of `lines` lines of `length` elements, in boxes of a panel.
fn panels<T: Element, N: DeviceCopy>(
    matrix: &DeviceBuffer<N>,
    length: usize,
    lines: usize,
) -> anyhow::Result<TensorMap<T, tile::hopper::Swizzle128, T::Panel>> {
    map(matrix.as_device_ptr().as_raw(), &[length as u64, lines as u64], &[length as u64])
}

fn boxes(device: &Device, name: &str, columns: usize) -> anyhow::Result<()> {
    use tile::hopper::{Box2, NoSwizzle, Swizzle32, Swizzle64, Swizzle128};
    let numbers: Vec<u32> = (0..(HEIGHT * PITCH) as u32).collect();
    let from = DeviceBuffer::from_slice(&numbers)?;
    let rows = if name == "plain" {
        16
    } else if columns == 32 {
        64
    } else {
        32
    };
    // Coordinates along a line are multiples of 16 bytes: an H200 refuses others, and stores at negative ones.
    for ((x, y), goal) in [
        ((0, 0), (0, 0)),
        ((4, 3), (12, 3)),
        ((-8, -2), (0, 1)),
        ((-4, 5), (8, 0)),
        ((40, 60), (40, 60)),
        ((60, 0), (0, 68)),
    ] {
        let seen = DeviceBuffer::from_slice(&vec![OLD; rows * columns])?;
        let to = DeviceBuffer::from_slice(&vec![OLD; HEIGHT * PITCH])?;
        let kernel = format!("box_{name}");
        macro_rules! pass {
            ($swizzle:ty, $rows:literal, $columns:literal) => {{
                let map = |buffer: &DeviceBuffer<u32>| {
                    let address = buffer.as_device_ptr().as_raw();
                    map::<u32, $swizzle, Box2<$rows, $columns>>(
                        address,
                        &[WIDTH as u64, HEIGHT as u64],
                        &[PITCH as u64],
                    )
                };
                let (mut a, mut b, mut x, mut y, mut goal) = (map(&from)?, map(&to)?, x, y, goal);
                let mut pointer = seen.as_device_ptr();
                let mut arguments = [
                    argument(&mut a),
                    argument(&mut b),
                    argument(&mut x),
                    argument(&mut y),
                    argument(&mut goal.0),
                    argument(&mut goal.1),
                    argument(&mut pointer),
                ];
                launch(device, &kernel, (1, 32, blocks::boxes::SHARED_BYTES), &mut arguments)?;
            }};
        }
        match name {
            "plain" => pass!(NoSwizzle, 16, 32),
            "swizzled_32" => pass!(Swizzle32, 32, 8),
            "swizzled_64" => pass!(Swizzle64, 32, 16),
            _ => pass!(Swizzle128, 64, 32),
        }
        let (seen, to) = (seen.as_host_vec()?, to.as_host_vec()?);
        let mut expected = vec![OLD; HEIGHT * PITCH];
        for (row, col) in (0..rows).flat_map(|row| (0..columns).map(move |col| (row, col))) {
            let (at_row, at_col) = (row as i32 + y, col as i32 + x);
            let inside = (0..HEIGHT as i32).contains(&at_row) && (0..WIDTH as i32).contains(&at_col);
            let value = if inside { numbers[at_row as usize * PITCH + at_col as usize] } else { 0 };
            anyhow::ensure!(seen[row * columns + col] == value, "box at {x}, {y}: row {row}, column {col}");
            let (to_row, to_col) = (row + goal.1 as usize, col + goal.0 as usize);
            if to_row < HEIGHT && to_col < WIDTH {
                expected[to_row * PITCH + to_col] = value;
            }
        }
        anyhow::ensure!(to == expected, "the box at {x}, {y} comes out otherwise");
    }
    Ok(())
}

fn three_dimensions(device: &Device) -> anyhow::Result<()> {
    use tile::hopper::{Box3, Swizzle128};
    let (slices, rows, cols) = (3, 10, 40);
    let numbers: Vec<u32> = (0..slices * rows * cols).collect();
    let (from, to) =
        (DeviceBuffer::from_slice(&numbers)?, DeviceBuffer::from_slice(&vec![OLD; numbers.len()])?);
    let seen = DeviceBuffer::from_slice(&[OLD; 512])?;
    let map = |buffer: &DeviceBuffer<u32>| {
        let extents = [cols, rows, slices].map(u64::from);
        let pitches = [cols, rows * cols].map(u64::from);
        map::<u32, Swizzle128, Box3<2, 8, 32>>(buffer.as_device_ptr().as_raw(), &extents, &pitches)
    };
    let (mut a, mut b, (mut x, mut y, mut z)) = (map(&from)?, map(&to)?, (20i32, 4i32, 2i32));
    let mut goal = (20i32, 4i32, 2i32);
    let mut pointer = seen.as_device_ptr();
    let mut arguments = [
        argument(&mut a),
        argument(&mut b),
        argument(&mut x),
        argument(&mut y),
        argument(&mut z),
        argument(&mut goal.0),
        argument(&mut goal.1),
        argument(&mut goal.2),
        argument(&mut pointer),
    ];
    launch(device, "box_of_three_dimensions", (1, 32, blocks::boxes::SHARED_BYTES), &mut arguments)?;
    let (seen, to) = (seen.as_host_vec()?, to.as_host_vec()?);
    let mut expected = vec![OLD; numbers.len()];
    for index in 0..512 {
        let (slice, row, col) = (2 + index / 256, 4 + index / 32 % 8, 20 + index % 32);
        let place = ((slice * rows + row) * cols + col) as usize;
        let inside = slice < slices && row < rows && col < cols;
        let value = if inside { numbers[place] } else { 0 };
        anyhow::ensure!(seen[index as usize] == value, "slice {slice}, row {row}, column {col}");
        if inside {
            expected[place] = value;
        }
    }
    anyhow::ensure!(to == expected);
    Ok(())
}

fn multicast(device: &Device) -> anyhow::Result<()> {
    use tile::hopper::{Box2, Swizzle128};
    let numbers: Vec<u32> = (0..1024).collect();
    let from = DeviceBuffer::from_slice(&numbers)?;
    let seen = DeviceBuffer::from_slice(&[OLD; 4096])?;
    let mut a = map::<u32, Swizzle128, Box2<16, 32>>(from.as_device_ptr().as_raw(), &[32, 32], &[32])?;
    let mut pointer = seen.as_device_ptr();
    let mut arguments = [argument(&mut a), argument(&mut pointer)];
    launch(device, "box_for_both", (4, 32, blocks::boxes::SHARED_BYTES), &mut arguments)?;
    anyhow::ensure!(seen.as_host_vec()? == numbers.repeat(4));
    Ok(())
}

/// Small integers, the same for the same seed.
fn small(seed: usize) -> impl Fn(usize) -> i32 {
    move |i| ((i * 7919 + seed * 104_729) % 9) as i32 - 4
}

/// Sums of products and a bias, not below zero.
fn first_product(device: &Device) -> anyhow::Result<()> {
    let (m, n, k) = (100usize, 256usize, 200usize);
    let (a, b) = (small(1), small(2));
    let f16 = |value: i32| F16(half::f16::from_f32(value as f32));
    let on_a = DeviceBuffer::from_slice(&(0..m * k).map(|i| f16(a(i))).collect::<Vec<_>>())?;
    let on_b = DeviceBuffer::from_slice(&(0..n * k).map(|i| f16(b(i))).collect::<Vec<_>>())?;
    let bias: Vec<f32> = (0..n).map(|i| i as f32 - 100.0).collect();
    let (on_bias, mut out) =
        (DeviceBuffer::from_slice(&bias)?, DeviceBuffer::from_slice(&vec![f16(7777); m * n])?);
    let (map_a, map_b) = (panels::<half::f16, _>(&on_a, k, m)?, panels::<half::f16, _>(&on_b, k, n)?);
    let shape = Shape {
        grid: [n as u32 / 128, m.div_ceil(64) as u32, 1],
        block: [256, 1, 1],
        shared: first::SHARED_BYTES,
    };
    let arguments = (m as u32, n as u32, k as u32, map_a, map_b, &on_bias, &mut out);
    // SAFETY: the maps and buffers are of matrices of these extents.
    unsafe { device.kernel::<first::hopper_relu>(&LEVELS)?.launch(shape, arguments) }?;
    device.synchronize()?;
    for (i, got) in out.as_host_vec()?.into_iter().enumerate() {
        let (row, col) = (i / n, i % n);
        let sum: i32 = (0..k).map(|j| a(row * k + j) * b(col * k + j)).sum();
        let should = half::f16::from_f32((sum as f32 + bias[col]).max(0.0));
        anyhow::ensure!(got.0 == should, "row {row}, column {col}: {}, not {should}", got.0);
    }
    Ok(())
}

/// Sums that become an operand without leaving their registers.
fn attention(device: &Device) -> anyhow::Result<()> {
    use blocks::attention::{KEYS, SHARED_BYTES, WIDTH};
    let (heads, length, width) = (2usize, 2 * KEYS as usize, WIDTH as usize);
    let mut random = host::data::Random::new(5);
    let mut matrix = |scale: f32| -> Vec<F16> {
        let numbers = random.units(heads * length * width);
        numbers.into_iter().map(|unit| F16(half::f16::from_f32(unit * scale))).collect()
    };
    let (queries, keys, values) = (matrix(3.0), matrix(3.0), matrix(1.0));
    let buffers = [&queries, &keys, &values].map(|matrix| DeviceBuffer::from_slice(matrix));
    let [on_queries, on_keys, on_values] = buffers;
    let (on_queries, on_keys, on_values) = (on_queries?, on_keys?, on_values?);
    let out = DeviceBuffer::from_slice(&vec![F16(half::f16::NAN); queries.len()])?;
    let panels = |matrix| panels::<half::f16, F16>(matrix, width, heads * length);
    let (mut map_q, mut map_k, mut map_v) = (panels(&on_queries)?, panels(&on_keys)?, panels(&on_values)?);
    let scale = 1.0 / (width as f32).sqrt();
    let (mut length_, mut scale_) = (length as u32, scale);
    let mut pointer = out.as_device_ptr();
    let mut arguments = [
        argument(&mut length_),
        argument(&mut scale_),
        argument(&mut map_q),
        argument(&mut map_k),
        argument(&mut map_v),
        argument(&mut pointer),
    ];
    let grid = ((length / 128) as u32, heads as u32);
    launch(device, "attention", (grid, 384, SHARED_BYTES), &mut arguments)?;
    let got = out.as_host_vec()?;
    let bytes: Vec<u8> = got.iter().flat_map(|element| element.0.to_le_bytes()).collect();
    crate::goldens::compare(device, "attention_f16", &bytes)?;
    let line = |matrix: &[F16], at: usize| -> Vec<f64> {
        matrix[at * width..][..width].iter().map(|element| element.0.to_f64()).collect()
    };
    for head in 0..heads {
        let lines = head * length..(head + 1) * length;
        let keys: Vec<_> = lines.clone().map(|at| line(&keys, at)).collect();
        let values: Vec<_> = lines.clone().map(|at| line(&values, at)).collect();
        for at in lines {
            let query = line(&queries, at);
            let score =
                |key: &Vec<f64>| query.iter().zip(key).map(|(a, b)| a * b).sum::<f64>() * f64::from(scale);
            let weights: Vec<f64> = keys.iter().map(|key| score(key).exp()).collect();
            let total: f64 = weights.iter().sum();
            for (column, got) in line(&got, at).into_iter().enumerate() {
                let sum: f64 =
                    weights.iter().zip(&values).map(|(weight, value)| weight * value[column]).sum();
                let (mean, bound) = (sum / total, 1e-3); // probabilities and means of at most 1 are rounded to f16
                anyhow::ensure!((got - mean).abs() < bound, "query {at}, column {column}: {got}, not {mean}");
            }
        }
    }
    Ok(())
}

/// The example of `tile::mma`: a product of bytes whose edges lie inside of tiles.
fn documented_bytes(device: &Device) -> anyhow::Result<()> {
    let (m, n, k) = (70usize, 100usize, 208usize);
    let (a, b) = (small(3), small(4));
    let on_a = DeviceBuffer::from_slice(&(0..m * k).map(|i| a(i) as i8).collect::<Vec<_>>())?;
    let on_b = DeviceBuffer::from_slice(&(0..n * k).map(|i| b(i) as i8).collect::<Vec<_>>())?;
    let out = DeviceBuffer::from_slice(&vec![i32::MIN; m * n])?;
    let mut extents = [m as u32, n as u32, k as u32];
    let [m_, n_, k_] = &mut extents;
    let (mut a_, mut b_, mut c) = (on_a.as_device_ptr(), on_b.as_device_ptr(), out.as_device_ptr());
    let mut arguments =
        [argument(m_), argument(n_), argument(k_), argument(&mut a_), argument(&mut b_), argument(&mut c)];
    let grid = (n.div_ceil(64) as u32, m.div_ceil(64) as u32);
    launch(
        device,
        "byte_product",
        (grid, 128, blocks::examples::bytes::SHARED_BYTES as u32),
        &mut arguments,
    )?;
    for (i, got) in out.as_host_vec()?.into_iter().enumerate() {
        let (row, col) = (i / n, i % n);
        let sum: i32 = (0..k).map(|j| a(row * k + j) * b(col * k + j)).sum();
        anyhow::ensure!(got == sum, "row {row}, column {col}: {got}, not {sum}");
    }
    Ok(())
}

/// The example of `tile::hopper::cluster`.
fn documented_multicast(device: &Device) -> anyhow::Result<()> {
    use tile::hopper::{Box2, Swizzle128};
    let numbers: Vec<u32> = (0..2048).collect();
    let from = DeviceBuffer::from_slice(&numbers)?;
    let seen = DeviceBuffer::from_slice(&[OLD; 8192])?;
    let mut a = map::<u32, Swizzle128, Box2<32, 32>>(from.as_device_ptr().as_raw(), &[32, 64], &[32])?;
    let mut pointer = seen.as_device_ptr();
    launch(device, "half_for_both", (4, 128, 8192 + 2048), &mut [argument(&mut a), argument(&mut pointer)])?;
    anyhow::ensure!(seen.as_host_vec()? == numbers.repeat(4));
    Ok(())
}

/// Twice the product of 64 rows and n columns over 128 bytes of k, exactly.
fn product<T: Element, H: DeviceCopy>(
    device: &Device,
    kernel: &str,
    n: usize,
    layout: &str,
    element: impl Fn(i32) -> H,
) -> anyhow::Result<()> {
    let k = 128 / T::BYTES as usize;
    let (a, b) = (small(1), small(2));
    // By lines along k (rows of A, columns of B), or across.
    let stored = |number: &dyn Fn(usize) -> i32, lines: usize, across: bool| -> Vec<H> {
        let place = |i: usize| if across { i % lines * k + i / lines } else { i };
        (0..lines * k).map(|i| element(number(place(i)))).collect()
    };
    let (a_across, b_across) = (layout.starts_with('t'), layout.ends_with('n'));
    let on_a = DeviceBuffer::from_slice(&stored(&a, 64, a_across))?;
    let on_b = DeviceBuffer::from_slice(&stored(&b, n, b_across))?;
    let out = DeviceBuffer::from_slice(&vec![OLD; 64 * n])?;
    let panels = |matrix, lines, across| {
        let (length, lines) = if across { (lines, k) } else { (k, lines) };
        panels::<T, H>(matrix, length, lines)
    };
    let (mut map_a, mut map_b) = (panels(&on_a, 64, a_across)?, panels(&on_b, n, b_across)?);
    let mut pointer = out.as_device_ptr();
    let mut arguments = [argument(&mut map_a), argument(&mut map_b), argument(&mut pointer)];
    launch(device, kernel, (1, 128, blocks::products::shared_bytes(n as u32)), &mut arguments)?;
    for (i, bits) in out.as_host_vec()?.into_iter().enumerate() {
        let (row, col) = (i / n, i % n);
        let sum: i32 = (0..k).map(|j| a(row * k + j) * b(col * k + j)).sum();
        let got = if T::BYTES == 1 { bits as i32 as f64 } else { f64::from(f32::from_bits(bits)) };
        anyhow::ensure!(got == f64::from(2 * sum), "row {row}, column {col}: {got}, not {}", 2 * sum);
    }
    Ok(())
}
