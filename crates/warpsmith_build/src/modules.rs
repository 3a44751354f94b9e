//! The device modules below a root, and the text of each file that is left of it on the device: those modules, and the modules
//! around them. All else is blank, so that lines and columns stay.

use crate::tokens::{self, Kind, Token};
use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The device's part of a crate.
#[derive(Debug, Default)]
pub struct Device {
    /// All files read, with or without device modules.
    pub read: Vec<PathBuf>,
    /// Its files, the root first, with what is left of them.
    pub files: Vec<(PathBuf, String)>,
    /// The lines of files that belong to a device module.
    pub parts: Vec<Part>,
    /// The first words of paths: what may be a dependency's name.
    pub named: BTreeSet<String>,
}

/// Lines of a file that belong to a device module.
#[derive(Debug)]
pub struct Part {
    pub file: PathBuf,
    pub lines: (usize, usize),
    /// The static with the PTX, beside the module.
    pub ptx: String,
}

/// The modules around some code.
#[derive(Clone)]
struct Scope {
    /// The path of the module from the root.
    path: Vec<String>,
    /// Where the files of its modules are.
    folder: PathBuf,
    /// The static of the device module around it.
    ptx: Option<String>,
}

/// Reads a root and the files below it. Without device modules there are no files.
pub fn find(root: &Path) -> Device {
    let mut device = Device::default();
    let folder = root.parent().unwrap_or(root).to_owned();
    device.file(root, &Scope { path: Vec::new(), folder, ptx: None });
    device
}

impl Device {
    /// Reads a file of a module; whether it is needed on the device.
    fn file(&mut self, file: &Path, scope: &Scope) -> bool {
        let Ok(text) = fs::read_to_string(file) else { return false };
        self.read.push(file.to_owned());
        // Most files have neither; a file below a device module is needed as it is.
        if scope.ptx.is_none() && !text.contains("device") && !text.contains("mod ") {
            return false;
        }
        let Some(tokens) = tokens::read(&text) else { return scope.ptx.is_some() };
        let place = self.files.len();
        self.files.push((file.to_owned(), String::new()));
        let mut source = Source { text: &text, file, kept: Vec::new(), blank: Vec::new() };
        if let Some(ptx) = &scope.ptx {
            source.kept.push(0..text.len());
            self.note(file, (1, usize::MAX), ptx);
            self.note_names(&text, &tokens);
        }
        self.items(&mut source, &tokens, scope);
        if source.kept.is_empty() {
            self.files.remove(place);
            return false;
        }
        self.files[place].1 = source.left();
        true
    }

    fn note(&mut self, file: &Path, lines: (usize, usize), ptx: &str) {
        self.parts.push(Part { file: file.to_owned(), lines, ptx: ptx.to_owned() });
    }

    /// Words that begin a path: `libm::sinf`, `use glam;`.
    fn note_names(&mut self, text: &str, tokens: &[Token]) {
        let is_colon = |at: usize| matches!(tokens.get(at), Some(Token { kind: Kind::Sign(b':'), .. }));
        for (at, token) in tokens.iter().enumerate() {
            let word = &text[token.bytes.clone()];
            let before = at.checked_sub(1).map_or("", |before| &text[tokens[before].bytes.clone()]);
            match &token.kind {
                Kind::Group(_, inner) => self.note_names(text, inner),
                Kind::Word if is_colon(at + 1) && is_colon(at + 2) || ["use", "crate"].contains(&before) => {
                    self.named.insert(word.trim_start_matches("r#").to_owned());
                }
                _ => {}
            }
        }
    }

    /// Goes through the items of a module; whether one of them is needed on the device.
    fn items(&mut self, source: &mut Source<'_>, tokens: &[Token], scope: &Scope) -> bool {
        let (mut needed, mut start) = (false, 0);
        for (at, token) in tokens.iter().enumerate() {
            let is_inner_attribute = matches!(
                &tokens[start..=at],
                [
                    Token { kind: Kind::Sign(b'#'), .. },
                    Token { kind: Kind::Sign(b'!'), .. },
                    Token { kind: Kind::Group(b'[', _), .. }
                ]
            );
            if !is_inner_attribute && !matches!(token.kind, Kind::Sign(b';') | Kind::Group(b'{', _)) {
                continue;
            }
            needed |= self.item(source, &tokens[start..=at], scope);
            start = at + 1;
        }
        needed
    }

