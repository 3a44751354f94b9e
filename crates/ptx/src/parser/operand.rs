//! Operands and addresses.

use crate::constant::{Constant, SymbolAddress};
use crate::error::Problem;
use crate::instruction::{Address, Operand};
use crate::lexer::Kind;
use crate::parser::{Parser, Result};

const OPERAND: &str = "an operand: a name, constant, `[address]` or `{vector}`";

impl Parser<'_> {
    /// One operand. `in_call`: parentheses hold a list of arguments, not an expression.
    pub(super) fn operand(&mut self, in_call: bool) -> Result<Operand> {
        self.nested(|parser| {
            let first = parser.single_operand(in_call)?;
            if !parser.eat("|")? {
                return Ok(first);
            }
            let second = parser.single_operand(in_call)?;
            Ok(Operand::Pair(Box::new([first, second])))
        })
    }

    fn single_operand(&mut self, in_call: bool) -> Result<Operand> {
        match self.token.kind {
            Kind::Word if self.text() == "WARP_SZ" => self.constant().map(Operand::Constant),
            Kind::Word => self.named_operand(),
            Kind::Integer { .. } | Kind::Single(_) | Kind::Double(_) => {
                self.constant().map(Operand::Constant)
            }
            // `.5`: a decimal without a leading digit.
            Kind::DotWord if self.text()[1..].bytes().all(|byte| byte.is_ascii_digit()) => {
                let Ok(value) = self.text().parse() else { return self.expected(OPERAND) };
                self.advance()?;
                Ok(Operand::Constant(Constant::Double(value)))
            }
            Kind::Punct(punct) => match punct {
                "[" => self.bracketed(),
                "{" => {
                    self.advance()?;
                    let items = self.list_until("}", "`,` or `}`", Self::list_item)?;
                    Ok(Operand::Vector(items.into()))
                }
                "(" if in_call => {
                    self.advance()?;
                    let items = self.list_until(")", "`,` or `)`", Self::list_item)?;
                    Ok(Operand::List(items.into()))
                }
                "!" if self.next.kind == Kind::Word => {
                    self.advance()?;
                    Ok(Operand::Not(Box::new(self.named_operand()?)))
                }
                "-" if self.next.kind == Kind::Word && self.next_text() != "WARP_SZ" => {
                    self.advance()?;
                    Ok(Operand::Negative(Box::new(self.named_operand()?)))
                }
                "(" | "-" | "+" | "~" | "!" => self.constant().map(Operand::Constant),
                _ => self.expected(OPERAND),
            },
            _ => self.expected(OPERAND),
        }
    }

    /// One item in braces or parentheses. Sums and elements are not allowed there.
    fn list_item(&mut self) -> Result<Operand> {
        let token = self.token;
        match self.operand(false)? {
            Operand::Symbol(_) | Operand::Element(..) => {
                Err(self
                    .problem_at(token, Problem::Expected("an operand that is neither a sum nor an element")))
            }
            item => Ok(item),
        }
    }

    fn next_text(&self) -> &str {
        &self.source[self.next.start..self.next.end]
    }

    /// An operand that starts with a name: `a`, `a.x`, `a+4`, `a[2]`, `generic(a)`, `_`.
    fn named_operand(&mut self) -> Result<Operand> {
        if self.text() == "_" {
            self.advance()?;
            return Ok(Operand::Sink);
        }
        if self.text() == "generic" && self.next_is("(") {
            return self.symbol_address().map(Operand::Symbol);
        }
        let name = self.want_name(OPERAND)?;
        match self.token.kind {
            Kind::DotWord => {
                let component = self.names.name(&self.text()[1..]);
                self.advance()?;
                Ok(Operand::Component(name, component))
            }
            Kind::Punct("+") => {
                let offset = self.offset()?;
                Ok(Operand::Symbol(SymbolAddress { name, offset, generic: false }))
            }
            Kind::Punct("[") => {
                self.advance()?;
                let index = self.address_inside()?;
                self.want("]", "`]`")?;
                Ok(Operand::Element(name, index))
            }
            _ => Ok(Operand::Name(name)),
        }
    }

    /// `name{+offset}` or `generic(name{+offset}){+offset}`.
    pub(super) fn symbol_address(&mut self) -> Result<SymbolAddress> {
        let generic = self.text() == "generic" && self.next_is("(");
        if !generic {
            let name = self.want_name("a variable or function")?;
            return Ok(SymbolAddress { name, offset: self.offset()?, generic });
        }
        self.advance()?;
        self.advance()?;
        let name = self.want_name("a variable or function")?;
        let inside = self.offset()?;
        self.want(")", "`)`")?;
        let offset = inside.wrapping_add(self.offset()?);
        Ok(SymbolAddress { name, offset, generic })
    }

    /// `[address]`, `[address, {x, y}]`, `[texture, sampler, {x, y}]`.
    fn bracketed(&mut self) -> Result<Operand> {
        self.want("[", "`[`")?;
        let address = self.address_inside()?;
        if self.eat("]")? {
            return Ok(Operand::Address(address));
        }
        self.want(",", "`]`, `,` or an offset")?;
        let rest = self.list_until("]", "`,` or `]`", |parser| parser.operand(false))?;
        if rest.is_empty() {
            return self.expected("coordinates before the `]`");
        }
        Ok(Operand::Indexed(address, rest.into()))
    }

    fn address_inside(&mut self) -> Result<Address> {
        if self.token.kind == Kind::Word && self.text() != "WARP_SZ" {
            let base = Some(self.want_name("a register or variable")?);
            return Ok(Address { base, offset: self.offset()? });
        }
        let token = self.token;
        match self.constant()? {
            Constant::Integer { bits, .. } => Ok(Address { base: None, offset: bits as i64 }),
            _ => {
                Err(self
                    .problem_at(token, Problem::Expected("an address: a register, a variable or an integer")))
            }
        }
    }
}
