//! The options of a module load: where the compiler's messages go.

use std::cell::RefCell;
use std::ffi::c_void;
use std::time::Instant;

use crate::abi::pointers::fill_text;
use crate::abi::{Answer, CUjit_option, CUresult, In, Out};

/// The messages of one load, and the caller's buffers for them.
pub struct Jit {
    errors: Log,
    infos: Log,
    wall_time: Option<usize>,
    pub max_registers: Option<u32>,
    started: Instant,
    values: Option<In<*mut c_void>>,
}

#[derive(Default)]
struct Log {
    text: RefCell<String>,
    buffer: Option<*mut c_void>,
    size: usize,
    /// The option with the size, which receives how much was stored.
    size_option: Option<usize>,
}

impl Log {
    fn add(&self, line: &str) {
        let mut text = self.text.borrow_mut();
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(line);
    }

    fn store(&self, values: Option<In<*mut c_void>>) {
        let Some(buffer) = self.buffer else { return };
        // SAFETY: the caller gave the buffer for this text, of the size that it gave with it.
        let place = unsafe { Out::new(buffer.cast()) };
        let stored = fill_text(place, self.size, &self.text.borrow());
        if let (Some(option), Some(values)) = (self.size_option, values) {
            // SAFETY: the caller's array of option values is also where results go.
            unsafe { Out::new(values.as_ptr().cast_mut()) }
                .set_at(option, stored.saturating_sub(1) as *mut c_void);
        }
    }
}

impl Jit {
    pub fn silent() -> Self {
        Self {
            errors: Log::default(),
            infos: Log::default(),
            wall_time: None,
            max_registers: None,
            started: Instant::now(),
            values: None,
        }
    }

    /// Reads the caller's options. Those that only control code generation have no meaning here.
    pub fn new(count: u32, options: In<u32>, values: In<*mut c_void>) -> Answer<Self> {
        const OPTIONS: u32 = 64;
        let mut this = Self::silent();
        if count == 0 {
            return Ok(this);
        }
        if options.is_null() || values.is_null() {
            return Err(CUresult::INVALID_VALUE);
        }
        this.values = Some(values);
        for index in 0..count as usize {
            let value = values.at(index);
            let number = options.at(index);
            match CUjit_option::try_from(number) {
                Ok(CUjit_option::MAX_REGISTERS) => {
                    this.max_registers = Some(value as usize as u32).filter(|&most| most > 0)
                }
                Ok(CUjit_option::WALL_TIME) => this.wall_time = Some(index),
                Ok(CUjit_option::INFO_LOG_BUFFER) => this.infos.buffer = (!value.is_null()).then_some(value),
                Ok(CUjit_option::INFO_LOG_BUFFER_SIZE_BYTES) => {
                    (this.infos.size, this.infos.size_option) = (value as usize as u32 as usize, Some(index));
                }
                Ok(CUjit_option::ERROR_LOG_BUFFER) => {
                    this.errors.buffer = (!value.is_null()).then_some(value)
                }
                Ok(CUjit_option::ERROR_LOG_BUFFER_SIZE_BYTES) => {
                    (this.errors.size, this.errors.size_option) =
                        (value as usize as u32 as usize, Some(index));
                }
                Err(_) if number < OPTIONS => {}
                Err(invalid) => return Err(invalid),
            }
        }
        Ok(this)
    }

    pub fn error(&self, text: &str) {
        self.errors.add(text);
    }

    /// Prints why the load failed on standard error, if the caller provided no buffer: a code alone says little.
    pub fn say_error(&self) {
        let text = self.errors.text.borrow();
        if self.errors.buffer.is_none() && !text.is_empty() {
            eprintln!("warpsmith: the module is refused: {text}");
        }
    }

    pub fn info(&self, text: &str) {
        self.infos.add(text);
    }

    pub fn finish(&self) {
        self.errors.store(self.values);
        self.infos.store(self.values);
        if let (Some(option), Some(values)) = (self.wall_time, self.values) {
            let milliseconds = self.started.elapsed().as_secs_f32() * 1e3;
            // SAFETY: as in `Log::store`; the option's value is a float in the place of a pointer.
            let place = unsafe { Out::new(values.as_ptr().cast_mut()) };
            place.set_at(option, milliseconds.to_bits() as usize as *mut c_void);
        }
    }
}
