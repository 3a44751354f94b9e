//! Points mathematics at the device's own: calls of the crate `libm`, LLVM's intrinsics that NVPTX cannot select, the
//! remainder of floats, and conversions of 128-bit integers all become `cuda_std`'s functions, most of which the device
//! build knows by libdevice's names.

use crate::bitcode::names;
use crate::llvm::{Builder, Context, Module, Opcode, Type, TypeKind, Value};

/// `libm` functions that are one instruction, and the intrinsic that is it. `f64` has the plain name.
const NATIVE: [(&str, &str); 10] = [
    ("sqrt", "llvm.sqrt"),
    ("fabs", "llvm.fabs"),
    ("floor", "llvm.floor"),
    ("ceil", "llvm.ceil"),
    ("trunc", "llvm.trunc"),
    ("rint", "llvm.rint"),
    ("roundeven", "llvm.rint"),
    ("copysign", "llvm.copysign"),
    ("fma", "llvm.fma"),
    ("round", "llvm.round"),
];

/// Re-points `libm`.
pub fn override_libm(module: &Module<'_>) {
    for function in module.functions() {
        let name = names::of(function);
        let Some(name) = name.strip_prefix("libm::") else { continue };
        // `libm::math::sqrtf::sqrtf` and `libm::libm_helper…`: the last part is the C name.
        let name = name.rsplit("::").next().unwrap_or(name).to_owned();
        if !function.is_used() {
            continue;
        }
        if let Some(target) = replacement(module, &name, function) {
            function.replace_all_uses(target);
        }
    }
}

fn replacement(module: &Module<'_>, name: &str, function: Value) -> Option<Value> {
    let ty = function.value_type();
    let of = |stem: &str, suffix: &str| -> Option<Value> {
        let (_, intrinsic) = NATIVE.iter().find(|(native, _)| *native == stem)?;
        Some(module.declare(&format!("{intrinsic}.{suffix}"), ty))
    };
    let native = match ty.return_type().kind() {
        TypeKind::Double => of(name, "f64"),
        TypeKind::Float => name.strip_suffix('f').and_then(|stem| of(stem, "f32")),
        _ => None,
    };
    native.or_else(|| {
        module.function(&format!("__nv_{name}")).filter(|f| !f.is_declaration() && f.value_type() == ty)
    })
}

/// Replaces the intrinsics that the back end cannot select, and `frem`.
pub fn replace_unselectable(context: &Context, module: &Module<'_>) {
    const UNSELECTABLE: [&str; 18] = [
        "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "exp2", "exp10", "log",
        "log2", "log10", "pow", "atan2", "ldexp",
    ];
    for function in module.functions() {
        let name = function.name();
        let Some((stem, suffix)) = name.strip_prefix("llvm.").and_then(|n| n.split_once('.')) else {
            continue;
        };
        if !UNSELECTABLE.contains(&stem) || !function.is_used() {
            continue;
        }
        let own = match suffix {
            "f32" => format!("__nv_{stem}f"),
            "f64" => format!("__nv_{stem}"),
            _ => continue,
        };
        if let Some(target) =
            module.function(&own).filter(|f| !f.is_declaration() && f.value_type() == function.value_type())
        {
            function.replace_all_uses(target);
        }
    }
    for function in module.functions() {
        for operation in function.instructions() {
            if operation.opcode() != Opcode::FRem {
                continue;
            }
            let name = if operation.ty() == context.float() {
                "__nv_fmodf"
            } else if operation.ty() == context.double() {
                "__nv_fmod"
            } else {
                continue;
            };
            let Some(target) = module.function(name).filter(|f| !f.is_declaration()) else { continue };
            let arguments = [operation.operand(0), operation.operand(1)];
            let call = Builder::before(operation).call(target.value_type(), target, &arguments);
            operation.replace_all_uses(call);
            operation.erase();
        }
    }
    wide_conversions(context, module);
    half_conversions(context, module);
}

/// Conversions between floats and 128-bit integers become calls of `cuda_std`'s: `__warpsmith_f32_to_i128` and its kin.
fn wide_conversions(context: &Context, module: &Module<'_>) {
    let float = |ty: Type| match ty {
        ty if ty == context.float() => Some("f32"),
        ty if ty == context.double() => Some("f64"),
        _ => None,
    };
    let integer = |ty: Type| ty.kind() == TypeKind::Integer && ty.int_width() == 128;
    for function in module.functions() {
        for operation in function.instructions() {
            let name = match operation.opcode() {
                Opcode::SiToFp | Opcode::UiToFp if integer(operation.operand(0).ty()) => {
                    let Some(to) = float(operation.ty()) else { continue };
                    let sign = if operation.opcode() == Opcode::SiToFp { 'i' } else { 'u' };
                    format!("__warpsmith_{sign}128_to_{to}")
                }
                Opcode::Call if integer(operation.ty()) => {
                    // Rust's `as`; the unsaturated instructions come of `to_int_unchecked` alone.
                    let called =
                        operation.called().and_then(Value::as_function).map(Value::name).unwrap_or_default();
                    let sign = match called.strip_prefix("llvm.fpto") {
                        Some(rest) if rest.starts_with("si.sat.i128.") => 'i',
                        Some(rest) if rest.starts_with("ui.sat.i128.") => 'u',
                        _ => continue,
                    };
                    let Some(from) = float(operation.operand(0).ty()) else { continue };
                    format!("__warpsmith_{from}_to_{sign}128")
                }
                Opcode::FpToSi | Opcode::FpToUi if integer(operation.ty()) => {
                    let Some(from) = float(operation.operand(0).ty()) else { continue };
                    let sign = if operation.opcode() == Opcode::FpToSi { 'i' } else { 'u' };
                    format!("__warpsmith_{from}_to_{sign}128")
                }
                _ => continue,
            };
            let Some(target) = module.function(&name).filter(|f| !f.is_declaration()) else { continue };
            let call = Builder::before(operation).call(target.value_type(), target, &[operation.operand(0)]);
            operation.replace_all_uses(call);
            operation.erase();
        }
    }
}

/// `half` converts in software; the device has instructions.
fn half_conversions(context: &Context, module: &Module<'_>) {
    use crate::llvm::Cast::{Bits, FpExt, FpTrunc};
    let (bits, half, float, double) = (context.int(16), context.half(), context.float(), context.double());
    for function in module.functions() {
        let name = names::of(function);
        let Some(name) = name.strip_prefix("half::").and_then(|n| n.rsplit("::").next()) else { continue };
        let (narrow, wide, widens) = match name {
            "f16_to_f32_fallback" => (half, float, true),
            "f16_to_f64_fallback" => (half, double, true),
            "f32_to_f16_fallback" => (half, float, false),
            "f64_to_f16_fallback" => (half, double, false),
            _ => continue,
        };
        let expected = if widens { wide.function(&[bits]) } else { bits.function(&[wide]) };
        if function.value_type() != expected {
            continue;
        }
        let own_name = format!("warpsmith_{name}");
        if let Some(own) = module.function(&own_name) {
            function.replace_all_uses(own);
            continue;
        }
        let own = module.add_function(&own_name, expected);
        own.set_linkage(crate::llvm::Linkage::Internal);
        own.add_enum_attribute(crate::llvm::At::Function, "alwaysinline", 0);
        let build = Builder::at_end(own.append_block("start"));
        let value = own.parameter(0);
        let result = if widens {
            build.cast(FpExt, build.cast(Bits, value, narrow), wide)
        } else {
            build.cast(Bits, build.cast(FpTrunc, value, narrow), bits)
        };
        build.return_value(result);
        function.replace_all_uses(own);
    }
}
