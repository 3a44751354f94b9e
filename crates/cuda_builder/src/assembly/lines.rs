//! Every instruction's whole chain of Rust frames, as nvcc writes it: `.loc … , function_name …, inlined_at …`.
//!
//! LLVM's NVPTX printer writes only the innermost place of inlined code. So just before it prints, each distinct chain
//! gets a number that stands in place of its line; in the printed text the number becomes the chain again: first the
//! place in the kernel itself, then each inlined one, which names the place it was inlined at. The directive is PTX 7.2.

use crate::bitcode::marks;
use crate::llvm::{Context, Location, Module};
use crate::parcel;
use std::collections::HashMap;
use std::fmt::Write;

/// The first PTX version, times ten, with `inlined_at`.
pub const PTX_VERSION: u32 = 72;

/// Lines from here on are numbers of chains. No source file is as long.
const FIRST: u32 = 1 << 24;

/// One place, and the linkage name of the function that it is in. File and function are numbers of texts.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Frame {
    file: u32,
    line: u32,
    column: u32,
    function: u32,
}

/// The chains of a module, innermost frame first.
#[derive(Default)]
pub struct Chains {
    texts: Vec<String>,
    chains: Vec<Vec<Frame>>,
}

/// Numbers the chains of all instructions. Nothing may look at lines after this but [`Sources::restore`].
pub fn number(context: &Context, module: &Module<'_>) -> Chains {
    let mut numbering = Numbering::new(context);
    let mut known: HashMap<Location, Option<u32>> = HashMap::new();
    for function in module.functions() {
        for instruction in function.instructions() {
            let Some(location) = instruction.location() else { continue };
            let number = *known.entry(location).or_insert_with(|| numbering.add(location));
            if let Some(number) = number {
                instruction.set_location(context.location(number, location));
            }
        }
    }
    numbering.chains
}

/// Chains while they are collected, and what was seen of each kind before.
struct Numbering<'c> {
    context: &'c Context,
    chains: Chains,
    texts: HashMap<String, u32>,
    frames: HashMap<Location, Frame>,
    numbers: HashMap<Vec<Frame>, u32>,
}

impl<'c> Numbering<'c> {
    fn new(context: &'c Context) -> Self {
        Self {
            context,
            chains: Chains::default(),
            texts: HashMap::new(),
            frames: HashMap::new(),
            numbers: HashMap::new(),
        }
    }

    fn text(&mut self, text: String) -> u32 {
        let texts = &mut self.chains.texts;
        *self.texts.entry(text).or_insert_with_key(|text| {
            texts.push(text.clone());
            texts.len() as u32 - 1
        })
    }

    fn frame(&mut self, place: Location) -> Frame {
        if let Some(frame) = self.frames.get(&place) {
            return *frame;
        }
        let file = self.text(place.file());
        let function = self.text(place.function_name(self.context));
        let frame = Frame { file, line: place.line(), column: place.column(), function };
        self.frames.insert(place, frame);
        frame
    }

    fn add(&mut self, location: Location) -> Option<u32> {
        if location.line() == 0 {
            return None;
        }
        let mut chain = Vec::new();
        let mut next = Some(location);
        while let Some(place) = next {
            chain.push(self.frame(place));
            next = place.inlined_at();
        }
        // The entry and what it forwards to have no source of their own: the kernel's body is the outermost frame.
        let is_entry = |f: &Frame| self.chains.texts[f.function as usize].starts_with(marks::ENTRY);
        let user = chain.iter().position(is_entry).unwrap_or(chain.len());
        chain.truncate(user.max(1));
        let chains = &mut self.chains.chains;
        Some(*self.numbers.entry(chain).or_insert_with_key(|chain| {
            chains.push(chain.clone());
            FIRST + chains.len() as u32 - 1
        }))
    }
}

