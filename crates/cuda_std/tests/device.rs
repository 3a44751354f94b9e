//! What the device build makes of `cuda_std`, read in the PTX: each thing that upstream got wrong, and each that only
//! the device has.

use cuda_builder::{CudaBuilder, NvvmArch};
use std::path::Path;
use std::sync::OnceLock;

/// The PTX of `fixtures/device`, for the first architecture that has all its instructions.
fn ptx() -> &'static str {
    static PTX: OnceLock<String> = OnceLock::new();
    PTX.get_or_init(|| {
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/device");
        let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join("device_fixture.ptx");
        let built = CudaBuilder::new(fixture).arch(NvvmArch::Compute80).copy_to(copy).build();
        let path = built.unwrap_or_else(|error| panic!("the fixture must compile: {error}"));
        std::fs::read_to_string(path).unwrap()
    })
}

/// A kernel's instructions, without comments, locations and indentation.
fn kernel(name: &str) -> Vec<&'static str> {
    let start = ptx().find(&format!(".entry {name}(")).unwrap_or_else(|| panic!("no kernel `{name}`"));
    let mut depth = 0;
    let mut lines = Vec::new();
    for line in ptx()[start..].lines().map(str::trim) {
        // Inline PTX and calls are enclosed in blocks.
        depth += i32::from(line.starts_with('{')) - i32::from(line.starts_with('}'));
        if depth == 0 && line.starts_with('}') {
            break;
        }
        if depth > 0 && !line.is_empty() && !line.starts_with("//") && !line.starts_with(".loc") {
            lines.push(line);
        }
    }
    lines
}

/// A kernel's opcodes that start with one of `stems`, in order.
fn opcodes(name: &str, stems: &[&str]) -> Vec<&'static str> {
    let opcodes = kernel(name).into_iter().map(|line| line.split([' ', '\t', ';']).next().unwrap());
    opcodes.filter(|opcode| stems.iter().any(|stem| opcode.starts_with(stem))).collect()
}

/// The register that `operand` of the first instruction with this opcode names: its value, if a `mov` set it.
fn constant_operand(name: &str, opcode: &str, operand: usize) -> i64 {
    let lines = kernel(name);
    let line = lines.iter().find(|line| line.starts_with(opcode)).unwrap();
    let register = line[opcode.len()..].trim_end_matches(';').split(',').nth(operand).unwrap().trim();
    if let Ok(value) = register.parse() {
        return value;
    }
    let set = lines.iter().find(|l| l.starts_with("mov.b32") && l.contains(&format!("{register},"))).unwrap();
    set.trim_end_matches(';').rsplit(' ').next().unwrap().parse().unwrap()
}

#[test]
fn log2_is_not_log10() {
    // 1/ln 2 and 1/ln 10 in PTX.
    let of = |name: &str| kernel(name).join("\n");
    assert!(of("log2").contains("0f3FB8AA3B") && !of("log2").contains("0f3EDE5BD9"));
    assert!(of("log10").contains("0f3EDE5BD9") && !of("log10").contains("0f3FB8AA3B"));
}

#[test]
fn votes_are_not_inverted() {
    assert_eq!(
        opcodes("votes", &["vote"]),
        ["vote.sync.all.pred", "vote.sync.any.pred", "vote.sync.ballot.b32"]
    );
    assert_eq!(kernel("votes").iter().filter(|line| line.starts_with("setp.ne.u32 mine,")).count(), 3);
    // Any non-zero predicate counts as true: `mine` is set if the value is not 0.
    let selects = kernel("votes").into_iter().filter(|line| line.starts_with("selp.u32"));
    assert!(selects.clone().count() == 2 && selects.into_iter().all(|line| line.ends_with(", 1, 0, ours;")));
}

#[test]
fn shuffle_modes_are_their_own() {
    assert_eq!(
        opcodes("shuffles", &["shfl"]),
        ["shfl.sync.up.b32", "shfl.sync.down.b32", "shfl.sync.bfly.b32", "shfl.sync.idx.b32"]
    );
    // For `up` the bound is the section's first lane; for the others it is the last.
    assert_eq!(constant_operand("shuffles", "shfl.sync.up.b32", 3), 0);
    assert_eq!(constant_operand("shuffles", "shfl.sync.down.b32", 3), 0x1f);
    assert_eq!(constant_operand("shuffles", "shfl.sync.bfly.b32", 3), 0x101f);
    assert_eq!(constant_operand("shuffles", "shfl.sync.idx.b32", 3), 0x181f);
}

#[test]
fn sixty_four_bits_are_two_shuffles() {
    assert_eq!(opcodes("wide_shuffle", &["shfl"]), ["shfl.sync.bfly.b32"; 2]);
}

#[test]
fn floats_match_by_their_bits() {
    assert_eq!(opcodes("matches", &["match"]), ["match.any.sync.b32", "match.all.sync.b32"]);
    // Upstream converts the value to an integer, so that 1.2 matches 1.9.
    assert_eq!(opcodes("matches", &["cvt.r"]), [""; 0]);
}

