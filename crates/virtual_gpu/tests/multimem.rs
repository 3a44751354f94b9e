//! `multimem`: a multicast address stands for the memory bound there, and for nothing else.

use bytemuck::Pod;
use gpu_model::chips::B200;
use virtual_gpu::memory::Multicast;
use virtual_gpu::{Error, Gpu, Launch, Options};

/// An address where nothing else is.
const TEAM: u64 = 0xC000_0000_0000;
const BYTES: u64 = 4096;

struct Team {
    gpu: Gpu,
    replica: u64,
}

impl Team {
    fn new() -> Self {
        let gpu = Gpu::with_options(&B200, Options { threads: 1, ..Options::default() });
        let replica = gpu.memory().alloc(BYTES).unwrap();
        let bound = Multicast { address: TEAM, bytes: BYTES, replica: Some(replica) };
        let rest = Multicast { address: TEAM + BYTES, bytes: BYTES, replica: None };
        gpu.memory().set_multicasts(vec![bound, rest]);
        Team { gpu, replica }
    }

    fn set<T: Pod>(&self, values: &[T]) {
        self.gpu.memory().write(self.replica, bytemuck::cast_slice(values)).unwrap();
    }

    fn get<T: Pod, const N: usize>(&self) -> [T; N] {
        let mut values = [T::zeroed(); N];
        self.gpu.memory().read(self.replica, bytemuck::cast_slice_mut(&mut values)).unwrap();
        values
    }

    /// Runs one thread with `%m` the address.
    fn run(&self, address: u64, body: &str) -> Result<(), Error> {
        let text = format!(
            ".version 9.4\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 p) {{\n\
             .shared .align 16 .b32 tile[16];\n\
             .reg .b8 %c<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %rd<4>; .reg .f32 %f<9>; .reg .b64 %m;\n\
             ld.param.u64 %m, [p];\n{body}\nret; }}\n"
        );
        let module = self.gpu.load(&text)?;
        let kernel = module.kernel("k").unwrap();
        self.gpu.launch(&kernel, &Launch::new(1, 1), &address.to_le_bytes(), &mut ())
    }

    fn ok(&self, body: &str) {
        self.run(TEAM, body).unwrap_or_else(|error| panic!("{body}: {error}"));
    }
}

