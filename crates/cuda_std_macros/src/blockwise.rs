//! `#[kernel]` on a function without `unsafe`: a blockwise kernel, whose first parameter is its block.
//!
//! Of its parameters only data is passed by the launch. The block is a token, and what is `#[shared]` lies in memory that the
//! entry makes, once each. A matrix travels as two parameters of the PTX, where it lies and its extents: a pointer that is a
//! parameter by itself is one that the optimiser knows something of.

use crate::crate_path;
use crate::function::{Function, Input};
use crate::kernel::{Kernel, Parameter, argument, by_reference, plain_name, with_static_lifetimes};
use crate::launch_hints::LaunchHints;
use crate::requires::Requires;
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Error, Result, Type, parse_quote};

/// How many numbers `blockwise::agreement` has for a parameter.
const OF_PARAMETER: usize = 7;

pub fn read(function: &mut Function) -> Result<Kernel> {
    let Some(blockwise) = crate_path::find("blockwise") else {
        return Err(Error::new(
            function.fn_token.span,
            "a kernel must be an `unsafe fn`, since the host that launches it must uphold what its pointers promise; or \
             depend on `blockwise` and take the block first, as in `block: Block<256>`",
        ));
    };
    let device = quote!(#blockwise::__device);
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
    let token = quote_spanned!(block.span()=> <#block as #device::BlockToken>);
    hints.set_block(&quote!(#token::SHAPE))?;

    let (mut parameters, mut signature, mut passed) = (Vec::new(), Vec::new(), vec![quote!(#token::begin())]);
    // What the host must know the same of each parameter.
    let mut agreed = Vec::new();
    // The parameters' names, what stands for them in the entry, and the values that it is given.
    let (mut names, mut places, mut made) = (Vec::new(), Vec::new(), Vec::new());
    let mut dynamic = Vec::new();
    let mut checks = quote! {
        const fn the_first_parameter_is_the_block<B: #device::BlockToken>() {}
        const _: () = the_first_parameter_is_the_block::<#block>();
    };
    for input in inputs {
        let ty = ty(input)?;
        let marks = input.attrs.len();
        input.attrs.retain(|attribute| !attribute.path().is_ident("shared"));
        if input.attrs.len() < marks {
            checks.extend(quote! {
                const _: () = {
                    const fn lies_in_shared_memory<S: #device::SharedParameter>() {}
                    lies_in_shared_memory::<#ty>()
                };
                const _: ::core::primitive::usize = <#ty as #device::SharedParameter>::LEN;
            });
            passed.push(quote!(#device::shared!(#ty)));
            dynamic.push(quote!(<#ty as #device::SharedParameter>::DYNAMIC as usize));
            continue;
        }
        if let Type::Reference(reference) = &ty {
            let Type::Slice(slice) = &*reference.elem else {
                return Err(Error::new(
                    ty.span(),
                    "of the references only slices can be passed to a kernel: take `&[T]`, or a `Copy` struct by value",
                ));
            };
            let element = with_static_lifetimes(&slice.elem);
            checks.extend(quote! {
                const _: () = {
                    const fn elements_are_plain_values<T: #blockwise::Element>() {}
                    elements_are_plain_values::<#element>()
                };
            });
            agreed.push(quote!(#device::agreed!(#device::SLICE, #element)));
        } else {
            let ty = with_static_lifetimes(&ty);
            let whole = quote!(<#ty as #device::Parameter>);
            agreed.push(quote!(#device::agreed!(<#ty as #device::Agreed>::AGREED, #whole::Element)));
            let suits = quote_spanned!(ty.span()=> suits(linear, block));
            checks.extend(quote! {
                const _: () = {
                    use #device::suits;
                    let (linear, block) = (<#ty as #device::Agreed>::LINEAR, #token::SHAPE);
                    #suits
                };
            });
        }
        let name = input.name().map_or_else(|| input.pattern.to_string(), |name| name.to_string());
        let first = parameters.len();
        let ty = with_static_lifetimes(&ty);
        if by_reference(&ty)? {
            let whole = quote!(<#ty as #device::Parameter>);
            let part = |ty, by_reference| Parameter { name: name.clone(), ty, by_reference, borrowed: false };
            parameters.push(part(parse_quote!(#whole::Memory), false));
            parameters.push(part(parse_quote!(#whole::Value), true));
            let (memory, value) = (argument(first), argument(first + 1));
            made.push(quote!(#whole::make(#memory, #value)));
            checks.extend(quote! {
                const _: () = {
                    const fn is_a_parameter<P: #device::Parameter>() {}
                    is_a_parameter::<#ty>()
                };
            });
        } else {
            let argument = argument(first);
            made.push(quote!(#argument));
            parameters.push(Parameter { name, ty: ty.clone(), by_reference: false, borrowed: false });
        }
        // A parameter that is taken apart by a pattern has no name to be required by.
        let place = format_ident!("_parameter{}", signature.len());
        passed.push(place.to_token_stream());
        places.push(place.clone());
        names.push(input.name().unwrap_or(place));
        signature.push(ty);
    }

    checks.extend(quote! {
        const _: () = ::core::assert!(0 #(+ #dynamic)* <= 1, "a kernel has one dynamic shared memory, which it divides");
    });
    requires.check(&names)?;
    let mut extents = quote!();
    for ((name, place), ty) in names.iter().zip(&places).zip(&signature) {
        let has = if requires.names_extent(name) {
            quote!(HasExtents)
        } else if requires.names_value(name) {
            quote!(HasValue)
        } else {
            continue;
        };
        for (asked, bound) in [
            (requires.names_extent(name), quote!(HasExtents)),
            (requires.names_value(name), quote!(HasValue)),
        ] {
            if asked {
                checks.extend(quote! {
                    const _: () = {
                        const fn can_be_required<P: #device::#bound>() {}
                        can_be_required::<#ty>()
                    };
                });
            }
        }
        extents.extend(quote!(let #name = #device::#has::extents(&#place);));
    }
    let (assume, test) = (requires.assume(), requires.test(&blockwise));
    let relations = requires.numbers(&names)?;
    let count = 4 + OF_PARAMETER * agreed.len() + relations.len();
    let parameter_count = agreed.len();
    let each =
        (0..parameter_count).flat_map(|p| (0..OF_PARAMETER).map(move |at| quote!(PARAMETERS[#p][#at])));
    let agreed = quote! {{
        const BLOCK: [u32; 3] = #token::SHAPE;
        const PARAMETERS: [[u64; #OF_PARAMETER]; #parameter_count] = [#(#agreed),*];
        [
            BLOCK[0] as u64, BLOCK[1] as u64, BLOCK[2] as u64, #parameter_count as u64,
            #(#each,)*
            #(#relations),*
        ]
    }};
    let (call, name) = (&function.ident, plain_name(&function.ident));
    let mark = format!("warpsmith.blockwise.{name}");
    let ident = &function.ident;
    Ok(Kernel {
        call: quote! {{
            #(let #places = #made;)*
            { #extents #assume }
            #call(#(#passed),*)
        }},
        checks,
        signature,
        parameters,
        hints,
        device_marks: quote! {
            #[used]
            #[unsafe(export_name = #mark)]
            static BLOCKWISE: [u64; #count] = #agreed;
        },
        host_items: quote! {
            unsafe impl #blockwise::BlockwiseKernel for #ident {
                const AGREED: &'static [u64] = &{
                    const AGREED: [u64; #count] = #agreed;
                    AGREED
                };

                #[allow(unused_variables)]
                fn broken(extents: &[#blockwise::Extents]) -> ::core::option::Option<#blockwise::Broken> {
                    let [#(#names),*] = *extents else { return ::core::option::Option::None };
                    #test
                    ::core::option::Option::None
                }
            }
        },
        cuda_std: Some(quote!(#device::cuda_std)),
    })
}

fn ty(input: &Input) -> Result<Type> {
    input.ty.clone().filter(|_| !input.is_receiver()).ok_or_else(|| {
        Error::new(
            input.pattern.span(),
            "a kernel is a free function: pass the fields that it needs, or a `Copy` struct by value",
        )
    })
}
