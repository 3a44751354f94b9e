//! `#[requires(a.len() == sum.len(), a.cols() == b.rows())]`: relations between extents of a kernel's parameters.
//!
//! The host tests them before a launch, and the kernel takes them for granted. So nothing of a user's own may stand in them, which
//! could be one thing on the host and another one on the device: a side is a number or `parameter.len()`, `.rows()` or `.cols()`.

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

enum Side {
    Number(LitInt),
    Extent(Ident, Ident),
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
        for side in self.0.iter().flat_map(|relation| [&relation.left, &relation.right]) {
            if let Side::Extent(name, _) = side
                && !parameters.contains(name)
            {
                return Err(Error::new(name.span(), format!("no parameter of the launch is named `{name}`")));
            }
        }
        Ok(())
    }

    /// Whether something is required of a parameter.
    pub fn names(&self, parameter: &Ident) -> bool {
        let is = |side: &Side| matches!(side, Side::Extent(name, _) if name == parameter);
        self.0.iter().any(|relation| is(&relation.left) || is(&relation.right))
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

    /// Assumptions about values of type `Extents` that have the parameters' names.
    pub fn assume(&self) -> TokenStream {
        let relations = self.0.iter().map(Relation::condition);
        quote!(#(::core::hint::assert_unchecked(#relations);)*)
    }

    /// Statements that return the first relation that does not hold.
    pub fn test(&self, blockwise: &TokenStream) -> TokenStream {
        let tests = self.0.iter().map(|relation| {
            let (condition, left, right) = (relation.condition(), &relation.left, &relation.right);
            let text = relation.text();
            quote! {
                if !(#condition) {
                    return ::core::option::Option::Some(#blockwise::Broken { relation: #text, left: #left, right: #right });
                }
            }
        });
        quote!(#(#tests)*)
    }
}

impl Relation {
    fn condition(&self) -> TokenStream {
        let Self { left, operator, right } = self;
        quote!(#left #operator #right)
    }

    fn text(&self) -> String {
        format!("{} {} {}", self.left.text(), self.operator, self.right.text())
    }
}

/// Up to eight letters as a number, as `blockwise::agreement::word` has it.
fn word(text: &str) -> u64 {
    text.bytes().rev().fold(0, |word, letter| word << 8 | u64::from(letter))
}

impl Side {
    /// What is asked, and of which parameter; or that it is a number, and which.
    fn numbers(&self, parameters: &[Ident]) -> Result<[u64; 2]> {
        Ok(match self {
            Self::Number(number) => [word("number"), number.base10_parse()?],
            Self::Extent(name, extent) => {
                let place =
                    parameters.iter().position(|parameter| parameter == name).unwrap_or(parameters.len());
                [word(&extent.to_string()), place as u64]
            }
        })
    }

    fn text(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Extent(name, extent) => format!("{name}.{extent}()"),
        }
    }
}

impl ToTokens for Side {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Self::Number(number) => number.to_tokens(tokens),
            Self::Extent(name, extent) => tokens.extend(quote!(#name.#extent())),
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
        if input.peek(LitInt) {
            return Ok(Self::Number(input.parse()?));
        }
        let name = input.parse()?;
        input.parse::<Token![.]>()?;
        let extent: Ident = input.parse()?;
        let nothing;
        parenthesized!(nothing in input);
        if !nothing.is_empty() || !["len", "rows", "cols"].iter().any(|known| extent == known) {
            return Err(Error::new(
                extent.span(),
                "what a kernel requires is about extents: `a.len()`, `a.rows()`, `a.cols()` or a number",
            ));
        }
        Ok(Self::Extent(name, extent))
    }
}
