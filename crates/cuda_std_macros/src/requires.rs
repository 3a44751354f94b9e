//! `#[requires(a.len() == sum.len(), from.len() >= to.len() + offset)]`: relations between extents of a kernel's parameters.
//!
//! The host tests them before a launch, and the kernel takes them for granted. So nothing of a user's own may stand in them, which
//! could be one thing on the host and another one on the device: a side is a number, `parameter.len()`, `.rows()` or `.cols()`, a
//! parameter that is an unsigned number, or the sum of two of these. For the same reason the expansion names `usize` by its whole
//! path: a module of that name beside the kernel could have an `unchecked_add` of its own, which adds nothing.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use syn::parse::{Parse, ParseStream, Result};
use syn::punctuated::Punctuated;
use syn::{Attribute, Error, LitInt, Token, parenthesized};

/// The relations of one kernel.
#[derive(Default)]
pub struct Requires(Vec<Relation>);

struct Relation {
    left: Side,
    operator: TokenStream,
    right: Side,
}

/// One term, or the sum of two.
struct Side(Term, Option<Term>);

enum Term {
    Number(LitInt),
    Extent(Ident, Ident),
    Value(Ident),
}

impl Requires {
    /// Takes the attributes of that name.
    pub fn take(attributes: &mut Vec<Attribute>) -> Result<Self> {
        let mut relations = Vec::new();
        for attribute in attributes.extract_if(.., |attribute| attribute.path().is_ident("requires")) {
            relations.extend(attribute.parse_args_with(Punctuated::<Relation, Token![,]>::parse_terminated)?);
        }
        Ok(Self(relations))
    }

    /// Refuses names that are no parameters.
    pub fn check(&self, parameters: &[Ident]) -> Result<()> {
        for term in self.terms() {
            if let Term::Extent(name, _) | Term::Value(name) = term
                && !parameters.contains(name)
            {
                return Err(Error::new(name.span(), format!("no parameter of the launch is named `{name}`")));
            }
        }
        Ok(())
    }

    /// Whether something is required of a parameter's extents.
    pub fn names_extent(&self, parameter: &Ident) -> bool {
        self.terms().any(|term| matches!(term, Term::Extent(name, _) if name == parameter))
    }

    /// Whether something is required of a parameter that is a number.
    pub fn names_value(&self, parameter: &Ident) -> bool {
        self.terms().any(|term| matches!(term, Term::Value(name) if name == parameter))
    }

    fn terms(&self) -> impl Iterator<Item = &Term> {
        let sides = self.0.iter().flat_map(|relation| [&relation.left, &relation.right]);
        sides.flat_map(|Side(first, second)| [Some(first), second.as_ref()]).flatten()
    }

    /// The relations as numbers, with the parameters by their places: what `blockwise::agreement` compares.
    pub fn numbers(&self, parameters: &[Ident]) -> Result<Vec<u64>> {
        let mut numbers = Vec::new();
        for Relation { left, operator, right } in &self.0 {
            numbers.push(word(&operator.to_string()));
            numbers.extend(left.numbers(parameters)?);
            numbers.extend(right.numbers(parameters)?);
        }
        Ok(numbers)
    }

