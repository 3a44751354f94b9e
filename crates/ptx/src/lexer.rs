//! Splits the text into tokens, one at a time.

use crate::ast::Position;
use crate::error::{Error, Problem};

/// The kind of a token. Its text is found by its offsets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    /// `%r1`, `$L__BB0_1`, `add`, `_`.
    Word,
    /// `.reg`, `.shared::cta`, `.2d`.
    DotWord,
    Integer {
        bits: u64,
        unsigned: bool,
    },
    /// `0f3F800000`.
    Single(u32),
    /// `0d…`, `1.5e3`.
    Double(f64),
    String,
    Punct(&'static str),
    End,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) position: Position,
}

/// The operator or bracket that starts with `first` and, if it has two characters, continues with `second`.
fn punctuation(first: u8, second: u8) -> Option<&'static str> {
    Some(match (first, second) {
        (b'<', b'<') => "<<",
        (b'>', b'>') => ">>",
        (b'<', b'=') => "<=",
        (b'>', b'=') => ">=",
        (b'=', b'=') => "==",
        (b'!', b'=') => "!=",
        (b'&', b'&') => "&&",
        (b'|', b'|') => "||",
        (b',', _) => ",",
        (b';', _) => ";",
        (b'[', _) => "[",
        (b']', _) => "]",
        (b'{', _) => "{",
        (b'}', _) => "}",
        (b'(', _) => "(",
        (b')', _) => ")",
        (b':', _) => ":",
        (b'@', _) => "@",
        (b'!', _) => "!",
        (b'|', _) => "|",
        (b'+', _) => "+",
        (b'-', _) => "-",
        (b'<', _) => "<",
        (b'>', _) => ">",
        (b'=', _) => "=",
        (b'*', _) => "*",
        (b'/', _) => "/",
        (b'%', _) => "%",
        (b'&', _) => "&",
        (b'^', _) => "^",
        (b'~', _) => "~",
        (b'?', _) => "?",
        _ => return None,
    })
}

pub(crate) struct Lexer<'s> {
    source: &'s str,
    at: usize,
    line: u32,
    /// The byte offset of the line's column 1, if all its characters had one byte.
    line_start: usize,
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$')
}

impl<'s> Lexer<'s> {
    pub(crate) fn new(source: &'s str) -> Self {
        Self { source, at: 0, line: 1, line_start: 0 }
    }

    fn byte(&self, offset: usize) -> u8 {
        self.source.as_bytes().get(self.at + offset).copied().unwrap_or(0)
    }

