//! Prints the tree as text: messages quote instructions, and the printed text parses to the same tree. A `.loc` that no
//! instruction uses is omitted.

use std::fmt::{self, Display, Formatter, Write};

use crate::ast::{
    Attribute, Block, Function, FunctionDirectives, FunctionKind, Module, Registers, Section, SectionItem,
    Statement, Variable,
};
use crate::constant::{Constant, Initializer, SymbolAddress};
use crate::instruction::{Address, Guard, Instruction, Operand};

/// `a, b, c`
struct Commas<'a, T>(&'a [T]);

impl<T: Display> Display for Commas<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (index, item) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            item.fmt(f)?;
        }
        Ok(())
    }
}

/// `+4`, `+-4` (ptxas takes no `-` after a base), or nothing.
struct Offset(i64);

impl Display for Offset {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.0 == 0 { Ok(()) } else { write!(f, "+{}", self.0) }
    }
}

struct Quoted<'a>(&'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for byte in self.0.bytes() {
            match byte {
                b'\n' => f.write_str("\\n")?,
                b' '..=b'~' if byte != b'"' && byte != b'\\' => f.write_char(byte.into())?,
                // ptxas refuses non-ASCII text, and ends a string at any quotation mark.
                _ => write!(f, "\\{byte:03o}")?,
            }
        }
        f.write_char('"')
    }
}

impl Display for Constant {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Integer { bits, unsigned: true } => write!(f, "{bits}U"),
            // Its magnitude alone does not fit in `.s64`.
            Self::Integer { bits: 0x8000_0000_0000_0000, .. } => f.write_str("(.s64)0x8000000000000000"),
            Self::Integer { bits, .. } => write!(f, "{}", bits as i64),
            Self::Single(bits) => write!(f, "0f{bits:08X}"),
            Self::Double(value) => write!(f, "0d{:016X}", value.to_bits()),
        }
    }
}

impl Display for SymbolAddress {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.generic {
            true => write!(f, "generic({}){}", self.name, Offset(self.offset)),
            false => write!(f, "{}{}", self.name, Offset(self.offset)),
        }
    }
}

impl Display for Initializer {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => value.fmt(f),
            Self::List(items) => write!(f, "{{{}}}", Commas(items)),
            Self::Address(address) => address.fmt(f),
            Self::MaskedAddress { mask, address } => write!(f, "0x{mask:X}({address})"),
            Self::Fields(fields) => {
                let fields: Vec<String> =
                    fields.iter().map(|(name, value)| format!("{name} = {value}")).collect();
                write!(f, "{{{}}}", Commas(&fields))
            }
        }
    }
}

impl Display for Address {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.base {
            Some(base) => write!(f, "{base}{}", Offset(self.offset)),
            None => write!(f, "{}", Constant::Integer { bits: self.offset as u64, unsigned: false }),
        }
    }
}

impl Display for Operand {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => name.fmt(f),
            Self::Component(name, component) => write!(f, "{name}.{component}"),
            Self::Constant(value) => value.fmt(f),
            // A plain `name` would be another operand; `+0` keeps it a sum.
            Self::Symbol(symbol) if symbol.offset == 0 && !symbol.generic => write!(f, "{symbol}+0"),
            Self::Symbol(symbol) => symbol.fmt(f),
            Self::Address(address) => write!(f, "[{address}]"),
            Self::Element(name, index) => write!(f, "{name}[{index}]"),
            Self::Vector(items) => write!(f, "{{{}}}", Commas(items)),
            Self::Pair(pair) => write!(f, "{}|{}", pair[0], pair[1]),
            Self::Not(operand) => write!(f, "!{operand}"),
            Self::Negative(operand) => write!(f, "-{operand}"),
            Self::Sink => f.write_str("_"),
            Self::List(items) => write!(f, "({})", Commas(items)),
            Self::Indexed(address, rest) => write!(f, "[{address}, {}]", Commas(rest)),
        }
    }
}

impl Display for Guard {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "@{}{}", if self.negated { "!" } else { "" }, self.predicate)
    }
}

impl Display for Instruction {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(guard) = &self.guard {
            write!(f, "{guard} ")?;
        }
        self.opcode.fmt(f)?;
        if !self.operands.is_empty() {
            write!(f, " {}", Commas(&self.operands))?;
        }
        f.write_char(';')
    }
}

