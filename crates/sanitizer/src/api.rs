//! Calls of the driver that fail: what they answered, why, and where the host's code made them.

use std::sync::atomic::Ordering;

use crate::Sanitizer;
use crate::checks::Check;
use crate::finding::{self, Finding};
use crate::kind::{Kind, Severity};
use crate::origin::Calls;

/// Of more failed calls the places are not looked up, which takes a while.
const MOST_PLACES: usize = 256;

impl Sanitizer {
    /// How many findings there are about what the host did: a call that makes one need not be told of once more.
    pub fn told_of_host(&self) -> u64 {
        self.told.load(Ordering::Relaxed)
    }

    /// Whether something was found so far.
    pub fn has_found(&self) -> bool {
        self.found() > 0
    }

    /// How many findings there are so far.
    pub fn found(&self) -> usize {
        self.report().len()
    }

    /// A call of the driver failed. `answer` is the driver's name for the error, `why` what is known of its cause.
    pub fn host_call_failed(&self, severity: Severity, function: &str, answer: &str, why: Option<&str>) {
        if !self.checks.has(Check::Api) {
            return;
        }
        let known = self.report().iter().filter(|finding| finding.check() == Check::Api).count();
        let host = if known < MOST_PLACES { Calls::here().site() } else { None };
        let (function, answer, why) = (function.to_owned(), answer.to_owned(), why.map(str::to_owned));
        let kind = Kind::FailedCall { severity, function, answer, why };
        finding::add(&mut self.report(), Finding { host, ..Finding::new(kind) });
    }

    /// The program has ended while a kernel was in flight, which has run to its end only for the checks.
    pub fn not_awaited(&self, kernel: &str) {
        if !self.checks.has(Check::Api) {
            return;
        }
        finding::add(&mut self.report(), Finding::new(Kind::UnawaitedLaunch).in_kernel(kernel));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Checks;

    fn failed(checks: &str) -> Vec<Finding> {
        let sanitizer = Sanitizer::new(checks.parse::<Checks>().unwrap());
        for _ in 0..3 {
            sanitizer.host_call_failed(Severity::Error, "cuMemcpyHtoD", "CUDA_ERROR_INVALID_VALUE (1)", None);
        }
        sanitizer.host_call_failed(
            Severity::Warning,
            "cuMemAlloc",
            "CUDA_ERROR_OUT_OF_MEMORY (2)",
            Some("9 of 8 bytes"),
        );
        sanitizer.findings()
    }

    #[test]
    fn a_failed_call_is_told_once_where_it_is_asked_for() {
        let findings = failed("all");
        let told: Vec<_> = findings.iter().map(|finding| (finding.message(), finding.count)).collect();
        assert_eq!(
            told,
            [
                ("`cuMemcpyHtoD` failed with CUDA_ERROR_INVALID_VALUE (1)".into(), 3),
                ("`cuMemAlloc` failed with CUDA_ERROR_OUT_OF_MEMORY (2): 9 of 8 bytes".into(), 1)
            ]
        );
        assert_eq!(failed("memory,race,init,barrier"), []);
    }
}
