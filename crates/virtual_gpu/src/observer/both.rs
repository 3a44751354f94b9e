//! Two observers of one launch, of which the second may be absent: a launch can be checked and profiled at once.

use super::*;

impl<A: LaunchObserver, B: LaunchObserver> LaunchObserver for (A, Option<B>) {
    type Block = (A::Block, Option<B::Block>);

    fn serial(&self) -> bool {
        self.0.serial() || self.1.as_ref().is_some_and(B::serial)
    }

    fn begin(&mut self, launch: &LaunchInfo) {
        self.0.begin(launch);
        if let Some(second) = &mut self.1 {
            second.begin(launch);
        }
    }

    fn block(&self, block: &BlockInfo) -> Self::Block {
        (self.0.block(block), self.1.as_ref().map(|second| second.block(block)))
    }

    fn merge(&mut self, block: Self::Block) {
        self.0.merge(block.0);
        if let (Some(second), Some(block)) = (&mut self.1, block.1) {
            second.merge(block);
        }
    }

    fn end(&mut self, launch: &LaunchInfo, fault: Option<&Fault>) {
        self.0.end(launch, fault);
        if let Some(second) = &mut self.1 {
            second.end(launch, fault);
        }
    }
}

/// Hooks that both receive.
macro_rules! shown {
    ($($wanted:ident { $(fn $hook:ident($($name:ident: $ty:ty),*);)* })*) => {$($(
        #[inline]
        fn $hook(&mut self, $($name: $ty),*) {
            if A::$wanted {
                self.0.$hook($($name),*);
            }
            if let (true, Some(second)) = (B::$wanted, &mut self.1) {
                second.$hook($($name),*);
            }
        }
    )*)*};
}

impl<A: BlockObserver, B: BlockObserver> BlockObserver for (A, Option<B>) {
    const INSTRUCTIONS: bool = A::INSTRUCTIONS || B::INSTRUCTIONS;
    const MEMORY: bool = A::MEMORY || B::MEMORY;
    const REGISTERS: bool = A::REGISTERS || B::REGISTERS;
    const SYNCHRONISATION: bool = A::SYNCHRONISATION || B::SYNCHRONISATION;
    const YIELDS: bool = A::YIELDS || B::YIELDS;
    const GOES_ON: bool = A::GOES_ON;

    shown! {
        INSTRUCTIONS {
            fn instruction(at: At);
        }
        REGISTERS {
            fn guard(at: At, predicate: Register);
            fn registers(at: At, reads: &[Register], writes: &[Register], operands: &Operands<'_>);
            fn shuffled(at: At, target: Option<Register>, value: Option<Register>, sources: &[u8; 32]);
            fn passed(at: At, from: Carrier, to: Carrier, bytes: u32);
        }
        MEMORY {
            fn access(at: At, access: &Access<'_>);
            fn heap_allocated(at: At, address: u64, bytes: u64);
            fn heap_freed(at: At, address: u64);
            fn printed(at: At, space: MemorySpace, address: u64, bytes: u32);
            fn asynchronous(at: At, event: &AsyncEvent<'_>);
        }
        SYNCHRONISATION {
            fn barrier(at: At, barrier: u32, threads: u32, step: BarrierStep, aligned: bool);
            fn fence(at: At, order: Order, scope: Scope);
            fn warp_sync(at: At, members: u32, orders: bool);
            fn enter(at: At, frame: &Entered);
            fn exit(at: At);
        }
    }

    #[inline]
    fn ended(&mut self) {
        self.0.ended();
        if let Some(second) = &mut self.1 {
            second.ended();
        }
    }

    /// The first decides.
    #[inline]
    fn meaningless(&self, at: At, address: Register) -> u32 {
        self.0.meaningless(at, address)
    }

    #[inline]
    fn skips(&mut self, at: At, address: Option<Register>, fault: &dyn Fn() -> Fault) -> bool {
        self.0.skips(at, address, fault)
    }

    #[inline]
    fn skipped(&mut self, at: At, loaded: Named<'_>) {
        self.0.skipped(at, loaded);
    }

    #[inline]
    fn copied_nothing(&mut self, at: At, space: MemorySpace, address: u64, bytes: u32) {
        self.0.copied_nothing(at, space, address, bytes);
    }

    #[inline]
    fn follows(&self, warp: u32) -> bool {
        A::REGISTERS && self.0.follows(warp)
            || B::REGISTERS && self.1.as_ref().is_some_and(|second| second.follows(warp))
    }

    #[inline]
    fn undefined(&mut self) -> Option<&mut dyn Undefined> {
        let (first, second) = self;
        match A::REGISTERS {
            true => first.undefined(),
            false => second.as_mut().and_then(BlockObserver::undefined),
        }
    }
}
