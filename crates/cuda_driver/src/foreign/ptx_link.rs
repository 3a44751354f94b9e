//! Joins PTX modules into one, like the driver's linker: matches declarations with definitions in other modules.

use std::collections::{HashMap, HashSet};

use ptx::{Block, FunctionKind, Linkage, LocId, Module, Name, Statement};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    #[error("nothing was added to link")]
    Empty,
    #[error("{input}: {error}")]
    Parse { input: String, error: ptx::Error },
    #[error("`{symbol}` is defined in {first} and in {second}")]
    Duplicate { symbol: String, first: String, second: String },
}

/// Joins texts, each with a name for messages, into the text of one module.
pub fn join(inputs: &[(String, String)]) -> Result<String, LinkError> {
    match inputs {
        [] => Err(LinkError::Empty),
        // A lone module stays as it is, to the letter: its line numbers are what messages refer to.
        [(_, text)] => Ok(text.clone()),
        _ => {
            let parse = |name: &str, text: &str| {
                ptx::parse(text).map_err(|error| LinkError::Parse { input: name.to_owned(), error })
            };
            let mut modules =
                inputs.iter().map(|(name, text)| parse(name, text)).collect::<Result<Vec<_>, _>>()?;
            for (index, renamed) in renames(inputs, &modules).into_iter().enumerate() {
                if !renamed.is_empty() {
                    let (name, text) = &inputs[index];
                    modules[index] = parse(name, &rename(text, &renamed))?;
                }
            }
            let mut joined = Joined::default();
            for ((name, _), module) in inputs.iter().zip(modules) {
                joined.add(name, module)?;
            }
            Ok(joined.finish().to_string())
        }
    }
}

/// A module's definitions: names, with their linkage and whether they are kernels.
fn definitions(module: &Module) -> impl Iterator<Item = (&Name, Option<Linkage>, bool)> {
    let functions = module.functions.iter().filter(|function| function.body.is_some());
    functions
        .map(|function| (&function.name, function.linkage, function.kind == FunctionKind::Entry))
        .chain(module.variables.iter().map(|variable| (&variable.name, variable.linkage, false)))
        .filter(|(_, linkage, _)| *linkage != Some(Linkage::Extern))
}

/// For each input the names that only it sees and that another has too, with new names for them: every file of nvcc that
/// prints something has its texts as `$str`, `$str$1` and so on.
fn renames(inputs: &[(String, String)], modules: &[Module]) -> Vec<HashMap<String, String>> {
    let mut count: HashMap<&Name, u32> = HashMap::new();
    for (name, ..) in modules.iter().flat_map(definitions) {
        *count.entry(name).or_default() += 1;
    }
    let new_name = |name: &Name, index: usize| {
        let candidates = (index..).map(|number| format!("{name}$in{number}"));
        // The search ends because the texts are finite.
        candidates.into_iter().find(|new| inputs.iter().all(|(_, text)| !text.contains(new.as_str())))
    };
    let of_module = |(index, module): (usize, &Module)| {
        definitions(module)
            .filter(|(name, linkage, kernel)| linkage.is_none() && !kernel && count[name] > 1)
            .filter_map(|(name, ..)| Some((name.to_string(), new_name(name, index)?)))
            .collect()
    };
    modules.iter().enumerate().map(of_module).collect()
}

/// The text with some words replaced, except in quotes. Names that shadow such a word are renamed with it.
fn rename(text: &str, names: &HashMap<String, String>) -> String {
    let mut renamed = String::with_capacity(text.len() + text.len() / 16);
    for (i, part) in text.split('"').enumerate() {
        if i > 0 {
            renamed.push('"');
        }
        if i % 2 == 1 {
            renamed += part;
            continue;
        }
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%');
        let mut rest = part;
        while let Some(start) = rest.find(is_word) {
            let end = rest[start..].find(|c| !is_word(c)).map_or(rest.len(), |length| start + length);
            renamed += &rest[..start];
            let word = &rest[start..end];
            renamed += names.get(word).map_or(word, String::as_str);
            rest = &rest[end..];
        }
        renamed += rest;
    }
    renamed
}

#[derive(Default)]
struct Joined {
    module: Module,
    defined: HashMap<Name, String>,
}

impl Joined {
    fn add(&mut self, input: &str, mut other: Module) -> Result<(), LinkError> {
        let first =
            self.module.functions.is_empty() && self.module.variables.is_empty() && self.defined.is_empty();
        if first || architecture(&other) > architecture(&self.module) {
            self.module.targets = other.targets.clone();
        }
        self.module.version = self.module.version.max(other.version);
        self.module.address_size = other.address_size;
        let mut repeated = HashSet::new();
        for (name, linkage, _) in definitions(&other) {
            match self.defined.get(name) {
                None => {
                    self.defined.insert(name.clone(), input.to_owned());
                }
                // Any definition of a weak symbol will do.
                Some(_) if matches!(linkage, Some(Linkage::Weak | Linkage::Common)) => {
                    repeated.insert(name.clone());
                }
                Some(first) => {
                    let (symbol, first) = (name.to_string(), first.clone());
                    return Err(LinkError::Duplicate { symbol, first, second: input.to_owned() });
                }
            }
        }
        other.functions.retain(|function| function.body.is_none() || !repeated.contains(&function.name));
        other.variables.retain(|variable| !repeated.contains(&variable.name));
        self.renumber(&mut other);
        self.module.functions.append(&mut other.functions);
        self.module.variables.append(&mut other.variables);
        self.module.aliases.append(&mut other.aliases);
        self.module.pragmas.append(&mut other.pragmas);
        Ok(())
    }

