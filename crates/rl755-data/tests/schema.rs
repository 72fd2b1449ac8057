//! What a record must hold to be a rollout, and what reading it may cost.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;

use ndarray::{Array2, array};
use prost::Message;
use rl755_data::{
    EncodedRollout, FrameFormat, FrameShape, Rollout, RolloutRecorder, SchemaError, StoredRollout,
    proto::{Feature, FeatureList, SequenceExample},
};
use rl755_env::{EnvSpec, ObservationBuffer, ObservationRef, Space};
use rl755_run::Digest;

const SHAPE: FrameShape = FrameShape { height: 2, width: 3, channels: 3 };

fn spec(observation_space: Space) -> EnvSpec {
    EnvSpec {
        id: "Test-v0".to_owned(),
        observation_space,
        action_space: Space::Discrete { n: 3 },
        max_episode_steps: Some(100),
        rules: "ends after 2 steps".to_owned(),
    }
}

fn frames() -> Rollout {
    let FrameShape { height, width, channels } = SHAPE;
    Rollout {
        environment: spec(Space::Image { height, width, channels }),
        seed: 7,
        policy: "uniform".to_owned(),
        observations: ObservationBuffer::U8((0..36).collect()),
        actions: array![[0.0], [2.0]],
        rewards: vec![1.0, -1.0],
        terminated: true,
        truncated: false,
    }
}

fn vectors() -> Rollout {
    let observation_space = Space::Box { low: vec![f32::NEG_INFINITY; 2], high: vec![1.0; 2] };
    let observations = ObservationBuffer::F32(vec![0.0, 0.5, 2.0, -3.0]);
    Rollout { environment: spec(observation_space), observations, ..frames() }
}

fn encoded() -> EncodedRollout {
    let Rollout { environment, seed, policy, actions, rewards, terminated, truncated, .. } =
        frames();
    EncodedRollout {
        environment,
        seed,
        policy,
        encoder: digest(),
        latents: Array2::ones((2, 4)),
        std_devs: Array2::zeros((2, 4)),
        extras: [("keypoints".to_owned(), array![[1.0, -2.0, 3.0], [4.0, 5.0, 6.0]])].into(),
        actions,
        rewards,
        terminated,
        truncated,
    }
}

fn digest() -> Digest {
    serde_json::from_value("0123456789abcdef".repeat(4).into()).unwrap()
}

fn context(example: &mut SequenceExample) -> &mut BTreeMap<String, Feature> {
    &mut example.context.as_mut().unwrap().feature
}

fn lists(example: &mut SequenceExample) -> &mut BTreeMap<String, FeatureList> {
    &mut example.feature_lists.as_mut().unwrap().feature_list
}

fn read<R: StoredRollout>(record: &[u8]) -> Result<(), SchemaError> {
    R::from_record(record).map(|_| ())
}

/// What reading says of `rollout`'s record after `edit`.
fn complaint<R: StoredRollout>(rollout: &R, edit: impl FnOnce(&mut SequenceExample)) -> String {
    let mut example = SequenceExample::decode(&rollout.to_record().unwrap()[..]).unwrap();
    edit(&mut example);
    let error = read::<R>(&example.encode_to_vec()).expect_err("should be refused");
    error.to_string()
}

#[test]
fn frames_are_stored_as_they_are_asked_for() {
    let rollout = frames();
    for format in FrameFormat::ALL {
        let record = rollout.to_record_as(format).unwrap();
        let mut example = SequenceExample::decode(&record[..]).unwrap();
        let name = Feature::bytes(format.name().as_bytes().to_vec());
        assert_eq!(context(&mut example)["observation_format"], name);
        let stored = format.encode(SHAPE, &(0..18).collect::<Vec<_>>()).unwrap();
        assert_eq!(lists(&mut example)["observations"].feature[0], Feature::bytes(stored));
        assert_eq!(Rollout::from_record(&record).unwrap(), rollout);
    }
    assert_eq!(rollout.to_record().unwrap(), rollout.to_record_as(FrameFormat::Png).unwrap());
    // PNG has no pictures of 9 channels.
    let mut deep = rollout;
    deep.environment.observation_space = Space::Image { height: 2, width: 1, channels: 9 };
    assert_eq!(Rollout::from_record(&deep.to_record().unwrap()).unwrap(), deep);
    assert!(deep.to_record_as(FrameFormat::Png).is_err());
}

