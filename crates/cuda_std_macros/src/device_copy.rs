//! `#[derive(DeviceCopy)]`: what a type's bits mean, as a constant that host and device compare.

use crate::crate_path;
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DataEnum, DeriveInput, Error, Fields, Index, Result, parse_quote};

pub fn expand(item: TokenStream) -> TokenStream {
    syn::parse2(item).and_then(|input| derive(&input)).unwrap_or_else(Error::into_compile_error)
}

fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let Some(blockwise) = crate_path::find("blockwise") else {
        let message = "`DeviceCopy` is derived for kernels without `unsafe`: depend on `blockwise`";
        return Err(Error::new(input.ident.span(), message));
    };
    let device = quote!(#blockwise::__device);
    let copy = quote!(#blockwise::DeviceCopy);
    let parts = match &input.data {
        Data::Struct(data) => fields(&data.fields, &copy, true),
        Data::Enum(data) => variants(data, &copy)?,
        Data::Union(data) => {
            let message = "a union is not copied to the device: its bits do not say which field they are";
            return Err(Error::new_spanned(data.union_token, message));
        }
    };
    let name = input.ident.to_string();
    let ours = implementation(input, &copy, &copy);
    let parameter = implementation(input, &quote!(#device::Parameter), &copy);
    let theirs = quote!(#device::cust_core::DeviceCopy);
    let on_the_host = implementation(input, &theirs, &theirs);
    Ok(quote! {
        const _: () = {
            #ours {
                const CONTENT: #blockwise::Content = #blockwise::Content::of::<Self>(#name)#parts;
            }
            #parameter {
                type Memory = ();
                type Value = Self;
                const MEMORY: #device::Passing = #device::passing!(());
                const VALUE: #device::Passing = #device::passing!(Self);
                const FINGERPRINT: #device::ParameterFingerprint = #device::value::<Self>();
                #[inline(always)]
                unsafe fn make((): (), __warpsmith_value: &Self) -> Self {
                    *__warpsmith_value
                }
            }
            #device::host_copy! {
                #on_the_host {}
            }
        };
    })
}

/// The head of an implementation, for which each type parameter is bound.
fn implementation(input: &DeriveInput, of: &TokenStream, bound: &TokenStream) -> TokenStream {
    let mut generics = input.generics.clone();
    for parameter in generics.type_params_mut() {
        parameter.bounds.push(parse_quote!(#bound));
    }
    let ident = &input.ident;
    let (declared, passed, clause) = generics.split_for_impl();
    quote!(unsafe impl #declared #of for #ident #passed #clause)
}

/// A call for each field, with its place in a struct: stable Rust does not tell that of a variant's.
fn fields(fields: &Fields, copy: &TokenStream, places: bool) -> TokenStream {
    let parts = fields.iter().enumerate().map(|(number, field)| {
        let ty = &field.ty;
        let (name, member) = match &field.ident {
            Some(ident) => (ident.to_string(), quote!(#ident)),
            None => {
                let index = Index::from(number);
                (number.to_string(), quote!(#index))
            }
        };
        let place = if places { quote!(::core::mem::offset_of!(Self, #member)) } else { quote!(0) };
        quote!(.part(#name, #place, <#ty as #copy>::CONTENT))
    });
    parts.collect()
}

fn variants(data: &DataEnum, copy: &TokenStream) -> Result<TokenStream> {
    let plain = data.variants.iter().all(|variant| matches!(variant.fields, Fields::Unit));
    let mut parts = TokenStream::new();
    for variant in &data.variants {
        if let (false, Some((_, value))) = (plain, &variant.discriminant) {
            let message =
                "an enum with fields that is copied to the device does not choose its discriminants";
            return Err(Error::new_spanned(value, message));
        }
        let (ident, name) = (&variant.ident, variant.ident.to_string());
        let value = if plain { quote!(Self::#ident as ::core::primitive::u64) } else { quote!(0) };
        parts.extend(quote!(.variant(#name, #value)));
        parts.extend(fields(&variant.fields, copy, false));
    }
    Ok(parts)
}
