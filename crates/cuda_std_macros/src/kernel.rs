//! `#[kernel]`: the user's function, a device entry that describes itself, and a host type that describes it.

use crate::blockwise;
use crate::crate_path;
use crate::function::{Function, Input};
use crate::host::Host;
use crate::instances::{self, Instance};
use crate::launch_hints::LaunchHints;
use proc_macro2::{Delimiter, Group, Ident, Literal, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit_mut::VisitMut;
use syn::{Attribute, Error, Generics, Lifetime, Result, ReturnType, Type, parse_quote};

pub fn expand(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let function = syn::parse2::<Function>(item.clone());
    match function.and_then(|function| expand_function(&attribute, function)) {
        Ok(tokens) => tokens,
        // The function stays, so that one mistake in its signature does not also make its name unknown elsewhere. Its body goes,
        // where the mistake would be told again, and so do the marks that only a kernel has.
        Err(error) => {
            let error = error.into_compile_error();
            let item = syn::parse2::<Function>(item.clone()).map_or(item, without_body);
            quote!(#error #item)
        }
    }
}

pub(crate) struct Parameter {
    pub name: String,
    /// The type of the launch's value.
    pub ty: Type,
    pub by_reference: bool,
    /// The function takes a reference to the parameter where it lies (`#[grid_constant]`), not its value.
    pub borrowed: bool,
    /// The constant that says how it is passed, where the type itself does not.
    pub passing: Option<TokenStream>,
}

impl Parameter {
    /// An expression for `cuda_std`'s `Passing`, of the type with its lifetimes.
    pub fn passing(&self, cuda_std: &TokenStream, ty: &Type) -> TokenStream {
        self.passing.clone().unwrap_or_else(|| quote!(#cuda_std::__device::passing!(#ty)))
    }
}

/// A kernel's function as the outside sees it, raw or blockwise.
pub(crate) struct Kernel {
    /// The launch's values, in the order of the PTX.
    pub parameters: Vec<Parameter>,
    /// The types that the host's arguments are compared with.
    pub signature: Vec<Type>,
    pub hints: LaunchHints,
    /// The call of the function in the device's entry, of whose parameters `p0` is the first.
    pub call: TokenStream,
    /// Further marks of the device's entry for the lowering.
    pub device_marks: TokenStream,
    /// Further items for the host, in the scope of the kernel's type.
    pub host_items: TokenStream,
    /// Checks by rustc on host and device alike.
    pub checks: TokenStream,
    /// The path of `cuda_std` in the kernel's crate.
    pub cuda_std: Option<TokenStream>,
}

/// A kernel's function for one of its instances.
pub(crate) struct Entry {
    /// The function as the outside sees it.
    pub kernel: Kernel,
    pub instance: Instance,
    /// The name in the PTX.
    pub name: String,
    /// The rest of the function's lifetimes, types and constants.
    pub generics: Generics,
}

fn expand_function(attribute: &TokenStream, mut function: Function) -> Result<TokenStream> {
    check_signature(&function)?;
    let is_safe = function.unsafety.is_none();
    let mut entries = Vec::new();
    let mut rest = function.clone();
    for instance in instances::read(attribute, &function)? {
        rest = instance.of(&function)?;
        let kernel =
            if is_safe { blockwise::read(&mut rest, &instance)? } else { read(&mut rest, &instance)? };
        let name = instance.entry(&function.ident);
        entries.push(Entry { kernel, instance, name, generics: rest.generics.clone() });
    }
    // The attributes without those that only a kernel has.
    function.attrs = rest.attrs;
    for (input, rest) in function.inputs.iter_mut().zip(rest.inputs) {
        input.attrs = rest.attrs;
    }
    let cfgs = function.attrs.iter().filter(|a| a.path().is_ident("cfg"));
    let cfgs = quote!(#(#cfgs)*);

    // The user's function becomes an ordinary Rust function, inlined into the entry: `extern "C"` would fold slices
    // and small structs into registers as the host's ABI does.
    function.abi = None;
    function.attrs.retain(|a| !is_export(a));
    if !function.attrs.iter().any(|a| a.path().is_ident("inline")) {
        function.attrs.push(parse_quote!(#[cfg_attr(target_os = "cuda", inline(always))]));
    }
    function.attrs.push(parse_quote!(#[allow(clippy::missing_safety_doc, clippy::too_many_arguments)]));

    let device = entries.iter().map(device_entry);
    let host = Host::new(&function, &entries);
    let function = if is_safe { host.as_a_value(&cfgs) } else { function.to_token_stream() };
    let (host_type, descriptions) = (host.kernel_type(), host.descriptions());
    Ok(quote! {
        #function
        #(
            #cfgs
            #[cfg(target_os = "cuda")]
            #device
        )*
        #(
            #cfgs
            #[cfg(not(target_os = "cuda"))]
            #host_type
        )*
        #(
            #cfgs
            #[cfg(not(target_os = "cuda"))]
            #descriptions
        )*
    })
}

/// A function of the same signature that is only type-checked: the error beside it ends the build.
fn without_body(mut function: Function) -> TokenStream {
    const MARKS: [&str; 4] = ["requires", "launch_bounds", "block_dim", "cluster_dim"];
    function.attrs.retain(|attribute| !MARKS.iter().any(|mark| attribute.path().is_ident(mark)));
    for input in &mut function.inputs {
        input.attrs.retain(|a| !a.path().is_ident("shared") && !a.path().is_ident("grid_constant"));
    }
    function.attrs.push(parse_quote!(#[allow(unused)]));
    function.body = Group::new(Delimiter::Brace, quote!(loop {}));
    function.into_token_stream()
}

/// A kernel that is an `unsafe fn`.
fn read(function: &mut Function, instance: &Instance) -> Result<Kernel> {
    let hints = LaunchHints::take(&mut function.attrs)?;
    let parameters = function.inputs.iter_mut().map(read_parameter).collect::<Result<Vec<_>>>()?;
    let passed = parameters.iter().enumerate().map(|(index, parameter)| {
        let argument = argument(index);
        match parameter {
            Parameter { by_reference: true, borrowed: false, ty, .. } => {
                quote_spanned!(ty.span()=> *#argument)
            }
            _ => quote!(#argument),
        }
    });
    let (call, arguments) = (&function.ident, instance.arguments());
    Ok(Kernel {
        call: quote!(#call #arguments (#(#passed),*)),
        checks: copy_checks(&parameters),
        signature: parameters.iter().map(|p| with_static_lifetimes(&p.ty)).collect(),
        parameters,
        hints,
        device_marks: TokenStream::new(),
        host_items: TokenStream::new(),
        cuda_std: crate_path::find("cuda_std"),
    })
}

/// A parameter of the device's entry.
pub(crate) fn argument(index: usize) -> Ident {
    format_ident!("__warpsmith_p{index}")
}

fn check_signature(function: &Function) -> Result<()> {
    if let ReturnType::Type(_, ty) = &function.output
        && !matches!(&**ty, Type::Tuple(unit) if unit.elems.is_empty())
    {
        return Err(Error::new_spanned(
            ty,
            "a kernel returns nothing: take a pointer such as `out: *mut f32` and write the result there",
        ));
    }
    if let Some(token) = &function.asyncness {
        return Err(Error::new(token.span(), "a kernel cannot be `async`"));
    }
    if let Some(token) = &function.constness {
        return Err(Error::new(token.span(), "a kernel cannot be `const`"));
    }
    Ok(())
}

fn read_parameter(input: &mut Input) -> Result<Parameter> {
    let (Some(ty), false) = (&input.ty, input.is_receiver()) else {
        return Err(Error::new(
            input.pattern.span(),
            "a kernel is a free function: pass the fields that it needs, or a `Copy` struct by value",
        ));
    };
    let name = input.name().map_or_else(|| input.pattern.to_string(), |name| name.to_string());
    let marks = input.attrs.len();
    input.attrs.retain(|attribute| !attribute.path().is_ident("grid_constant"));
    if input.attrs.len() == marks {
        let (by_reference, ty) = (by_reference(ty)?, ty.clone());
        return Ok(Parameter { name, by_reference, borrowed: false, ty, passing: None });
    }
    match ty {
        Type::Reference(reference) if reference.mutability.is_none() && by_reference(&reference.elem)? => {
            let ty = (*reference.elem).clone();
            Ok(Parameter { name, by_reference: true, borrowed: true, ty, passing: None })
        }
        other => Err(Error::new_spanned(
            other,
            "a `#[grid_constant]` parameter is a shared reference to a struct, as in `map: &TensorMap`: the launch passes \
             the struct by value, and the kernel gets the address at which the parameter lies",
        )),
    }
}

/// Whether the device entry takes this parameter by reference: everything whose registers rustc's own ABI would
/// choose. Scalars, pointers and slices look the same in the LLVM function as in the source.
pub(crate) fn by_reference(ty: &Type) -> Result<bool> {
    const SCALARS: [&str; 16] = [
        "bool", "char", "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128",
        "isize", "f32", "f64",
    ];
    match ty {
        Type::Paren(inner) => by_reference(&inner.elem),
        Type::Group(inner) => by_reference(&inner.elem),
        Type::Reference(reference) => {
            let mut pointee = &*reference.elem;
            while let Type::Group(inner) = pointee {
                pointee = &inner.elem;
            }
            if reference.mutability.is_some() {
                return Err(Error::new_spanned(
                    ty,
                    "a kernel cannot take `&mut`, since all threads would hold it at once: take a raw pointer such as \
                     `*mut f32` and let each thread write its own part",
                ));
            }
            if matches!(pointee, Type::TraitObject(_)) || is_path(pointee, "str") {
                return Err(Error::new_spanned(
                    ty,
                    "of the wide pointers only slices can be passed to a kernel: take `&[u8]` for text, or a `Copy` type",
                ));
            }
            Ok(false)
        }
        Type::Ptr(pointer) => match &*pointer.elem {
            Type::Slice(_) | Type::TraitObject(_) => Err(Error::new_spanned(
                ty,
                "a kernel cannot take a wide raw pointer: take a pointer to the first element and a length, or `&[T]`",
            )),
            _ => Ok(false),
        },
        Type::BareFn(_) => Err(Error::new_spanned(
            ty,
            "a function pointer of the host has no meaning on the GPU: pass a number and `match` on it in the kernel",
        )),
        Type::ImplTrait(_) => Err(Error::new_spanned(
            ty,
            "a kernel's parameter names its type: write `T` for it, and list the instances, as in `#[kernel(T = [f32, f64])]`",
        )),
        _ => Ok(!SCALARS.iter().any(|scalar| is_path(ty, scalar))),
    }
}

fn is_path(ty: &Type, name: &str) -> bool {
    matches!(ty, Type::Path(path) if path.qself.is_none() && path.path.is_ident(name))
}

/// `#[no_mangle]`, `#[export_name]` and their `unsafe(…)` forms: the entry carries the name.
fn is_export(attribute: &Attribute) -> bool {
    let path = if attribute.path().is_ident("unsafe") {
        match attribute.parse_args::<syn::Meta>() {
            Ok(meta) => meta.path().clone(),
            Err(_) => return false,
        }
    } else {
        attribute.path().clone()
    };
    path.is_ident("no_mangle") || path.is_ident("export_name")
}

/// The function that becomes the `.entry`, and beside it what the lowering needs to rebuild the PTX signature. Names
/// and types travel as text, sizes, alignments and kinds as numbers that rustc computed.
fn device_entry(entry: &Entry) -> TokenStream {
    let Entry { kernel, name, generics: lifetimes, .. } = entry;
    let Kernel { parameters, hints, call, device_marks, checks, cuda_std, .. } = kernel;
    let (mut declared, mut layouts) = (Vec::new(), Vec::new());
    let mut text = String::new();
    for (index, parameter) in parameters.iter().enumerate() {
        let Parameter { name, ty, by_reference, .. } = parameter;
        let argument = argument(index);
        declared.push(if *by_reference { quote!(#argument: &#ty) } else { quote!(#argument: #ty) });
        let ty = with_static_lifetimes(ty);
        layouts.push(match cuda_std {
            Some(cuda_std) => {
                let passing = parameter.passing(cuda_std, &ty);
                quote!(#cuda_std::__device::describe!(#ty, #by_reference, #passing))
            }
            None => quote! {[
                ::core::mem::size_of::<#ty>() as ::core::primitive::u64,
                ::core::mem::align_of::<#ty>() as ::core::primitive::u64,
                __WarpsmithProbe::<#ty>::CODE,
                #by_reference as ::core::primitive::u64,
            ]},
        });
        text.push_str(&format!("{name}\t{}\n", type_text(&ty)));
    }
    let probe = if cuda_std.is_some() { TokenStream::new() } else { probe() };
    let text = Literal::byte_string(text.as_bytes());
    let hints = hints.numbers();
    let (entry, layout, names, bounds) = (
        format!("warpsmith.entry.{name}"),
        format!("warpsmith.layout.{name}"),
        format!("warpsmith.names.{name}"),
        format!("warpsmith.bounds.{name}"),
    );
    let count = parameters.len();
    quote! {
        #[allow(non_upper_case_globals)]
        const _: () = {
            #checks
            #probe
            #device_marks
            #[unsafe(export_name = #entry)]
            unsafe fn __warpsmith_entry #lifetimes (#(#declared),*) {
                // SAFETY: the caller's promise is the kernel's own.
                unsafe { #call }
            }
            #[used]
            #[unsafe(export_name = #layout)]
            static __warpsmith_layout: [[::core::primitive::u64; 4]; #count] = [#(#layouts),*];
            #[used]
            #[unsafe(export_name = #names)]
            static __warpsmith_names: [::core::primitive::u8; #text.len()] = *#text;
            #[used]
            #[unsafe(export_name = #bounds)]
            static __warpsmith_bounds: [::core::primitive::u32; 9] = #hints;
        };
    }
}

/// `cuda_std::__device::Probe` once more, for a crate that has no path to it.
fn probe() -> TokenStream {
    // No name of a user's own.
    quote! {
        #[allow(dead_code)]
        struct __WarpsmithProbe<T>(::core::marker::PhantomData<T>);
        #[allow(dead_code)]
        trait __WarpsmithOtherwise {
            const CODE: ::core::primitive::u64 = 0;
        }
        impl<T> __WarpsmithOtherwise for __WarpsmithProbe<T> {}
        macro_rules! __warpsmith_codes {
            ($($code:literal: $($ty:ident),*;)*) => {
                $($(#[allow(dead_code)] impl __WarpsmithProbe<::core::primitive::$ty> { const CODE: ::core::primitive::u64 = $code; })*)*
            };
        }
        __warpsmith_codes! {
            1: u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize, char;
            2: bool;
            3: f32;
            4: f64;
        }
        #[allow(dead_code)]
        impl<T> __WarpsmithProbe<*const T> { const CODE: ::core::primitive::u64 = 5; }
        #[allow(dead_code)]
        impl<T> __WarpsmithProbe<*mut T> { const CODE: ::core::primitive::u64 = 5; }
        #[allow(dead_code)]
        impl<T> __WarpsmithProbe<&T> { const CODE: ::core::primitive::u64 = 5; }
        #[allow(dead_code)]
        impl<T> __WarpsmithProbe<&[T]> { const CODE: ::core::primitive::u64 = 6; }
    }
}

/// One call for each parameter, so that rustc itself points at the parameter whose type is not `Copy`.
fn copy_checks(parameters: &[Parameter]) -> TokenStream {
    let checks = parameters.iter().map(|Parameter { ty, .. }| {
        let checked = with_static_lifetimes(ty);
        quote_spanned!(ty.span()=> kernel_parameters_are_copied_to_the_device::<#checked>();)
    });
    quote! {
        const fn kernel_parameters_are_copied_to_the_device<T: ::core::marker::Copy>() {}
        #(#checks)*
    }
}

pub(crate) fn plain_name(ident: &Ident) -> String {
    ident.to_string().trim_start_matches("r#").to_owned()
}

pub(crate) fn type_text(ty: &Type) -> String {
    let mut text = ty.to_token_stream().to_string();
    for (from, to) in [
        ("& ", "&"),
        ("&'static ", "&"),
        (" :: ", "::"),
        (":: ", "::"),
        (" < ", "<"),
        (" >", ">"),
        ("* ", "*"),
        (" ;", ";"),
        (" ,", ","),
    ] {
        text = text.replace(from, to);
    }
    text
}

pub(crate) fn with_static_lifetimes(ty: &Type) -> Type {
    struct Static;
    impl VisitMut for Static {
        fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
            *lifetime = Lifetime::new("'static", Span::call_site());
        }
        fn visit_type_reference_mut(&mut self, reference: &mut syn::TypeReference) {
            syn::visit_mut::visit_type_reference_mut(self, reference);
            reference.lifetime.get_or_insert_with(|| Lifetime::new("'static", Span::call_site()));
        }
    }
    let mut ty = ty.clone();
    Static.visit_type_mut(&mut ty);
    ty
}
