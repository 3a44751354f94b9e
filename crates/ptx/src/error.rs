//! Errors in the text, with their place.

use std::fmt;

use crate::ast::Position;

/// Why a text is not PTX. Displays the line with a caret:
///
/// ```text
/// line 7, column 13: expected a register, constant, address or name, found `;`
///   7 | add.s32 %r1, ;
///     |              ^
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Error {
    pub position: Position,
    pub problem: Problem,
    /// The text at that position, truncated if it is long.
    pub found: String,
    /// The line, or the part of a long line around the position.
    excerpt: String,
    /// Characters of `excerpt` before the place.
    caret: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The grammar requires something else here.
    #[error("expected {0}")]
    Expected(&'static str),
    /// No token starts with this character.
    #[error("no PTX token starts with this character")]
    Character,
    /// A comment that runs to the end of the text.
    #[error("this comment is never closed")]
    UnclosedComment,
    /// A string that runs to the end of its line.
    #[error("this string is never closed")]
    UnclosedString,
    /// A malformed number.
    #[error("expected a number: {0}")]
    Number(&'static str),
    /// A number outside the range allowed here.
    #[error("{0}")]
    Range(&'static str),
    /// Braces, brackets or operators nested deeper than any compiler writes.
    #[error("nested more than {0} deep")]
    TooDeep(u32),
    /// A constant expression that has no value.
    #[error("this constant expression has no value: {0}")]
    NoValue(&'static str),
    /// The opening directives are missing or come too late.
    #[error("a module starts with `.version`, then `.target`: {0} is missing here")]
    Header(&'static str),
}

/// How many characters of a long piece of text an error quotes.
const SHOWN: usize = 48;

impl Error {
    /// `start..end` are byte offsets of the offending text.
    pub(crate) fn new(source: &str, start: usize, end: usize, position: Position, problem: Problem) -> Self {
        let start = floor_boundary(source, start);
        let end = floor_boundary(source, end.clamp(start, source.len()));
        let mut found: String = source[start..end].chars().take(SHOWN).collect();
        if found.len() < end - start {
            found.push('…');
        }
        let before = &source.as_bytes()[floor_boundary(source, start.saturating_sub(SHOWN))..start];
        let line_start = start - before.iter().rev().position(|&b| b == b'\n').unwrap_or(before.len());
        let after = &source.as_bytes()[start..floor_boundary(source, (start + 2 * SHOWN).min(source.len()))];
        let line_end = start + after.iter().position(|&b| matches!(b, b'\n' | b'\r')).unwrap_or(after.len());
        let plain =
            |text: &str| text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>();
        let lead = plain(&source[line_start..start]);
        let trimmed = lead.trim_start();
        let caret = trimmed.chars().count();
        let excerpt = format!("{trimmed}{}", plain(&source[start..line_end]));
        Self { position, problem, found: plain(&found), excerpt, caret }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}, found ", self.position.line, self.position.column, self.problem)?;
        match self.found.as_str() {
            "" => writeln!(f, "the end of the text")?,
            found => writeln!(f, "`{found}`")?,
        }
        let line = self.position.line.to_string();
        writeln!(f, "  {line} | {}", self.excerpt.trim_end())?;
        write!(f, "  {:1$} | {2:3$}^", "", line.len(), "", self.caret)
    }
}

/// The last character boundary at or before `at`.
fn floor_boundary(source: &str, mut at: usize) -> usize {
    at = at.min(source.len());
    while !source.is_char_boundary(at) {
        at -= 1;
    }
    at
}
