//! Calls made by `ptx!` become inline assembly. The link name is described in `cuda_std_macros`, `ptx.rs`.

use crate::bitcode::{marks, names, refuse};
use crate::llvm::{Builder, Context, Module, Opcode, Type, Value};

enum Operand {
    In(&'static str),
    Out(&'static str, Type),
    InOut(&'static str, Type),
    Constant,
}

pub fn resolve(context: &Context, module: &Module<'_>) -> Result<(), String> {
    for function in module.functions() {
        let link_name = function.name();
        let mark = link_name.strip_prefix(marks::BLOCKWISE).unwrap_or(&link_name);
        let Some(description) = mark.strip_prefix(marks::PTX) else { continue };
        for call in function.users() {
            if call.as_instruction().is_none()
                || !matches!(call.opcode(), Opcode::Call)
                || call.called() != Some(function)
            {
                return Err("inline PTX can only be called".to_owned());
            }
            replace_call(context, call, description)
                .map_err(|e| format!("inline PTX in `{}`: {e}", names::of(call.function())))?;
            call.erase();
        }
        function.delete_function();
    }
    Ok(())
}

fn replace_call(context: &Context, call: Value, description: &str) -> Result<(), String> {
    let mut parts = description.splitn(3, '|');
    let (Some(options), Some(codes), Some(template)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(format!("`{description}` is not a form of this cuda_builder: use its cuda_std"));
    };
    let operands = codes
        .split(',')
        .filter(|c| !c.is_empty())
        .map(|c| operand(context, c))
        .collect::<Result<Vec<_>, _>>()?;
    let arguments = call.arguments();
    if arguments.len() != operands.len() {
        return Err("operands and arguments differ in number".to_owned());
    }
    let build = Builder::before(call);

    // LLVM numbers results first, then inputs; an inout operand is a result tied to an input of its own.
    let (mut results, mut inputs, mut tied) = (Vec::new(), Vec::new(), Vec::new());
    let (mut constraints, mut input_constraints) = (Vec::new(), Vec::new());
    let mut stores = Vec::new();
    let mut places = vec![Substitute::Number(0); operands.len()];
    for (index, (operand, argument)) in operands.iter().zip(&arguments).enumerate() {
        if let Operand::Out(letter, ty) | Operand::InOut(letter, ty) = operand {
            places[index] = Substitute::Number(results.len());
            if matches!(operand, Operand::InOut(..)) {
                tied.push((results.len(), build.load(*ty, *argument, 1)));
            }
            constraints.push(format!("={letter}"));
            results.push(*ty);
            stores.push(*argument);
        }
    }
    for (index, (operand, argument)) in operands.iter().zip(&arguments).enumerate() {
        match operand {
            Operand::In(letter) => {
                places[index] = Substitute::Number(results.len() + inputs.len());
                input_constraints.push((*letter).to_owned());
                inputs.push(*argument);
            }
            Operand::Constant => {
                let value = argument.as_int().ok_or("an `imm` operand is not a constant here")?;
                places[index] = Substitute::Text(value.to_string());
            }
            _ => {}
        }
    }
    for (result, value) in tied {
        input_constraints.push(result.to_string());
        inputs.push(value);
    }
    constraints.extend(input_constraints);
    let (pure, nomem, convergent) = (options.contains('p'), options.contains('n'), options.contains('c'));
    if !nomem {
        constraints.push("~{memory}".to_owned());
    }

    let result = match results[..] {
        [] => context.void(),
        [only] => only,
        _ => context.structure(&results),
    };
    let parameters: Vec<Type> = inputs.iter().map(|v| v.ty()).collect();
    let text = assembly(template, &places)?;
    let asm = build.inline_asm(result.function(&parameters), &text, &constraints.join(","), !pure, &inputs);
    asm.add_call_attribute("nounwind");
    asm.add_call_string_attribute(refuse::OWN_ASSEMBLY);
    if convergent {
        asm.add_call_attribute("convergent");
    }
    for (index, place) in stores.into_iter().enumerate() {
        let value = if results.len() == 1 { asm } else { build.extract(asm, index as u32) };
        build.store(value, place, 1);
    }
    Ok(())
}

fn operand(context: &Context, code: &str) -> Result<Operand, String> {
    let Some((direction, ty)) = code.split_once(':') else {
        return if code == "n" { Ok(Operand::Constant) } else { Err(format!("unknown operand `{code}`")) };
    };
    let (letter, ty) = match ty {
        "u16" | "i16" | "f16" | "bf16" => ("h", context.int(16)),
        "u32" | "i32" => ("r", context.int(32)),
        "u64" | "i64" => ("l", context.int(64)),
        "f32" => ("f", context.float()),
        "f64" => ("d", context.double()),
        "ptr" => ("l", context.pointer(0)),
        other => return Err(format!("unknown operand type `{other}`")),
    };
    match direction {
        "i" => Ok(Operand::In(letter)),
        "o" => Ok(Operand::Out(letter, ty)),
        "x" => Ok(Operand::InOut(letter, ty)),
        _ => Err(format!("unknown operand `{code}`")),
    }
}

#[derive(Clone)]
enum Substitute {
    Number(usize),
    Text(String),
}

/// The template in LLVM's spelling: `$0` for an operand, `$$` for a dollar.
fn assembly(template: &str, places: &[Substitute]) -> Result<String, String> {
    let mut text = String::new();
    let mut rest = template.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '{' | '}' if rest.peek() == Some(&c) => {
                rest.next();
                text.push(c);
            }
            '{' => {
                let number: String = rest.by_ref().take_while(|c| *c != '}').collect();
                match number.parse::<usize>().ok().and_then(|n| places.get(n)) {
                    Some(Substitute::Number(n)) => text.push_str(&format!("${{{n}}}")),
                    Some(Substitute::Text(value)) => text.push_str(value),
                    None => return Err(format!("there is no operand `{number}`")),
                }
            }
            '$' => text.push_str("$$"),
            c => text.push(c),
        }
    }
    Ok(text)
}
