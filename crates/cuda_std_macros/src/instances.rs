//! `#[kernel(T = [f32, f64], EDGE = [16, 32])]`: the instances of a generic kernel.
//!
//! The device build knows of no launch, so a generic kernel lists what it is compiled for: a list for each of its types and constants, all
//! combinations of which are instances, or one list for several, as in `(T, EDGE) = [(f32, 32), (f64, 16)]`. Each instance is an
//! entry of its own, `product$f32$16` in the PTX: no identifier of Rust has a `$`, so these names meet no others, and
//! `ptx::rust_name` reads them back.

use crate::function::{Function, expression};
use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::parse::{ParseStream, Parser};
use syn::spanned::Spanned;
use syn::{Attribute, Error, GenericParam, Result, Token, Type, bracketed, parenthesized, token};

/// The attributes of a kernel whose tokens may name its parameters.
const NAMING: [&str; 4] = ["requires", "launch_bounds", "block_dim", "cluster_dim"];

/// One instance: a value for each type and constant of a generic kernel, and none for another kernel.
#[derive(Clone, Default)]
pub struct Instance(Vec<Argument>);

#[derive(Clone)]
struct Argument {
    parameter: Ident,
    value: TokenStream,
    is_constant: bool,
}

/// A list of the attribute: a row for each instance, with an argument for each parameter.
type List = Vec<Vec<Argument>>;

/// The instances that an attribute lists: one without arguments, if the kernel is not generic.
pub fn read(attribute: &TokenStream, function: &Function) -> Result<Vec<Instance>> {
    let parameters: Vec<_> = parameters(function).collect();
    if parameters.is_empty() {
        // Upstream accepts any tokens there.
        return match read_key.parse2(attribute.clone()) {
            Ok(names) => Err(unknown(&names[0], function)),
            Err(_) => Ok(vec![Instance::default()]),
        };
    }
    let lists = (|input: ParseStream| {
        let mut lists = Vec::new();
        while !input.is_empty() {
            lists.push(read_list(input, function)?);
            input.parse::<Option<Token![,]>>()?;
        }
        Ok(lists)
    })
    .parse2(attribute.clone())?;
    for parameter in &parameters {
        let listed: Vec<_> = lists
            .iter()
            .flat_map(|list| &list[0])
            .filter(|argument| argument.parameter == *name(parameter))
            .collect();
        match listed[..] {
            [_] => {}
            [] => return Err(without_list(parameter, &parameters)),
            [_, again, ..] => {
                let message = format!("`{}` has two lists", again.parameter);
                return Err(Error::new(again.parameter.span(), message));
            }
        }
    }
    let order = |argument: &Argument| parameters.iter().position(|p| *name(p) == argument.parameter);
    let mut instances = vec![Instance::default()];
    for list in lists {
        let with = |instance: &Instance| -> Vec<_> {
            list.iter().map(|row| Instance([&instance.0[..], row].concat())).collect()
        };
        instances = instances.iter().flat_map(with).collect();
    }
    for instance in &mut instances {
        instance.0.sort_by_key(order);
    }
    check_names(&instances, function)?;
    Ok(instances)
}

/// The types and constants that a function is generic over.
fn parameters(function: &Function) -> impl Iterator<Item = &GenericParam> {
    function.generics.params.iter().filter(|parameter| !matches!(parameter, GenericParam::Lifetime(_)))
}

fn name(parameter: &GenericParam) -> &Ident {
    match parameter {
        GenericParam::Type(parameter) => &parameter.ident,
        GenericParam::Const(parameter) => &parameter.ident,
        GenericParam::Lifetime(parameter) => &parameter.lifetime.ident,
    }
}

