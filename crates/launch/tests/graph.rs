//! Graphs: replays compute what launches do, with the same arguments and with others; what cannot be captured is refused; checks
//! and profiles see each replay. All under the sanitizer.

use std::sync::Barrier;

use cuda_std::prelude::*;
use warpsmith_launch::{
    Buffer, Device, DevicePreference, Error, ErrorContext, Launcher, Level, Levels, Shape,
};

/// `y += a * x`.
///
/// # Safety
/// `y` has as many elements as `x`.
#[kernel]
pub unsafe fn saxpy(a: f32, x: &[f32], y: *mut f32) {
    let _ = (a, x, y);
}

/// Each thread stores its number in shared memory and reads its neighbour's, without a barrier.
///
/// # Safety
/// `to` has 64 elements.
#[kernel]
pub unsafe fn neighbours(to: *mut u32) {
    let _ = to;
}

const PTX: &str = "
.version 7.8
.target sm_75
.address_size 64
.visible .entry saxpy(.param .f32 a, .param .u64 x, .param .u64 len, .param .u64 y) {
    .reg .pred %p; .reg .f32 %a<3>; .reg .b32 %r<4>; .reg .b64 %d<6>;
    ld.param.f32 %a0, [a]; ld.param.u64 %d0, [x]; ld.param.u64 %d1, [len]; ld.param.u64 %d2, [y];
    mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r3, %r0, %r1, %r2;
    cvt.u64.u32 %d3, %r3; setp.ge.u64 %p, %d3, %d1; @%p ret;
    shl.b64 %d3, %d3, 2; add.s64 %d4, %d0, %d3; add.s64 %d5, %d2, %d3;
    ld.global.f32 %a1, [%d4]; ld.global.f32 %a2, [%d5]; fma.rn.f32 %a2, %a0, %a1, %a2; st.global.f32 [%d5], %a2;
    ret;
}
.visible .entry neighbours(.param .u64 to) {
    .shared .align 4 .b8 tile[256];
    .reg .b32 %r<6>; .reg .b64 %d<3>;
    ld.param.u64 %d0, [to]; mov.u32 %r0, %tid.x; mov.u32 %r1, tile; mad.lo.u32 %r2, %r0, 4, %r1;
    st.shared.u32 [%r2], %r0;
    xor.b32 %r3, %r0, 63; mad.lo.u32 %r4, %r3, 4, %r1; ld.shared.u32 %r5, [%r4];
    mad.wide.u32 %d1, %r0, 4, %d0; st.global.u32 [%d1], %r5;
    ret;
}";

static LEVELS: Levels = Levels::new(&[Level::new(PTX)]);

fn device() -> Device {
    Device::open(DevicePreference::Virtual).unwrap()
}

fn found(device: &Device) -> Launcher<'_, saxpy> {
    device.kernel(&LEVELS).unwrap()
}

/// Three steps: `y += a * x`, `z = y`, `y += z`.
macro_rules! capture {
    ($device:ident, $saxpy:ident, $arguments:expr) => {
        $device.capture($arguments, |scope, (a, x, mut y, mut z)| {
            // SAFETY: the scope's arguments are as long as each other.
            unsafe { $saxpy.launch(Shape::line(x.len(), 128), (a, x, y.reborrow()))? };
            scope.copy(&y, &mut z)?;
            // SAFETY: as above.
            unsafe { $saxpy.launch(Shape::line(x.len(), 128), (1.0f32, z.as_slice(), y.reborrow())) }
        })
    };
}

#[test]
fn replays_compute_what_launches_do_with_the_same_arguments_and_others() {
    let _checked = warpsmith_cuda::checked();
    let device = device();
    let saxpy = found(&device);
    let numbers: Vec<f32> = (0..300).map(|i| i as f32).collect();
    let x = device.upload(&numbers).unwrap();
    let mut y = device.upload(&[1.0f32; 300]).unwrap();
    let [mut z, mut other] = [0, 0].map(|_| device.zeroed::<f32>(300).unwrap());
    let mut graph = capture!(device, saxpy, (2.0f32, &x, &mut y, &mut z)).unwrap();
    assert_eq!(y.to_vec().unwrap(), [1.0; 300], "nothing has run");

    let (mut of_y, mut of_other) = (vec![1.0f32; 300], vec![0.0f32; 300]);
    let step = |y: &mut [f32], a: f32| y.iter_mut().zip(&numbers).for_each(|(y, x)| *y = 2.0 * (*y + a * x));
    for a in [2.0, 2.0, 3.0, 2.0] {
        graph.launch((a, &x, &mut y, &mut z)).unwrap();
        step(&mut of_y, a);
        assert_eq!(y.to_vec().unwrap(), of_y, "{a}");
        graph.launch((a, &x, &mut other, &mut z)).unwrap();
        step(&mut of_other, a);
        assert_eq!(other.to_vec().unwrap(), of_other, "{a}");
        // The host writes between launches.
        y.write(&[a; 300]).unwrap();
        of_y = vec![a; 300];
    }
    // Without waiting between them, into parts of a buffer.
    let mut large = device.zeroed::<f32>(600).unwrap();
    let (mut first, mut second) = large.split_at_mut(300);
    let mut z = z.slice_mut(..);
    device
        .scope(|scope| {
            for _ in 0..3 {
                scope.launch_graph(&mut graph, (1.0, &x, &mut first, &mut z))?;
                scope.launch_graph(&mut graph, (2.0, &x, &mut second, &mut z))?;
            }
            Ok(())
        })
        .unwrap();
    let mut expected = vec![0.0; 600];
    for _ in 0..3 {
        step(&mut expected[..300], 1.0);
        step(&mut expected[300..], 2.0);
    }
    assert_eq!(large.to_vec().unwrap(), expected);
}

