//! One row of a demo: what ran, whether it was right, and what was measured or counted.

use report::profile::Counters;
use serde::{Deserialize, Serialize};

use crate::terminal::{RIGHT, WRONG, grouped, table};
use crate::verify::Verdict;

/// A row. Serialised, it is an element of the `results` of `demo --json`; what was not measured is `null`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    /// The demo.
    pub demo: String,
    /// The kernel.
    pub kernel: String,
    /// What the kernel was asked to do, where one kernel does several things.
    pub case: String,
    /// The problem's size.
    pub size: String,
    /// `gpu` or `virtual`.
    pub device: String,
    /// Whether the result is right.
    pub ok: bool,
    /// The largest error.
    pub max_error: f64,
    /// The largest error that is still right.
    pub tolerance: f64,
    /// What was compared.
    pub check: String,
    /// The first wrong element.
    pub wrong: Option<String>,
    /// Median time by events; never of the virtual GPU.
    pub time_ms: Option<f64>,
    /// Floating-point operations per nanosecond.
    pub gflops: Option<f64>,
    /// Bytes of the problem (each counted once) per nanosecond.
    pub gb_per_s: Option<f64>,
    /// The demo's yardstick's time ÷ this time.
    pub speed_up: Option<f64>,
    /// Clock cycles of one access, where the kernel reads the clock.
    pub cycles: Option<f64>,
    /// Counts over PTX instructions, from the virtual GPU.
    pub counters: Option<Counters>,
    /// The size at which the counters were taken.
    pub counters_size: Option<String>,
    /// What the row shows, in one sentence.
    pub shows: String,
}

/// What a kernel has to do at least, whichever way it does it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Work {
    /// Floating-point operations.
    pub flops: f64,
    /// Bytes read and written, each once.
    pub bytes: f64,
}

impl Row {
    /// A row without measurements.
    pub fn new(demo: &str, kernel: &str, case: impl Into<String>, size: impl ToString, device: &str) -> Self {
        Self {
            demo: demo.into(),
            kernel: kernel.into(),
            case: case.into(),
            size: size.to_string(),
            device: device.into(),
            ok: true,
            max_error: 0.0,
            tolerance: 0.0,
            check: String::new(),
            wrong: None,
            time_ms: None,
            gflops: None,
            gb_per_s: None,
            speed_up: None,
            cycles: None,
            counters: None,
            counters_size: None,
            shows: String::new(),
        }
    }

    /// With the checker's verdict.
    pub fn checked(mut self, verdict: Verdict) -> Self {
        self.ok = verdict.ok;
        self.max_error = verdict.max_error;
        self.tolerance = verdict.tolerance;
        self.check = verdict.how;
        self.wrong = verdict.wrong;
        self
    }

    /// With counters, taken at this row's own size.
    pub fn counted(mut self, counters: Option<Counters>) -> Self {
        self.counters_size = counters.is_some().then(|| self.size.clone());
        self.counters = counters;
        self
    }

    /// With a time, and the rates that follow from it.
    pub fn timed(mut self, time_ms: Option<f64>, work: Work) -> Self {
        self.time_ms = time_ms;
        let rate = |amount: f64| time_ms.filter(|&t| t > 0.0 && amount > 0.0).map(|t| amount / (t * 1e6));
        self.gflops = rate(work.flops);
        self.gb_per_s = rate(work.bytes);
        self
    }

    /// With its sentence.
    pub fn shows(mut self, sentence: impl Into<String>) -> Self {
        self.shows = sentence.into();
        self
    }

    /// The kernel and its case.
    pub fn name(&self) -> String {
        if self.case.is_empty() { self.kernel.clone() } else { format!("{} ({})", self.kernel, self.case) }
    }
}

/// Fills in speed-ups against the first row.
pub fn against_first(rows: &mut [Row]) {
    if let Some(yardstick) = rows.first().and_then(|row| row.time_ms) {
        for row in rows {
            row.speed_up = row.time_ms.filter(|&time| time > 0.0).map(|time| yardstick / time);
        }
    }
}

/// The rows as a table, and beneath it what each shows.
pub fn text(rows: &[Row]) -> String {
    let timed = rows.iter().any(|row| row.time_ms.is_some());
    let flops = rows.iter().any(|row| row.gflops.is_some());
    let bytes = rows.iter().any(|row| row.gb_per_s.is_some());
    let cycles = rows.iter().any(|row| row.cycles.is_some());
    let counted = rows.iter().any(|row| row.counters.is_some());
    let other_size = rows.iter().any(|row| row.counters_size.as_ref().is_some_and(|size| *size != row.size));

    let mut header = vec!["kernel", "size", "result", "max\nerror"];
    let columns: [(bool, &[&str]); 6] = [
        (timed, &["ms"]),
        (flops, &["GFLOP/s"]),
        (bytes, &["GB/s"]),
        (timed, &["speed-up"]),
        (cycles, &["cycles"]),
        (counted, &["shared\nwavefronts", "bank\nconflicts", "sectors\nread", "sectors\nwritten"]),
    ];
    header.extend(columns.iter().filter(|(shown, _)| *shown).flat_map(|(_, names)| names.iter()));
    let body: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let number =
                |value: Option<f64>, digits: usize| value.map_or("".into(), |v| format!("{v:.digits$}"));
            let mut cells = vec![
                row.name(),
                row.size.clone(),
                if row.ok { RIGHT } else { WRONG }.to_owned(),
                if row.max_error == 0.0 { "0".into() } else { format!("{:.1e}", row.max_error) },
            ];
            if timed {
                cells.push(number(row.time_ms, 3));
            }
            if flops {
                cells.push(number(row.gflops, 0));
            }
            if bytes {
                cells.push(number(row.gb_per_s, 0));
            }
            if timed {
                cells.push(row.speed_up.map_or("".into(), |s| format!("{s:.2}×")));
            }
            if cycles {
                cells.push(number(row.cycles, 1));
            }
            if counted {
                let counters = row.counters.unwrap_or_default();
                let shared = counters.shared();
                let cell = |value: u64| if row.counters.is_some() { grouped(value) } else { String::new() };
                cells.extend([
                    cell(shared.wavefronts),
                    cell(shared.bank_conflicts),
                    cell(counters.global_load.sectors),
                    cell(counters.global_store.sectors),
                ]);
            }
            cells
        })
        .collect();
    let mut out = table(&header, &body);
    out.push('\n');
    if counted {
        let sizes: Vec<&str> = rows.iter().filter_map(|row| row.counters_size.as_deref()).collect();
        if other_size && let Some(size) = sizes.first() {
            out.push_str(&format!(
                "Wavefronts, conflicts and sectors: the same kernels on the virtual GPU at {size}, per PTX instruction.\n"
            ));
        } else {
            out.push_str(
                "Wavefronts, conflicts and sectors are counted per PTX instruction on the virtual GPU.\n",
            );
        }
    }
    if let Some(row) = rows.first().filter(|row| !row.check.is_empty()) {
        let tolerance = match row.tolerance {
            0.0 => String::new(),
            tolerance => format!(", tolerance {tolerance:.1e}"),
        };
        out.push_str(&format!("Checked: {}{tolerance}.\n", row.check));
    }
    for row in rows {
        if !row.shows.is_empty() {
            out.push_str(&format!("  {}: {}\n", row.name(), row.shows));
        }
        if let Some(wrong) = &row.wrong {
            out.push_str(&format!("  {} is {WRONG}: {wrong}\n", row.name()));
        }
    }
    out
}
