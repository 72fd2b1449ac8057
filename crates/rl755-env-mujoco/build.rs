//! Puts MuJoCo's library where cargo's programs find it.
//!
//! Cargo lets the programs that it starts search the link directories that lie below its own output
//! directory. So the library is copied there. Programs that are started without cargo look for it in
//! `target/mujoco`: `rpath.rs`.

use std::{env, fs, path::PathBuf};

/// As it asks the linker to name it.
const LIBRARY: &str = "libmujoco.so.3.17.0";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=MUJOCO_DYNAMIC_LINK_DIR");
    println!("cargo::rerun-if-env-changed=MUJOCO_STATIC_LINK_DIR");
    println!("cargo::rerun-if-env-changed=DOCS_RS");
    let given = |name: &str| env::var_os(name).is_some();
    let linux = env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux");
    if !given("CARGO_FEATURE_MUJOCO") || given("DOCS_RS") || given("MUJOCO_STATIC_LINK_DIR") {
        return;
    }
    let Some(directory) = env::var_os("MUJOCO_DYNAMIC_LINK_DIR").map(PathBuf::from) else {
        println!("cargo::error=MUJOCO_DYNAMIC_LINK_DIR is not set to the directory of {LIBRARY}");
        return;
    };
    if !linux {
        return;
    }
    let from = directory.join(LIBRARY);
    let to = env::var_os("OUT_DIR").map(PathBuf::from).expect("cargo sets OUT_DIR");
    println!("cargo::rerun-if-changed={}", from.display());
    if let Err(error) = fs::copy(&from, to.join(LIBRARY)) {
        println!(
            "cargo::error=the feature `mujoco` needs MuJoCo's library: run `cargo xtask setup \
             --mujoco` ({}: {error})",
            from.display()
        );
        return;
    }
    println!("cargo::rustc-link-search=native={}", to.display());
    // The examples, which the parity script and the benchmark start.
    println!("cargo::rustc-link-arg-examples=-Wl,-rpath,$ORIGIN/../../mujoco");
}
