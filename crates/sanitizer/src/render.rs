//! Findings as text for a person, in compute-sanitizer's shape, as JSON, or as SARIF.

use std::fmt::Write as _;

use serde::{Serialize, Serializer};

use crate::checks::Check;
use crate::finding::{Finding, Line, Site};
use crate::kind::{Invalid, InvalidAccess, Kind, Severity};
use crate::sarif::sarif;

/// How to print findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// For a person: what, where, source lines, what to do.
    #[default]
    Text,
    /// `{"version":1,"findings":[…]}`.
    Json,
    /// Lines that start with `=========`, for tools that read compute-sanitizer's.
    ComputeSanitizer,
    /// SARIF 2.1.0, for code hosts. Files below the current folder are named relative to it.
    Sarif,
}

/// Prints findings.
pub fn render(findings: &[Finding], format: Format) -> String {
    match format {
        Format::Text => text(findings),
        Format::Json => {
            let findings: Vec<Worded<'_>> = findings.iter().map(Worded::from).collect();
            let value = serde_json::json!({ "version": 1, "findings": findings });
            // A tree of strings and numbers always prints.
            serde_json::to_string_pretty(&value).unwrap_or_default() + "\n"
        }
        Format::ComputeSanitizer => compute_sanitizer(findings),
        Format::Sarif => {
            let root = std::env::current_dir().unwrap_or_default();
            serde_json::to_string_pretty(&sarif(findings, &root)).unwrap_or_default() + "\n"
        }
    }
}

/// A finding in JSON: beside its parts, what can be derived from them.
#[derive(Serialize)]
struct Worded<'a> {
    check: Check,
    severity: Severity,
    message: String,
    help: &'a str,
    #[serde(flatten)]
    finding: &'a Finding,
}

impl<'a> From<&'a Finding> for Worded<'a> {
    fn from(finding: &'a Finding) -> Self {
        Worded {
            check: finding.check(),
            severity: finding.severity(),
            message: finding.message(),
            help: finding.help(),
            finding,
        }
    }
}

/// Serializes findings with their words, as [`Format::Json`] has them.
pub fn worded<S: Serializer>(findings: &[Finding], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(findings.iter().map(Worded::from))
}

