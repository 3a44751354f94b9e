//! Instruction forms and the notation they are written in.
//!
//! A line such as `(add|sub)(.rn|.rz).f32 <d:f32>, <a:f32>, <b:f32>` stands for every choice of alternatives; `$2` repeats
//! what the second group chose. `<name:kind>` is an operand: `d e g h` and the predicates `p q` are results, others are
//! inputs (the first letter counts). `<G> <S> <Z> <C> <M>` are the program's: a cell of the thread's own in global memory, in shared memory (as a
//! shared and as a generic address), a shared cell of the whole block, and a predicate true on lanes of 0x5a5aa5a5.
//! A leading `~` gives the bound of an approximation, a leading `!` takes forms out again.

use crate::operand::Kind;

/// The form files, by family.
pub const FAMILIES: [(&str, &str); 11] = [
    ("integer", include_str!("../forms/integer.txt")),
    ("bits", include_str!("../forms/bits.txt")),
    ("compare", include_str!("../forms/compare.txt")),
    ("float", include_str!("../forms/float.txt")),
    ("half", include_str!("../forms/half.txt")),
    ("approx", include_str!("../forms/approx.txt")),
    ("convert", include_str!("../forms/convert.txt")),
    ("video", include_str!("../forms/video.txt")),
    ("memory", include_str!("../forms/memory.txt")),
    ("warp", include_str!("../forms/warp.txt")),
    ("atomic", include_str!("../forms/atomic.txt")),
];

/// An operand place of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedOperand {
    /// Its register's name.
    pub name: String,
    /// Its content.
    pub kind: Kind,
}

/// How far a result may lie from the correctly rounded value. Meeting one of the given is enough; none means exact.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bound {
    /// Units in the last place.
    pub ulp: Option<f64>,
    /// Power of two of the absolute error.
    pub abs: Option<f64>,
    /// Power of two of the relative error.
    pub rel: Option<f64>,
}

impl Bound {
    /// Whether nothing but equal bits will do.
    pub fn is_exact(&self) -> bool {
        *self == Self::default()
    }
}

/// One instruction form.
#[derive(Clone, Debug)]
pub struct Form {
    /// PTX with `<name>` for the operands; names the form in reports.
    pub text: String,
    /// Tolerance of its results.
    pub bound: Bound,
    /// Operands that are loaded.
    pub inputs: Vec<NamedOperand>,
    /// Operands that are stored.
    pub outputs: Vec<NamedOperand>,
}

impl Form {
    /// The form that a text with all choices made stands for.
    pub(crate) fn parse(text: &str, bound: Bound) -> Self {
        let (mut inputs, mut outputs): (Vec<NamedOperand>, Vec<NamedOperand>) = (Vec::new(), Vec::new());
        for place in text.split('<').skip(1).filter_map(|rest| rest.split_once('>')).map(|(place, _)| place) {
            let Some((name, kind)) = place.split_once(':') else { continue };
            let kind = Kind::named(kind).unwrap_or_else(|| panic!("no operand kind {kind} in form {text}"));
            let list = if name.starts_with(|c| "deghpq".contains(c)) { &mut outputs } else { &mut inputs };
            if !list.iter().any(|p| p.name == name) {
                list.push(NamedOperand { name: name.to_string(), kind });
            }
        }
        Self { text: text.to_string(), bound, inputs, outputs }
    }

    /// The instruction with its register names in place.
    pub fn instruction(&self) -> String {
        let mut ptx = String::new();
        let mut rest = self.text.as_str();
        while let Some((before, after)) = rest.split_once('<') {
            let (place, after) = after.split_once('>').expect("a form's operand closes");
            ptx.push_str(before);
            ptx.push_str(match place.split_once(':').map_or(place, |(name, _)| name) {
                "G" => "%global_cell",
                "S" => "%shared_cell",
                "Z" => "%generic_cell",
                "C" => "%block_cell",
                "M" => "%in_mask",
                name => name,
            });
            rest = after;
        }
        ptx + rest + ";"
    }

