//! Random straight-line programs: exact forms that feed each other.

use crate::form::{Bound, FAMILIES, Form, parse};
use crate::operand::{Kind, Random, Register};

/// Instructions in one chain.
const LENGTH: usize = 12;

/// `count` chains, always the same ones.
pub fn chains(count: usize) -> Vec<Form> {
    let links = links();
    let mut random = Random::new(0x77617270);
    (0..count).map(|_| chain(&links, &mut random)).collect()
}

/// Forms that may stand in a chain: one instruction, exact, and nothing that `ptxas` may contract with a neighbour.
fn links() -> Vec<Form> {
    let families = ["integer", "bits", "compare", "float", "half", "convert"];
    let all = FAMILIES.iter().filter(|(name, _)| families.contains(name)).flat_map(|(_, text)| parse(text));
    all.filter(|form| {
        let opcode = form.text.split(' ').next().unwrap_or_default();
        let contractible = ["add.", "sub.", "mul."].iter().any(|op| opcode.starts_with(op))
            && (opcode.ends_with("f32") || opcode.ends_with("f64") || opcode.contains("f16"))
            && ![".rn", ".rz", ".rm", ".rp"].iter().any(|round| opcode.contains(round));
        // `.oob` needs operands of its own.
        let special = opcode.contains(".oob");
        form.bound.is_exact()
            && !special
            && !form.text.contains(';')
            && !form.text.contains("<G>")
            && !contractible
    })
    .collect()
}

fn chain(links: &[Form], random: &mut Random) -> Form {
    let mut text = Vec::new();
    let mut values: Vec<(String, Register)> = Vec::new();
    for link in 0..LENGTH {
        let form = &links[random.below(links.len() as u64) as usize];
        let mut results = Vec::new();
        let instruction = rename(&form.text, |name, kind| {
            let register = Kind::named(kind)?.register();
            if form.outputs.iter().any(|p| p.name == name) {
                let new = format!(
                    "{}{link}",
                    if register == Register::Pred { format!("p{name}") } else { name.into() }
                );
                results.push((new.clone(), register));
                return Some(new);
            }
            let same: Vec<&String> = values.iter().filter(|(_, r)| *r == register).map(|(n, _)| n).collect();
            if !same.is_empty() && random.below(3) != 0 {
                // Recent results more often than old ones.
                let back = random.below(same.len().min(4) as u64) as usize;
                return Some(same[same.len() - 1 - back].clone());
            }
            let new = format!("{name}{link}");
            values.push((new.clone(), register));
            Some(new)
        });
        values.extend(results);
        text.push(instruction);
    }
    Form::parse(&text.join("; "), Bound::default())
}

/// Replaces the names of a form's places.
fn rename(text: &str, mut name: impl FnMut(&str, &str) -> Option<String>) -> String {
    let mut renamed = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        let (place, after) = after.split_once('>').expect("a form's operand closes");
        let (old, kind) = place.split_once(':').unwrap_or((place, ""));
        let new = name(old, kind).unwrap_or_else(|| old.to_string());
        renamed += &format!("{before}<{new}:{kind}>");
        rest = after;
    }
    renamed + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_feed_their_results_on() {
        let chains = chains(8);
        assert_eq!(chains[3].text, super::chains(8)[3].text);
        for chain in &chains {
            assert_eq!(chain.text.split(';').count(), LENGTH);
            assert!(chain.outputs.len() >= LENGTH);
        }
        let fed = |f: &Form| f.text.split("; ").skip(1).any(|i| i.matches("<d").count() > 1);
        assert!(chains.iter().any(fed));
    }
}