    /// Assumptions about values of type `Extents` that have the parameters' names. The host has seen that no sum is too large.
    pub fn assume(&self) -> TokenStream {
        let relations = self.0.iter().map(|Relation { left, operator, right }| {
            let [left, right] = [left, right].map(|Side(first, second)| match second {
                Some(second) => quote!(::core::primitive::usize::unchecked_add(#first, #second)),
                None => quote!(#first),
            });
            quote!(#left #operator #right)
        });
        quote!(#(::core::hint::assert_unchecked(#relations);)*)
    }

    /// Statements that return the first relation that does not hold.
    pub fn test(&self, blockwise: &TokenStream) -> TokenStream {
        let tests = self.0.iter().map(|relation| {
            let [left, right] = [&relation.left, &relation.right].map(|Side(first, second)| match second {
                Some(second) => quote!(::core::primitive::usize::checked_add(#first, #second)),
                None => quote!(::core::option::Option::Some(#first)),
            });
            let (operator, text) = (&relation.operator, relation.text());
            // In a block of its own: a parameter may be named `left`, too.
            quote! {{
                let (left, right): (
                    ::core::option::Option<::core::primitive::usize>,
                    ::core::option::Option<::core::primitive::usize>,
                ) = (#left, #right);
                if !left.zip(right).is_some_and(|(left, right)| left #operator right) {
                    return ::core::option::Option::Some(#blockwise::Broken {
                        relation: #text,
                        left: left.unwrap_or(::core::primitive::usize::MAX),
                        right: right.unwrap_or(::core::primitive::usize::MAX),
                    });
                }
            }}
        });
        quote!(#(#tests)*)
    }
}

impl Relation {
    fn text(&self) -> String {
        format!("{} {} {}", self.left.text(), self.operator, self.right.text())
    }
}

/// Up to eight letters as a number, as `blockwise::agreement::word` has it.
fn word(text: &str) -> u64 {
    text.bytes().rev().fold(0, |word, letter| word << 8 | u64::from(letter))
}

impl Side {
    /// Two numbers for each of two terms.
    fn numbers(&self, parameters: &[Ident]) -> Result<[u64; 4]> {
        let [a, b] = self.0.numbers(parameters)?;
        let [c, d] = self.1.as_ref().map_or(Ok([word("none"), 0]), |term| term.numbers(parameters))?;
        Ok([a, b, c, d])
    }

    fn text(&self) -> String {
        let second = self.1.as_ref().map_or(String::new(), |term| format!(" + {}", term.text()));
        self.0.text() + &second
    }
}

impl Term {
    /// What is asked, and of which parameter; or that it is a number, and which.
    fn numbers(&self, parameters: &[Ident]) -> Result<[u64; 2]> {
        let place =
            |name| parameters.iter().position(|parameter| parameter == name).unwrap_or(parameters.len());
        Ok(match self {
            Self::Number(number) => [word("number"), number.base10_parse()?],
            Self::Extent(name, extent) => [word(&extent.to_string()), place(name) as u64],
            Self::Value(name) => [word("value"), place(name) as u64],
        })
    }

    fn text(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Extent(name, extent) => format!("{name}.{extent}()"),
            Self::Value(name) => name.to_string(),
        }
    }
}

impl ToTokens for Term {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Self::Number(number) => number.to_tokens(tokens),
            Self::Extent(name, extent) => tokens.extend(quote!(#name.#extent())),
            Self::Value(name) => tokens.extend(quote!(#name.value())),
        }
    }
}

impl Parse for Relation {
    fn parse(input: ParseStream) -> Result<Self> {
        let left = input.parse()?;
        macro_rules! operators {
            ($($operator:tt)*) => {
                $(if input.peek(Token![$operator]) {
                    input.parse::<Token![$operator]>()?.to_token_stream()
                } else)* {
                    return Err(input.error("a relation between extents is `==`, `<=`, `>=`, `<` or `>`"));
                }
            };
        }
        let operator = operators!(== <= >= < >);
        Ok(Self { left, operator, right: input.parse()? })
    }
}

impl Parse for Side {
    fn parse(input: ParseStream) -> Result<Self> {
        let first = input.parse()?;
        let second = input.parse::<Option<Token![+]>>()?.map(|_| input.parse()).transpose()?;
        Ok(Self(first, second))
    }
}

impl Parse for Term {
    fn parse(input: ParseStream) -> Result<Self> {
        if input.peek(LitInt) {
            return Ok(Self::Number(input.parse()?));
        }
        let name: Ident = input.parse()?;
        let about = "what a kernel requires is about extents and numbers: `a.len()`, `a.rows()`, `a.cols()`, a parameter or a number";
        if input.parse::<Option<Token![.]>>()?.is_none() {
            if input.peek(syn::token::Paren) {
                return Err(Error::new(name.span(), about));
            }
            return Ok(Self::Value(name));
        }
        let extent: Ident = input.parse()?;
        let nothing;
        parenthesized!(nothing in input);
        if !nothing.is_empty() || !["len", "rows", "cols"].iter().any(|known| extent == known) {
            return Err(Error::new(extent.span(), about));
        }
        Ok(Self::Extent(name, extent))
    }
}
