//! Functions, statements and instructions.

use std::sync::Arc;

use crate::ast::{
    Block, CallPrototype, Function, FunctionDirectives, FunctionKind, Inlined, LocId, Location, Position,
    SourcePosition, Statement, TargetList,
};
use crate::error::Problem;
use crate::instruction::{Guard, Instruction, Opcode};
use crate::lexer::Kind;
use crate::name::Name;
use crate::parser::{Parser, Result};
use crate::types::{Linkage, Space};

impl Parser<'_> {
    /// Parses the rest of a function after `.entry` or `.func`.
    pub(super) fn function(&mut self, kind: FunctionKind, linkage: Option<Linkage>) -> Result<Function> {
        self.loc = None;
        let attributes = self.attributes()?;
        let results = if self.eat("(")? { self.parameters()? } else { Vec::new() };
        let position = self.token.position;
        let name = self.want_name("the function's name")?;
        let params = if self.eat("(")? { self.parameters()? } else { Vec::new() };
        let mut directives = self.function_directives()?;
        directives.attributes.splice(0..0, attributes);
        let body = if self.eat("{")? { Some(self.block()?) } else { None };
        if body.is_none() {
            self.want(";", "`{` or `;`")?;
        }
        Ok(Function { kind, linkage, name, results, params, directives, body, position })
    }

    fn function_directives(&mut self) -> Result<FunctionDirectives> {
        let mut made = FunctionDirectives::default();
        while let Some(word) = self.dot_word() {
            if word == "attribute" {
                made.attributes.extend(self.attributes()?);
                continue;
            }
            let token = self.token;
            self.advance()?;
            match word {
                "maxntid" => made.maxntid = Some(self.extent()?),
                "reqntid" => made.reqntid = Some(self.extent()?),
                "reqnctapercluster" => made.reqnctapercluster = Some(self.extent()?),
                "minnctapersm" => made.minnctapersm = Some(self.small_number()?),
                "maxnctapersm" => made.maxnctapersm = Some(self.small_number()?),
                "maxnreg" => made.maxnreg = Some(self.small_number()?),
                "maxclusterrank" => made.maxclusterrank = Some(self.small_number()?),
                "explicitcluster" => made.explicitcluster = true,
                "blocksareclusters" => made.blocksareclusters = true,
                "noreturn" => made.noreturn = true,
                "pragma" => made.pragmas.extend(self.pragma_strings()?),
                "unique_thread_count" | "abi_preserve" | "abi_preserve_control" => {
                    let numbers = match self.token.kind {
                        Kind::Integer { .. } => self.small_numbers()?,
                        _ => Vec::new(),
                    };
                    made.other.push((self.names.name(word), numbers));
                }
                _ => {
                    let problem = Problem::Expected("a function directive such as `.maxntid`, or `{`");
                    return Err(self.problem_at(token, problem));
                }
            }
        }
        Ok(made)
    }

    /// One to three extents, each at least 1.
    fn extent(&mut self) -> Result<[u32; 3]> {
        let token = self.token;
        let numbers = self.small_numbers()?;
        if numbers.len() > 3 || numbers.contains(&0) {
            return Err(self.problem_at(token, Problem::Range("one to three extents, each at least 1")));
        }
        let mut extent = [1; 3];
        extent[..numbers.len()].copy_from_slice(&numbers);
        Ok(extent)
    }

    /// Statements up to the closing brace, after the opening one.
    fn block(&mut self) -> Result<Block> {
        self.nested(|parser| {
            let mut statements = Vec::new();
            while !parser.eat("}")? {
                parser.statement(&mut statements)?;
            }
            Ok(Block { statements })
        })
    }

    fn statement(&mut self, into: &mut Vec<Statement>) -> Result<()> {
        match self.token.kind {
            Kind::Punct("{") => {
                self.advance()?;
                into.push(Statement::Block(self.block()?));
            }
            // Inline PTX often ends with one semicolon too many.
            Kind::Punct(";") => self.advance()?,
            Kind::Punct("@") => {
                self.advance()?;
                let negated = self.eat("!")?;
                let predicate = self.want_name("a predicate register")?;
                into.push(Statement::Instruction(self.instruction(Some(Guard { predicate, negated }))?));
            }
            Kind::Word if self.next_is(":") => {
                let position = self.token.position;
                let name = self.want_name("a label")?;
                self.advance()?;
                into.push(self.labelled(name, position)?);
            }
            Kind::Word => into.push(Statement::Instruction(self.instruction(None)?)),
            Kind::DotWord => self.directive(into)?,
            _ => return self.expected("an instruction, a directive, a label or `}`"),
        }
        Ok(())
    }

    fn directive(&mut self, into: &mut Vec<Statement>) -> Result<()> {
        let word = self.dot_word().unwrap_or_default();
        if word == "reg" {
            into.push(Statement::Registers(self.registers()?));
            return Ok(());
        }
        let linkage = Linkage::from_word(word);
        if linkage.is_some() {
            self.advance()?;
        }
        if linkage.is_some() || Space::from_word(word).is_some() {
            let variables = self.variables(linkage)?;
            into.extend(variables.into_iter().map(|variable| Statement::Variable(Box::new(variable))));
            return Ok(());
        }
        match word {
            "loc" => {
                self.advance()?;
                self.loc = Some(self.location()?);
            }
            "pragma" => {
                self.advance()?;
                into.push(Statement::Pragma(self.pragma_strings()?));
            }
            "file" => self.file()?,
            "section" => self.section()?,
            _ => {
                return self
                    .expected("a directive allowed in a function body, such as `.reg`, `.shared` or `.loc`");
            }
        }
        Ok(())
    }

    /// The target of a label: code, or the table that a directive defines.
    fn labelled(&mut self, name: Name, position: Position) -> Result<Statement> {
        let word = self.dot_word();
        match word {
            Some("branchtargets" | "calltargets") => {
                self.advance()?;
                let mut targets = vec![self.want_name("a label or function")?];
                while self.eat(",")? {
                    targets.push(self.want_name("a label or function")?);
                }
                self.want(";", "`,` or `;`")?;
                let list = TargetList { name, targets, position };
                let of_branch = word == Some("branchtargets");
                Ok(if of_branch { Statement::BranchTargets(list) } else { Statement::CallTargets(list) })
            }
            Some("callprototype") => {
                self.advance()?;
                let results = if self.eat("(")? { self.parameters()? } else { Vec::new() };
                self.want_name("`_`, which stands for the function's name")?;
                let params = if self.eat("(")? { self.parameters()? } else { Vec::new() };
                let directives = self.function_directives()?;
                self.want(";", "`;`")?;
                let prototype = CallPrototype { name, results, params, directives, position };
                Ok(Statement::CallPrototype(Box::new(prototype)))
            }
            _ => Ok(Statement::Label(name, position)),
        }
    }

    fn instruction(&mut self, guard: Option<Guard>) -> Result<Instruction> {
        let position = self.token.position;
        let opcode = self.opcode()?;
        let in_call = opcode.name == "call";
        let mut operands = Vec::new();
        if !self.at(";") {
            loop {
                operands.push(self.operand(in_call)?);
                if !self.eat(",")? {
                    break;
                }
            }
        }
        self.want(";", "`,` or `;`")?;
        Ok(Instruction { guard, opcode, operands: operands.into(), position, loc: self.loc })
    }

    fn opcode(&mut self) -> Result<Arc<Opcode>> {
        if self.token.kind != Kind::Word {
            return self.expected("an instruction");
        }
        let (start, mut end) = (self.token.start, self.token.end);
        let first = self.text();
        self.advance()?;
        let mut modifiers = Vec::new();
        while let Some(word) = self.dot_word() {
            end = self.token.end;
            modifiers.push(word);
            self.advance()?;
        }
        let spelling = &self.source[start..end];
        if let Some(known) = self.opcodes.get(spelling) {
            return Ok(Arc::clone(known));
        }
        let name = self.names.name(first);
        let modifiers = modifiers.into_iter().map(|word| self.names.name(word)).collect();
        let opcode = Arc::new(Opcode { name, modifiers });
        self.opcodes.insert(spelling, Arc::clone(&opcode));
        Ok(opcode)
    }

    /// Parses the rest of a `.loc`.
    pub(super) fn location(&mut self) -> Result<LocId> {
        let place = self.place()?;
        let mut inlined = None;
        // A comma after the numbers must introduce `function_name`.
        if self.eat(",")? {
            self.want_word("function_name", "`function_name`")?;
            let function_name = self.want_name("a label of `.debug_str`")?;
            let offset = self.offset()?.max(0) as u64;
            self.want(",", "`,` and `inlined_at`")?;
            self.want_word("inlined_at", "`inlined_at`")?;
            inlined = Some(Inlined { function_name, offset, at: self.place()? });
        }
        let location = Location { place, inlined };
        // Equal locations are kept apart: an inlined line's chain continues through the lines before it, which differ
        // from place to place.
        let Ok(index) = u32::try_from(self.module.locations.len()) else {
            return self.problem(Problem::Range("a module has fewer than 2³² `.loc` directives"));
        };
        self.module.locations.push(location);
        Ok(LocId(index))
    }

    fn place(&mut self) -> Result<SourcePosition> {
        Ok(SourcePosition {
            file: self.small_number()?,
            line: self.small_number()?,
            column: self.small_number()?,
        })
    }

    fn want_word(&mut self, word: &str, quoted: &'static str) -> Result<()> {
        if self.token.kind != Kind::Word || self.text() != word {
            return self.expected(quoted);
        }
        self.advance()
    }
}
