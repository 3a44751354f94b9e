//! `#[device] mod kernels { … }` and `device_mod! { mod kernels; }`: on the host an ordinary module, with a static beside it that
//! embeds the PTX which the build script made of it. What the device build refuses is an error here, at the user's own token.

use crate::crate_path;
use crate::embedded::{DeviceError, Index};
use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{format_ident, quote};
use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use syn::Error;

const NO_BUILD_SCRIPT: &str = "this package has no PTX of the module: let its build script be `fn main() { warpsmith_build::kernels() }`, \
                               with `warpsmith_build` among the `[build-dependencies]` of Cargo.toml";

pub fn expand(module: TokenStream) -> TokenStream {
    let Some(name) = name(&module) else {
        let message = "a device module is a module: `#[warpsmith::device] mod kernels { … }`, or for a file of its own \
                       `warpsmith::device_mod! { mod kernels; }`";
        let error = Error::new_spanned(&module, message).into_compile_error();
        return quote!(#module #error);
    };
    let beside = beside(&name, &module);
    quote! {
        #module
        #beside
    }
}

/// The name after `mod`.
fn name(module: &TokenStream) -> Option<Ident> {
    let mut tokens = module.clone().into_iter();
    tokens.find(|token| matches!(token, TokenTree::Ident(word) if word == "mod"))?;
    match tokens.next() {
        Some(TokenTree::Ident(name)) => Some(name),
        _ => None,
    }
}

/// The static, or why there is none.
fn beside(name: &Ident, module: &TokenStream) -> TokenStream {
    // A tool that compiles nothing, such as rust-analyzer, has no root.
    if crate_path::root().is_none() {
        return TokenStream::new();
    }
    let Some(index) = Index::read() else {
        return Error::new(name.span(), NO_BUILD_SCRIPT).into_compile_error();
    };
    let errors = index.errors();
    if !errors.is_empty() {
        return errors_at(&errors, name, module);
    }
    let Some(cuda_std) = crate_path::find("cuda_std") else {
        let message = "a device module needs the crate `warpsmith` among the package's dependencies";
        return Error::new(name.span(), message).into_compile_error();
    };
    let ptx = index.ptx();
    if ptx.is_empty() {
        let message = "the build script did not find this module: it reads the sources and expands no macros";
        return Error::new(name.span(), message).into_compile_error();
    }
    let embedded = format_ident!("__warpsmith_ptx_{}", name.to_string().trim_start_matches("r#"));
    quote! {
        #[doc(hidden)]
        #[allow(non_upper_case_globals, dead_code)]
        static #embedded: #cuda_std::EmbeddedPtx = #cuda_std::EmbeddedPtx(&[#(::core::include_str!(#ptx)),*]);
    }
}

/// Each error at the token where it begins, or at the module's name if that stands in another file.
fn errors_at(errors: &[DeviceError], name: &Ident, module: &TokenStream) -> TokenStream {
    let mut places = HashMap::new();
    note_places(module.clone(), &mut places);
    let own = name.span().unwrap().local_file().and_then(|file| fs::canonicalize(file).ok());
    let at = |error: &DeviceError| {
        let is_own = own.as_ref() == Some(&error.file);
        places.get(&(error.line, error.column)).copied().filter(|_| is_own)
    };
    let mut all = TokenStream::new();
    for error in errors {
        let error = match at(error) {
            Some(span) => Error::new(span, &error.text),
            None if error.file == PathBuf::new() => Error::new(name.span(), &error.text),
            None => {
                let place = format!("{}:{}:{}", error.file.display(), error.line, error.column);
                Error::new(name.span(), format!("{place}: {}", error.text))
            }
        };
        all.extend(error.into_compile_error());
    }
    all
}

fn note_places(tokens: TokenStream, places: &mut HashMap<(usize, usize), Span>) {
    for token in tokens {
        let start = token.span().unwrap();
        places.entry((start.line(), start.column())).or_insert(token.span());
        if let TokenTree::Group(group) = token {
            note_places(group.stream(), places);
        }
    }
}
