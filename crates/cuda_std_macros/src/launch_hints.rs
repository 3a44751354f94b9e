//! `#[launch_bounds]`, `#[block_dim]` and `#[cluster_dim]`: what a kernel promises about its launches.

use crate::function::{Function, expression};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::spanned::Spanned;
use syn::{Attribute, Error, Result, Token, parse_quote};

/// The limits found on one kernel, as constant expressions for rustc to evaluate.
#[derive(Default)]
pub struct LaunchHints {
    max_threads: Option<TokenStream>,
    min_blocks: Option<TokenStream>,
    max_registers: Option<TokenStream>,
    block_dim: Option<[TokenStream; 3]>,
    cluster_dim: Option<[TokenStream; 3]>,
}

impl LaunchHints {
    /// Takes the hints out of a kernel's attributes.
    pub fn take(attributes: &mut Vec<Attribute>) -> Result<Self> {
        let mut hints = Self::default();
        let mut rest = Vec::new();
        for attribute in attributes.drain(..) {
            match name(&attribute).as_deref() {
                Some("launch_bounds") => hints.read_bounds(&attribute)?,
                Some("block_dim") => hints.block_dim = Some(read_shape(&attribute)?),
                Some("cluster_dim") => hints.cluster_dim = Some(read_shape(&attribute)?),
                _ => rest.push(attribute),
            }
        }
        *attributes = rest;
        Ok(hints)
    }

    /// Takes the block's shape from its type: an expression of type `[u32; 3]`.
    pub fn set_block(&mut self, shape: &TokenStream) -> Result<()> {
        let sides = [0usize, 1, 2].map(|axis| quote!(#shape[#axis]));
        match self.block_dim.replace(sides) {
            None => Ok(()),
            Some([x, ..]) => Err(Error::new_spanned(
                x,
                "the block's type says its shape: a kernel without `unsafe` has no `#[block_dim]`",
            )),
        }
    }

    fn read_bounds(&mut self, attribute: &Attribute) -> Result<()> {
        let pairs = attribute.parse_args_with(|input: ParseStream| {
            list(input, |input| {
                let key = input.call(Ident::parse_any)?;
                input.parse::<Token![=]>()?;
                Ok((key, expression(input)?))
            })
        })?;
        for (key, value) in pairs {
            let slot = match key.to_string().as_str() {
                "max_threads" => &mut self.max_threads,
                "min_blocks" => &mut self.min_blocks,
                "max_registers" => &mut self.max_registers,
                _ => {
                    return Err(Error::new(
                        key.span(),
                        format!(
                            "no launch bound is named `{key}`; there are `max_threads`, `min_blocks` and `max_registers`"
                        ),
                    ));
                }
            };
            *slot = Some(value);
        }
        Ok(())
    }

    /// The nine numbers that the lowering reads (`warpsmith.bounds.…`): the three limits and the two shapes, 0 for none.
    pub fn numbers(&self) -> TokenStream {
        let scalars = [&self.max_threads, &self.min_blocks, &self.max_registers].map(|limit| match limit {
            Some(limit) => quote!(#limit),
            None => quote!(0),
        });
        let shapes = [&self.block_dim, &self.cluster_dim].map(|shape| match shape {
            Some([x, y, z]) => quote!(#x, #y, #z),
            None => quote!(0, 0, 0),
        });
        quote!([#(#scalars,)* #(#shapes),*])
    }

    /// An expression of type `cuda_std::LaunchBounds`.
    pub fn value(&self, cuda_std: &TokenStream) -> TokenStream {
        let scalar = |e: &Option<TokenStream>| match e {
            Some(e) => quote!(::core::option::Option::Some(#e)),
            None => quote!(::core::option::Option::None),
        };
        let shape = |s: &Option<[TokenStream; 3]>| match s {
            Some([x, y, z]) => quote!(::core::option::Option::Some([#x, #y, #z])),
            None => quote!(::core::option::Option::None),
        };
        let (max_threads, min_blocks, max_registers) =
            (scalar(&self.max_threads), scalar(&self.min_blocks), scalar(&self.max_registers));
        let (block_dim, cluster_dim) = (shape(&self.block_dim), shape(&self.cluster_dim));
        quote! {
            #cuda_std::LaunchBounds {
                max_threads: #max_threads,
                min_blocks: #min_blocks,
                max_registers: #max_registers,
                block_dim: #block_dim,
                cluster_dim: #cluster_dim,
            }
        }
    }
}

fn name(attribute: &Attribute) -> Option<String> {
    Some(attribute.path().segments.last()?.ident.to_string())
}

/// The parts between commas, the last of which may be left out.
fn list<T>(input: ParseStream, item: impl Fn(ParseStream) -> Result<T>) -> Result<Vec<T>> {
    let mut items = Vec::new();
    while !input.is_empty() {
        items.push(item(input)?);
        if !input.is_empty() {
            input.parse::<Token![,]>()?;
        }
    }
    Ok(items)
}

fn read_shape(attribute: &Attribute) -> Result<[TokenStream; 3]> {
    let sides = attribute.parse_args_with(|input: ParseStream| list(input, expression))?;
    let mut sides = sides.into_iter();
    let (Some(x), y, z, None) = (sides.next(), sides.next(), sides.next(), sides.next()) else {
        return Err(Error::new(
            attribute.span(),
            "a shape has one to three sides: `(x)`, `(x, y)` or `(x, y, z)`",
        ));
    };
    Ok([x, y.unwrap_or_else(|| quote!(1)), z.unwrap_or_else(|| quote!(1))])
}

/// Expands a hint that stands before `#[kernel]`: it moves behind, where `#[kernel]` reads it.
pub fn hand_to_kernel(hint: &str, arguments: TokenStream, item: TokenStream) -> TokenStream {
    let result = syn::parse2::<Function>(item).and_then(|mut function| {
        if !function.attrs.iter().any(|a| name(a).as_deref() == Some("kernel")) {
            return Err(Error::new(
                Span::call_site(),
                format!("`#[{hint}]` belongs to a kernel: add `#[kernel]`"),
            ));
        }
        let hint = Ident::new(hint, Span::call_site());
        function.attrs.push(parse_quote!(#[#hint(#arguments)]));
        Ok(function.into_token_stream())
    });
    result.unwrap_or_else(Error::into_compile_error)
}
