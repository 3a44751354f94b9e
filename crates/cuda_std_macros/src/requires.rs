//! `#[requires(a.len() == sum.len(), from.len() >= to.len() + offset)]`: relations between extents of a kernel's parameters.
//!
//! The host tests them before a launch, and the kernel takes them for granted. So what stands in them must be the same on both: a side
//! is a number, `parameter.len()`, `.rows()` or `.cols()`, a parameter that is an unsigned number, a constant, whose value the launch
//! compares, or the sum of two of these. For the same reason the expansion names `usize` by its whole path: a module of that name
//! beside the kernel could have an `unchecked_add` of its own, which adds nothing.

use crate::blockwise::spanned;
use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Result};
use syn::punctuated::Punctuated;
use syn::{Attribute, Error, LitInt, Token, parenthesized, token};

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
    Number(u64),
    Extent(Ident, Ident),
    /// A parameter, or a constant.
    Name(Ident),
    /// A constant by its path.
    Path(TokenStream),
}

/// A parameter of the launch: its name, and the expression for it in the entry.
pub struct Named {
    pub name: Ident,
    pub place: Ident,
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

    /// Refuses names that are neither parameters nor, being capitals, constants.
    pub fn check(&self, parameters: &[Named]) -> Result<()> {
        for term in self.terms() {
            let (Term::Extent(name, _) | Term::Name(name)) = term else { continue };
            let is_constant = matches!(term, Term::Name(_)) && is_constant(name);
            if place(name, parameters).is_none() && !is_constant {
                let more = match term {
                    Term::Extent(..) => "",
                    _ => "; a constant has a name in capitals, or is named by its path",
                };
                return Err(Error::new(
                    name.span(),
                    format!("no parameter of the launch is named `{name}`{more}"),
                ));
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
        self.terms().any(|term| matches!(term, Term::Name(name) if name == parameter))
    }

    fn terms(&self) -> impl Iterator<Item = &Term> {
        let sides = self.0.iter().flat_map(|relation| [&relation.left, &relation.right]);
        sides.flat_map(|Side(first, second)| [Some(first), second.as_ref()]).flatten()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The relations as numbers, with the parameters by their places: what `blockwise::fingerprint` compares.
    pub fn numbers(&self, parameters: &[Named], device: &TokenStream) -> Vec<TokenStream> {
        let numbers = self.0.iter().map(|Relation { left, operator, right }| {
            let operator = word(&operator.to_string());
            let [left, right] = [left, right].map(|side| side.numbers(parameters, device));
            quote!([#operator, #left, #right])
        });
        numbers.collect()
    }

    /// The relations as they are written.
    pub fn texts(&self) -> Vec<String> {
        self.0.iter().map(Relation::text).collect()
    }

    /// Assumptions about the parameters in the entry. The host has seen that no sum is too large.
    pub fn assume(&self, parameters: &[Named], device: &TokenStream) -> TokenStream {
        let relations = self.0.iter().map(|Relation { left, operator, right }| {
            let [left, right] = [left, right].map(|Side(first, second)| {
                let first = first.value(parameters, device);
                match second.as_ref().map(|second| second.value(parameters, device)) {
                    Some(second) => quote!(::core::primitive::usize::unchecked_add(#first, #second)),
                    None => first,
                }
            });
            quote!(#left #operator #right)
        });
        quote!(#(::core::hint::assert_unchecked(#relations);)*)
    }
}

fn place(name: &Ident, parameters: &[Named]) -> Option<usize> {
    parameters.iter().position(|parameter| parameter.name == *name)
}

/// Whether a name that is not a parameter's may be a constant's.
fn is_constant(name: &Ident) -> bool {
    !name.to_string().contains(char::is_lowercase)
}

impl Relation {
    fn text(&self) -> String {
        format!("{} {} {}", self.left.text(), self.operator, self.right.text())
    }
}

/// Up to eight letters as a number, as `blockwise::fingerprint::word` has it.
fn word(text: &str) -> u64 {
    text.bytes().rev().fold(0, |word, letter| word << 8 | u64::from(letter))
}

impl Side {
    /// Two numbers for each of two terms.
    fn numbers(&self, parameters: &[Named], device: &TokenStream) -> TokenStream {
        let none = word("none");
        let first = self.0.numbers(parameters, device);
        let second =
            self.1.as_ref().map_or_else(|| quote!(#none, 0), |term| term.numbers(parameters, device));
        quote!(#first, #second)
    }

    fn text(&self) -> String {
        let second = self.1.as_ref().map_or(String::new(), |term| format!(" + {}", term.text()));
        self.0.text() + &second
    }
}

impl Term {
    /// A property of a parameter, or a number.
    fn numbers(&self, parameters: &[Named], device: &TokenStream) -> TokenStream {
        let (asked, which) = match self {
            Self::Extent(name, extent) => (extent.to_string(), place(name, parameters)),
            Self::Name(name) => ("value".to_owned(), place(name, parameters)),
            Self::Number(_) | Self::Path(_) => (String::new(), None),
        };
        let (asked, which) = match which {
            Some(place) => (word(&asked), Literal::usize_unsuffixed(place).into_token_stream()),
            None => {
                let value = self.value(parameters, device);
                (word("number"), quote!(#value as ::core::primitive::u64))
            }
        };
        quote!(#asked, #which)
    }

    /// The value in the entry; that of a number or a constant is the same everywhere.
    fn value(&self, parameters: &[Named], device: &TokenStream) -> TokenStream {
        let of = |name| place(name, parameters).map(|at| &parameters[at].place);
        let constant = |path: &TokenStream| {
            let span = path.clone().into_iter().next().map_or_else(Span::call_site, |token| token.span());
            let is_number = spanned(&quote!(#device::is_number), span);
            quote!((const { #is_number(&#path); #path as ::core::primitive::usize }))
        };
        match self {
            Self::Number(number) => {
                let number = Literal::u64_unsuffixed(*number);
                quote!((#number as ::core::primitive::usize))
            }
            Self::Extent(name, extent) => {
                let parameter = of(name);
                quote!(#device::HasExtents::extents(&#parameter).#extent())
            }
            Self::Name(name) => match of(name) {
                Some(parameter) => quote!(#device::HasValue::extents(&#parameter).value()),
                None => constant(&name.to_token_stream()),
            },
            Self::Path(path) => constant(path),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Extent(name, extent) => format!("{name}.{extent}()"),
            Self::Name(name) => name.to_string(),
            Self::Path(path) => path.to_string().replace(' ', ""),
        }
    }
}

/// The grammar of a term.
const TERMS: &str = "what a kernel requires is about extents and numbers: `a.len()`, `a.rows()`, `a.cols()`, a parameter, a \
                     number, a constant, or the sum of two of these";

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
        let relation = Self { left, operator, right: input.parse()? };
        if input.is_empty() || input.peek(Token![,]) { Ok(relation) } else { Err(input.error(TERMS)) }
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
            return Ok(Self::Number(input.parse::<LitInt>()?.base10_parse()?));
        }
        let root = input.parse::<Option<Token![::]>>()?;
        let name: Ident = input.call(Ident::parse_any).map_err(|error| Error::new(error.span(), TERMS))?;
        let mut path = quote!(#root #name);
        let mut is_path = root.is_some();
        while let Some(colons) = input.parse::<Option<Token![::]>>()? {
            let name = input.call(Ident::parse_any)?;
            path.extend(quote!(#colons #name));
            is_path = true;
        }
        if input.peek(token::Paren) {
            return Err(Error::new(name.span(), TERMS));
        }
        if is_path {
            return Ok(Self::Path(path));
        }
        if input.parse::<Option<Token![.]>>()?.is_none() {
            return Ok(Self::Name(name));
        }
        let extent: Ident = input.parse()?;
        if !input.peek(token::Paren) {
            return Err(Error::new(extent.span(), TERMS));
        }
        let nothing;
        parenthesized!(nothing in input);
        if !nothing.is_empty() || !["len", "rows", "cols"].iter().any(|known| extent == known) {
            return Err(Error::new(extent.span(), TERMS));
        }
        Ok(Self::Extent(name, extent))
    }
}
