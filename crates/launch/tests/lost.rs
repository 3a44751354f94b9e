//! A kernel's fault loses the context: later errors name that kernel and its line, and print the same way from `main`.

use warpsmith_launch::cust::memory::DeviceBuffer;
use warpsmith_launch::cust::{launch, module::Module};
use warpsmith_launch::{Device, DevicePreference, Error, ErrorContext};

const PTX: &str = ".version 8.8
.target sm_75
.address_size 64
.visible .entry culprit() {
    .reg .b64 %to;
    .loc 1 7 5
    mov.u64 %to, 16;
    st.global.u64 [%to], %to;
    ret;
}
.file 1 \"src/culprit.rs\"
";

#[test]
fn an_innocent_failure_names_the_kernel_that_faulted() {
    let device = Device::open(DevicePreference::Virtual).unwrap();
    let module = Module::from_ptx(PTX, &[]).unwrap();
    let (culprit, stream) = (module.get_function("culprit").unwrap(), device.stream());
    // SAFETY: it has no arguments; that it faults is the test.
    unsafe { launch!(culprit<<<1, 1, 0, stream>>>()) }.unwrap();
    let first = stream.synchronize().context("wait").unwrap_err();
    let later = DeviceBuffer::<u8>::zeroed(1 << 20).context("allocate").map(drop).unwrap_err();
    let lost = "IllegalAddress; the context was lost when kernel `culprit` faulted at src/culprit.rs:7";
    assert_eq!(first.to_string(), format!("cannot wait: {lost}"));
    assert_eq!(later.to_string(), format!("cannot allocate: {lost}"));
    assert_eq!(format!("{later:?}"), later.to_string());

    let of_the_host = Module::from_ptx("no PTX", &[]).context("load").map(drop).unwrap_err();
    assert!(matches!(of_the_host, Error::Cuda { .. }), "{of_the_host}");
}
