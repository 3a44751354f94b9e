//! Variables, parameters, registers, initialisers.

use crate::ast::{PointerAttribute, RegisterName, Registers, Variable};
use crate::constant::{Constant, Initializer};
use crate::error::Problem;
use crate::lexer::Kind;
use crate::name::Name;
use crate::parser::{Parser, Result};
use crate::types::{Linkage, Space};

impl Parser<'_> {
    /// `.const`, `.global` …, including the bank of `.const[n]`.
    fn space(&mut self) -> Result<(Space, Option<u32>)> {
        let Some(space) = self.dot_word().and_then(Space::from_word) else {
            return self.expected("a state space such as `.global` or `.param`");
        };
        self.advance()?;
        if space == Space::Const && self.eat("[")? {
            let bank = self.small_number()?;
            self.want("]", "`]`")?;
            return Ok((space, Some(bank)));
        }
        Ok((space, None))
    }

    /// A variable without its name: `.space {.attribute} {.align} {.vN} .type`, alignment and type in either order.
    fn shape(&mut self, linkage: Option<Linkage>) -> Result<Variable> {
        let position = self.token.position;
        let (space, bank) = self.space()?;
        let mut attributes = self.attributes()?;
        let mut align = self.alignment()?;
        attributes.extend(self.attributes()?);
        let vector = self.vector_length()?;
        let ty = self.want_type()?;
        if align.is_none() {
            align = self.alignment()?;
        }
        let pointer = self.pointer_attribute()?;
        Ok(Variable {
            linkage,
            space,
            bank,
            align,
            ty,
            vector,
            name: Name::from(""),
            count: None,
            dims: Box::default(),
            initializer: None,
            pointer,
            attributes,
            position,
        })
    }

    fn pointer_attribute(&mut self) -> Result<Option<PointerAttribute>> {
        if !self.eat_dot_word("ptr")? {
            return Ok(None);
        }
        let space = match self.dot_word() {
            Some("align") | None => None,
            Some("generic") => {
                self.advance()?;
                None
            }
            Some(_) => Some(self.space()?.0),
        };
        let align = self.alignment()?.unwrap_or(4);
        Ok(Some(PointerAttribute { space, align }))
    }

    fn declarator(&mut self, shape: &Variable) -> Result<Variable> {
        let mut variable = shape.clone();
        variable.position = self.token.position;
        variable.name = self.want_name("the variable's name")?;
        variable.count = self.range_count()?;
        let mut dims = Vec::new();
        while self.eat("[")? {
            if self.eat("]")? {
                dims.push(None);
                continue;
            }
            dims.push(Some(self.unsigned_constant()?));
            self.want("]", "`]`")?;
        }
        variable.dims = dims.into();
        Ok(variable)
    }

    /// `<n>`, if it comes next.
    fn range_count(&mut self) -> Result<Option<u32>> {
        if !self.eat("<")? {
            return Ok(None);
        }
        let count = self.small_number()?;
        self.want(">", "`>`")?;
        Ok(Some(count))
    }

    /// A declaration of one or more variables, up to its `;`.
    pub(super) fn variables(&mut self, linkage: Option<Linkage>) -> Result<Vec<Variable>> {
        let shape = self.shape(linkage)?;
        let mut variables = Vec::new();
        loop {
            let mut variable = self.declarator(&shape)?;
            if self.eat("=")? {
                variable.initializer = Some(self.initializer()?);
            }
            variables.push(variable);
            if self.eat(";")? {
                return Ok(variables);
            }
            self.want(",", "`;`, `,`, `=` or `[`")?;
        }
    }

    /// `(.param .b32 a, .reg .u64 b)`, after the opening parenthesis.
    pub(super) fn parameters(&mut self) -> Result<Vec<Variable>> {
        self.list_until(")", "`,` or `)`", |parser| {
            if !matches!(parser.dot_word(), Some("param" | "reg")) {
                return parser.expected("`.param` or `.reg`");
            }
            let shape = parser.shape(None)?;
            parser.declarator(&shape)
        })
    }

    /// `.reg .b32 %r<5>, x;`
    pub(super) fn registers(&mut self) -> Result<Registers> {
        let position = self.token.position;
        self.advance()?;
        // An alignment is allowed but means nothing for a register.
        self.alignment()?;
        let vector = self.vector_length()?;
        let ty = self.want_type()?;
        let mut names = Vec::new();
        loop {
            let name = self.want_name("a register's name")?;
            names.push(RegisterName { name, count: self.range_count()? });
            if self.eat(";")? {
                return Ok(Registers { ty, vector, names, position });
            }
            self.want(",", "`;`, `,` or `<count>`")?;
        }
    }

    fn initializer(&mut self) -> Result<Initializer> {
        self.nested(|parser| {
            if parser.eat("{")? {
                if parser.token.kind == Kind::Word && parser.next_is("=") {
                    return parser.fields();
                }
                return Ok(Initializer::List(parser.list_until("}", "`,` or `}`", Self::initializer)?));
            }
            if parser.token.kind == Kind::Word && parser.text() != "WARP_SZ" {
                return parser.symbol_address().map(Initializer::Address);
            }
            let token = parser.token;
            let value = parser.constant()?;
            if !parser.eat("(")? {
                return Ok(Initializer::Value(value));
            }
            // `0xFF00(address)`
            let Some(mask) = value.integer().filter(|&bits| is_byte_mask(bits)) else {
                let problem = Problem::Expected("a one-byte mask such as `0xFF00` before `(`");
                return Err(parser.problem_at(token, problem));
            };
            let address = parser.symbol_address()?;
            parser.want(")", "`)`")?;
            Ok(Initializer::MaskedAddress { mask, address })
        })
    }

    /// `addr_mode_0 = wrap, … }` of a texture, sampler or surface reference.
    fn fields(&mut self) -> Result<Initializer> {
        let fields = self.list_until("}", "`,` or `}`", |parser| {
            let name = parser.want_name("a field's name")?;
            parser.want("=", "`=`")?;
            if parser.token.kind == Kind::Word {
                return Ok((name, parser.want_name("a value")?));
            }
            match parser.constant()? {
                Constant::Integer { bits, .. } => Ok((name, Name::from(bits.to_string().as_str()))),
                _ => parser.expected("a value before this"),
            }
        })?;
        Ok(Initializer::Fields(fields))
    }
}

fn is_byte_mask(bits: u64) -> bool {
    bits != 0 && bits.trailing_zeros().is_multiple_of(8) && bits >> bits.trailing_zeros() == 0xFF
}
