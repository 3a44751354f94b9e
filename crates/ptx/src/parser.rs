//! Recursive descent over the tokens: the state, and what all parts of the grammar need.

use std::collections::HashMap;
use std::sync::Arc;

use crate::ast::{Attribute, LocId, Module};
use crate::error::{Error, Problem};
use crate::instruction::Opcode;
use crate::lexer::{Kind, Lexer, Token};
use crate::name::{Interner, Name};
use crate::types::ScalarType;

mod expression;
mod function;
mod module;
mod operand;
mod variable;

/// Maximum nesting of braces, brackets and operators. Parsing and dropping the tree both recurse, so deeper text could
/// exhaust the stack.
const DEPTH: u32 = 128;

pub(crate) type Result<T> = std::result::Result<T, Error>;

pub(crate) struct Parser<'s> {
    source: &'s str,
    lexer: Lexer<'s>,
    token: Token,
    next: Token,
    depth: u32,
    names: Interner<'s>,
    opcodes: HashMap<&'s str, Arc<Opcode>>,
    /// The last `.loc` in the function being read.
    loc: Option<LocId>,
    module: Module,
}

impl<'s> Parser<'s> {
    pub(crate) fn new(source: &'s str) -> Result<Self> {
        let mut lexer = Lexer::new(source);
        let token = lexer.next()?;
        let next = lexer.next()?;
        Ok(Self {
            source,
            lexer,
            token,
            next,
            depth: 0,
            names: Interner::default(),
            opcodes: HashMap::new(),
            loc: None,
            module: Module { address_size: 64, ..Module::default() },
        })
    }

