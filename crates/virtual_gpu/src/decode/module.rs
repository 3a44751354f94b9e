//! Loads a module: variables find their places, functions are decoded, kernels get their tables.

mod head;
mod initial;
mod shared;

use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::{Arc, OnceLock};

use gpu_model::Chip;
use ptx::{
    Block, Function, FunctionKind, Instruction, Linkage, Name, ScalarType, SourceLines, Space, Statement,
    Variable,
};

use super::allocation::Allocation;
use super::body::LaidOut;
use super::function::{Decoder, ModuleNames, Symbol, element};
use super::reach::{Reached, reached};
use super::requirements::Requirements;
use super::{Refusal, call, declaration};
use crate::Error;
use crate::evaluate::Evaluations;
use crate::form::op::OpKind;
use crate::form::program::Param;
use crate::form::program::{Code, FunctionCode, KernelCode, SharedVariable};
use crate::form::signature::Signature;
use crate::jit::CodeTable;
use crate::memory::{AllocationKind, Memory, window};
use crate::module::{Global, Module, ModuleData};
use crate::texture::Textures;

/// Most rows of registers that a function's frame may have, constants among them: 128 MiB a warp. A thread of a device has
/// 255 registers and 512 KiB to put others into, an eighth of this.
const MAX_ROWS: u32 = 1 << 20;

/// Variables that were placed so far; given back when loading fails.
struct Placed<'m> {
    memory: &'m Arc<Memory>,
    owned: Vec<u64>,
}

impl Drop for Placed<'_> {
    fn drop(&mut self) {
        for &address in &self.owned {
            // These addresses are not known elsewhere yet.
            let _ = self.memory.free(address);
        }
    }
}

/// Parses, checks and decodes a module.
pub(crate) fn load(
    text: &str,
    chip: &Chip,
    memory: &Arc<Memory>,
    textures: &Arc<Textures>,
) -> Result<Module, Error> {
    let module = ptx::parse(text).map_err(|e| Error::Parse(e.to_string()))?;
    let (target, requirements) = head::check(&module, text, chip)?;
    let lines = SourceLines::new(&module);
    let mut placed = Placed { memory, owned: Vec::new() };
    let mut loader = Loader {
        lines: &lines,
        names: ModuleNames {
            names: HashMap::new(),
            elements: HashMap::new(),
            inner: HashMap::new(),
            functions: HashMap::new(),
            kernels: HashSet::new(),
            requirements,
        },
        globals: HashMap::new(),
        defined: HashSet::new(),
        textures,
        references: HashMap::new(),
        shared: Vec::new(),
        pending: Vec::new(),
    };
    for variable in &module.variables {
        loader.variable(variable, true, &mut placed)?;
    }
    for function in module.functions.iter().filter(|f| f.body.is_some()) {
        if let Some(body) = &function.body {
            loader.inner_variables(body, &mut placed)?;
        }
    }
    let mut code = Code { target, version: module.version, ..Code::default() };
    let mut evaluations = Evaluations::default();
    let kernels = loader.functions(&module, &mut code, &mut evaluations)?;
    loader.initialise(memory)?;
    code.shared = std::mem::take(&mut loader.shared);
    code.frames = (0..module.locations.len()).map(|_| OnceLock::new()).collect();
    let const_bytes = code_constants(&module, &loader)?;
    let kernels = shared::place(kernels, const_bytes, &code, chip)?;
    let owned = std::mem::take(&mut placed.owned);
    let Loader { globals, references, .. } = loader;
    code.lines = lines;
    Ok(Module(Arc::new(ModuleData {
        compiled: CodeTable::none(code.functions.len()),
        code: Arc::new(code),
        evaluations,
        kernels,
        globals,
        references,
        textures: textures.clone(),
        memory: memory.clone(),
        owned,
    })))
}

/// The content of a bank of constants.
const MAX_CONSTANTS: u64 = 64 << 10;

