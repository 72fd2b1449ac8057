//! The build script of programs: they look for MuJoCo's library in `target/mujoco`, where `cargo
//! xtask setup --mujoco` puts it.

#![expect(clippy::print_stdout, reason = "cargo reads what build scripts print")]

fn main() {
    println!("cargo::rerun-if-changed=../rl755-env-mujoco/rpath.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo::rustc-link-arg=-Wl,-rpath,$ORIGIN/../mujoco:$ORIGIN/../../mujoco");
    }
}
