//! Malicious texts: each is accepted or refused in time and memory bounded by its length, without a panic.

use proptest::prelude::*;

const FIXTURES: [&str; 4] = [
    include_str!("fixtures/language.ptx"),
    include_str!("fixtures/nvcc_plain.ptx"),
    include_str!("fixtures/nvcc_tensor.ptx"),
    include_str!("fixtures/llvm.ptx"),
];

fn body(text: &str) -> Result<ptx::Module, ptx::Error> {
    ptx::parse(&format!(".version 8.6 .target sm_90 .entry k() {{ {text} }}"))
}

#[test]
fn deep_nesting_is_refused() {
    let deep = 1_000_000;
    let texts = [
        "{".repeat(deep),
        format!("mov.u32 %r, {}1;", "(".repeat(deep)),
        format!("mov.u32 %r, {}1;", "-".repeat(deep)),
        format!("mov.u32 %r, {}1;", "!".repeat(deep)),
        format!("mov.u32 %r, {}1;", "(.u64)".repeat(deep)),
        format!("mov.u32 %r, {}1;", "1 ? ".repeat(deep)),
        format!("mov.u32 %r, {}1;", "1 ? 1 : ".repeat(deep)),
        format!("mov.u32 %r, {}1;", "{".repeat(deep)),
        format!("mov.u32 %r, {}1;", "[a, ".repeat(deep)),
        format!("call f, {}1;", "(".repeat(deep)),
        format!(".shared .u32 x = {}1;", "{".repeat(deep)),
    ];
    for text in texts {
        let error = body(&text).unwrap_err();
        assert!(matches!(error.problem, ptx::Problem::TooDeep(_) | ptx::Problem::Expected(_)), "{error}");
    }
}

#[test]
fn depth_that_compilers_write_is_accepted() {
    body(&format!("{}ret;{}", "{".repeat(100), "}".repeat(100))).unwrap();
    body(&format!("mov.u32 %r, {}1{};", "(".repeat(40), ")".repeat(40))).unwrap();
    // Long, but not deep.
    body(&format!("mov.u32 %r, 1{};", " + 1".repeat(100_000))).unwrap();
}

#[test]
fn huge_counts_stay_numbers() {
    let module =
        body(".reg .b32 %r<4294967295>; .shared .b8 x[0xFFFFFFFFFFFFFFFF][0xFFFFFFFFFFFFFFFF];").unwrap();
    let ptx::Statement::Variable(variable) = &module.functions[0].body.as_ref().unwrap().statements[1] else {
        panic!()
    };
    assert_eq!(variable.size(), None);
}

#[test]
fn megabyte_tokens_and_cut_off_texts() {
    let long = "a".repeat(1 << 20);
    for text in [
        format!("{long};"),
        format!("{long}: ret;"),
        format!("add{};", ".a".repeat(1 << 19)),
        format!("mov.u32 %r, 0x{};", "0".repeat(1 << 20)),
        format!(".pragma \"{long}\";"),
        format!("/*{long}*/ //{long}\n"),
    ] {
        body(&text).unwrap();
    }
    assert!(body(&format!("mov.u32 %r, 1{long};")).is_err());
    assert!(body(&format!("mov.u32 %r, {};", "9".repeat(1 << 20))).is_err());
    // Every prefix, including those that end within a token.
    for fixture in FIXTURES {
        for end in (0..fixture.len()).step_by(7).filter(|&end| fixture.is_char_boundary(end)) {
            let _ = ptx::parse(&fixture[..end]);
        }
    }
}

/// Cuts, copies, or overwrites a piece of the text.
fn mutate(text: &mut Vec<u8>, kind: u8, at: usize, length: usize, bytes: &[u8]) {
    let at = at % (text.len() + 1);
    let end = (at + length % 64).min(text.len());
    match kind % 4 {
        0 => drop(text.splice(at..end, bytes.iter().copied())),
        1 => drop(text.drain(at..end)),
        2 => {
            let piece = text[at..end].to_vec();
            drop(text.splice(at..at, piece));
        }
        _ => text.truncate(at),
    }
}

/// The fuzz target, without a nightly compiler: `cargo test -p ptx --test hostile -- --ignored`, for a
/// minute.
#[test]
#[ignore = "runs for a minute"]
fn mutated_for_a_minute() {
    let started = std::time::Instant::now();
    let mut state = started.elapsed().as_nanos() as u64
        ^ std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(1, |since| since.as_nanos() as u64);
    println!("seed {state}");
    let mut random = move || {
        // SplitMix64.
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) as usize
    };
    while started.elapsed().as_secs() < 60 {
        let mut text = FIXTURES[random() % FIXTURES.len()].as_bytes().to_vec();
        for _ in 0..1 + random() % 8 {
            let bytes: Vec<u8> = (0..random() % 6).map(|_| random() as u8).collect();
            mutate(&mut text, random() as u8, random(), random(), &bytes);
        }
        let text = String::from_utf8_lossy(&text);
        if let Ok(module) = ptx::parse(&text) {
            let printed = module.to_string();
            assert_eq!(ptx::parse(&printed).unwrap().to_string(), printed, "{text}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutated_ptx_never_panics(
        fixture in 0..FIXTURES.len(),
        edits in prop::collection::vec(
            (any::<u8>(), any::<usize>(), any::<usize>(), prop::collection::vec(any::<u8>(), 0..6)), 1..8),
    ) {
        let mut text = FIXTURES[fixture].as_bytes().to_vec();
        for (kind, at, length, bytes) in &edits {
            mutate(&mut text, *kind, *at, *length, bytes);
        }
        match ptx::parse(&String::from_utf8_lossy(&text)) {
            Ok(module) => {
                let printed = module.to_string();
                let again = ptx::parse(&printed).map_err(|error| TestCaseError::fail(error.to_string()))?;
                prop_assert_eq!(again.to_string(), printed);
            }
            Err(error) => prop_assert!(error.to_string().lines().count() == 3, "{}", error),
        }
    }

    #[test]
    fn arbitrary_tokens_never_panic(words in prop::collection::vec(prop::sample::select(&[
        ".version 8.6", ".target sm_90", ".entry k()", "{", "}", "(", ")", "[", "]", ",", ";", ":", "|", "@", "!", "-",
        "?", "<", ">", "=", ".reg", ".b32", ".param", ".loc 1 2 3", "x", "_", "%r1", "generic", "WARP_SZ", "1", "0x",
        "0f3F800000", "1.5", "\"", "//", "/*", "\n", ".section .debug_str", ".callprototype", "call", "é", "\0",
    ][..]), 0..60)) {
        let _ = ptx::parse(&words.join(" "));
        let _ = ptx::parse(&format!(".version 8.6 .target sm_90 .entry k() {{ {}", words.join("")));
    }
}
