//! The table of found, missed and false.

use std::process::ExitCode;

use crate::trial::{self, Verdict};
use crate::{SCHEDULES, cases};

/// Prints a line for each case whose name contains `filter`, and the sums.
pub fn print(filter: Option<&str>) -> ExitCode {
    let (mut found, mut missed, mut alarms) = (0, 0, 0);
    println!("{:16} {:32} {:8} {:8} right twin, {SCHEDULES} schedules", "family", "bug", "kind", "found");
    for (family, text, case) in
        cases().filter(|(_, _, case)| filter.is_none_or(|word| case.name.contains(word)))
    {
        let (bad, right) = (trial::bad(text, case), trial::right(case, SCHEDULES));
        let bad = match bad {
            Verdict::Good(schedule) => {
                found += 1;
                format!("by {schedule}")
            }
            _ => {
                missed += 1;
                "MISSED".to_owned()
            }
        };
        let right = match right {
            Verdict::Good(_) => "silent".to_owned(),
            Verdict::False(schedule, said) => {
                alarms += 1;
                format!(
                    "FALSE under schedule {schedule}: {}",
                    said.first().map_or_else(String::new, |f| f.message())
                )
            }
            Verdict::Missed(_) => unreachable!("a right twin has nothing to miss"),
        };
        println!("{family:16} {:32} {:8} {bad:8} {right}", case.name, format!("{:?}", case.check));
    }
    println!("{found} found, {missed} missed, {alarms} false");
    if missed + alarms == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
