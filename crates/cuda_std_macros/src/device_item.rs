//! `#[gpu_only]`, `#[externally_visible]` and `#[address_space]`: items that mean something to the device build.

use crate::function::Function;
use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::parse::{ParseStream, Parser};
use syn::{Attribute, Error, Ident, Result, Token, Visibility, parse_quote};

/// Sections are spelled so that every object format accepts them (Mach-O wants "segment,section", at most 16 letters
/// each), although the device build never writes an object file.
const SECTIONS: [(&str, &str); 3] = [
    ("shared", "__WARPSMITH,shared"),
    ("global", "__WARPSMITH,global"),
    ("constant", "__WARPSMITH,constant"),
];

pub fn gpu_only(item: TokenStream) -> TokenStream {
    let function = match syn::parse2::<Function>(item) {
        Ok(function) => function,
        Err(error) => return error.into_compile_error(),
    };
    let mut stub = function.clone();
    let message = format!("`{}` runs only on the GPU", function.ident);
    // Parameter patterns may bind by `mut`, which the body of the stub would not use.
    for input in &mut stub.inputs {
        if let Some(name) = input.name() {
            input.pattern = name.into_token_stream();
        }
    }
    stub.body = parse_quote!({ ::core::panic!(#message) });
    quote! {
        #[cfg(not(target_os = "cuda"))]
        #[allow(unused_variables, unreachable_code, clippy::missing_safety_doc)]
        #stub
        #[cfg(target_os = "cuda")]
        #function
    }
}

pub fn externally_visible(item: TokenStream) -> TokenStream {
    let result = syn::parse2::<Function>(item).and_then(|function| {
        if !function.attrs.iter().any(is_no_mangle) {
            return Err(Error::new_spanned(
                function.signature(),
                "an externally visible function needs a name of its own in the PTX: add `#[unsafe(no_mangle)]`",
            ));
        }
        Ok(quote! {
            #[cfg_attr(target_os = "cuda", unsafe(link_section = "__WARPSMITH,visible"))]
            #function
        })
    });
    result.unwrap_or_else(Error::into_compile_error)
}

/// `#[no_mangle]` or `#[unsafe(no_mangle)]`.
fn is_no_mangle(attribute: &Attribute) -> bool {
    attribute.path().is_ident("no_mangle")
        || attribute.path().is_ident("unsafe")
            && attribute.parse_args::<Ident>().is_ok_and(|inner| inner == "no_mangle")
}

pub fn address_space(space: TokenStream, item: TokenStream) -> TokenStream {
    read_address_space(space, item).unwrap_or_else(Error::into_compile_error)
}

fn read_address_space(space: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let wrong = |span: Span| Error::new(span, "an address space is `shared`, `global` or `constant`");
    let space: Ident = syn::parse2(space).map_err(|error| wrong(error.span()))?;
    let initial = initial_value.parse2(item.clone()).map_err(|error| {
        Error::new(
            error.span(),
            "an address space is given to a `static`, such as `static mut TILE: [MaybeUninit<f32>; 256]`",
        )
    })?;
    if space == "local" {
        return Err(Error::new(
            space.span(),
            "a static cannot be in local memory, which each thread has its own of: use a `let`",
        ));
    }
    if space == "shared"
        && let Some(initial) = initial
        && !says_uninit(initial.clone())
    {
        return Err(Error::new(
            initial.into_iter().next().map_or(space.span(), |token| token.span()),
            "shared memory starts undefined, and safe code may read a `static` without `mut`: its initial value is one that \
             says so, such as `MaybeUninit::uninit()`",
        ));
    }
    let section = SECTIONS.iter().find(|(name, _)| space == name).ok_or_else(|| wrong(space.span()))?.1;
    Ok(quote! {
        #[cfg_attr(target_os = "cuda", unsafe(link_section = #section))]
        #item
    }
    .into_token_stream())
}

/// The initial value, unless the static is `mut`: then only unsafe code reads it. The rest is rustc's to read.
fn initial_value(input: ParseStream) -> Result<Option<TokenStream>> {
    input.call(Attribute::parse_outer)?;
    input.parse::<Visibility>()?;
    input.parse::<Token![static]>()?;
    let mutable = input.parse::<Option<Token![mut]>>()?.is_some();
    let rest: Vec<TokenTree> = input.parse::<TokenStream>()?.into_iter().collect();
    // Types have no `=` but in brackets of their own, or before a bound's type, which a static's has not.
    let equals =
        rest.iter().position(|token| matches!(token, TokenTree::Punct(punct) if punct.as_char() == '='));
    let initial = equals.map(|at| rest.into_iter().skip(at + 1).collect());
    Ok(initial.filter(|_| !mutable))
}

/// Whether a value names `uninit`.
fn says_uninit(value: TokenStream) -> bool {
    value.into_iter().any(|token| match token {
        TokenTree::Ident(name) => name == "uninit",
        TokenTree::Group(group) => says_uninit(group.stream()),
        _ => false,
    })
}
