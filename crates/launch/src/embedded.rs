//! Kernels beside their launch: the PTX that a program embeds by itself, and what a scope takes for a kernel.

use std::marker::PhantomData;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use cuda_std::{EmbeddedPtx, Kernel};

use crate::device::Device;
use crate::error::Error;
use crate::launcher::Launcher;
use crate::levels::{Level, Levels};

impl Levels {
    /// The PTX of a crate's device modules.
    fn embedded(ptx: &'static EmbeddedPtx) -> &'static Self {
        static KNOWN: Mutex<Vec<(&EmbeddedPtx, &Levels)>> = Mutex::new(Vec::new());
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, levels)) = known.iter().find(|(of, _)| ptr::eq(*of, ptx)) {
            return levels;
        }
        // Once for each crate that embeds PTX: devices keep modules by these addresses.
        let levels: Vec<Level> = ptx.0.iter().map(|text| Level::new(text)).collect();
        let levels: &Self = Box::leak(Box::new(Self::new(levels.leak())));
        known.push((ptx, levels));
        levels
    }
}

impl Device {
    /// A kernel of a module marked `#[warpsmith::device]`, ready to be launched: `device.embedded::<kernels::saxpy>()`.
    pub fn embedded<K: Kernel>(&self) -> Result<Launcher<'_, K>, Error> {
        const {
            assert!(
                K::EMBEDDED.is_some(),
                "this kernel's PTX is not embedded: it stands in no module marked `#[warpsmith::device]`, so find it in \
                 its levels, with `device.kernel(&LEVELS)`"
            );
        }
        let ptx = K::EMBEDDED.expect("asserted above");
        self.kernel(Levels::embedded(ptx))
    }
}

/// The first argument of a scope's launch: a kernel by its name, if it stands in a module marked `#[warpsmith::device]`, or a [`Launcher`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a kernel without `unsafe`",
    label = "neither such a kernel nor a `&Launcher` of one",
    note = "an `unsafe` kernel is launched by `device.embedded::<name>()?.launch(shape, arguments)`"
)]
pub trait Launchable<K> {
    /// Finds the kernel on the device and hands it on.
    #[doc(hidden)]
    fn on<R>(
        self,
        device: &Device,
        then: impl FnOnce(&Launcher<'_, K>) -> Result<R, Error>,
    ) -> Result<R, Error>;
}

impl<K: Kernel> Launchable<K> for &Launcher<'_, K> {
    fn on<R>(
        self,
        _device: &Device,
        then: impl FnOnce(&Launcher<'_, K>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        then(self)
    }
}

impl<K: Kernel, F: Fn() -> PhantomData<K>> Launchable<K> for F {
    fn on<R>(
        self,
        device: &Device,
        then: impl FnOnce(&Launcher<'_, K>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        then(&device.embedded()?)
    }
}