    /// Identifies the form in recordings and seeds its operands.
    pub fn hash(&self) -> u64 {
        self.text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ b as u64).wrapping_mul(0x100_0000_01b3))
    }
}

/// All forms of a family's text, in order.
pub fn parse(family: &str) -> Vec<Form> {
    let mut forms: Vec<Form> = Vec::new();
    for line in family.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#')) {
        if let Some(pattern) = line.strip_prefix('!') {
            let out = expand(pattern.trim());
            forms.retain(|f| !out.contains(&f.text));
            continue;
        }
        let (bound, pattern) = match line.strip_prefix('~').and_then(|l| l.split_once(' ')) {
            Some((bound, pattern)) => (parse_bound(bound), pattern),
            None => (Bound::default(), line),
        };
        forms.extend(expand(pattern).iter().map(|text| Form::parse(text, bound)));
    }
    let mut seen = std::collections::HashSet::new();
    forms.retain(|f| seen.insert(f.text.clone()));
    forms
}

fn parse_bound(text: &str) -> Bound {
    let mut bound = Bound::default();
    for (name, value) in text.split(',').filter_map(|part| part.split_once('=')) {
        let value = Some(value.parse().expect("a bound is a number"));
        match name {
            "ulp" => bound.ulp = value,
            "abs" => bound.abs = value,
            "rel" => bound.rel = value,
            _ => panic!("no bound {name}"),
        }
    }
    bound
}

/// Every choice of alternatives of a pattern.
fn expand(pattern: &str) -> Vec<String> {
    enum PatternPart<'a> {
        Text(&'a str),
        Group(Vec<&'a str>),
    }
    let mut pieces = Vec::new();
    let mut rest = pattern;
    while let Some((text, after)) = rest.split_once('(') {
        let (group, after) = after.split_once(')').expect("a pattern's group closes");
        pieces.push(PatternPart::Text(text));
        pieces.push(PatternPart::Group(group.split('|').collect()));
        rest = after;
    }
    pieces.push(PatternPart::Text(rest));
    let mut choices: Vec<(String, Vec<&str>)> = vec![(String::new(), Vec::new())];
    for piece in &pieces {
        choices = match piece {
            PatternPart::Text(text) => choices.into_iter().map(|(t, c)| (t + text, c)).collect(),
            PatternPart::Group(alternatives) => choices
                .iter()
                .flat_map(|(t, c)| {
                    alternatives
                        .iter()
                        .map(move |&a| (format!("{t}{a}"), c.iter().copied().chain([a]).collect()))
                })
                .collect(),
        };
    }
    choices
        .into_iter()
        .map(|(text, chosen)| {
            // Later references may precede their group, so they are resolved at the end.
            chosen.iter().enumerate().fold(text, |t, (i, c)| t.replace(&format!("${}", i + 1), c))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_expand_with_references() {
        let texts = expand("(a|b)(|.s).x $1$2");
        assert_eq!(texts, ["a.x a", "a.s.x a.s", "b.x b", "b.s.x b.s"]);
    }

    #[test]
    fn operands_are_sorted_into_inputs_and_results() {
        let forms = parse(
            "# c\n~ulp=2 setp.(lt|gt).s32 <p:pred>|<q:pred>, <a:s32>, <a:s32>\n! setp.gt.s32 <p:pred>|<q:pred>, <a:s32>, <a:s32>",
        );
        assert_eq!(forms.len(), 1);
        assert_eq!((forms[0].outputs.len(), forms[0].inputs.len()), (2, 1));
        assert_eq!(forms[0].bound.ulp, Some(2.0));
        assert_eq!(forms[0].instruction(), "setp.lt.s32 p|q, a, a;");
    }

    #[test]
    fn every_family_parses() {
        let forms: usize = FAMILIES.iter().map(|(_, text)| parse(text).len()).sum();
        assert!(forms * crate::THREADS > 100_000, "{forms} forms");
    }
}
