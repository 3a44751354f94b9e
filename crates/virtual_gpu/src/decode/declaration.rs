//! Valid declarations.

use ptx::{Alias, FunctionDirectives, FunctionKind, Linkage, Module, ScalarType, Space, Variable};

use super::Refusal;

/// Refuses vectors that there are none of in a space.
pub(super) fn vector(space: Space, ty: ScalarType, length: u8) -> Result<(), Refusal> {
    if length == 1 {
        return Ok(());
    }
    if space == Space::Param {
        return Err(Refusal::new(
            "parameters are no vectors; an array of its size and alignment is passed alike",
        ));
    }
    if ty == ScalarType::Pred {
        return Err(Refusal::new("there are no vectors of predicates"));
    }
    if length > 4 || ty.size() * u64::from(length) > 16 {
        return Err(Refusal(format!("a vector of {length} `{ty}` has more than 128 bits")));
    }
    Ok(())
}

/// Refuses a variable without a size, unless another module or the launch gives it one, and an initial value where there can be
/// none.
pub(super) fn variable(variable: &Variable) -> Result<(), Refusal> {
    vector(variable.space, variable.ty, variable.vector)?;
    let external = variable.linkage == Some(Linkage::Extern);
    if variable.dims.iter().skip(1).any(Option::is_none) {
        return Err(Refusal::new("only the first length of an array may be left out"));
    }
    if !external && is_incomplete(variable) {
        return Err(Refusal::new("an array without a length is `.extern`"));
    }
    let keeps = matches!(variable.space, Space::Global | Space::Const | Space::Tex);
    if variable.initializer.is_some() && (external || !keeps) {
        return Err(Refusal::new(
            "only variables of `.global` and `.const` that are defined here have an initial value",
        ));
    }
    Ok(())
}

/// Whether an array has no length, nor an initial value that gives it one.
pub(super) fn is_incomplete(variable: &Variable) -> bool {
    match variable.dims.first() {
        Some(None) => variable.initializer.as_ref().is_none_or(|values| values.is_empty()),
        Some(Some(0)) => true,
        _ => false,
    }
}

/// Refuses what a kernel, or a function, cannot say of itself. `returns`: whether it gives results.
pub(super) fn directives(
    kind: FunctionKind,
    returns: bool,
    directives: &FunctionDirectives,
) -> Result<(), Refusal> {
    let d = directives;
    let launched = [
        (d.maxntid.is_some(), ".maxntid"),
        (d.reqntid.is_some(), ".reqntid"),
        (d.minnctapersm.is_some(), ".minnctapersm"),
        (d.maxnctapersm.is_some(), ".maxnctapersm"),
        (d.maxnreg.is_some(), ".maxnreg"),
        (d.reqnctapercluster.is_some(), ".reqnctapercluster"),
        (d.explicitcluster, ".explicitcluster"),
        (d.maxclusterrank.is_some(), ".maxclusterrank"),
        (d.blocksareclusters, ".blocksareclusters"),
    ];
    match kind {
        FunctionKind::Entry if d.noreturn => Err(Refusal::new("`.noreturn` is of functions, not of kernels")),
        FunctionKind::Entry => Ok(()),
        FunctionKind::Func if d.noreturn && returns => {
            Err(Refusal::new("`.noreturn` is of functions that give no result"))
        }
        FunctionKind::Func => match launched.iter().find(|(given, _)| *given) {
            Some((_, name)) => Err(Refusal(format!("`{name}` is of kernels, not of functions"))),
            None => Ok(()),
        },
    }
}

/// Refuses an alias that was not declared as a function before, or of what is not one that is defined before.
pub(super) fn alias(module: &Module, alias: &Alias) -> Result<(), Refusal> {
    let before = |name: &ptx::Name| {
        let all = module.functions.iter().filter(|f| f.position < alias.position);
        all.filter(|f| f.name == *name && f.kind == FunctionKind::Func).collect::<Vec<_>>()
    };
    let (own, of) = (before(&alias.name), before(&alias.of));
    if own.is_empty() || own.iter().any(|f| f.body.is_some()) {
        return Err(Refusal(format!("`{}` is not declared before as a function without a body", alias.name)));
    }
    let twice = module.aliases.iter().filter(|a| a.name == alias.name).count() > 1;
    let alike = |f: &ptx::Function| {
        of.first().is_none_or(|of| f.params.len() == of.params.len() && f.results.len() == of.results.len())
    };
    if twice || !own.iter().all(|f| alike(f)) {
        return Err(Refusal::new(
            "it is an alias twice, or of a function that takes and gives something else",
        ));
    }
    let shared = matches!(of.first().and_then(|f| f.linkage), Some(Linkage::Extern | Linkage::Weak));
    let more = module.aliases.iter().any(|a| a.name == alias.of);
    if !more && (shared || !of.iter().any(|f| f.body.is_some())) {
        return Err(Refusal(format!("`{}` is not a function defined earlier in this module", alias.of)));
    }
    Ok(())
}
