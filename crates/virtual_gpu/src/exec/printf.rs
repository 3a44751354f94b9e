//! The formatting of `printf` in kernels.

/// Memory of the device that conversions read.
pub(super) enum Request {
    /// The next argument, of 4 or 8 bytes.
    Value(usize),
    /// The text at an address, up to a number of bytes.
    Text(u64, usize),
}

/// The answer.
pub(super) enum Reply {
    Value(u64),
    Text(Vec<u8>),
}

/// One conversion: `%-08.3lf`.
#[derive(Debug, Default, Clone, Copy)]
struct Conversion {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    long: bool,
    short: u8,
}

/// The buffer that a block prints to. What does not fit is lost, as on a device.
pub(super) struct Output<'a> {
    pub bytes: &'a mut Vec<u8>,
    pub limit: usize,
}

impl Output<'_> {
    fn room(&self) -> usize {
        self.limit.saturating_sub(self.bytes.len())
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(&bytes[..bytes.len().min(self.room())]);
    }

    fn fill(&mut self, count: usize) {
        self.bytes.extend(std::iter::repeat_n(b' ', count.min(self.room())));
    }
}

/// Widest field that is padded to: a format string is the program's, not ours.
const MAX_WIDTH: usize = 4096;

/// Writes the formatted text to `out` and gives the number of arguments that were converted, as CUDA does. It ends where the
/// buffer is full, so that the time it takes is bounded by the lengths of text and buffer.
pub(super) fn format<E>(
    text: &[u8],
    out: &mut Output<'_>,
    ask: &mut dyn FnMut(Request) -> Result<Reply, E>,
) -> Result<u32, E> {
    let value =
        |ask: &mut dyn FnMut(Request) -> Result<Reply, E>, size: usize| match ask(Request::Value(size)) {
            Ok(Reply::Value(value)) => Ok(value),
            Ok(Reply::Text(_)) => Ok(0),
            Err(e) => Err(e),
        };
    let mut count = 0;
    let mut rest = text.iter().copied().peekable();
    while let Some(byte) = rest.next() {
        if out.room() == 0 {
            break;
        }
        if byte != b'%' {
            out.push(&[byte]);
            continue;
        }
        let mut c = Conversion::default();
        while let Some(&flag) = rest.peek() {
            match flag {
                b'-' => c.left = true,
                b'+' => c.plus = true,
                b' ' => c.space = true,
                b'#' => c.alternate = true,
                b'0' => c.zero = true,
                _ => break,
            }
            rest.next();
        }
        let number = |rest: &mut std::iter::Peekable<_>, ask: &mut dyn FnMut(Request) -> Result<Reply, E>| {
            number(rest).map_or_else(|| Ok::<_, E>(value(ask, 4)? as i32 as i64), |n| Ok(n as i64))
        };
        if matches!(rest.peek(), Some(b'0'..=b'9' | b'*')) {
            let width = number(&mut rest, ask)?;
            c.left |= width < 0;
            c.width = (width.unsigned_abs() as usize).min(MAX_WIDTH);
        }
        if rest.peek() == Some(&b'.') {
            rest.next();
            let precision = match rest.peek() {
                Some(b'0'..=b'9' | b'*') => number(&mut rest, ask)?,
                _ => 0,
            };
            c.precision = usize::try_from(precision).ok().map(|p| p.min(MAX_WIDTH));
        }
        while let Some(&length) = rest.peek() {
            match length {
                b'l' | b'j' | b'z' | b't' | b'L' => c.long = true,
                b'h' => c.short += 1,
                _ => break,
            }
            rest.next();
        }
        let Some(kind) = rest.next() else { break };
        if kind != b'%' {
            count += 1;
        }
        let size = if c.long { 8 } else { 4 };
        match kind {
            b'%' => out.push(b"%"),
            b'd' | b'i' => {
                let bits = value(ask, size)?;
                let signed = match (c.long, c.short) {
                    (true, _) => bits as i64,
                    (_, 0) => bits as i32 as i64,
                    (_, 1) => bits as i16 as i64,
                    _ => bits as i8 as i64,
                };
                integer(out, c, signed < 0, true, signed.unsigned_abs().to_string(), "");
            }
            b'u' | b'x' | b'X' | b'o' => {
                let bits = value(ask, size)?;
                let bits = match (c.long, c.short) {
                    (true, _) => bits,
                    (_, 0) => bits & 0xffff_ffff,
                    (_, 1) => bits & 0xffff,
                    _ => bits & 0xff,
                };
                let nonzero = c.alternate && bits != 0;
                let (digits, prefix) = match kind {
                    b'u' => (bits.to_string(), ""),
                    b'x' => (format!("{bits:x}"), if nonzero { "0x" } else { "" }),
                    b'X' => (format!("{bits:X}"), if nonzero { "0X" } else { "" }),
                    _ => (format!("{bits:o}"), if nonzero { "0" } else { "" }),
                };
                integer(out, c, false, false, digits, prefix);
            }
            b'p' => {
                let digits = format!("{:x}", value(ask, 8)?);
                integer(out, c, false, false, digits, "0x");
            }
            b'c' => {
                let byte = value(ask, 4)? as u8;
                pad(out, c, &[byte]);
            }
            b's' => {
                let address = value(ask, 8)?;
                let most = c.precision.unwrap_or(usize::MAX).min(out.room());
                if let Reply::Text(bytes) = ask(Request::Text(address, most))? {
                    pad(out, c, &bytes);
                }
            }
            b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
                let number = f64::from_bits(value(ask, 8)?);
                float(out, c, number, kind);
            }
            other => out.push(&[b'%', other]),
        }
    }
    Ok(count)
}

