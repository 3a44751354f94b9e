//! From an instruction to the source lines it came from, including inlined calls.

use std::collections::HashMap;
use std::sync::Arc;

use crate::ast::{LocId, Location, Module, SectionItem, SourcePosition};

/// One frame of the answer to "where does this instruction come from?".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The file, as the compiler named it.
    pub file: Arc<str>,
    pub line: u32,
    /// From 1; 0 if not known.
    pub column: u32,
    /// Linkage name (mangled) of the inlined function that contains the line. `None` for the outermost frame, whose
    /// function is the one that contains the instruction.
    pub function: Option<Arc<str>>,
}

/// Real code is inlined a dozen levels deep; this limit stops chains in malicious text.
const FRAMES: usize = 256;

/// A module's `.loc`, `.file` and `.debug_str` tables, indexed for lookups. It outlives the module.
#[derive(Debug, Clone, Default)]
pub struct SourceLines {
    locations: Vec<Location>,
    files: HashMap<u32, Arc<str>>,
    /// Bytes of `.debug_str`, and where its labels are.
    names: Vec<u8>,
    labels: HashMap<Arc<str>, usize>,
    /// Indices of the locations at each place, in ascending order.
    places: HashMap<SourcePosition, Vec<u32>>,
}

impl SourceLines {
    pub fn new(module: &Module) -> Self {
        let mut made = Self { locations: module.locations.clone(), ..Self::default() };
        made.files = module.files.iter().map(|file| (file.index, file.path.as_str().into())).collect();
        for (index, location) in module.locations.iter().enumerate() {
            made.places.entry(location.place).or_default().push(index as u32);
        }
        for item in
            module.sections.iter().filter(|section| section.name == ".debug_str").flat_map(|s| &s.items)
        {
            match item {
                SectionItem::Label(name) => {
                    made.labels.insert(name.as_str().into(), made.names.len());
                }
                SectionItem::Bytes(bytes) => made.names.extend_from_slice(bytes),
                SectionItem::Reference { size, .. } => {
                    made.names.resize(made.names.len() + usize::from(*size), 0)
                }
            }
        }
        made
    }

    /// The frames of a location, innermost first. There is at least one if the id belongs to this module.
    pub fn frames(&self, loc: LocId) -> Vec<Frame> {
        let mut frames = Vec::new();
        let mut index = loc.0;
        let Some(mut location) = self.locations.get(index as usize) else { return frames };
        while frames.len() < FRAMES {
            let Some(inlined) = &location.inlined else {
                frames.push(self.frame(location.place, None));
                break;
            };
            let function = self.function_name(&inlined.function_name, inlined.offset);
            frames.push(self.frame(location.place, function));
            // The call site has its own `.loc`, written before the first one that refers to it. That one says where the
            // caller was inlined in turn.
            let before = self.places.get(&inlined.at).map(Vec::as_slice).unwrap_or_default();
            match before.partition_point(|&other| other < index).checked_sub(1) {
                Some(found) => {
                    index = before[found];
                    location = &self.locations[index as usize];
                }
                None => {
                    frames.push(self.frame(inlined.at, None));
                    break;
                }
            }
        }
        frames
    }

    fn frame(&self, place: SourcePosition, function: Option<Arc<str>>) -> Frame {
        let file = self.files.get(&place.file).cloned().unwrap_or_else(|| "?".into());
        Frame { file, line: place.line, column: place.column, function }
    }

    fn function_name(&self, label: &str, offset: u64) -> Option<Arc<str>> {
        let start = self.labels.get(label)?.checked_add(usize::try_from(offset).ok()?)?;
        let bytes = self.names.get(start..)?;
        let length = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        Some(String::from_utf8_lossy(&bytes[..length]).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(body: &str) -> Vec<(u32, Option<String>)> {
        let text = format!(
            ".version 8.6 .target sm_90 .file 1 \"lib.rs\" .entry k() {{ {body} }}
             .section .debug_str {{ $a: .b8 97,98,0 \n $b: .b8 99 .b8 0 }}"
        );
        let module = crate::parse(&text).unwrap();
        let lines = SourceLines::new(&module);
        let found = lines.frames(LocId(module.locations.len() as u32 - 1));
        found.into_iter().map(|frame| (frame.line, frame.function.map(|name| name.to_string()))).collect()
    }

    #[test]
    fn a_plain_line() {
        assert_eq!(frames(".loc 1 7 3\nret;"), [(7, None)]);
    }

    #[test]
    fn inlined_twice_over() {
        let body = ".loc 1 30 1
                    .loc 1 20 1, function_name $a, inlined_at 1 30 1
                    .loc 1 10 1, function_name $b, inlined_at 1 20 1\n ret;";
        assert_eq!(frames(body), [(10, Some("c".into())), (20, Some("ab".into())), (30, None)]);
    }

    #[test]
    fn a_name_within_a_label_and_a_missing_call_place() {
        assert_eq!(
            frames(".loc 1 5 1, function_name $a+1, inlined_at 1 9 2"),
            [(5, Some("b".into())), (9, None)]
        );
    }

    #[test]
    fn a_location_inlined_at_itself_ends() {
        assert_eq!(frames(".loc 1 5 1, function_name $a, inlined_at 1 5 1").len(), 2);
    }
}
