//! Messages of the check: each use with its path from the kernel, and the replacement.

use super::reach::Finding;
use std::collections::HashSet;
use std::fmt::Write;

const HEAD: &str = "\
A kernel without `unsafe` reaches what only the blockwise crate's own operations may do, since any of it would let threads of a \
block part at a barrier, or race.";

/// All findings as one text, one for each place.
pub fn of(findings: &mut [Finding]) -> String {
    findings.sort_by(|a, b| place(a).cmp(&place(b)).then(a.what.cmp(&b.what)));
    let mut text = HEAD.to_owned();
    let mut told = HashSet::new();
    for finding in findings {
        let last = finding.way.last().map(|step| &step.frame);
        if told.insert((&finding.kernel, last)) {
            // Writing to a String cannot fail.
            let _ = write!(text, "\n\n{finding}");
        }
    }
    text
}

/// Where the author finds it: in the kernel, or the place that leads there.
fn place(finding: &Finding) -> (Option<(&str, u32, u32)>, &str) {
    let frame = finding.way.first().map(|step| &step.frame);
    (frame.map(|frame| (frame.file.as_str(), frame.line, frame.column)), &finding.kernel)
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the kernel `{}` {}", self.kernel, self.what.words())?;
        let next = self.way.iter().skip(1).map(|step| Some(&step.frame.function)).chain([self.by.as_ref()]);
        for (step, next) in self.way.iter().zip(next) {
            let frame = &step.frame;
            write!(f, "\n  at {}:{}:{}, ", frame.file, frame.line, frame.column)?;
            match next {
                Some(next) => {
                    let calls = if step.indirect { "may call by its address" } else { "calls" };
                    write!(f, "where `{}` {calls} `{next}`", frame.function)?;
                }
                None => write!(f, "in `{}`", frame.function)?,
            }
        }
        write!(f, "\n  instead: {}", self.what.instead())
    }
}
