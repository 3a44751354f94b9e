//! Programs on each cudarc version in use launch kernels on its streams with its slices.
//!
//! cudarc opens the driver by its name. So each test runs as a child, for which the stand-in lies under that name.
#![cfg(target_os = "linux")]

use std::process::Command;

use warpsmith_cuda::stand_in::{DriverDirectory, LIBRARY};

/// Runs this program's `body`, and returns what it wrote.
fn run(body: &str, environment: &[(&str, &str)]) -> String {
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.args(["--exact", body, "--nocapture", "--ignored"]);
    let text = run_program(program, environment);
    assert!(text.contains("1 passed"), "{body}: {text}");
    text
}

/// Runs a program with the stand-in under the driver's name, and returns what it wrote.
fn run_program(mut program: Command, environment: &[(&str, &str)]) -> String {
    let library = std::env::current_exe().unwrap().with_file_name(LIBRARY);
    let folder = tempfile::tempdir().unwrap();
    let driver = DriverDirectory::prepare_in(&folder.path().join("run"), &library).unwrap();
    program.env_remove("WARPSMITH_MODEL").envs(driver.environment()).envs(environment.iter().copied());
    let built = "the program is there: `cargo build --workspace --examples` makes examples";
    let output = program.output().expect(built);
    let text =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success(), "{text}");
    text
}