impl Display for Attribute {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.values.as_slice() {
            [] => write!(f, ".{}", self.name),
            values => write!(f, ".{}({})", self.name, Commas(values)),
        }
    }
}

/// Without linkage and semicolon, as in a parameter list.
impl Display for Variable {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.space.fmt(f)?;
        if let Some(bank) = self.bank {
            write!(f, "[{bank}]")?;
        }
        if !self.attributes.is_empty() {
            write!(f, " .attribute({})", Commas(&self.attributes))?;
        }
        if let Some(align) = self.align {
            write!(f, " .align {align}")?;
        }
        if self.vector > 1 {
            write!(f, " .v{}", self.vector)?;
        }
        write!(f, " {}", self.ty)?;
        if let Some(pointer) = self.pointer {
            f.write_str(" .ptr")?;
            if let Some(space) = pointer.space {
                write!(f, " {space}")?;
            }
            write!(f, " .align {}", pointer.align)?;
        }
        write!(f, " {}", self.name)?;
        if let Some(count) = self.count {
            write!(f, "<{count}>")?;
        }
        for length in &self.dims {
            match length {
                Some(length) => write!(f, "[{length}]")?,
                None => f.write_str("[]")?,
            }
        }
        match &self.initializer {
            Some(initializer) => write!(f, " = {initializer}"),
            None => Ok(()),
        }
    }
}

impl Display for Registers {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(".reg")?;
        if self.vector > 1 {
            write!(f, " .v{}", self.vector)?;
        }
        write!(f, " {} ", self.ty)?;
        for (index, register) in self.names.iter().enumerate() {
            write!(f, "{}{}", if index > 0 { ", " } else { "" }, register.name)?;
            if let Some(count) = register.count {
                write!(f, "<{count}>")?;
            }
        }
        f.write_char(';')
    }
}

impl Display for FunctionDirectives {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let extents = [
            ("maxntid", self.maxntid),
            ("reqntid", self.reqntid),
            ("reqnctapercluster", self.reqnctapercluster),
        ];
        for (word, [x, y, z]) in extents.into_iter().filter_map(|(word, extent)| Some((word, extent?))) {
            write!(f, " .{word} {x}, {y}, {z}")?;
        }
        let numbers = [
            ("minnctapersm", self.minnctapersm),
            ("maxnctapersm", self.maxnctapersm),
            ("maxnreg", self.maxnreg),
            ("maxclusterrank", self.maxclusterrank),
        ];
        for (word, number) in numbers.into_iter().filter_map(|(word, number)| Some((word, number?))) {
            write!(f, " .{word} {number}")?;
        }
        let flags = [
            ("explicitcluster", self.explicitcluster),
            ("blocksareclusters", self.blocksareclusters),
            ("noreturn", self.noreturn),
        ];
        for (word, _) in flags.into_iter().filter(|(_, set)| *set) {
            write!(f, " .{word}")?;
        }
        for (word, numbers) in &self.other {
            write!(f, " .{word} {}", Commas(numbers))?;
        }
        for pragma in &self.pragmas {
            write!(f, " .pragma {};", Quoted(pragma))?;
        }
        if !self.attributes.is_empty() {
            write!(f, " .attribute({})", Commas(&self.attributes))?;
        }
        Ok(())
    }
}

/// Statements need the module to print their `.loc`.
struct InModule<'a, T>(&'a Module, &'a T);

