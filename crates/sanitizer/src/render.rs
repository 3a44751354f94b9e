//! Findings as text for a person, in compute-sanitizer's shape, as JSON, or as SARIF.

use std::fmt::Write as _;

use crate::checks::Check;
use crate::finding::{Finding, Severity, Site};
use crate::report::readable;
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

fn text(findings: &[Finding]) -> String {
    let mut out = String::new();
    for finding in findings {
        let severity = match finding.severity {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        let _ = writeln!(out, "{severity}: {}", finding.message);
        if !finding.kernel.is_empty() {
            let _ = writeln!(out, "  in kernel `{}`", readable(&finding.kernel));
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
            let _ = writeln!(out, "  called at {host}");
        }
        for site in &finding.sites {
            write_site(&mut out, site);
        }
        if finding.count > 1 {
            let _ = writeln!(out, "  seen {} times", finding.count);
        }
        if let Some(seed) = finding.seed {
            let _ = writeln!(out, "  under the schedule of seed {seed}: WARPSMITH_SEED={seed}");
        }
        let _ = writeln!(out, "  help: {}\n", finding.help);
    }
    let errors = findings.iter().filter(|f| f.severity == Severity::Error).count();
    let warnings = findings.iter().filter(|f| f.severity == Severity::Warning).count();
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
            let _ = writeln!(out, "=========     called at {host}");
        }
        for site in &finding.sites {
            let ([bx, by, bz], [tx, ty, tz]) = (site.block, site.thread);
            let _ = writeln!(out, "=========     {} at {}", site.what, place(site));
            let _ = writeln!(out, "=========     by thread ({tx},{ty},{tz}) in block ({bx},{by},{bz})");
        }
        out.push_str("=========\n");
    }
    let errors = findings.iter().filter(|f| f.severity == Severity::Error).count();
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
    let what = |site: &Site| if site.what.ends_with("write") { "Write" } else { "Read" };
    let level = if finding.severity == Severity::Error { "Error" } else { "Warning" };
    match (&finding.check, &finding.sites[..]) {
        (Check::Memory, _) => invalid(&finding.message).unwrap_or_else(|| finding.message.clone()),
        (Check::Race, [later, earlier]) if finding.severity != Severity::Note => format!(
            "{level}: Race reported between {} access at {} and {} access at {} [{} hazards]",
            what(later),
            place(later),
            what(earlier),
            place(earlier),
            finding.count
        ),
        (Check::Barrier, [_, ..]) => format!("Barrier error detected. {}", finding.message),
        _ => finding.message.clone(),
    }
}

/// `illegal address: global load of 4 bytes at 0x10, …` as memcheck says it.
fn invalid(message: &str) -> Option<String> {
    let (kind, rest) = message.split_once(" address: ")?;
    let why = match kind {
        "illegal" => "out of bounds",
        "misaligned" => "misaligned",
        _ => return None,
    };
    let (access, rest) = rest.split_once(" of ")?;
    let (bytes, address) = rest.split_once(" bytes at ")?;
    let (space, verb) = access.split_once(' ')?;
    let verb = match verb.split(' ').next()? {
        "load" => "read",
        "store" => "write",
        other => other,
    };
    let (address, nearby) = address.split_once(',').map_or((address, ""), |(at, nearby)| (at, nearby.trim()));
    let nearby = if nearby.is_empty() { String::new() } else { format!(": {nearby}") };
    Some(format!(
        "Invalid __{space}__ {verb} of size {bytes} bytes\n=========     Address {address} is {why}{nearby}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Frame, Object};

    fn finding() -> Finding {
        Finding {
            check: Check::Race,
            severity: Severity::Error,
            message: "race in shared memory: read after write, and nothing orders the two".into(),
            kernel: "tiled".into(),
            object: Some(Object {
                space: "shared".into(),
                name: None,
                size: Some(2048),
                offset: 68,
                element: Some(4),
                allocated: None,
            }),
            sites: vec![Site {
                what: "read".into(),
                block: [0, 1, 0],
                thread: [3, 0, 0],
                ptx_line: 7,
                function: "tiled".into(),
                frames: vec![Frame { file: "no/such.rs".into(), line: 41, column: 9, function: None }],
            }],
            host: None,
            help: "put `thread::sync_threads` (`__syncthreads`) between the two".into(),
            count: 4064,
            seed: Some(7),
        }
    }

    #[test]
    fn a_person_reads_what_where_and_what_to_do() {
        let text = render(&[finding()], Format::Text);
        for part in [
            "error: race in shared memory",
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
        let message =
            "illegal address: global load of 4 bytes at 0x100, 0 bytes past the end of the allocation";
        let memory = Finding { check: Check::Memory, message: message.into(), ..finding() };
        let lines = render(&[memory], Format::ComputeSanitizer);
        assert!(lines.contains("========= Invalid __global__ read of size 4 bytes\n"), "{lines}");
        assert!(lines.contains("Address 0x100 is out of bounds: 0 bytes past"), "{lines}");
        let json: serde_json::Value = serde_json::from_str(&render(&[finding()], Format::Json)).unwrap();
        assert_eq!(json["findings"][0]["sites"][0]["frames"][0]["line"], 41);
    }
}
