//! Kernels of one family, which differ in form, type and layout, and which of them is wanted, decided at run time.

use cuda_std::Kernel;

/// The host's use of a kernel of signature `S` once it is chosen, with result `R`.
///
/// A family's `choose` calls [`with`](Self::with) with the kernel that stands in its table at the place asked for.
pub trait UseKernel<S, R> {
    /// Does it with `K`.
    fn with<K: Kernel<Signature = S> + 'static>(self) -> R;
}

/// Asks for the chosen kernel's name.
pub struct Name;

impl<S> UseKernel<S, &'static str> for Name {
    fn with<K: Kernel<Signature = S> + 'static>(self) -> &'static str {
        K::NAME
    }
}

/// Whether A and B are stored as their transposes: `nn`, `nt`, `tn` and `tt` in kernels' names.
pub type Transposed = (bool, bool);
