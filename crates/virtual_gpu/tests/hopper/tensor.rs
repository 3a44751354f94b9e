//! Tensor copies in kernels written by hand (`tensor.ptx`), against loops over the tensor.

use crate::device::Device;
use virtual_gpu::Launch;
use virtual_gpu::tensor_map::{DataType, Swizzle, TensorMap};

const PTX: &str = include_str!("tensor.ptx");

const WIDTH: usize = 100;
const HEIGHT: usize = 40;
/// Bytes from row to row, with some left over.
const PITCH: usize = 224;

/// 40 rows of 100 16-bit numbers.
fn tensor() -> Vec<u8> {
    (0..HEIGHT * PITCH).map(|i| (i * 31 % 251) as u8).collect()
}

fn map(address: u64, box_width: u32, box_height: u32, swizzle: Swizzle) -> TensorMap {
    TensorMap {
        data_type: DataType::U16,
        rank: 2,
        address,
        dims: [WIDTH as u64, HEIGHT as u64, 1, 1, 1],
        strides: [PITCH as u64, 0, 0, 0],
        box_dims: [box_width, box_height, 1, 1, 1],
        element_strides: [1; 5],
        swizzle,
        nan_fill: false,
        im2col: None,
    }
}

fn params(map: &TensorMap, out: u64, numbers: &[i32]) -> Vec<u8> {
    let mut bytes = map.to_bytes().to_vec();
    bytes.extend(out.to_le_bytes());
    numbers.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
    bytes
}

/// Where a byte of a box is: the 16-byte pieces of row r are permuted.
fn place(swizzle: Swizzle, row_bytes: usize, row: usize, byte: usize) -> usize {
    let at = row * row_bytes + byte;
    let line = at / 128;
    let mix = match swizzle {
        Swizzle::None => 0,
        Swizzle::B32 => line % 2,
        Swizzle::B64 => line % 4,
        Swizzle::B128 => line % 8,
    };
    line * 128 + ((at % 128 / 16) ^ mix) * 16 + at % 16
}

/// The position in the tensor of the box's byte at (x, y); `None` outside.
fn byte_of(x: i32, y: i32, row: usize, byte: usize, width: usize) -> Option<usize> {
    let column = i64::from(x) + (byte / 2) as i64;
    let line = i64::from(y) + row as i64;
    let inside = (0..width as i64).contains(&column) && (0..HEIGHT as i64).contains(&line);
    inside.then(|| line as usize * PITCH + column as usize * 2 + byte % 2)
}

const BOXES: [(u32, u32, Swizzle); 4] =
    [(64, 32, Swizzle::B128), (32, 16, Swizzle::B64), (16, 64, Swizzle::B32), (128, 8, Swizzle::None)];
/// The first coordinate counts whole pieces of 16 bytes; only loads may start before the tensor.
const PLACES: [(i32, i32); 5] = [(0, 0), (8, 5), (88, 30), (200, 0), (-8, -3)];

#[test]
fn boxes_come_in_with_zeros_outside() {
    let device = Device::new(PTX);
    let data = tensor();
    let address = device.upload(&data);
    for (width, height, swizzle) in BOXES {
        let map = map(address, width, height, swizzle);
        map.validate().unwrap();
        let row_bytes = width as usize * 2;
        for (x, y) in PLACES {
            let bytes = row_bytes * height as usize;
            let out = device.upload(&vec![0xEE; bytes]);
            let params = params(&map, out, &[bytes as i32, x, y]);
            device.launch("load", Launch::new(1, 32), &params).unwrap_or_else(|error| panic!("{error}"));
            let read = device.download(out, bytes);
            for row in 0..height as usize {
                for byte in 0..row_bytes {
                    let expected = byte_of(x, y, row, byte, WIDTH).map_or(0, |at| data[at]);
                    let got = read[place(swizzle, row_bytes, row, byte)];
                    assert_eq!(got, expected, "{swizzle:?} box at {x}, {y}: row {row}, byte {byte}");
                }
            }
        }
    }
}

/// A store that crosses the tensor's edge writes the whole 16-byte piece there, as an H200 does.
const STORED: usize = WIDTH.next_multiple_of(8);

