//! `--device`: where models run.

use anyhow::{Context, bail};
use burn::tensor::Device;
use rl755_nn::Precision;

// A doc comment here would replace the help text of the stages.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DeviceFlags {
    /// Where models run: `flex` (the CPU), `cuda:0` (an NVIDIA GPU, with the feature `cuda`), `tch`
    /// (LibTorch on the CPU, with the feature `tch`) or `tch:0` (LibTorch on a GPU). Trainings of
    /// models share the batch among several: `cuda:0,cuda:1`
    #[arg(long, default_value = "flex", value_name = "DEVICE")]
    device: String,
}

impl DeviceFlags {
    /// Takes GPU `index` of a device that was named without a number.
    ///
    /// # Errors
    /// When the device has no numbers, or was given another one.
    pub(crate) fn select_gpu(&mut self, index: usize) -> anyhow::Result<()> {
        match self.device.as_str() {
            "cuda" | "tch" => self.device = format!("{}:{index}", self.device),
            // One CPU serves all instances.
            "flex" | "cpu" => {}
            named if named.ends_with(&format!(":{index}")) => {}
            named => bail!("--gpu-index {index} and --device {named} name different devices"),
        }
        Ok(())
    }

    /// The device, checked to be there.
    ///
    /// # Errors
    /// When the name is unknown, the program was built without it, or the machine has none; says
    /// what to do.
    pub(crate) fn open(&self) -> anyhow::Result<Device> {
        let mut devices = self.open_all(Precision::F32)?;
        if devices.len() > 1 {
            bail!("--device {}: only trainings of models share several devices", self.device);
        }
        Ok(devices.remove(0))
    }

    /// The devices, one or more, checked to be there, that compute in `precision`.
    ///
    /// # Errors
    /// As [`open`](Self::open), and when they are of different kinds or do not know the precision.
    pub(crate) fn open_all(&self, precision: Precision) -> anyhow::Result<Vec<Device>> {
        let names: Vec<&str> = self.device.split(',').map(str::trim).collect();
        let kind = |name: &str| name.split(':').next().unwrap_or_default().replace("cpu", "flex");
        if let Some(other) = names.iter().find(|name| kind(name) != kind(names[0])) {
            bail!("--device {}: {other} and {} are of different kinds", self.device, names[0]);
        }
        if precision != Precision::F32 && kind(names[0]) == "flex" {
            bail!(
                "--precision: the CPU computes in f32; in 16 bits it would be many times slower. \
                 Use a GPU, or leave it out"
            );
        }
        names.into_iter().map(|name| open(name, precision)).collect()
    }
}

fn open(name: &str, precision: Precision) -> anyhow::Result<Device> {
    let device = parse(name)?;
    // Backends that find no hardware panic at the first use, so use it here, once.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let probe = std::panic::catch_unwind(|| {
        // A device named twice is configured already.
        let configured = precision.configure(&device);
        let ones = burn::tensor::Tensor::<1>::ones([2], &device);
        (configured, ones.dtype(), ones.sum().into_scalar::<f32>())
    });
    std::panic::set_hook(hook);
    match probe {
        Ok((Err(reason), found, _)) if found != precision.dtype() => {
            bail!("the device `{name}` does not compute in that --precision: {reason}")
        }
        Ok((_, _, 2.0)) => Ok(device),
        _ => bail!(
            "the device `{name}` does not work on this machine: is there a GPU, its driver and its \
             library? `--device flex` runs on every CPU"
        ),
    }
}

fn parse(text: &str) -> anyhow::Result<Device> {
    let (kind, index) = match text.split_once(':') {
        Some((kind, index)) => {
            let index: usize = index
                .parse()
                .with_context(|| format!("the device `{text}` needs a number after the colon"))?;
            (kind, Some(index))
        }
        None => (text, None),
    };
    match (kind, index) {
        ("flex" | "cpu", None) => Ok(Device::flex()),
        ("cuda", index) => cuda(index.unwrap_or(0)),
        ("tch", index) => tch(index),
        _ => bail!("no device is called `{text}`; known are flex (the CPU), cuda:N, tch and tch:N"),
    }
}

#[cfg(feature = "cuda")]
fn cuda(index: usize) -> anyhow::Result<Device> {
    Ok(Device::cuda(index))
}

#[cfg(not(feature = "cuda"))]
fn cuda(_index: usize) -> anyhow::Result<Device> {
    not_compiled_in("cuda")
}

// burn announces that it will drop LibTorch in a later version; until then it is a second opinion.
#[cfg(feature = "tch")]
#[allow(deprecated)]
fn tch(index: Option<usize>) -> anyhow::Result<Device> {
    Ok(index.map_or_else(Device::libtorch, Device::libtorch_cuda))
}

#[cfg(not(feature = "tch"))]
fn tch(_index: Option<usize>) -> anyhow::Result<Device> {
    not_compiled_in("tch")
}

#[cfg(not(all(feature = "cuda", feature = "tch")))]
fn not_compiled_in(feature: &str) -> anyhow::Result<Device> {
    bail!(
        "this program was built without the device `{feature}`; build it again with `cargo xtask \
         build --device {feature}` (in a crate of your own: with rl755-cli's feature `{feature}`), \
         or use `--device flex`"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(device: &str) -> String {
        DeviceFlags { device: device.to_owned() }.open().unwrap_err().to_string()
    }

    #[test]
    fn the_cpu_is_always_there() {
        for name in ["flex", "cpu"] {
            DeviceFlags { device: name.to_owned() }.open().unwrap();
        }
    }

    #[test]
    fn several_devices_of_one_kind_are_opened() {
        let flags = |device: &str| DeviceFlags { device: device.to_owned() };
        assert_eq!(flags("flex,cpu").open_all(Precision::F32).unwrap().len(), 2);
        assert!(error("flex,flex").contains("only trainings of models"));
        assert!(error("flex,cuda:0").contains("cuda:0 and flex are of different kinds"));
        let half = flags("flex").open_all(Precision::Bf16).unwrap_err().to_string();
        assert!(half.contains("the CPU computes in f32"), "{half}");
    }

    #[test]
    fn unknown_devices_are_answered_with_the_known_ones() {
        assert!(error("gpu").contains("known are flex (the CPU), cuda:N, tch"));
        assert!(error("cuda:x").contains("needs a number after the colon"));
        assert!(error("flex:1").contains("no device is called `flex:1`"));
    }

    #[cfg(not(feature = "cuda"))]
    #[test]
    fn a_device_not_compiled_in_says_what_to_do() {
        assert!(error("cuda:0").contains("cargo xtask build --device cuda"));
    }
}