    /// An item up to its `;` or its body.
    fn item(&mut self, source: &mut Source<'_>, item: &[Token], scope: &Scope) -> bool {
        let attributes = attributes(item);
        let rest = &item[attributes.len() * 2..];
        let word = |at: usize| match rest.get(at) {
            Some(Token { kind: Kind::Word, bytes }) => &source.text[bytes.clone()],
            _ => "",
        };
        if let Some(Token { kind: Kind::Group(b'{', inner), .. }) = rest.last()
            && let [.., Token { kind: Kind::Word, bytes }, Token { kind: Kind::Sign(b'!'), .. }, _] = rest
        {
            // `device_mod! { mod kernels; }`
            let is_device = &source.text[bytes.clone()] == "device_mod" && inner.len() >= 3;
            return is_device && self.in_macro(source, inner, scope);
        }
        let at = rest.len().saturating_sub(3);
        let Some(at) = (0..=at).find(|at| word(*at) == "mod" && !word(at + 1).is_empty()) else {
            return false;
        };
        let name = word(at + 1).trim_start_matches("r#").to_owned();
        let is_device = attributes.iter().any(|attribute| is_mark(source.text, attribute));
        let (Some(first), Some(last)) = (item.first(), rest.last()) else { return false };
        let path = attributes.iter().find_map(|attribute| path_of(source.text, attribute));
        let inner = scope.below(&name, is_device);
        let needed = match &last.kind {
            Kind::Group(_, tokens) => self.inline(source, last, tokens, &inner, is_device),
            _ => self.in_file(source.file, &name, path, scope, &inner),
        };
        if needed && scope.ptx.is_none() {
            let head = first.bytes.start..match &last.kind {
                Kind::Group(..) => last.bytes.start + 1,
                _ => last.bytes.end,
            };
            source.kept.push(head);
            source.kept.push(last.bytes.end - 1..last.bytes.end);
            let not_there = |attribute: &&[Token]| {
                is_mark(source.text, attribute) || source.text[whole(attribute)].contains("cfg(test)")
            };
            source.blank.extend(attributes.iter().copied().filter(not_there).map(whole));
        }
        needed
    }

    fn inline(
        &mut self,
        source: &mut Source<'_>,
        body: &Token,
        tokens: &[Token],
        scope: &Scope,
        is_device: bool,
    ) -> bool {
        if let (true, Some(ptx)) = (is_device, &scope.ptx) {
            source.kept.push(body.bytes.clone());
            let line = |at: usize| source.text[..at].matches('\n').count() + 1;
            self.note(source.file, (line(body.bytes.start), line(body.bytes.end)), ptx);
            self.note_names(source.text, tokens);
        }
        self.items(source, tokens, scope) || is_device
    }

    /// `mod name;`, whose file is looked for where rustc does.
    fn in_file(&mut self, from: &Path, name: &str, path: Option<&str>, outer: &Scope, inner: &Scope) -> bool {
        let candidates = match path {
            Some(path) => vec![from.parent().unwrap_or(from).join(path)],
            None => vec![outer.folder.join(format!("{name}.rs")), outer.folder.join(name).join("mod.rs")],
        };
        let Some(file) = candidates.into_iter().find(|file| file.is_file()) else { return false };
        let folder = match path {
            Some(_) => file.parent().unwrap_or(&file).to_owned(),
            None => inner.folder.clone(),
        };
        self.file(&file, &Scope { folder, ..inner.clone() })
    }

    fn in_macro(&mut self, source: &mut Source<'_>, inner: &[Token], scope: &Scope) -> bool {
        let [declared, .., Token { kind: Kind::Word, bytes }, end] = inner else { return false };
        let name = source.text[bytes.clone()].trim_start_matches("r#").to_owned();
        let path = attributes(inner).iter().find_map(|attribute| path_of(source.text, attribute));
        let needed = self.in_file(source.file, &name, path, scope, &scope.below(&name, true));
        if needed {
            source.kept.push(declared.bytes.start..end.bytes.end);
        }
        needed
    }
}

impl Scope {
    fn below(&self, name: &str, is_device: bool) -> Self {
        let mut path = self.path.clone();
        let ptx = is_device.then(|| {
            let around: String = path.iter().map(|name| format!("r#{name}::")).collect();
            format!("crate::{around}__warpsmith_ptx_{name}")
        });
        path.push(name.to_owned());
        Self { path, folder: self.folder.join(name), ptx: self.ptx.clone().or(ptx) }
    }
}

/// A file that is read.
struct Source<'a> {
    text: &'a str,
    file: &'a Path,
    kept: Vec<Range<usize>>,
    /// Parts of these that go nevertheless.
    blank: Vec<Range<usize>>,
}

