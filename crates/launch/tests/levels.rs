//! Launches that a device refuses: a stale module, a level beyond it, a kernel in no module.

use saxpy_kernels::saxpy;
use warpsmith_launch::{Device, DevicePreference, Error, Level, Levels};

/// A module whose one kernel does nothing.
macro_rules! module {
    ($target:literal, $entry:literal) => {
        Level::new(concat!(
            ".version 8.8\n.target ",
            $target,
            "\n.address_size 64\n.visible .entry ",
            $entry,
            " { ret; }\n"
        ))
    };
}

static STALE: Levels =
    Levels::new(&[module!("sm_75", "saxpy(.param .f32 a, .param .u32 x, .param .u64 len, .param .u64 y)")]);
static BEYOND: Levels = Levels::new(&[
    module!("sm_75", "other()"),
    module!("sm_100a", "saxpy(.param .f32 a, .param .u64 x, .param .u64 len, .param .u64 y)"),
]);
static YOUNG: Levels = Levels::new(&[module!("sm_120", "other()")]);
static WITHOUT: Levels = Levels::new(&[module!("sm_75", "other()")]);

fn refusal(levels: &Levels) -> Error {
    let device = Device::open(DevicePreference::Virtual).unwrap();
    device.kernel::<saxpy>(levels).err().expect("it is refused")
}

#[test]
fn a_stale_module_is_told_by_parameter_and_both_layouts() {
    let error = refusal(&STALE);
    assert!(matches!(error, Error::Layout { kernel: "saxpy", .. }), "{error}");
    let text = error.to_string();
    assert!(
        text.contains("`x` is 8 bytes aligned to 8 on the host and 4 bytes aligned to 4 in the PTX"),
        "{text}"
    );
}

#[test]
fn a_kernel_of_a_level_beyond_the_device_is_left_out() {
    let error = refusal(&BEYOND);
    assert!(matches!(error, Error::KernelUnavailable { .. }), "{error}");
    assert!(error.to_string().contains("compute_100a needs exactly compute capability 10.0"), "{error}");
    let error = refusal(&WITHOUT);
    assert!(error.to_string().contains("it is in no module"), "{error}");
}

#[test]
fn a_device_below_the_lowest_level_is_told_what_it_lacks() {
    let error = refusal(&YOUNG);
    assert!(matches!(error, Error::TooOld { needed: (12, 0), .. }), "{error}");
    assert!(error.to_string().contains("WARPSMITH_DEVICE=virtual"), "{error}");
}

#[test]
fn kernels_are_found_with_their_signatures() {
    const PTX: &str = ".version 7.8
        .target sm_75
        .address_size 64
        .func (.reg .b32 %r) twice(.reg .b32 %a) { add.u32 %r, %a, %a; ret; }
// warpsmith.blockwise.second 1 2 3
        .visible .entry first(.param .u32 a) { { ret; } }
        .entry second(
            .param .align 8 .b8 pair[16], // and no more
            .param .u64 to
        ) .maxntid 64 { this is no instruction; }
        .visible .entry third { ret; }";
    static LEVELS: Levels = Levels::new(&[Level::new(PTX)]);
    let found = |kernel| LEVELS.find(kernel).unwrap();
    assert!(found("twice").is_none() && found("fourth").is_none() && found("firs").is_none());
    let (first, second) = (found("first").unwrap(), found("second").unwrap());
    assert_eq!(first.signature.name.as_str(), "first");
    assert_eq!((first.signature.params.len(), first.fingerprint), (1, None));
    let sizes: Vec<_> = second.signature.params.iter().map(|param| param.size()).collect();
    assert_eq!((sizes, second.fingerprint), (vec![Some(16), Some(8)], Some("1 2 3")));
    assert_eq!(found("third").unwrap().signature.params.len(), 0);
}
