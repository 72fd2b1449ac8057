//! The numbers of parameters, as the papers and our documents have them.

use std::{collections::BTreeSet, fs, path::Path};

use rl755_encoder::EncoderRegistry;
use rl755_sequence::SequenceRegistry;
use rl755_tests::parameters::{counts, table};

#[test]
fn the_models_of_world_models_have_the_paper_s_numbers() {
    let counts = counts();
    for expected in [("vae-64", 4_348_547), ("mdn-rnn", 422_368)] {
        assert!(counts.contains(&expected), "{counts:?}");
    }
}

#[test]
fn every_registered_model_is_counted() {
    let counts = counts();
    let counted: BTreeSet<&str> = counts.iter().map(|(name, _)| *name).collect();
    let mut registered: BTreeSet<&str> =
        EncoderRegistry::with_builtin().names().into_iter().collect();
    registered.extend(SequenceRegistry::with_builtin().names());
    assert_eq!(counted, registered);
}

#[test]
fn the_table_in_the_documents_is_true() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/results.md");
    let results = fs::read_to_string(path).unwrap();
    assert!(results.contains(&table()), "docs/results.md should have\n\n{}", table());
}
