//! PTX text to a typed module; errors carry line and column.
