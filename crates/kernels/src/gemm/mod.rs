//! C = alpha · A · B + beta · C: in f32 by the CUDA cores; of f16, bf16, tf32 and s8 by the tensor cores.
//!
//! A [`Problem`] says what to multiply, a [`Plan`] says how and why, and [`Gemm`] does it.
//!
//! ```
//! use warpsmith_kernels::gemm::{Gemm, Input, Layout, Output, Problem};
//! use warpsmith_launch::{Device, DevicePreference};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let device = Device::open(DevicePreference::Virtual)?;
//! let (a, b) = (device.upload(&[1i8, 2, 3, 4])?, device.upload(&[1i8, 0, 0, 1])?);
//! let mut c = device.upload(&[0i32; 4])?;
//! let problem = Problem::new((2, 2, 2), Input::S8, Output::S32, Layout::Nn);
//! let plan = Gemm::new(&device).multiply(&problem, &a, &b, &mut c)?;
//! assert_eq!(device.download(&c)?, [1, 2, 3, 4]);
//! // Rows of two bytes are no fast kernel's.
//! assert_eq!(plan.variant().name, "general");
//! # Ok(())
//! # }
//! ```

mod along_k;
mod copied;
mod cuda_cores;
mod element;
mod hopper;
#[cfg(feature = "ladder")]
mod ladder;
mod mma;
mod plan;
mod problem;
mod variant;

use std::cell::RefCell;
use std::rc::Rc;

use cuda_std::{Kernel, Takes};
use cust::memory::{DeviceBuffer, DeviceSlice};
use warpsmith_launch::{Arguments, BufferSlice, BufferSliceMut, Device, ErrorContext, Shape};

pub use element::{Input, InputElement, Layout, Order, Output, OutputElement};
pub use plan::{Plan, variants};
pub use problem::{Problem, Stored};
pub use variant::{Automatic, Request, Split, Variant};

use crate::{Error, LEVELS, finished};

/// The addresses of the matrices' first elements on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operands {
    /// A.
    pub a: u64,
    /// B.
    pub b: u64,
    /// C.
    pub c: u64,
}

impl Operands {
    /// The addresses of buffers that begin with the matrices.
    pub fn of<I: InputElement, O: OutputElement>(
        a: &DeviceSlice<I>,
        b: &DeviceSlice<I>,
        c: &DeviceSlice<O>,
    ) -> Self {
        Self { a: a.as_device_ptr().as_raw(), b: b.as_device_ptr().as_raw(), c: c.as_device_ptr().as_raw() }
    }

    fn addresses(&self) -> [u64; 3] {
        [self.a, self.b, self.c]
    }

    fn offsets(&self) -> [u64; 3] {
        self.addresses().map(|address| address % 16)
    }
}

/// Multiplies on a device, and keeps the workspace that split and packed products of f32 need.
pub struct Gemm<'d> {
    device: &'d Device,
    workspace: RefCell<Option<Rc<DeviceBuffer<f32>>>>,
}

impl<'d> Gemm<'d> {
    /// On this device.
    pub fn new(device: &'d Device) -> Self {
        Self { device, workspace: RefCell::new(None) }
    }