/// `T = [f32, f64]` or `(T, EDGE) = [(f32, 32), (f64, 16)]`.
fn read_list(input: ParseStream, function: &Function) -> Result<List> {
    let is_tuple = input.peek(token::Paren);
    let names = read_names(input)?;
    let is_constant = |of: &Ident| {
        let parameter = parameters(function).find(|parameter| name(parameter) == of);
        parameter
            .map(|parameter| matches!(parameter, GenericParam::Const(_)))
            .ok_or_else(|| unknown(of, function))
    };
    let kinds = names.iter().map(is_constant).collect::<Result<Vec<_>>>()?;
    input.parse::<Token![=]>()?;
    let rows;
    let bracket = bracketed!(rows in input);
    let mut list = List::new();
    while !rows.is_empty() {
        let row;
        let row = if is_tuple {
            parenthesized!(row in rows);
            &row
        } else {
            &rows
        };
        let mut arguments = Vec::new();
        for (at, (parameter, &is_constant)) in names.iter().zip(&kinds).enumerate() {
            if at > 0 {
                row.parse::<Token![,]>()?;
            }
            let value = if is_constant { expression(row)? } else { row.parse::<Type>()?.into_token_stream() };
            arguments.push(Argument { parameter: parameter.clone(), value, is_constant });
        }
        if is_tuple {
            row.parse::<Option<Token![,]>>()?;
            if !row.is_empty() {
                return Err(row.error(format!("there are {} parameters in this list", names.len())));
            }
        }
        list.push(arguments);
        if !rows.is_empty() {
            rows.parse::<Token![,]>()?;
        }
    }
    if list.is_empty() {
        return Err(Error::new(
            bracket.span.join(),
            "an empty list makes no kernel: list at least one instance",
        ));
    }
    Ok(list)
}

/// The beginning of a list.
fn read_key(input: ParseStream) -> Result<Vec<Ident>> {
    let names = read_names(input)?;
    input.parse::<Token![=]>()?;
    let list;
    bracketed!(list in input);
    list.parse::<TokenStream>()?;
    input.parse::<TokenStream>()?;
    Ok(names)
}

fn read_names(input: ParseStream) -> Result<Vec<Ident>> {
    if !input.peek(token::Paren) {
        return Ok(vec![input.parse()?]);
    }
    let names;
    parenthesized!(names in input);
    let mut all = vec![names.parse()?];
    while names.parse::<Option<Token![,]>>()?.is_some() && !names.is_empty() {
        all.push(names.parse()?);
    }
    Ok(all)
}

fn unknown(list: &Ident, function: &Function) -> Error {
    let known: Vec<_> = parameters(function).map(|parameter| format!("`{}`", name(parameter))).collect();
    let known = if known.is_empty() {
        "it is not generic".to_owned()
    } else {
        format!("it has {}", known.join(", "))
    };
    Error::new(list.span(), format!("the kernel has no type or constant named `{list}`: {known}"))
}

fn without_list(parameter: &GenericParam, all: &[&GenericParam]) -> Error {
    let example = |parameter: &&GenericParam| {
        let values = if matches!(parameter, GenericParam::Const(_)) { "16, 32" } else { "f32, f64" };
        format!("{} = [{values}]", name(parameter))
    };
    let example: Vec<_> = all.iter().map(example).collect();
    let message = format!(
        "`{}` has no list: a generic kernel lists its instances, as in `#[kernel({})]`",
        name(parameter),
        example.join(", ")
    );
    Error::new(parameter.span(), message)
}

/// Refuses instances whose entries would have one name.
fn check_names(instances: &[Instance], function: &Function) -> Result<()> {
    let mut seen = std::collections::HashSet::new();
    for instance in instances {
        let entry = instance.entry(&function.ident);
        if seen.contains(&entry) {
            let same = &instance.0.last().expect("a generic kernel has arguments").value;
            let message = format!(
                "two instances are named `{entry}` in the PTX: list each once, and give one of two types or constants that \
                 have the same name another, as in `use other::Name as OtherName`"
            );
            return Err(Error::new_spanned(same, message));
        }
        seen.insert(entry);
    }
    Ok(())
}

impl Instance {
    /// The name of the instance's entry in the PTX.
    pub fn entry(&self, kernel: &Ident) -> String {
        let arguments = self.0.iter().map(|argument| format!("${}", argument.plain()));
        crate::kernel::plain_name(kernel) + &arguments.collect::<String>()
    }

