//! Calls every entry point with arguments that no program should pass: null, stale and foreign handles, impossible
//! sizes. None may crash, hang or panic.

use std::ffi::{c_char, c_void};
use std::ptr::null_mut;

use super::*;
use crate::abi::*;

/// One entry point with random arguments.
pub struct Probe {
    pub name: &'static str,
    pub call: fn(&mut Drawn) -> CUresult,
}

fn probes() -> impl Iterator<Item = &'static Probe> {
    [
        contexts::PROBES,
        memory::PROBES,
        modules::PROBES,
        streams::PROBES,
        graphs::PROBES,
        textures::PROBES,
        interop::PROBES,
        legacy::PROBES,
    ]
    .into_iter()
    .flatten()
}

/// Where arguments come from.
pub struct Drawn {
    state: u64,
    /// Numbers to draw from: sizes and handles alike.
    numbers: Vec<u64>,
    /// Memory large enough for what small numbers request; without it, null.
    place: *mut c_void,
}

impl Drawn {
    fn number(&mut self) -> u64 {
        self.state =
            self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.numbers[(self.state >> 33) as usize % self.numbers.len()]
    }
}

/// An argument of an entry point.
pub trait Argument {
    fn draw(drawn: &mut Drawn) -> Self;
}

macro_rules! arguments {
    ($($type:ty: |$drawn:ident| $value:expr;)*) => {
        $(impl Argument for $type {
            fn draw($drawn: &mut Drawn) -> Self {
                $value
            }
        })*
    };
}

