//! Requirements of inline PTX: an instruction that the architecture lacks is an error of the build, not of the launch.

/// Instructions by how they begin, and the first compute capability, times ten, that has them. The longest match counts.
/// LLVM's own output is not here: LLVM knows its target.
const INSTRUCTIONS: [(&str, u32); 24] = [
    ("clusterlaunchcontrol", 100),
    ("cp.async", 80),
    ("cp.async.bulk", 90),
    ("cp.reduce.async.bulk", 90),
    ("elect.sync", 90),
    ("fence.acq_rel", 70),
    ("fence.proxy", 70),
    ("fence.sc", 70),
    ("griddepcontrol", 90),
    ("ldmatrix", 75),
    ("mapa", 90),
    ("match.", 70),
    ("mbarrier", 80),
    ("mbarrier.try_wait", 90),
    ("mma.sp", 80),
    ("movmatrix", 75),
    ("nanosleep", 70),
    ("redux.sync", 80),
    ("setmaxnreg", 90),
    ("st.async", 90),
    ("stmatrix", 90),
    ("tanh.approx", 75),
    ("tcgen05", 100),
    ("wgmma", 90),
];

/// Finds the first instruction in the text of a part that a device of this capability lacks.
pub fn check(ptx: &str, capability: u32) -> Result<(), String> {
    let mut function = "";
    for line in ptx.lines() {
        function = crate::bitcode::names::begun(line).unwrap_or(function);
        let code = crate::assembly::ptx_version::instruction(line);
        let matches = INSTRUCTIONS.iter().filter(|(begin, _)| code.starts_with(begin));
        let Some((begin, first)) = matches.max_by_key(|(begin, _)| begin.len()) else { continue };
        if *first > capability {
            let opcode = code.split_whitespace().next().unwrap_or(begin);
            let function = crate::bitcode::names::readable(function);
            return Err(format!(
                "`{opcode}` is an instruction of compute_{first} and later, and the kernels are compiled for \
                 compute_{capability}: compile for that one (`.arch(NvvmArch::Compute{first})`), or guard what uses it with \
                 `#[cfg(target_feature = \"compute_{first}\")]`\n  in `{function}`"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check;

    const TEXT: &str = ".visible .entry sums(\n\t.param .u64 p\n)\n{\n\t// redux.sync is named here\n\t{ redux.sync.add.s32 %r1, %r2, %r3;}\n}\n";

    #[test]
    fn what_the_device_lacks_is_named_with_its_kernel() {
        let message = check(TEXT, 75).unwrap_err();
        assert!(message.starts_with("`redux.sync.add.s32`") && message.ends_with("in `sums`"), "{message}");
        assert_eq!(check(TEXT, 80), Ok(()));
    }

    #[test]
    fn the_longest_name_counts() {
        assert!(check("\t@%p1 cp.async.bulk.commit_group;", 80).unwrap_err().contains("compute_90"));
        assert_eq!(check("\tcp.async.commit_group;", 80), Ok(()));
    }
}
