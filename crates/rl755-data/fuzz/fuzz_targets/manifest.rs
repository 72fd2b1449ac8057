//! Any bytes as the manifest of a dataset, a part or a session.

#![no_main]

use rl755_data::fuzzing;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    rl755_data_fuzz::check(&fuzzing::MANIFEST, input);
});
