//! What is undefined goes along with tensor copies and products of matrices: exactly those bytes of the result are
//! undefined that change with the bytes of the source that were never written.

use gpu_model::chips::{B200, H200};
use sanitizer::{Check, Checks, Sanitizer};
use virtual_gpu::tensor_map::{DataType, Swizzle, TensorMap};
use virtual_gpu::{Gpu, Launch, Options};

const TENSORS: &str = include_str!("../../virtual_gpu/tests/hopper/tensor.ptx");
const MATRICES: &str = include_str!("../../virtual_gpu/tests/hopper/matrix.ptx");

/// A buffer of a run: what is in it, and which bytes of that the host never wrote.
#[derive(Clone)]
struct Buffer {
    bytes: Vec<u8>,
    holes: Vec<usize>,
}

impl Buffer {
    fn of(bytes: Vec<u8>, holes: impl IntoIterator<Item = usize>) -> Self {
        Buffer { bytes, holes: holes.into_iter().collect() }
    }
}

/// Runs a kernel on buffers, the last of which is the result: its bytes, and whether each is undefined.
fn run(
    ptx: &str,
    (kernel, launch): (&str, Launch),
    buffers: &[Buffer],
    params: &dyn Fn(&[u64]) -> Vec<u8>,
) -> (Vec<u8>, Vec<bool>) {
    let sanitizer = Sanitizer::new(Checks::ALL);
    let chip = if ptx.contains(".target sm_100") { &B200 } else { &H200 };
    let gpu = Gpu::with_options(chip, Options { threads: 1, ..Options::default() });
    let module = gpu.load(ptx).unwrap_or_else(|error| panic!("{error}"));
    let memory = gpu.memory();
    let addresses: Vec<u64> = buffers
        .iter()
        .map(|buffer| {
            let size = buffer.bytes.len() as u64;
            let address = memory.alloc(size).unwrap();
            sanitizer.host_allocated(address, size, None);
            memory.write(address, &buffer.bytes).unwrap();
            for at in (0..buffer.bytes.len()).filter(|at| !buffer.holes.contains(at)) {
                sanitizer.host_wrote(address + at as u64, 1);
            }
            address
        })
        .collect();
    let kernel = module.kernel(kernel).unwrap();
    let params = params(&addresses);
    gpu.launch(&kernel, &launch, &params, &mut sanitizer.launch()).unwrap_or_else(|error| panic!("{error}"));
    let decided: Vec<_> =
        sanitizer.findings().into_iter().filter(|found| found.check() == Check::Init).collect();
    assert!(decided.is_empty(), "nothing that is undefined decides anything: {decided:#?}");
    let (&result, buffer) = addresses.iter().zip(buffers).next_back().unwrap();
    let mut bytes = vec![0; buffer.bytes.len()];
    memory.read(result, &mut bytes).unwrap();
    // One finding stands for all bytes of a buffer: the calls that add to it are counted.
    let reads_undefined = |at: u64| {
        let before = sanitizer.told_of_host();
        sanitizer.host_read(result + at, 1);
        sanitizer.told_of_host() > before
    };
    let undefined = (0..bytes.len() as u64).map(reads_undefined).collect();
    (bytes, undefined)
}

/// The bytes of the result that change when the holes hold something else, in groups that change as one, are those that
/// are undefined.
fn expect_exact(
    what: &str,
    ptx: &str,
    kernel: (&str, Launch),
    buffers: &[Buffer],
    params: &dyn Fn(&[u64]) -> Vec<u8>,
    group: usize,
) {
    let (first, undefined) = run(ptx, kernel, buffers, params);
    let mut changes = vec![false; first.len()];
    for turn in [0x1u8, 0x2, 0x80] {
        let mut buffers = buffers.to_vec();
        for buffer in &mut buffers {
            buffer.holes.iter().for_each(|&at| buffer.bytes[at] ^= turn);
        }
        let (other, _) = run(ptx, kernel, &buffers, params);
        changes.iter_mut().zip(first.iter().zip(other)).for_each(|(is, (&a, b))| *is |= a != b);
    }
    for group in changes.chunks_mut(group) {
        let any = group.contains(&true);
        group.fill(any);
    }
    assert!(changes.contains(&true) && changes.contains(&false), "{what}: the test shows nothing");
    let wrong: Vec<usize> = (0..first.len()).filter(|&at| changes[at] != undefined[at]).collect();
    assert!(wrong.is_empty(), "{what}: wrong at {wrong:?}");
}

const WIDTH: usize = 100;
const HEIGHT: usize = 40;
const PITCH: usize = 224;

