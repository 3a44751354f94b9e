//! Launches that do not fit: refused before anything runs, with both values.

use blockwise_kernels::coalescing::safe_offset;
use blockwise_kernels::histogram::safe_histogram_global;
use blockwise_kernels::otherwise::hygiene::former::*;
use blockwise_kernels::otherwise::hygiene::{safe_constants, types::safe_other_names};
use blockwise_kernels::otherwise::shadowed::{safe_left_and_right, safe_pair_and_slice};
use blockwise_kernels::otherwise::{
    Marked, safe_other_array, safe_other_block, safe_other_constant, safe_other_element, safe_other_map,
    safe_other_requirement, safe_other_struct, safe_place,
};
use blockwise_kernels::product::safe_matmul_naive;
use blockwise_kernels::scan::safe_scan_parts;
use blockwise_kernels::vecadd::{safe_sum_of_numbers, safe_vecadd};
use warpsmith_launch::{Buffer, Device, LaunchOptions, Level, Levels};

use super::levels;

/// What is said of a launch.
macro_rules! refusal {
    ($device:ident, $kernel:ident, $levels:expr, $arguments:expr) => {{
        let kernel = $device.kernel::<$kernel>($levels).unwrap();
        let launch = $device.scope(|scope| scope.launch(&kernel, $arguments));
        launch.unwrap_err().to_string()
    }};
}

pub fn outputs_that_ask_for_different_grids_are_refused(device: &Device) {
    let kernel = device.kernel::<safe_scan_parts>(levels()).unwrap();
    let [x, mut inclusive, mut exclusive] =
        [1000, 1000, 700].map(|len| device.upload(&vec![0u32; len]).unwrap());
    let mut totals = device.upload(&[0u32; 4]).unwrap();
    let launch =
        device.scope(|scope| scope.launch(&kernel, (&x, &mut inclusive, &mut exclusive, &mut totals)));
    assert_eq!(
        launch.unwrap_err().to_string(),
        "cannot launch `safe_scan_parts`: `inclusive` has parts for 4 blocks along x, `exclusive` for 3"
    );
}

pub fn a_chosen_grid_is_compared_with_the_outputs(device: &Device) {
    let kernel = device.kernel::<safe_vecadd>(levels()).unwrap();
    let [a, b, mut sum] = [0, 0, 0].map(|_| device.upload(&[0.0f32; 300]).unwrap());
    let choice = LaunchOptions { grid: Some([2, 2, 1]), ..LaunchOptions::default() };
    let launch = device.scope(|scope| scope.launch_with(&kernel, choice, (&a, &b, &mut sum)));
    assert_eq!(
        launch.unwrap_err().to_string(),
        "cannot launch `safe_vecadd`: the grid has 2 blocks along y, `sum` has parts for 1"
    );
}

pub fn a_grid_that_nothing_decides_must_be_chosen(device: &Device) {
    let kernel = device.kernel::<safe_histogram_global>(levels()).unwrap();
    let (bytes, mut counts) = (device.upload(&[0u8; 10]).unwrap(), device.upload(&[0u32; 256]).unwrap());
    let launch = device.scope(|scope| scope.launch(&kernel, (&bytes, &mut counts)));
    assert_eq!(
        launch.unwrap_err().to_string(),
        "cannot launch `safe_histogram_global`: no output decides the grid: choose one"
    );
}

pub fn elements_that_make_no_matrix_are_refused(device: &Device) {
    let matrix = device.upload_matrix(&[0.0f32; 7], 2, 4);
    assert_eq!(matrix.err().unwrap().to_string(), "7 elements do not make a matrix of 2 rows and 4 columns");
    assert!(device.upload_matrix::<f32>(&[], usize::MAX, 2).is_err());
}

pub fn extents_that_a_kernel_requires_are_compared_before_it_runs(device: &Device) {
    let kernel = device.kernel::<safe_vecadd>(levels()).unwrap();
    let [a, b, mut sum] = [300, 200, 300].map(|len| device.upload(&vec![0.0f32; len]).unwrap());
    let launch = device.scope(|scope| scope.launch(&kernel, (&a, &b, &mut sum)));
    assert_eq!(
        launch.unwrap_err().to_string(),
        "cannot launch `safe_vecadd`: it requires b.len() == sum.len(), and was given 200 and 300"
    );
}

