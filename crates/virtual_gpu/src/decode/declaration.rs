//! What may be declared.

use ptx::{ScalarType, Space};

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
