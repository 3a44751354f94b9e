//! Constant expressions: C's operators on 64-bit integers and doubles, evaluated during parsing.
//!
//! The manual's rules: a literal is `.s64` unless it has a `U` or does not fit; an arithmetic operator is `.u64` if
//! either side is; a shift has the type of its left side; comparisons and logical operators give 0 or 1 as `.s64`.

use crate::constant::Constant;
use crate::error::Problem;
use crate::lexer::{Kind, Token};
use crate::parser::{Parser, Result};

/// Binary operators and their precedence.
const BINARY: [(&str, u8); 18] = [
    ("*", 10),
    ("/", 10),
    ("%", 10),
    ("+", 9),
    ("-", 9),
    ("<<", 8),
    (">>", 8),
    ("<", 7),
    (">", 7),
    ("<=", 7),
    (">=", 7),
    ("==", 6),
    ("!=", 6),
    ("&", 5),
    ("^", 4),
    ("|", 3),
    ("&&", 2),
    ("||", 1),
];

/// One level above `+`: what may follow a sign in an address.
const PRODUCT: u8 = 10;

impl Parser<'_> {
    /// A whole expression, including `c ? a : b`.
    pub(super) fn constant(&mut self) -> Result<Constant> {
        // Most constants are a single number; debug information has many thousands of them.
        if let (Kind::Integer { bits, unsigned }, Kind::Punct("," | ";" | "}" | "]" | ")") | Kind::DotWord) =
            (self.token.kind, self.next.kind)
        {
            return self.taken(Constant::Integer { bits, unsigned });
        }
        self.nested(|parser| {
            let first = parser.binary(1)?;
            if !parser.at("?") {
                return Ok(first);
            }
            let token = parser.token;
            parser.advance()?;
            let yes = parser.constant()?;
            parser.want(":", "`:` of `?:`")?;
            let no = parser.constant()?;
            let chosen = if parser.truth(token, first)? { yes } else { no };
            Ok(match (yes, no, chosen) {
                (
                    Constant::Integer { unsigned: a, .. },
                    Constant::Integer { unsigned: b, .. },
                    Constant::Integer { bits, .. },
                ) => Constant::Integer { bits, unsigned: a || b },
                _ => chosen,
            })
        })
    }

    /// An integer expression that is not negative.
    pub(super) fn unsigned_constant(&mut self) -> Result<u64> {
        let token = self.token;
        match self.constant()? {
            Constant::Integer { bits, unsigned } if unsigned || bits as i64 >= 0 => Ok(bits),
            Constant::Integer { .. } => {
                Err(self.problem_at(token, Problem::Range("this number must not be negative")))
            }
            _ => Err(self.problem_at(token, Problem::Expected("an integer"))),
        }
    }

    /// `{+ product}{- product}…`: the offset after a base.
    pub(super) fn offset(&mut self) -> Result<i64> {
        let (mut sum, mut first) = (0i64, true);
        loop {
            // ptxas does not take `a-4` as an offset; it takes `a+-4`, and `a+8-4`.
            let minus = self.at("-") && !first;
            first = false;
            if !minus && !self.at("+") {
                return Ok(sum);
            }
            self.advance()?;
            let token = self.token;
            let Constant::Integer { bits, .. } = self.binary(PRODUCT)? else {
                return Err(self.problem_at(token, Problem::Expected("an integer offset")));
            };
            let step = bits as i64;
            sum = if minus { sum.wrapping_sub(step) } else { sum.wrapping_add(step) };
        }
    }

    /// Operators with at least the precedence `least`, left to right.
    fn binary(&mut self, least: u8) -> Result<Constant> {
        let mut left = self.unary()?;
        loop {
            let Kind::Punct(punct) = self.token.kind else { return Ok(left) };
            let Some(&(operator, binding)) = BINARY.iter().find(|(text, _)| *text == punct) else {
                return Ok(left);
            };
            if binding < least {
                return Ok(left);
            }
            let token = self.token;
            self.advance()?;
            let right = self.binary(binding + 1)?;
            left = self.apply(token, operator, left, right)?;
        }
    }

    fn unary(&mut self) -> Result<Constant> {
        self.nested(|parser| {
            let token = parser.token;
            match token.kind {
                Kind::Punct(sign @ ("+" | "-" | "~" | "!")) => {
                    parser.advance()?;
                    let operand = parser.unary()?;
                    parser.apply_unary(token, sign, operand)
                }
                Kind::Punct("(") => {
                    parser.advance()?;
                    let cast = match parser.dot_word() {
                        Some("s64") => Some(false),
                        Some("u64") => Some(true),
                        Some(_) => {
                            return parser.expected("`.s64` or `.u64`, the casts of constant expressions");
                        }
                        None => None,
                    };
                    if let Some(unsigned) = cast {
                        parser.advance()?;
                        parser.want(")", "`)`")?;
                        let operand = parser.unary()?;
                        return match operand {
                            Constant::Integer { bits, .. } => Ok(Constant::Integer { bits, unsigned }),
                            _ => Err(parser.problem_at(token, Problem::NoValue("only integers can be cast"))),
                        };
                    }
                    let inner = parser.constant()?;
                    parser.want(")", "`)` or an operator")?;
                    Ok(inner)
                }
                Kind::Integer { bits, unsigned } => parser.taken(Constant::Integer { bits, unsigned }),
                Kind::Single(bits) => parser.taken(Constant::Single(bits)),
                Kind::Double(value) => parser.taken(Constant::Double(value)),
                Kind::Word if parser.text() == "WARP_SZ" => {
                    parser.taken(Constant::Integer { bits: 32, unsigned: false })
                }
                _ => parser.expected("a constant"),
            }
        })
    }

    fn taken(&mut self, value: Constant) -> Result<Constant> {
        self.advance()?;
        Ok(value)
    }

    fn truth(&self, token: Token, value: Constant) -> Result<bool> {
        match value {
            Constant::Integer { bits, .. } => Ok(bits != 0),
            _ => Err(self.problem_at(token, Problem::NoValue("a condition is an integer"))),
        }
    }

    fn apply_unary(&self, token: Token, sign: &str, operand: Constant) -> Result<Constant> {
        Ok(match (sign, operand) {
            ("+", operand) => operand,
            ("-", Constant::Integer { bits, unsigned }) => {
                Constant::Integer { bits: bits.wrapping_neg(), unsigned }
            }
            ("-", Constant::Double(value)) => Constant::Double(-value),
            ("-", Constant::Single(bits)) => Constant::Single(bits ^ 0x8000_0000),
            ("~", Constant::Integer { bits, unsigned }) => Constant::Integer { bits: !bits, unsigned },
            ("!", Constant::Integer { bits, .. }) => boolean(bits == 0),
            _ => return Err(self.problem_at(token, Problem::NoValue("this operator takes integers"))),
        })
    }

    fn apply(&self, token: Token, operator: &str, left: Constant, right: Constant) -> Result<Constant> {
        let no_value = |why| Err(self.problem_at(token, Problem::NoValue(why)));
        match (left, right) {
            (Constant::Integer { bits: a, unsigned: ua }, Constant::Integer { bits: b, unsigned: ub }) => {
                integers(operator, (a, ua), (b, ub)).map_or_else(|| no_value("division by zero"), Ok)
            }
            (Constant::Single(_), _) | (_, Constant::Single(_)) => {
                no_value("`0f…` cannot be part of an expression")
            }
            (Constant::Double(a), Constant::Double(b)) => Ok(match operator {
                "*" => Constant::Double(a * b),
                "/" => Constant::Double(a / b),
                "+" => Constant::Double(a + b),
                "-" => Constant::Double(a - b),
                "<" => boolean(a < b),
                ">" => boolean(a > b),
                "<=" => boolean(a <= b),
                ">=" => boolean(a >= b),
                "==" => boolean(a == b),
                "!=" => boolean(a != b),
                _ => return no_value("this operator takes integers"),
            }),
            _ => no_value("integers and floating-point numbers do not mix"),
        }
    }
}

