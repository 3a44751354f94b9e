//! The kernels of the fast f32 product ([`crate::product`]) that every device runs.
//!
//! | file | kernels |
//! | --- | --- |
//! | this one | the product without asynchronous copies |
//! | [`parts`] | the sum over the parts of K, where K is split |
//! | [`pack`] | copies of operands that are not aligned |
//! | [`thin`] | products of so few rows or columns that they are limited by memory after all, without tiles |

pub mod pack;
pub mod parts;
pub mod thin;

use cuda_std::prelude::*;

use crate::product::straight::StraightHeld;
use crate::product::turned::Turned;
use crate::product::{Form, Product, STAGES, STAGES_HELD, Small, forms};

forms! {
    portable "small tiles, any alignment, on every device: no asynchronous copies":
        Small, 128 threads, STAGES_HELD, aligned false, StraightHeld Turned, orders 0 0 0 0;
}
