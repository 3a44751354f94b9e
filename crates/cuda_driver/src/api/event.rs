//! Events: recording them in streams, waiting for them, the time between them.

use crate::abi::{Answer, CUevent, CUresult, CUstream, Out};
use crate::objects::call::unsupported;
use crate::objects::context::{CONTEXTS, current, current_if_any, current_if_any_even_if_broken};
use crate::objects::event::{DISABLE_TIMING, EVENTS, Event};
use crate::objects::registry::OfContext;
use crate::objects::stream::target;

const INTERPROCESS: u32 = 4;
const KNOWN_FLAGS: u32 = 7;

pub fn cuEventCreate(event: Out<CUevent>, flags: u32) -> Answer {
    event.required()?;
    let context = current()?;
    if flags & !KNOWN_FLAGS != 0 || (flags & INTERPROCESS != 0 && flags & DISABLE_TIMING == 0) {
        return Err(CUresult::INVALID_VALUE);
    }
    if flags & INTERPROCESS != 0 {
        return unsupported("cuEventCreate for events that other processes share");
    }
    event.set(context.register(&EVENTS, Event::new(&context, flags)))
}

pub fn cuEventDestroy_v2(event: CUevent) -> Answer {
    current_if_any_even_if_broken()?;
    EVENTS.remove(event).map(|_| ())
}

pub fn cuEventRecordWithFlags(event: CUevent, stream: CUstream, flags: u32) -> Answer {
    const EXTERNAL: u32 = 1;
    if flags & !EXTERNAL != 0 {
        return Err(CUresult::INVALID_VALUE);
    }
    let target = target(stream)?;
    let found = EVENTS.get(event)?;
    if found.context() != target.context.handle {
        return Err(CUresult::INVALID_HANDLE);
    }
    if flags & EXTERNAL != 0 {
        // Only a graph has an outside: the record becomes a node of it.
        return target.capture().ok_or(CUresult::INVALID_VALUE)?.record(&target, event);
    }
    found.record_in(&target)
}

pub fn cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: u32) -> Answer {
    const EXTERNAL: u32 = 1;
    if flags & !EXTERNAL != 0 {
        return Err(CUresult::INVALID_VALUE);
    }
    let target = target(stream)?;
    let found = EVENTS.get(event)?;
    if flags & EXTERNAL != 0 {
        return target.capture().ok_or(CUresult::INVALID_VALUE)?.wait(&target, event);
    }
    found.wait_in(&target)
}

pub fn cuEventQuery(event: CUevent) -> Answer {
    current_if_any()?;
    let event = EVENTS.get(event)?;
    event.refuse_capture()?;
    if let Some((context, mark)) = event.mark()
        && let Ok(context) = CONTEXTS.get(context)
    {
        if !context.queue.reached(&mark) {
            return Err(CUresult::NOT_READY);
        }
        context.queue.learn(|order| order.host_waited(&[mark]));
    }
    CONTEXTS.get(event.context()).map_or(Ok(()), |context| context.intact())
}

pub fn cuEventSynchronize(event: CUevent) -> Answer {
    current_if_any()?;
    EVENTS.get(event)?.synchronize()
}

/// Wall time between two events on the virtual device, which says nothing about a real one.
pub fn cuEventElapsedTime(milliseconds: Out<f32>, start: CUevent, end: CUevent) -> Answer {
    milliseconds.required()?;
    current_if_any()?;
    let (start, end) = (EVENTS.get(start)?, EVENTS.get(end)?);
    let marks = [start.mark(), end.mark()];
    if start.context() != end.context() {
        return Err(CUresult::INVALID_HANDLE);
    }
    // An event that was never recorded is an error even when the other one is not ready.
    let (start, end) = match (start.time(), end.time()) {
        (Err(CUresult::INVALID_HANDLE), _) | (_, Err(CUresult::INVALID_HANDLE)) => {
            return Err(CUresult::INVALID_HANDLE);
        }
        (start, end) => (start?, end?),
    };
    // A program may ask for the time until both are done.
    for (context, mark) in marks.into_iter().flatten() {
        if let Ok(context) = CONTEXTS.get(context) {
            context.queue.learn(|order| order.host_waited(&[mark]));
        }
    }
    let seconds = if end >= start { (end - start).as_secs_f64() } else { -(start - end).as_secs_f64() };
    milliseconds.set((seconds * 1e3) as f32)
}