#[test]
fn other_lengths_and_other_work_are_refused() {
    let _checked = warpsmith_cuda::checked();
    let device = device();
    let saxpy = found(&device);
    let (x, mut y, mut z) = (
        device.upload(&[1.0f32; 30]).unwrap(),
        device.zeroed::<f32>(30).unwrap(),
        device.zeroed::<f32>(30).unwrap(),
    );
    let mut graph = capture!(device, saxpy, (1.0f32, &x, &mut y, &mut z)).unwrap();
    let long = device.upload(&[1.0f32; 31]).unwrap();
    let says = |refused: Result<(), Error>, text: &str| assert_eq!(refused.unwrap_err().to_string(), text);
    says(
        graph.launch((1.0, &long, &mut y, &mut z)),
        "cannot launch the graph: argument 2 has 31 elements, and had 30 elements when it was captured",
    );
    says(
        capture!(device, saxpy, (1.0f32, &x, &mut y, &mut device.zeroed::<f32>(29).unwrap())).map(drop),
        "cannot copy 30 elements to a buffer of 29: the numbers must be the same",
    );
    let matrix = |rows, cols| device.upload_matrix(&[0.0f32; 6], rows, cols).unwrap();
    let mut of_matrix = device.capture((&matrix(2, 3),), |_, _| Ok(())).unwrap();
    says(
        of_matrix.launch((&matrix(3, 2),)),
        "cannot launch the graph: argument 1 has 3 × 2 elements, and had 2 × 3 elements when it was captured",
    );

    let mut by_count = device
        .capture((1u32, &mut y, &mut z), |scope, (copies, mut y, mut z)| {
            (0..copies).try_for_each(|_| scope.copy(&y, &mut z).and_then(|()| scope.copy(&z, &mut y)))
        })
        .unwrap();
    let refused = by_count.launch((2, &mut y, &mut z)).unwrap_err().to_string();
    assert!(refused.contains("other work was recorded") && refused.contains("TOPOLOGY_CHANGED"), "{refused}");
    by_count.launch((1, &mut y, &mut z)).unwrap();
}

#[test]
fn what_waits_or_copies_is_refused_where_a_graph_is_captured() {
    let _checked = warpsmith_cuda::checked();
    let device = device();
    let mut y = device.upload(&[7u32; 4]).unwrap();
    type Refused = fn(&Device) -> Result<(), Error>;
    let calls: [(Refused, &str); 5] = [
        (
            |device| device.upload(&[1u8]).map(drop),
            "cannot copy 1 elements to the device while this thread captures a graph",
        ),
        (|device| device.zeroed::<u8>(3).map(drop), "cannot make room for 3 elements on the device while"),
        (|device| device.synchronize(), "cannot finish what was launched while"),
        (|device| device.scope(|_| Ok(())), "cannot begin a scope while"),
        (|device| device.capture((), |_, ()| Ok(())).map(drop), "cannot capture another graph while"),
    ];
    for (call, says) in calls {
        // A closure that goes on all the same gets no graph.
        for ignored in [false, true] {
            let refused = device.capture((), |_, ()| {
                call(&device).or_else(|error| if ignored { Ok(()) } else { Err(error) })
            });
            let refused = refused.map(drop).unwrap_err().to_string();
            assert!(refused.starts_with(says), "{refused}");
        }
    }
    let read = device.capture((&mut y,), |_, (y,)| y.as_slice().to_vec().map(drop)).map(drop);
    assert!(read.unwrap_err().to_string().starts_with("cannot copy 4 elements to the host while"));
    let waits = device.capture((), |_, ()| {
        let _ = device.stream().synchronize();
        Ok(())
    });
    let waits = waits.map(drop);
    assert!(waits.unwrap_err().to_string().starts_with("cannot capture the graph"));
    let calls_host =
        device.capture((), |_, ()| device.stream().on_host(|| ()).context("call the host")).map(drop);
    assert_eq!(calls_host.unwrap_err().to_string(), "cannot call the host: NotPermitted");
    // A capture that panics ends, too.
    let panics = std::panic::AssertUnwindSafe(|| device.capture((), |_, ()| panic!("meant")).map(drop));
    assert!(std::panic::catch_unwind(panics).is_err());
    assert_eq!(y.to_vec().unwrap(), [7; 4]);
    device.capture((), |_, ()| Ok(())).unwrap().launch(()).unwrap();
}

