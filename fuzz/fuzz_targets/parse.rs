//! Any bytes: no panic, and what parses prints to what parses to the same.
//!
//! `cargo +nightly fuzz run parse -- -max_total_time=60`, the fixtures of `crates/ptx/tests` as a first corpus.
//! Without a nightly compiler: `cargo test -p ptx --release --test hostile -- --ignored`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    match ptx::parse(&text) {
        Ok(module) => {
            let printed = module.to_string();
            let again = ptx::parse(&printed).expect("what is printed parses");
            assert_eq!(again.to_string(), printed);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
