//! Floats of kernels without `unsafe`: each operation has one result, wherever it is computed.
//!
//! LLVM may compute a value of the block more than once, on ways that different threads take: partial redundancy elimination
//! gives it to the threads that had it already, jump threading copies what stands between two branches. Then it folds one of
//! the copies. That is right as long as LLVM's rules leave an operation one result only. Where they leave several, threads may
//! get different ones, and part at the next branch, with a barrier behind it. So, before anything is copied:
//!
//! - Products and sums that may be fused are fused here, and neither keeps `contract`. So `mul.rn` is printed, which `ptxas` does
//!   not fuse either.
//! - Approximations become NVPTX's intrinsics, which nothing folds: LLVM folds an `fdiv` exactly.
//! - The minimum of 0 and −0 is −0, as hardware has it.
//! - Denormals are kept: where they are flushed LLVM may flush an operation or not.
//! - NaN's bits, which LLVM leaves open, are one pattern where they become an integer, or the sign of another float, on which a
//!   branch may depend. Arithmetic and comparisons do not depend on them. What was only moved keeps its bits, as Rust has it.

use crate::bitcode::float_modes::{self, APPROXIMATE, CONTRACT};
use crate::bitcode::{entry, marks};
use crate::llvm::{Binary, Builder, Cast, Context, Module, Opcode, TargetMachine, Type, TypeKind, Value};
use std::collections::HashSet;

/// LLVM's passes before products and sums are fused, and before it is asked which bits decide: closures are where they are called,
/// variables are values, and no value is computed a second time. They are those with which LLVM itself begins, in its order.
const INLINE: &str = "function(simplifycfg,sroa,early-cse),globalopt,function(instcombine<no-verify-fixpoint>,simplifycfg),\
                      always-inline,function(sroa)";

/// Leaves each operation of a kernel without `unsafe` one result. Without `machine` nothing is to be optimised. Returns what the user
/// should know.
pub fn settle(
    context: &Context,
    module: &Module<'_>,
    machine: Option<&TargetMachine>,
) -> Result<String, String> {
    let defined = || module.functions().into_iter().filter(|function| !function.is_declaration());
    let Some(kernel) = defined().find(|function| function.has_string_attribute(marks::WITHOUT_UNSAFE)) else {
        return Ok(String::new());
    };
    // Others are left as they are: LLVM orders what was inlined early in another way.
    if !defined().flat_map(Value::instructions).any(works_on_floats) {
        return Ok(String::new());
    }
    let flushes = float_modes::flushes_denormals(kernel);
    let name = kernel.name();
    let floats = Floats { context, module };
    for function in defined() {
        float_modes::keep_denormals(function);
        function.instructions().into_iter().for_each(|operation| floats.choose(operation));
    }
    if let Some(machine) = machine {
        machine.run_passes(module, INLINE)?;
    }
    for function in defined() {
        function.instructions().into_iter().for_each(|sum| floats.fuse(sum));
        function.instructions().into_iter().for_each(take_flags);
    }
    // Which bits are open is asked of the code as it was.
    let open: Vec<(Value, u32)> =
        defined().flat_map(Value::instructions).filter_map(|user| Some((user, sees_bits(user)?))).collect();
    for (user, operand) in open {
        floats.fix_bits(user, operand);
    }
    Ok(if flushes {
        format!(
            "the kernel `{name}` has no `unsafe`: its denormals are kept, for all threads alike, though `ftz` is asked for\n"
        )
    } else {
        String::new()
    })
}

struct Floats<'a, 'c> {
    context: &'c Context,
    module: &'a Module<'c>,
}

impl Floats<'_, '_> {
    /// Fuses a sum with one of its products, as the back end would.
    fn fuse(&self, sum: Value) {
        let subtracts = match sum.opcode() {
            Opcode::FAdd => false,
            Opcode::FSub => true,
            _ => return,
        };
        let fma = match sum.ty().kind() {
            TypeKind::Half => "llvm.fma.f16",
            TypeKind::Float => "llvm.fma.f32",
            TypeKind::Double => "llvm.fma.f64",
            _ => return,
        };
        let may = |value: Value| value.fast_math() & CONTRACT != 0;
        let is_product =
            |value: Value| value.as_instruction().is_some() && value.opcode() == Opcode::FMul && may(value);
        let (left, right) = (sum.operand(0), sum.operand(1));
        let uses = |value: Value| value.users().len();
        let from_left = match (may(sum) && is_product(left), may(sum) && is_product(right)) {
            (false, false) => return,
            (true, true) => uses(left) <= uses(right),
            (from_left, _) => from_left,
        };
        let build = Builder::before(sum);
        let product = if from_left { left } else { right };
        let (mut factor, other) = (product.operand(0), product.operand(1));
        let addend = match (subtracts, from_left) {
            (false, true) => right,
            (true, true) => build.negate_float(right),
            (false, false) => left,
            (true, false) => {
                factor = build.negate_float(factor);
                left
            }
        };
        let fused = self.call(&build, fma, sum.ty(), &[factor, other, addend]);
        sum.replace_all_uses(fused);
        sum.erase();
    }