#[test]
fn values_outside_their_domain_are_refused() {
    let set = |key: &'static str, feature: Feature| {
        complaint(&frames(), |e| lists(e).get_mut(key).unwrap().feature[1] = feature)
    };
    let whole = "where a whole number from 0 to 2 is needed";
    for (value, text) in [(3.0, "3"), (0.5, "0.5"), (-1.0, "-1"), (f32::NAN, "NaN")] {
        let found = set("actions", Feature::floats(vec![value]));
        assert_eq!(found, format!("`actions` of step 1 is {text}, {whole}"));
    }
    let finite = "where a finite number is needed";
    let found = set("rewards", Feature::floats(vec![f32::INFINITY]));
    assert_eq!(found, format!("`rewards` of step 1 is inf, {finite}"));
    let found = complaint(&vectors(), |e| {
        lists(e).get_mut("observations").unwrap().feature[0] = Feature::floats(vec![0.0, f32::NAN]);
    });
    assert_eq!(found, format!("`observations` of step 0 is NaN, {finite}"));
    let found = complaint(&encoded(), |e| {
        let rows = &mut lists(e).get_mut("observation_std_devs").unwrap().feature;
        rows[1] = Feature::floats(vec![0.0, 0.0, -0.5, 0.0]);
    });
    let expected = "where a finite number of at least 0 is needed";
    assert_eq!(found, format!("`observation_std_devs` of step 1 is -0.5, {expected}"));
    // Bounds of boxes are not enforced: `vectors` exceeds one.
    assert_eq!(Rollout::from_record(&vectors().to_record().unwrap()).unwrap(), vectors());
}

#[test]
fn what_is_refused_is_not_written_either() {
    let check = |rollout: &Rollout, expected: &str| {
        assert_eq!(rollout.to_record().unwrap_err().to_string(), expected);
    };
    let whole = "where a whole number from 0 to 2 is needed";
    check(
        &Rollout { actions: array![[0.0], [3.0]], ..frames() },
        &format!("`actions` of step 1 is 3, {whole}"),
    );
    let none = Rollout {
        observations: ObservationBuffer::U8(Vec::new()),
        actions: Array2::zeros((0, 1)),
        rewards: Vec::new(),
        ..frames()
    };
    check(&none, "`steps` is 0, where at least 1 is needed");
    let mut recorder = RolloutRecorder::new(frames().environment, 1, "p", FrameFormat::Png);
    let error = recorder.push(ObservationRef::U8(&[0; 18]), &[-1.0], 0.0).unwrap_err().to_string();
    assert_eq!(error, format!("`actions` of step 0 is -1, {whole}"));
    let mut negative = encoded();
    negative.std_devs[(1, 2)] = -1.0;
    assert!(negative.to_record().is_err());
    let nothing = EncodedRollout {
        latents: Array2::zeros((2, 0)),
        std_devs: Array2::zeros((2, 0)),
        ..encoded()
    };
    let error = nothing.to_record().unwrap_err().to_string();
    assert!(error.ends_with("latents without values, where a width of at least 1 is needed"));
}

