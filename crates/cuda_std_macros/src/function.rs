//! A function as an attribute sees it: its signature taken apart, its body as it stands.
//!
//! `syn` would take the body apart as well, by its feature "full". That is a third of the time in which `syn` itself compiles, for
//! which every cold device build waits, and makes every kernel's expansion slower.

use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use quote::{ToTokens, TokenStreamExt};
use syn::parse::{Parse, ParseStream};
use syn::{
    Abi, Attribute, Generics, Result, ReturnType, Token, Type, Visibility, WhereClause, parenthesized, token,
};

#[derive(Clone)]
pub struct Function {
    pub attrs: Vec<Attribute>,
    pub vis: Visibility,
    pub constness: Option<Token![const]>,
    pub asyncness: Option<Token![async]>,
    pub unsafety: Option<Token![unsafe]>,
    pub abi: Option<Abi>,
    pub fn_token: Token![fn],
    pub ident: Ident,
    pub generics: Generics,
    pub inputs: Vec<Input>,
    pub output: ReturnType,
    pub body: Group,
}

/// One of a function's parameters.
#[derive(Clone)]
pub struct Input {
    pub attrs: Vec<Attribute>,
    /// The part before the colon; a whole `&mut self`.
    pub pattern: TokenStream,
    /// None for a `self` that does not say it.
    pub ty: Option<Type>,
}

impl Parse for Function {
    fn parse(input: ParseStream) -> Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let vis = input.parse()?;
        let constness = input.parse()?;
        let asyncness = input.parse()?;
        let unsafety = input.parse()?;
        let abi = input.parse()?;
        let fn_token = input.parse()?;
        let ident = input.parse()?;
        let mut generics: Generics = input.parse()?;
        let list;
        parenthesized!(list in input);
        let mut inputs = Vec::new();
        while !list.is_empty() {
            inputs.push(list.parse()?);
            if !list.is_empty() {
                list.parse::<Token![,]>()?;
            }
        }
        let output = input.parse()?;
        generics.where_clause = input.parse::<Option<WhereClause>>()?;
        if !input.peek(token::Brace) {
            return Err(input.error("expected a function with a body"));
        }
        let body = input.parse()?;
        Ok(Self {
            attrs,
            vis,
            constness,
            asyncness,
            unsafety,
            abi,
            fn_token,
            ident,
            generics,
            inputs,
            output,
            body,
        })
    }
}

impl Parse for Input {
    fn parse(input: ParseStream) -> Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let mut pattern = TokenStream::new();
        while !input.is_empty() && !input.peek(Token![,]) {
            if input.peek(Token![::]) {
                input.parse::<Token![::]>()?.to_tokens(&mut pattern);
            } else if input.peek(Token![:]) {
                input.parse::<Token![:]>()?;
                return Ok(Self { attrs, pattern, ty: Some(input.parse()?) });
            } else {
                pattern.append(input.parse::<TokenTree>()?);
            }
        }
        Ok(Self { attrs, pattern, ty: None })
    }
}

impl Input {
    /// Whether it is `self`, in any of its forms.
    pub fn is_receiver(&self) -> bool {
        self.ty.is_none() || self.name().is_some_and(|name| name == "self")
    }

    /// The name of a parameter that is a name alone, mutable or not.
    pub fn name(&self) -> Option<Ident> {
        match &self.pattern.clone().into_iter().collect::<Vec<_>>()[..] {
            [TokenTree::Ident(name)] => Some(name.clone()),
            [TokenTree::Ident(mutable), TokenTree::Ident(name)] if mutable == "mut" => Some(name.clone()),
            _ => None,
        }
    }
}