    fn rest(&self) -> &'s [u8] {
        self.source.as_bytes().get(self.at..).unwrap_or_default()
    }

    fn position(&self) -> Position {
        let column = u32::try_from(self.at - self.line_start + 1).unwrap_or(u32::MAX);
        Position { line: self.line, column }
    }

    /// Skips one byte of white space, a comment or a string, and keeps track of lines and columns.
    fn pass(&mut self) {
        match self.byte(0) {
            b'\n' => {
                self.line = self.line.saturating_add(1);
                self.line_start = self.at + 1;
            }
            // A continuation byte does not start a column.
            byte if byte & 0xC0 == 0x80 => self.line_start += 1,
            _ => {}
        }
        self.at += 1;
    }

    fn error(&self, start: usize, position: Position, problem: Problem) -> Error {
        let one_more = self.source[start..].chars().next().map_or(0, char::len_utf8);
        Error::new(self.source, start, self.at.max(start + one_more), position, problem)
    }

    fn skip_space(&mut self) -> Result<(), Error> {
        loop {
            match self.byte(0) {
                b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C => self.pass(),
                b'/' if self.byte(1) == b'/' => self.skip_line(),
                // Line markers left by a preprocessor, and the `@@DWARF` lines of old compilers.
                b'#' if self.is_line_mark() => self.skip_line(),
                b'@' if self.rest().starts_with(b"@@DWARF") || self.rest().starts_with(b"@@dwarf") => {
                    self.skip_line()
                }
                b'/' if self.byte(1) == b'*' => {
                    let (start, position) = (self.at, self.position());
                    self.at += 2;
                    while !(self.byte(0) == b'*' && self.byte(1) == b'/') {
                        if self.at >= self.source.len() {
                            return Err(self.error(start, position, Problem::UnclosedComment));
                        }
                        self.pass();
                    }
                    self.at += 2;
                }
                _ => return Ok(()),
            }
        }
    }

    fn is_line_mark(&self) -> bool {
        let opens_line = self.at == 0 || self.source.as_bytes()[self.at - 1] == b'\n';
        opens_line && (self.rest().starts_with(b"# ") || self.rest().starts_with(b"#line"))
    }

    fn skip_line(&mut self) {
        while self.at < self.source.len() && self.byte(0) != b'\n' {
            self.pass();
        }
    }

    pub(crate) fn next(&mut self) -> Result<Token, Error> {
        self.skip_space()?;
        let (start, position) = (self.at, self.position());
        let kind = if start >= self.source.len() {
            Kind::End
        } else {
            match self.byte(0) {
                b'0'..=b'9' => self.number(start, position)?,
                b'"' => {
                    self.string(start, position)?;
                    Kind::String
                }
                b'.' if is_word(self.byte(1)) => {
                    self.at += 1;
                    self.words();
                    // `.shared::cta`, `.mbarrier::complete_tx::bytes`
                    while self.byte(0) == b':' && self.byte(1) == b':' && is_word(self.byte(2)) {
                        self.at += 2;
                        self.words();
                    }
                    Kind::DotWord
                }
                b'%' if is_word(self.byte(1)) => {
                    self.at += 1;
                    self.words();
                    Kind::Word
                }
                byte if is_word(byte) => {
                    self.words();
                    Kind::Word
                }
                byte => match punctuation(byte, self.byte(1)) {
                    Some(found) => self.punct(found),
                    None => return Err(self.error(start, position, Problem::Character)),
                },
            }
        };
        Ok(Token { kind, start, end: self.at, position })
    }

    fn punct(&mut self, text: &'static str) -> Kind {
        self.at += text.len();
        Kind::Punct(text)
    }

    fn words(&mut self) {
        while is_word(self.byte(0)) {
            self.at += 1;
        }
    }

    /// A backslash protects the next character; users of the text unescape it.
    fn string(&mut self, start: usize, position: Position) -> Result<(), Error> {
        self.at += 1;
        loop {
            match self.byte(0) {
                b'"' => {
                    self.at += 1;
                    return Ok(());
                }
                b'\n' => return Err(self.error(start, position, Problem::UnclosedString)),
                _ if self.at >= self.source.len() => {
                    return Err(self.error(start, position, Problem::UnclosedString));
                }
                b'\\' if self.byte(1) != b'\n' && self.at + 1 < self.source.len() => {
                    self.pass();
                    self.pass();
                }
                _ => self.pass(),
            }
        }
    }

    fn number(&mut self, start: usize, position: Position) -> Result<Kind, Error> {
        let prefix = (self.byte(0), self.byte(1) | 0x20);
        let (radix, skip) = match prefix {
            (b'0', b'x') => (16, 2),
            (b'0', b'b') => (2, 2),
            (b'0', b'f') => return self.float_bits(start, position, 8),
            (b'0', b'd') => return self.float_bits(start, position, 16),
            (b'0', b'0'..=b'9') if !self.decimal_is_float() => (8, 1),
            _ if self.decimal_is_float() => return self.decimal_float(start, position),
            _ => (10, 0),
        };
        self.at += skip;
        let digits = self.at;
        self.words();
        let text = &self.source[digits..self.at];
        let (text, unsigned) = match text.strip_suffix('U') {
            Some(text) => (text, true),
            None => (text, false),
        };
        let spelling = match radix {
            16 => "hexadecimal digits after `0x`",
            2 => "binary digits after `0b`",
            8 => "octal digits after `0`",
            _ => "decimal digits",
        };
        if text.is_empty() || !text.bytes().all(|digit| char::from(digit).is_digit(radix)) {
            return Err(self.error(start, position, Problem::Number(spelling)));
        }
        match u64::from_str_radix(text, radix) {
            // A literal too large for `.s64` is `.u64`.
            Ok(bits) => Ok(Kind::Integer { bits, unsigned: unsigned || bits > i64::MAX as u64 }),
            Err(_) => {
                Err(self.error(start, position, Problem::Range("an integer constant has at most 64 bits")))
            }
        }
    }

    /// `0f` and 8, or `0d` and 16 hexadecimal digits.
    fn float_bits(&mut self, start: usize, position: Position, length: usize) -> Result<Kind, Error> {
        self.at += 2;
        let digits = self.at;
        self.words();
        let text = &self.source[digits..self.at];
        let bits =
            u64::from_str_radix(text, 16).ok().filter(|_| text.len() == length && !text.starts_with('+'));
        match (bits, length) {
            (Some(bits), 8) => Ok(Kind::Single(bits as u32)),
            (Some(bits), _) => Ok(Kind::Double(f64::from_bits(bits))),
            (None, 8) => Err(self.error(start, position, Problem::Number("8 hexadecimal digits after `0f`"))),
            (None, _) => {
                Err(self.error(start, position, Problem::Number("16 hexadecimal digits after `0d`")))
            }
        }
    }

    /// True if the digits here continue with a point or an exponent.
    fn decimal_is_float(&self) -> bool {
        let rest = self.rest();
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        match (rest.get(digits), rest.get(digits + 1)) {
            (Some(b'.'), next) => {
                next.is_none_or(|next| !is_word(*next) || next.is_ascii_digit() || *next | 0x20 == b'e')
            }
            (Some(b'e' | b'E'), Some(next)) => next.is_ascii_digit() || matches!(next, b'+' | b'-'),
            _ => false,
        }
    }

    fn decimal_float(&mut self, start: usize, position: Position) -> Result<Kind, Error> {
        let digits = |lexer: &mut Self| {
            while lexer.byte(0).is_ascii_digit() {
                lexer.at += 1;
            }
        };
        digits(self);
        if self.byte(0) == b'.' {
            self.at += 1;
            digits(self);
        }
        if matches!(self.byte(0), b'e' | b'E') {
            self.at += 1;
            if matches!(self.byte(0), b'+' | b'-') {
                self.at += 1;
            }
            digits(self);
        }
        let text = &self.source[start..self.at];
        match text.parse() {
            Ok(value) if !is_word(self.byte(0)) => Ok(Kind::Double(value)),
            _ => Err(self.error(start, position, Problem::Number("as in `1.5`, `2e-3`"))),
        }
    }
}
