//! Every kernel of the project, by its typed description.

pub use kernels_gpu::FAMILIES;
use warpsmith_launch::Description;

/// A kernel's source file relative to the workspace.
pub fn source(kernel: &Description) -> &'static str {
    kernel.file.find("kernels-gpu").map_or(kernel.file, |at| &kernel.file[at..])
}

/// All kernels with their family.
pub fn kernels() -> impl Iterator<Item = (&'static str, &'static Description)> + Clone {
    FAMILIES.iter().flat_map(|(family, kernels)| kernels.iter().map(move |kernel| (*family, kernel)))
}

/// The kernel of that name, or an error that names the nearest.
pub fn find(name: &str) -> anyhow::Result<(&'static str, &'static Description)> {
    kernels().find(|(_, kernel)| kernel.name == name).ok_or_else(|| {
        let of_family: Vec<&str> =
            kernels().filter(|(family, _)| *family == name).map(|(_, kernel)| kernel.name).collect();
        if let [first, ..] = of_family[..] {
            return anyhow::anyhow!(
                "`{name}` is a family of {} kernels, such as `{first}`; `warpsmith list {name}` has them all",
                of_family.len()
            );
        }
        anyhow::anyhow!("there is no kernel `{name}`;{} `warpsmith list` has them all", meant(name, &[]))
    })
}

/// The question after a name that is no kernel's, nor one of those that may stand there, too.
pub fn meant(name: &str, others: &[&'static str]) -> String {
    ptx::meant(name, others.iter().copied().chain(kernels().map(|(_, kernel)| kernel.name)))
}

#[cfg(test)]
mod tests {
    use warpsmith_launch::compare;

    use super::*;
    use crate::modules::LEVELS;

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = kernels().map(|(_, kernel)| kernel.name).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn every_kernel_is_in_a_module_with_the_parameters_that_the_host_knows() {
        for (_, kernel) in kernels() {
            let found = LEVELS.find(kernel.name).unwrap();
            let entry = found.unwrap_or_else(|| panic!("{} is in no module", kernel.name));
            compare(kernel, entry.signature).unwrap();
        }
    }

    #[test]
    fn every_kernel_of_a_module_is_listed() {
        let others = kernels_gpu::OTHERS.iter().copied().flatten();
        let listed: Vec<_> = kernels().map(|(_, kernel)| kernel).chain(others).map(|k| k.name).collect();
        for module in LEVELS.all().iter().map(|level| ptx::parse(level.ptx()).unwrap()) {
            for function in module.functions.iter().filter(|f| f.kind == ptx::FunctionKind::Entry) {
                assert!(listed.contains(&function.name.as_str()), "{} is in no list", function.name);
            }
        }
    }

    #[test]
    fn a_stale_description_is_told_by_parameter_and_both_layouts() {
        let ptx = ".version 7.8 .target sm_75 .address_size 64
            .visible .entry copy_4_bytes(.param .u32 a, .param .u64 b, .param .u64 c, .param .u32 d) { ret; }";
        let module = ptx::parse(ptx).unwrap();
        let (_, kernel) = find("copy_4_bytes").unwrap();
        let error = compare(kernel, &module.functions[0]).unwrap_err().to_string();
        assert!(
            error.contains("`to` is 8 bytes aligned to 8 on the host and 4 bytes aligned to 4"),
            "{error}"
        );
        let (_, kernel) = find("chase_shared").unwrap();
        let error = compare(kernel, &module.functions[0]).unwrap_err().to_string();
        assert!(error.contains("`end` is 8 bytes aligned to 8 on the host and 4"), "{error}");
    }

    #[test]
    fn an_unknown_kernel_gets_the_nearest_name() {
        let error = find("matmul_nave").unwrap_err().to_string();
        assert!(error.contains("did you mean `matmul_naive`?"), "{error}");
        for (asked, meant) in [
            ("MATMUL_NAIVE", "matmul_naive"),
            ("matmul-tiled-16", "matmul_tiled_16"),
            ("tiled_32", "matmul_tiled_32"),
            ("vecad", "vecadd"),
        ] {
            let error = find(asked).unwrap_err().to_string();
            assert!(error.contains(&format!("did you mean `{meant}`?")), "{error}");
        }
        let error = find("no_such_thing").unwrap_err().to_string();
        assert_eq!(error, "there is no kernel `no_such_thing`; `warpsmith list` has them all");
        assert_eq!(meant("transpse", &["transpose"]), " did you mean `transpose`?");
        assert_eq!(meant("bank", &["banks"]), " did you mean `banks`?");
        let error = find("transpose").unwrap_err().to_string();
        assert!(error.contains("is a family of") && error.contains("such as `transpose_copy`"), "{error}");
    }
}