    /// Replaces an operation that has several results.
    fn choose(&self, operation: Value) {
        let approximate = operation.fast_math() & APPROXIMATE != 0;
        let called = called(operation);
        let name = match called.split('.').nth(1) {
            Some("minnum") => called.replace("minnum", "minimumnum"),
            Some("maxnum") => called.replace("maxnum", "maximumnum"),
            Some("sqrt") if approximate => "llvm.nvvm.sqrt.approx.f".to_owned(),
            None if approximate && operation.opcode() == Opcode::FDiv => "llvm.nvvm.div.approx.f".to_owned(),
            _ => return,
        };
        let arguments = match operation.called() {
            Some(_) => operation.arguments(),
            None => operation.operands().collect(),
        };
        let new = self.call(&Builder::before(operation), &name, operation.ty(), &arguments);
        operation.replace_all_uses(new);
        operation.erase();
    }

    /// Gives the user of a float's bits the same ones for every NaN.
    fn fix_bits(&self, user: Value, operand: u32) {
        let float = user.operand(operand);
        let (bits, nan) = self.bits_of(float.ty());
        let build = Builder::before(user);
        let is_nan = build.unordered(float, float);
        let own = build.cast(Cast::Bits, float, bits);
        let fixed = build.select(is_nan, nan, own);
        if user.opcode() == Opcode::BitCast {
            user.replace_all_uses(build.cast(Cast::Bits, fixed, user.ty()));
            user.erase();
        } else {
            user.set_operand(operand, build.cast(Cast::Bits, fixed, float.ty()));
        }
    }

    /// The integer of a float's size, and NaN there; of a vector, lane by lane.
    fn bits_of(&self, float: Type) -> (Type, Value) {
        if let Some((lane, lanes)) = float.lanes() {
            let (bits, nan) = self.bits_of(lane);
            return (self.context.vector(bits, lanes), self.context.splat(nan, lanes));
        }
        let (size, nan) = match float.kind() {
            TypeKind::Half => (16, 0x7e00),
            TypeKind::Double => (64, 0x7ff8 << 48),
            _ => (32, 0x7fc0_0000),
        };
        let bits = self.context.int(size);
        (bits, bits.int(nan))
    }

    fn call(&self, build: &Builder, name: &str, ty: Type, arguments: &[Value]) -> Value {
        let parameters: Vec<Type> = arguments.iter().map(|argument| argument.ty()).collect();
        let function = self.module.declare(name, ty.function(&parameters));
        build.call(function.value_type(), function, arguments)
    }
}

/// Replaces a sum or product by one that may not be fused: LLVM's C API gives flags and takes none away.
fn take_flags(operation: Value) {
    let binary = match operation.opcode() {
        _ if operation.fast_math() == 0 => return,
        Opcode::FAdd => Binary::FAdd,
        Opcode::FSub => Binary::FSub,
        Opcode::FMul => Binary::FMul,
        Opcode::FDiv => Binary::FDiv,
        _ => return,
    };
    let plain = Builder::before(operation).binary(binary, operation.operand(0), operation.operand(1));
    operation.replace_all_uses(plain);
    operation.erase();
}

fn is_float(ty: Type) -> bool {
    let scalar = ty.lanes().map_or(ty, |(lane, _)| lane);
    matches!(scalar.kind(), TypeKind::Half | TypeKind::Float | TypeKind::Double)
}

fn works_on_floats(instruction: Value) -> bool {
    is_float(instruction.ty()) || instruction.operands().any(|operand| is_float(operand.ty()))
}

fn called(value: Value) -> String {
    let function = value.as_instruction().and_then(Value::called).and_then(Value::as_function);
    function.map(Value::name).unwrap_or_default()
}

fn is_shuffle(value: Value) -> bool {
    called(value).starts_with("llvm.nvvm.shfl.")
}

