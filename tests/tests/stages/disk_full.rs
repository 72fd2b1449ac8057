//! A stage that cannot write says so and leaves nothing half-written; with room it goes on.

use std::path::Path;

use crate::lab::{Lab, STAGES};

/// A limit on the size of files: writing fails for all that is large, as on a full disk, while
/// manifests and locks still fit.
const BLOCKS_OF_512_BYTES: u32 = 8;

#[test]
fn stages_without_room_leave_nothing_half_written() {
    let lab = Lab::new();
    for (stage, flags) in STAGES {
        if stage == "verify" {
            continue;
        }
        let result = lab.run_limited(BLOCKS_OF_512_BYTES, stage, flags);
        let errors = String::from_utf8_lossy(&result.stderr);
        assert_eq!(result.status.code(), Some(1), "{stage}: {errors}");
        assert!(errors.contains("File too large"), "{stage}: {errors}");
        for file in lab.files() {
            let name = file.file_name().unwrap().to_str().unwrap();
            assert!(!name.ends_with(".tmp"), "{stage} left {}", file.display());
            let length = file.metadata().unwrap().len();
            let cut = u64::from(BLOCKS_OF_512_BYTES) * 512;
            // Logs are appended to; all else appears under its name when it is whole.
            let log = name.starts_with("events.") || name == "metrics.jsonl";
            assert!(length != cut || log, "{stage} left a part of {}", file.display());
        }
        let done = match stage {
            "collect" => "rollouts/rollout-0000-000000.tfrecord",
            "pack" => "dataset/dataset.json",
            "train-encoder" => "encoder/checkpoints/model-001",
            "encode" => "encoded/dataset.json",
            "train-sequence" => "sequence/checkpoints/model-001",
            "train-controller" => "controller/checkpoints/model-001",
            "train-policy" => "policy/checkpoints/model-001",
            _ => "evaluation/episode.webm",
        };
        assert!(!lab.path(done).exists(), "{stage} left {done}");
        lab.succeed(stage, flags);
        assert!(Path::new(&lab.path(done)).exists(), "{stage} did not make {done}");
    }
}
