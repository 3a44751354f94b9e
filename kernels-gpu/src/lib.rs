//! The kernels, one file a family.
#![no_std]