#[test]
fn atomics_have_the_scope_and_ordering_asked_for() {
    assert_eq!(
        opcodes("scopes", &["ld.relaxed", "atom", "st.release", "fence"]),
        [
            "ld.relaxed.gpu.global.u32",
            "atom.acq_rel.gpu.global.or.b32",
            "atom.relaxed.cta.global.add.u32",
            "fence.sc.sys",
            "atom.acquire.sys.global.max.u32",
            "atom.relaxed.gpu.global.add.u32",
            "atom.acquire.sys.global.cas.b32",
            "st.release.cta.global.u32"
        ]
    );
    assert_eq!(
        opcodes("fences", &["fence", "membar"]),
        ["fence.acq_rel.cta", "fence.acq_rel.gpu", "fence.sc.gpu", "membar.gl"]
    );
}

#[test]
fn atomic_floats_have_the_scope_of_their_type() {
    assert_eq!(
        opcodes("float_atomics", &["atom"]),
        [
            "atom.relaxed.gpu.global.add.f32",
            "atom.relaxed.sys.global.add.f64",
            "atom.relaxed.cta.global.add.f32"
        ]
    );
}

#[test]
fn atomics_name_the_memory_that_they_reach() {
    // Through a loop, a choice between two buffers, and a reference; a pointer loaded from memory may lead anywhere.
    assert_eq!(
        opcodes("atomic_spaces", &["atom", "ld.relaxed", "red"]),
        [
            "atom.relaxed.cta.shared.add.u32",
            "atom.relaxed.gpu.shared.add.f32",
            "ld.relaxed.gpu.shared.u32",
            "atom.relaxed.gpu.max.u32"
        ]
    );
}

#[test]
fn core_atomics_keep_scope_and_ordering() {
    assert_eq!(
        opcodes("core_atomics", &["atom"]),
        ["atom.relaxed.sys.global.add.u32", "atom.acq_rel.sys.global.cas.b32"]
    );
}

#[test]
fn text_is_never_a_format() {
    // A percent sign in the text is data, even if the text after it is a valid C format.
    let format = "100%% of %llu\n".bytes().map(|byte| byte.to_string()).collect::<Vec<_>>().join(", ");
    assert!(ptx().contains(&format), "no format for `prints`");
    assert!(kernel("prints").iter().any(|line| line.contains("vprintf,")));
    assert!(!kernel("prints").iter().any(|line| line.contains("malloc")), "printing needs no heap");
}

#[test]
fn failed_assertions_end_the_launch() {
    assert!(kernel("asserts").iter().any(|line| line.contains("warpsmith_panic_values,")));
    // The function it calls reports the values and may return; the thread then ends all the same.
    let (_, reports) = ptx().split_once(".func warpsmith_panic_values(").expect("a function that reports");
    let body = reports.split("\n}").next().unwrap();
    let (_, after) = body.split_once("__warpsmith_panic_with_values,").expect("its call");
    assert!(after.contains("trap;"), "{body}");
    assert!(ptx().contains("__assertfail,"));
}

#[test]
fn asynchronous_copies_wait_as_told() {
    assert_eq!(
        opcodes("copies", &["cp.async"]),
        [
            "cp.async.cg.shared.global",
            "cp.async.ca.shared.global",
            "cp.async.commit_group",
            "cp.async.wait_group",
            "cp.async.wait_all"
        ]
    );
    assert!(kernel("copies").contains(&"cp.async.wait_group 1;"));
}

#[test]
fn registers_and_reductions() {
    let odds = kernel("odds").join("\n");
    for part in [
        "%dynamic_smem_size",
        "%total_smem_size",
        "isspacep.global",
        "%clock64",
        "pmevent 5;",
        "%laneid",
        "activemask.b32",
    ] {
        assert!(odds.contains(part), "{part}");
    }
    assert_eq!(opcodes("reduces", &["redux"]), ["redux.sync.min.s32"]);
    assert!(kernel("heap").iter().any(|line| line.contains("malloc,")));
}

#[test]
fn mathematics_is_device_code_without_calls_or_local_memory() {
    let lines = kernel("mathematics");
    let bad = |line: &&&str| line.starts_with("call") || line.contains(".local");
    assert_eq!(lines.iter().find(bad), None);
    assert!(lines.iter().any(|line| line.starts_with("sqrt.rn.f32")));
    assert!(lines.iter().any(|line| line.starts_with("sin.approx.f32")));
    assert!(lines.iter().any(|line| line.starts_with("add.rp.f32")));
}

#[path = "fixtures/device/src/conversions.rs"]
mod conversions;

