//! `ptx!`: inline PTX on stable Rust.
//!
//! A call becomes a call of a foreign function whose link name carries the text, the options and the operands' types:
//! `ptx:OPTIONS|OPERANDS|TEMPLATE`, and `blockwise:ptx:…` for `cuda_std::__blockwise_ptx!`, which a kernel without `unsafe`
//! may reach. Options are the letters `p` (pure), `n` (nomem), `c` (convergent). Operands are
//! separated by commas, each `i:TYPE` (in, by value), `o:TYPE` (out, by pointer), `x:TYPE` (in and out, by pointer) or
//! `n` (a constant, passed as `i64`). In the template `{0}` names operand 0, and doubled braces are braces.

use crate::function::expression;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Error, Expr, ExprLit, ExprMacro, Lit, Result, Token, Type, parenthesized, token};

const TYPES: [&str; 11] = ["u16", "i16", "f16", "bf16", "u32", "i32", "f32", "u64", "i64", "f64", "ptr"];

pub fn expand(tokens: TokenStream) -> TokenStream {
    syn::parse2::<InlinePtx>(tokens).and_then(|ptx| ptx.expand()).unwrap_or_else(Error::into_compile_error)
}

enum Kind {
    In(String),
    Out(String),
    InOut(String),
    Constant,
}

struct Operand {
    name: Option<Ident>,
    kind: Kind,
    value: TokenStream,
    span: Span,
}

#[derive(Default)]
struct Options {
    pure: bool,
    nomem: bool,
    convergent: bool,
}

struct InlinePtx {
    /// The path of `cuda_std`, as `$crate` of `ptx!`.
    cuda_std: TokenStream,
    /// Whether kernels without `unsafe` may reach it.
    blockwise: bool,
    template: String,
    template_span: Span,
    operands: Vec<Operand>,
    options: Options,
}

impl Parse for InlinePtx {
    fn parse(input: ParseStream) -> Result<Self> {
        let path;
        parenthesized!(path in input);
        let cuda_std = path.parse()?;
        let blockwise = input.peek(Token![@]);
        if blockwise {
            input.parse::<Token![@]>()?;
        }
        let template_span = input.span();
        let mut lines = Vec::new();
        let (mut operands, mut options) = (Vec::new(), Options::default());
        while !input.is_empty() {
            if is_options(input) {
                options = parse_options(input)?;
            } else if operands.is_empty() && is_text(input) {
                lines.push(text(&input.parse()?)?);
            } else {
                operands.extend(parse_operand(input)?);
            }
            if input.is_empty() {
                break;
            }
            if input.peek(Token![;]) {
                input.parse::<Token![;]>()?;
            } else {
                input.parse::<Token![,]>()?;
            }
        }
        if lines.is_empty() {
            return Err(Error::new(
                template_span,
                "the PTX text comes first: `ptx!(\"add.u32 {d}, {a}, {b};\", …)`",
            ));
        }
        Ok(Self { cuda_std, blockwise, template: lines.join("\n"), template_span, operands, options })
    }
}

fn is_options(input: ParseStream) -> bool {
    input.peek(token::Paren) || {
        let fork = input.fork();
        fork.parse::<Ident>().is_ok_and(|ident| ident == "options") && fork.peek(token::Paren)
    }
}

/// Text is a string literal, `concat!` or `stringify!`; a literal that a `macro_rules!` passed on is in an invisible
/// group, which `syn` shows as an expression.
fn is_text(input: ParseStream) -> bool {
    input.fork().parse::<Expr>().is_ok_and(|expression| text(&expression).is_ok())
}