/// One replica's value is the reduction of all, whatever the operation.
#[test]
fn loads_give_the_replica() {
    let team = Team::new();
    team.set(&[1u32, 2, 0x8000_0000, 4, 0, 0, 0, 0]);
    team.ok("multimem.ld_reduce.relaxed.gpu.global.add.u32 %r1, [%m+4];
             multimem.ld_reduce.min.s64 %rd1, [%m+8];
             multimem.ld_reduce.weak.add.acc::f32.v4.bf16x2 {%r2, %r3, %r4, %r5}, [%m];
             multimem.st.relaxed.sys.u32 [%m+16], %r1;
             multimem.st.s64 [%m+24], %rd1;
             multimem.st.v4.f16x2 [%m+32], {%r2, %r3, %r4, %r5};");
    assert_eq!(team.get::<u32, 12>(), [1, 2, 0x8000_0000, 4, 2, 0, 0x8000_0000, 4, 1, 2, 0x8000_0000, 4]);
}

#[test]
fn narrow_elements_keep_their_places() {
    let team = Team::new();
    team.set(&std::array::from_fn::<u8, 32, _>(|i| i as u8 + 1));
    team.ok("multimem.ld_reduce.max.v4.e4m3 {%c1, %c2, %c3, %c4}, [%m+4];
             multimem.st.release.cta.v4.e5m2 [%m], {%c4, %c3, %c2, %c1};
             multimem.ld_reduce.acquire.cluster.add.acc::f16.v2.e4m3x2 {%h1, %h2}, [%m+8];
             multimem.st.v2.bf16 [%m+12], {%h1, %h2};
             multimem.st.async.release.gpu.b8 [%m+17], %c1;
             multimem.st.async.release.sys.global.u16 [%m+18], %h2;
             multimem.st.e4m3x4 [%m+20], 7;");
    assert_eq!(
        team.get::<u8, 24>(),
        [8, 7, 6, 5, 5, 6, 7, 8, 9, 10, 11, 12, 9, 10, 11, 12, 17, 5, 11, 12, 7, 0, 0, 0]
    );
}

#[test]
fn reductions_change_the_replica_once() {
    let team = Team::new();
    team.set(&[10u32, 0b1100, 5, 5, 1.5f32.to_bits(), 2f32.to_bits(), 0x3c00_4000, 0x4000_3c00]);
    team.ok("mov.b32 %f1, 0f3f000000;
             mov.b32 %r1, 0x42004200;
             mov.b64 %rd1, 0x100000000;
             multimem.red.add.u32 [%m], 7;
             multimem.red.release.sys.global.xor.b32 [%m+4], 6;
             multimem.red.relaxed.gpu.max.u64 [%m+8], %rd1;
             multimem.red.add.v2.f32 [%m+16], {%f1, %f1};
             multimem.red.max.v2.f16x2 [%m+24], {%r1, %r1};
             multimem.red.async.release.gpu.add.s32 [%m], 1;");
    let half = 0x4200_4200;
    assert_eq!(team.get::<u32, 8>(), [18, 0b1010, 5, 5, 2f32.to_bits(), 2.5f32.to_bits(), half, half]);
}

#[test]
fn bulk_copies_end_at_the_replica() {
    let team = Team::new();
    team.set(&[100u32; 16]);
    team.ok("mov.u32 %r1, tile;
             mov.u32 %r3, 3;
             mov.b16 %h1, 0x00f0;
             st.shared.v4.u32 [%r1], {1, 2, %r3, 4};
             fence.proxy.async;
             multimem.cp.async.bulk.global.shared::cta.bulk_group [%m], [%r1], 16;
             multimem.cp.async.bulk.relaxed.gpu.global.shared::cta.bulk_group.cp_mask.b128 [%m+16], [%r1], 16, %h1;
             multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%m+32], [%r1], 16;
             cp.async.bulk.commit_group;
             cp.async.bulk.wait_group 0;");
    assert_eq!(team.get::<u32, 13>(), [1, 2, 3, 4, 100, 2, 100, 100, 101, 102, 103, 104, 100]);
}

/// Looks alike but is not: asynchronous stores to ordinary memory, which need not be waited for.
#[test]
fn asynchronous_stores_to_ordinary_memory() {
    let team = Team::new();
    team.set(&[0u32, 5]);
    team.run(
        team.replica,
        "mov.u32 %r1, 9; st.async.release.gpu.global.u32 [%m], %r1; red.async.mmio.release.sys.add.u32 [%m+4], 3;
         red.async.release.sys.inc.u32 [%m], 9; st.async.mmio.release.sys.u32 [%m+8], 7;",
    )
    .unwrap();
    assert_eq!(team.get::<u32, 3>(), [0, 8, 7]);
}

#[test]
fn other_addresses_and_other_instructions_are_told() {
    let team = Team::new();
    for (address, body, parts) in [
        (team.replica, "multimem.st.u32 [%m], 1;", ["multimem global store", "not a multicast address"]),
        (team.replica, "multimem.ld_reduce.add.u32 %r1, [%m];", ["multimem global load", "cuMemMap"]),
        (TEAM, "ld.global.u32 %r1, [%m];", ["global load", "only multimem may access"]),
        (TEAM, "st.u32 [%m], %r1;", ["global store", "a multicast address"]),
        (TEAM, "atom.add.u32 %r1, [%m], 1;", ["global atomic", "a multicast address"]),
        (TEAM + BYTES, "multimem.red.add.u32 [%m], 1;", ["multimem global atomic", "no memory is bound"]),
        (TEAM + 2, "multimem.red.add.u32 [%m], 1;", ["misaligned", "multimem global atomic"]),
        (
            TEAM + BYTES - 16,
            "mov.u32 %r1, tile; multimem.cp.async.bulk.global.shared::cta.bulk_group [%m], [%r1], 32;",
            ["bulk copy", "runs over the end"],
        ),
    ] {
        let text = team.run(address, body).unwrap_err().to_string();
        for part in parts {
            assert!(text.contains(part) && text.contains("line "), "{part:?} is not in {text:?}");
        }
    }
    assert!(team.gpu.memory().write(TEAM, &[1]).is_err());
}

/// Each was tried with ptxas of CUDA 13.5.
#[test]
fn forms_that_are_refused() {
    let team = Team::new();
    for (body, part) in [
        ("multimem.red.relaxed.add.u32 [%m], 1;", "go together"),
        ("multimem.st.gpu.u32 [%m], 1;", "go together"),
        ("multimem.ld_reduce.release.gpu.add.u32 %r1, [%m];", "not possible"),
        ("multimem.ld_reduce.u32 %r1, [%m];", "it needs"),
        ("multimem.ld_reduce.add.u32 _, [%m];", "needs a register"),
        ("multimem.ld_reduce.add.v2.f32 %f1, [%m];", "2 elements"),
        ("multimem.st.v2.u32 [%m], {%r1, %r2};", "`.v2` is not possible"),
        ("multimem.st.v4.e4m3 [%m], {%h1, %h2, %h3, %h4};", "registers are of 8 bits"),
        ("multimem.red.add.noftz.f16x2 [%m], %r1;", "not"),
        ("multimem.ld_reduce.shared::cta.add.u32 %r1, [%m];", "not"),
        ("multimem.cp.async.bulk.relaxed.gpu.global.shared::cta.bulk_group [%m], [%r1], %r2;", "`.b128`"),
    ] {
        let text = team.run(TEAM, body).unwrap_err().to_string();
        assert!(text.contains(part), "{part:?} is not in {text:?}");
    }
}