    /// Its device.
    pub fn device(&self) -> &'d Device {
        self.device
    }

    /// C = alpha · A · B + beta · C of buffers that begin with the matrices, by the plan that the dispatcher chooses, which is
    /// returned when C is there.
    pub fn multiply<'b, I: InputElement, O: OutputElement>(
        &self,
        problem: &Problem,
        a: impl Into<BufferSlice<'b, I>>,
        b: impl Into<BufferSlice<'b, I>>,
        c: impl Into<BufferSliceMut<'b, O>>,
    ) -> Result<Plan, Error> {
        let (a, b, mut c) = (a.into(), b.into(), c.into());
        // SAFETY: the buffers are borrowed until the device has been waited for.
        let launched = unsafe {
            let (a, b, c) = (a.as_cust(), b.as_cust(), c.as_cust_mut());
            self.plan(problem, a, b, c, Request::default())
                .and_then(|plan| self.launch(&plan, a, b, c).map(|()| plan))
        };
        finished(self.device, launched)
    }

    /// The plan for these matrices that is as the request says.
    pub fn plan<I: InputElement, O: OutputElement>(
        &self,
        problem: &Problem,
        a: &DeviceSlice<I>,
        b: &DeviceSlice<I>,
        c: &DeviceSlice<O>,
        request: Request<'_>,
    ) -> Result<Plan, Error> {
        fit(problem, a, b, c)?;
        Plan::choose(self.device.limits(), problem, &Operands::of(a, b, c), request)
    }

    /// Puts the product by a plan of the caller's on the device's stream, for matrices that begin at the same addresses modulo 16.
    ///
    /// # Safety
    /// Until the stream has done it, the buffers stay where they are, and nothing else writes A or B or reaches C. No graph captures
    /// it, which would keep memory that this call frees: [`prepare`](Self::prepare) the product before.
    pub unsafe fn launch<I: InputElement, O: OutputElement>(
        &self,
        plan: &Plan,
        a: &DeviceSlice<I>,
        b: &DeviceSlice<I>,
        c: &mut DeviceSlice<O>,
    ) -> Result<(), Error> {
        fit(plan.problem(), a, b, c)?;
        // SAFETY: the buffers are as long as the matrices; the rest is the caller's promise.
        unsafe { self.prepare(plan, &Operands::of(a, b, c))?.launch() }
    }

    /// Makes a launch ready that can be repeated. An empty C needs no launch, and gets none.
    ///
    /// # Safety
    /// A, B and C lie at `operands`, as long as the plan's problem says, for as long as the launch is used.
    pub unsafe fn prepare(&self, plan: &Plan, operands: &Operands) -> Result<Prepared<'d>, Error> {
        plan.check(operands)?;
        if plan.problem.m == 0 || plan.problem.n == 0 {
            return Ok(Prepared::new(|| Ok(())));
        }
        plan.schedule.prepare(self, &plan.problem, operands)
    }

    /// A workspace of at least this many elements. Launches write and read it one after the other, on the
    /// device's stream.
    fn workspace(&self, len: usize) -> Result<Rc<DeviceBuffer<f32>>, Error> {
        let mut kept = self.workspace.borrow_mut();
        if let Some(large) = kept.as_ref().filter(|buffer| buffer.len() >= len) {
            return Ok(large.clone());
        }
        // What was launched before may still write to the old one.
        self.device.synchronize()?;
        *kept = None;
        // SAFETY: every element is written before it is read.
        let fresh = unsafe { DeviceBuffer::uninitialized(len) };
        let fresh = Rc::new(fresh.context("allocate a workspace for the parts of a product")?);
        *kept = Some(fresh.clone());
        Ok(fresh)
    }
}

/// Compares the buffers with the matrices.
fn fit<I: InputElement, O: OutputElement>(
    problem: &Problem,
    a: &DeviceSlice<I>,
    b: &DeviceSlice<I>,
    c: &DeviceSlice<O>,
) -> Result<(), Error> {
    if !I::TYPES.contains(&problem.input) || O::TYPE != problem.output {
        let types: Vec<_> = I::TYPES.iter().map(|input| input.name()).collect();
        return Err(Error::Gemm(format!(
            "the buffers hold {} and {}, the product is described as one of {} and {}",
            types.join(" or "),
            O::TYPE.name(),
            problem.input.name(),
            problem.output.name()
        )));
    }
    problem.check()?;
    for (matrix, has) in problem.matrices().into_iter().zip([a.len(), b.len(), c.len()]) {
        if matrix.span() > has {
            return Err(Error::BufferTooShort { matrix: matrix.name, needed: matrix.span(), has });
        }
    }
    Ok(())
}

/// A launch that can be repeated.
pub struct Prepared<'d> {
    launch: Box<dyn Fn() -> Result<(), Error> + 'd>,
}

impl<'d> Prepared<'d> {
    fn new(launch: impl Fn() -> Result<(), Error> + 'd) -> Self {
        Self { launch: Box::new(launch) }
    }

    /// A launch of one kernel.
    ///
    /// # Safety
    /// The arguments keep what the kernel asks for, for as long as the launch is used.
    unsafe fn kernel<K, P>(
        device: &'d Device,
        shape: Shape,
        arguments: impl Arguments<P> + Copy + 'd,
    ) -> Result<Self, Error>
    where
        K: Kernel<Signature: Takes<P>> + 'd,
    {
        let kernel = device.kernel::<K>(&LEVELS)?;
        // SAFETY: the caller's promise.
        Ok(Self::new(move || unsafe { kernel.launch(shape, arguments) }.map_err(Error::from)))
    }

    /// One launch after the other, and what must live for as long.
    fn sequence(steps: Vec<Self>, memory: impl Sized + 'd) -> Self {
        Self::new(move || {
            let _ = &memory;
            // SAFETY: each is prepared for what the steps before it leave.
            steps.iter().try_for_each(|step| unsafe { step.launch() })
        })
    }

    /// Starts the kernels on the device's stream.
    ///
    /// # Safety
    /// The matrices are still where they were when it was prepared.
    pub unsafe fn launch(&self) -> Result<(), Error> {
        (self.launch)()
    }
}
