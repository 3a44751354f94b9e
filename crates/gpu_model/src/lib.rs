//! Pure arithmetic of GPU memory systems: banks, coalescing, occupancy, roofline.
