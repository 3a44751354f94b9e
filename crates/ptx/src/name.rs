//! Names: interned, shared, compared by content.

use std::borrow::{Borrow, Cow};
use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// An identifier of the source text. A module stores each distinct spelling once, so a copy costs a reference count,
/// and two equal names in one module usually compare by address.
///
/// It dereferences to `str`: `match &*name { "%tid" => …, _ => … }`.
#[derive(Clone, Eq, PartialOrd, Ord)]
pub struct Name(Arc<str>);

impl Name {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Deref for Name {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

// By content, as `Borrow<str>` requires: a map keyed by `Name` is queried with a `&str`.
impl std::hash::Hash for Name {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (*self.0).hash(state);
    }
}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        *self.0 == *other
    }
}

impl PartialEq<&str> for Name {
    fn eq(&self, other: &&str) -> bool {
        *self.0 == **other
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A kernel's name as Rust has it: `product::<f32, 16>` for `product$f32$16`, an instance of a generic kernel. Other names stay.
pub fn rust_name(name: &str) -> Cow<'_, str> {
    let mut words = name.split('$');
    let kernel = words.next().unwrap_or_default();
    let arguments: Vec<_> = words.collect();
    let is_word = |word: &&str| !word.is_empty();
    // C++ mangles its own names, some of which have a `$`, and LLVM writes `_$_` for a dot.
    if name.contains("_$_")
        || arguments.is_empty()
        || kernel.is_empty()
        || kernel.starts_with('_')
        || !arguments.iter().all(is_word)
    {
        return name.into();
    }
    let argument = |word: &&str| match word.strip_prefix('_') {
        Some(number) if number.starts_with(|c: char| c.is_ascii_digit()) => format!("-{number}"),
        _ => (*word).to_owned(),
    };
    format!("{kernel}::<{}>", arguments.iter().map(argument).collect::<Vec<_>>().join(", ")).into()
}

/// Stores one copy of each spelling.
#[derive(Default)]
pub(crate) struct Interner<'s>(HashMap<&'s str, Name>);

impl<'s> Interner<'s> {
    pub(crate) fn name(&mut self, text: &'s str) -> Name {
        self.0.entry(text).or_insert_with(|| Name::from(text)).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::rust_name;

    #[test]
    fn instances_are_named_as_in_rust() {
        assert_eq!(rust_name("product$f32$16"), "product::<f32, 16>");
        assert_eq!(rust_name("shift$_3"), "shift::<-3>");
        assert_eq!(rust_name("shift$_a"), "shift::<_a>");
        for other in ["product", "_Z3f$1", "$x", "x$", "x$$y", ""] {
            assert_eq!(rust_name(other), other);
        }
    }
}
