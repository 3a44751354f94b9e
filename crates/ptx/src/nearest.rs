//! Suggests the name that was probably meant.

/// The name among `names` most similar to `name`, ignoring case and taking dashes for underscores: one that contains
/// it, else one that differs in less than half of its letters.
///
/// ```
/// assert_eq!(ptx::nearest("sapxy", ["vecadd", "saxpy"].into_iter()), Some("saxpy"));
/// assert_eq!(ptx::nearest("tiled", ["matmul_tiled_16"].into_iter()), Some("matmul_tiled_16"));
/// assert_eq!(ptx::nearest("histogram", ["vecadd", "saxpy"].into_iter()), None);
/// ```
pub fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let name = name.to_lowercase().replace('-', "_");
    let holds = |other: &&str| name.len() > 2 && other.contains(&name);
    names.clone().filter(holds).min_by_key(|other| other.len()).or_else(|| {
        let (distance, nearest) = names.map(|other| (distance(&name, other), other)).min()?;
        (2 * distance < name.len()).then_some(nearest)
    })
}

/// The question to add to "unknown name", with a leading blank; empty if no name is similar.
///
/// ```
/// assert_eq!(ptx::meant("sapxy", ["vecadd", "saxpy"].into_iter()), " did you mean `saxpy`?");
/// assert_eq!(ptx::meant("histogram", ["vecadd", "saxpy"].into_iter()), "");
/// ```
pub fn meant<'a>(name: &str, names: impl Iterator<Item = &'a str> + Clone) -> String {
    nearest(name, names).map_or(String::new(), |nearest| format!(" did you mean `{nearest}`?"))
}

/// How many letters differ (Levenshtein distance).
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.bytes().enumerate() {
            let best = (diagonal + usize::from(x != y)).min(row[j] + 1).min(row[j + 1] + 1);
            diagonal = std::mem::replace(&mut row[j + 1], best);
        }
    }
    row[b.len()]
}
