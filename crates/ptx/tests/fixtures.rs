//! Whole modules: a hand-written one with every form, and nvcc's. The expected values were read off the texts.

use ptx::{Constant, FunctionKind, Initializer, Linkage, Operand, ScalarType, SourceLines, Space, Statement};

const LANGUAGE: &str = include_str!("fixtures/language.ptx");
const PLAIN: &str = include_str!("fixtures/nvcc_plain.ptx");
const LLVM: &str = include_str!("fixtures/llvm.ptx");
const TENSOR: &str = include_str!("fixtures/nvcc_tensor.ptx");

fn instructions(block: &ptx::Block) -> Vec<&ptx::Instruction> {
    let mut found = Vec::new();
    for statement in &block.statements {
        match statement {
            Statement::Instruction(instruction) => found.push(instruction),
            Statement::Block(inner) => found.extend(instructions(inner)),
            _ => {}
        }
    }
    found
}

fn function<'m>(module: &'m ptx::Module, name: &str) -> &'m ptx::Function {
    module.functions.iter().find(|f| f.name == name && f.body.is_some()).unwrap()
}

#[test]
fn printed_modules_parse_to_themselves() {
    for text in [LANGUAGE, PLAIN, TENSOR, LLVM] {
        let first = ptx::parse(text).unwrap();
        let printed = first.to_string();
        let again = ptx::parse(&printed).unwrap_or_else(|error| panic!("{error}\n{printed}"));
        assert_eq!(again.to_string(), printed);
        assert_eq!(again.variables.len(), first.variables.len());
        let code = |module: &ptx::Module| -> Vec<_> {
            let bodies = module.functions.iter().filter_map(|function| function.body.as_ref());
            let all = bodies.flat_map(instructions);
            all.map(|i| (i.guard.clone(), i.opcode.clone(), i.operands.clone())).collect()
        };
        assert_eq!(code(&again), code(&first));
    }
}

