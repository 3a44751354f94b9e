//! Findings as SARIF 2.1.0, which code hosts show beside the line.

use std::path::Path;

use serde_json::{Value, json};

use crate::checks::Check;
use crate::finding::{Finding, Frame, Site};
use crate::kind::Severity;

/// The document. Files below `root` are named relative to it, as code hosts want them.
pub(crate) fn sarif(findings: &[Finding], root: &Path) -> Value {
    let rules: Vec<Value> = Check::ALL
        .iter()
        .map(|check| json!({ "id": check.name(), "shortDescription": { "text": describe(*check) } }))
        .collect();
    let results: Vec<Value> = findings.iter().map(|finding| result(finding, root)).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "warpsmith", "version": env!("CARGO_PKG_VERSION"), "rules": rules } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn describe(check: Check) -> &'static str {
    match check {
        Check::Memory => "Access outside of memory that the program may access",
        Check::Race => "Two accesses to one place that nothing orders",
        Check::Init => "Use of a value that was never written",
        Check::Barrier => "Barrier that some threads miss",
        Check::Api => "Call of the driver that failed",
    }
}

fn result(finding: &Finding, root: &Path) -> Value {
    let level = match finding.severity() {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Error => "error",
    };
    let kernel = match finding.kernel.as_str() {
        "" => String::new(),
        kernel => format!(" (kernel `{kernel}`)"),
    };
    let mut sites = finding.sites.iter().filter_map(|site| Some((site, location(site, finding, root)?)));
    let mut result = json!({
        "ruleId": finding.check().name(),
        "level": level,
        "message": { "text": format!("{}{kernel}\nHelp: {}", finding.message(), finding.help()) },
        "locations": [],
        "occurrenceCount": finding.count,
    });
    if let Some((_, first)) = sites.next() {
        result["locations"] = json!([first]);
    } else if let Some(host) = &finding.host
        && let Some(file) = &host.file
    {
        let function: &str = host.function.as_deref().unwrap_or_default();
        result["locations"] = json!([beside((file, host.line, 0), function, root)]);
    }
    let others: Vec<Value> = sites
        .enumerate()
        .map(|(number, (site, mut location))| {
            location["id"] = json!(number + 1);
            location["message"] = json!({ "text": format!("the other side: {}", site.what) });
            location
        })
        .collect();
    if !others.is_empty() {
        result["relatedLocations"] = json!(others);
    }
    result
}

/// Where a side of a finding is: its innermost frame in the project, or else its innermost frame outside of libraries.
fn location(site: &Site, finding: &Finding, root: &Path) -> Option<Value> {
    let own = |frame: &&Frame| within(&frame.file, root).is_some();
    let frame = site.frames.iter().find(own).or(site.place())?;
    let mut place = beside((&frame.file, frame.line, frame.column), &finding.kernel, root);
    if let Some(symbol) = &finding.symbol {
        place["logicalLocations"][0]["decoratedName"] = json!(symbol);
    }
    Some(place)
}

/// A place in a file, in a function. A line or column of 0 is not known.
fn beside((file, line, column): (&str, u32, u32), function: &str, root: &Path) -> Value {
    let uri = within(file, root).unwrap_or_else(|| format!("file://{}", escaped(file)));
    let mut region = json!({ "startLine": line.max(1) });
    if column > 0 {
        region["startColumn"] = json!(column);
    }
    json!({
        "physicalLocation": { "artifactLocation": { "uri": uri }, "region": region },
        "logicalLocations": [{ "name": function, "kind": "function" }],
    })
}

/// The file's address relative to `root`, if it lies below.
fn within(file: &str, root: &Path) -> Option<String> {
    let path = Path::new(file);
    let relative = if path.is_absolute() { path.strip_prefix(root).ok()? } else { path };
    Some(escaped(relative.to_str()?))
}

/// A path as part of an address.
fn escaped(path: &str) -> String {
    path.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cure::Cure;
    use crate::finding::Action;
    use crate::kind::{Conflict, Kind};

    fn site(file: &str, line: u32) -> Site {
        let frame = |file: &str, line| Frame { file: file.into(), line, column: 9, function: None };
        Site {
            what: Action::Write,
            block: [0; 3],
            thread: [0; 3],
            ptx_line: 7,
            function: "tiled".into(),
            frames: vec![frame("/registry/tile/src/shared.rs", 1), frame(file, line)],
        }
    }

    #[test]
    fn a_finding_stands_beside_the_user_s_own_line() {
        let finding = Finding {
            sites: vec![site("/home/me/my project/src/lib.rs", 41), site("src/other.rs", 12)],
            cure: Some(Cure::Block),
            count: 3,
            ..Finding::new(Kind::Race { how: Conflict::Equal }).in_kernel("_Z5tiledPf")
        };
        let document = sarif(std::slice::from_ref(&finding), Path::new("/home/me/my project"));
        let result = &document["runs"][0]["results"][0];
        assert_eq!((result["ruleId"].as_str(), result["level"].as_str()), (Some("race"), Some("warning")));
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "src/lib.rs");
        assert_eq!(place["region"], json!({ "startLine": 41, "startColumn": 9 }));
        let other = &result["relatedLocations"][0];
        assert_eq!(other["physicalLocation"]["artifactLocation"]["uri"], "src/other.rs");
        assert_eq!(result["occurrenceCount"], 3);
        assert!(result["message"]["text"].as_str().unwrap().contains("(kernel `tiled`)\nHelp: put `thread"));
        let function = &result["locations"][0]["logicalLocations"][0];
        assert_eq!((&function["name"], &function["decoratedName"]), (&json!("tiled"), &json!("_Z5tiledPf")));
        // Outside of the folder the innermost frame is all there is.
        let elsewhere = sarif(&[], Path::new("/elsewhere"));
        assert_eq!(elsewhere["runs"][0]["results"], json!([]));
        let place =
            location(&site("/home/me/my project/src/lib.rs", 41), &finding, Path::new("/elsewhere")).unwrap();
        assert_eq!(
            place["physicalLocation"]["artifactLocation"]["uri"],
            "file:///registry/tile/src/shared.rs"
        );
        assert_eq!(within("/a/b c.rs", Path::new("/a")).unwrap(), "b%20c.rs");
    }
}