/// A decimal number; `None` for `*`.
fn number(rest: &mut std::iter::Peekable<impl Iterator<Item = u8>>) -> Option<usize> {
    if rest.peek() == Some(&b'*') {
        rest.next();
        return None;
    }
    let mut n = 0usize;
    while let Some(&digit @ b'0'..=b'9') = rest.peek() {
        n = n.saturating_mul(10).saturating_add(usize::from(digit - b'0'));
        rest.next();
    }
    Some(n)
}

fn pad(out: &mut Output<'_>, c: Conversion, body: &[u8]) {
    let fill = c.width.saturating_sub(body.len());
    if !c.left {
        out.fill(fill);
    }
    out.push(body);
    if c.left {
        out.fill(fill);
    }
}

fn sign(c: Conversion, negative: bool, signed: bool) -> &'static str {
    match (negative, signed && c.plus, signed && c.space) {
        (true, ..) => "-",
        (_, true, _) => "+",
        (_, _, true) => " ",
        _ => "",
    }
}

fn integer(out: &mut Output<'_>, c: Conversion, negative: bool, signed: bool, digits: String, prefix: &str) {
    let digits = match c.precision {
        Some(0) if digits == "0" => String::new(),
        Some(precision) => format!("{digits:0>precision$}"),
        None => digits,
    };
    with_zeros(
        out,
        Conversion { zero: c.zero && c.precision.is_none(), ..c },
        sign(c, negative, signed),
        prefix,
        &digits,
    );
}

fn with_zeros(out: &mut Output<'_>, c: Conversion, sign: &str, prefix: &str, body: &str) {
    let length = sign.len() + prefix.len() + body.len();
    let zeros = if c.zero && !c.left { c.width.saturating_sub(length) } else { 0 };
    pad(out, c, format!("{sign}{prefix}{}{body}", "0".repeat(zeros)).as_bytes());
}

fn float(out: &mut Output<'_>, c: Conversion, number: f64, kind: u8) {
    let upper = kind.is_ascii_uppercase();
    let magnitude = number.abs();
    let body = if !number.is_finite() {
        if number.is_nan() { "nan".into() } else { "inf".into() }
    } else {
        match kind.to_ascii_lowercase() {
            b'f' => format!("{magnitude:.*}", c.precision.unwrap_or(6)),
            b'e' => exponential(magnitude, c.precision.unwrap_or(6)),
            b'g' => shortest(magnitude, c.precision.unwrap_or(6).max(1), c.alternate),
            _ => hexadecimal(magnitude, c.precision),
        }
    };
    let body = if upper { body.to_uppercase() } else { body };
    let negative = number.is_sign_negative();
    let c = Conversion { zero: c.zero && number.is_finite(), ..c };
    with_zeros(out, c, sign(c, negative, true), "", &body);
}

