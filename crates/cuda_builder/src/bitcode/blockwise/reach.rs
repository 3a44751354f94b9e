//! Reachability from a kernel, and where its author's code is on the path.

use super::uses::{self, Use};
use crate::bitcode::packages::{is_of_the_standard_library, package_of};
use crate::bitcode::{entry, marks, names, panics};
use crate::llvm::{Context, Value};
use std::collections::{HashMap, HashSet, VecDeque};
use std::path::Path;
use std::rc::Rc;

/// A line of a source, and the function that it is in.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Frame {
    pub function: String,
    pub file: String,
    pub line: u32,
    pub column: u32,
}

impl Frame {
    /// Whether the reader wrote it, or a crate that the reader chose: neither Rust's own libraries nor this project's.
    fn is_the_authors(&self) -> bool {
        const OURS: [&str; 3] = ["cuda_std", "blockwise", "tile"];
        let is_ours = || {
            let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
            let path = crates.and_then(|crates| Path::new(&self.file).strip_prefix(crates).ok());
            let folder = path.and_then(|path| path.iter().next()?.to_str());
            folder.is_some_and(|folder| OURS.contains(&package_of(folder)))
        };
        !self.file.is_empty() && !is_of_the_standard_library(&self.file) && !is_ours()
    }
}

/// An instruction's effect, as far as it matters here.
#[derive(Clone)]
pub struct Event {
    pub what: What,
    /// Where it stands: in the function that holds it, then in what was inlined there.
    pub frames: Vec<Frame>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub enum What {
    Does(Use),
    Calls(Value),
    /// Has its address, or a table with its address.
    Names(Value),
}

impl What {
    fn function(&self) -> Option<Value> {
        match self {
            Self::Does(_) => None,
            Self::Calls(function) | Self::Names(function) => Some(*function),
        }
    }
}

/// A use that is refused.
pub struct Finding {
    pub kernel: String,
    pub what: Use,
    /// The author's frames, from the kernel to the one that the use is in.
    pub way: Vec<Step>,
    /// The library's function by which it is done, if there is one.
    pub by: Option<String>,
}

pub struct Step {
    pub frame: Frame,
    /// Whether the next one is called through its address.
    pub indirect: bool,
}

/// The functions of a module, each read once.
pub struct Code<'c> {
    context: &'c Context,
    single_thread: u32,
    /// Functions whose instructions have been judged already.
    judged: HashSet<Value>,
    events: HashMap<Value, Rc<[Event]>>,
    /// Effects of library functions with only library functions between.
    done_by: HashMap<Value, Rc<[Use]>>,
}

impl<'c> Code<'c> {
    pub fn new(context: &'c Context, judged: HashSet<Value>) -> Self {
        let single_thread = context.sync_scope("singlethread");
        Self { context, single_thread, judged, events: HashMap::new(), done_by: HashMap::new() }
    }

    /// Every refused use of one kernel.
    pub fn findings(&mut self, name: &str, kernel: Value) -> Vec<Finding> {
        let mut found = Vec::new();
        // By which event of which function each was reached first.
        let mut from: HashMap<Value, Option<(Value, Event)>> = HashMap::from([(kernel, None)]);
        let mut open = VecDeque::from([kernel]);
        while let Some(function) = open.pop_front() {
            for event in self.events(function).iter() {
                let authors = event.frames.iter().any(Frame::is_the_authors) || function == kernel;
                let done = match &event.what {
                    What::Does(what) => [*what].into(),
                    What::Calls(callee) | What::Names(callee) => self.done_by(*callee),
                };
                for what in done.iter().filter(|_| authors) {
                    let mut events = vec![event];
                    let mut at = function;
                    while let Some(Some((caller, event))) = from.get(&at) {
                        events.push(event);
                        at = *caller;
                    }
                    events.reverse();
                    found.push(finding(name, *what, &events));
                }
                if let Some(next) = event.what.function()
                    && !from.contains_key(&next)
                {
                    from.insert(next, Some((function, event.clone())));
                    open.push_back(next);
                }
            }
        }
        found
    }