fn text(findings: &[Finding]) -> String {
    let mut out = String::new();
    for finding in findings {
        let severity = match finding.severity() {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        let _ = writeln!(out, "{severity}: {}", finding.message());
        if !finding.kernel.is_empty() {
            let _ = writeln!(out, "  in kernel `{}`", finding.kernel);
        }
        if let Some(object) = &finding.object {
            let name = object.name.as_ref().map_or_else(String::new, |name| format!(" `{name}`"));
            let size = object.size.map_or_else(String::new, |size| format!(" of {size}"));
            let element = object.element.filter(|&bytes| bytes > 1 && object.offset % u64::from(bytes) == 0);
            let element = element.map_or_else(String::new, |bytes| {
                format!(", element {} of {bytes} bytes each", object.offset as i64 / i64::from(bytes))
            });
            let _ = writeln!(
                out,
                "  at byte {}{size} of {} memory{name}{element}",
                object.offset as i64, object.space
            );
            if let Some(allocated) = &object.allocated {
                let _ = writeln!(out, "  allocated at {allocated}");
            }
        }
        if let Some(host) = &finding.host {
            let _ = writeln!(out, "  {} at {host}", finding.host_verb());
        }
        for site in &finding.sites {
            write_site(&mut out, site);
        }
        write_also(&mut out, finding);
        if finding.count > 1 {
            let _ = writeln!(out, "  seen {} times", finding.count);
        }
        if let Some(seed) = finding.seed {
            let _ = writeln!(out, "  under the schedule of seed {seed}: WARPSMITH_SEED={seed}");
        }
        let _ = writeln!(out, "  help: {}\n", finding.help());
    }
    let errors = findings.iter().filter(|f| f.severity() == Severity::Error).count();
    let warnings = findings.iter().filter(|f| f.severity() == Severity::Warning).count();
    if findings.is_empty() {
        out.push_str("nothing found\n");
    } else {
        let several =
            |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        let notes = findings.len() - errors - warnings;
        let _ = writeln!(
            out,
            "{}, {}, {}",
            several(errors, "error"),
            several(warnings, "warning"),
            several(notes, "note")
        );
    }
    out
}

fn write_site(out: &mut String, site: &Site) {
    let ([bx, by, bz], [tx, ty, tz]) = (site.block, site.thread);
    let _ = write!(out, "  {} by thread ({tx}, {ty}, {tz}) of block ({bx}, {by}, {bz})", site.what);
    let Some(place) = site.place() else {
        let _ = writeln!(out, ", line {} of the PTX", site.ptx_line);
        return;
    };
    let _ = writeln!(out, "\n    --> {}:{}:{}", place.file, place.line, place.column);
    if let Some(line) = source_line(&place.file, place.line) {
        let _ = writeln!(out, "{:>8} | {}", place.line, line.trim_end());
    }
    // What the user's line calls of libraries, from outside in, and what the user's line is inlined into.
    let (inside, outside) = site.frames.split_at(site.own());
    for frame in inside.iter().rev() {
        let _ = writeln!(out, "    in {}:{}:{}", frame.file, frame.line, frame.column);
    }
    for frame in outside.iter().skip(1) {
        let _ = writeln!(out, "    inlined at {}:{}:{}", frame.file, frame.line, frame.column);
    }
}

/// The other lines of the same mistake. Those in the file of the first are told by their numbers.
fn write_also(out: &mut String, finding: &Finding) {
    const MOST: usize = 8;
    let file = finding.sites.first().and_then(Site::place).map(|frame| frame.file.as_str());
    let name = |line: &Line| match file == Some(line.file.as_str()) {
        true => line.line.to_string(),
        false => line.to_string(),
    };
    let named = |lines: &Vec<Line>| lines.iter().map(name).collect::<Vec<_>>().join(" and ");
    let also: Vec<String> = finding.also.iter().take(MOST).map(named).collect();
    if !also.is_empty() {
        let rest = finding.also.len() - also.len();
        let rest = if rest > 0 { format!(", and at {rest} others") } else { String::new() };
        let _ = writeln!(out, "  also at lines {}{rest}", also.join(", "));
    }
}

/// The line as it stands in the file, when the file can be read from here.
fn source_line(file: &str, line: u32) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    text.lines().nth(line.checked_sub(1)? as usize).map(str::to_owned)
}

fn compute_sanitizer(findings: &[Finding]) -> String {
    let mut out = String::from("========= COMPUTE-SANITIZER\n");
    for finding in findings {
        let _ = writeln!(out, "========= {}", headline(finding));
        if let Some(allocated) = finding.object.as_ref().and_then(|object| object.allocated.as_ref()) {
            let _ = writeln!(out, "=========     allocated at {allocated}");
        }
        if let Some(host) = &finding.host {
            let _ = writeln!(out, "=========     {} at {host}", finding.host_verb());
        }
        for site in &finding.sites {
            let ([bx, by, bz], [tx, ty, tz]) = (site.block, site.thread);
            let _ = writeln!(out, "=========     {} at {}", site.what, place(site));
            let _ = writeln!(out, "=========     by thread ({tx},{ty},{tz}) in block ({bx},{by},{bz})");
        }
        out.push_str("=========\n");
    }
    let errors = findings.iter().filter(|f| f.severity() == Severity::Error).count();
    let _ = writeln!(out, "========= ERROR SUMMARY: {errors} error{}", if errors == 1 { "" } else { "s" });
    out
}

/// Where an access is.
fn place(site: &Site) -> String {
    let line = site.place().map_or_else(String::new, |f| format!(" in {}:{}", f.file, f.line));
    format!("{}(){line}", site.function)
}