#[test]
fn launches_of_other_threads_are_not_captured() {
    let _checked = warpsmith_cuda::checked();
    let device = device();
    let (inside, launched) = (Barrier::new(2), Barrier::new(2));
    let mut y = device.zeroed::<u32>(4).unwrap();
    std::thread::scope(|threads| {
        threads.spawn(|| {
            inside.wait();
            device.enter().unwrap();
            y.write(&[5; 4]).unwrap();
            assert_eq!(y.to_vec().unwrap(), [5; 4]);
            launched.wait();
        });
        let waited = device.capture((), |_, ()| {
            inside.wait();
            launched.wait();
            Ok(())
        });
        waited.unwrap().launch(()).unwrap();
    });
    y.write(&[6; 4]).unwrap();
}

#[test]
fn a_thread_that_does_not_capture_cannot_launch_in_the_captures_scope() {
    let _checked = warpsmith_cuda::checked();
    let device = device();
    let (x, mut y) = (device.zeroed::<u32>(4).unwrap(), device.zeroed::<u32>(4).unwrap());
    let here = &device;
    let captured = device.capture((&x, &mut y), |scope, (x, y)| {
        std::thread::scope(|threads| {
            let copy = move || {
                here.enter().unwrap();
                scope.copy(x, y).unwrap_err().to_string()
            };
            let refused = threads.spawn(copy).join().unwrap();
            assert!(refused.contains("another thread captures it"), "{refused}");
        });
        Ok(())
    });
    captured.map(drop).unwrap();
}

#[test]
fn memory_that_a_launch_borrows_is_used_on_its_own_device_alone() {
    let _checked = warpsmith_cuda::checked();
    let (device, other) = (device(), device());
    let (x, mut y) = (device.zeroed::<u32>(4).unwrap(), device.zeroed::<u32>(4).unwrap());
    let mut y = y.slice_mut(..);
    let refused = other.scope(|scope| scope.copy(&x, &mut y)).unwrap_err().to_string();
    assert!(refused.contains("a slice of another `Device`"), "{refused}");
    device.scope(|scope| scope.copy(&x, &mut y)).unwrap();
    other.scope(|scope| scope.copy(&x, y)).unwrap();
}

#[test]
fn zeros_of_both_signs_are_two_values() {
    let _checked = warpsmith_cuda::checked();
    let device = device();
    let saxpy = found(&device);
    let (x, mut y) = (device.upload(&[1.0f32]).unwrap(), device.upload(&[-0.0f32]).unwrap());
    let mut graph = device
        .capture((0.0f32, &x, &mut y), |_, (a, x, mut y)| {
            // SAFETY: both have an element.
            unsafe { saxpy.launch(Shape::line(1, 128), (a, x, y.reborrow())) }
        })
        .unwrap();
    graph.launch((-0.0, &x, &mut y)).unwrap();
    assert_eq!(y.to_vec().unwrap()[0].to_bits(), (-0.0f32).to_bits());
}

#[test]
fn a_profile_has_each_replay() {
    let _checked = warpsmith_cuda::checked();
    let device = device();
    let saxpy = found(&device);
    let x = device.upload(&[1.0f32; 100]).unwrap();
    let (mut y, mut z) = (device.zeroed::<f32>(100).unwrap(), device.zeroed::<f32>(100).unwrap());
    let (graph, profiles) = warpsmith_cuda::profile::record(|| {
        let mut graph = capture!(device, saxpy, (1.0f32, &x, &mut y, &mut z)).unwrap();
        (0..3).for_each(|_| graph.launch((1.0, &x, &mut y, &mut z)).unwrap());
        graph
    });
    drop(graph);
    assert_eq!(profiles.len(), 3 * 2);
    assert!(profiles.iter().all(|profile| profile.kernel == "saxpy"));
}

#[test]
#[should_panic(expected = "kernel `neighbours`")]
fn a_race_in_a_captured_kernel_is_found() {
    let _checked = warpsmith_cuda::checked();
    let device = device();
    let neighbours = device.kernel::<neighbours>(&LEVELS).unwrap();
    let mut to: Buffer<u32> = device.zeroed(64).unwrap();
    let mut graph = device
        // SAFETY: it has 64 elements.
        .capture((&mut to,), |_, (to,)| unsafe { neighbours.launch(Shape::line(64, 64), (to,)) })
        .unwrap();
    graph.launch((&mut to,)).unwrap();
}
