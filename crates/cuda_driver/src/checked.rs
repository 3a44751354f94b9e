//! The sanitizer in a Rust test: one call, and the test fails with the report as its message.

use std::sync::{Mutex, MutexGuard, PoisonError};

use sanitizer::{Check, Checks, Finding, Format, Severity, render};

use crate::check;
use crate::choice::{DevicePreference, choose};

/// Checked tests run one after another, since a finding does not say which test it belongs to.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Returned by [`checked`]; the test fails when it goes out of scope, if something was found since.
#[must_use = "the check ends when this goes out of scope: `let _checked = warpsmith_cuda::checked();`"]
pub struct Checked {
    before: Vec<u64>,
    _alone: MutexGuard<'static, ()>,
}

/// Checks all that this test does on the virtual GPU from here on, with every tool but `api`.
///
/// ```
/// // In a test:
/// let _checked = warpsmith_cuda::checked();
/// // Launch kernels through `cust`, and wait for them.
/// ```
///
/// Checked tests of a program run one after another. The tools must be active before the program first uses the driver,
/// so put unchecked tests into a separate test program.
///
/// # Panics
/// If the driver was used before without the tools, or the program runs on a real GPU. Dropping the returned value
/// panics with the report if an error was found.
pub fn checked() -> Checked {
    let alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    // A test notices by itself which of its calls fail, and may intend them to.
    check::start_in_tests(Checks::ALL.without(Check::Api));
    if let Err(refused) = choose(Some(DevicePreference::Virtual), None) {
        panic!("a checked test runs on the virtual GPU: {refused}");
    }
    let Some(sanitizer) = check::sanitizer() else {
        panic!(
            "the driver was in use before `warpsmith_cuda::checked()`: make it the first line of each test, and keep \
             tests without it in a test program of their own"
        );
    };
    Checked { before: sanitizer.findings().iter().map(|finding| finding.count).collect(), _alone: alone }
}

impl Drop for Checked {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        check::host_pages::tell();
        let findings = check::sanitizer().map(|sanitizer| sanitizer.findings()).unwrap_or_default();
        // An earlier test's findings do not count, unless they occur again.
        let new = |(i, finding): &(usize, Finding)| {
            finding.severity() == Severity::Error && finding.count > self.before.get(*i).copied().unwrap_or(0)
        };
        let new: Vec<Finding> =
            findings.into_iter().enumerate().filter(new).map(|(_, finding)| finding).collect();
        assert!(new.is_empty(), "{}", render(&new, Format::Text));
    }
}
