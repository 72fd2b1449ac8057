//! `cargo xtask setup`: what only some chores need. Everything goes into the target directory.

use std::{
    fs,
    process::{Command, ExitCode},
};

use anyhow::{Context, bail};

use crate::{libtorch, mujoco, python, workspace};

/// The LibTorch that burn's `tch` is made for, as it is in PyTorch's package, and the two libraries
/// of NVIDIA's that it is linked to though the CPU needs none of them.
const LIBTORCH: [&str; 3] =
    ["torch==2.9.1", "nvidia-cuda-cupti-cu12==12.8.90", "nvidia-cuda-runtime-cu12==12.8.90"];

/// Libraries in PyTorch's package, 2 GB of them, that the CPU does not need.
const GPU_LIBRARIES: [&str; 4] =
    ["libtorch_cuda", "libc10_cuda", "libtorch_nvshmem", "libcaffe2_nvrtc"];

/// Set up what only some need: MuJoCo, Python's peers for golden data, LibTorch for the device tch
///
/// Neither building, testing nor the pipeline on the CPU needs any of it.
#[derive(clap::Args)]
#[group(required = true, multiple = true)]
pub(crate) struct Setup {
    /// Gymnasium and its friends, for `cargo xtask golden` (400 MB)
    #[arg(long)]
    python: bool,
    /// TensorFlow, to read our TFRecords with (1.5 GB)
    #[arg(long)]
    tensorflow: bool,
    /// PyTorch, to compare layers with and `cargo xtask bench models` (5 GB)
    #[arg(long)]
    pytorch: bool,
    /// LibTorch 2.9 for the CPU, for `cargo xtask test-tch` and `--device tch` (a download of 0.9
    /// GB; Linux on x86-64)
    #[arg(long)]
    libtorch: bool,
    /// MuJoCo 3.17 for the environments Swimmer-v5, Humanoid-v5 and others (a download of 26 MB;
    /// Linux on x86-64)
    #[arg(long)]
    mujoco: bool,
}

impl Setup {
    /// Sets up what was asked for.
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        if self.mujoco {
            mujoco::set_up()?;
            println!("`cargo xtask` builds and tests with it from now on. For cargo itself:");
            println!("  cargo build --release --features {}", mujoco::FEATURE);
        }
        if self.python {
            python::GYMNASIUM.install()?;
        }
        if self.tensorflow {
            python::TENSORFLOW.install()?;
        }
        if self.pytorch {
            python::PYTORCH.install()?;
        }
        if self.libtorch {
            unpack_libtorch()?;
            println!("\n`cargo xtask test-tch` and `--device tch` find it. For cargo itself:");
            for (name, value) in libtorch::environment()? {
                println!("  export {name}={value}");
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Takes LibTorch for the CPU out of PyTorch's package.
fn unpack_libtorch() -> anyhow::Result<()> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        bail!("only for Linux on x86-64; elsewhere install LibTorch 2.9 and set LIBTORCH to it");
    }
    let directory = libtorch::directory();
    if directory.join("torch/lib").is_dir() {
        println!("LibTorch is in {} already", directory.display());
        return Ok(());
    }
    // Unpacked under another name, so that half of it is not taken for all.
    let making = directory.with_file_name("libtorch.making");
    let wheels = making.join("wheels");
    let mut command = Command::new("python3");
    command.args(["-m", "pip", "download", "--no-deps", "--disable-pip-version-check", "--dest"]);
    workspace::run(command.arg(&wheels).args(LIBTORCH))?;
    for entry in fs::read_dir(&wheels)? {
        let mut command = Command::new("python3");
        command.args(["-m", "zipfile", "-e"]).arg(entry?.path()).arg(&making);
        workspace::run(&mut command)?;
    }
    fs::remove_dir_all(&wheels)?;
    let libraries = making.join("torch/lib");
    let entries = fs::read_dir(&libraries)
        .with_context(|| format!("PyTorch's package has no {}", libraries.display()))?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if GPU_LIBRARIES.iter().any(|library| name.starts_with(library)) {
            fs::remove_file(entry.path())?;
        }
    }
    fs::rename(&making, &directory)?;
    Ok(())
}
