//! Every instruction's whole chain of Rust frames, as nvcc writes it: `.loc … , function_name …, inlined_at …`.
//!
//! LLVM's NVPTX printer writes only the innermost place of inlined code. So just before it prints, each distinct chain
//! gets a number that stands in place of its line; in the printed text the number becomes the chain again: first the
//! place in the kernel itself, then each inlined one, which names the place it was inlined at. The directive is PTX 7.2.

use crate::llvm::{Context, Location, Module};
use crate::marks;
use std::collections::HashMap;
use std::fmt::Write;

/// The first PTX version, times ten, with `inlined_at`.
pub const PTX_VERSION: u32 = 72;

/// Lines from here on are numbers of chains. No source file is as long.
const FIRST: u32 = 1 << 24;

/// One place, and the linkage name of the function that it is in.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Frame {
    file: String,
    line: u32,
    column: u32,
    function: String,
}

/// The chains of a module, innermost frame first.
#[derive(Default)]
pub struct Chains {
    chains: Vec<Vec<Frame>>,
    numbers: HashMap<Vec<Frame>, u32>,
}

/// Numbers the chains of all instructions. Nothing may look at lines after this but [`Chains::restore`].
pub fn number(context: &Context, module: &Module<'_>) -> Chains {
    let mut chains = Chains::default();
    let mut known: HashMap<Location, Option<u32>> = HashMap::new();
    for function in module.functions() {
        for instruction in function.instructions() {
            let Some(location) = instruction.location() else { continue };
            let number = *known.entry(location).or_insert_with(|| chains.add(context, location));
            if let Some(number) = number {
                instruction.set_location(context.location(number, location));
            }
        }
    }
    chains
}

impl Chains {
    fn add(&mut self, context: &Context, location: Location) -> Option<u32> {
        if location.line() == 0 {
            return None;
        }
        let mut chain = Vec::new();
        let mut next = Some(location);
        while let Some(place) = next {
            let (file, function) = (place.file(), place.function_name(context));
            chain.push(Frame { file, line: place.line(), column: place.column(), function });
            next = place.inlined_at();
        }
        // The entry and what it forwards to have no source of their own: the kernel's body is the outermost frame.
        let user = chain.iter().position(|f| f.function.starts_with(marks::ENTRY)).unwrap_or(chain.len());
        chain.truncate(user.max(1));
        let number = *self.numbers.entry(chain.clone()).or_insert_with(|| {
            self.chains.push(chain);
            FIRST + self.chains.len() as u32 - 1
        });
        Some(number)
    }

    /// Puts the chains into printed PTX. Returns the text, and whether it needs [`PTX_VERSION`].
    pub fn restore(&self, ptx: &str) -> (String, bool) {
        let mut files = Files::read(ptx);
        let mut names = Names::default();
        let (mut out, mut inlined) = (String::with_capacity(ptx.len() * 2), false);
        let mut last: Vec<String> = Vec::new();
        for line in ptx.lines() {
            // Labels of ranges of debug information that is not written.
            let of_debug_info =
                ["$L__tmp", "$L__func_begin", "$L__func_end"].iter().any(|label| line.starts_with(label));
            if line.starts_with("\t.file\t") || of_debug_info {
                continue;
            }
            match self.chain(line) {
                Some(chain) => {
                    let directives = directives(chain, &mut files, &mut names);
                    inlined |= directives.len() > 1;
                    // Outer frames stand already if the instruction before came the same way.
                    let shared = directives.iter().zip(&last).take_while(|(a, b)| a == b).count();
                    for directive in &directives[shared.min(directives.len() - 1)..] {
                        out.push_str(directive);
                    }
                    last = directives;
                }
                None => {
                    if !line.starts_with("\t.loc\t") {
                        // Labels and braces begin what another way may lead to.
                        if !line.starts_with('\t') {
                            last.clear();
                        }
                        out.push_str(line);
                        out.push('\n');
                    } else if !names_a_number(line) {
                        last.clear();
                        out.push_str(line);
                        out.push('\n');
                    }
                }
            }
        }
        // A `.loc` without a source is only the begin of a function that has none.
        let out = out
            .replace("\t.section\t.debug_macinfo\t{\t}\n", "")
            .replace("\t.section\t.debug_macinfo\t{\t}", "");
        (out + &files.text() + &names.text(), inlined)
    }

    fn chain(&self, line: &str) -> Option<&[Frame]> {
        let mut numbers = line.strip_prefix("\t.loc\t")?.split_ascii_whitespace();
        let number: u32 = numbers.nth(1)?.parse().ok()?;
        self.chains.get(number.checked_sub(FIRST)? as usize).map(Vec::as_slice)
    }
}

fn names_a_number(line: &str) -> bool {
    line.split_ascii_whitespace().nth(2).and_then(|n| n.parse::<u32>().ok()).is_some_and(|n| n >= FIRST)
}

/// The directives of one chain, outermost first.
fn directives(chain: &[Frame], files: &mut Files, names: &mut Names) -> Vec<String> {
    let places: Vec<String> =
        chain.iter().map(|f| format!("{} {} {}", files.index(&f.file), f.line, f.column)).collect();
    let mut all = Vec::new();
    for (index, frame) in chain.iter().enumerate().rev() {
        all.push(match places.get(index + 1) {
            None => format!("\t.loc\t{}\n", places[index]),
            Some(caller) => {
                let name = names.label(&frame.function);
                format!("\t.loc\t{}, function_name {name}, inlined_at {caller}\n", places[index])
            }
        });
    }
    all
}

/// `.file` directives, by path.
#[derive(Default)]
struct Files {
    indices: HashMap<String, u32>,
    next: u32,
}

impl Files {
    fn read(ptx: &str) -> Self {
        let mut files = Self { next: 1, ..Self::default() };
        for line in ptx.lines().filter_map(|l| l.strip_prefix("\t.file\t")) {
            if let Some((index, path)) = line.split_once(' ')
                && let Ok(index) = index.parse::<u32>()
            {
                files.next = files.next.max(index + 1);
                files.indices.insert(path.trim().trim_matches('"').to_owned(), index);
            }
        }
        files
    }

    fn index(&mut self, path: &str) -> u32 {
        let next = &mut self.next;
        *self.indices.entry(path.to_owned()).or_insert_with(|| {
            *next += 1;
            *next - 1
        })
    }

    fn text(&self) -> String {
        let mut all: Vec<_> = self.indices.iter().map(|(path, index)| (*index, path)).collect();
        all.sort();
        all.into_iter().fold(String::new(), |mut text, (index, path)| {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "\t.file\t{index} \"{path}\"");
            text
        })
    }
}

/// Names of inlined functions, in `.debug_str`.
#[derive(Default)]
struct Names {
    labels: HashMap<String, usize>,
    ordered: Vec<String>,
}

impl Names {
    fn label(&mut self, function: &str) -> String {
        let ordered = &mut self.ordered;
        let index = *self.labels.entry(function.to_owned()).or_insert_with(|| {
            ordered.push(function.to_owned());
            ordered.len() - 1
        });
        format!("$L__info_string{index}")
    }

    fn text(&self) -> String {
        if self.ordered.is_empty() {
            return String::new();
        }
        let mut text = String::from("\t.section\t.debug_str\n\t{\n");
        for (index, name) in self.ordered.iter().enumerate() {
            let bytes: Vec<String> = name.bytes().chain([0]).map(|b| b.to_string()).collect();
            let _ = writeln!(text, "$L__info_string{index}:\n.b8 {}", bytes.join(","));
        }
        text.push_str("\t}\n");
        text
    }
}