pub fn numbers_that_a_kernel_requires_something_of_are_compared_before_it_runs(device: &Device) {
    let [from, mut to] = [300, 297].map(|len| device.upload(&vec![0.0f32; len]).unwrap());
    assert_eq!(
        refusal!(device, safe_offset, levels(), (4u32, &from, &mut to)),
        "cannot launch `safe_offset`: it requires from.len() >= to.len() + offset, and was given 300 and 301"
    );
    // What no number holds is not less than anything.
    let to_the_end = usize::MAX - 296;
    assert_eq!(
        refusal!(device, safe_sum_of_numbers, levels(), (to_the_end, &mut to)),
        format!(
            "cannot launch `safe_sum_of_numbers`: it requires to.len() + number < 1000, and was given {} and 1000",
            usize::MAX
        )
    );
}

fn words(device: &Device, len: usize) -> Buffer<u32> {
    device.upload(&vec![0; len]).unwrap()
}

pub fn a_kernel_that_host_and_device_compile_differently_is_refused(device: &Device) {
    let (from, mut to) = (words(device, 64), words(device, 64));
    let begins = "differs between PTX and host: its";
    assert_eq!(
        refusal!(device, safe_other_map, levels(), (&mut to,)),
        format!(
            "kernel `safe_other_map` {begins} parameter 1 is an output of `u32` by `Part<4>` on the host and an output of `u32` by \
             `Part<8>` in the PTX"
        )
    );
    assert_eq!(
        refusal!(device, safe_other_block, levels(), (&mut to,)),
        format!(
            "kernel `safe_other_block` {begins} blocks are 32 × 1 × 1 on the host and 64 × 1 × 1 in the PTX"
        )
    );
    assert_eq!(
        refusal!(device, safe_other_element, levels(), (&from, &mut to)),
        format!(
            "kernel `safe_other_element` {begins} parameter 1 is a slice of `u32` on the host and a slice of `char` in the PTX"
        )
    );
    assert_eq!(
        refusal!(device, safe_other_requirement, levels(), (&from, &mut to)),
        "kernel `safe_other_requirement` differs between PTX and host: it requires nothing on the host and len() of \
         parameter 1 == len() of parameter 2 in the PTX"
    );
    assert_eq!(
        refusal!(device, safe_other_constant, levels(), (&from, &mut to)),
        "kernel `safe_other_constant` differs between PTX and host: it requires len() of parameter 1 == 64 on the \
         host and len() of parameter 1 == 32 in the PTX"
    );
    let quads = device.upload(&[[0u8, 1, 2, 3]; 8]).unwrap();
    assert_eq!(
        refusal!(device, safe_other_array, levels(), (&quads, &mut to)),
        format!(
            "kernel `safe_other_array` {begins} parameter 1 is a slice of a type of 4 bytes aligned to 1 on both, whose name or \
             fields differ"
        )
    );
    assert_eq!(
        refusal!(device, safe_other_struct, levels(), (Marked { number: 2, is_marked: true }, &mut to)),
        format!(
            "kernel `safe_other_struct` {begins} parameter 1 is a type of 2 bytes aligned to 1 on both, whose name or fields differ"
        )
    );
}

pub fn a_kernel_of_the_same_name_and_parameters_from_elsewhere_is_refused(device: &Device) {
    let ptx = levels().all()[0].ptx();
    let numbers = |kernel: &str| {
        let mark = format!("// warpsmith.blockwise.{kernel} ");
        ptx.lines().find_map(|line| line.strip_prefix(&mark)).unwrap()
    };
    let from = |numbers: &str, elsewhere: &str| {
        let ptx = ptx.replacen(numbers, elsewhere, 1);
        Levels::new(Vec::leak(vec![Level::new(ptx.leak())]))
    };
    let (mut to, ours) = (words(device, 32), numbers("safe_suits"));
    let begins = "kernel `safe_suits` differs between PTX and host: it is";
    // Eight letters of the identity, as the number that they are.
    let letters = |text: &[u8; 8]| u64::from_le_bytes(*text).to_string();
    let version = env!("CARGO_PKG_VERSION");
    let package = from(ours, &ours.replacen(&letters(b"blockwis"), &letters(b"otherwis"), 1));
    assert_eq!(
        refusal!(device, safe_suits, &package, (&mut to,)),
        format!(
            "{begins} of the package `blockwise_kernels {version}` on the host and `otherwise_kernels {version}` in the PTX"
        )
    );
    let signature = from(ours, numbers("safe_fingerprint"));
    assert_eq!(
        refusal!(device, safe_suits, &signature, (&mut to,)),
        format!(
            "{begins} written `fn safe_suits ( block : Block < suits > , mut to : SliceMut < u32 , Part < suits > > )` on the host and \
             `fn safe_fingerprint ( block : Block < FINGERPRINT > , mut to : SliceMut < u32 , Part < FINGERPRINT > > )` in the PTX"
        )
    );
    let module = from(ours, numbers("safe_other_map"));
    assert_eq!(
        refusal!(device, safe_suits, &module, (&mut to,)),
        format!(
            "{begins} in the module `blockwise_kernels::otherwise::hygiene::former` on the host and \
             `blockwise_kernels::otherwise` in the PTX"
        )
    );
}

