//! The `ptx!` form of an `asm!` in a kernel's source: what upstream's own compiler takes as inline PTX, the host's refuses
//! by its classes of registers.

use std::fmt::Write;

/// Classes of registers of the target nvptx64, and their bits.
const CLASSES: [(&str, &str); 3] = [("reg16", "16"), ("reg32", "32"), ("reg64", "64")];
/// The types of `ptx!`'s operands.
const TYPES: [&str; 11] = ["u16", "i16", "f16", "bf16", "u32", "i32", "f32", "u64", "i64", "f64", "ptr"];

/// Whether a message of rustc is about such a class.
pub fn is_about(message: &str) -> bool {
    message.starts_with("invalid register class")
        && CLASSES.iter().any(|(class, _)| message.contains(&format!("`{class}`")))
}

/// The `asm!` of a source text that byte `at` is in: where it begins, and its `ptx!` form.
///
/// `None` if `ptx!` has no operand of a kind that it has.
pub fn as_ptx(source: &str, at: usize) -> Option<(usize, String)> {
    let start = source.get(..at)?.rfind("asm!")?;
    let open = start + "asm!".len();
    let open = open + source[open..].find(['(', '[', '{'])?;
    let arguments = arguments(&source[open + 1..]);
    let text: String = arguments.iter().filter(|a| is_text(a)).flat_map(|text| [text, "\n"]).collect();
    let mut operands = Vec::new();
    let mut options: Vec<&str> = Vec::new();
    for argument in arguments.iter().filter(|argument| !is_text(argument)) {
        if let Some(listed) = argument.strip_prefix("options") {
            let listed = listed.trim().trim_matches(['(', ')']).split(',').map(str::trim);
            options.extend(listed.filter(|option| ["pure", "nomem"].contains(option)));
        } else {
            operands.push(operand(argument, operands.len(), &text)?);
        }
    }
    let is_together = |mark| text.contains(mark);
    if [".sync", ".aligned", "bar.", "barrier.", "activemask"].into_iter().any(is_together) {
        options.push("convergent");
    }
    let lines: Vec<&str> =
        arguments.iter().copied().filter(|a| is_text(a)).chain(operands.iter().map(String::as_str)).collect();
    let mut form = String::from("cuda_std::ptx!(");
    for (index, line) in lines.iter().enumerate() {
        let _ = write!(form, "{}\n    {line}", if index == 0 { "" } else { "," });
    }
    if !options.is_empty() {
        let _ = write!(form, ";\n    options({})", options.join(", "));
    }
    form.push_str("\n)");
    Some((start, form))
}

fn is_text(argument: &str) -> bool {
    ["\"", "r\"", "r#", "concat!", "stringify!"].iter().any(|begin| argument.starts_with(begin))
}

/// One operand, `name = class(…) value`, with a type in place of the class of registers.
fn operand(argument: &str, index: usize, text: &str) -> Option<String> {
    let is_name = |name: &&str| name.chars().all(|c| c.is_alphanumeric() || c == '_');
    let named = argument.split_once('=').map(|(name, rest)| (name.trim(), rest.trim()));
    let (name, rest) = match named.filter(|(name, rest)| is_name(name) && !rest.starts_with(['=', '>'])) {
        Some((name, rest)) => (Some(name), rest),
        None => (None, argument),
    };
    let prefix = name.map(|name| format!("{name} = ")).unwrap_or_default();
    if let Some(value) = rest.strip_prefix("const ") {
        return Some(format!("{prefix}imm({})", value.trim()));
    }
    let (kind, rest) = rest.split_once('(')?;
    let (class, value) = rest.split_once(')')?;
    let value = value.trim();
    let kind = match kind.trim() {
        "in" => "in",
        "out" | "lateout" => "out",
        "inout" | "inlateout" if !value.contains("=>") => "inout",
        _ => return None,
    };
    let (_, bits) = CLASSES.iter().find(|(name, _)| *name == class.trim())?;
    let place = name.map_or_else(|| position(text, index), |name| format!("{{{name}}}"));
    Some(format!("{prefix}{kind}({}) {value}", type_of(bits, value, &place, text)))
}

/// How the text names an operand without a name: by its number, or as one of the `{}`s.
fn position(text: &str, index: usize) -> String {
    let number = format!("{{{index}}}");
    if text.contains(&number) { number } else { "{}".to_owned() }
}