impl Source<'_> {
    /// The kept text at its lines and columns. It does not tell how much else there is behind it, or in lines of their own: an
    /// edit there changes nothing.
    fn left(&self) -> String {
        let within = |ranges: &[Range<usize>], at: usize| ranges.iter().any(|range| range.contains(&at));
        let (mut left, mut blanks) = (String::new(), String::new());
        for (at, c) in self.text.char_indices() {
            if c == '\n' {
                blanks.truncate(blanks.trim_end_matches(' ').len());
            }
            if within(&self.kept, at) && !within(&self.blank, at) {
                left.push_str(&blanks);
                blanks.clear();
                left.push(c);
            } else {
                blanks.push(if c == '\n' { c } else { ' ' });
            }
        }
        left + "\n"
    }
}

/// The attributes at the beginning of an item, two tokens each.
fn attributes(item: &[Token]) -> Vec<&[Token]> {
    let pairs = item.chunks_exact(2);
    let is_attribute = |pair: &&[Token]| {
        matches!(pair, [Token { kind: Kind::Sign(b'#'), .. }, Token { kind: Kind::Group(b'[', _), .. }])
    };
    pairs.take_while(is_attribute).collect()
}

fn whole(attribute: &[Token]) -> Range<usize> {
    attribute[0].bytes.start..attribute[1].bytes.end
}

/// The text between the brackets of an attribute.
fn content<'a>(text: &'a str, attribute: &[Token]) -> &'a str {
    let bytes = &attribute[1].bytes;
    text[bytes.start + 1..bytes.end - 1].trim()
}

/// `#[warpsmith::device]`, or `#[device]` where that is imported.
fn is_mark(text: &str, attribute: &[Token]) -> bool {
    let content: String = content(text, attribute).split_whitespace().collect();
    content == "device" || content.ends_with("::device")
}

/// The file of `#[path = "…"]`.
fn path_of<'a>(text: &'a str, attribute: &[Token]) -> Option<&'a str> {
    let value = content(text, attribute).strip_prefix("path")?.trim_start().strip_prefix('=')?;
    Some(value.trim().trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The files below a folder, with what is left of them for `main.rs`.
    fn left(files: &[(&str, &str)]) -> (Device, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let device = find(&folder.path().join("main.rs"));
        let texts = device.files.iter().map(|(_, text)| text.clone()).collect();
        (device, texts)
    }

    #[test]
    fn a_module_stays_where_it_is_and_the_rest_is_blank() {
        let text = "use a::b;\nfn ü() { \"mod x {\" }\n  #[warpsmith::device]\n  pub mod k {\n    use libm::sin;\n  }\nfn main() {}\n";
        let (device, left) = left(&[("main.rs", text)]);
        assert_eq!(left[0], "\n\n\n  pub mod k {\n    use libm::sin;\n  }\n");
        assert!(device.named.contains("libm") && !device.named.contains("a"), "{:?}", device.named);
        assert_eq!(
            (device.parts[0].lines, device.parts[0].ptx.as_str()),
            ((4, 6), "crate::__warpsmith_ptx_k")
        );
    }

    #[test]
    fn a_module_behind_inner_attributes_is_found() {
        let (device, left) =
            left(&[("main.rs", "#![allow(dead_code)]\n#[device]\nmod k { }\nfn main() {}\n")]);
        assert_eq!((device.read.len(), left[0].trim()), (1, "mod k { }"));
    }

    #[test]
    fn modules_around_and_files_below_are_found() {
        let (device, left) = left(&[
            ("main.rs", "mod host;\n#[cfg(test)]\nmod gpu;\nfn main() {}\n"),
            ("host.rs", "fn device() {}\n"),
            ("gpu/mod.rs", "fn host() {}\nwarpsmith::device_mod! { pub mod all; }\n"),
            ("gpu/all.rs", "mod one;\npub struct Shared;\n"),
            ("gpu/all/one.rs", "fn one() {}\n"),
        ]);
        let texts: Vec<&str> = left.iter().map(|text| text.trim()).collect();
        assert_eq!(texts, ["mod gpu;", "pub mod all;", "mod one;\npub struct Shared;", "fn one() {}"]);
        assert_eq!(device.parts[1].ptx, "crate::r#gpu::__warpsmith_ptx_all");
    }

    #[test]
    fn a_crate_without_a_device_module_has_no_files() {
        let (device, _) = left(&[("main.rs", "mod a;\n#[device_query] mod b {}\n"), ("a.rs", "// device\n")]);
        assert!(device.files.is_empty() && device.parts.is_empty());
    }
}
