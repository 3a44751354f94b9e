//! Calls to the program's own code, in stream order. Pointers are numbers here: only the program knows what they mean.

use std::ffi::c_void;

use crate::abi::{Answer, CUgraphNodeType, CUresult, CUstream};
use crate::objects::context::Context;
use crate::objects::work::Work;

pub struct HostFunction {
    pub function: unsafe extern "C" fn(*mut c_void),
    pub data: usize,
}

impl Work for HostFunction {
    fn kind(&self) -> CUgraphNodeType {
        CUgraphNodeType::HOST
    }

    fn perform(&self, _context: &Context) -> Answer {
        // SAFETY: the program gave this function to be called with this argument.
        unsafe { (self.function)(self.data as *mut c_void) };
        Ok(())
    }

    fn calls_host(&self) -> bool {
        true
    }
}

/// `cuStreamAddCallback`: this older kind of call is also made after an error, and receives it.
pub struct HostCallback {
    pub callback: unsafe extern "C" fn(CUstream, CUresult, *mut c_void),
    pub stream: CUstream,
    pub data: usize,
}

impl Work for HostCallback {
    fn kind(&self) -> CUgraphNodeType {
        CUgraphNodeType::HOST
    }

    fn perform(&self, context: &Context) -> Answer {
        let status = CUresult::from(context.intact());
        // SAFETY: the program gave this function to be called with these arguments.
        unsafe { (self.callback)(self.stream, status, self.data as *mut c_void) };
        Ok(())
    }

    fn calls_host(&self) -> bool {
        true
    }

    fn outlives_errors(&self) -> bool {
        true
    }
}