    fn text(&self) -> &'s str {
        &self.source[self.token.start..self.token.end]
    }

    fn name_here(&mut self) -> Name {
        let text = self.text();
        self.names.name(text)
    }

    fn advance(&mut self) -> Result<()> {
        self.token = self.next;
        self.next = self.lexer.next()?;
        Ok(())
    }

    fn problem<T>(&self, problem: Problem) -> Result<T> {
        Err(self.problem_at(self.token, problem))
    }

    fn problem_at(&self, token: Token, problem: Problem) -> Error {
        Error::new(self.source, token.start, token.end, token.position, problem)
    }

    fn expected<T>(&self, what: &'static str) -> Result<T> {
        self.problem(Problem::Expected(what))
    }

    fn at(&self, punct: &str) -> bool {
        matches!(self.token.kind, Kind::Punct(here) if here == punct)
    }

    fn next_is(&self, punct: &str) -> bool {
        matches!(self.next.kind, Kind::Punct(here) if here == punct)
    }

    /// Consumes the punctuation if it comes next.
    fn eat(&mut self, punct: &str) -> Result<bool> {
        let here = self.at(punct);
        if here {
            self.advance()?;
        }
        Ok(here)
    }

    /// Consumes punctuation; `quoted` is the same in backquotes, for the error.
    fn want(&mut self, punct: &str, quoted: &'static str) -> Result<()> {
        if self.eat(punct)? { Ok(()) } else { self.expected(quoted) }
    }

    /// The next directive or modifier, without its dot.
    fn dot_word(&self) -> Option<&'s str> {
        (self.token.kind == Kind::DotWord).then(|| &self.text()[1..])
    }

    fn eat_dot_word(&mut self, word: &str) -> Result<bool> {
        let here = self.dot_word() == Some(word);
        if here {
            self.advance()?;
        }
        Ok(here)
    }

    fn want_name(&mut self, what: &'static str) -> Result<Name> {
        if self.token.kind != Kind::Word {
            return self.expected(what);
        }
        let name = self.name_here();
        self.advance()?;
        Ok(name)
    }

    /// Runs `inside` one nesting level deeper.
    fn nested<T>(&mut self, inside: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= DEPTH {
            return self.problem(Problem::TooDeep(DEPTH));
        }
        self.depth += 1;
        let made = inside(self);
        self.depth -= 1;
        made
    }

    /// `item, item … CLOSE`, after the opening bracket; consumes the closing one.
    fn list_until<T>(
        &mut self,
        close: &str,
        what: &'static str,
        mut item: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut items = Vec::new();
        if self.eat(close)? {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.eat(close)? {
                return Ok(items);
            }
            self.want(",", what)?;
        }
    }

    fn want_type(&mut self) -> Result<ScalarType> {
        let Some(ty) = self.dot_word().and_then(ScalarType::from_word) else {
            return self.expected("a type such as `.b32` or `.f64`");
        };
        self.advance()?;
        Ok(ty)
    }

    /// `.v2`, `.v4`, `.v8`, or 1 if there is none.
    fn vector_length(&mut self) -> Result<u8> {
        let length = match self.dot_word() {
            Some("v2") => 2,
            Some("v4") => 4,
            Some("v8") => 8,
            _ => return Ok(1),
        };
        self.advance()?;
        Ok(length)
    }

    /// `.align n`, where `n` is a power of two.
    fn alignment(&mut self) -> Result<Option<u64>> {
        if !self.eat_dot_word("align")? {
            return Ok(None);
        }
        let token = self.token;
        let align = self.unsigned_constant()?;
        if align.is_power_of_two() {
            return Ok(Some(align));
        }
        Err(self.problem_at(token, Problem::Range("an alignment is a power of two")))
    }

    /// A directive's number: a plain one that fits in 32 bits.
    fn small_number(&mut self) -> Result<u32> {
        let Kind::Integer { bits, .. } = self.token.kind else { return self.expected("a number") };
        let Ok(value) = u32::try_from(bits) else {
            return self.problem(Problem::Range("a number of at most 32 bits"));
        };
        self.advance()?;
        Ok(value)
    }

    fn small_numbers(&mut self) -> Result<Vec<u32>> {
        let mut numbers = vec![self.small_number()?];
        while self.eat(",")? {
            numbers.push(self.small_number()?);
        }
        Ok(numbers)
    }

    /// A string's text, unescaped.
    fn want_string(&mut self) -> Result<String> {
        if self.token.kind != Kind::String {
            return self.expected("a string");
        }
        let inside = &self.source[self.token.start + 1..self.token.end - 1];
        let (mut plain, mut rest) = (Vec::with_capacity(inside.len()), inside.as_bytes());
        while let [first, after @ ..] = rest {
            let (byte, after) = match (*first, after) {
                // Bytes of non-ASCII letters, which ptxas refuses, and quotation marks.
                (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..]) => {
                    ((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'), after)
                }
                (b'\\', [b'n', after @ ..]) => (b'\n', after),
                (b'\\', [b't', after @ ..]) => (b'\t', after),
                (b'\\', [escaped, after @ ..]) => (*escaped, after),
                (plain, after) => (plain, after),
            };
            plain.push(byte);
            rest = after;
        }
        let plain = String::from_utf8_lossy(&plain).into_owned();
        self.advance()?;
        Ok(plain)
    }

    /// `"…", "…";` after `.pragma`.
    fn pragma_strings(&mut self) -> Result<Vec<Name>> {
        let mut strings = vec![Name::from(self.want_string()?.as_str())];
        while self.eat(",")? {
            strings.push(Name::from(self.want_string()?.as_str()));
        }
        self.want(";", "`,` or `;`")?;
        Ok(strings)
    }

    /// `.attribute(.managed, .unified(1, 2))`, if it comes next.
    fn attributes(&mut self) -> Result<Vec<Attribute>> {
        let mut attributes = Vec::new();
        while self.eat_dot_word("attribute")? {
            self.want("(", "`(`")?;
            attributes.extend(self.list_until(")", "`,` or `)`", |parser| {
                let Some(word) = parser.dot_word() else {
                    return parser.expected("an attribute such as `.managed`");
                };
                let name = parser.names.name(word);
                parser.advance()?;
                let values = match parser.eat("(")? {
                    true => parser.list_until(")", "`,` or `)`", Self::unsigned_constant)?,
                    false => Vec::new(),
                };
                Ok(Attribute { name, values })
            })?);
        }
        Ok(attributes)
    }
}
