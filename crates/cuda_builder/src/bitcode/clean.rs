//! Removes what rustc put in for the host.

use crate::bitcode::entry;
use crate::llvm::{At, Module, Opcode, TargetMachine};

/// Attributes that name the host's processor or its ways of unwinding and probing stacks.
pub fn host_attributes(module: &Module<'_>) {
    for function in module.functions() {
        for name in
            ["target-cpu", "target-features", "tune-cpu", "probe-stack", "stack-probe-size", "frame-pointer"]
        {
            function.remove_string_attribute(name);
        }
        for name in ["nonlazybind", "uwtable", "sspstrong", "ssp", "sspreq"] {
            function.remove_enum_attribute(At::Function, name);
        }
        if function.calling_convention() != entry::PTX_KERNEL {
            function.set_calling_convention(0);
        }
        for call in function
            .instructions()
            .into_iter()
            .filter(|i| matches!(i.opcode(), Opcode::Call | Opcode::Invoke))
        {
            call.set_call_convention(0);
        }
    }
}

/// Unwinding: device code never does. Invokes become calls, landing pads go, and with them the personalities. The
/// order matters, since a `resume` without a personality is invalid.
pub fn unwinding(module: &Module<'_>, machine: &TargetMachine) -> Result<(), String> {
    machine.run_passes(module, "function(lower-invoke,simplifycfg)")?;
    for function in module.functions() {
        function.drop_personality();
    }
    Ok(())
}