fn text(expression: &Expr) -> Result<String> {
    match expression {
        Expr::Group(group) => text(&group.expr),
        Expr::Paren(paren) => text(&paren.expr),
        Expr::Lit(ExprLit { lit, .. }) => match lit {
            Lit::Str(text) => Ok(text.value()),
            Lit::Int(number) => Ok(number.base10_digits().to_owned()),
            Lit::Bool(value) => Ok(value.value.to_string()),
            _ => Err(Error::new(lit.span(), "expected text")),
        },
        Expr::Macro(ExprMacro { mac, .. }) if mac.path.is_ident("concat") => {
            let parts = mac.parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated)?;
            parts.iter().map(text).collect()
        }
        Expr::Macro(ExprMacro { mac, .. }) if mac.path.is_ident("stringify") => Ok(mac.tokens.to_string()),
        other => {
            Err(Error::new(other.span(), "the PTX text must be a string literal, `concat!` or `stringify!`"))
        }
    }
}

fn parse_options(input: ParseStream) -> Result<Options> {
    if input.peek(syn::Ident) {
        input.parse::<Ident>()?;
    }
    let list;
    parenthesized!(list in input);
    let mut options = Options::default();
    for name in Punctuated::<Ident, Token![,]>::parse_terminated(&list)? {
        match name.to_string().as_str() {
            "pure" => options.pure = true,
            "nomem" => options.nomem = true,
            "convergent" => options.convergent = true,
            other => {
                let message =
                    format!("no option is named `{other}`; there are `pure`, `nomem` and `convergent`");
                return Err(Error::new(name.span(), message));
            }
        }
    }
    Ok(options)
}

