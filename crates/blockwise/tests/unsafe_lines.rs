//! docs/safety.md says how many lines of this crate say `unsafe`, the reader's work if they would check the trusted base, and how
//! many wrong programs its tests have.

use std::fs;
use std::path::Path;

#[test]
fn the_page_of_safety_counts_the_lines_that_say_unsafe() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("../../docs/safety.md")).unwrap();
    let says = |said: String| assert!(page.contains(&said), "docs/safety.md does not say \"{said}\"");
    says(format!("{} lines of code that say `unsafe`", lines(&root.join("src"))));
    let wrong = fs::read_dir(root.join("tests/wrong")).unwrap();
    let programs =
        wrong.filter(|file| file.as_ref().unwrap().path().extension() == Some("rs".as_ref())).count();
    says(format!("`tests/wrong`: {programs} programs that must not compile"));
}

/// Comments and doctests do not count.
fn lines(folder: &Path) -> usize {
    let of = |path: &Path| {
        if path.is_dir() {
            return lines(path);
        }
        let text = fs::read_to_string(path).unwrap();
        let code = |line: &&str| line.split("//").next().is_some_and(says_unsafe);
        text.lines().filter(code).count()
    };
    fs::read_dir(folder).unwrap().map(|entry| of(&entry.unwrap().path())).sum()
}

/// The word in code, not within a message.
fn says_unsafe(code: &str) -> bool {
    code.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '`').any(|word| word == "unsafe")
}
