//! Module scope.

use crate::ast::{Alias, File, FunctionKind, Module, Section, SectionItem};
use crate::constant::Constant;
use crate::error::Problem;
use crate::lexer::{Kind, Token};
use crate::parser::{Parser, Result};
use crate::types::{Linkage, Space};

impl Parser<'_> {
    pub(crate) fn module(mut self) -> Result<Module> {
        self.header()?;
        while self.token.kind != Kind::End {
            self.item()?;
        }
        Ok(self.module)
    }

    /// `.version` and `.target`, which must come first.
    fn header(&mut self) -> Result<()> {
        if !self.eat_dot_word("version")? {
            return self.problem(Problem::Header("`.version`"));
        }
        self.module.version = self.version()?;
        if self.dot_word() != Some("target") {
            return self.problem(Problem::Header("`.target`"));
        }
        Ok(())
    }

    /// `8.6`. Any version is accepted: what it introduced matters only where the module is executed.
    fn version(&mut self) -> Result<(u32, u32)> {
        let parts = self.text().split_once('.').filter(|_| matches!(self.token.kind, Kind::Double(_)));
        let numbers = parts.and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        let Some(version) = numbers else { return self.expected("a version such as `8.6`") };
        self.advance()?;
        Ok(version)
    }

    fn item(&mut self) -> Result<()> {
        let Some(word) = self.dot_word() else {
            // A stray `;` is harmless; everything else starts with a directive.
            return match self.eat(";")? {
                true => Ok(()),
                false => self.expected("a module directive such as `.entry`, `.func` or `.global`"),
            };
        };
        if let Some(linkage) = Linkage::from_word(word) {
            self.advance()?;
            return self.symbol(Some(linkage));
        }
        if Space::from_word(word).is_some() || matches!(word, "entry" | "func") {
            return self.symbol(None);
        }
        let token = self.token;
        match word {
            "file" => return self.file(),
            "section" => return self.section(),
            _ => self.advance()?,
        }
        match word {
            "target" => {
                let architecture = self.want_name("an architecture such as `sm_90`")?;
                self.module.targets.push(architecture);
                while self.eat(",")? {
                    let option = self.want_name("an option of `.target`")?;
                    self.module.targets.push(option);
                }
                Ok(())
            }
            "address_size" => {
                let size = self.token;
                match self.small_number()? {
                    bits @ (32 | 64) => self.module.address_size = bits,
                    _ => return Err(self.problem_at(size, Problem::Range("an address size is 32 or 64"))),
                }
                Ok(())
            }
            "alias" => {
                let position = self.token.position;
                let name = self.want_name("the alias")?;
                self.want(",", "`,`")?;
                let of = self.want_name("the function that it stands for")?;
                self.want(";", "`;`")?;
                self.module.aliases.push(Alias { name, of, position });
                Ok(())
            }
            "pragma" => {
                let strings = self.pragma_strings()?;
                self.module.pragmas.extend(strings);
                Ok(())
            }
            // Positions of functions' first lines, outside any function; no code runs there.
            "loc" => self.location().map(drop),
            _ => {
                let problem = Problem::Expected("a module directive such as `.entry`, `.func` or `.global`");
                Err(self.problem_at(token, problem))
            }
        }
    }

    /// A function or variable, after its linkage.
    fn symbol(&mut self, linkage: Option<Linkage>) -> Result<()> {
        let kind = match self.dot_word() {
            Some("entry") => FunctionKind::Entry,
            Some("func") => FunctionKind::Func,
            Some("reg" | "param" | "sreg") | None => {
                return self.expected("`.entry`, `.func`, or the space of a variable");
            }
            Some(_) => {
                let variables = self.variables(linkage)?;
                self.module.variables.extend(variables);
                return Ok(());
            }
        };
        self.advance()?;
        let function = self.function(kind, linkage)?;
        self.module.functions.push(function);
        Ok(())
    }

    /// `.file 1 "lib.rs", 0, 0`
    pub(super) fn file(&mut self) -> Result<()> {
        self.advance()?;
        let index = self.small_number()?;
        let path = self.want_string()?;
        let mut stamp = None;
        if self.eat(",")? {
            let time = self.unsigned_constant()?;
            self.want(",", "`,` and the file's size")?;
            stamp = Some((time, self.unsigned_constant()?));
        }
        self.module.files.push(File { index, path, stamp });
        Ok(())
    }

    /// `.section .debug_str { … }`
    pub(super) fn section(&mut self) -> Result<()> {
        self.advance()?;
        let name = match self.token.kind {
            Kind::DotWord | Kind::Word => self.name_here(),
            _ => return self.expected("a section name such as `.debug_str`"),
        };
        self.advance()?;
        self.want("{", "`{`")?;
        let mut items = Vec::new();
        while !self.eat("}")? {
            self.section_item(&mut items)?;
        }
        self.module.sections.push(Section { name, items });
        Ok(())
    }

    fn section_item(&mut self, items: &mut Vec<SectionItem>) -> Result<()> {
        if self.token.kind == Kind::Word && self.next_is(":") {
            items.push(SectionItem::Label(self.name_here()));
            self.advance()?;
            return self.advance();
        }
        let size = match self.dot_word() {
            Some("b8" | "u8" | "s8") => 1,
            Some("b16" | "u16" | "s16") => 2,
            Some("b32" | "u32" | "s32") => 4,
            Some("b64" | "u64" | "s64") => 8,
            _ => return self.expected("a label, `.b8`, `.b16`, `.b32`, `.b64` or `}`"),
        };
        self.advance()?;
        loop {
            let token = self.token;
            match token.kind {
                Kind::Word | Kind::DotWord if token.kind == Kind::DotWord || self.text() != "WARP_SZ" => {
                    let item = self.reference(token, size)?;
                    items.push(item);
                }
                _ => {
                    let Constant::Integer { bits, .. } = self.constant()? else {
                        return Err(self.problem_at(token, Problem::Expected("an integer")));
                    };
                    let bytes = &bits.to_le_bytes()[..usize::from(size)];
                    match items.last_mut() {
                        Some(SectionItem::Bytes(run)) => run.extend_from_slice(bytes),
                        _ => items.push(SectionItem::Bytes(bytes.to_vec())),
                    }
                }
            }
            if !self.eat(",")? {
                return Ok(());
            }
        }
    }

    /// `label`, `.debug_abbrev`, `label+4`, `label-other`.
    fn reference(&mut self, token: Token, size: u8) -> Result<SectionItem> {
        if size < 4 {
            return Err(
                self.problem_at(token, Problem::Expected("a number: only `.b32` and `.b64` hold labels"))
            );
        }
        let name = self.name_here();
        self.advance()?;
        let mut minus = None;
        if self.at("-") && matches!(self.next.kind, Kind::Word | Kind::DotWord) {
            self.advance()?;
            minus = Some(self.name_here());
            self.advance()?;
        }
        Ok(SectionItem::Reference { size, name, minus, offset: self.offset()? })
    }
}
