//! The lowest `.version` that carries a module: that of its target, raised by what its instructions ask for. A module
//! with a lower version loads with older drivers.

/// Instructions by how they begin, and the first PTX version, times ten, that has them. Only those newer than their
/// first target are listed; the longest match counts.
const INSTRUCTIONS: [(&str, u32); 46] = [
    ("activemask", 62),
    ("alloca", 73),
    ("applypriority", 74),
    ("atom.cas.b128", 83),
    ("atom.global.v", 81),
    ("barrier.cluster", 78),
    ("bmsk", 76),
    ("clusterlaunchcontrol", 86),
    ("cp.async", 70),
    ("cp.async.bulk", 80),
    ("cp.reduce.async.bulk", 80),
    ("createpolicy", 74),
    ("cvta.param", 77),
    ("discard", 74),
    ("elect.sync", 80),
    ("ex2.approx.ftz.f16", 70),
    ("fence.mbarrier_init", 80),
    ("fence.proxy", 80),
    ("fma.rn.relu", 70),
    ("griddepcontrol", 78),
    ("isspacep.param", 77),
    ("ldmatrix", 65),
    ("mapa", 78),
    ("max.NaN", 70),
    ("mbarrier", 70),
    ("mbarrier.try_wait", 78),
    ("min.NaN", 70),
    ("mma.sp", 71),
    ("mma.sync", 64),
    ("mma.sync.aligned.m16n8", 70),
    ("movmatrix", 78),
    ("multimem", 81),
    ("prefetch.tensormap", 80),
    ("red.async", 81),
    ("redux.sync", 70),
    ("setmaxnreg", 80),
    ("st.async", 81),
    ("stmatrix", 78),
    ("szext", 76),
    ("tanh.approx", 70),
    ("tensormap", 82),
    ("tcgen05", 86),
    ("wgmma", 80),
    ("wmma", 61),
    ("getctarank", 78),
    ("nanosleep", 63),
];

/// The version, times ten, that the text's instructions ask for.
pub fn required(ptx: &str) -> u32 {
    ptx.lines().map(required_by_line).max().unwrap_or(0)
}

/// Writes a version into a text printed for version `first`, unless that is newer.
pub fn raise(ptx: &str, first: u32, version: u32) -> String {
    let version = version.max(first);
    let written = format!(".version {}.{}\n", first / 10, first % 10);
    ptx.replacen(&written, &format!(".version {}.{}\n", version / 10, version % 10), 1)
}

/// The instruction of a line, from its name on: a brace or a guard may stand before it.
pub fn instruction(line: &str) -> &str {
    let mut code = line.trim_start();
    if let Some(rest) = code.strip_prefix('@') {
        code = rest.split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim_start());
    }
    code.trim_start_matches(['{', ' ', '\t'])
}

fn required_by_line(line: &str) -> u32 {
    let code = instruction(line);
    let matches = INSTRUCTIONS.iter().filter(|(begin, _)| code.starts_with(begin));
    let instruction = matches.max_by_key(|(begin, _)| begin.len()).map_or(0, |(_, version)| *version);
    let mut required = instruction;
    // Qualifiers that are newer than their instruction.
    for (qualifier, version) in
        [(".shared::c", 78), (".cluster", 78), (".b128", 83), (".L2::", 74), (".e4m3", 78), (".e5m2", 78)]
    {
        if code.contains(qualifier) && !code.starts_with('.') && !code.starts_with("//") {
            required = required.max(version);
        }
    }
    required
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_raises_the_version_no_further_than_it_must() {
        let raised = |ptx: &str, first| raise(ptx, first, required(ptx));
        let module = |body: &str| raised(&format!(".version 6.3\n.target sm_75\n{body}\n"), 63);
        assert!(module("\tadd.s32 %r1, %r2, %r3;").starts_with(".version 6.3\n"));
        assert!(module("\tldmatrix.sync.aligned.m8n8.x4.shared.b16 {a}, [b];").starts_with(".version 6.5\n"));
        assert!(
            module("\t@%p1 mbarrier.try_wait.parity.shared.b64 %p, [x], y;").starts_with(".version 7.8\n")
        );
        assert!(module("\t// wgmma is only named here").starts_with(".version 6.3\n"));
        assert!(raised(".version 9.0\n\tcp.async.bulk.commit_group;", 90).starts_with(".version 9.0\n"));
    }
}
