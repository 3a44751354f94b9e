//! Each example runs on the virtual GPU and finds its result right; it is short, without `unsafe`, and in the README.

use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn examples_are_short_and_right() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(folder.join("../README.md")).unwrap();
    // target/debug/deps/examples-…
    let built = std::env::current_exe().unwrap();
    let built = built.parent().unwrap().with_file_name("examples");
    let names =
        fs::read_dir(folder).unwrap().filter_map(|entry| entry.unwrap().file_name().into_string().ok());
    let mut names: Vec<String> =
        names.filter(|name| name.starts_with(|c: char| c.is_ascii_digit())).collect();
    names.sort();
    assert_eq!(names.len(), 12, "{names:?}");
    for file in names {
        let text = fs::read_to_string(folder.join(&file)).unwrap();
        assert!(text.lines().count() <= 60 && !text.contains("unsafe"), "{file}");
        assert!(readme.contains(&format!("examples/{file}")), "README.md does not list {file}");
        let name = file.trim_end_matches(".rs");
        let output = Command::new(built.join(name)).env("WARPSMITH_DEVICE", "virtual").output();
        let output =
            output.unwrap_or_else(|error| panic!("{name} is not built (`cargo build --examples`): {error}"));
        assert!(output.status.success(), "{file}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(!output.stdout.is_empty(), "{file}");
    }
}
