//! `#[kernel]` on a function without `unsafe`: a blockwise kernel, whose first parameter is its block.
//!
//! Of its parameters only data is passed by the launch. The block is a token, and what is `#[shared]` lies in memory that the
//! entry makes, once each. A matrix travels as two parameters of the PTX, where it lies and its extents: a pointer that is a
//! parameter by itself is one that the optimiser knows something of.
//!
//! The expansion declares nothing by a name that the user's tokens could mean: what it needs are functions and traits of `blockwise`,
//! and what must have a name on the device begins with `__warpsmith`. There all of it is in one scope, with a call of the user's
//! function, so a type cannot be one for the function and another one for the numbers that the launch compares.

use crate::crate_path;
use crate::function::{Function, Input};
use crate::instances::Instance;
use crate::kernel::{Kernel, Parameter, argument, by_reference, with_static_lifetimes};
use crate::launch_hints::LaunchHints;
use crate::requires::{Named, Requires};
use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Error, Result, Type, parse_quote};

pub fn read(function: &mut Function, instance: &Instance) -> Result<Kernel> {
    let Some(blockwise) = crate_path::find("blockwise") else {
        return Err(Error::new(
            function.fn_token.span,
            "a kernel must be an `unsafe fn`, since the host that launches it must uphold what its pointers promise; or \
             depend on `blockwise` and take the block first, as in `block: Block<256>`",
        ));
    };
    let device = quote!(#blockwise::__device);
    let identity = identity(function, instance);
    let mut hints = LaunchHints::take(&mut function.attrs)?;
    let requires = Requires::take(&mut function.attrs)?;
    if let Some(lifetime) = function.generics.params.first() {
        return Err(Error::new(
            lifetime.span(),
            "a kernel without `unsafe` names no lifetimes: what it is given is there for as long as it runs",
        ));
    }
    let mut inputs = function.inputs.iter_mut();
    let Some(block) = inputs.next() else {
        return Err(Error::new(
            function.ident.span(),
            "the first parameter of a kernel without `unsafe` is its block, as in `block: Block<256>`",
        ));
    };
    let block = ty(block)?;
    if matches!(block, Type::Reference(_) | Type::Ptr(_) | Type::Slice(_) | Type::Array(_) | Type::Tuple(_))
        || !by_reference(&block)?
    {
        return Err(Error::new_spanned(
            &block,
            "the first parameter of a kernel without `unsafe` is its block, as in `block: Block<256>`",
        ));
    }
    let of_block = |item| associated(&block, &quote!(#device::BlockToken), item);
    let (shape, begin) = (of_block("SHAPE"), of_block("begin"));
    hints.set_block(&shape)?;

    let (mut parameters, mut signature, mut passed) = (Vec::new(), Vec::new(), vec![quote!(#begin())]);
    // What the host must know the same of each parameter.
    let mut fingerprint = Vec::new();
    // The parameters' names, what stands for them in the entry, and the values that it is given.
    let (mut named, mut made) = (Vec::new(), Vec::new());
    let mut dynamic = Vec::new();
    let mut checks = TokenStream::new();
    for input in inputs {
        let ty = ty(input)?;
        let marks = input.attrs.len();
        input.attrs.retain(|attribute| !attribute.path().is_ident("shared"));
        if input.attrs.len() < marks {
            passed.push(quote!(#device::shared!(#ty)));
            dynamic.push(quote!(#device::lies_in_shared_memory::<#ty>()));
            continue;
        }
        let ty = with_static_lifetimes(&ty);
        let of = |name| associated(&ty, &quote!(#device::Parameter), name);
        let (numbers, linear) = if let Type::Reference(reference) = &ty {
            let Type::Slice(slice) = &*reference.elem else {
                return Err(Error::new_spanned(
                    &ty,
                    "of the references only slices can be passed to a kernel: take `&[T]`, or a `Copy` struct by value",
                ));
            };
            let element = &slice.elem;
            (quote!(#device::slice::<#element>()), quote!(::core::option::Option::None))
        } else {
            (of("FINGERPRINT"), of("LINEAR"))
        };
        let fits = spanned(&quote!(#device::fits), ty.span());
        let fits = quote_spanned!(ty.span()=> #fits(#numbers, #linear, #shape));
        checks.extend(quote!(const _: () = #fits;));
        fingerprint.push(numbers);
        let name = input.name().map_or_else(|| input.pattern.to_string(), |name| name.to_string());
        let first = parameters.len();
        if by_reference(&ty)? {
            let part = |ty, by_reference, passing| {
                let (ty, passing) = (parse_quote!(#ty), Some(passing));
                Parameter { name: name.clone(), ty, by_reference, borrowed: false, passing }
            };
            parameters.push(part(of("Memory"), false, of("MEMORY")));
            parameters.push(part(of("Value"), true, of("VALUE")));
            let (make, memory, value) = (of("make"), argument(first), argument(first + 1));
            made.push(quote!(#make(#memory, #value)));
        } else {
            if matches!(ty, Type::Path(_)) {
                checks.extend(quote!(const _: () = #device::is_primitive::<#ty>();));
            }
            let argument = argument(first);
            made.push(quote!(#argument));
            parameters.push(Parameter {
                name,
                ty: ty.clone(),
                by_reference: false,
                borrowed: false,
                passing: None,
            });
        }
        let place = format_ident!("__warpsmith_value{}", signature.len());
        passed.push(place.to_token_stream());
        // A parameter that is taken apart by a pattern has no name to be required by.
        named.push(Named { name: input.name().unwrap_or_else(|| place.clone()), place });
        signature.push(ty);
    }

    checks.extend(quote!(const _: () = #device::one_dynamic_memory(&[#(#dynamic),*]);));
    requires.check(&named)?;
    for (Named { name, .. }, ty) in named.iter().zip(&signature) {
        if requires.names_extent(name) {
            checks.extend(quote!(const _: () = #device::has_extents::<#ty>();));
        }
        if requires.names_value(name) {
            checks.extend(quote!(const _: () = #device::has_value::<#ty>();));
        }
    }
    let assume = requires.assume(&named, &device);
    let (relations, texts) = (requires.numbers(&named, &device), requires.texts());
    let (parameter_count, relation_count) = (fingerprint.len(), requires.count());
    let count = quote!({ #device::count(#parameter_count, #relation_count, #identity) });
    let fingerprint =
        quote!(#device::numbers::<#count>(#shape, &[#(#fingerprint),*], &[#(#relations),*], #identity));
    let places = named.iter().map(|named| &named.place);
    let (ident, arguments) = (&function.ident, instance.arguments());
    let mark = format!("warpsmith.blockwise.{}", instance.entry(ident));
    Ok(Kernel {
        call: quote! {{
            #(let #places = #made;)*
            #assume
            #ident #arguments (#(#passed),*)
        }},
        checks,
        signature,
        parameters,
        hints,
        device_marks: quote! {
            #[used]
            #[unsafe(export_name = #mark)]
            static __warpsmith_fingerprint: [::core::primitive::u64; #count] = #fingerprint;
        },
        host_items: quote! {
            unsafe impl #blockwise::BlockwiseKernel for #ident #arguments {
                const FINGERPRINT: &'static [::core::primitive::u64] = &#fingerprint;
                const RELATIONS: &'static [&'static ::core::primitive::str] = &[#(#texts),*];
            }
        },
        cuda_std: Some(quote!(#device::cuda_std)),
    })
}

/// Which kernel it is, as a constant text of three lines: its package, its module, its signature with the instance's arguments.
fn identity(function: &Function, instance: &Instance) -> TokenStream {
    // Cargo says them to the compiler, the same for the host and for the device; another build tool need not.
    let variable = |name| std::env::var(name).unwrap_or_default();
    let package = format!("{} {}\n", variable("CARGO_PKG_NAME"), variable("CARGO_PKG_VERSION"));
    let mut signature = String::from("\n");
    write_tokens(function.signature(), &mut signature);
    write_tokens(instance.arguments().unwrap_or_default(), &mut signature);
    quote!(::core::concat!(#package, ::core::module_path!(), #signature))
}

/// Tokens with one space between any two, however they were written.
fn write_tokens(tokens: TokenStream, text: &mut String) {
    for token in tokens {
        let TokenTree::Group(group) = token else {
            *text += &format!("{token} ");
            continue;
        };
        let (open, close) = match group.delimiter() {
            Delimiter::Parenthesis => ("( ", ") "),
            Delimiter::Brace => ("{ ", "} "),
            Delimiter::Bracket => ("[ ", "] "),
            Delimiter::None => ("", ""),
        };
        *text += open;
        write_tokens(group.stream(), text);
        *text += close;
    }
}

/// An item of a type's implementation of a trait. All of it points to the type: rustc tells once what it tells twice of one place.
fn associated(ty: &Type, of: &TokenStream, item: &str) -> TokenStream {
    // From the type's first token to its last: stable Rust does not join spans.
    let last = ty.to_token_stream().into_iter().last().map_or_else(|| ty.span(), |token| token.span());
    let (of, item) = (spanned(of, last), format_ident!("{item}", span = last));
    let (open, end) = (quote_spanned!(ty.span()=> <#ty), quote_spanned!(last=> as #of>::#item));
    quote!(#open #end)
}

/// The same tokens, to which errors point as to the user's own.
pub(crate) fn spanned(tokens: &TokenStream, span: Span) -> TokenStream {
    let at = |mut token: TokenTree| {
        token.set_span(span);
        token
    };
    tokens.clone().into_iter().map(at).collect()
}

fn ty(input: &Input) -> Result<Type> {
    input.ty.clone().filter(|_| !input.is_receiver()).ok_or_else(|| {
        Error::new(
            input.pattern.span(),
            "a kernel is a free function: pass the fields that it needs, or a `Copy` struct by value",
        )
    })
}