arguments! {
    u8: |drawn| drawn.number() as u8;
    u16: |drawn| drawn.number() as u16;
    u32: |drawn| drawn.number() as u32;
    i32: |drawn| drawn.number() as i32;
    // An address may also be a host address, for whose memory a program vouches: draw none that a program could have.
    u64: |drawn| match drawn.number() {
        own if (1 << 16..1 << 56).contains(&own) => 1 << 62,
        foreign => foreign,
    };
    usize: |drawn| drawn.number() as usize;
    f32: |drawn| drawn.number() as f32;
    CUresult: |drawn| CUresult(drawn.number() as u32);
    *mut c_void: |drawn| drawn.place;
    *const c_void: |drawn| drawn.place;
    // SAFETY: null, or a C string: the place begins with zeros.
    Text: |drawn| unsafe { Text::new(drawn.place.cast_const().cast::<c_char>()) };
    CUhostFn: |_drawn| None;
    CUstreamCallback: |_drawn| None;
    CUoccupancyB2DSize: |_drawn| None;
    CUmemLocation: |drawn| CUmemLocation { r#type: drawn.number() as u32, id: drawn.number() as i32 };
    IpcHandle: |_drawn| IpcHandle { reserved: [0; 64] };
}

impl<T> Argument for Out<T> {
    fn draw(drawn: &mut Drawn) -> Self {
        // SAFETY: null, or large enough for a few elements of any type.
        unsafe { Out::new(drawn.place.cast()) }
    }
}

impl<T: Copy> Argument for In<T> {
    fn draw(drawn: &mut Drawn) -> Self {
        // SAFETY: as above, and all zero.
        unsafe { In::new(drawn.place.cast_const().cast()) }
    }
}

const KERNEL: &std::ffi::CStr = c"
.version 7.0
.target sm_75
.address_size 64
.visible .entry store(.param .u64 p) { ret; }
";

fn nothing<T: Copy>() -> In<T> {
    // SAFETY: null is allowed.
    unsafe { In::new(std::ptr::null()) }
}

/// A living object of each kind, and a dead one.
fn handles() -> Vec<u64> {
    let mut made = [0usize; 6];
    // SAFETY: every place is valid, and the text is a C string.
    unsafe {
        let at = |place: &mut usize| Out::new(&raw mut *place);
        let [context, stream, event, module, function, graph] = &mut made;
        assert_eq!(contexts::cuDevicePrimaryCtxRetain(at(context), 0), CUresult::SUCCESS);
        assert_eq!(contexts::cuCtxSetCurrent(*context), CUresult::SUCCESS);
        assert_eq!(streams::cuStreamCreate(at(stream), 0), CUresult::SUCCESS);
        assert_eq!(streams::cuEventCreate(at(event), 0), CUresult::SUCCESS);
        assert_eq!(modules::cuModuleLoadData(at(module), KERNEL.as_ptr().cast()), CUresult::SUCCESS);
        let name = Text::new(c"store".as_ptr());
        assert_eq!(modules::cuModuleGetFunction(at(function), *module, name), CUresult::SUCCESS);
        assert_eq!(graphs::cuGraphCreate(at(graph), 0), CUresult::SUCCESS);
        let (mut node, mut executable, mut link, mut library) = (0, 0, 0, 0);
        assert_eq!(graphs::cuGraphAddEmptyNode(at(&mut node), *graph, nothing(), 0), CUresult::SUCCESS);
        let made_ready = graphs::cuGraphInstantiateWithFlags(at(&mut executable), *graph, 0);
        assert_eq!(made_ready, CUresult::SUCCESS);
        assert_eq!(modules::cuLinkCreate_v2(0, nothing(), nothing(), at(&mut link)), CUresult::SUCCESS);
        let loaded = modules::cuLibraryLoadData(
            at(&mut library),
            KERNEL.as_ptr().cast(),
            nothing(),
            nothing(),
            0,
            nothing(),
            nothing(),
            0,
        );
        assert_eq!(loaded, CUresult::SUCCESS);
        let mut dead = 0;
        assert_eq!(streams::cuEventCreate(at(&mut dead), 0), CUresult::SUCCESS);
        assert_eq!(streams::cuEventDestroy_v2(dead), CUresult::SUCCESS);
        let mut pool = 0;
        assert_eq!(contexts::cuDeviceGetDefaultMemPool(at(&mut pool), 0), CUresult::SUCCESS);
        [*context, *stream, *event, *module, *function, *graph, node, executable, link, library, dead, pool]
            .into_iter()
            .map(|handle| handle as u64)
            .collect()
    }
}

/// Calls every entry point once; returns the results of those that panicked.
fn call_all(drawn: &mut Drawn) -> Vec<(&'static str, CUresult)> {
    let answers = probes().map(|probe| (probe.name, (probe.call)(drawn)));
    answers.filter(|(_, code)| *code == CUresult::UNKNOWN || code.name().is_none()).collect()
}

#[test]
fn no_entry_point_fails_inside_whatever_it_is_given() {
    crate::choose(Some(crate::DevicePreference::Virtual), Some("h200")).unwrap();
    // SAFETY: the call takes no pointer.
    assert_eq!(unsafe { contexts::cuInit(0) }, CUresult::SUCCESS);
    const ODD: [u64; 12] = [
        0,
        1,
        2,
        3,
        4,
        u64::MAX,
        1 << 31,
        1 << 32,
        1 << 62,
        i64::MAX as u64,
        0x5753_0000_0000_0010,
        0x5753_7777_0000_0000,
    ];
    let mut failed = Vec::new();
    // Null for every pointer.
    for seed in 0..40 {
        let numbers = ODD.into_iter().chain(handles()).collect();
        failed.extend(call_all(&mut Drawn { state: seed, numbers, place: null_mut() }));
    }
    // Small numbers, with memory for every pointer, zeroed before each call.
    for seed in 0..20 {
        handles();
        let mut place = vec![0u64; 1 << 13];
        let numbers = (0..4).collect();
        let mut drawn = Drawn { state: seed, numbers, place: place.as_mut_ptr().cast() };
        for probe in probes() {
            // SAFETY: the vector's own elements; no entry point keeps pointers when it fails.
            unsafe { drawn.place.cast::<u64>().write_bytes(0, 1 << 13) };
            let code = (probe.call)(&mut drawn);
            if code == CUresult::UNKNOWN || code.name().is_none() {
                failed.push((probe.name, code));
            }
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}