impl Function {
    /// Everything between the visibility and the body.
    pub fn signature(&self) -> TokenStream {
        let Self { constness, asyncness, unsafety, abi, fn_token, ident, generics, inputs, output, .. } =
            self;
        let clause = &generics.where_clause;
        quote::quote!(#constness #asyncness #unsafety #abi #fn_token #ident #generics (#(#inputs),*) #output #clause)
    }
}

impl ToTokens for Function {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        tokens.append_all(&self.attrs);
        self.vis.to_tokens(tokens);
        tokens.extend(self.signature());
        self.body.to_tokens(tokens);
    }
}

impl ToTokens for Input {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        tokens.append_all(&self.attrs);
        self.pattern.to_tokens(tokens);
        if let Some(ty) = &self.ty {
            <Token![:]>::default().to_tokens(tokens);
            ty.to_tokens(tokens);
        }
    }
}

/// The tokens up to the next comma or semicolon of this level, as an expression for rustc to read.
pub fn expression(input: ParseStream) -> Result<TokenStream> {
    let mut tokens = TokenStream::new();
    while !input.is_empty() && !input.peek(Token![,]) && !input.peek(Token![;]) {
        if !input.peek(Token![::]) {
            tokens.append(input.parse::<TokenTree>()?);
            continue;
        }
        input.parse::<Token![::]>()?.to_tokens(&mut tokens);
        // The commas of `f::<A, B>` part no expressions.
        let mut open = 0;
        let mut arrow = false;
        while input.peek(Token![<]) || open > 0 {
            let token: TokenTree = input.parse()?;
            if let TokenTree::Punct(punct) = &token {
                match punct.as_char() {
                    '<' => open += 1,
                    '>' if !arrow => open -= 1,
                    _ => {}
                }
                arrow = punct.as_char() == '-';
            }
            tokens.append(token);
        }
    }
    if tokens.is_empty() { Err(input.error("expected an expression")) } else { Ok(tokens) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::quote;
    use syn::parse::Parser;

    #[test]
    fn functions_come_back_as_they_were() {
        let text = quote! {
            #[inline] #[cfg(all())] pub(crate) const async unsafe extern "C" fn f<'a, T: Copy, const N: usize>(
                #[x] mut a: &'a [T; N], (b, c): (u32, ::core::primitive::u8), [d, ..]: [u8; { 3 + 4 }]
            ) -> Result<(), !> where T: Clone, { #![allow(unused)] let x = a?; loop { yield x } }
        };
        let function: Function = syn::parse2(text.clone()).unwrap();
        assert_eq!(function.to_token_stream().to_string(), text.to_string());
        let names: Vec<_> = function.inputs.iter().map(|i| i.name().map(|n| n.to_string())).collect();
        assert_eq!(names, [Some("a".to_owned()), None, None]);
        for receiver in [quote!(self), quote!(&'a mut self), quote!(mut self: Box<Self>)] {
            let method: Function = syn::parse2(quote!(fn f(#receiver) {})).unwrap();
            assert!(method.inputs[0].is_receiver());
            assert_eq!(method.to_token_stream().to_string(), quote!(fn f(#receiver) {}).to_string());
        }
        for other in ["struct S;", "fn f();"] {
            assert!(syn::parse_str::<Function>(other).is_err(), "{other}");
        }
    }

    #[test]
    fn expressions_end_at_their_comma() {
        let parts = |input: ParseStream| {
            let mut parts = vec![expression(input)?.to_string()];
            while input.parse::<Option<Token![,]>>()?.is_some() {
                parts.push(expression(input)?.to_string());
            }
            Ok(parts)
        };
        let of = |text: TokenStream| parts.parse2(text).unwrap();
        assert_eq!(of(quote!(a < b, c > d)).len(), 2);
        assert_eq!(of(quote!(f::<A, fn(A, B) -> B>(x, y), Vec::<Vec<(A, B)>>::new(), { a, b })).len(), 3);
        assert_eq!(of(quote!(a::b::C - d, e)), [quote!(a::b::C - d).to_string(), "e".to_owned()]);
        assert!(parts.parse2(quote!(a,)).is_err());
    }
}