impl Chains {
    /// As bytes: all numbers, then the texts.
    pub fn encode(&self) -> Vec<u8> {
        let mut numbers = Vec::new();
        for chain in &self.chains {
            numbers.extend((chain.len() as u32).to_le_bytes());
            for frame in chain {
                for number in [frame.file, frame.line, frame.column, frame.function] {
                    numbers.extend(number.to_le_bytes());
                }
            }
        }
        let mut parts = vec![numbers.as_slice()];
        parts.extend(self.texts.iter().map(String::as_bytes));
        parcel::pack(&parts)
    }

    /// From bytes, if they are what [`Self::encode`] makes.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let parts = parcel::unpack(bytes)?;
        let (numbers, texts) = parts.split_first()?;
        let texts: Vec<String> = texts.iter().map(|t| String::from_utf8_lossy(t).into_owned()).collect();
        let mut numbers = numbers.as_chunks().0.iter().map(|n| u32::from_le_bytes(*n));
        let mut chains = Vec::new();
        while let Some(len) = numbers.next() {
            let mut frame = || {
                let [file, line, column, function] =
                    [numbers.next()?, numbers.next()?, numbers.next()?, numbers.next()?];
                let known = (file as usize) < texts.len() && (function as usize) < texts.len();
                known.then_some(Frame { file, line, column, function })
            };
            chains.push((0..len).map(|_| frame()).collect::<Option<_>>()?);
        }
        Some(Self { texts, chains })
    }

    fn number(line: &str) -> Option<usize> {
        let mut numbers = line.strip_prefix("\t.loc\t")?.split_ascii_whitespace();
        let number: u32 = numbers.nth(1)?.parse().ok()?;
        Some(number.checked_sub(FIRST)? as usize)
    }
}

/// The files and functions that a text names, by the numbers that it gives them.
#[derive(Default)]
pub struct Sources {
    files: Files,
    names: Names,
}

impl Sources {
    /// Puts the chains into printed PTX. Returns the text, without its table of files, and whether it needs
    /// [`PTX_VERSION`].
    pub fn restore(&mut self, ptx: &str, chains: &Chains) -> (String, bool) {
        let printed = printed_files(ptx);
        let mut known: Vec<Option<Vec<String>>> = vec![None; chains.chains.len()];
        let (mut out, mut inlined) = (String::with_capacity(ptx.len() * 2), false);
        // The chain before, to see what of it stands already.
        let mut last: Option<usize> = None;
        for line in ptx.lines() {
            // Labels of ranges of debug information that is not written.
            let of_debug_info =
                ["$L__tmp", "$L__func_begin", "$L__func_end"].iter().any(|label| line.starts_with(label));
            if line.starts_with("\t.file\t") || of_debug_info {
                continue;
            }
            if let Some(number) = Chains::number(line) {
                let Some(chain) = chains.chains.get(number) else { continue };
                if known[number].is_none() {
                    known[number] = Some(self.directives(chain, &chains.texts));
                }
                let of = |number: usize| known[number].as_deref().unwrap_or_default();
                let directives = of(number);
                inlined |= directives.len() > 1;
                // Outer frames stand already if the instruction before came the same way.
                let before = last.map(of).unwrap_or_default();
                let shared = directives.iter().zip(before).take_while(|(a, b)| a == b).count();
                for directive in &directives[shared.min(directives.len() - 1)..] {
                    out.push_str(directive);
                }
                last = Some(number);
            } else if let Some(place) = line.strip_prefix("\t.loc\t") {
                last = None;
                // A place of its own file's number: one without a chain.
                let (file, rest) = place.split_once(|c: char| c.is_ascii_whitespace()).unwrap_or((place, ""));
                let path = file.parse().ok().and_then(|index: u32| printed.get(&index));
                let index = path.map_or_else(|| file.to_owned(), |path| self.files.index(path).to_string());
                let _ = writeln!(out, "\t.loc\t{index} {rest}");
            } else {
                // Labels and braces begin what another way may lead to.
                if !line.starts_with('\t') {
                    last = None;
                }
                out.push_str(line);
                out.push('\n');
            }
        }
        // A `.loc` without a source is only the begin of a function that has none.
        let out = out
            .replace("\t.section\t.debug_macinfo\t{\t}\n", "")
            .replace("\t.section\t.debug_macinfo\t{\t}", "");
        (out, inlined)
    }