macro_rules! version {
    ($version:ident, $cudarc:ident) => {
        mod $version {
            use std::sync::Arc;

            use cudarc_clients::kernels;
            use warpsmith::launch::cudarc::$version as share;
            use warpsmith::launch::{BufferSlice, Error, Shape};
            #[allow(unused_imports, reason = "only the oldest counts elements by a trait")]
            use $cudarc::driver::DeviceSlice;
            use $cudarc::driver::{CudaContext, CudaSlice, CudaStream};

            use super::run;

            const LEN: usize = 1000;

            fn up(stream: &Arc<CudaStream>, elements: &[f32]) -> CudaSlice<f32> {
                let mut slice = stream.alloc_zeros(elements.len()).unwrap();
                stream.memcpy_htod(elements, &mut slice).unwrap();
                slice
            }

            fn down(stream: &Arc<CudaStream>, slice: &CudaSlice<f32>) -> Vec<f32> {
                let mut elements = vec![0.0; slice.len()];
                stream.memcpy_dtoh(slice, &mut elements).unwrap();
                stream.synchronize().unwrap();
                elements
            }

            fn bodies(body: &str) -> String {
                format!("{}::{body}", stringify!($version))
            }

            #[test]
            #[ignore = "runs as a child"]
            fn scope() {
                let stream = CudaContext::new(0).unwrap().default_stream();
                let numbers: Vec<f32> = (0..LEN).map(|i| i as f32).collect();
                let mut x = up(&stream, &numbers);
                let mut y = stream.alloc_zeros::<f32>(LEN).unwrap();
                let device = share::device(&stream).unwrap();
                {
                    let (from, mut to) =
                        (share::read(&device, &x).unwrap(), share::write(&device, &mut y).unwrap());
                    device.scope(|scope| scope.launch(kernels::double, (&from, &mut to))).unwrap();
                }
                let doubled: Vec<f32> = numbers.iter().map(|x| 2.0 * x).collect();
                assert_eq!(down(&stream, &y), doubled);
                // Views, and a raw launch that is not waited for.
                {
                    let (view, mut part) = (y.slice(100..200), x.slice_mut(300..400));
                    let (from, mut to) =
                        (share::read(&device, &view).unwrap(), share::write(&device, &mut part).unwrap());
                    device.scope(|scope| scope.launch(kernels::double, (&from, &mut to))).unwrap();
                    let increment = device.embedded::<kernels::increment>().unwrap();
                    // SAFETY: the part has a hundred elements.
                    unsafe { increment.launch(Shape::line(100, 64), (&mut to, 100u32)).unwrap() };
                }
                let mut expected = numbers.clone();
                (100..200).for_each(|i| expected[200 + i] = 2.0 * doubled[i] + 1.0);
                assert_eq!(down(&stream, &x), expected);
            }

            /// Launches on one stream, what comes before and after on others, and nothing waits on the host between them.
            #[test]
            #[ignore = "runs as a child"]
            fn streams() {
                let context = CudaContext::new(0).unwrap();
                let [one, other, third] = [(); 3].map(|()| context.new_stream().unwrap());
                let mut x = one.alloc_zeros::<f32>(LEN).unwrap();
                let mut copy = third.alloc_zeros::<f32>(LEN).unwrap();
                one.memcpy_htod(&[5.0f32; LEN], &mut x).unwrap();
                let device = share::device(&other).unwrap();
                let increment = device.embedded::<kernels::increment>().unwrap();
                {
                    let mut x = share::write(&device, &mut x).unwrap();
                    // SAFETY: `x` has as many elements.
                    unsafe { increment.launch(Shape::line(LEN, 64), (&mut x, LEN as u32)).unwrap() };
                }
                third.memcpy_dtod(&x, &mut copy).unwrap();
                assert_eq!(down(&third, &copy), [6.0; LEN]);
            }

            #[test]
            #[ignore = "runs as a child"]
            fn matrices() {
                let stream = CudaContext::new(0).unwrap().default_stream();
                let x = up(&stream, &[1.0; LEN]);
                let mut y = up(&stream, &[0.0; LEN]);
                let device = share::device(&stream).unwrap();
                {
                    let (from, mut to) =
                        (share::read(&device, &x).unwrap(), share::write(&device, &mut y).unwrap());
                    let from = from.as_matrix(10, 100).unwrap();
                    let to = to.reborrow().into_matrix(10, 100).unwrap();
                    device.scope(|scope| scope.launch(kernels::row_sums, (from, to))).unwrap();
                }
                assert_eq!(down(&stream, &y), [100.0; LEN]);
            }

            #[test]
            #[ignore = "runs as a child"]
            fn library() {
                let stream = CudaContext::new(0).unwrap().default_stream();
                let x = up(&stream, &[1.0f32; LEN]);
                let mut y = stream.alloc_zeros::<f32>(LEN).unwrap();
                let device = share::device(&stream).unwrap();
                {
                    let (from, mut to) =
                        (share::read(&device, &x).unwrap(), share::write(&device, &mut y).unwrap());
                    warpsmith_kernels::rows::softmax(&device, (10, 100), &from, &mut to).unwrap();
                }
                assert!(down(&stream, &y).iter().all(|y| (y - 0.01).abs() < 1e-6));
            }

            #[test]
            #[ignore = "runs as a child"]
            fn wrong() {
                let contexts = [0, 1].map(|index| CudaContext::new(index).unwrap());
                let [one, other] = [0, 1].map(|index| contexts[index].default_stream());
                let x = one.alloc_zeros::<f32>(LEN).unwrap();
                let device = share::device(&other).unwrap();
                let Err(Error::Shared(message)) = share::read(&device, &x) else {
                    panic!("lent to another device")
                };
                assert_eq!(message, "the slice is of device 0, and the launches are of device 1");
                let from = |slice: BufferSlice<f32>| slice.len();
                let device = share::device(&one).unwrap();
                assert_eq!(from((&share::read(&device, &x).unwrap()).into()), LEN);
            }

            #[test]
            fn slices_and_views_are_lent_to_scopes_and_raw_launches() {
                run(&bodies("scope"), &[]);
                run(&bodies("matrices"), &[]);
            }

            #[test]
            fn streams_keep_their_order_and_checks_see_all() {
                let text = run(&bodies("streams"), &[("WARPSMITH_CHECK", "all")]);
                assert!(text.contains("nothing found; 1 launch checked"), "{text}");
                let folder = tempfile::tempdir().unwrap();
                let file = folder.path().join("counters.json");
                run(&bodies("streams"), &[("WARPSMITH_PROFILE", file.to_str().unwrap())]);
                assert!(std::fs::read_to_string(file).unwrap().contains("increment"));
            }

            #[test]
            fn the_library_takes_them() {
                run(&bodies("library"), &[]);
            }

            #[test]
            fn a_slice_of_another_device_is_refused() {
                run(&bodies("wrong"), &[("WARPSMITH_DEVICES", "2")]);
            }
        }
    };
}
version!(v017, cudarc_017);
version!(v018, cudarc_018);
version!(v019, cudarc_019);

#[test]
fn the_pages_example_is_right() {
    let example = std::env::current_exe().unwrap();
    let example = example.parent().unwrap().with_file_name("examples").join("softmax");
    let text = run_program(Command::new(example), &[]);
    assert!(text.contains("[0.001, 0.001, 0.001]"), "{text}");
}

/// A device that was opened otherwise shares no stream of cudarc's.
#[test]
fn other_devices_lend_nothing() {
    run("opened_otherwise", &[]);
}

#[test]
#[ignore = "runs as a child"]
fn opened_otherwise() {
    let device = warpsmith::launch::Device::from_environment().unwrap();
    let stream = cudarc_019::driver::CudaContext::new(0).unwrap().default_stream();
    let x = stream.alloc_zeros::<f32>(10).unwrap();
    let Err(error) = warpsmith::launch::cudarc::v019::read(&device, &x) else { panic!("lent") };
    assert_eq!(error.to_string(), "the device was not made by `cudarc::v019::device`");
    let error = warpsmith::launch::cudarc::v019::device(&stream).err().unwrap().to_string();
    assert!(error.contains("chosen already"), "{error}");
}
