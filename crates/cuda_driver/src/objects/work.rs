//! Work of streams as data: to run now, or to keep in a graph and run many times. The kinds of work live
//! with the objects that they are about.

use std::any::Any;
use std::sync::Arc;

use crate::abi::{Answer, CUgraphNodeType};
use crate::objects::context::Context;
use crate::objects::queue::Task;

pub trait Work: Any + Send + Sync {
    /// The kind of a graph's node that does it.
    fn kind(&self) -> CUgraphNodeType;

    /// Does it. An error makes the context unusable.
    fn perform(&self, context: &Context) -> Answer;

    /// Whether it runs the program's own code.
    fn calls_host(&self) -> bool {
        false
    }

    /// Whether it is done in an unusable context, too, where other work is only counted as done.
    fn outlives_errors(&self) -> bool {
        false
    }

    /// Whether it may start now; `None` for work that waits for nothing but its turn.
    fn ready(&self) -> Option<bool> {
        None
    }
}

impl dyn Work {
    pub fn as_kind<T: Work>(&self) -> Option<&T> {
        (self as &dyn Any).downcast_ref()
    }

    /// Does it, unless the context is unusable.
    pub fn run(&self, context: &Context) {
        if (context.intact().is_ok() || self.outlives_errors())
            && let Err(code) = self.perform(context)
        {
            context.break_with(code);
        }
    }

    /// The form that a queue of the context takes.
    pub fn task(self: Arc<Self>, context: &Arc<Context>) -> Task {
        let host = self.calls_host();
        let ready = self.ready().is_some().then(|| {
            let (work, context) = (self.clone(), context.clone());
            Box::new(move || work.ready() != Some(false) || context.intact().is_err()) as Box<_>
        });
        let context = context.clone();
        Task { run: Box::new(move || self.run(&context)), host, ready }
    }
}

/// Only a place in the order.
pub struct Nothing;

impl Work for Nothing {
    fn kind(&self) -> CUgraphNodeType {
        CUgraphNodeType::EMPTY
    }

    fn perform(&self, _context: &Context) -> Answer {
        Ok(())
    }
}