fn boolean(value: bool) -> Constant {
    Constant::Integer { bits: value.into(), unsigned: false }
}

/// `None` on division by zero.
fn integers(operator: &str, (a, a_unsigned): (u64, bool), (b, b_unsigned): (u64, bool)) -> Option<Constant> {
    let unsigned = a_unsigned || b_unsigned;
    let (sa, sb) = (a as i64, b as i64);
    let less = if unsigned { a < b } else { sa < sb };
    let bits = match operator {
        "*" => a.wrapping_mul(b),
        "/" | "%" if b == 0 => return None,
        "/" if unsigned => a / b,
        "/" => sa.wrapping_div(sb) as u64,
        "%" if unsigned => a % b,
        "%" => sa.wrapping_rem(sb) as u64,
        "+" => a.wrapping_add(b),
        "-" => a.wrapping_sub(b),
        "<<" => {
            return Some(Constant::Integer { bits: if b < 64 { a << b } else { 0 }, unsigned: a_unsigned });
        }
        ">>" => {
            let bits = if a_unsigned { if b < 64 { a >> b } else { 0 } } else { (sa >> b.min(63)) as u64 };
            return Some(Constant::Integer { bits, unsigned: a_unsigned });
        }
        "&" => a & b,
        "^" => a ^ b,
        "|" => a | b,
        "<" => return Some(boolean(less)),
        ">=" => return Some(boolean(!less)),
        ">" => return Some(boolean(!less && a != b)),
        "<=" => return Some(boolean(less || a == b)),
        "==" => return Some(boolean(a == b)),
        "!=" => return Some(boolean(a != b)),
        "&&" => return Some(boolean(a != 0 && b != 0)),
        _ => return Some(boolean(a != 0 || b != 0)),
    };
    Some(Constant::Integer { bits, unsigned })
}