/// One operand, or one for each element of an array: they share its name, and the name stands for all of them.
fn parse_operand(input: ParseStream) -> Result<Vec<Operand>> {
    let name = if input.peek(syn::Ident) && input.peek2(Token![=]) {
        let name: Ident = input.parse()?;
        input.parse::<Token![=]>()?;
        Some(name)
    } else {
        None
    };
    let span = input.span();
    let what = if input.peek(Token![in]) {
        input.parse::<Token![in]>()?;
        "in".to_owned()
    } else {
        input.parse::<Ident>().map(|ident| ident.to_string()).unwrap_or_default()
    };
    let expected = "an operand is `name = in(TYPE) value`, `name = out(TYPE) place`, `name = inout(TYPE) place` or \
                    `name = imm(constant)`";
    if what == "imm" || what == "const" {
        let value;
        parenthesized!(value in input);
        return Ok(vec![Operand { name, kind: Kind::Constant, value: expression(&value)?, span }]);
    }
    if !input.peek(token::Paren) {
        return Err(Error::new(span, expected));
    }
    let ty;
    parenthesized!(ty in input);
    let ty_span = ty.span();
    let (ty, count) = match ty.parse::<Type>()? {
        Type::Array(array) => {
            let Expr::Lit(ExprLit { lit: Lit::Int(count), .. }) = ungrouped(&array.len) else {
                return Err(Error::new(array.len.span(), "the length of an array operand is a number"));
            };
            if name.is_none() {
                return Err(Error::new(
                    ty_span,
                    "an array operand has a name: `sums = inout([f32; 4]) sums`",
                ));
            }
            (quote_type(&array.elem), Some(count.base10_parse::<usize>()?))
        }
        ty => (quote_type(&ty), None),
    };
    if !TYPES.contains(&ty.as_str()) {
        let message = format!("`{ty}` cannot be a PTX operand; the types are {}", TYPES.join(", "));
        return Err(Error::new(ty_span, message));
    }
    let kind = |ty| match what.as_str() {
        "in" => Ok(Kind::In(ty)),
        "out" => Ok(Kind::Out(ty)),
        "inout" => Ok(Kind::InOut(ty)),
        _ => Err(Error::new(span, expected)),
    };
    let value = expression(input)?;
    let Some(count) = count else {
        return Ok(vec![Operand { name, kind: kind(ty)?, value, span }]);
    };
    let element = |index: usize| {
        let value = quote_spanned!(value.span()=> #value[#index]);
        Ok(Operand { name: name.clone(), kind: kind(ty.clone())?, value, span })
    };
    (0..count).map(element).collect()
}

fn ungrouped(expression: &Expr) -> &Expr {
    match expression {
        Expr::Group(group) => ungrouped(&group.expr),
        other => other,
    }
}

fn quote_type(ty: &Type) -> String {
    quote!(#ty).to_string().replace(' ', "")
}

impl InlinePtx {
    fn expand(&self) -> Result<TokenStream> {
        if self.options.pure && !self.operands.iter().any(|o| matches!(o.kind, Kind::Out(_) | Kind::InOut(_)))
        {
            return Err(Error::new(
                self.template_span,
                "`pure` PTX without a result does nothing: drop `pure`, or add an `out` operand",
            ));
        }
        let template = self.numbered_template()?;
        let mark = if self.blockwise { "blockwise:ptx:" } else { "ptx:" };
        let link_name = format!("{mark}{}|{}|{template}", self.option_letters(), self.operand_codes());
        if link_name.contains('\0') {
            return Err(Error::new(self.template_span, "the PTX text must not contain a NUL character"));
        }
        let device = self.device(&link_name);
        let host = self.host();
        // Bound once in both builds, so that an operand's type is checked by `cargo check` as by the device build.
        Ok(quote! {{
            #[cfg(target_os = "cuda")]
            { #device }
            #[cfg(not(target_os = "cuda"))]
            { #host }
        }})
    }

    fn device(&self, link_name: &str) -> TokenStream {
        let cuda_std = &self.cuda_std;
        let (mut declared, mut before, mut passed, mut after) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (index, operand) in self.operands.iter().enumerate() {
            let (argument, value) = (format_ident!("operand{index}"), &operand.value);
            match &operand.kind {
                Kind::In(ty) => {
                    let (rust, bound) = (self.rust_type(ty), self.bind_input(ty, value));
                    before.push(quote!(let #argument: #rust = #bound;));
                    declared.push(quote!(#argument: #rust));
                    passed.push(quote!(#argument));
                }
                Kind::Out(ty) => {
                    let (rust, back) = (self.rust_type(ty), pointer_cast(ty));
                    before.push(quote!(let mut #argument = ::core::mem::MaybeUninit::<#rust>::uninit();));
                    declared.push(quote!(#argument: *mut #rust));
                    passed.push(quote!(#argument.as_mut_ptr()));
                    after.push(quote!(#value = #argument.assume_init() #back;));
                }
                Kind::InOut(ty) => {
                    let (rust, bound, back) =
                        (self.rust_type(ty), self.bind_input(ty, value), pointer_cast(ty));
                    before.push(quote!(let mut #argument: #rust = #bound;));
                    declared.push(quote!(#argument: *mut #rust));
                    passed.push(quote!(&raw mut #argument));
                    after.push(quote!(#value = #argument #back;));
                }
                Kind::Constant => {
                    declared.push(quote!(#argument: i64));
                    passed.push(quote!(const { (#value) as i64 }));
                }
            }
        }
        quote! {
            #[allow(improper_ctypes)]
            unsafe extern "Rust" {
                #[link_name = #link_name]
                fn inline_ptx(#(#declared),*);
            }
            #(#before)*
            #cuda_std::__device::unsafe_inline_ptx();
            inline_ptx(#(#passed),*);
            #(#after)*
        }
    }

    /// The same operands with the same types, and a panic in place of the instructions.
    fn host(&self) -> TokenStream {
        let cuda_std = &self.cuda_std;
        let mut statements = Vec::new();
        let mut results = Vec::new();
        for (index, operand) in self.operands.iter().enumerate() {
            let (argument, value) = (format_ident!("operand{index}"), &operand.value);
            match &operand.kind {
                Kind::In(ty) | Kind::InOut(ty) => {
                    let (rust, bound) = (self.rust_type(ty), self.bind_input(ty, value));
                    statements.push(quote!(let #argument: #rust = #bound; let _ = #argument;));
                }
                Kind::Out(_) => {}
                Kind::Constant => statements.push(quote!(let _ = const { (#value) as i64 };)),
            }
            if let Kind::Out(ty) | Kind::InOut(ty) = &operand.kind {
                let (rust, back) = (self.rust_type(ty), pointer_cast(ty));
                results.push(
                    quote!(#value = #cuda_std::__device::only_on_the_gpu::<#rust>("inline PTX") #back;),
                );
            }
        }
        if results.is_empty() {
            results.push(quote!(#cuda_std::__device::only_on_the_gpu::<()>("inline PTX");));
        }
        quote!(#(#statements)* #cuda_std::__device::unsafe_inline_ptx(); #(#results)*)
    }

    fn bind_input(&self, ty: &str, value: &TokenStream) -> TokenStream {
        match ty {
            "ptr" => quote_spanned!(value.span()=> (#value) as *const _ as *const ()),
            _ => quote_spanned!(value.span()=> #value),
        }
    }

    fn rust_type(&self, ty: &str) -> TokenStream {
        let cuda_std = &self.cuda_std;
        match ty {
            "f16" => quote!(#cuda_std::__device::f16),
            "bf16" => quote!(#cuda_std::__device::bf16),
            "ptr" => quote!(*const ()),
            scalar => {
                let scalar = Ident::new(scalar, Span::call_site());
                quote!(::core::primitive::#scalar)
            }
        }
    }

    fn option_letters(&self) -> String {
        let Options { pure, nomem, convergent } = self.options;
        [(pure, 'p'), (nomem, 'n'), (convergent, 'c')]
            .into_iter()
            .filter(|(set, _)| *set)
            .map(|(_, letter)| letter)
            .collect()
    }

    fn operand_codes(&self) -> String {
        let codes = self.operands.iter().map(|operand| match &operand.kind {
            Kind::In(ty) => format!("i:{ty}"),
            Kind::Out(ty) => format!("o:{ty}"),
            Kind::InOut(ty) => format!("x:{ty}"),
            Kind::Constant => "n".to_owned(),
        });
        codes.collect::<Vec<_>>().join(",")
    }

    /// The template with each operand's number in place of its name. Every operand must be used, and every name known.
    fn numbered_template(&self) -> Result<String> {
        let error = |message: String| Error::new(self.template_span, message);
        let mut used = vec![false; self.operands.len()];
        let (mut result, mut positional) = (String::new(), 0);
        let mut rest = self.template.chars().peekable();
        while let Some(c) = rest.next() {
            match c {
                '{' if rest.peek() == Some(&'{') => {
                    rest.next();
                    result.push_str("{{");
                }
                '}' if rest.peek() == Some(&'}') => {
                    rest.next();
                    result.push_str("}}");
                }
                '{' => {
                    let name: String = rest.by_ref().take_while(|c| *c != '}').collect();
                    let indices = if name.is_empty() {
                        positional += 1;
                        vec![positional - 1]
                    } else if let Ok(number) = name.parse::<usize>() {
                        vec![number]
                    } else {
                        let named = |o: &Operand| o.name.as_ref().is_some_and(|n| *n == name);
                        (0..self.operands.len()).filter(|&index| named(&self.operands[index])).collect()
                    };
                    if indices.is_empty() {
                        return Err(error(format!(
                            "no operand is named `{name}`; write `{{{{` and `}}}}` for braces of PTX"
                        )));
                    }
                    for index in &indices {
                        *used
                            .get_mut(*index)
                            .ok_or_else(|| error(format!("there is no operand number {index}")))? = true;
                    }
                    let places: Vec<String> = indices.iter().map(|index| format!("{{{index}}}")).collect();
                    result.push_str(&places.join(", "));
                }
                '}' => return Err(error("unmatched `}`: write `}}` for a brace of PTX".to_owned())),
                c => result.push(c),
            }
        }
        match used.iter().position(|used| !used) {
            Some(index) => {
                Err(Error::new(self.operands[index].span, "this operand is not used in the PTX text"))
            }
            None => Ok(result),
        }
    }
}

fn pointer_cast(ty: &str) -> TokenStream {
    if ty == "ptr" { quote!(as *mut _) } else { TokenStream::new() }
}
