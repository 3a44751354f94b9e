//! Runs a mistake of `docs/mistakes.md`: `cargo run --release -p tests --bin mistakes -- NAME before|after`.
//!
//! `WARPSMITH_CHECK=memory,race,init,barrier` looks for what the result does not show.

use std::process::ExitCode;

use tests::mistakes::ALL;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (mistake, after) = match words[..] {
        [name, when @ ("before" | "after")] if ALL.iter().any(|mistake| mistake.name == name) => {
            (ALL.iter().find(|mistake| mistake.name == name), when == "after")
        }
        _ => (None, false),
    };
    let Some(mistake) = mistake else {
        let names: Vec<&str> = ALL.iter().map(|mistake| mistake.name).collect();
        eprintln!("usage: mistakes NAME before|after\nnames: {}", names.join(", "));
        return ExitCode::from(2);
    };
    match mistake.run(after) {
        Ok(verdict) => {
            let result = verdict.wrong.map_or("right".to_owned(), |wrong| format!("WRONG: {wrong}"));
            println!("{result}");
            if verdict.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            println!("{error:#}");
            ExitCode::FAILURE
        }
    }
}
