//! Loads the kernels, runs the demos, and holds the `warpsmith` command line.