#[test]
fn conversions_do_on_the_device_what_they_do_on_the_host() {
    assert_eq!(opcodes("conversions", &["cvt.rmi.s64.f64", "max.f32"]), ["cvt.rmi.s64.f64", "max.f32"]);
    let powers = [0_u32, 1, 24, 31, 32, 53, 63, 64].map(|power| 2_f64.powi(power as i32));
    let near = powers.into_iter().flat_map(|x| [x, x - 0.5, x + 0.5, x + 1.0, x.next_down(), x.next_up()]);
    let special = [0.0, -0.0, f64::NAN, f64::INFINITY, 1e-40, 5e-324, f64::MAX, 65504.7, 0.1];
    let floats: Vec<f64> = near.chain(special).flat_map(|x| [x, -x]).collect();
    let number = |i: usize| {
        let (x, y) = (floats[i % floats.len()], floats[(i * 7 + i / floats.len()) % floats.len()]);
        (x as f32, y, (y as i64).wrapping_sub(i as i64))
    };
    let numbers: Vec<(f32, f64, i64)> = (0..4 * floats.len()).map(number).collect();
    let size = size_of::<(f32, f64, i64)>();
    let mut bytes = vec![0; numbers.len() * size];
    for (number, bytes) in numbers.iter().zip(bytes.chunks_mut(size)) {
        let place = |field: *const u8| field.addr() - (&raw const *number).addr();
        bytes[place((&raw const number.0).cast())..][..4].copy_from_slice(&number.0.to_le_bytes());
        bytes[place((&raw const number.1).cast())..][..8].copy_from_slice(&number.1.to_le_bytes());
        bytes[place((&raw const number.2).cast())..][..8].copy_from_slice(&number.2.to_le_bytes());
    }
    let words = run("conversions", &bytes, numbers.len(), numbers.len() * 59 * 8);
    for ((x, y, n), got) in numbers.iter().zip(words.as_chunks::<8>().0.as_chunks::<59>().0) {
        let got = got.map(u64::from_le_bytes);
        assert_eq!(got, conversions::results(*x, *y, *n), "of {x:e}, {y:e}, {n}");
    }
}

#[test]
fn a_stable_sort_sorts() {
    for length in [5, 20, 21, 50, 300] {
        let mut pairs: Vec<[u32; 2]> = (0..length).map(|i| [(i * 7919 + 3) % 101, i]).collect();
        let bytes: Vec<u8> = pairs.as_flattened().iter().flat_map(|x| x.to_le_bytes()).collect();
        let got = run("sorts", &bytes, pairs.len(), bytes.len());
        pairs.sort_by_key(|pair| pair[0]);
        let got: Vec<u32> = got.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        assert_eq!(got, pairs.as_flattened());
    }
}

/// What a one-thread kernel does with a slice of `length` elements.
fn run(name: &str, slice: &[u8], length: usize, results: usize) -> Vec<u8> {
    use virtual_gpu::{Gpu, Launch};
    let gpu = Gpu::new(&gpu_model::chips::H200);
    let room = |bytes: usize| gpu.memory().alloc(bytes as u64).unwrap();
    let (from, to) = (room(slice.len()), room(results));
    gpu.memory().write(from, slice).unwrap();
    let params: Vec<u8> = [from, length as u64, to].iter().flat_map(|x| x.to_le_bytes()).collect();
    let kernel = gpu.load(ptx()).unwrap().kernel(name).unwrap();
    gpu.launch(&kernel, &Launch::new(1, 1), &params, &mut ()).unwrap();
    let mut got = vec![0; results];
    gpu.memory().read(to, &mut got).unwrap();
    got
}

#[cfg(target_arch = "x86_64")]
#[path = "fixtures/device/src/x86_vectors.rs"]
mod x86_vectors;

/// Libraries with a path for x86 find its vector instructions: the host's processor defines what they do.
#[cfg(target_arch = "x86_64")]
#[test]
fn x86_vectors_do_what_the_processor_does() {
    let special =
        [0.0, -0.0, 1.5, -2.5, 3e9, -3e9, f32::NAN, f32::INFINITY, 2147483648.0, -2147483648.0, 0.5, 1e-40];
    let at = |index: usize| special[index % special.len()];
    let pair = |i: usize| {
        [[at(i), at(i + 1), at(i + 2), at(i + 3)], [at(7 * i), at(i / 12), at(5 * i + 3), at(i + 3)]]
    };
    let pairs: Vec<[[f32; 4]; 2]> = (0..144).map(pair).collect();
    let bytes: Vec<u8> = pairs.as_flattened().as_flattened().iter().flat_map(|x| x.to_le_bytes()).collect();
    let got = run("x86_vectors", &bytes, pairs.len(), pairs.len() * size_of::<x86_vectors::Results>());
    let mut words = got.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word));
    for [a, b] in pairs {
        for (number, want) in x86_vectors::results(a, b).into_iter().enumerate() {
            let got: Vec<u32> = words.by_ref().take(4).collect();
            assert_eq!(got, want, "result {number} of {a:?} and {b:?}");
        }
    }
}
