//! What a stream can be asked to do, as data: to run now, or to keep in a graph and run many times.

use std::ffi::c_void;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use crate::abi::{Answer, CUresult, CUstream, Handle};
use crate::check;
use crate::device::context::Context;
use crate::device::graph::{Executable, GraphMemory, NodeEvent};
use crate::device::launch::LaunchOp;
use crate::device::transfer::{Copy, Fill};
use crate::device::{gpu, pool};

/// One piece of work.
#[derive(Clone)]
pub enum Op {
    /// Run a kernel.
    Launch(LaunchOp),
    /// Copy memory.
    Copy(Copy),
    /// Fill memory.
    Fill(Fill),
    /// Call the program.
    Host(HostCall),
    /// Note the time for an event that a graph records.
    RecordEvent(NodeEvent),
    /// Wait for an event, in a graph: done before its launch begins.
    WaitEvent(NodeEvent),
    /// Memory of a graph, which is there already.
    Allocate(Arc<GraphMemory>),
    /// Free a graph's memory, which stays for its next launch.
    Release(u64),
    /// Note the time.
    Record(Arc<OnceLock<Instant>>),
    /// Wait until memory holds a value.
    WaitValue(WaitValue),
    /// Write one value.
    WriteValue {
        /// Where.
        address: u64,
        /// What.
        value: u64,
        /// 4 or 8.
        bytes: usize,
    },
    /// Take what a pool gave: from here on it is the stream's.
    Take {
        /// Where.
        address: u64,
        /// How much.
        bytes: u64,
    },
    /// Free what a pool gave.
    Free(u64),
    /// Run a graph.
    Graph(Arc<Executable>),
    /// Only be a place in the order.
    Nothing,
}

/// A call of the program's own code. Pointers are numbers here: only the program knows what they mean.
#[derive(Clone, Copy)]
pub enum HostCall {
    /// `cuLaunchHostFunc`.
    Function {
        /// The program's function.
        function: unsafe extern "C" fn(*mut c_void),
        /// Its argument.
        data: usize,
    },
    /// `cuStreamAddCallback`.
    Callback {
        /// The program's function.
        callback: unsafe extern "C" fn(CUstream, CUresult, *mut c_void),
        /// The stream as the program named it.
        stream: Handle,
        /// Its argument.
        data: usize,
    },
}

/// A condition on a word of memory.
#[derive(Clone, Copy)]
pub struct WaitValue {
    /// Where the word is.
    pub address: u64,
    /// What it is compared with.
    pub value: u64,
    /// 4 or 8.
    pub bytes: usize,
    /// How: `CU_STREAM_WAIT_VALUE_…`.
    pub flags: u32,
}

impl WaitValue {
    fn holds(&self) -> bool {
        const EQUAL: u32 = 1;
        const AND: u32 = 2;
        const NOR: u32 = 3;
        let mut word = [0; 8];
        if gpu().memory().read(self.address, &mut word[..self.bytes]).is_err() {
            // The memory is gone: nobody can ever write the value.
            return true;
        }
        let (seen, mask) =
            (u64::from_le_bytes(word), if self.bytes == 4 { u32::MAX.into() } else { u64::MAX });
        match self.flags & 3 {
            EQUAL => seen == self.value,
            AND => seen & self.value != 0,
            NOR => !(seen | self.value) & mask != 0,
            // The difference as a signed number, so that counters may wrap.
            _ if self.bytes == 4 => (seen as u32).wrapping_sub(self.value as u32) as i32 >= 0,
            _ => seen.wrapping_sub(self.value) as i64 >= 0,
        }
    }
}

impl Op {
    /// Whether it runs the program's own code.
    pub fn calls_host(&self) -> bool {
        match self {
            Self::Host(_) => true,
            Self::Graph(graph) => graph.calls_host(),
            _ => false,
        }
    }

    /// What must hold before it may start.
    pub fn condition(&self, context: &Arc<Context>) -> Option<Box<dyn Fn() -> bool + Send>> {
        let Self::WaitValue(wait) = *self else { return None };
        let context = context.clone();
        Some(Box::new(move || wait.holds() || context.intact().is_err()))
    }

    /// Does the work. An error makes the context unusable, and from then on work is only counted as done.
    pub fn run(&self, context: &Context) {
        if let Self::Host(HostCall::Callback { callback, stream, data }) = *self {
            // This older kind of call is made after an error too, and told of it.
            let status = CUresult::from(context.intact());
            // SAFETY: the program gave this function to be called with these arguments.
            return unsafe { callback(stream, status, data as *mut c_void) };
        }
        if let Self::Record(time) = self {
            let _ = time.set(Instant::now());
            return;
        }
        if let Self::RecordEvent(event) = self {
            let _ = event.time.set(Instant::now());
            return;
        }
        if context.intact().is_err() {
            return;
        }
        if let Err(code) = self.perform(context) {
            context.break_with(code);
        }
    }

    fn perform(&self, context: &Context) -> Answer {
        match self {
            Self::Launch(launch) => launch.run(context),
            Self::Copy(copy) => copy.run(),
            Self::Fill(fill) => fill.run(),
            Self::WriteValue { address, value, bytes } => {
                check::tell(|sanitizer| sanitizer.host_wrote(*address, *bytes as u64));
                let value = &value.to_le_bytes()[..*bytes];
                gpu().memory().write(*address, value).map_err(|_| CUresult::ILLEGAL_ADDRESS)
            }
            Self::Take { address, bytes } => {
                check::tell(|sanitizer| sanitizer.stream_took(*address, *bytes));
                Ok(())
            }
            // Freed twice: the second free was refused when it was issued, unless both were under way.
            Self::Free(address) => pool::free_in_turn(*address),
            Self::Graph(graph) => {
                graph.run(context);
                Ok(())
            }
            Self::Host(HostCall::Function { function, data }) => {
                // SAFETY: the program gave this function to be called with this argument.
                unsafe { function(*data as *mut c_void) };
                Ok(())
            }
            Self::Host(HostCall::Callback { .. })
            | Self::Record(_)
            | Self::RecordEvent(_)
            | Self::WaitEvent(_)
            | Self::WaitValue(_)
            | Self::Allocate(_)
            | Self::Release(_)
            | Self::Nothing => Ok(()),
        }
    }
}
