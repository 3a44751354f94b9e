//! The linker: PTX texts in, one image out. The image is also PTX, which is what this device loads.

use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::abi::{Answer, CUjitInputType, CUlinkState, CUresult, In, Out, Text};
use crate::foreign::object_files::read_objects;
use crate::foreign::ptx_link::join;
use crate::objects::call::unsupported;
use crate::objects::context::current;
use crate::objects::context::device_here;
use crate::objects::image::Image;
use crate::objects::jit::Jit;
use crate::objects::module;
use crate::objects::registry::Registry;

static LINKS: Registry<Link> = Registry::new(CUresult::INVALID_HANDLE);

struct Link {
    jit: Jit,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    inputs: Vec<(String, String)>,
    /// The returned image, which lives as long as the link state.
    image: Vec<u8>,
}

// SAFETY: `Jit` holds the caller's buffers, which the driver API lets it use from any thread.
unsafe impl Send for Link {}
// SAFETY: as above; the calls of one invocation are the caller's to order.
unsafe impl Sync for Link {}

impl Link {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, name: String, bytes: &[u8]) -> Answer {
        match read_objects(bytes, device_here().architecture()) {
            Ok(images) => {
                let texts = images.into_iter().map(|Image { mut ptx }| (name.clone(), ptx.swap_remove(0)));
                self.state().inputs.extend(texts);
                Ok(())
            }
            Err(refused) => {
                self.jit.error(&format!("{name}: {refused}"));
                self.jit.finish();
                refused.say();
                Err(refused.code())
            }
        }
    }
}

pub fn cuLinkCreate_v2(
    count: u32,
    options: In<u32>,
    values: In<*mut c_void>,
    place: Out<CUlinkState>,
) -> Answer {
    current()?;
    place.required()?;
    let jit = Jit::new(count, options, values)?;
    place.set(LINKS.insert(Link { jit, state: Mutex::default() }))
}

fn check(kind: u32) -> Answer<CUjitInputType> {
    match kind.try_into()? {
        CUjitInputType::NVVM => unsupported("cuLinkAddData of NVVM intermediate code (-dlto)"),
        kind => Ok(kind),
    }
}

pub fn cuLinkAddData_v2(
    state: CUlinkState,
    kind: u32,
    data: *mut c_void,
    size: usize,
    name: Text,
    _count: u32,
    _options: In<u32>,
    _values: In<*mut c_void>,
) -> Answer {
    let link = LINKS.get(state)?;
    let kind = check(kind)?;
    if data.is_null() || size == 0 || size > isize::MAX as usize {
        return Err(CUresult::INVALID_VALUE);
    }
    // SAFETY: the caller vouches for `size` bytes.
    let bytes = unsafe { std::slice::from_raw_parts(data.cast_const().cast::<u8>(), size) };
    if kind == CUjitInputType::PTX && !bytes.windows(8).any(|word| word == b".version") {
        return Err(CUresult::INVALID_IMAGE);
    }
    let number = link.state().inputs.len() + 1;
    let name = name.get().map_or_else(|_| format!("input {number}"), |name| name.into_owned());
    link.add(name, bytes)
}

pub fn cuLinkAddFile_v2(
    state: CUlinkState,
    kind: u32,
    path: Text,
    _count: u32,
    _options: In<u32>,
    _values: In<*mut c_void>,
) -> Answer {
    let link = LINKS.get(state)?;
    let path = path.get()?;
    let bytes = std::fs::read(&*path).map_err(|_| CUresult::FILE_NOT_FOUND)?;
    check(kind)?;
    link.add(path.into_owned(), &bytes)
}

pub fn cuLinkComplete(state: CUlinkState, image: Out<*mut c_void>, size: Out<usize>) -> Answer {
    let link = LINKS.get(state)?;
    image.required()?;
    let text = join(&link.state().inputs).map_err(|error| {
        link.jit.error(&error.to_string());
        link.jit.finish();
        CUresult::INVALID_PTX
    })?;
    let text = match link.jit.max_registers {
        Some(most) => with_register_limit(&text, most),
        None => text,
    };
    // Found now instead of when the image is loaded, like a linker that generates machine code.
    module::check_text(&text, &link.jit).inspect_err(|_| link.jit.finish())?;
    link.jit.finish();
    let mut state = link.state();
    state.image = text.into_bytes();
    state.image.push(0);
    size.set_if_given(state.image.len());
    image.set(state.image.as_ptr().cast_mut().cast())
}

/// Adds `.maxnreg` to kernels without it. Unparseable text is left alone: loading says what is wrong.
fn with_register_limit(text: &str, most: u32) -> String {
    let Ok(mut module) = ptx::parse(text) else { return text.to_owned() };
    for kernel in module.functions.iter_mut().filter(|function| function.kind == ptx::FunctionKind::Entry) {
        kernel.directives.maxnreg.get_or_insert(most);
    }
    module.to_string()
}

pub fn cuLinkDestroy(state: CUlinkState) -> Answer {
    LINKS.remove(state).map(|_| ())
}
