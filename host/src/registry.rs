//! Every kernel of the project, by its typed description.

use warpsmith_launch::Description;

macro_rules! kernels {
    ($($(#[$only:meta])? $family:literal: $($module:ident)::+ { $($kernel:ident)* })*) => {
        /// The kernels by family, in the order in which the demos show them.
        pub const KERNELS: &[(&str, &[Description])] = &[$(
            $(#[$only])?
            ($family, {
                use kernels_gpu::$($module)::+::*;
                &[$(Description::of::<$kernel>(),)*]
            }),
        )*];
    };
}
kernels! {
    "first": first { vecadd }
    "matmul": matmul::naive { matmul_naive }
    "matmul": matmul::tiled { matmul_tiled_16 matmul_tiled_16_safe matmul_tiled_32 }
    "matmul": matmul::dynamic { matmul_dynamic matmul_dynamic_column }
    "matmul": matmul::column_order {
        matmul_column_16 matmul_column_16_padded matmul_column_32 matmul_column_32_padded
    }
    "matmul": matmul::product::large { product_large_nn product_large_nt product_large_tn product_large_tt }
    "matmul": matmul::product::middle { product_middle_nn product_middle_nt product_middle_tn product_middle_tt }
    "matmul": matmul::product::middle_any {
        product_middle_any_nn product_middle_any_nt product_middle_any_tn product_middle_any_tt
    }
    "matmul": matmul::product::small { product_small_nn product_small_nt product_small_tn product_small_tt }
    "matmul": matmul::product::tall { product_tall_nn product_tall_nt product_tall_tn product_tall_tt }
    "matmul": matmul::product::wide { product_wide_nn product_wide_nt product_wide_tn product_wide_tt }
    "matmul": matmul::product::portable {
        product_portable_nn product_portable_nt product_portable_tn product_portable_tt
    }
    "matmul": matmul::product::thin { product_thin_rows product_thin_columns }
    "matmul": matmul::product::parts { product_sum product_sum_many }
    "matmul": matmul::product::pack { product_pack }
    #[cfg(feature = "ladder")]
    "matmul": matmul::ladder::registers_1d { matmul_registers_1d }
    #[cfg(feature = "ladder")]
    "matmul": matmul::ladder::registers_2d { matmul_registers_2d }
    #[cfg(feature = "ladder")]
    "matmul": matmul::ladder::vectors { matmul_vectors }
    #[cfg(feature = "ladder")]
    "matmul": matmul::ladder::asynchronous { matmul_asynchronous }
    #[cfg(feature = "ladder")]
    "matmul": matmul::ladder::warps { matmul_warps }
    #[cfg(feature = "ladder")]
    "matmul": matmul::ladder::ordered { matmul_ordered }
    "transpose": transpose {
        transpose_copy transpose_naive transpose_tile transpose_padded transpose_swizzled
        transpose_copy_f64 transpose_naive_f64 transpose_tile_f64 transpose_padded_f64 transpose_swizzled_f64
        transpose_copy_f16 transpose_naive_f16 transpose_tile_f16 transpose_padded_f16 transpose_swizzled_f16
        transpose_copy_u8 transpose_naive_u8 transpose_tile_u8 transpose_padded_u8 transpose_swizzled_u8
    }
    "transpose": transpose::vectorised {
        transpose_vectorised_1_byte transpose_vectorised_2_bytes transpose_vectorised_4_bytes
        transpose_vectorised_8_bytes transpose_vectorised_16_bytes
    }
    "transpose": transpose::shifted {
        transpose_shifted_1_byte transpose_shifted_2_bytes transpose_shifted_4_bytes transpose_shifted_8_bytes
    }
    "transpose": transpose::hopper {
        transpose_hopper_1_byte transpose_hopper_2_bytes transpose_hopper_4_bytes transpose_hopper_8_bytes
        transpose_hopper_16_bytes
        transpose_hopper_shifted_1_byte transpose_hopper_shifted_2_bytes transpose_hopper_shifted_4_bytes
        transpose_hopper_shifted_8_bytes
        transpose_hopper_narrow_1_byte transpose_hopper_narrow_2_bytes transpose_hopper_narrow_4_bytes
    }
    "coalescing": coalescing {
        copy_shifted copy_strided copy_scattered copy_some_lanes copy_4_bytes copy_8_bytes copy_16_bytes
        stretch_structs stretch_padded_structs stretch_arrays stretch_staged_structs stretch_in_place
        stretch_staged_in_place
    }
    "banks": banks { banks_1_byte banks_2_bytes banks_4_bytes banks_8_bytes banks_16_bytes }
    "spaces": spaces {
        spaces_parameter spaces_local spaces_shared spaces_global spaces_global_static spaces_constant
        spaces_leave spaces_find
    }
    "tensor": tensor::portable {
        tensor_f16_nn tensor_f16_nt tensor_f16_tn tensor_f16_tt
        tensor_bf16_nn tensor_bf16_nt tensor_bf16_tn tensor_bf16_tt
        tensor_tf32_nn tensor_tf32_nt tensor_tf32_tn tensor_tf32_tt
        tensor_s8_nt
    }
    "tensor": tensor::general { tensor_f16_general tensor_bf16_general tensor_tf32_general tensor_s8_general }
    #[cfg(feature = "ladder")]
    "tensor": hopper::ladder { hopper_one_group hopper_ring hopper_registers hopper_persistent }
    "tensor": hopper::product {
        hopper_f16_nn hopper_f16_nt hopper_f16_tn hopper_f16_tt
        hopper_bf16_nn hopper_bf16_nt hopper_bf16_tn hopper_bf16_tt
        hopper_tf32_nt hopper_s8_nt
        hopper_f16_nn_alone hopper_f16_nt_alone hopper_f16_tn_alone hopper_f16_tt_alone
        hopper_bf16_nn_alone hopper_bf16_nt_alone hopper_bf16_tn_alone hopper_bf16_tt_alone
        hopper_f16_nn_192 hopper_f16_nt_192 hopper_f16_tn_192 hopper_f16_tt_192
        hopper_bf16_nn_192 hopper_bf16_nt_192 hopper_bf16_tn_192 hopper_bf16_tt_192
        hopper_f16_nn_128 hopper_f16_nt_128 hopper_f16_tn_128 hopper_f16_tt_128
        hopper_bf16_nn_128 hopper_bf16_nt_128 hopper_bf16_tn_128 hopper_bf16_tt_128
        hopper_tf32_nt_128 hopper_s8_nt_128
        hopper_f16_nn_64 hopper_f16_nt_64 hopper_f16_tn_64 hopper_f16_tt_64
        hopper_bf16_nn_64 hopper_bf16_nt_64 hopper_bf16_tn_64 hopper_bf16_tt_64
        hopper_f16_nn_small hopper_f16_nt_small hopper_f16_tn_small hopper_f16_tt_small
        hopper_f16_nn_small_down hopper_f16_nt_small_down hopper_f16_tn_small_down hopper_f16_tt_small_down
        hopper_bf16_nn_small hopper_bf16_nt_small hopper_bf16_tn_small hopper_bf16_tt_small
        hopper_bf16_nn_small_down hopper_bf16_nt_small_down hopper_bf16_tn_small_down hopper_bf16_tt_small_down
        hopper_tf32_nt_64 hopper_s8_nt_64
    }
    "latency": latency { chase_global chase_shared copy_by_few }
    // `warpsmith new` writes above this line.
}

/// A kernel's source file relative to the workspace.
pub fn source(kernel: &Description) -> &'static str {
    kernel.file.find("kernels-gpu").map_or(kernel.file, |at| &kernel.file[at..])
}

/// All kernels with their family.
pub fn kernels() -> impl Iterator<Item = (&'static str, &'static Description)> {
    KERNELS.iter().flat_map(|(family, kernels)| kernels.iter().map(move |kernel| (*family, kernel)))
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
    nearest(name, others).map_or(String::new(), |nearest| format!(" is `{nearest}` meant?"))
}

/// The name that is most like this one, in any case and with dashes for underscores: one that holds it, else one that differs
/// in less than every second letter.
fn nearest(name: &str, others: &[&'static str]) -> Option<&'static str> {
    let name = name.to_lowercase().replace('-', "_");
    let names = || others.iter().copied().chain(kernels().map(|(_, kernel)| kernel.name));
    let holds = |other: &&str| name.len() > 2 && other.contains(&name);
    names().filter(holds).min_by_key(|other| other.len()).or_else(|| {
        let (distance, nearest) = names().map(|other| (distance(&name, other), other)).min()?;
        (2 * distance < name.len()).then_some(nearest)
    })
}

/// How many letters differ (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.bytes().enumerate() {
            let best = (diagonal + usize::from(x != y)).min(row[j] + 1).min(row[j + 1] + 1);
            diagonal = std::mem::replace(&mut row[j + 1], best);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
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
            kernel.compare(entry.function).unwrap();
        }
    }

    #[test]
    fn a_stale_description_is_told_by_parameter_and_both_layouts() {
        let ptx = ".version 7.8 .target sm_75 .address_size 64
            .visible .entry copy_4_bytes(.param .u32 a, .param .u64 b, .param .u64 c, .param .u32 d) { ret; }";
        let module = ptx::parse(ptx).unwrap();
        let (_, kernel) = find("copy_4_bytes").unwrap();
        let error = kernel.compare(&module.functions[0]).unwrap_err().to_string();
        assert!(
            error.contains("`to` is 8 bytes aligned to 8 on the host and 4 bytes aligned to 4"),
            "{error}"
        );
        let (_, kernel) = find("chase_shared").unwrap();
        let error = kernel.compare(&module.functions[0]).unwrap_err().to_string();
        assert!(error.contains("`end` is 8 bytes aligned to 8 on the host and 4"), "{error}");
    }

    #[test]
    fn an_unknown_kernel_gets_the_nearest_name() {
        let error = find("matmul_nave").unwrap_err().to_string();
        assert!(error.contains("is `matmul_naive` meant?"), "{error}");
        for (asked, meant) in [
            ("MATMUL_NAIVE", "matmul_naive"),
            ("matmul-tiled-16", "matmul_tiled_16"),
            ("tiled_32", "matmul_tiled_32"),
            ("vecad", "vecadd"),
        ] {
            let error = find(asked).unwrap_err().to_string();
            assert!(error.contains(&format!("is `{meant}` meant?")), "{error}");
        }
        let error = find("no_such_thing").unwrap_err().to_string();
        assert_eq!(error, "there is no kernel `no_such_thing`; `warpsmith list` has them all");
        assert_eq!(meant("transpse", &["transpose"]), " is `transpose` meant?");
        assert_eq!(meant("bank", &["banks"]), " is `banks` meant?");
        let error = find("transpose").unwrap_err().to_string();
        assert!(error.contains("is a family of") && error.contains("such as `transpose_copy`"), "{error}");
    }
}
