//! The parts' texts as one PTX module.
//!
//! Each part is a module by itself: a head, declarations, statics, functions. Together they have one head, each
//! declaration and static once, and the functions. Two parts may have defined the same name: what has the same text is
//! the same, and otherwise the later one gets a name of its own, since a definition that only its part sees was fitted
//! to that part.

use crate::assembly::lines::{self, Sources};
use crate::assembly::part::Part;
use crate::assembly::partition::Plan;
use std::collections::{HashMap, HashSet};

/// Joins the parts. Returns the text, and the PTX version, times ten, that it needs.
pub fn join(plan: &Plan, parts: &[Part]) -> Result<(String, u32), String> {
    let mut sources = Sources::default();
    let mut joined = Joined::default();
    let mut version = 0;
    for part in parts {
        let (text, inlined) = sources.restore(&part.text, &part.chains);
        version = version.max(part.version).max(if inlined { lines::PTX_VERSION } else { 0 });
        joined.add(plan, &text)?;
    }
    Ok((joined.text() + &sources.text(), version))
}

/// An item at the outermost level of a module.
struct Item {
    kind: Kind,
    /// Of what it declares or defines.
    name: String,
    /// A function's comments are with it.
    text: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Declaration,
    Static,
    Function,
}

#[derive(Default)]
struct Joined {
    head: String,
    /// The text of each definition by its name; declarations by their own text.
    defined: HashMap<String, String>,
    declared: HashSet<String>,
    declarations: String,
    statics: String,
    functions: String,
    /// How many functions there are; their labels carry the number.
    count: usize,
}

impl Joined {
    fn add(&mut self, plan: &Plan, text: &str) -> Result<(), String> {
        let (head, mut items) = items(text);
        if self.head.is_empty() {
            self.head = head;
        }
        self.rename(plan, &mut items)?;
        for item in items {
            match item.kind {
                Kind::Declaration => {
                    if self.declared.insert(item.text.clone()) {
                        self.declarations.push_str(&item.text);
                    }
                }
                Kind::Static | Kind::Function => {
                    if self.defined.contains_key(&item.name) {
                        continue;
                    }
                    if item.kind == Kind::Static {
                        self.statics.push_str(&item.text);
                    } else {
                        push_with_labels(&mut self.functions, &item.text, self.count);
                        self.count += 1;
                    }
                    self.defined.insert(item.name, item.text);
                }
            }
        }
        Ok(())
    }

    /// Gives new names to what is defined otherwise in an earlier part, and to what refers to such.
    fn rename(&self, plan: &Plan, items: &mut [Item]) -> Result<(), String> {
        let mut names: HashMap<String, String> = HashMap::new();
        // A new name changes the texts that use it, which may set them apart in turn.
        'again: loop {
            for item in items.iter().filter(|item| item.kind != Kind::Declaration) {
                let differs = |text: &String| *text != renamed(&item.text, &names);
                if names.contains_key(&item.name) || !self.defined.get(&item.name).is_some_and(differs) {
                    continue;
                }
                if item.kind == Kind::Static && plan.is_shared(&item.name) {
                    return Err(format!(
                        "two kernels disagree on `{}`, of which there is one: this is a mistake of cuda_builder",
                        item.name
                    ));
                }
                let taken = |name: &String| {
                    self.defined.contains_key(name) || items.iter().any(|item| item.name == *name)
                };
                let free = (1..).map(|n| format!("{}_{n}", item.name)).find(|name| !taken(name));
                names.insert(item.name.clone(), free.unwrap_or_default());
                continue 'again;
            }
            break;
        }
        if !names.is_empty() {
            for item in items {
                item.text = renamed(&item.text, &names);
                if let Some(name) = names.get(&item.name) {
                    item.name.clone_from(name);
                    // The one that is visible has the name.
                    item.text = item.text.replacen(".visible ", "", 1);
                }
            }
        }
        Ok(())
    }

    fn text(&self) -> String {
        [&self.head, &self.declarations, &self.statics, &self.functions].map(String::as_str).concat()
    }
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$'
}

/// Replaces names in a text. Parameters keep the name of their old function, which does no harm: they are seen only
/// inside.
fn renamed(text: &str, names: &HashMap<String, String>) -> String {
    if names.is_empty() {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_of_name) {
        let (between, word) = rest.split_at(start);
        let (word, after) = word.split_at(word.find(|c| !is_of_name(c)).unwrap_or(word.len()));
        out.push_str(between);
        // `%r1` and `.b32` are no names.
        let is_name = !between.ends_with(['%', '.']);
        out.push_str(names.get(word).filter(|_| is_name).map_or(word, String::as_str));
        rest = after;
    }
    out + rest
}

/// LLVM numbers labels by function and place; each part begins with function 0.
const LABEL: &str = "$L__BB";

fn push_with_labels(out: &mut String, text: &str, function: usize) {
    push_numbered(out, text, LABEL, function);
}

/// Appends a text with this number behind each `mark`, instead of what is there.
fn push_numbered(out: &mut String, text: &str, mark: &str, number: usize) {
    let mut pieces = text.split(mark);
    out.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let rest = piece.trim_start_matches(|c: char| c.is_ascii_digit());
        out.push_str(mark);
        out.push_str(&number.to_string());
        out.push_str(rest);
    }
}

/// A function's text without what LLVM counts through its part: the functions, in labels and in the names of stacks,
/// which are seen only inside of a function; and the calls, in comments.
fn without_numbers(text: &str) -> String {
    [LABEL, "__local_depot", "// callseq "].into_iter().fold(text.to_owned(), |text, mark| {
        let mut out = String::with_capacity(text.len());
        push_numbered(&mut out, &text, mark, 0);
        out
    })
}