fn exponential(magnitude: f64, precision: usize) -> String {
    let text = format!("{magnitude:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    format!("{mantissa}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

fn shortest(magnitude: f64, precision: usize, keep_zeros: bool) -> String {
    let rounded = exponential(magnitude, precision - 1);
    let exponent: i32 = rounded.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    let trim = |text: &str| {
        if keep_zeros || !text.contains('.') {
            text.to_owned()
        } else {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
    };
    if exponent < -4 || exponent >= precision as i32 {
        let (mantissa, tail) = rounded.split_once('e').unwrap_or((&rounded, "+00"));
        return format!("{}e{tail}", trim(mantissa));
    }
    let digits = (precision as i32 - 1 - exponent).max(0) as usize;
    trim(&format!("{magnitude:.digits$}"))
}

fn hexadecimal(magnitude: f64, precision: Option<usize>) -> String {
    let bits = magnitude.to_bits();
    let (field, mut fraction) = ((bits >> 52) as i32, bits & ((1 << 52) - 1));
    let mut lead = u64::from(field != 0);
    let exponent = match (field, fraction) {
        (0, 0) => 0,
        (0, _) => -1022,
        _ => field - 1023,
    };
    let digits = match precision {
        Some(precision) if precision < 13 => {
            let dropped = 4 * (13 - precision as u32);
            let whole = lead << 52 | fraction;
            let half = 1u64 << (dropped - 1);
            let odd = whole >> dropped & 1;
            let rounded = (whole + half - 1 + odd) >> dropped << dropped;
            (lead, fraction) = (rounded >> 52, rounded & ((1 << 52) - 1));
            format!("{fraction:013x}")[..precision].to_owned()
        }
        Some(precision) => format!("{:0<precision$}", format!("{fraction:013x}")),
        None => format!("{fraction:013x}").trim_end_matches('0').to_owned(),
    };
    let point = if digits.is_empty() { "" } else { "." };
    format!("0x{lead}{point}{digits}p{exponent:+}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show_within(limit: usize, text: &str, values: &[u64]) -> (u32, String) {
        let mut bytes = Vec::new();
        let mut values = values.iter();
        let mut out = Output { bytes: &mut bytes, limit };
        let done = format(text.as_bytes(), &mut out, &mut |request| match request {
            Request::Value(_) => Ok::<_, ()>(Reply::Value(*values.next().unwrap())),
            Request::Text(_, most) => Ok(Reply::Text(b"text"[..most.min(4)].to_vec())),
        });
        (done.unwrap(), String::from_utf8(bytes).unwrap())
    }

    fn show(text: &str, values: &[u64]) -> String {
        show_within(1 << 20, text, values).1
    }

    #[test]
    fn a_full_buffer_ends_it() {
        assert_eq!(show_within(5, "abc%4000d", &[1]), (1, "abc  ".into()));
        assert_eq!(show_within(2, "%s%s", &[1]), (1, "te".into()));
        // No value is asked for that could not be shown.
        assert_eq!(show_within(3, "abc%d%s%f", &[]), (0, "abc".into()));
    }

    // Expected texts are those of C's printf.
    #[test]
    fn formats_as_c_does() {
        assert_eq!(
            show("%d %5d|%-5d|%05d", &[(-3i32) as u32 as u64, 42, 42, (-42i32) as u32 as u64]),
            "-3    42|42   |-0042"
        );
        assert_eq!(show("%x %#X %o %u", &[255, 255, 8, u64::from(u32::MAX)]), "ff 0XFF 10 4294967295");
        assert_eq!(show("%lld %lu", &[(-1i64) as u64, u64::MAX]), "-1 18446744073709551615");
        let f = |x: f64| x.to_bits();
        assert_eq!(show("%f %.2f %8.3f|", &[f(1.5), f(-2.345), f(3.25)]), "1.500000 -2.35    3.250|");
        assert_eq!(show("%e %.1E", &[f(12345.678), f(0.00012)]), "1.234568e+04 1.2E-04");
        assert_eq!(
            show("%g %g %g %g", &[f(100000.0), f(1e6), f(0.0001), f(1e-5)]),
            "100000 1e+06 0.0001 1e-05"
        );
        assert_eq!(show("%a %f %F", &[f(1.0), f(f64::INFINITY), f(f64::NAN)]), "0x1p+0 inf NAN");
        assert_eq!(show("%s|%6s|%.2s|%c%%", &[1, 1, 1, 65]), "text|  text|te|A%");
        assert_eq!(show("%*d|%.*f", &[4, 7, 1, f(0.25)]), "   7|0.2");
    }
}
