//! Turns warps and lanes back into blocks and threads.

use virtual_gpu::observer::{BlockInfo, LaunchInfo};

/// The shape of the launch, for reports.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    grid: [u32; 3],
    block: [u32; 3],
}

impl Shape {
    pub fn new(launch: &LaunchInfo) -> Self {
        Shape { grid: launch.launch.grid, block: launch.launch.block }
    }

    /// Block index from the linear one.
    pub fn block(&self, linear: u32) -> [u32; 3] {
        split(linear, self.grid)
    }

    /// Thread index from warp and lane.
    pub fn thread(&self, warp: u32, lane: u32) -> [u32; 3] {
        split(warp * 32 + lane, self.block)
    }
}

fn split(linear: u32, dims: [u32; 3]) -> [u32; 3] {
    let [x, y, _] = dims.map(|d| d.max(1));
    [linear % x, linear / x % y, linear / x / y]
}

/// The linear index as the shadow keeps it.
pub fn linear(block: &BlockInfo) -> u32 {
    // A grid of more than 2^32 blocks would run for years; two blocks that share a number only hide a race.
    block.linear as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_come_back() {
        let shape = Shape { grid: [3, 4, 5], block: [8, 8, 2] };
        assert_eq!(shape.block(3 * 4 * 2 + 3 + 1), [1, 1, 2]);
        assert_eq!(shape.thread(2, 9), [1, 1, 1]);
    }
}