/// The operand whose bits an instruction sees, if they are open where it is NaN and a branch may depend on them.
fn sees_bits(user: Value) -> Option<u32> {
    let operand = match user.opcode() {
        Opcode::BitCast if is_float(user.operand(0).ty()) && !is_float(user.ty()) => 0,
        // Its classes tell quiet NaNs from signaling ones.
        Opcode::Call if called(user).starts_with("llvm.is.fpclass.") => 0,
        Opcode::Call if called(user).starts_with("llvm.copysign.") => 1,
        _ => return None,
    };
    let are_moved = user.opcode() == Opcode::BitCast;
    (!has_own_bits(user.operand(operand)) && decides((user, are_moved))).then_some(operand)
}

/// Whether a branch may depend on these bits. What is only `moved`, to another lane for example, until it is a float again, is NaN
/// as before. What threads store outside of their own memory each stores alone, and all read the same.
fn decides(bits: (Value, bool)) -> bool {
    let (mut open, mut seen) = (vec![bits], HashSet::from([bits]));
    while let Some((value, moved)) = open.pop() {
        for user in value.users() {
            let next = match user.opcode() {
                Opcode::Store if user.operand(1) != value && is_outside(user.operand(1)) => continue,
                Opcode::BitCast if moved && is_float(user.ty()) => continue,
                Opcode::Store | Opcode::Br | Opcode::Switch | Opcode::Invoke => return true,
                Opcode::Call if is_shuffle(user) => vec![(user, moved)],
                Opcode::Call if called(user).starts_with("llvm.") => vec![(user, false)],
                Opcode::Call => match parameters(user, value) {
                    Some(parameters) => parameters.into_iter().map(|it| (it, moved)).collect(),
                    None => return true,
                },
                Opcode::Ret => match callers(user.function()) {
                    Some(calls) => calls.into_iter().map(|it| (it, moved)).collect(),
                    None => return true,
                },
                Opcode::BitCast | Opcode::Phi | Opcode::Select => vec![(user, moved)],
                _ => vec![(user, false)],
            };
            open.extend(next.into_iter().filter(|it| seen.insert(*it)));
        }
    }
    false
}

/// The parameters for which a call passes a value; `None` if it is not known what is called.
fn parameters(call: Value, value: Value) -> Option<Vec<Value>> {
    let function = call.called()?.as_function().filter(|function| !function.is_declaration())?;
    let passes =
        |(index, argument): (usize, Value)| (argument == value).then(|| function.parameter(index as u32));
    Some(call.arguments().into_iter().enumerate().filter_map(passes).collect())
}

/// All calls of a function; `None` if there may be others.
fn callers(function: Value) -> Option<Vec<Value>> {
    let is_call = |user: &Value| {
        user.as_instruction().is_some() && user.opcode() == Opcode::Call && user.called() == Some(function)
    };
    let users = function.users();
    (function.is_internal() && users.iter().all(is_call)).then_some(users)
}

/// Whether a float, or the integer that it is made from, is NaN in one way only: no arithmetic of floats is behind it, and it was
/// read from memory that is not the thread's own.
fn has_own_bits(value: Value) -> bool {
    let Some(instruction) = value.as_instruction() else {
        return value.is_constant() || is_parameter_of_a_kernel(value);
    };
    let is_float = is_float(value.ty());
    match instruction.opcode() {
        Opcode::Load => !is_float || is_outside(instruction.operand(0)),
        Opcode::Select => (1..3).all(|index| has_own_bits(instruction.operand(index))),
        Opcode::BitCast => has_own_bits(instruction.operand(0)),
        Opcode::Call if is_shuffle(instruction) => has_own_bits(instruction.operand(1)),
        Opcode::Call => !is_float && called(instruction).starts_with("llvm."),
        // Bits that were only moved come this way.
        Opcode::Phi => false,
        _ => !is_float,
    }
}

/// Whether an address leads out of the thread's own memory: to a kernel's parameters, a static, or what those point to.
fn is_outside(address: Value) -> bool {
    let Some(instruction) = address.as_instruction() else {
        return address.is_constant() || is_parameter_of_a_kernel(address);
    };
    match instruction.opcode() {
        Opcode::GetElementPtr | Opcode::AddrSpaceCast | Opcode::Load => is_outside(instruction.operand(0)),
        _ => false,
    }
}

fn is_parameter_of_a_kernel(value: Value) -> bool {
    value.parameter_of().is_some_and(|function| function.calling_convention() == entry::PTX_KERNEL)
}
