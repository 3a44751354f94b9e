//! Which package a source file is of, by the folder that it lies in.

/// `tile` in this repository; `tile`, too, for the registry's folder `warpsmith_tile-0.1.0`, where some packages have other names.
pub fn package_of(folder: &str) -> &str {
    let versioned =
        folder.split_once('-').filter(|(_, version)| version.starts_with(|c: char| c.is_ascii_digit()));
    let name = versioned.map_or(folder, |(name, _)| name);
    name.strip_prefix("warpsmith_").unwrap_or(name)
}

/// Whether a file is the standard library's: at the place where it was compiled, or, with the toolchain's component
/// `rust-src`, where that is installed.
pub fn is_of_the_standard_library(file: &str) -> bool {
    file.starts_with("/rustc/") || file.contains("/rustlib/src/rust/library/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_its_package_s_name_of_this_repository() {
        for (folder, package) in [
            ("tile", "tile"),
            ("warpsmith_tile-0.1.0", "tile"),
            ("warpsmith_tile", "tile"),
            ("libm-0.2.16", "libm"),
            ("tile-kernels", "tile-kernels"),
        ] {
            assert_eq!(package_of(folder), package);
        }
    }
}