    fn events(&mut self, function: Value) -> Rc<[Event]> {
        if let Some(known) = self.events.get(&function) {
            return known.clone();
        }
        let mut events = Vec::new();
        let is_judged = self.judged.contains(&function);
        // What panics and prints end in may do what it needs.
        let instructions =
            if panics::is_reporter(&function.name()) { Vec::new() } else { function.instructions() };
        for instruction in instructions {
            let mut all = Vec::new();
            if !is_judged {
                all.extend(uses::of(instruction, self.single_thread).map(What::Does));
            }
            let callee = instruction.called();
            all.extend(callee.and_then(Value::as_function).map(What::Calls));
            // What is called is an operand, too.
            let operands = instruction.operands().filter(|operand| Some(*operand) != callee);
            all.extend(addresses(operands).into_iter().map(What::Names));
            if !all.is_empty() {
                let frames = self.frames(instruction);
                events.extend(all.into_iter().map(|what| Event { what, frames: frames.clone() }));
            }
        }
        let events: Rc<[Event]> = events.into();
        self.events.insert(function, events.clone());
        events
    }

    /// A function's effects with no author's code between.
    fn done_by(&mut self, function: Value) -> Rc<[Use]> {
        if let Some(known) = self.done_by.get(&function) {
            return known.clone();
        }
        let (mut done, mut seen, mut open) = (Vec::new(), HashSet::from([function]), vec![function]);
        while let Some(function) = open.pop() {
            for event in self.events(function).iter() {
                if event.frames.iter().any(Frame::is_the_authors) {
                    continue;
                }
                match &event.what {
                    What::Does(what) if !done.contains(what) => done.push(*what),
                    What::Does(_) => {}
                    What::Calls(next) | What::Names(next) => {
                        if seen.insert(*next) {
                            open.push(*next);
                        }
                    }
                }
            }
        }
        let done: Rc<[Use]> = done.into();
        self.done_by.insert(function, done.clone());
        done
    }

    /// The entry and what the macro made are no frames of anyone's.
    fn frames(&self, instruction: Value) -> Vec<Frame> {
        let function = instruction.function();
        if function.calling_convention() == entry::PTX_KERNEL {
            return Vec::new();
        }
        let places = std::iter::successors(instruction.location(), |place| place.inlined_at());
        let mut frames: Vec<Frame> = places
            .map(|place| Frame {
                function: names::readable(&place.function_name(self.context)),
                file: place.file(),
                line: place.line(),
                column: place.column(),
            })
            .collect();
        frames.reverse();
        frames.retain(|frame| !frame.function.starts_with(marks::ENTRY));
        frames
    }
}

/// The functions whose addresses are in these constants, or in statics that those name.
fn addresses(operands: impl Iterator<Item = Value>) -> Vec<Value> {
    let mut open: Vec<Value> = operands.filter(|operand| operand.is_constant()).collect();
    let (mut functions, mut seen) = (Vec::new(), HashSet::new());
    while let Some(constant) = open.pop() {
        if !seen.insert(constant) {
            continue;
        }
        match constant.as_function() {
            Some(function) => functions.push(function),
            // A static's operand is its initial value.
            None => open.extend(constant.operands().filter(|operand| operand.is_constant())),
        }
    }
    functions
}

/// A finding from the events on the way to it, the kernel's own first.
fn finding(kernel: &str, what: Use, events: &[&Event]) -> Finding {
    let mut way: Vec<Step> = Vec::new();
    let mut by = None;
    for event in events {
        for frame in &event.frames {
            if frame.is_the_authors() {
                way.push(Step { frame: frame.clone(), indirect: false });
                by = None;
            } else {
                by.get_or_insert_with(|| frame.function.clone());
            }
        }
        match &event.what {
            What::Does(_) => {}
            What::Calls(function) => {
                by.get_or_insert_with(|| names::of(*function));
            }
            What::Names(function) => {
                by = Some(names::of(*function));
                if let Some(last) = way.last_mut() {
                    last.indirect = true;
                }
            }
        }
    }
    Finding { kernel: kernel.to_owned(), what, way, by }
}