    /// The tables that end a module.
    pub fn text(&self) -> String {
        self.files.text() + &self.names.text()
    }

    /// The directives of one chain, outermost first.
    fn directives(&mut self, chain: &[Frame], texts: &[String]) -> Vec<String> {
        let places: Vec<String> = chain
            .iter()
            .map(|f| format!("{} {} {}", self.files.index(&texts[f.file as usize]), f.line, f.column))
            .collect();
        let mut all = Vec::new();
        for (index, frame) in chain.iter().enumerate().rev() {
            all.push(match places.get(index + 1) {
                None => format!("\t.loc\t{}\n", places[index]),
                Some(caller) => {
                    let name = self.names.label(&texts[frame.function as usize]);
                    format!("\t.loc\t{}, function_name {name}, inlined_at {caller}\n", places[index])
                }
            });
        }
        all
    }
}

/// The `.file` directives of a printed text.
fn printed_files(ptx: &str) -> HashMap<u32, String> {
    let directives = ptx.lines().filter_map(|line| line.strip_prefix("\t.file\t")?.split_once(' '));
    directives.filter_map(|(index, path)| Some((index.parse().ok()?, unquoted(path.trim())))).collect()
}

/// A path as PTX has it. `ptxas` refuses what is not ASCII, and ends a string at any quotation mark, also behind a backslash:
/// both are octal numbers, byte by byte.
fn quoted(path: &str) -> String {
    let mut text = String::from('"');
    for byte in path.bytes() {
        match byte {
            b' '..=b'~' if byte != b'"' && byte != b'\\' => text.push(byte.into()),
            // Writing to a String cannot fail.
            _ => {
                let _ = write!(text, "\\{byte:03o}");
            }
        }
    }
    text + "\""
}

/// The path in a directive that LLVM has printed, which has octal numbers, too, and puts a backslash before quotation marks.
fn unquoted(text: &str) -> String {
    let inside = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
    let (mut path, mut rest) = (Vec::new(), inside.as_bytes());
    while let [first, after @ ..] = rest {
        let (byte, after) = match (*first, after) {
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..]) => {
                ((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'), after)
            }
            (b'\\', [escaped, after @ ..]) => (*escaped, after),
            (plain, after) => (plain, after),
        };
        path.push(byte);
        rest = after;
    }
    String::from_utf8_lossy(&path).into_owned()
}

/// `.file` directives, by path.
#[derive(Default)]
struct Files {
    indices: HashMap<String, u32>,
}

impl Files {
    fn index(&mut self, path: &str) -> u32 {
        if let Some(index) = self.indices.get(path) {
            return *index;
        }
        let index = self.indices.len() as u32 + 1;
        self.indices.insert(path.to_owned(), index);
        index
    }

    fn text(&self) -> String {
        let mut all: Vec<_> = self.indices.iter().map(|(path, index)| (*index, path)).collect();
        all.sort();
        all.into_iter().fold(String::new(), |mut text, (index, path)| {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "\t.file\t{index} {}", quoted(path));
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
        let index = match self.labels.get(function) {
            Some(index) => *index,
            None => {
                self.ordered.push(function.to_owned());
                self.labels.insert(function.to_owned(), self.ordered.len() - 1);
                self.ordered.len() - 1
            }
        };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_any_letters_is_ascii_in_ptx() {
        let path = "/tmp/my ü 'pro\"j\\/lib.rs";
        let text = quoted(path);
        assert_eq!(text, r#""/tmp/my \303\274 'pro\042j\134/lib.rs""#);
        assert_eq!(unquoted(&text), path);
        // As LLVM prints it.
        assert_eq!(unquoted(r#""/tmp/my \303\274 'pro\"j\\/lib.rs""#), path);
        assert_eq!(unquoted("\"\""), "");
    }
}
