//! C = alpha · A · B + beta · C for row-major f32 matrices of any shape: A is m × k, B is k × n, C is m × n.
//!
//! | file | what it shows |
//! | --- | --- |
//! | [`naive`] | one multiply-add for two loads from global memory |
//! | [`tiled`] | the same work, each element loaded once a tile: 1/16 or 1/32 of the traffic |
//! | [`dynamic`] | tiles in dynamic shared memory, their edge chosen at launch |
//! | [`column_order`] | tiles stored column by column: the same arithmetic, slowed by bank conflicts |

pub mod column_order;
pub mod dynamic;
pub mod naive;
pub mod tiled;
