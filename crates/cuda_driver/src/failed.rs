//! Which failed calls the checks report, and how severe each is.

use sanitizer::Severity;

use crate::abi::CUresult;
use crate::check;
use crate::objects::explain;

/// How much the checks had reported about the host before a call.
pub(crate) struct Before(Option<u64>);

impl Before {
    pub fn now() -> Self {
        explain::forget();
        Before(check::sanitizer().map(sanitizer::Sanitizer::told_of_host))
    }

    /// The call has returned. If it failed, and the checks have not reported that otherwise, they do so now.
    pub fn answered(self, name: &str, answer: CUresult) -> CUresult {
        if is_lost(answer) {
            crate::fault::remind(plain(name), answer);
        }
        if answer != CUresult::SUCCESS
            && let Some(sanitizer) = check::sanitizer()
            && self.0.is_none_or(|told| told == sanitizer.told_of_host())
            // Every later call returns a kernel's fault, which the launch's own tools have reported.
            && !(is_lost(answer) && sanitizer.has_found())
            && let Some(severity) = severity(name, answer)
        {
            sanitizer.host_call_failed(severity, plain(name), &answer.to_string(), explain::why().as_deref());
        }
        check::keep();
        answer
    }
}

/// Whether a kernel's fault has ended the context.
pub(crate) fn is_lost(answer: CUresult) -> bool {
    matches!(answer.0, 700 | 702 | 710 | 714..=719)
}

/// How severe a failed call is; `None` for calls with which programs only find out what is possible.
fn severity(name: &str, answer: CUresult) -> Option<Severity> {
    const PROBES: [&str; 8] = [
        "cuPointerGet",
        "cuMemGetAddressRange",
        "cuMemHostGet",
        "cuGetProcAddress",
        "cuGetExportTable",
        "cuGetError",
        "cuCtxGet",
        "cuDeviceGetAttribute",
    ];
    match answer {
        CUresult::NOT_READY | CUresult::NOT_SUPPORTED | CUresult::DEINITIALIZED => None,
        _ if PROBES.iter().any(|probe| name.starts_with(probe)) => None,
        // A program may look for a name that does not exist, and use less memory if it cannot have more.
        CUresult::NOT_FOUND | CUresult::OUT_OF_MEMORY => Some(Severity::Warning),
        // The desired state already holds.
        CUresult::PEER_ACCESS_ALREADY_ENABLED | CUresult::HOST_MEMORY_ALREADY_REGISTERED => {
            Some(Severity::Note)
        }
        _ if name.contains("Get") || name.contains("Query") => Some(Severity::Note),
        _ => Some(Severity::Error),
    }
}

/// The name in the manual; a program may call a later version of it, or the one for per-thread streams.
fn plain(name: &str) -> &str {
    let name = name.strip_suffix("_ptsz").or(name.strip_suffix("_ptds")).unwrap_or(name);
    name.rsplit_once("_v").filter(|(_, version)| version.parse::<u8>().is_ok()).map_or(name, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_done_is_an_error_and_a_question_is_none() {
        let of = |name, code| severity(name, CUresult(code));
        assert_eq!(of("cuLaunchKernel", 1), Some(Severity::Error));
        assert_eq!(of("cuMemFree_v2", 1), Some(Severity::Error));
        assert_eq!(of("cuMemAlloc_v2", 2), Some(Severity::Warning));
        assert_eq!(of("cuModuleGetFunction", 500), Some(Severity::Warning));
        assert_eq!(of("cuDeviceGet", 101), Some(Severity::Note));
        assert_eq!(of("cuPointerGetAttribute", 1), None);
        assert_eq!(of("cuStreamQuery", 600), None);
    }

    #[test]
    fn a_call_has_its_name_of_the_manual() {
        assert_eq!(plain("cuMemcpyHtoDAsync_v2_ptsz"), "cuMemcpyHtoDAsync");
        assert_eq!(plain("cuMemAlloc_v2"), "cuMemAlloc");
        assert_eq!(plain("cuLaunchKernel"), "cuLaunchKernel");
    }
}