pub fn names_beside_a_kernel_do_not_change_what_it_takes_for_granted(device: &Device) {
    let kernel = device.kernel::<safe_left_and_right>(levels()).unwrap();
    let (from, mut to) = (device.upload(&[3u32; 40]).unwrap(), words(device, 40));
    device.scope(|scope| scope.launch(&kernel, (&from, &from, &mut to))).unwrap();
    assert_eq!(device.download(&to).unwrap(), [6; 40]);

    let (kernel, short) = (device.kernel::<safe_pair_and_slice>(levels()).unwrap(), words(device, 39));
    device.scope(|scope| scope.launch(&kernel, ((1u32, 2u32), &from, &mut to))).unwrap();
    assert_eq!(device.download(&to).unwrap(), [6; 40]);
    assert_eq!(
        refusal!(device, safe_pair_and_slice, levels(), ((1u32, 2u32), &short, &mut to)),
        "cannot launch `safe_pair_and_slice`: it requires from.len() == to.len(), and was given 39 and 40"
    );
}

pub fn constants_of_any_name_are_the_kernels_own(device: &Device) {
    let (from, mut to) =
        (device.upload(&std::array::from_fn::<u32, 64, _>(|i| i as u32)).unwrap(), words(device, 64));
    let kernel = device.kernel::<safe_constants>(levels()).unwrap();
    device.scope(|scope| scope.launch(&kernel, (&from, &mut to))).unwrap();
    assert_eq!(device.download(&to).unwrap(), std::array::from_fn::<u32, 64, _>(|i| 63 - i as u32));
    let (from, mut to) = (words(device, 97), words(device, 97));
    assert_eq!(
        refusal!(device, safe_constants, levels(), (&from, &mut to)),
        "cannot launch `safe_constants`: it requires from.len() <= BLOCK + LAYOUT, and was given 97 and 96"
    );
    macro_rules! each {
        ($($kernel:ident)*) => {$(
            let mut to = words(device, 40);
            let kernel = device.kernel::<$kernel>(levels()).unwrap();
            device.scope(|scope| scope.launch(&kernel, (&mut to,))).unwrap();
            assert_eq!(device.download(&to).unwrap(), std::array::from_fn::<u32, 40, _>(|i| i as u32 + 32));
        )*};
    }
    each! {
        safe_suits safe_fingerprint safe_names safe_bounds safe_blockwise safe_linear safe_extents safe_p0 safe_p1 safe_value safe_left
        safe_right safe_shared_array safe_entry
    }
}

pub fn types_by_rusts_own_names_are_the_kernels_own(device: &Device) {
    let mut to = words(device, 40);
    let kernel = device.kernel::<safe_other_names>(levels()).unwrap();
    device.scope(|scope| scope.launch(&kernel, (3u8, 1000u32, &mut to))).unwrap();
    assert_eq!(device.download(&to).unwrap(), std::array::from_fn::<u32, 40, _>(|i| i as u32 + 1003));
}

pub fn what_is_empty_lies_somewhere(device: &Device) {
    let kernel = device.kernel::<safe_place>(levels()).unwrap();
    let (slice, mut to) = (device.upload::<u64>(&[]).unwrap(), words(device, 40));
    device.scope(|scope| scope.launch(&kernel, (&slice, &mut to))).unwrap();
    assert_eq!(device.download(&to).unwrap(), [8; 40]);
}

pub fn ptx_that_does_not_say_what_the_kernel_is_is_refused(device: &Device) {
    let ptx = levels().all()[0].ptx().replace("// warpsmith.blockwise.", "// ");
    let unmarked = Levels::new(Vec::leak(vec![Level::new(ptx.leak())]));
    let [a, b, mut sum] = [0, 0, 0].map(|_| device.upload(&[0.0f32; 300]).unwrap());
    assert_eq!(
        refusal!(device, safe_vecadd, &unmarked, (&a, &b, &mut sum)),
        "kernel `safe_vecadd` differs between PTX and host: it is without `unsafe` on the host, and the PTX does not \
         say so"
    );
}

pub fn more_blocks_than_the_device_admits_are_refused(device: &Device) {
    let rows = 16 * 70_000;
    let [a, b, mut c] = [(rows, 1), (1, 1), (rows, 1)]
        .map(|(r, c)| device.upload_matrix(&vec![0.0f32; r * c], r, c).unwrap());
    assert_eq!(
        refusal!(device, safe_matmul_naive, levels(), (&a, &b, &mut c)),
        "cannot launch `safe_matmul_naive`: the grid has 70000 blocks along y, the device admits 65535"
    );
}
