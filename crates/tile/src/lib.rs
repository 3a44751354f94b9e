//! Device building blocks: typed shared tiles, cooperative loads, pipelines, fragments.
#![no_std]
