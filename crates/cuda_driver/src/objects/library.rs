//! Libraries: modules without a context, loaded into each context when one of their kernels is first used there.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::abi::{Answer, CUcontext, CUfunction, CUkernel, CUlibrary, CUmodule, CUresult};
use crate::objects::context::{Context, current, device_here};
use crate::objects::device::{code_of, devices};
use crate::objects::function::{FUNCTIONS, Function};
use crate::objects::image::Image;
use crate::objects::jit::Jit;
use crate::objects::module::{self, MODULES, Module};
use crate::objects::registry::{Belongings, Registry, new_handle};

pub static LIBRARIES: Registry<Library> = Registry::new(CUresult::INVALID_HANDLE);
pub static KERNELS: Registry<LibraryKernel> = Registry::new(CUresult::INVALID_HANDLE);

pub struct Library {
    image: Image,
    /// Names and handles, in the order of the text.
    pub kernels: Vec<(String, CUkernel)>,
}

pub struct LibraryKernel {
    pub library: CUlibrary,
    pub name: String,
}

struct Loaded(Mutex<Option<HashMap<(CUcontext, CUlibrary), CUmodule>>>);

static LOADED: Loaded = Loaded(Mutex::new(None));

impl Loaded {
    fn lock(&self) -> MutexGuard<'_, Option<HashMap<(CUcontext, CUlibrary), CUmodule>>> {
        // One insertion or removal each: whole after a panic elsewhere.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Belongings for Loaded {
    fn forget(&self, context: CUcontext) {
        self.lock().get_or_insert_default().retain(|(of, _), _| *of != context);
    }
}

/// Creates a library from the first of an image's texts that the device supports.
pub fn add(image: Image, jit: &Jit) -> Answer<CUlibrary> {
    // Loaded once here, so that errors are found now and names are known without a context.
    let mut refused = CUresult::NO_BINARY_FOR_GPU;
    for text in &image.ptx {
        let program = match device_here().gpu.load(text) {
            Ok(program) => program,
            Err(error) => {
                jit.error(&error.to_string());
                refused = code_of(&error);
                continue;
            }
        };
        let library = new_handle();
        let kernel = |name: &str| KERNELS.insert(LibraryKernel { library, name: name.to_owned() });
        let kernels =
            program.kernels().map(|known| (known.name().to_owned(), kernel(known.name()))).collect();
        // Other models may need another of the texts.
        let alike = devices().iter().all(|device| device.chip().key == devices()[0].chip().key);
        let image = if alike { Image { ptx: vec![text.clone()] } } else { image };
        LIBRARIES.insert_as(library, Library { image, kernels });
        return Ok(library);
    }
    Err(refused)
}

/// Takes a library from the program, with the modules loaded from it.
pub fn unload(library: CUlibrary) -> Answer {
    LIBRARIES.remove(library)?;
    KERNELS.remove_where(|kernel| kernel.library == library);
    let modules: Vec<CUmodule> = {
        let mut loaded = LOADED.lock();
        let ours = loaded.get_or_insert_default().extract_if(|(_, of), _| *of == library);
        ours.map(|(_, module)| module).collect()
    };
    modules.into_iter().try_for_each(module::unload)
}

pub fn module_here(library: CUlibrary) -> Answer<CUmodule> {
    module_in(&*current()?, library)
}

fn module_in(context: &Context, library: CUlibrary) -> Answer<CUmodule> {
    let known = LIBRARIES.get(library)?;
    let mut loaded = LOADED.lock();
    let loaded = loaded.get_or_insert_default();
    if let Some(&module) = loaded.get(&(context.handle, library)) {
        return Ok(module);
    }
    let module = module::load(context, &known.image, &Jit::silent())?;
    context.has(&LOADED);
    loaded.insert((context.handle, library), module);
    Ok(module)
}

/// The same as an object.
pub fn program_here(library: CUlibrary) -> Answer<Arc<Module>> {
    MODULES.get(module_here(library)?)
}

pub fn function_here(kernel: CUkernel) -> Answer<CUfunction> {
    let kernel = KERNELS.get(kernel)?;
    program_here(kernel.library)?.function(&kernel.name)
}

/// The function with this handle for a launch in a context: a library's kernel becomes that context's.
pub fn function_in(context: &Context, function: CUfunction) -> Answer<Arc<Function>> {
    FUNCTIONS.get(function).or_else(|unknown| {
        let kernel = KERNELS.get(function).map_err(|_| unknown)?;
        let module = MODULES.get(module_in(context, kernel.library)?)?;
        FUNCTIONS.get(module.function(&kernel.name)?)
    })
}

/// The function of a handle; entry points that take a function take a library's kernel as well.
pub fn function_named(function: CUfunction) -> Answer<Arc<Function>> {
    FUNCTIONS.get(function).or_else(|unknown| match function_here(function) {
        Ok(function) => FUNCTIONS.get(function),
        Err(_) => Err(unknown),
    })
}
