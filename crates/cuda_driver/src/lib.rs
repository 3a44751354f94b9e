//! The CUDA driver API: forwarded to the real driver, or served by the virtual GPU.