#[test]
fn contradictions_within_a_record_are_found() {
    let set = |key: &str, feature: Feature| {
        complaint(&frames(), |e| drop(context(e).insert(key.to_owned(), feature)))
    };
    let text = |text: &str| Feature::bytes(text.as_bytes().to_vec());
    let check = |found: String, expected: &str| assert_eq!(found, expected);
    check(set("terminated", Feature::ints(vec![2])), "`terminated` is 2, where 0 or 1 is needed");
    check(
        set("truncated", Feature::ints(vec![0, 1])),
        "`truncated`: 2 integers, where 1 integer is needed",
    );
    check(
        set("environment", text("Other-v0")),
        "`environment` is Other-v0, where Test-v0 is needed",
    );
    check(
        set("observation_shape", Feature::ints(vec![3, 2, 3])),
        "`observation_shape`: [3, 2, 3], where [2, 3, 3] is needed",
    );
    check(
        set("observation_shape", Feature::ints(vec![-2])),
        "`observation_shape` is -2, where a number of at least 0 is needed",
    );
    check(
        set("observation_format", text("float")),
        "observations are stored as `float`, where `png` or `tensor` is needed",
    );
    check(
        set("observation_format", text("tensor")),
        "`observations` of step 0: not a tensor of bytes: a field has an invalid number",
    );
    check(set("steps", Feature::ints(vec![0])), "`steps` is 0, where at least 1 is needed");
    check(set("steps", Feature::ints(vec![3])), "`observations`: 2 steps, where 3 steps is needed");
    check(
        complaint(&frames(), |e| drop(lists(e).get_mut("rewards").unwrap().feature.pop())),
        "`rewards`: 1 steps, where 2 steps is needed",
    );
    check(
        complaint(&encoded(), |e| drop(lists(e).remove("observation_std_devs"))),
        "no `observation_std_devs` in the feature_lists",
    );
    check(
        complaint(&encoded(), |e| drop(context(e).remove("encoder"))),
        "no `encoder` in the context",
    );
}

