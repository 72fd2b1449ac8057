//! The stages' command lines: flags, registries, presets, progress bars and devices.
