//! Attributes and macros of `cuda_std`.
