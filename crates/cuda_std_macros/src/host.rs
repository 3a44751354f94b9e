//! A kernel as the host sees it: a type that describes it to launches, one type for each instance of a generic kernel.

use crate::embedded;
use crate::function::Function;
use crate::host_name::{self, HostName};
use crate::kernel::{Entry, Kernel, plain_name, type_text, with_static_lifetimes};
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{GenericParam, Generics, parse_quote};

/// The host's side of one kernel.
pub struct Host<'k> {
    function: &'k Function,
    entries: &'k [Entry],
    /// `None` for a kernel that has no type on the host, which is checked all the same.
    described: Option<Described<'k>>,
}

struct Described<'k> {
    cuda_std: &'k TokenStream,
    visibility: TokenStream,
    /// The types and constants of a generic kernel, whose instances are listed.
    generics: Generics,
}

impl<'k> Host<'k> {
    pub fn new(function: &'k Function, entries: &'k [Entry]) -> Self {
        let cuda_std = entries.first().and_then(|entry| entry.kernel.cuda_std.as_ref());
        let described = cuda_std.and_then(|cuda_std| {
            let file = function.ident.span().unwrap().local_file();
            let visibility = match host_name::of(&plain_name(&function.ident), file.as_deref()) {
                HostName::Free => function.vis.to_token_stream(),
                HostName::Imported => TokenStream::new(),
                HostName::Taken => return None,
            };
            Some(Described { cuda_std, visibility, generics: listed(function, cuda_std) })
        });
        Self { function, entries, described }
    }

    /// A kernel without `unsafe`, and the host's value of its name. The host cannot call the function, for nothing there makes a
    /// block: its name is there what a launch takes, and the function is only checked.
    pub fn as_a_value(&self, cfgs: &TokenStream) -> TokenStream {
        let function = self.function;
        let Some(Described { generics, .. }) = &self.described else { return function.to_token_stream() };
        let (visibility, ident) = (&function.vis, &function.ident);
        let (parameters, arguments, clause) = generics.split_for_impl();
        let documentation = function.attrs.iter().filter(|attribute| attribute.path().is_ident("doc"));
        let checks = self.instance_checks();
        quote! {
            #[cfg(target_os = "cuda")]
            #function
            #cfgs
            #[cfg(not(target_os = "cuda"))]
            const _: () = {
                #[allow(dead_code)]
                #function
                #checks
            };
            #(#documentation)*
            #cfgs
            #[cfg(not(target_os = "cuda"))]
            #[allow(dead_code)]
            #visibility fn #ident #parameters () -> ::core::marker::PhantomData<#ident #arguments> #clause {
                ::core::marker::PhantomData
            }
        }
    }

    /// An empty type with the kernel's name, which lives in another namespace than the function. Where something else has the
    /// name there, the function keeps its own and the type gives way: see `host_name`.
    pub fn kernel_type(&self) -> Vec<TokenStream> {
        let Some(Described { visibility, generics, .. }) = &self.described else { return Vec::new() };
        let (ident, name) = (&self.function.ident, plain_name(&self.function.ident));
        let documentation = format!("Describes the kernel [`{name}`](fn@{ident}) for typed launches.");
        if generics.params.is_empty() {
            return vec![quote! {
                #[doc = #documentation]
                #[allow(non_camel_case_types)]
                #[derive(::core::fmt::Debug, ::core::clone::Clone, ::core::marker::Copy)]
                #visibility enum #ident {}
            }];
        }
        let (parameters, _, _) = generics.split_for_impl();
        let types = generics.type_params().map(|parameter| &parameter.ident);
        vec![quote! {
            #[doc = #documentation]
            #[allow(non_camel_case_types, dead_code)]
            #visibility struct #ident #parameters {
                never: ::core::convert::Infallible,
                of: ::core::marker::PhantomData<fn() -> (#(#types,)*)>,
            }
        }]
    }

    /// One description for each instance.
    pub fn descriptions(&self) -> Vec<TokenStream> {
        let Some(described) = &self.described else {
            let checks = self.entries.iter().map(|entry| &entry.kernel.checks);
            let instances = self.instance_checks();
            return vec![quote!(const _: () = { #(#checks)* #instances };)];
        };
        // A function with a host's value of its name is checked beside that.
        let is_value = self.function.unsafety.is_none();
        let instances = (!is_value).then(|| self.instance_checks());
        let instances =
            instances.filter(|checks| !checks.is_empty()).map(|checks| quote!(const _: () = { #checks };));
        self.entries.iter().map(|entry| self.description(described, entry)).chain(instances).collect()
    }

    fn description(&self, described: &Described, entry: &Entry) -> TokenStream {
        let cuda_std = described.cuda_std;
        let Entry { kernel, instance, name, .. } = entry;
        let Kernel { parameters, signature: types, hints, host_items, checks, .. } = kernel;
        let (ident, arguments) = (&self.function.ident, instance.arguments());
        let layouts = parameters.iter().map(|parameter| {
            let (name, ty) = (&parameter.name, with_static_lifetimes(&parameter.ty));
            let (text, passing) = (type_text(&ty), parameter.passing(cuda_std, &ty));
            quote!(#cuda_std::__device::parameter!(#name, #text, #ty, #passing))
        });
        let hints = hints.value(cuda_std);
        let line = ident.span().unwrap().line() as u32;
        let embedded = embedded::of(ident.span()).map(|ptx| {
            quote! {
                const EMBEDDED: ::core::option::Option<&'static #cuda_std::EmbeddedPtx> = ::core::option::Option::Some(&#ptx);
            }
        });
        quote! {
            // An instance's constants stand in the attributes' terms: `32 * 1`.
            #[allow(clippy::identity_op, clippy::erasing_op)]
            const _: () = {
                #checks
                unsafe impl #cuda_std::Kernel for #ident #arguments {
                    type Signature = fn(#(#types),*);
                    const NAME: &'static ::core::primitive::str = #name;
                    const PARAMS: &'static [#cuda_std::ParamLayout] = &[#(#layouts),*];
                    const LAUNCH_BOUNDS: #cuda_std::LaunchBounds = #hints;
                    const FILE: &'static ::core::primitive::str = ::core::file!();
                    const LINE: ::core::primitive::u32 = #line;
                    #embedded
                }
                #host_items
            };
        }
    }

    /// A mention of each instance's function, for rustc to compare with the bounds.
    fn instance_checks(&self) -> TokenStream {
        let ident = &self.function.ident;
        let arguments = self.entries.iter().filter_map(|entry| entry.instance.arguments());
        quote!(#(let _ = #ident #arguments;)*)
    }
}

/// The types and constants of a generic kernel without their bounds, and that an instance is a kernel if it is listed.
fn listed(function: &Function, cuda_std: &TokenStream) -> Generics {
    let mut generics = Generics::default();
    for parameter in &function.generics.params {
        match parameter {
            GenericParam::Type(parameter) => {
                let ident = &parameter.ident;
                generics.params.push(parse_quote!(#ident));
            }
            GenericParam::Const(parameter) => {
                let (ident, ty) = (&parameter.ident, &parameter.ty);
                generics.params.push(parse_quote!(const #ident: #ty));
            }
            GenericParam::Lifetime(_) => {}
        }
    }
    if !generics.params.is_empty() {
        let ident = &function.ident;
        let (_, arguments, _) = generics.split_for_impl();
        generics.where_clause = Some(parse_quote!(where #ident #arguments: #cuda_std::Kernel));
    }
    generics
}