/// The first line as compute-sanitizer words it, where it has a word for it; else our own.
fn headline(finding: &Finding) -> String {
    let what = |site: &Site| if site.what.writes() { "Write" } else { "Read" };
    let level = if finding.severity() == Severity::Error { "Error" } else { "Warning" };
    match (&finding.kind, finding.check(), &finding.sites[..]) {
        (Kind::InvalidAccess(access), ..) if access.why != Invalid::ReadOnly => invalid(access),
        (_, Check::Race, [later, earlier]) if finding.severity() != Severity::Note => format!(
            "{level}: Race reported between {} access at {} and {} access at {} [{} hazards]",
            what(later),
            place(later),
            what(earlier),
            place(earlier),
            finding.count
        ),
        (_, Check::Barrier, [_, ..]) => format!("Barrier error detected. {}", finding.message()),
        _ => finding.message(),
    }
}

/// An invalid access as memcheck words it.
fn invalid(access: &InvalidAccess) -> String {
    let InvalidAccess { why, access, address, bytes, nearby, .. } = access;
    let why = if *why == Invalid::Misaligned { "misaligned" } else { "out of bounds" };
    let mut words = access.split(' ');
    let space = words.next().unwrap_or_default();
    let verb = match words.next() {
        Some("load") => "read",
        Some("store") => "write",
        other => other.unwrap_or("access"),
    };
    let nearby = nearby.trim_start_matches(", ");
    let nearby = if nearby.is_empty() { String::new() } else { format!(": {nearby}") };
    format!(
        "Invalid __{space}__ {verb} of size {bytes} bytes\n=========     Address {address:#x} is {why}{nearby}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cure::Cure;
    use crate::finding::{Action, Frame, Object};
    use crate::kind::Conflict;

    fn finding() -> Finding {
        let site = |what| Site {
            what,
            block: [0, 1, 0],
            thread: [3, 0, 0],
            ptx_line: 7,
            function: "tiled".into(),
            frames: vec![Frame { file: "no/such.rs".into(), line: 41, column: 9, function: None }],
        };
        Finding {
            kernel: "tiled".into(),
            object: Some(Object {
                space: "shared".into(),
                name: None,
                size: Some(2048),
                offset: 68,
                element: Some(4),
                allocated: None,
            }),
            sites: vec![site(Action::Read), site(Action::Write)],
            cure: Some(Cure::Block),
            count: 4064,
            seed: Some(7),
            ..Finding::new(Kind::Race { how: Conflict::Unordered })
        }
    }

    #[test]
    fn a_person_reads_what_where_and_what_to_do() {
        let text = render(&[finding()], Format::Text);
        for part in [
            "error: race in shared memory: read after write, and nothing orders the two",
            "in kernel `tiled`",
            "byte 68 of 2048 of shared memory, element 17 of 4 bytes each",
            "read by thread (3, 0, 0) of block (0, 1, 0)",
            "--> no/such.rs:41:9",
            "seen 4064 times",
            "WARPSMITH_SEED=7",
            "help: put `thread::sync_threads`",
            "1 error, 0 warnings, 0 notes",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }

    #[test]
    fn the_other_shapes() {
        let lines = render(&[finding()], Format::ComputeSanitizer);
        assert!(lines.lines().all(|line| line.starts_with("=========")), "{lines}");
        assert!(lines.ends_with("ERROR SUMMARY: 1 error\n"));
        let kind = Kind::InvalidAccess(InvalidAccess {
            access: "global load".into(),
            address: 0x100,
            bytes: 4,
            nearby: ", 0 bytes past the end of the allocation".into(),
            ..InvalidAccess::default()
        });
        let lines = render(&[Finding { kind, ..finding() }], Format::ComputeSanitizer);
        assert!(lines.contains("========= Invalid __global__ read of size 4 bytes\n"), "{lines}");
        assert!(lines.contains("Address 0x100 is out of bounds: 0 bytes past"), "{lines}");
    }

    #[test]
    fn json_has_the_parts_and_the_words() {
        let text = render(&[finding()], Format::Json);
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        let told = &json["findings"][0];
        assert_eq!(told["sites"][0]["frames"][0]["line"], 41);
        assert_eq!((told["check"].as_str(), told["severity"].as_str()), (Some("race"), Some("error")));
        assert_eq!(told["kind"], serde_json::json!({ "name": "race", "how": "unordered" }));
        assert!(told["message"].as_str().unwrap().contains("read after write"));
        assert_eq!(serde_json::from_value::<Finding>(told.clone()).unwrap(), finding());
    }
}
