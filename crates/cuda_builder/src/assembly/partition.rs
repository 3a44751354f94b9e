//! Cuts the module into parts that can be optimised and printed each by itself: one for each kernel with all that it
//! reaches, one for what else is visible from outside.
//!
//! A part depends on nothing outside it, so that parts are lowered on all cores, and one that is as it was in an earlier
//! build is taken from there. What several parts need, each has a copy of: code and constants, which cannot be told
//! from their copies. What can be told apart, a static that is written, is marked so that no part concludes anything from
//! seeing only its own uses: to a part it is a definition that others share, and in the end there is one of it.

use crate::bitcode::{entry, panics};
use crate::llvm::{Context, DATA_LAYOUT, Linkage, Module, TRIPLE, Value, source_checksums};
use llvm_library::cache::Key;
use std::collections::HashSet;

/// The whole module, and how to cut it.
#[derive(Default)]
pub struct Plan {
    bitcode: Vec<u8>,
    kernels: Vec<String>,
    /// Functions and statics other than kernels that are visible from outside.
    visible: Vec<String>,
    /// Definitions that several parts share, though they are internal to the module.
    shared: HashSet<String>,
}

/// One part of a plan.
#[derive(Clone, Copy, Debug)]
pub enum Which {
    /// A kernel, by its number.
    Kernel(usize),
    /// All that is visible and no kernel.
    Visible,
}

/// Plans the cut of a module whose only visible definitions are meant for outside.
pub fn plan(context: &Context, module: &Module<'_>) -> Plan {
    let is_kernel =
        |value: &Value| value.as_function().is_some() && value.calling_convention() == entry::PTX_KERNEL;
    let defined = |values: Vec<Value>| values.into_iter().filter(|value| !value.is_declaration());
    let (mut kernels, mut visible, mut shared) = (Vec::new(), Vec::new(), HashSet::new());
    for function in defined(module.functions()) {
        let name = function.name();
        if is_kernel(&function) {
            kernels.push(name);
        } else if !function.is_internal() {
            visible.push(name);
        } else if panics::is_reporter(&name) {
            // Not for its meaning: the arguments of one part's calls would be written into that part's copy.
            shared.insert(name);
        }
    }
    for (number, global) in defined(module.globals()).enumerate() {
        if !global.is_internal() {
            visible.push(global.name());
        } else if is_one_memory(global) && roots(global).len() > 1 {
            if global.name().is_empty() {
                global.set_name(&format!("static.{number}"));
            }
            shared.insert(global.name());
        }
    }
    // A source file's checksum would set apart all parts that have a line of a file that was edited anywhere. Nothing
    // that is printed says it.
    let bitcode = without(module.bitcode(), &source_checksums(context, module));
    Plan { bitcode, kernels, visible, shared }
}

/// Puts zeros over checksums. Bitcode holds the texts of debug information as they are, one after the other.
fn without(mut bitcode: Vec<u8>, checksums: &HashSet<String>) -> Vec<u8> {
    let lengths: HashSet<usize> = checksums.iter().map(String::len).collect();
    for len in lengths {
        let (mut digits, mut at) = (0, 0);
        while at < bitcode.len() {
            digits = if bitcode[at].is_ascii_hexdigit() { digits + 1 } else { 0 };
            at += 1;
            if digits >= len && str::from_utf8(&bitcode[at - len..at]).is_ok_and(|t| checksums.contains(t)) {
                bitcode[at - len..at].fill(b'0');
                digits = 0;
            }
        }
    }
    bitcode
}

/// Whether a second copy would be another thing. Shared memory is each launch's own, and holds nothing at its start.
fn is_one_memory(global: Value) -> bool {
    global.ty().address_space() != 3 && (!global.is_global_constant() || global.is_externally_initialized())
}

/// The visible functions and statics that reach a value.
fn roots(value: Value) -> HashSet<Value> {
    let (mut roots, mut seen, mut open) = (HashSet::new(), HashSet::from([value]), vec![value]);
    while let Some(value) = open.pop() {
        for user in value.users() {
            let user = user.as_instruction().map_or(user, Value::function);
            if !seen.insert(user) {
                continue;
            }
            let is_global = user.as_function().or(user.as_global_variable()).is_some();
            if is_global && !user.is_internal() {
                roots.insert(user);
            }
            open.push(user);
        }
    }
    roots
}

impl Plan {
    /// The parts, in the order of their text in the PTX.
    pub fn parts(&self) -> Vec<Which> {
        // Without any kernel there is still a module, if an empty one.
        let others = !self.visible.is_empty() || self.kernels.is_empty();
        let kernels = (0..self.kernels.len()).map(Which::Kernel);
        others.then_some(Which::Visible).into_iter().chain(kernels).collect()
    }

    /// A part as a module of its own. The same content gives the same bitcode, whatever else the whole holds.
    pub fn cut(&self, context: &Context, which: Which) -> Result<Vec<u8>, String> {
        let whole = context.parse_lazily(&self.bitcode, "device")?;
        let visible = |name: &str| match which {
            Which::Kernel(index) => name == self.kernels[index],
            Which::Visible => self.visible.iter().any(|v| v == name),
        };
        for value in whole.functions().into_iter().chain(whole.globals()) {
            if value.is_declaration() {
                continue;
            }
            let name = value.name();
            if visible(&name) {
                value.set_linkage(Linkage::External);
            } else if self.is_shared(&name) {
                value.set_linkage(Linkage::LinkOnceOdr);
            } else {
                value.set_linkage(Linkage::Internal);
            }
        }
        // The linker takes what is visible, and of the rest what that needs.
        let part = context.module("device");
        part.set_target(TRIPLE, DATA_LAYOUT);
        if !part.link(whole) {
            return Err(format!("the module cannot be cut: {}", context.take_errors().join("\n")));
        }
        // Constants without a path are numbered through the whole: an edit elsewhere would rename them. Named after their
        // content, they are the same in all parts.
        for (number, global) in part.globals().into_iter().filter(|g| g.is_internal()).enumerate() {
            let name = global.name();
            if global.is_global_constant() && !name.starts_with("_R") && name != panics::NO_LOCATION {
                global.set_name(&match global.initializer().and_then(Value::as_bytes) {
                    Some(bytes) => format!("text.{}", Key::of(&[&bytes])),
                    None => format!("constant.{number}"),
                });
            }
        }
        Ok(part.bitcode())
    }

    /// Whether other parts may define the same.
    pub fn is_shared(&self, name: &str) -> bool {
        self.shared.contains(name) || self.visible.iter().any(|visible| visible == name)
    }

    /// Gives what is shared its final linkage, just before a part is printed.
    pub fn settle(&self, part: &Module<'_>) {
        for value in part.functions().into_iter().chain(part.globals()).filter(|v| !v.is_declaration()) {
            let name = value.name();
            if self.shared.contains(&name) {
                value.set_linkage(Linkage::Internal);
            } else if self.is_shared(&name) {
                value.set_linkage(Linkage::External);
            }
        }
    }
}