    /// The arguments behind a function's or a type's name: `::<f32, 16>`, or nothing.
    pub fn arguments(&self) -> Option<TokenStream> {
        let arguments = self.0.iter().map(|argument| argument.in_a_type());
        (!self.0.is_empty()).then(|| quote!(::<#(#arguments),*>))
    }

    /// The kernel for these arguments. Of what it was generic over, only lifetimes are left.
    pub fn of(&self, function: &Function) -> Result<Function> {
        let mut function = function.clone();
        if self.0.is_empty() {
            return Ok(function);
        }
        let lifetimes = function.generics.params.iter().filter(|p| matches!(p, GenericParam::Lifetime(_)));
        function.generics.params = lifetimes.cloned().collect();
        function.generics.where_clause = None;
        for input in &mut function.inputs {
            if let Some(ty) = &mut input.ty {
                *ty = syn::parse2(self.put_in(ty.to_token_stream(), Argument::in_a_type)?)?;
            }
        }
        let names = |attribute: &&mut Attribute| NAMING.iter().any(|name| attribute.path().is_ident(name));
        for attribute in function.attrs.iter_mut().filter(names) {
            if let syn::Meta::List(list) = &mut attribute.meta {
                list.tokens = self.put_in(list.tokens.clone(), |argument| argument.value.clone())?;
            }
        }
        Ok(function)
    }

    /// The tokens with the arguments for their parameters.
    fn put_in(&self, tokens: TokenStream, form: fn(&Argument) -> TokenStream) -> Result<TokenStream> {
        let mut put = TokenStream::new();
        // Neither a lifetime, nor an item of a path or a value; `0..N` and `n: N` have one.
        let mut may_be = true;
        let mut before = None;
        let mut tokens = tokens.into_iter().peekable();
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Group(group) => {
                    let mut inner = Group::new(group.delimiter(), self.put_in(group.stream(), form)?);
                    inner.set_span(group.span());
                    put.extend([TokenTree::Group(inner)]);
                    may_be = true;
                }
                TokenTree::Ident(ident) => {
                    match self.0.iter().find(|argument| may_be && argument.parameter == ident) {
                        Some(_) if matches!(tokens.peek(), Some(TokenTree::Punct(colon)) if colon.as_char() == ':') =>
                        {
                            let message = format!(
                                "the signature of a generic kernel names the trait of an associated item: `<{ident} as Trait>::…`"
                            );
                            return Err(Error::new(ident.span(), message));
                        }
                        Some(argument) => put.extend(form(argument)),
                        None => put.extend([TokenTree::Ident(ident)]),
                    }
                    may_be = true;
                }
                other => {
                    let mark =
                        if let TokenTree::Punct(punct) = &other { Some(punct.as_char()) } else { None };
                    may_be = match mark {
                        Some('\'') => false,
                        Some('.') => before == Some('.'),
                        Some(':') => before != Some(':'),
                        _ => true,
                    };
                    put.extend([other]);
                    before = mark;
                    continue;
                }
            }
            before = None;
        }
        Ok(put)
    }
}

impl Argument {
    /// The argument where a type or a generic argument stands.
    fn in_a_type(&self) -> TokenStream {
        let value = &self.value;
        let mut tokens = value.clone().into_iter();
        let is_literal = matches!((tokens.next(), tokens.next()), (Some(TokenTree::Literal(_)), None));
        if !self.is_constant || is_literal {
            return value.clone();
        }
        let mut block = Group::new(Delimiter::Brace, value.clone());
        block.set_span(value.span());
        block.into_token_stream()
    }

    /// The argument as a part of a name: of a path its last word, else its letters and digits, after `_` if it is negative.
    fn plain(&self) -> String {
        let text = self.value.to_string().replace(' ', "");
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if text.split("::").all(|word| !word.is_empty() && word.chars().all(is_word)) {
            return text.rsplit("::").next().unwrap_or_default().to_owned();
        }
        let sign = if text.starts_with('-') { "_" } else { "" };
        let words = text.split(|c| !is_word(c)).filter(|word| !word.is_empty());
        sign.to_owned() + &words.collect::<Vec<_>>().join("_")
    }
}
