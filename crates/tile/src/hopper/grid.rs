//! Launches that overlap: a grid that begins while the one before it still runs.

use cuda_std::ptx;

/// Lets the next grid of the stream begin where there is room, if it was launched to do so (`Extended::early` on the host).
#[doc(alias = "programmatic dependent launch")]
#[doc(alias = "griddepcontrol.launch_dependents")]
#[inline(always)]
pub fn admit_next_grid() {
    // SAFETY: a hint; the next grid waits by itself.
    unsafe { ptx!("griddepcontrol.launch_dependents;") }
}

/// Waits until the grids before this one have ended and all that they wrote is visible. Returns at once if this one was not
/// launched to begin early. What comes before must not touch memory that other grids do.
#[doc(alias = "programmatic dependent launch")]
#[doc(alias = "griddepcontrol.wait")]
#[inline(always)]
pub fn await_previous_grid() {
    // SAFETY: waits only.
    unsafe { ptx!("griddepcontrol.wait;") }
}
