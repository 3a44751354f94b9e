//! Rust's tokens with their places, as far as modules need them: words, signs, and groups in brackets. What stands in comments
//! and in literals is none of it.

use std::ops::Range;

/// A token and the bytes that it takes.
#[derive(Debug)]
pub struct Token {
    pub kind: Kind,
    pub bytes: Range<usize>,
}

#[derive(Debug)]
pub enum Kind {
    /// An identifier without its `r#`, or a keyword.
    Word,
    Sign(u8),
    Literal,
    /// The tokens between the brackets, of which the first is given.
    Group(u8, Vec<Token>),
}

/// The tokens of a text; `None` if its brackets do not match, of which rustc will tell.
pub fn read(text: &str) -> Option<Vec<Token>> {
    let mut reader = Reader { text: text.as_bytes(), at: 0 };
    let tokens = reader.group(None)?;
    (reader.at == text.len()).then_some(tokens)
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.text.get(self.at + ahead).copied().unwrap_or(0)
    }

    /// Up to the bracket that closes, which is passed.
    fn group(&mut self, closing: Option<u8>) -> Option<Vec<Token>> {
        let mut tokens = Vec::new();
        while self.at < self.text.len() {
            let start = self.at;
            let kind = match self.peek(0) {
                c if c.is_ascii_whitespace() => {
                    self.at += 1;
                    continue;
                }
                b'/' if self.peek(1) == b'/' => {
                    self.skip_while(|c| c != b'\n');
                    continue;
                }
                b'/' if self.peek(1) == b'*' => {
                    self.skip_comment()?;
                    continue;
                }
                open @ (b'(' | b'[' | b'{') => {
                    self.at += 1;
                    let close = if open == b'(' { b')' } else { open + 2 };
                    Kind::Group(open, self.group(Some(close))?)
                }
                close @ (b')' | b']' | b'}') => {
                    self.at += 1;
                    return (closing == Some(close)).then_some(tokens);
                }
                b'"' => self.string()?,
                b'\'' => self.character_or_lifetime()?,
                c if is_of_word(c) => self.word()?,
                sign => {
                    self.at += 1;
                    Kind::Sign(sign)
                }
            };
            tokens.push(Token { kind, bytes: start..self.at });
        }
        closing.is_none().then_some(tokens)
    }

    fn skip_while(&mut self, holds: impl Fn(u8) -> bool) {
        while self.at < self.text.len() && holds(self.peek(0)) {
            self.at += 1;
        }
    }

    /// Comments nest.
    fn skip_comment(&mut self) -> Option<()> {
        let mut depth = 0;
        loop {
            match (self.peek(0), self.peek(1)) {
                (b'/', b'*') => (depth, self.at) = (depth + 1, self.at + 2),
                (b'*', b'/') => (depth, self.at) = (depth - 1, self.at + 2),
                _ if self.at >= self.text.len() => return None,
                _ => self.at += 1,
            }
            if depth == 0 {
                return Some(());
            }
        }
    }

    /// From its first quote to behind its last.
    fn string(&mut self) -> Option<Kind> {
        self.at += 1;
        loop {
            match self.peek(0) {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
            if self.at >= self.text.len() {
                return None;
            }
        }
        self.at += 1;
        Some(Kind::Literal)
    }

    /// `"…"`, `#"…"#`, and so on.
    fn raw_string(&mut self) -> Option<Kind> {
        let start = self.at;
        self.skip_while(|c| c == b'#');
        let end: Vec<u8> = [b'"'].into_iter().chain(self.text[start..self.at].iter().copied()).collect();
        self.at += 1;
        let rest = self.text.get(self.at..)?;
        self.at += rest.windows(end.len()).position(|bytes| bytes == end)? + end.len();
        Some(Kind::Literal)
    }

    fn character_or_lifetime(&mut self) -> Option<Kind> {
        self.at += 1;
        if self.peek(0) == b'\\' {
            self.at += 2;
            self.skip_while(|c| c != b'\'');
        } else {
            let character = std::str::from_utf8(self.text.get(self.at..)?).ok()?.chars().next()?.len_utf8();
            if self.peek(character) != b'\'' {
                self.skip_while(is_of_word);
                return Some(Kind::Literal);
            }
            self.at += character;
        }
        self.at += 1;
        Some(Kind::Literal)
    }

    /// A word, a number, or a literal that begins with a letter.
    fn word(&mut self) -> Option<Kind> {
        let start = self.at;
        self.skip_while(is_of_word);
        let word = &self.text[start..self.at];
        match (word, self.peek(0)) {
            (b"r" | b"br" | b"cr", b'"') => self.raw_string(),
            (b"r", b'#') if is_of_word(self.peek(1)) => {
                self.at += 1;
                self.skip_while(is_of_word);
                Some(Kind::Word)
            }
            (b"r" | b"br" | b"cr", b'#') => self.raw_string(),
            (b"b" | b"c", b'"') => self.string(),
            (b"b", b'\'') => self.character_or_lifetime(),
            _ if word[0].is_ascii_digit() => Some(Kind::Literal),
            _ => Some(Kind::Word),
        }
    }
}

fn is_of_word(c: u8) -> bool {
    c.is_ascii_alphanumeric() || c == b'_' || c >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_and_comments_hide_their_brackets() {
        let text = r####"fn f<'a>(x: &'a str) { ['{', '\'', '"', b'}', 'ß']; "}\"{"; r#"}"# ; br##"{"#"## ; 1.5e3 } // }
            /* { /* } */ { */ mod r#mod { b"}" ; c"{" }"####;
        let tokens = read(text).unwrap();
        let bodies: Vec<&str> = tokens
            .iter()
            .filter(|token| matches!(token.kind, Kind::Group(b'{', _)))
            .map(|token| &text[token.bytes.clone()])
            .collect();
        assert_eq!(bodies.len(), 2, "{bodies:?}");
        assert!(bodies[0].ends_with("1.5e3 }") && bodies[1] == r#"{ b"}" ; c"{" }"#, "{bodies:?}");
    }

    #[test]
    fn brackets_that_do_not_match_are_no_tokens() {
        for text in ["fn f() {", "}", "(]", "\"", "/*", "r#\"", "'\\"] {
            assert!(read(text).is_none(), "{text}");
        }
    }
}
