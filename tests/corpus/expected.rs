//! What a report must say of a planted bug: the tool, and one of the marked lines.

use planted::{Case, Check};
use sanitizer::{Finding, Kind, Severity};

/// Whether this finding is the one that the case is there for.
pub fn is_it(text: &str, case: &Case, finding: &Finding) -> bool {
    let (check, severity) = match case.check {
        Check::Memory => (sanitizer::Check::Memory, Severity::Error),
        Check::Race => (sanitizer::Check::Race, Severity::Error),
        Check::Equal => (sanitizer::Check::Race, Severity::Warning),
        Check::Init => (sanitizer::Check::Init, Severity::Error),
        Check::Barrier => (sanitizer::Check::Barrier, Severity::Error),
        Check::Parted => (sanitizer::Check::Barrier, Severity::Warning),
    };
    let marked = marked_lines(text, case.name);
    // What the host finds when it copies names a store beside it, if there is one.
    let placed = match &finding.kind {
        Kind::UndefinedCopy { .. } => true,
        // A failed assertion says itself where it stands.
        Kind::Fault { said, .. } => marked.iter().any(|line| said.contains(&format!(".rs:{line}, "))),
        _ => false,
    };
    let placed = placed
        || finding.sites.iter().flat_map(|site| &site.frames).any(|frame| marked.contains(&frame.line));
    finding.check() == check && finding.severity() == severity && placed
}

/// The lines of a case that carry the mark, from 1.
pub fn marked_lines(text: &str, name: &str) -> Vec<u32> {
    let start = text.lines().position(|line| is_head_of(line, name));
    let start = start.unwrap_or_else(|| panic!("the case `{name}` is in the text of its file"));
    let body = text.lines().enumerate().skip(start + 1);
    let body = body.take_while(|(_, line)| *line != "    }");
    body.filter(|(_, line)| line.contains("// <-")).map(|(index, _)| index as u32 + 1).collect()
}

/// Whether this line begins a case: `    Race NAME {} |d| {`.
fn is_head_of(line: &str, name: &str) -> bool {
    let mut words = line.split_whitespace();
    line.starts_with("    ")
        && !line.starts_with("     ")
        && words.next().is_some()
        && words.next() == Some(name)
}