#[test]
fn hostile_shapes_and_counts_are_refused() {
    let space = |json: &str| {
        let text = format!(
            r#"{{"id":"Test-v0","observation_space":{json},"action_space":{{"kind":"discrete","n":3}},
            "max_episode_steps":null,"rules":""}}"#
        );
        complaint(&frames(), |e| {
            drop(context(e).insert("environment_spec".to_owned(), Feature::bytes(text)));
        })
    };
    let needed = "where one with spaces of 1 to 67108864 values is needed";
    for (height, width) in [(1u64 << 20, 1u64 << 20), (1 << 62, 4), (0, 5)] {
        let json = format!(r#"{{"kind":"image","height":{height},"width":{width},"channels":3}}"#);
        let found = format!("one with the space Box(0, 255, ({height}, {width}, 3), uint8)");
        assert_eq!(space(&json), format!("`environment_spec` is {found}, {needed}"));
    }
    assert_eq!(
        space(r#"{"kind":"box","low":[0,0],"high":[1]}"#),
        format!("`environment_spec` is one with 2 lower and 1 upper bounds, {needed}")
    );
    assert_eq!(
        space(r#"{"kind":"discrete","n":0}"#),
        format!("`environment_spec` is one with the space Discrete(0), {needed}")
    );
    let set = |key: &str, ints: Vec<i64>| {
        complaint(&vectors(), |e| drop(context(e).insert(key.to_owned(), Feature::ints(ints))))
    };
    let steps = i64::MAX;
    assert_eq!(
        set("steps", vec![steps]),
        format!("`observations`: 2 steps, where {steps} steps is needed")
    );
    assert_eq!(
        set("observation_shape", vec![1; 9]),
        "`observation_shape`: 9 integers, where at most 8 integers is needed"
    );
    let empty = |e: &mut SequenceExample| {
        lists(e).get_mut("observations").unwrap().feature = vec![Feature { kind: None }; 1 << 20];
    };
    let found = complaint(&frames(), empty);
    assert_eq!(found, "`observations`: 1048576 steps, where 2 steps is needed");
    // A picture that says it is large: memory is not taken on its word.
    let large = FrameShape { height: 8000, width: 8000, channels: 1 };
    let picture = FrameFormat::Png.encode(large, &vec![0; large.bytes()]).unwrap();
    let mut rollout = frames();
    rollout.environment.observation_space = Space::Image { height: 8000, width: 8000, channels: 1 };
    let mut recorder = RolloutRecorder::new(rollout.environment, 1, "p", FrameFormat::Tensor);
    recorder.push(ObservationRef::U8(&vec![0; large.bytes()]), &[0.0], 0.0).unwrap();
    let mut example = SequenceExample::decode(&recorder.finish(true, false)[..]).unwrap();
    context(&mut example).insert("observation_format".to_owned(), Feature::bytes(&b"png"[..]));
    let cut = picture[..64].to_vec();
    lists(&mut example).get_mut("observations").unwrap().feature = vec![Feature::bytes(cut)];
    let error = read::<Rollout>(&example.encode_to_vec()).unwrap_err().to_string();
    assert!(error.starts_with("`observations` of step 0: not a PNG picture"), "{error}");
}

#[test]
fn extras_are_sequences_of_their_own_and_are_read_by_name() {
    let mut rollout = encoded();
    rollout.extras.insert("log-var.1".to_owned(), array![[0.5], [0.25]]);
    let record = rollout.to_record().unwrap();
    let mut example = SequenceExample::decode(&record[..]).unwrap();
    let list = &lists(&mut example)["observation_extras/keypoints"];
    assert_eq!(list.feature[1], Feature::floats(vec![4.0, 5.0, 6.0]));
    assert_eq!(EncodedRollout::from_record(&record).unwrap(), rollout);
    let set = |step: usize, values: Vec<f32>| {
        complaint(&encoded(), |e| {
            let list = lists(e).get_mut("observation_extras/keypoints").unwrap();
            list.feature[step] = Feature::floats(values);
        })
    };
    let check = |found: String, expected: &str| {
        assert_eq!(found, format!("the extra `keypoints`: {expected}"));
    };
    check(set(1, vec![1.0]), "`values` of step 1: 1 floats, where 3 floats is needed");
    check(set(0, vec![]), "`values` is without values, where a width of at least 1 is needed");
    let not_finite = set(1, vec![1.0, f32::NAN, 0.0]);
    check(not_finite, "`values` of step 1 is NaN, where a finite number is needed");
    let short = complaint(&encoded(), |e| {
        lists(e).get_mut("observation_extras/keypoints").unwrap().feature.pop();
    });
    check(short, "`values`: 1 steps, where 2 steps is needed");
    // What is refused is not written either.
    for (name, values) in
        [("", Array2::zeros((2, 1))), ("a/b", Array2::zeros((2, 1))), ("a", Array2::zeros((1, 1)))]
    {
        let extras = [(name.to_owned(), values)].into();
        assert!(EncodedRollout { extras, ..encoded() }.to_record().is_err(), "{name}");
    }
}

#[test]
fn keys_that_nobody_knows_are_skipped_but_must_be_sound() {
    let mut example = SequenceExample::decode(&frames().to_record().unwrap()[..]).unwrap();
    context(&mut example).insert("camera".to_owned(), Feature::ints(vec![1, 2, 3]));
    let depth = FeatureList { feature: vec![Feature::floats(vec![f32::NAN; 3]); 7] };
    lists(&mut example).insert("depth".to_owned(), depth);
    let record = example.encode_to_vec();
    assert_eq!(Rollout::from_record(&record).unwrap(), frames());
    // The lengths of the packed floats: 12 becomes 11.
    let place = record.windows(4).position(|w| w == [0x12, 14, 0x0a, 12]).unwrap() + 3;
    let mut broken = record;
    broken[place] = 11;
    let error = read::<Rollout>(&broken).unwrap_err().to_string();
    assert!(error.starts_with("not a SequenceExample: "), "{error}");
}