#[test]
fn boxes_go_out_and_leave_the_outside_alone() {
    let device = Device::new(PTX);
    for sum in [0, 1] {
        for (width, height, swizzle) in BOXES {
            for (x, y) in PLACES.into_iter().filter(|place| place.0 >= 0) {
                let before = tensor();
                let address = device.upload(&before);
                // A reduction adds 32-bit numbers: half as many.
                let map = match sum {
                    0 => map(address, width, height, swizzle),
                    _ => TensorMap { data_type: DataType::U32, ..map(address, width / 2, height, swizzle) },
                };
                let (x, data_x) = if sum == 0 { (x, x) } else { (x / 2, x / 2 * 2) };
                let map = if sum == 0 { map } else { TensorMap { dims: [50, 40, 1, 1, 1], ..map } };
                let row_bytes = width as usize * 2;
                let bytes = row_bytes * height as usize;
                let tile: Vec<u8> = (0..bytes).map(|i| (i * 17 % 241) as u8).collect();
                let from = device.upload(&tile);
                let params = params(&map, from, &[bytes as i32, x, y, sum]);
                device.launch("store", Launch::new(1, 32), &params).unwrap_or_else(|error| panic!("{error}"));
                let mut expected = before;
                for row in 0..height as usize {
                    for byte in 0..row_bytes {
                        if let Some(at) = byte_of(data_x, y, row, byte, STORED) {
                            expected[at] = tile[place(swizzle, row_bytes, row, byte)];
                        }
                    }
                }
                if sum == 1 {
                    // Stored, then added once more: doubled, as 32-bit integers.
                    for row in 0..height as usize {
                        for byte in (0..row_bytes).step_by(4) {
                            if let Some(at) = byte_of(data_x, y, row, byte, STORED) {
                                let number: [u8; 4] = expected[at..at + 4].try_into().unwrap();
                                let doubled = u32::from_le_bytes(number).wrapping_mul(2);
                                expected[at..at + 4].copy_from_slice(&doubled.to_le_bytes());
                            }
                        }
                    }
                }
                let after = device.download(address, expected.len());
                assert!(after == expected, "{swizzle:?} box at {x}, {y}, sum {sum}");
            }
        }
    }
}

/// Cases to which an H200 responds with an illegal instruction.
#[test]
fn coordinates_that_copies_may_not_start_at() {
    let device = Device::new(PTX);
    let map = map(device.upload(&tensor()), 64, 32, Swizzle::B128);
    let out = device.upload(&[0u8; 4096]);
    for (kernel, x, y, why) in [
        ("load", 3, 0, "a multiple of 16 bytes"),
        ("load", -1, 0, "a multiple of 16 bytes"),
        ("store", 4, 0, "a multiple of 16 bytes"),
        ("store", -8, 0, "must not be negative"),
        ("store", 0, -1, "must not be negative"),
    ] {
        let extra: &[i32] = if kernel == "load" { &[4096, x, y] } else { &[4096, x, y, 0] };
        let error = device.launch(kernel, Launch::new(1, 32), &params(&map, out, extra)).unwrap_err();
        assert_eq!(error.cuda_code(), 715, "{kernel} at {x}, {y}");
        assert!(error.to_string().contains(why), "{error}");
    }
}

#[test]
fn a_box_goes_to_both_blocks_of_a_cluster() {
    let device = Device::new(PTX);
    let data = tensor();
    let map = map(device.upload(&data), 32, 8, Swizzle::None);
    let out = device.upload(&[0; 1024]);
    let launch = Launch { cluster: [2, 1, 1], ..Launch::new(2, 32) };
    device.launch("multicast", launch, &params(&map, out, &[])).unwrap_or_else(|error| panic!("{error}"));
    let expected: Vec<u8> = (0..8).flat_map(|row| data[row * PITCH..row * PITCH + 64].to_vec()).collect();
    let read = device.download(out, 1024);
    assert!(read[..512] == expected && read[512..] == expected);
}

#[test]
fn a_kernel_changes_a_map() {
    let device = Device::new(PTX);
    let data = tensor();
    let address = device.upload(&data);
    // Elsewhere, too high and too wide, until the kernel has changed it.
    let stale = map(address + 16 * PITCH as u64, 16, 64, Swizzle::None);
    let maps = device.upload(&stale.to_bytes());
    let out = device.upload(&[0xEE; 128]);
    let params = crate::device::pointers(&[maps, address, out]);
    device.launch("replaced", Launch::new(1, 32), &params).unwrap_or_else(|error| panic!("{error}"));
    let read = device.download(out, 128);
    for (i, &byte) in read.iter().enumerate() {
        let expected = if i % 32 < 20 { data[i / 32 * PITCH + i % 32] } else { 0 };
        assert_eq!(byte, expected, "byte {i}");
    }
}