#[cfg(test)]
mod tests {
    use crate::{Constant, Operand, Statement};

    fn value(expression: &str) -> Constant {
        let text = format!(".version 8.6 .target sm_90 .entry k() {{ mov.b64 d, {expression}; }}");
        let module = crate::parse(&text).unwrap_or_else(|error| panic!("{error}"));
        let Statement::Instruction(mov) = &module.functions[0].body.as_ref().unwrap().statements[0] else {
            panic!()
        };
        let Operand::Constant(value) = mov.operands[1] else { panic!("{expression}: {:?}", mov.operands) };
        value
    }

    #[test]
    fn signed_expressions() {
        for (expression, expected) in [
            ("1 + 2 * 3", 7i64),
            ("(1 + 2) * 3", 9),
            ("10 - 3 - 2", 5),
            ("-7 / 2", -3),
            ("-7 % 2", -1),
            ("7 % -2", 1),
            ("1 << 4 | 1", 17),
            ("6 & 3 ^ 5", 7),
            ("-8 >> 1", -4),
            ("-1 >> 70", -1),
            ("1 << 64", 0),
            ("~0", -1),
            ("!5 + !0", 1),
            ("- -3", 3),
            ("3 < 4 == 1", 1),
            ("-1 < 0", 1),
            ("2 >= 3 || 1 && 1", 1),
            ("1 ? 2 : 3", 2),
            ("0 ? 2 : 0 ? 3 : 4", 4),
            ("WARP_SZ * 2 - 1", 63),
            ("0x10 + 010 + 0b10", 26),
            ("0x8000000000000000 == 1 << 63", 1),
            ("(.s64)0xFFFFFFFFFFFFFFFF < 0", 1),
            ("0x7FFFFFFFFFFFFFFF + 1 < 0", 1),
            ("-0x7FFFFFFFFFFFFFFF - 1", i64::MIN),
            ("(-0x7FFFFFFFFFFFFFFF - 1) / -1", i64::MIN),
        ] {
            assert_eq!(
                value(expression),
                Constant::Integer { bits: expected as u64, unsigned: false },
                "{expression}"
            );
        }
    }

    #[test]
    fn one_unsigned_side_makes_it_unsigned() {
        for (expression, expected) in [
            ("1U", 1u64),
            ("0xFFFFFFFFFFFFFFFF", u64::MAX),
            ("-1 + 0U", u64::MAX),
            ("-1 / 2U", u64::MAX / 2),
            ("(.u64)-1 >> 60", 15),
            ("1 ? 2 : 3U", 2),
        ] {
            assert_eq!(
                value(expression),
                Constant::Integer { bits: expected, unsigned: true },
                "{expression}"
            );
        }
        // The result of a comparison is signed, though it compares unsigned.
        assert_eq!(value("-1 < 0U"), Constant::Integer { bits: 0, unsigned: false });
        // A shift's type is that of its left side alone.
        assert_eq!(value("-16 >> 2U"), Constant::Integer { bits: -4i64 as u64, unsigned: false });
    }

    #[test]
    fn floats() {
        assert_eq!(value("1.5"), Constant::Double(1.5));
        assert_eq!(value(".5"), Constant::Double(0.5));
        assert_eq!(value("-2e3 / 4.0 + 1."), Constant::Double(-499.0));
        assert_eq!(value("0d3FF8000000000000"), Constant::Double(1.5));
        assert_eq!(value("0f7FC12345"), Constant::Single(0x7FC1_2345));
        assert_eq!(value("-0f3F800000"), Constant::Single(0xBF80_0000));
        assert_eq!(value("1.0 < 2.0"), Constant::Integer { bits: 1, unsigned: false });
        assert_eq!(value("0.1").to_f32_bits(), 0.1f32.to_bits());
        assert_eq!(value("0f3FC00000").to_f64_bits(), 1.5f64.to_bits());
    }
}
