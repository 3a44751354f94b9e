//! What the tool prints, word for word. A change shows up as a difference in `snapshots/`; `cargo insta review`, or
//! `INSTA_UPDATE=always cargo test -p warpsmith_tool --test snapshots`, takes it over.
//!
//! What differs between machines is left out: they have no CUDA programs here, line numbers of sources are hidden, and so
//! are counts of all instructions, which follow the compiler.

use std::process::Command;

fn shown(line: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpsmith"));
    // It says how programs run here.
    if line == "--help" {
        command.env("WARPSMITH_EXECUTION", "interpreted");
    }
    let output = command
        .args(line.split_whitespace())
        .env("WARPSMITH_DEVICE", "virtual")
        .env("PATH", "")
        .env_remove("VIRTUAL_ENV")
        .env_remove("WARPSMITH_MODEL")
        .output()
        .expect("the tool starts");
    let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    text.lines().map(hidden).collect::<Vec<_>>().join("\n")
}

/// A line without what other machines, or edits elsewhere, change.
fn hidden(line: &str) -> String {
    if line.contains(" warp instructions, of ") {
        return "  N warp instructions".to_owned();
    }
    if line.ends_with(" lanes") && line.contains(" instructions of ") {
        return "    N instructions".to_owned();
    }
    if line.ends_with("more; --json has them") {
        return "  the rest".to_owned();
    }
    let mut out = String::new();
    let mut rest = line;
    // A line's share of the cost, and its bar.
    if let Some((_, after)) = line.rsplit_once(['█', '·']).filter(|(share, _)| share.contains(" %  ")) {
        out += "  SHARE";
        rest = after;
    }
    while let Some(at) = rest.find(".rs:") {
        let (before, after) = rest.split_at(at + ".rs:".len());
        out += before;
        out += "N";
        rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    out + rest
}

macro_rules! snapshots {
    ($($name:ident: $line:literal,)*) => {$(
        #[test]
        fn $name() {
            insta::assert_snapshot!(shown($line));
        }
    )*};
}
snapshots! {
    demo_coalescing: "demo coalescing --size 4096",
    demo_matmul: "demo matmul --size 64",
    demo_tensor: "demo tensor --size 64",
    demo_transpose: "demo transpose --size 64",
    demo_banks: "demo banks",
    demo_spaces: "demo spaces --size 1024",
    demo_latency: "demo latency --size 1024",
    explain_banks_stride: "explain banks --stride 2",
    explain_banks_wide: "explain banks --bytes 16 --stride 0 --store",
    explain_banks_matrix: "explain banks --matrix 16x16 --pad 1",
    explain_banks_kepler: "explain banks --stride 32 --capability 3.5 --bank-mode 8",
    explain_banks_ten: "explain banks --stride 5 --banks 10",
    explain_coalescing: "explain coalescing --stride 2",
    explain_coalescing_misaligned: "explain coalescing --example misaligned",
    explain_coalescing_scattered: "explain coalescing --example scattered --capability 2.0",
    explain_coalescing_structs: "explain coalescing --example structs",
    explain_cache: "explain cache --no-driver",
    explain_cache_kepler: "explain cache --no-driver --capability 3.5",
    occupancy_block: "occupancy --block 16x16 --registers 40 --shared 2048",
    occupancy_old: "occupancy --block 16x16 --shared 2048 --capability 1.0",
    occupancy_example: "occupancy --example",
    roofline_example: "roofline --example",
    roofline_kernels: "roofline matmul_naive matmul_tiled_16 --size 64",
    roofline_tensor: "roofline matmul_tiled_16 tensor_bf16_nt hopper_s8_nt --size 256",
    profile_bulk: "profile hopper_bf16_nt --size 128",
    profile_conflicts: "profile transpose_tile --size 64",
    profile_sectors: "profile transpose_naive --size 64",
    inspect_source: "inspect vecadd --source",
    check_clean: "check vecadd transpose_padded",
    list_family: "list banks",
    help: "--help",
    unknown_kernel: "profile matmul_nave",
    unknown_command: "nonsense",
    wrong_size: "demo matmul --size 0",
    too_large: "demo matmul --size 60000",
}

/// The text of a line of a picture, without its tags.
fn untagged(line: &str) -> String {
    let texts = line.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text));
    texts.collect::<String>().replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

/// `.ci/pictures` draws it anew.
#[test]
fn the_readmes_picture_is_of_what_is_printed_now() {
    let drawn = include_str!("../../docs/images/demo.svg").lines().filter(|line| line.starts_with("<text "));
    let drawn: Vec<String> = drawn.map(untagged).collect();
    let output = Command::new(env!("CARGO_BIN_EXE_warpsmith"))
        .args(["demo", "matmul"])
        .env("WARPSMITH_DEVICE", "virtual")
        .env_remove("WARPSMITH_MODEL")
        .output()
        .expect("the tool starts");
    let printed = String::from_utf8(output.stdout).unwrap();
    let printed = printed.lines().map(str::trim_end).filter(|line| !line.is_empty());
    let expected: Vec<&str> = ["$ cargo run --release"].into_iter().chain(printed).chain(["…"]).collect();
    assert_eq!(drawn, expected);
}
