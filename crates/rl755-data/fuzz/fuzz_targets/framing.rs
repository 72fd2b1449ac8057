//! Any bytes as a file of records.

#![no_main]

use rl755_data::fuzzing;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    rl755_data_fuzz::check(&fuzzing::FRAMING, input);
});