/// ptxas refuses non-ASCII letters, and ends a string at any quotation mark.
#[test]
fn a_path_of_any_letters_is_printed_in_ascii() {
    let text = r#".version 8.6 .target sm_90 .address_size 64 .file 1 "/my \303\274 'pro\042j\\/lib.rs""#;
    let module = ptx::parse(text).unwrap();
    assert_eq!(module.files[0].path.as_str(), "/my ü 'pro\"j\\/lib.rs");
    let printed = module.to_string();
    assert!(printed.is_ascii() && printed.contains(r#""/my \303\274 'pro\042j\134/lib.rs""#), "{printed}");
    assert_eq!(ptx::parse(&printed).unwrap().files[0].path, module.files[0].path);
}

#[test]
fn the_header_and_the_tables() {
    let module = ptx::parse(LANGUAGE).unwrap();
    assert_eq!(module.version, (8, 6));
    assert_eq!(module.targets, ["sm_90a", "texmode_independent"]);
    assert_eq!(module.address_size, 64);
    assert_eq!(module.files[1].path, "of time.rs");
    assert_eq!(module.files[1].stamp, Some((1_700_000_000, 1234)));
    assert_eq!(module.pragmas, ["nounroll"]);
    assert_eq!((&*module.aliases[0].name, &*module.aliases[0].of), ("renamed", "original"));
    assert_eq!(module.sections.iter().map(|s| &*s.name).collect::<Vec<_>>(), [".debug_str", ".debug_other"]);
}

#[test]
fn variables_have_their_sizes_and_values() {
    let module = ptx::parse(LANGUAGE).unwrap();
    let find = |name: &str| module.variables.iter().find(|v| v.name == name).unwrap();
    assert_eq!((find("bytes").size(), find("bytes").alignment()), (Some(4), 16));
    assert_eq!(find("numbers").size(), Some(24));
    assert_eq!((find("vector").size(), find("vector").alignment()), (Some(16), 16));
    assert_eq!(find("doubles").size(), Some(24));
    assert_eq!(find("dynamic").size(), Some(0));
    assert_eq!((find("dynamic").linkage, find("dynamic").space), (Some(Linkage::Extern), Space::Shared));
    assert_eq!(find("managed_one").attributes[0].name, "managed");
    assert_eq!((find("of_them").size(), find("initialised").size()), (Some(8), Some(4)));
    assert_eq!(find("weak_one").ty, ScalarType::S16);
    let integer = |bits: i64| Initializer::Value(Constant::Integer { bits: bits as u64, unsigned: false });
    let Some(Initializer::List(rows)) = &find("numbers").initializer else { panic!() };
    assert_eq!(rows[1], Initializer::List(vec![integer(17), integer(64), integer(-1)]));
    let Some(Initializer::List(pointers)) = &find("pointers").initializer else { panic!() };
    let Initializer::Address(address) = &pointers[2] else { panic!() };
    assert_eq!((&*address.name, address.offset, address.generic), ("bytes", 2, true));
    let Some(Initializer::List(masked)) = &find("masked").initializer else { panic!() };
    assert!(matches!(&masked[1], Initializer::MaskedAddress { mask: 0xff00, .. }));
}

#[test]
fn functions_and_their_directives() {
    let module = ptx::parse(LANGUAGE).unwrap();
    let kernel = function(&module, "kernel");
    assert_eq!((kernel.kind, kernel.linkage), (FunctionKind::Entry, Some(Linkage::Visible)));
    assert_eq!(kernel.directives.maxntid, Some([128, 2, 1]));
    assert_eq!((kernel.directives.minnctapersm, kernel.directives.maxnreg), (Some(2), Some(128)));
    assert_eq!(kernel.params[0].pointer.unwrap().space, Some(Space::Global));
    assert_eq!(kernel.params[1].pointer.unwrap().align, 4);
    assert_eq!((kernel.params[2].size(), kernel.params[2].alignment()), (Some(128), 64));
    assert!(function(&module, "never").directives.noreturn);
    assert_eq!(function(&module, "structured").results[0].size(), Some(16));
    assert_eq!(function(&module, "in_registers").params[1].space, Space::Reg);
    assert_eq!(function(&module, "clustered").directives.reqnctapercluster, Some([2, 1, 1]));
    assert_eq!(function(&module, "ranked").directives.maxclusterrank, Some(8));
}

#[test]
fn every_kind_of_operand() {
    let module = ptx::parse(LANGUAGE).unwrap();
    let all = instructions(function(&module, "kernel").body.as_ref().unwrap());
    let printed: Vec<String> = all.iter().map(|instruction| instruction.to_string()).collect();
    insta::assert_snapshot!(printed.join("\n"));
    let load = all.iter().find(|i| i.guard.as_ref().is_some_and(|guard| !guard.negated)).unwrap();
    let Operand::Address(address) = &load.operands[1] else { panic!() };
    assert_eq!((address.base.as_deref(), address.offset), (Some("%rd1"), -16));
    let copy = all.iter().find(|i| i.opcode.name == "cp").unwrap();
    assert!(copy.opcode.has("shared::cluster") && copy.opcode.has("2d"));
    assert!(matches!(&copy.operands[1], Operand::Indexed(map, rest)
        if map.base.as_deref() == Some("%rd1") && matches!(&rest[0], Operand::Vector(items) if items.len() == 2)));
}

#[test]
fn inlined_lines_are_found() {
    let module = ptx::parse(LANGUAGE).unwrap();
    let all = instructions(function(&module, "kernel").body.as_ref().unwrap());
    let frames = SourceLines::new(&module).frames(all.last().unwrap().loc.unwrap());
    let shown: Vec<_> = frames.iter().map(|f| (&*f.file, f.line, f.function.as_deref())).collect();
    assert_eq!(shown, [("of time.rs", 4, Some("_Z")), ("src/lib.rs", 10, None)]);
}

#[test]
fn nvcc_modules_hold_what_their_source_has() {
    let module = ptx::parse(PLAIN).unwrap();
    let entries: Vec<_> =
        module.functions.iter().filter(|f| f.kind == FunctionKind::Entry).map(|f| &*f.name).collect();
    assert_eq!(entries, ["plain", "tex"]);
    let plain = function(&module, "plain");
    assert_eq!(plain.directives.maxntid, Some([256, 1, 1]));
    let lines = SourceLines::new(&module);
    let body = instructions(plain.body.as_ref().unwrap());
    assert!(
        body.iter()
            .filter_map(|i| i.loc)
            .all(|loc| lines.frames(loc).iter().any(|f| f.file.ends_with(".cu")))
    );
    let module = ptx::parse(TENSOR).unwrap();
    let hopper = instructions(function(&module, "hopper").body.as_ref().unwrap());
    assert!(
        hopper.iter().any(|i| i.opcode.to_string() == "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16")
    );
}

#[test]
fn rust_kernels_lead_back_to_their_lines() {
    let module = ptx::parse(LLVM).unwrap();
    let lines = SourceLines::new(&module);
    let body = instructions(function(&module, "copy_shifted").body.as_ref().unwrap());
    let mut deepest = 0;
    for loc in body.iter().filter_map(|instruction| instruction.loc) {
        let frames = lines.frames(loc);
        let (outermost, inlined) = frames.split_last().unwrap();
        assert_eq!((&*outermost.file, outermost.function.is_none()), ("kernels-gpu/src/coalescing.rs", true));
        assert!(
            inlined.iter().all(|frame| frame.function.as_ref().is_some_and(|name| name.starts_with("_RN")))
        );
        deepest = deepest.max(frames.len());
    }
    assert!(deepest >= 3);
}