/// Bytes of the module's constants, which a bank must hold.
fn code_constants(module: &ptx::Module, loader: &Loader<'_>) -> Result<u32, Error> {
    let mut banks = HashMap::new();
    let mut all = 0u64;
    for variable in module.variables.iter().filter(|v| v.space == Space::Const) {
        let size = variable.size().unwrap_or(u64::MAX);
        let bank: &mut u64 = banks.entry(variable.bank.unwrap_or(0)).or_default();
        *bank = bank.saturating_add(size);
        if *bank > MAX_CONSTANTS {
            return Err(loader.refuse_variable("a bank of constants has 65536 bytes", variable));
        }
        all += size;
    }
    Ok(all.min(u32::MAX.into()) as u32)
}

struct Loader<'l> {
    lines: &'l SourceLines,
    names: ModuleNames,
    globals: HashMap<String, Global>,
    /// Names of variables and functions that the module has defined so far.
    defined: HashSet<Name>,
    textures: &'l Textures,
    /// Handles of `.texref` and `.surfref` variables, by name.
    references: HashMap<String, u64>,
    shared: Vec<SharedVariable>,
    /// Variables whose initialisers wait until all names are known.
    pending: Vec<(u64, Variable)>,
}

impl Loader<'_> {
    fn refuse(&self, refusal: Refusal, text: String, line: u32, loc: Option<ptx::LocId>) -> Error {
        let source_line = loc
            .and_then(|l| self.lines.frames(l).into_iter().next())
            .map(|f| format!("{}:{}:{}", f.file, f.line, f.column));
        Error::Unsupported { instruction: text, reason: refusal.0, line, source_line }
    }

    fn refuse_variable(&self, reason: &str, variable: &Variable) -> Error {
        let text = format!("{} {} {}", variable.space, variable.ty, variable.name);
        self.refuse(Refusal::new(reason), text, variable.position.line, None)
    }

    /// Places a variable of the module, or one that a function declares.
    fn variable(&mut self, variable: &Variable, outer: bool, placed: &mut Placed<'_>) -> Result<(), Error> {
        if let Err(Refusal(reason)) = declaration::variable(variable) {
            return Err(self.refuse_variable(&reason, variable));
        }
        let count = variable.count.unwrap_or(1);
        for i in 0..count {
            let name = match variable.count {
                Some(_) => Name::from(format!("{}{i}", variable.name).as_str()),
                None => variable.name.clone(),
            };
            if count > 4096 {
                return Err(self.refuse_variable("more than 4096 variables in one declaration", variable));
            }
            let external = variable.linkage == Some(Linkage::Extern);
            if outer && !external && !self.defined.insert(name.clone()) {
                return Err(self.refuse_variable("it is defined twice", variable));
            }
            let symbol = self.place(variable, &name, outer, placed)?;
            let Some(symbol) = symbol else { continue };
            if outer {
                self.names.elements.extend(element(variable).map(|size| (name.clone(), size)));
                self.names.names.insert(name, symbol);
            } else {
                self.names.inner.insert(variable.position, symbol);
            }
        }
        Ok(())
    }

    fn place(
        &mut self,
        variable: &Variable,
        name: &Name,
        outer: bool,
        placed: &mut Placed<'_>,
    ) -> Result<Option<Symbol>, Error> {
        let external = variable.linkage == Some(Linkage::Extern);
        if matches!(variable.ty, ScalarType::TexRef | ScalarType::SurfRef | ScalarType::SamplerRef)
            || variable.space == Space::Tex
        {
            if variable.initializer.is_some() {
                return Err(
                    self.refuse_variable("an image and how it is read are bound by the host", variable)
                );
            }
            // The host binds an image to the name; its address is the handle.
            let handle = match self.references.get(name.as_str()) {
                Some(&handle) => handle,
                None => self.textures.reserve(),
            };
            self.references.insert(name.to_string(), handle);
            return Ok(Some(Symbol::Image(handle)));
        }
        let size = variable.size().ok_or_else(|| self.refuse_variable("it is too large", variable))?;
        let align = variable.alignment();
        if !align.is_power_of_two() || align > 1 << 20 {
            return Err(self.refuse_variable("an alignment must be a power of two", variable));
        }
        match variable.space {
            Space::Shared => {
                let dynamic = size == 0;
                let size = u32::try_from(size).ok().filter(|&s| s < 1 << window::SHARED_OFFSET_BITS);
                let size = size
                    .ok_or_else(|| self.refuse_variable("it is larger than any shared memory", variable))?;
                let index = self.shared.len() as u32;
                self.shared.push(SharedVariable {
                    name: name.to_string(),
                    size,
                    align: align as u32,
                    dynamic,
                });
                Ok(Some(Symbol::Shared(index)))
            }
            Space::Global | Space::Const => {
                if external || size == 0 {
                    // Defined later in the module, or never: then its use is an error.
                    return Ok(None);
                }
                if outer && self.globals.contains_key(name.as_str()) {
                    return Ok(None);
                }
                let constant = variable.space == Space::Const;
                let kind = match constant {
                    true => AllocationKind::Const,
                    false if variable.attributes.iter().any(|a| a.name == "managed") => {
                        AllocationKind::Managed
                    }
                    false => AllocationKind::Global,
                };
                // The next multiple of the width keeps vector loads at the end inside.
                let address = placed.memory.alloc_kind(size, kind, Some(name))?;
                placed.owned.push(address);
                if outer {
                    self.globals.insert(name.to_string(), Global { address, size, writable: !constant });
                }
                if variable.initializer.is_some() {
                    self.pending.push((address, variable.clone()));
                }
                Ok(Some(if constant { Symbol::Const(address) } else { Symbol::Global(address) }))
            }
            _ => Err(self.refuse_variable("variables of this space are not supported here", variable)),
        }
    }

    /// Finds the shared, global and constant variables that a function's body declares.
    fn inner_variables(&mut self, block: &Block, placed: &mut Placed<'_>) -> Result<(), Error> {
        for statement in &block.statements {
            match statement {
                Statement::Variable(v) if matches!(v.space, Space::Shared | Space::Global | Space::Const) => {
                    let external = v.linkage == Some(Linkage::Extern);
                    if external && let Some(symbol) = self.names.names.get(&v.name) {
                        self.names.inner.insert(v.position, symbol.clone());
                    } else {
                        self.variable(v, false, placed)?;
                    }
                }
                Statement::Block(inner) => self.inner_variables(inner, placed)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Decodes all functions; the kernels, each with the functions that it can reach.
    fn functions(
        &mut self,
        module: &ptx::Module,
        code: &mut Code,
        evaluations: &mut Evaluations,
    ) -> Result<Vec<(KernelCode, Rc<Reached>)>, Error> {
        let defined: Vec<&Function> = module.functions.iter().filter(|f| f.body.is_some()).collect();
        for function in &module.functions {
            let fits =
                declaration::directives(function.kind, !function.results.is_empty(), &function.directives);
            fits.map_err(|r| self.refuse(r, function.name.to_string(), function.position.line, None))?;
        }
        for function in &defined {
            if !self.defined.insert(function.name.clone()) {
                let twice = Refusal::new("it is defined twice");
                return Err(self.refuse(twice, function.name.to_string(), function.position.line, None));
            }
        }
        // Signatures first: calls come before definitions.
        let mut names: HashMap<Name, (u32, Signature)> = HashMap::new();
        for (index, function) in defined.iter().enumerate() {
            if function.kind == FunctionKind::Func {
                let mut decoder = Decoder::new(&self.names, false);
                let signature = formals(&mut decoder, function)
                    .map_err(|r| self.refuse(r, function.name.to_string(), function.position.line, None))?;
                names.insert(function.name.clone(), (index as u32, signature));
            }
        }
        if let Some(alias) = module.aliases.first() {
            let old =
                |r| self.refuse(r, format!(".alias {}, {}", alias.name, alias.of), alias.position.line, None);
            self.names.requirements.check_words(".alias", &[]).map_err(old)?;
        }
        for alias in &module.aliases {
            let refuse =
                |r| self.refuse(r, format!(".alias {}, {}", alias.name, alias.of), alias.position.line, None);
            declaration::alias(module, alias).map_err(refuse)?;
            if let Some(of) = names.get(&alias.of).cloned() {
                names.insert(alias.name.clone(), of);
            }
        }
        self.names.functions = names;
        let kernels = module.functions.iter().filter(|f| f.kind == FunctionKind::Entry);
        self.names.kernels = kernels.map(|f| f.name.clone()).collect();
        let (mut kernels, mut larger) = (Vec::new(), Vec::new());
        for (index, function) in defined.iter().enumerate() {
            if function.kind == FunctionKind::Entry {
                let at_function =
                    |r: Refusal| self.refuse(r, function.name.to_string(), function.position.line, None);
                cluster_directives(&self.names.requirements, function).map_err(at_function)?;
                let mut decoder = Decoder::new(&self.names, true);
                let params = kernel_params(&mut decoder, function).map_err(at_function)?;
                kernels.push(kernel_code(function, index as u32, params));
            }
            larger.extend(self.function(function, code, evaluations)?.map(|better| (index, better)));
        }
        self.share_rows(&defined, larger, code, evaluations)?;
        let reached = reached(&code.functions).map_err(|function| {
            let name = code.functions[function as usize].name.clone();
            self.refuse(Refusal::new("its functions reach too many shared variables"), name, 0, None)
        })?;
        for kernel in &mut kernels {
            let function = &code.functions[kernel.function as usize];
            kernel.local_bytes = function.local_size;
            kernel.registers = (function.registers + 8).min(kernel.registers);
        }
        let of = |kernel: KernelCode| {
            let reached = reached[kernel.function as usize].clone();
            (kernel, reached)
        };
        Ok(kernels.into_iter().map(of).collect())
    }

    /// Decodes a function and puts it behind those before it. Gives what a large one is better decoded again with.
    fn function(
        &self,
        function: &Function,
        code: &mut Code,
        evaluations: &mut Evaluations,
    ) -> Result<Option<Allocation>, Error> {
        let (decoded, LaidOut { drafts, liveness, better }) =
            self.decode(function, None, code.ops.len() as u32)?;
        code.append(drafts, evaluations);
        let (shared_of, visits) = crate::form::provenance::shared_of(code, &decoded);
        code.shared_of.extend(shared_of);
        code.steps += liveness.steps + visits;
        code.functions.push(decoded);
        Ok(better)
    }

    /// Decodes large functions again, so that registers share rows; see [`super::allocation`]. What follows values through
    /// registers has done so before, while each register has rows to itself.
    fn share_rows(
        &self,
        defined: &[&Function],
        larger: Vec<(usize, Allocation)>,
        code: &mut Code,
        evaluations: &mut Evaluations,
    ) -> Result<(), Error> {
        for (index, _) in &larger {
            let function = &code.functions[*index];
            function.followed.get_or_init(|| code.follow(function));
        }
        for (index, allocation) in larger {
            let before = &mut code.functions[index];
            let (registers, followed) = (before.registers, std::mem::take(&mut before.followed));
            let start = before.start;
            let (again, laid_out) = self.decode(defined[index], Some(allocation), start)?;
            code.steps += laid_out.liveness.steps;
            code.functions[index] = FunctionCode { registers, followed, ..again };
            for (at, mut draft) in (start as usize..).zip(laid_out.drafts) {
                match (&mut draft.op.kind, &code.ops[at].kind) {
                    (OpKind::Atomic(again), OpKind::Atomic(op)) => again.counts = op.counts,
                    (OpKind::Load(again), OpKind::Load(op)) => again.used = op.used,
                    _ => {}
                }
                code.ops[at] = draft.op;
                code.touched[at] = draft.touched;
                evaluations.0[at] = draft.evaluate;
            }
        }
        for (function, code) in defined.iter().zip(&code.functions) {
            if code.image.len() as u32 > MAX_ROWS {
                let reason = format!("its registers and constants take more than {MAX_ROWS} times 32 bits");
                return Err(self.refuse(Refusal(reason), code.name.clone(), function.position.line, None));
            }
        }
        Ok(())
    }

    fn decode(
        &self,
        function: &Function,
        allocation: Option<Allocation>,
        start: u32,
    ) -> Result<(FunctionCode, LaidOut), Error> {
        let at_function =
            |r: Refusal| self.refuse(r, function.name.to_string(), function.position.line, None);
        let kernel = function.kind == FunctionKind::Entry;
        let mut decoder = Decoder::new(&self.names, kernel);
        if kernel {
            kernel_params(&mut decoder, function).map_err(at_function)?;
        } else {
            decoder.signature = formals(&mut decoder, function).map_err(at_function)?;
        }
        if let Some(body) = &function.body {
            decoder.body(body, allocation).map_err(|refused| {
                let (refusal, i): (Refusal, Instruction) = *refused;
                self.refuse(refusal, i.to_string(), i.position.line, i.loc)
            })?;
        }
        let laid_out = decoder.lay_out(start).map_err(at_function)?;
        let end = start + laid_out.drafts.len() as u32;
        let unset = laid_out.liveness.unset.clone();
        Ok((decoder.finish(&function.name, start..end, unset), laid_out))
    }
}

fn formals(decoder: &mut Decoder<'_>, function: &Function) -> Result<Signature, Refusal> {
    call::signature(&function.results, &function.params, |variable| decoder.formal(variable))
}

/// Lays out a kernel's parameters, each at its natural alignment, as the driver does.
fn kernel_params(decoder: &mut Decoder<'_>, function: &Function) -> Result<Vec<Param>, Refusal> {
    /// Bytes of parameters that a kernel may take from PTX 8.1 on.
    const MAX_BYTES: u64 = 32_764;
    let mut params = Vec::new();
    let mut end = 0u64;
    for variable in &function.params {
        declaration::vector(variable.space, variable.ty, variable.vector)?;
        if declaration::is_incomplete(variable) {
            return Err(Refusal::new("a kernel's parameter cannot be an array without a length"));
        }
        let size = variable.size().unwrap_or(u64::MAX);
        let align = variable.alignment().clamp(1, 1024);
        let offset = end.next_multiple_of(align);
        end = offset
            .checked_add(size)
            .filter(|&end| end <= MAX_BYTES)
            .ok_or_else(|| Refusal(format!("a kernel's parameters are limited to {MAX_BYTES} bytes")))?;
        let name = variable.name.to_string();
        let param = Param { name, offset: offset as u32, size: size as u32, align: align as u32 };
        decoder.kernel_param(variable, param.offset, param.size)?;
        params.push(param);
    }
    Ok(params)
}

/// Refuses what says of a kernel's clusters, if the module is too old for that.
fn cluster_directives(requirements: &Requirements, function: &Function) -> Result<(), Refusal> {
    let directives = &function.directives;
    for (given, name) in [
        (directives.reqnctapercluster.is_some(), ".reqnctapercluster"),
        (directives.explicitcluster, ".explicitcluster"),
        (directives.maxclusterrank.is_some(), ".maxclusterrank"),
    ] {
        if given {
            let named = |Refusal(reason)| Refusal(format!("`{name}`: {reason}"));
            requirements.check_words(name, &[]).map_err(named)?;
        }
    }
    Ok(())
}

fn kernel_code(function: &Function, index: u32, params: Vec<Param>) -> KernelCode {
    let directives = &function.directives;
    let threads = |d: [u32; 3]| d.iter().fold(1u32, |n, &d| n.saturating_mul(d));
    KernelCode {
        name: function.name.to_string(),
        function: index,
        param_bytes: params.last().map_or(0, |p| p.offset + p.size),
        params,
        registers: directives.maxnreg.map_or(255, |most| most.clamp(24, 255)),
        max_threads: directives.reqntid.or(directives.maxntid).map(threads),
        required_block: directives.reqntid,
        required_cluster: directives.reqnctapercluster,
        ..KernelCode::default()
    }
}