/// The type of an operand: what its value is cast to, or what the instruction that names it takes. The source of the
/// kernel may mean another one of the same size, and rustc then says so.
fn type_of(bits: &str, value: &str, place: &str, text: &str) -> String {
    if let Some((_, cast)) = value.rsplit_once(" as ")
        && TYPES.contains(&cast.trim())
    {
        return cast.trim().to_owned();
    }
    let instructions = || text.split([';', '\n']).filter(|instruction| instruction.contains(place));
    if bits == "64" && instructions().any(|instruction| instruction.contains(&format!("[{place}"))) {
        return "ptr".to_owned();
    }
    let is_float = |ty: &&&str| instructions().any(|instruction| instruction.contains(&format!(".{ty}")));
    let floats = TYPES.iter().filter(|ty| ty.contains('f') && ty.ends_with(bits));
    floats.clone().find(is_float).map_or_else(|| format!("u{bits}"), |ty| (*ty).to_owned())
}

/// The arguments of a macro's call, by the text that follows its opening parenthesis.
fn arguments(text: &str) -> Vec<&str> {
    let mut all = Vec::new();
    let (mut start, mut depth) = (0, 0_usize);
    let mut rest = text.char_indices().peekable();
    while let Some((at, c)) = rest.next() {
        match c {
            '"' => {
                while let Some((_, c)) = rest.next() {
                    match c {
                        '\\' => drop(rest.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            '/' if rest.peek().is_some_and(|(_, next)| *next == '/') => {
                // What stands before a comment's line is no argument yet, or was one.
                let end = text[at..].find('\n').map_or(text.len(), |end| at + end);
                while rest.next_if(|(at, _)| *at < end).is_some() {}
                if text[start..at].trim().is_empty() {
                    start = end;
                }
            }
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth == 0 => {
                all.push(text[start..at].trim());
                break;
            }
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                all.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    all.retain(|argument| !argument.is_empty());
    all
}

#[cfg(test)]
mod tests {
    use super::{as_ptx, is_about};

    fn form(source: &str) -> Option<String> {
        as_ptx(source, source.find("reg").unwrap()).map(|(_, form)| form)
    }

    #[test]
    fn messages_of_the_devices_classes_are_known() {
        assert!(is_about("invalid register class `reg32`: unknown register class"));
        assert!(!is_about("invalid register class `vreg`: unknown register class"));
        assert!(!is_about("cannot use `reg32` here"));
    }

    #[test]
    fn operands_get_types_and_options_stay() {
        let source = "fn f() { unsafe { asm!(\"add.u32 {o}, {i}, 1;\", o = out(reg32) o, i = in(reg32) g(i, 1), \
                      options(pure, nomem, nostack)) } }";
        assert_eq!(
            form(source).unwrap(),
            "cuda_std::ptx!(\n    \"add.u32 {o}, {i}, 1;\",\n    o = out(u32) o,\n    i = in(u32) g(i, 1);\n    \
             options(pure, nomem)\n)"
        );
    }

    #[test]
    fn types_come_from_casts_and_instructions() {
        let source = "core::arch::asm!(\n    \"{{\", // a scope\n    \".reg .pred %p1;\",\n    \"setp.eq.u32 %p1, {}, 1;\",\n    \
                      \"shfl.sync.bfly.b32 {x}, {y}, 1, 31, -1;\",\n    \"ld.global.f64 {d}, [{a}];\",\n    \
                      \"fma.rn.f32 {f}, {f}, {f}, {f};\",\n    \"}}\",\n    in(reg32) flag as i32,\n    x = out(reg32) x,\n    \
                      y = in(reg32) y,\n    d = lateout(reg64) d,\n    a = in(reg64) a,\n    f = inout(reg32) f,\n    \
                      k = const N + 1,\n)";
        let form = form(source).unwrap();
        for operand in [
            "in(i32) flag as i32,",
            "x = out(u32) x,",
            "y = in(u32) y,",
            "d = out(f64) d,",
            "a = in(ptr) a,",
            "f = inout(f32) f,",
            "k = imm(N + 1);",
            "options(convergent)",
            "\"{{\",\n    \".reg",
        ] {
            assert!(form.contains(operand), "`{operand}` is not in: {form}");
        }
        assert!(!form.contains("a scope"), "{form}");
    }

    #[test]
    fn what_has_no_form_is_not_guessed() {
        assert_eq!(form("asm!(\"mov.b32 {0}, {0};\", inout(reg32) a => b)"), None);
        assert_eq!(form("let reg32 = 1;"), None);
    }
}