fn tensor() -> Vec<u8> {
    (0..HEIGHT * PITCH).map(|i| (i * 31 % 251) as u8).collect()
}

const BOXES: [(u32, u32, Swizzle); 4] =
    [(64, 32, Swizzle::B128), (32, 16, Swizzle::B64), (16, 64, Swizzle::B32), (128, 8, Swizzle::None)];

fn map(address: u64, (width, height, swizzle): (u32, u32, Swizzle), data_type: DataType) -> TensorMap {
    TensorMap {
        data_type,
        rank: 2,
        address,
        dims: [(2 * WIDTH / data_type.size() as usize) as u64, HEIGHT as u64, 1, 1, 1],
        strides: [PITCH as u64, 0, 0, 0],
        box_dims: [width * 2 / data_type.size(), height, 1, 1, 1],
        element_strides: [1; 5],
        swizzle,
        nan_fill: false,
        im2col: None,
    }
}

fn tensor_params(map: TensorMap, other: u64, numbers: &[i32]) -> Vec<u8> {
    let mut params = map.to_bytes().to_vec();
    params.extend(other.to_le_bytes());
    numbers.iter().for_each(|number| params.extend(number.to_le_bytes()));
    params
}

#[test]
fn boxes_bring_what_is_undefined_to_where_its_bytes_go() {
    for form in BOXES {
        let (width, height, swizzle) = form;
        let bytes = (width * 2 * height) as usize;
        // A few bytes of row 4, all of row 8, and one at the edge.
        let holes = (4 * PITCH + 18..4 * PITCH + 53).chain(8 * PITCH..9 * PITCH).chain([12 * PITCH + 199]);
        let buffers = [Buffer::of(tensor(), holes), Buffer::of(vec![0xEE; bytes], [])];
        for (x, y) in [(0, 0), (8, 5), (88, 6), (-8, -3)] {
            let params =
                |at: &[u64]| tensor_params(map(at[0], form, DataType::U16), at[1], &[bytes as i32, x, y]);
            let what = format!("{swizzle:?} from {x}, {y}");
            expect_exact(&what, TENSORS, ("load", Launch::new(1, 32)), &buffers, &params, 1);
        }
    }
}

#[test]
fn boxes_take_what_is_undefined_out_of_shared_memory() {
    for form in BOXES {
        let bytes = (form.0 * 2 * form.1) as usize;
        let tile: Vec<u8> = (0..bytes).map(|i| (i * 17 % 241) as u8).collect();
        let buffers = [Buffer::of(tile, (300..335).chain([1000, 1023])), Buffer::of(tensor(), [])];
        let params =
            |at: &[u64]| tensor_params(map(at[1], form, DataType::U16), at[0], &[bytes as i32, 8, 5, 0]);
        expect_exact(&format!("{:?}", form.2), TENSORS, ("store", Launch::new(1, 32)), &buffers, &params, 1);
    }
}

#[test]
fn a_reduction_with_something_undefined_is_reported_also_when_a_swizzle_moves_it() {
    for form in BOXES {
        for (hole, found) in [(None, false), (Some(304usize), true)] {
            let bytes = (form.0 * 2 * form.1) as usize;
            let sanitizer = Sanitizer::new(Checks::ALL);
            let gpu = Gpu::with_options(&H200, Options { threads: 1, ..Options::default() });
            let module = gpu.load(TENSORS).unwrap();
            let [tile, tensor] = [bytes, HEIGHT * PITCH].map(|size| {
                let address = gpu.memory().alloc(size as u64).unwrap();
                sanitizer.host_allocated(address, size as u64, None);
                address
            });
            let first = hole.unwrap_or(bytes);
            sanitizer.host_wrote(tile, first as u64);
            sanitizer.host_wrote(tile + first as u64 + 1, (bytes - first).saturating_sub(1) as u64);
            sanitizer.host_wrote(tensor, (HEIGHT * PITCH) as u64);
            let params = tensor_params(map(tensor, form, DataType::U32), tile, &[bytes as i32, 0, 0, 1]);
            let kernel = module.kernel("store").unwrap();
            gpu.launch(&kernel, &Launch::new(1, 32), &params, &mut sanitizer.launch()).unwrap();
            let init = sanitizer.findings().iter().any(|finding| finding.check() == Check::Init);
            assert_eq!(init, found, "{:?} {hole:?}", form.2);
        }
    }
}

/// Small numbers of 16 bits, of which no product is zero.
fn halves(count: usize, one: u16) -> Vec<u8> {
    (0..count).flat_map(|i| (one + (i * 37 % 61) as u16).to_le_bytes()).collect()
}

const F16: u16 = 0x3C00;
const BF16: u16 = 0x3F80;

