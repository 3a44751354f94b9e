//! The shape of a launch.

/// The arguments of `cuLaunchKernel` apart from the kernel and its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    /// Blocks in each dimension.
    pub grid: [u32; 3],
    /// Threads per block in each dimension.
    pub block: [u32; 3],
    /// Blocks per cluster in each dimension; all ones without clusters.
    pub cluster: [u32; 3],
    /// Bytes of shared memory per block on top of the kernel's own arrays.
    pub dynamic_shared: u32,
    /// All blocks must be resident at the same time.
    pub cooperative: bool,
}

impl Launch {
    /// A launch without dynamic shared memory or clusters.
    pub fn new(grid: impl Into<Dim3>, block: impl Into<Dim3>) -> Self {
        Launch {
            grid: grid.into().0,
            block: block.into().0,
            cluster: [1; 3],
            dynamic_shared: 0,
            cooperative: false,
        }
    }

    /// The same with dynamic shared memory.
    pub fn dynamic_shared(self, bytes: u32) -> Self {
        Launch { dynamic_shared: bytes, ..self }
    }

    /// The same with all blocks resident together.
    pub fn cooperative(self) -> Self {
        Launch { cooperative: true, ..self }
    }

    pub fn blocks(&self) -> u64 {
        self.grid.iter().fold(1u64, |n, &d| n.saturating_mul(d.into()))
    }

    /// Threads per block.
    pub fn threads(&self) -> u64 {
        self.block.iter().fold(1u64, |n, &d| n.saturating_mul(d.into()))
    }
}

/// One to three dimensions; missing ones are 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dim3(pub [u32; 3]);

impl From<u32> for Dim3 {
    fn from(x: u32) -> Self {
        Dim3([x, 1, 1])
    }
}

impl From<(u32, u32)> for Dim3 {
    fn from((x, y): (u32, u32)) -> Self {
        Dim3([x, y, 1])
    }
}

impl From<(u32, u32, u32)> for Dim3 {
    fn from((x, y, z): (u32, u32, u32)) -> Self {
        Dim3([x, y, z])
    }
}

impl From<[u32; 3]> for Dim3 {
    fn from(dims: [u32; 3]) -> Self {
        Dim3(dims)
    }
}
