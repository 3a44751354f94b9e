//! The kernels' PTX, one module for each feature level, which of them a device admits, and where one stays once it is loaded.

use std::sync::{Mutex, OnceLock, PoisonError};

use crate::error::Error;

/// The kernels of one feature level, compiled for its architecture.
pub struct Level {
    /// The architecture's name, as the compiler and the PTX have it.
    pub arch: &'static str,
    /// The capability that it needs, and whether no other will do (`…a`).
    needs: (u32, u32, bool),
    /// The PTX.
    pub ptx: &'static str,
    parsed: OnceLock<Result<ptx::Module, Box<ptx::Error>>>,
}

macro_rules! level {
    ($arch:literal, $major:literal, $minor:literal, $exact:literal) => {
        Level {
            arch: $arch,
            needs: ($major, $minor, $exact),
            ptx: include_str!(concat!(env!("OUT_DIR"), "/kernels_", $arch, ".ptx")),
            parsed: OnceLock::new(),
        }
    };
}

/// The modules, lowest first. All demos are in the first; a higher one holds only what its hardware adds.
pub static LEVELS: [Level; 3] =
    [level!("compute_75", 7, 5, false), level!("compute_80", 8, 0, false), level!("compute_90a", 9, 0, true)];

impl Level {
    /// Why a device of this capability cannot run the module; `None` if it can.
    pub fn refusal(&self, capability: (u32, u32)) -> Option<String> {
        let (major, minor, exact) = self.needs;
        let admitted = if exact { capability == (major, minor) } else { capability >= (major, minor) };
        let only = if exact { "exactly" } else { "at least" };
        (!admitted).then(|| {
            format!(
                "{} needs {only} compute capability {major}.{minor}, the device has {}.{}",
                self.arch, capability.0, capability.1
            )
        })
    }

    /// The module with this entry and no other: what the driver has to compile to launch one kernel.
    pub fn alone(&self, kernel: &str) -> String {
        let mut alone = String::new();
        let mut rest = self.ptx;
        while let Some(start) = rest.find(ENTRY) {
            let (before, entry) = rest.split_at(start);
            let (entry, after) = entry.split_at(end_of_body(entry));
            let name = entry[ENTRY.len()..].split('(').next().unwrap_or_default();
            alone.push_str(before);
            if name.trim() == kernel {
                alone.push_str(entry);
            }
            rest = after;
        }
        alone + rest
    }

    /// The module as read by our own parser.
    pub fn parsed(&self) -> Result<&ptx::Module, Error> {
        self.parsed
            .get_or_init(|| ptx::parse(self.ptx).map_err(Box::new))
            .as_ref()
            .map_err(|error| Error::Ptx { arch: self.arch, error: error.clone() })
    }

    /// The entry of that name, if the module has it.
    pub fn entry(&self, kernel: &str) -> Result<Option<&ptx::Function>, Error> {
        let entry = |f: &&ptx::Function| f.kind == ptx::FunctionKind::Entry && f.name.as_str() == kernel;
        Ok(self.parsed()?.functions.iter().find(entry))
    }
}

/// Where one module goes. The driver compiles a large one for seconds: who asks for it meanwhile waits, who asks for another
/// does not.
#[derive(Debug)]
pub struct Slot<T> {
    loaded: OnceLock<T>,
    loading: Mutex<()>,
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self { loaded: OnceLock::new(), loading: Mutex::new(()) }
    }
}

impl<T> Slot<T> {
    /// What is there, which `load` makes for the first who asks. What fails is tried again by the next.
    pub fn get<E>(&self, load: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
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

const ENTRY: &str = ".visible .entry ";

/// The length of an entry, up to the brace that closes its body. Braces in comments do not count.
fn end_of_body(entry: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    for line in entry.split_inclusive('\n') {
        let code = line.split("//").next().unwrap_or(line);
        for (place, byte) in code.bytes().enumerate() {
            match byte {
                b'{' => depth += 1,
                b'}' if depth == 1 => return at + place + 1,
                b'}' => depth -= 1,
                _ => {}
            }
        }
        at += line.len();
    }
    entry.len()
}

/// The level that has the kernel; the lowest, should there be several.
pub fn level_of(kernel: &str) -> Result<Option<&'static Level>, Error> {
    for level in &LEVELS {
        if level.entry(kernel)?.is_some() {
            return Ok(Some(level));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;

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

    #[test]
    fn a_kernel_alone_is_a_module_of_its_own() {
        for (level, kernel) in [(&LEVELS[0], "spaces_leave"), (&LEVELS[1], "product_large_nn")] {
            let text = level.alone(kernel);
            let module = ptx::parse(&text).unwrap();
            let entries = module.functions.iter().filter(|f| f.kind == ptx::FunctionKind::Entry);
            let names: Vec<_> = entries.map(|f| f.name.as_str()).collect();
            assert_eq!(names, [kernel]);
            assert!(text.len() < level.ptx.len());
        }
    }

    #[test]
    fn who_admits_what() {
        let admitted = |capability| LEVELS.each_ref().map(|level| level.refusal(capability).is_none());
        assert_eq!(admitted((7, 0)), [false, false, false]);
        assert_eq!(admitted((7, 5)), [true, false, false]);
        assert_eq!(admitted((8, 9)), [true, true, false]);
        assert_eq!(admitted((9, 0)), [true, true, true]);
        assert_eq!(admitted((10, 0)), [true, true, false]);
        let refusal = LEVELS[2].refusal((10, 0)).unwrap();
        assert!(refusal.contains("exactly compute capability 9.0") && refusal.contains("10.0"), "{refusal}");
    }
}