fn pointers(at: &[u64]) -> Vec<u8> {
    at.iter().flat_map(|address| address.to_le_bytes()).collect()
}

#[test]
fn an_element_decides_its_row_or_its_column() {
    // One element of A or B each: its low byte.
    for (kernel, threads, one, [a, b, out]) in [
        ("multiply", 32, F16, [256, 128, 128]),
        ("fragments", 32, F16, [256, 256, 256]),
        ("group", 128, BF16, [1024, 256, 1024]),
    ] {
        for (in_a, in_b) in [(Some(37), None), (None, Some(53)), (Some(200), Some(7))] {
            let buffers = [
                Buffer::of(halves(a, one), in_a.map(|element| 2 * element)),
                Buffer::of(halves(b, one), in_b.map(|element| 2 * element)),
                Buffer::of(vec![0; 4 * out], []),
            ];
            let what = format!("{kernel} {in_a:?} {in_b:?}");
            expect_exact(&what, MATRICES, (kernel, Launch::new(1, threads)), &buffers, &pointers, 4);
        }
    }
}

#[test]
fn a_sparse_product_is_undefined_where_its_elements_or_its_metadata_are() {
    // Four words of A and one of metadata a thread; the third and fourth lanes of a quad hold the metadata.
    let mut a = halves(128 * 10, F16);
    for thread in 0..128 {
        a[thread * 20 + 16..][..4].copy_from_slice(&0x9494_9494u32.to_le_bytes());
    }
    for (what, in_a, in_b) in [
        ("an element", Some(20 * 41 + 2), None),
        ("metadata", Some(20 * 42 + 16), None),
        ("metadata of the lower half", Some(20 * 43 + 18), None),
        ("metadata that nobody looks at", Some(20 * 40 + 16), Some(66)),
        ("a column", None, Some(66)),
    ] {
        let buffers = [
            Buffer::of(a.clone(), in_a),
            Buffer::of(halves(256, F16), in_b),
            Buffer::of(vec![0; 4 * 512], []),
        ];
        expect_exact(what, MATRICES, ("sparse_group", Launch::new(1, 128)), &buffers, &pointers, 4);
    }
}

#[test]
fn matrices_in_registers_are_undefined_element_by_element_on_their_way() {
    let buffers =
        [Buffer::of(halves(64, F16), [10, 11, 77]), Buffer::of(vec![0; 4], []), Buffer::of(vec![0; 256], [])];
    expect_exact("transpose", MATRICES, ("transpose", Launch::new(1, 32)), &buffers, &pointers, 1);
}

#[test]
fn an_accumulator_counts_if_it_is_added_to() {
    // The second product of `group` adds to the first; without that the first one's operands alone decide.
    let whole = halves(1024, BF16);
    let undefined = |accumulate: &str| {
        let ptx = MATRICES.replace("setp.eq.u32 %t, 0, 0;", accumulate).replace(
            "bar.sync 0;\n    // Leading distance",
            "bar.sync 0;\n    ld.global.f32 %f1, [%rd3];\n    SET\n    // Leading distance",
        );
        // D's own element, of which the first product makes nothing; then it is one of the sum.
        let ptx = ptx.replace("setp.ne.u32 %t, 0, 0;", accumulate);
        let others: String = (2..=8).map(|i| format!("mov.f32 %f{i}, 0f3F800000;\n")).collect();
        let ptx = ptx.replace("SET", &others);
        let buffers = [
            Buffer::of(whole.clone(), []),
            Buffer::of(halves(256, BF16), []),
            Buffer::of(vec![0; 4096], 0..4),
        ];
        let (_, undefined) = run(&ptx, ("group", Launch::new(1, 128)), &buffers, &pointers);
        undefined.iter().filter(|&&is| is).count()
    };
    assert_eq!(undefined("setp.ne.u32 %t, 0, 0;"), 0);
    // The first register of each thread.
    assert_eq!(undefined("setp.eq.u32 %t, 0, 0;"), 4 * 128);
}

/// Threads hand 16 bytes each to a block of their cluster, or a copy hands some bytes of each 16 to global memory.
const SENT: &str = "
.version 8.6
.target sm_100
.address_size 64

