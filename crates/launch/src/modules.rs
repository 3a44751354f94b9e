//! The modules that a device has loaded.

use std::ptr;
use std::sync::{Mutex, OnceLock, PoisonError};

use cust::function::Function;

use crate::error::{Error, ErrorContext};
use crate::extra;
use crate::levels::Level;

/// A module on a device.
///
/// It is `cust`'s without `Module::get_global`, through which the host writes a kernel's statics while the kernel runs.
///
/// ```compile_fail,E0599
/// # fn rewrite(device: &warpsmith_launch::Device, levels: &warpsmith_launch::Levels) {
/// let module = device.module(levels, "count").unwrap();
/// module.get_global::<u32>(c"COUNTER").unwrap();
/// # }
/// ```
#[derive(Debug)]
pub struct Module(cust::module::Module);

impl Module {
    /// A kernel.
    pub fn function(&self, kernel: &str) -> Result<Function<'_>, Error> {
        self.0.get_function(kernel).context(format!("find kernel `{}`", ptx::rust_name(kernel)))
    }

    /// `cust`'s module.
    ///
    /// # Safety
    /// No static that `get_global` finds is written while a kernel of the module runs, and only values of its type are.
    pub unsafe fn cust(&self) -> &cust::module::Module {
        &self.0
    }
}

/// The modules of a device: a list that only grows, so that each stays where it is while others are added.
#[derive(Default)]
pub(crate) struct Modules {
    first: OnceLock<Box<Node>>,
}

struct Node {
    level: &'static Level,
    /// The kernel, if the module holds only this one of its level.
    kernel: Option<String>,
    module: Slot<Module>,
    others: Modules,
}

impl Modules {
    /// The level's module, or that of one of its kernels, loaded when it is first asked for.
    pub(crate) fn get(&self, level: &'static Level, kernel: Option<&str>) -> Result<&Module, Error> {
        self.slot(level, kernel).get(|| {
            let loaded = match kernel {
                Some(kernel) => extra::load_ptx(&level.alone(kernel), &[]),
                None => extra::load_ptx(level.ptx(), &[]),
            };
            loaded.map(Module).map_err(|(error, log)| {
                let log = log.lines().map(|line| format!("\n    {line}")).collect();
                Error::Module { arch: level.arch(), error, log }
            })
        })
    }

    fn slot(&self, level: &'static Level, kernel: Option<&str>) -> &Slot<Module> {
        let mut list = self;
        loop {
            let node = list.first.get_or_init(|| {
                Box::new(Node {
                    level,
                    kernel: kernel.map(str::to_owned),
                    module: Slot::default(),
                    others: Modules::default(),
                })
            });
            if ptr::eq(node.level, level) && node.kernel.as_deref() == kernel {
                return &node.module;
            }
            list = &node.others;
        }
    }
}

/// The place of one module. The driver takes seconds to compile a large one: a second request for it waits for that, one for
/// another module does not.
#[derive(Debug)]
struct Slot<T> {
    loaded: OnceLock<T>,
    loading: Mutex<()>,
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self { loaded: OnceLock::new(), loading: Mutex::new(()) }
    }
}

impl<T> Slot<T> {
    /// The module, which `load` makes for the first caller. If that fails, the next caller tries again.
    fn get<E>(&self, load: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        if let Some(loaded) = self.loaded.get() {
            return Ok(loaded);
        }
        let _one_at_a_time = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(loaded) = self.loaded.get() {
            return Ok(loaded);
        }
        let loaded = load()?;
        Ok(self.loaded.get_or_init(|| loaded))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;

    #[test]
    fn each_module_has_a_slot_of_its_own() {
        static LEVELS: [Level; 2] = [Level::new(".target sm_75"), Level::new(".target sm_80")];
        let modules = Modules::default();
        let keys = [(0, None), (0, Some("a")), (0, Some("b")), (1, None), (1, Some("a"))];
        let slots = keys.map(|(level, kernel)| modules.slot(&LEVELS[level], kernel));
        for (i, (level, kernel)) in keys.into_iter().enumerate() {
            let again = modules.slot(&LEVELS[level], kernel);
            assert_eq!(slots.iter().position(|slot| ptr::eq(*slot, again)), Some(i));
        }
    }

    #[test]
    fn two_modules_are_loaded_side_by_side() {
        let (slots, (first, second)) = ([Slot::default(), Slot::default()], (channel(), channel()));
        // Each load ends when the other has begun, which it never would if one waited for the other.
        let load =
            |slot: &Slot<u32>, begun: std::sync::mpsc::Sender<()>, other: std::sync::mpsc::Receiver<()>| {
                let both = || {
                    begun.send(()).map_err(|error| error.to_string())?;
                    other.recv_timeout(Duration::from_secs(60)).map_err(|error| error.to_string())?;
                    Ok::<_, String>(7)
                };
                assert_eq!(slot.get(both), Ok(&7));
            };
        std::thread::scope(|scope| {
            scope.spawn(|| load(&slots[0], first.0, second.1));
            scope.spawn(|| load(&slots[1], second.0, first.1));
        });
    }

    #[test]
    fn a_module_is_loaded_once_and_a_failure_is_not_kept() {
        let (slot, loads) = (Slot::default(), AtomicU32::new(0));
        assert_eq!(slot.get(|| Err("no memory")), Err("no memory"));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let loaded = slot.get(|| Ok::<_, &str>(loads.fetch_add(1, Ordering::Relaxed)));
                    assert_eq!(loaded, Ok(&0));
                });
            }
        });
        assert_eq!(loads.into_inner(), 1);
    }
}