impl Display for InModule<'_, Block> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("{\n")?;
        let mut loc = None;
        for statement in &self.1.statements {
            match statement {
                Statement::Registers(registers) => writeln!(f, "{registers}")?,
                Statement::Variable(variable) => {
                    if let Some(linkage) = variable.linkage {
                        write!(f, "{linkage} ")?;
                    }
                    writeln!(f, "{variable};")?;
                }
                Statement::Label(name, _) => writeln!(f, "{name}:")?,
                Statement::Instruction(instruction) => {
                    if let Some(location) = instruction.loc.filter(|_| instruction.loc != loc)
                        && let Some(location) = self.0.locations.get(location.0 as usize)
                    {
                        let place = location.place;
                        write!(f, ".loc {} {} {}", place.file, place.line, place.column)?;
                        if let Some(inlined) = &location.inlined {
                            let at = inlined.at;
                            write!(f, ", function_name {}", inlined.function_name)?;
                            write!(
                                f,
                                "+{}, inlined_at {} {} {}",
                                inlined.offset, at.file, at.line, at.column
                            )?;
                        }
                        f.write_char('\n')?;
                    }
                    loc = instruction.loc;
                    writeln!(f, "{instruction}")?;
                }
                Statement::Block(block) => {
                    writeln!(f, "{}", InModule(self.0, block))?;
                    loc = None;
                }
                Statement::BranchTargets(list) => {
                    writeln!(f, "{}: .branchtargets {};", list.name, Commas(&list.targets))?
                }
                Statement::CallTargets(list) => {
                    writeln!(f, "{}: .calltargets {};", list.name, Commas(&list.targets))?
                }
                Statement::CallPrototype(prototype) => {
                    write!(f, "{}: .callprototype ", prototype.name)?;
                    write!(f, "({}) _ ({})", Commas(&prototype.results), Commas(&prototype.params))?;
                    writeln!(f, "{};", prototype.directives)?;
                }
                Statement::Pragma(strings) => {
                    let strings: Vec<Quoted> = strings.iter().map(|string| Quoted(string)).collect();
                    writeln!(f, ".pragma {};", Commas(&strings))?;
                }
            }
        }
        f.write_char('}')
    }
}

impl Display for InModule<'_, Function> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let function = self.1;
        if let Some(linkage) = function.linkage {
            write!(f, "{linkage} ")?;
        }
        f.write_str(match function.kind {
            FunctionKind::Entry => ".entry ",
            FunctionKind::Func => ".func ",
        })?;
        if !function.results.is_empty() {
            write!(f, "({}) ", Commas(&function.results))?;
        }
        write!(f, "{}({}){}", function.name, Commas(&function.params), function.directives)?;
        match &function.body {
            Some(body) => writeln!(f, "\n{}", InModule(self.0, body)),
            None => writeln!(f, ";"),
        }
    }
}

impl Display for Section {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, ".section {} {{", self.name)?;
        for item in &self.items {
            match item {
                SectionItem::Label(name) => writeln!(f, "{name}:")?,
                SectionItem::Bytes(bytes) if bytes.is_empty() => {}
                SectionItem::Bytes(bytes) => writeln!(f, ".b8 {}", Commas(bytes))?,
                SectionItem::Reference { size, name, minus, offset } => {
                    write!(f, ".b{} {name}", u32::from(*size) * 8)?;
                    if let Some(minus) = minus {
                        write!(f, "-{minus}")?;
                    }
                    writeln!(f, "{}", Offset(*offset))?;
                }
            }
        }
        writeln!(f, "}}")
    }
}

impl Display for Module {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, ".version {}.{}", self.version.0, self.version.1)?;
        writeln!(f, ".target {}", Commas(&self.targets))?;
        writeln!(f, ".address_size {}", self.address_size)?;
        for file in &self.files {
            write!(f, ".file {} {}", file.index, Quoted(&file.path))?;
            match file.stamp {
                Some((time, size)) => writeln!(f, ", {time}, {size}")?,
                None => writeln!(f)?,
            }
        }
        for pragma in &self.pragmas {
            writeln!(f, ".pragma {};", Quoted(pragma))?;
        }
        // Initialisers may name functions, and bodies may name variables.
        let (declared, defined): (Vec<_>, Vec<_>) = self.functions.iter().partition(|f| f.body.is_none());
        declared.into_iter().try_for_each(|function| InModule(self, function).fmt(f))?;
        for variable in &self.variables {
            if let Some(linkage) = variable.linkage {
                write!(f, "{linkage} ")?;
            }
            writeln!(f, "{variable};")?;
        }
        defined.into_iter().try_for_each(|function| InModule(self, function).fmt(f))?;
        for alias in &self.aliases {
            writeln!(f, ".alias {}, {};", alias.name, alias.of)?;
        }
        self.sections.iter().try_for_each(|section| section.fmt(f))
    }
}
