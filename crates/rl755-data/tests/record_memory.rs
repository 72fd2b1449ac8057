//! Hostile records take no more memory than is stated: counted by the allocator, which is why this
//! test has a program of its own.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "support/memory.rs"]
mod memory;

use memory::most;
use prost::Message;
use rl755_data::{
    EncodedRollout, FrameFormat, FrameShape, Rollout, StoredRollout,
    proto::{Feature, FeatureList, FeatureLists, Features, SequenceExample},
};

/// A record that says it has `steps` observations of a space, and may have others.
struct Claim<'a> {
    space: &'a str,
    shape: Vec<i64>,
    format: &'a str,
    steps: i64,
    observations: Vec<Feature>,
}

impl Claim<'_> {
    fn record(self) -> Vec<u8> {
        let text = |text: &str| Feature::bytes(text.as_bytes().to_vec());
        let int = |value| Feature::ints(vec![value]);
        let spec = format!(
            r#"{{"id":"E","observation_space":{},"action_space":{{"kind":"discrete","n":2}},
            "max_episode_steps":null,"rules":""}}"#,
            self.space
        );
        let context = [
            ("schema_version", int(1)),
            ("environment", text("E")),
            ("environment_spec", text(&spec)),
            ("seed", int(1)),
            ("policy", text("uniform")),
            ("steps", int(self.steps)),
            ("terminated", int(1)),
            ("truncated", int(0)),
            ("observation_format", text(self.format)),
            ("observation_shape", Feature::ints(self.shape)),
        ];
        let zero = || vec![Feature::floats(vec![0.0])];
        let lists = [("observations", self.observations), ("actions", zero()), ("rewards", zero())];
        let feature = context.map(|(key, feature)| (key.to_owned(), feature)).into();
        let feature_list =
            lists.map(|(key, feature)| (key.to_owned(), FeatureList { feature })).into();
        SequenceExample {
            context: Some(Features { feature }),
            feature_lists: Some(FeatureLists { feature_list }),
        }
        .encode_to_vec()
    }
}

/// Reads the record of `claim` and checks that it held at most `factor` bytes for each of its bytes.
fn check(claim: Claim<'_>, factor: usize, is_sound: bool) {
    let record = claim.record();
    let most = most(|| {
        let read = Rollout::from_record(&record);
        assert_eq!(read.is_ok(), is_sound, "{:?}", read.err());
        drop(read);
        EncodedRollout::from_record(&record).unwrap_err();
    });
    let allowed = factor * record.len() + (64 << 10);
    assert!(most <= allowed, "{most} bytes at once for {} bytes", record.len());
}

const IMAGE: &str = r#"{"kind":"image","height":96,"width":96,"channels":3}"#;
const VECTOR: &str = r#"{"kind":"box","low":[0],"high":[1]}"#;

// One test: others would be counted with it.
#[test]
fn no_record_takes_more_memory_than_is_stated() {
    // The threads that decode frames are not counted.
    rayon::broadcast(|_| ());
    let nothing = || vec![Feature { kind: None }; 1 << 20];
    for steps in [1, 1 << 20, i64::MAX] {
        let claim =
            |space, format, shape| Claim { space, shape, format, steps, observations: nothing() };
        check(claim(IMAGE, "png", vec![96, 96, 3]), 16, false);
        check(claim(IMAGE, "tensor", vec![96, 96, 3]), 16, false);
        check(claim(VECTOR, "float", vec![1]), 16, false);
        let observations = vec![Feature::floats(vec![0.0; 1 << 20])];
        let long = Claim { observations, ..claim(VECTOR, "float", vec![1]) };
        check(long, 16, false);
    }

    // Where the kind comes last, all that stands before is kept until it is known what it means.
    let nested = format!("{}0{}", "[".repeat(100), "]".repeat(100));
    for item in ["0", "null", "[]", "[0]", "[[0]]", "{}", r#"{"":0}"#, r#""""#, &nested] {
        for count in [1 << 10, (1 << 10) + 1, 5_000] {
            let list = vec![item; count].join(",");
            for space in [
                format!(r#"{{"low":[{list}],"high":[{list}],"kind":"box"}}"#),
                format!(r#"{{"kind":"box","low":[{list}],"high":[0]}}"#),
            ] {
                let observations = vec![Feature::floats(vec![0.0])];
                let shape = vec![1];
                let claim = Claim { space: &space, shape, format: "float", steps: 1, observations };
                check(claim, 80, false);
            }
        }
    }

    // As many pixels of as few bytes as there can be.
    let shape = FrameShape { height: 4000, width: 4000, channels: 1 };
    let picture = FrameFormat::Png.encode(shape, &vec![0; shape.bytes()]).unwrap();
    assert!(shape.bytes() > 200 * picture.len());
    let space = r#"{"kind":"image","height":4000,"width":4000,"channels":1}"#;
    for (bytes, is_sound) in [(picture.len(), true), (64, false)] {
        let observations = vec![Feature::bytes(picture[..bytes].to_vec())];
        let shape = vec![4000, 4000, 1];
        check(Claim { space, shape, format: "png", steps: 1, observations }, 2100, is_sound);
    }
}
