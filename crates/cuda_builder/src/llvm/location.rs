//! Places in the source, as instructions carry them.

use super::value::Value;
use super::{Context, Module, Ref, ffi};
use std::collections::HashSet;

/// A `DILocation`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Location(pub(super) Ref);

/// `LLVMMetadataKind` of subprograms.
const SUBPROGRAM: u32 = 17;

impl Location {
    pub fn line(self) -> u32 {
        ffi!(DILocationGetLine(self.0))
    }

    pub fn column(self) -> u32 {
        ffi!(DILocationGetColumn(self.0))
    }

    /// The call that the place was inlined at.
    pub fn inlined_at(self) -> Option<Location> {
        let at = ffi!(DILocationGetInlinedAt(self.0));
        (!at.is_null()).then_some(Self(at))
    }

    fn scope(self) -> Ref {
        ffi!(DILocationGetScope(self.0))
    }

    /// The path of the file.
    pub fn file(self) -> String {
        let (name, directory) = file_of(self.scope());
        if name.starts_with('/') || directory.is_empty() { name } else { format!("{directory}/{name}") }
    }

    /// The path of the file as rustc was given it, which is what panics say.
    pub fn file_name(self) -> String {
        file_of(self.scope()).0
    }

    /// The linkage name of the function that the place is in.
    pub fn function_name(self, context: &Context) -> String {
        let context = context.raw;
        let mut scope = self.scope();
        // Blocks lie in blocks that lie in a subprogram; a scope's operands are file, scope, name, linkage name.
        for _ in 0..256 {
            let node = ffi!(MetadataAsValue(context, scope));
            let mut operands = vec![std::ptr::null_mut(); ffi!(GetMDNodeNumOperands(node)) as usize];
            ffi!(GetMDNodeOperands(node, operands.as_mut_ptr()));
            if ffi!(GetMetadataKind(scope)) == SUBPROGRAM {
                let named =
                    [3, 2].into_iter().filter_map(|index| operands.get(index)).find(|name| !name.is_null());
                return named.map_or_else(String::new, |name| {
                    let mut len = 0;
                    let start = ffi!(GetMDString(*name, &mut len));
                    String::from_utf8_lossy(&super::copied(start, len as usize)).into_owned()
                });
            }
            match operands.get(1) {
                Some(outer) if !outer.is_null() => scope = ffi!(ValueAsMetadata(*outer)),
                _ => break,
            }
        }
        String::new()
    }
}

/// The checksums of all source files that a module's debug information names.
pub fn source_checksums(context: &Context, module: &Module<'_>) -> HashSet<String> {
    let context = context.raw;
    let operands = |node: Ref| {
        let mut operands = vec![std::ptr::null_mut(); ffi!(GetMDNodeNumOperands(node)) as usize];
        ffi!(GetMDNodeOperands(node, operands.as_mut_ptr()));
        operands
    };
    let mut scopes: HashSet<Ref> = HashSet::new();
    let units = c"llvm.dbg.cu".as_ptr();
    let mut unit = vec![std::ptr::null_mut(); ffi!(GetNamedMetadataNumOperands(module.raw, units)) as usize];
    ffi!(GetNamedMetadataOperands(module.raw, units, unit.as_mut_ptr()));
    scopes.extend(unit.into_iter().map(|unit| ffi!(ValueAsMetadata(unit))));
    let mut seen = HashSet::new();
    for function in module.functions() {
        let subprogram = ffi!(GetSubprogram(function.0));
        if !subprogram.is_null() {
            scopes.insert(subprogram);
        }
        for instruction in function.instructions() {
            let mut next = instruction.location();
            while let Some(location) = next.filter(|location| seen.insert(*location)) {
                scopes.insert(location.scope());
                next = location.inlined_at();
            }
        }
    }
    let files: HashSet<Ref> = scopes.into_iter().map(|scope| ffi!(DIScopeGetFile(scope))).collect();
    let checksum = |file: Ref| {
        // Name, directory, checksum.
        let checksum = *operands(ffi!(MetadataAsValue(context, file))).get(2)?;
        if checksum.is_null() {
            return None;
        }
        let mut len = 0;
        let start = ffi!(GetMDString(checksum, &mut len));
        Some(String::from_utf8_lossy(&super::copied(start, len as usize)).into_owned())
    };
    files.into_iter().filter(|file| !file.is_null()).filter_map(checksum).collect()
}

/// The name and directory of the file of a scope.
fn file_of(scope: Ref) -> (String, String) {
    let file = ffi!(DIScopeGetFile(scope));
    if file.is_null() {
        return Default::default();
    }
    let read = |get: &dyn Fn(*mut u32) -> *const std::ffi::c_char| {
        let mut len = 0;
        let start = get(&mut len);
        String::from_utf8_lossy(&super::copied(start, len as usize)).into_owned()
    };
    (read(&|len| ffi!(DIFileGetFilename(file, len))), read(&|len| ffi!(DIFileGetDirectory(file, len))))
}

impl Value {
    /// A function's file, that file's directory, and its line.
    pub fn source(self) -> Option<(String, String, u32)> {
        let subprogram = ffi!(GetSubprogram(self.0));
        if subprogram.is_null() {
            return None;
        }
        let (file, directory) = file_of(subprogram);
        Some((file, directory, ffi!(DISubprogramGetLine(subprogram))))
    }

    /// Moves the subprogram of another function here; one belongs to one function only.
    pub fn take_subprogram(self, from: Value) {
        let subprogram = ffi!(GetSubprogram(from.0));
        for instruction in from.instructions() {
            ffi!(InstructionSetDebugLoc(instruction.0, std::ptr::null_mut()));
        }
        ffi!(SetSubprogram(from.0, std::ptr::null_mut()));
        ffi!(SetSubprogram(self.0, subprogram));
    }

    pub fn copy_debug_location(self, from: Value) {
        let location = ffi!(InstructionGetDebugLoc(from.0));
        ffi!(InstructionSetDebugLoc(self.0, location));
    }

    pub fn location(self) -> Option<Location> {
        let location = ffi!(InstructionGetDebugLoc(self.0));
        (!location.is_null()).then_some(Location(location))
    }

    pub fn set_location(self, location: Location) {
        ffi!(InstructionSetDebugLoc(self.0, location.0));
    }
}

impl Context {
    /// A place with another line and the same scope and call.
    pub fn location(&self, line: u32, like: Location) -> Location {
        let inlined_at = ffi!(DILocationGetInlinedAt(like.0));
        Location(ffi!(DIBuilderCreateDebugLocation(self.raw, line, 1, like.scope(), inlined_at)))
    }
}
