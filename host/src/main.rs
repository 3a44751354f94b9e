//! The `warpsmith` command.

fn main() -> std::process::ExitCode {
    // NVLink's multicast can leave the switch unusable for other programs if this one is ended meanwhile.
    if std::env::var_os("NCCL_NVLS_ENABLE").is_none() {
        // SAFETY: no other thread has been started yet.
        unsafe { std::env::set_var("NCCL_NVLS_ENABLE", "0") };
    }
    host::cli::main()
}
