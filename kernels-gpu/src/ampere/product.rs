//! The kernels of the fast f32 product ([`crate::product`]) whose copies are asynchronous.

use cuda_std::prelude::*;

use crate::product::straight::Straight;
use crate::product::turned::{Turned, TurnedCopied};
use crate::product::{Form, Large, Middle, Product, STAGES, Small, Tall, Wide, forms};

forms! {
    large "large tiles": Large, 256 threads, STAGES, aligned true, Straight Turned, orders 1 2 3 4;
    middle "middle tiles": Middle, 128 threads, STAGES, aligned true, Straight TurnedCopied, orders 0 0 0 0;
    middle_any "middle tiles, any alignment":
        Middle, 128 threads, STAGES, aligned false, Straight TurnedCopied, orders 0 0 0 0;
    small "small tiles, any alignment": Small, 128 threads, STAGES, aligned false, Straight TurnedCopied, orders 0 0 0 0;
    tall "tall tiles, any alignment": Tall, 128 threads, STAGES, aligned false, Straight TurnedCopied, orders 0 0 0 0;
    wide "wide tiles, any alignment": Wide, 128 threads, STAGES, aligned false, Straight TurnedCopied, orders 0 0 0 0;
}