.visible .entry sends(.param .u64 from, .param .u64 to) {
    .shared .align 16 .b8 tile[512];
    .shared .align 8 .b64 arrived;
    .reg .b32 %t, %tile, %bar, %there, %signal, %v<4>; .reg .b64 %from, %to, %at, %state; .reg .pred %p;
    ld.param.u64 %from, [from]; ld.param.u64 %to, [to];
    mov.u32 %t, %tid.x; mul.wide.u32 %at, %t, 16; add.u64 %from, %from, %at; add.u64 %to, %to, %at;
    shl.b32 %t, %t, 4; mov.u32 %tile, tile; add.u32 %tile, %tile, %t; mov.u32 %bar, arrived;
    setp.ne.u32 %p, %t, 0;
    @%p bra made;
    mbarrier.init.shared::cta.b64 [%bar], 1;
    mbarrier.arrive.expect_tx.shared::cta.b64 %state, [%bar], 512;
made:
    bar.sync 0;
    ld.global.v4.b32 {%v0, %v1, %v2, %v3}, [%from];
    mapa.shared::cluster.u32 %there, %tile, 0;
    mapa.shared::cluster.u32 %signal, %bar, 0;
    st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%there], {%v0, %v1, %v2, %v3}, [%signal];
wait:
    mbarrier.try_wait.parity.shared::cta.b64 %p, [%bar], 0;
    @!%p bra wait;
    ld.shared.v4.b32 {%v0, %v1, %v2, %v3}, [%tile];
    st.global.v4.b32 [%to], {%v0, %v1, %v2, %v3};
    ret;
}

.visible .entry masks(.param .u64 from, .param .u64 to) {
    .shared .align 16 .b8 tile[512];
    .reg .b32 %t, %tile, %v<4>; .reg .b16 %mask; .reg .b64 %from, %to, %at; .reg .pred %p;
    ld.param.u64 %from, [from]; ld.param.u64 %to, [to];
    mov.u32 %t, %tid.x; mul.wide.u32 %at, %t, 16; add.u64 %from, %from, %at;
    shl.b32 %t, %t, 4; mov.u32 %tile, tile; add.u32 %tile, %tile, %t;
    ld.global.v4.b32 {%v0, %v1, %v2, %v3}, [%from];
    st.shared.v4.b32 [%tile], {%v0, %v1, %v2, %v3};
    fence.proxy.async;
    bar.sync 0;
    setp.ne.u32 %p, %t, 0;
    @%p bra done;
    mov.u16 %mask, 0x8F31;
    cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%to], [%tile], 512, %mask;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
done:
    ret;
}
";

#[test]
fn what_threads_send_to_a_block_is_as_undefined_as_their_registers() {
    let buffers = [
        Buffer::of((0..512).map(|i| (i % 251) as u8).collect(), [3, 17, 100, 101, 102, 511]),
        Buffer::of(vec![0; 512], []),
    ];
    expect_exact("st.async", SENT, ("sends", Launch::new(1, 32)), &buffers, &pointers, 1);
}

#[test]
fn what_a_mask_keeps_back_stays_as_it_was() {
    let buffers = [
        Buffer::of((0..512).map(|i| (i % 251) as u8).collect(), [0, 1, 32, 33, 34, 35, 36, 500]),
        Buffer::of(vec![7; 512], [0, 1, 2, 48, 49, 52, 250]),
    ];
    expect_exact("cp_mask", SENT, ("masks", Launch::new(1, 32)), &buffers, &pointers, 1);
}

/// A scan over a warp, of which the upper half of the lanes has nothing.
#[test]
fn whether_a_lane_is_in_range_of_a_shuffle_is_known_whatever_the_value() {
    let ptx = "
.version 7.0
.target sm_70
.address_size 64
.visible .entry scan(.param .u64 from, .param .u64 to)
{
    .reg .pred %p;
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [from];
    ld.param.u64 %rd2, [to];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 4;
    add.u64 %rd1, %rd1, %rd3;
    add.u64 %rd2, %rd2, %rd3;
    ld.global.u32 %r2, [%rd1];
    shfl.sync.up.b32 %r3|%p, %r2, 1, 0, -1;
    @%p add.u32 %r3, %r3, %r2;
    st.global.u32 [%rd2], %r3;
    ret;
}";
    let from = Buffer::of((0..32u32).flat_map(u32::to_le_bytes).collect(), 64..128);
    let params = |buffers: &[u64]| buffers.iter().flat_map(|buffer| buffer.to_le_bytes()).collect();
    let to = Buffer::of(vec![0; 128], []);
    let (sums, undefined) = run(ptx, ("scan", Launch::new(1, 32)), &[from, to], &params);
    let sums: Vec<u32> = sums.as_chunks().0.iter().map(|&word| u32::from_le_bytes(word)).collect();
    assert_eq!(sums, (0..32).map(|i: u32| i + i.saturating_sub(1)).collect::<Vec<_>>());
    assert!(undefined.iter().enumerate().all(|(at, &undefined)| undefined == (at >= 64)), "{undefined:?}");
}