/// Takes a module apart: its head, and the rest in order.
fn items(text: &str) -> (String, Vec<Item>) {
    let mut all = Vec::new();
    let head = text.find(".address_size").and_then(|at| Some(at + text[at..].find('\n')? + 1)).unwrap_or(0);
    let (mut start, mut at, mut depth) = (head, head, 0_usize);
    // Whether code of the present item was seen, and not only comments.
    let mut begun = false;
    for line in text[head..].split_inclusive('\n') {
        at += line.len();
        let code = line.split("//").next().unwrap_or_default().trim();
        if code.is_empty() {
            continue;
        }
        begun = true;
        depth += code.matches('{').count();
        depth = depth.saturating_sub(code.matches('}').count());
        let ends = depth == 0 && (code.ends_with(';') || code.ends_with('}'));
        if ends {
            all.push(item(&text[start..at]));
            (start, begun) = (at, false);
        }
    }
    debug_assert!(!begun, "an item of the printed PTX does not end: {}", &text[start..]);
    (text[..head].to_owned(), all)
}

fn item(text: &str) -> Item {
    let code: String = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default().trim())
        .take_while(|line| *line != "{")
        .fold(String::new(), |all, line| all + line + " ");
    let after = |directive: &str| code.find(directive).map(|at| code[at + directive.len()..].trim_start());
    let name = |text: &str| text.chars().take_while(|c| is_of_name(*c)).collect::<String>();
    if let Some(function) = after(".func").or_else(|| after(".entry")) {
        // The result stands before the name.
        let function = match function.strip_prefix('(') {
            Some(result) => result.split_once(')').map_or("", |(_, rest)| rest.trim_start()),
            None => function,
        };
        let kind = if text.trim_end().ends_with('}') { Kind::Function } else { Kind::Declaration };
        let text = if kind == Kind::Function { without_numbers(text) } else { without_comments(text) };
        return Item { kind, name: name(function), text };
    }
    let text = without_comments(text);
    let declared = code.split(['[', '=', ';']).next().unwrap_or_default();
    let name = declared.split_ascii_whitespace().last().unwrap_or_default().to_owned();
    let kind = if code.trim_start().starts_with(".extern") { Kind::Declaration } else { Kind::Static };
    Item { kind, name, text }
}

/// LLVM announces the next visible name above whatever comes first.
fn without_comments(text: &str) -> String {
    let is_comment = |line: &str| line.trim().is_empty() || line.trim_start().starts_with("//");
    text.split_inclusive('\n').skip_while(|line| is_comment(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "//\n\n.version 7.0\n.target sm_75\n.address_size 64\n\n";

    fn part(kernel: &str, table: u32, body: &str) -> String {
        format!(
            "{HEAD}\t// .globl\t{kernel}\n.extern .func  (.param .b32 func_retval0) vprintf\n(\n\t.param .b64 vprintf_param_0\n)\n;\n\
             .func fitted\n()\n;\n\
             .global .align 4 .b32 table[1] = {{{table}}};\n\
             .global .align 8 .u64 list[1] = {{table}};\n\
             .func fitted()\n{{\n$L__BB0_1:\n\tbra $L__BB0_1;\n\t{body}\n}}\n\
             // -- Begin\n.visible .entry {kernel}(\n\t.param .u64 {kernel}_param_0\n)\n{{\n\
             // %bb.0:\n\tld.global.u32 %table, [table];\n\tcall.uni fitted, ();\n$L__BB1_2:\n\tld.global.u64 %r, [list];\n}}\n"
        )
    }

    fn join_texts(texts: &[String]) -> String {
        let plan = Plan::default();
        let mut joined = Joined::default();
        for text in texts {
            joined.add(&plan, text).unwrap();
        }
        joined.text()
    }

    #[test]
    fn what_is_the_same_is_there_once() {
        let text = join_texts(&[part("a", 1, "ret;"), part("b", 1, "ret;")]);
        for (once, what) in [(1, ".version"), (1, ".extern .func"), (1, "table[1]"), (1, ".func fitted()\n")]
        {
            assert_eq!(text.matches(what).count(), once, "{what}:\n{text}");
        }
        assert_eq!(text.matches(".visible .entry").count(), 2);
        // Labels of different functions have different names, as LLVM would have given them.
        for label in ["$L__BB0_1:", "$L__BB1_2:", "$L__BB2_2:"] {
            assert_eq!(text.matches(label).count(), 1, "{label}:\n{text}");
        }
    }

    #[test]
    fn what_differs_gets_a_name_of_its_own_and_so_does_what_refers_to_it() {
        let text = join_texts(&[part("a", 1, "ret;"), part("b", 2, "exit;"), part("c", 1, "ret;")]);
        assert!(text.contains("table_1[1] = {2}") && text.contains("list_1[1] = {table_1}"), "{text}");
        assert!(text.contains(".func fitted_1()\n{"), "{text}");
        let b = &text[text.find(".entry b").unwrap()..text.find(".entry c").unwrap()];
        assert!(b.contains("[table_1]") && b.contains("[list_1]") && b.contains("fitted_1, ()"), "{b}");
        assert!(b.contains("%table, "), "a register keeps its name: {b}");
        // The third is as the first again.
        let c = &text[text.find(".entry c").unwrap()..];
        assert!(c.contains("[table]") && c.contains("fitted, ()"), "{c}");
        assert_eq!(text.matches("fitted_1()\n{").count(), 1);
        // Statics come before the functions that use them.
        assert!(text.find("table_1[1]").unwrap() < text.find(".entry a").unwrap());
    }
}
