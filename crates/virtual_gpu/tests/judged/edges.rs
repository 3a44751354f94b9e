//! Lines that are PTX (`+`) or are not (`-`). `:` and `^` begin declarations of the kernel and of the module for the lines
//! that follow, until others begin; `@` names version and target; `MODULE || BODY` has declarations of its own.

use gpu_model::chips;
use libtest_mimic::Failed;
use virtual_gpu::{Gpu, Options};

use crate::ptxas;

struct Edge<'a> {
    line: &'a str,
    taken: bool,
    head: String,
    /// A kernel with its own declarations, without line breaks.
    kernel: String,
    target: &'a str,
}

impl Edge<'_> {
    fn module(&self) -> String {
        format!("{}{}", self.head, self.kernel)
    }
}

fn edges(text: &str) -> Vec<Edge<'_>> {
    let (mut version, mut target) = ("8.6", "sm_90");
    let (mut inner, mut outer) = (String::new(), String::new());
    let mut edges: Vec<Edge<'_>> = Vec::new();
    let mut declares = false;
    for line in text.lines().filter(|line| !line.is_empty()) {
        let Some((mark, rest)) = line.split_once(' ') else { panic!("no mark: {line}") };
        match mark {
            "#" => {}
            ":" | "^" => {
                if !std::mem::replace(&mut declares, true) {
                    (inner, outer) = (String::new(), String::new());
                }
                let declared = if mark == ":" { &mut inner } else { &mut outer };
                declared.push_str(rest);
            }
            "@" => (version, target) = rest.split_once(' ').unwrap_or_else(|| panic!("no target: {line}")),
            "+" | "-" => {
                declares = false;
                let (own, body) = rest.split_once(" || ").unwrap_or(("", rest));
                // Names must differ within a module.
                let number = edges.len();
                let own = own.replace(" f(", &format!(" f{number}("));
                let body =
                    if own.is_empty() { body.into() } else { body.replace(" f,", &format!(" f{number},")) };
                edges.push(Edge {
                    line: rest,
                    taken: mark == "+",
                    head: format!(".version {version}\n.target {target}\n.address_size 64\n{outer}\n"),
                    kernel: format!(
                        "{own} .visible .entry k{number}(.param .u64 p) {{ {inner} {body} ret; }}\n"
                    ),
                    target,
                });
            }
            _ => panic!("no mark: {line}"),
        }
    }
    edges
}

/// Loads each of them.
pub fn virtual_gpu(text: &str) -> Result<(), Failed> {
    let wrong = edges(text).into_iter().filter_map(|edge| {
        let chip = if edge.target.starts_with("sm_12") { &chips::RTX5090 } else { &chips::H200 };
        let gpu = Gpu::with_options(chip, Options { threads: 1, ..Options::default() });
        match gpu.load(&edge.module()) {
            Ok(_) if !edge.taken => Some(format!("taken: {}", edge.line)),
            Err(error) if edge.taken => Some(format!("refused: {}\n    {error}", edge.line)),
            _ => None,
        }
    });
    none(wrong.collect())
}

/// Asks ptxas about each of them.
pub fn ptxas(text: &str) -> Result<(), Failed> {
    let mut wrong = Vec::new();
    for same in edges(text).chunk_by(|one, next| one.head == next.head) {
        let (taken, refused): (Vec<_>, Vec<_>) = same.iter().partition(|edge| edge.taken);
        if complaint(&taken)?.is_some() {
            for edge in taken {
                if let Some(complaint) = complaint(&[edge])? {
                    wrong.push(format!("ptxas refuses: {}\n    {complaint}", edge.line));
                }
            }
        }
        wrong.extend(not_refused(&refused)?.into_iter().map(|line| format!("ptxas takes: {line}")));
    }
    none(wrong)
}

/// What ptxas says about lines with the same header, together.
fn complaint(edges: &[&Edge<'_>]) -> Result<Option<String>, std::io::Error> {
    let Some(first) = edges.first() else { return Ok(None) };
    let kernels: String = edges.iter().map(|edge| edge.kernel.as_str()).collect();
    ptxas::complaint(&format!("{}{kernels}", first.head), first.target)
}

/// The lines to which ptxas has no objection. It stops at the first that it cannot parse, so those it does not name are
/// tried again.
fn not_refused<'a>(edges: &[&Edge<'a>]) -> Result<Vec<&'a str>, std::io::Error> {
    let complaints = complaint(edges)?.unwrap_or_default();
    let Some(first) = edges.first() else { return Ok(Vec::new()) };
    let before = first.head.lines().count() + 1;
    let named = |at: usize| complaints.contains(&format!(", line {};", before + at));
    let rest: Vec<_> =
        edges.iter().enumerate().filter(|(at, _)| !named(*at)).map(|(_, edge)| *edge).collect();
    match rest.len() {
        1 if edges.len() == 1 && complaints.is_empty() => Ok(vec![first.line]),
        1 if edges.len() == 1 => Ok(Vec::new()),
        all if all == edges.len() => {
            let (one, other) = rest.split_at(all / 2);
            Ok([not_refused(one)?, not_refused(other)?].concat())
        }
        _ => not_refused(&rest),
    }
}

fn none(wrong: Vec<String>) -> Result<(), Failed> {
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}