    /// Gives the files and places of a module numbers behind those that are there. Names of inlined functions stand in
    /// sections whose labels repeat from module to module; they are left out.
    fn renumber(&mut self, other: &mut Module) {
        let files = self.module.files.iter().map(|file| file.index).max().unwrap_or(0);
        let places = self.module.locations.len() as u32;
        for file in &mut other.files {
            file.index += files;
        }
        for location in &mut other.locations {
            location.place.file += files;
            location.inlined = None;
        }
        for body in other.functions.iter_mut().filter_map(|function| function.body.as_mut()) {
            move_places(body, places);
        }
        self.module.files.append(&mut other.files);
        self.module.locations.append(&mut other.locations);
    }

    /// Drops declarations of what is defined, and moves the others before every use.
    fn finish(mut self) -> Module {
        let defined = &self.defined;
        self.module.variables.retain(|variable| {
            variable.linkage != Some(Linkage::Extern) || !defined.contains_key(&variable.name)
        });
        let (mut declarations, definitions): (Vec<_>, Vec<_>) = std::mem::take(&mut self.module.functions)
            .into_iter()
            .partition(|function| function.body.is_none());
        let mut seen = HashSet::new();
        declarations.retain(|declaration| seen.insert(declaration.name.clone()));
        for declaration in &mut declarations {
            if defined.contains_key(&declaration.name) {
                let definition = definitions.iter().find(|definition| definition.name == declaration.name);
                declaration.linkage = definition.and_then(|definition| definition.linkage);
            }
        }
        declarations.extend(definitions);
        self.module.functions = declarations;
        self.module
    }
}

/// The number in `sm_90a`.
fn architecture(module: &Module) -> u32 {
    let digits = module.targets.first().and_then(|target| target.strip_prefix("sm_"));
    digits.and_then(|digits| digits.trim_end_matches(char::is_alphabetic).parse().ok()).unwrap_or(0)
}

fn move_places(block: &mut Block, by: u32) {
    for statement in &mut block.statements {
        match statement {
            Statement::Instruction(instruction) => {
                instruction.loc = instruction.loc.map(|LocId(place)| LocId(place + by));
            }
            Statement::Block(block) => move_places(block, by),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(name: &str, text: &str) -> (String, String) {
        (name.to_owned(), text.to_owned())
    }

    const CALLER: &str = ".version 7.0\n.target sm_75\n.address_size 64\n\
        .extern .func (.param .b32 r) twice (.param .b32 x);\n.extern .global .u32 total;\n\
        .visible .entry main(.param .u64 out) { .reg .b32 %r<2>; ld.global.u32 %r1, [total]; ret; }\n";
    const CALLEE: &str = ".version 7.8\n.target sm_80\n.address_size 64\n.visible .global .u32 total = 3;\n\
        .file 1 \"twice.cu\"\n.visible .func (.param .b32 r) twice (.param .b32 x) { .loc 1 5 1\n ret; }\n";

    #[test]
    fn declarations_meet_definitions() {
        let text = join(&[input("a", CALLER), input("b", CALLEE)]).unwrap();
        let module = ptx::parse(&text).unwrap();
        assert_eq!((module.version, &*module.targets[0]), ((7, 8), "sm_80"));
        assert!(module.functions.iter().all(|function| function.linkage != Some(Linkage::Extern)));
        assert_eq!(module.functions.iter().filter(|function| &*function.name == "twice").count(), 2);
        assert_eq!(module.variables.len(), 1);
        assert_eq!(module.files.len(), 1);
    }

    #[test]
    fn a_symbol_is_defined_once() {
        let error = join(&[input("a", CALLEE), input("b", CALLEE)]).unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, LinkError::Duplicate { .. }) && text.contains("`twice`"), "{text}");
        let error = join(&[input("a", CALLER), input("broken.ptx", "nonsense")]).unwrap_err();
        assert!(error.to_string().starts_with("broken.ptx: "), "{error}");
        assert_eq!(join(&[]), Err(LinkError::Empty));
    }

    #[test]
    fn what_only_one_input_sees_stays_its_own() {
        let text = |value: u32, kernel: &str| {
            format!(
                ".version 7.0\n.target sm_75\n.address_size 64\n.file 1 \"$str.cu\"\n\
                 .global .align 1 .b8 $str[2] = {{{value}}};\n.global .u64 table[1] = {{$str+1}};\n\
                 .func own() {{ ret; }}\n.visible .entry {kernel}() {{ .reg .b64 %r; mov.u64 %r, $str; call own, (); ret; }}\n"
            )
        };
        let joined = join(&[input("a", &text(1, "one")), input("b", &text(2, "two"))]).unwrap();
        let module = ptx::parse(&joined).unwrap();
        let names: HashSet<_> = definitions(&module).map(|(name, ..)| name.to_string()).collect();
        assert_eq!(names.len(), 8, "{joined}");
        // Each kernel and each table keeps its own.
        for number in ["$in0", "$in1"] {
            for used in ["mov.u64 %r, $str", "call own", "{$str"] {
                assert!(joined.contains(&format!("{used}{number}")), "{used}{number} is not in {joined}");
            }
        }
        assert!(joined.contains("\"$str.cu\""), "{joined}");
        let error = join(&[input("a", &text(1, "same")), input("b", &text(2, "same"))]).unwrap_err();
        assert!(error.to_string().contains("`same`"), "{error}");
    }

    #[test]
    fn one_module_stays_to_the_letter() {
        assert_eq!(join(&[input("a", CALLER)]).unwrap(), CALLER);
    }
}
