//! The host threads that run a device's blocks.

use std::sync::OnceLock;

/// These threads; they start with the first launch of several blocks.
#[derive(Debug)]
pub(crate) struct Pool {
    threads: usize,
    pool: OnceLock<Option<rayon::ThreadPool>>,
}

impl Pool {
    pub fn new(threads: usize) -> Self {
        Pool { threads: threads.max(1), pool: OnceLock::new() }
    }

    /// How many there are.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Runs `work` on so many of them at once, or on this one.
    pub fn run(&self, threads: usize, work: impl Fn() + Sync) {
        if threads > 1 {
            let pool = self.pool.get_or_init(|| {
                rayon::ThreadPoolBuilder::new()
                    .num_threads(self.threads)
                    .thread_name(|i| format!("virtual-gpu-{i}"))
                    .build()
                    .ok()
            });
            if let Some(pool) = pool {
                pool.in_place_scope(|scope| {
                    for _ in 1..threads {
                        scope.spawn(|_| work());
                    }
                    work();
                });
                return;
            }
        }
        work();
    }
}
