//! Sound rollouts with some fields changed: what bytes changed at random seldom get to.

#![no_main]

use arbitrary::Arbitrary;
use prost::Message;
use rl755_data::{
    fuzzing,
    proto::{BytesList, Feature, FloatList, Int64List, Kind, SequenceExample},
};

/// Files of one record, as TensorFlow wrote them.
const SOUND: [&[u8]; 9] = [
    include_bytes!("../../tests/golden/our_png.tfrecord"),
    include_bytes!("../../tests/golden/our_tensor.tfrecord"),
    include_bytes!("../../tests/golden/our_float.tfrecord"),
    include_bytes!("../../tests/golden/our_latent.tfrecord"),
    include_bytes!("../../tests/golden/original_raw_3_actions.tfrecord"),
    include_bytes!("../../tests/golden/original_raw_4_actions.tfrecord"),
    include_bytes!("../../tests/golden/original_encoded.tfrecord"),
    include_bytes!("../../tests/golden/original_integer_actions.tfrecord"),
    include_bytes!("../../tests/golden/original_integer_actions_encoded.tfrecord"),
];
/// Where the framing of a file's only record ends and where it begins again.
const HEADER: usize = 12;
const FOOTER: usize = 4;

#[derive(Arbitrary, Debug)]
struct Plan {
    sound: u8,
    edits: Vec<Edit>,
}

#[derive(Arbitrary, Debug)]
enum Edit {
    /// Another value of a name in the context.
    Context {
        which: u8,
        value: Value,
    },
    /// Another value of some steps, up to 16 of them.
    Step {
        list: u8,
        step: u8,
        steps: u8,
        value: Value,
    },
    /// Fewer or more steps.
    Length {
        list: u8,
        steps: u8,
    },
    /// As many steps everywhere, as the context says, too.
    Lengths {
        steps: u8,
    },
    /// Another environment.
    Spec {
        height: u32,
        width: u16,
        channels: u8,
        actions: u32,
    },
    RemoveContext {
        which: u8,
    },
    RemoveList {
        list: u8,
    },
}

#[derive(Arbitrary, Debug, Clone)]
enum Value {
    Nothing,
    Bytes(Vec<Vec<u8>>),
    Text(String),
    Floats(Vec<f32>),
    Ints(Vec<i64>),
}

impl From<Value> for Feature {
    fn from(value: Value) -> Self {
        let bytes = |value: Vec<Vec<u8>>| {
            Kind::BytesList(BytesList { value: value.into_iter().map(Into::into).collect() })
        };
        let kind = match value {
            Value::Nothing => None,
            Value::Bytes(value) => Some(bytes(value)),
            Value::Text(text) => Some(bytes(vec![text.into_bytes()])),
            Value::Floats(value) => Some(Kind::FloatList(FloatList { value })),
            Value::Ints(value) => Some(Kind::Int64List(Int64List { value })),
        };
        Self { kind }
    }
}

fn nth<V>(map: &std::collections::BTreeMap<String, V>, which: u8) -> Option<String> {
    let index = usize::from(which) % map.len().max(1);
    map.keys().nth(index).cloned()
}

fn set_length(features: &mut Vec<Feature>, steps: u8) {
    let last = features.last().cloned().unwrap_or_default();
    features.resize(steps.into(), last);
}

impl Plan {
    fn record(self) -> Vec<u8> {
        let file = SOUND[usize::from(self.sound) % SOUND.len()];
        let record = &file[HEADER..file.len() - FOOTER];
        let mut example = SequenceExample::decode(record).expect("TensorFlow wrote it");
        let context = &mut example.context.get_or_insert_default().feature;
        let lists = &mut example.feature_lists.get_or_insert_default().feature_list;
        for edit in self.edits {
            match edit {
                Edit::Context { which, value } => {
                    if let Some(key) = nth(context, which) {
                        context.insert(key, value.into());
                    }
                }
                Edit::Step { list, step, steps, value } => {
                    let list = nth(lists, list).and_then(|key| lists.get_mut(&key));
                    let features = list.into_iter().flat_map(|list| &mut list.feature);
                    for feature in features.skip(step.into()).take(1 + usize::from(steps % 16)) {
                        *feature = value.clone().into();
                    }
                }
                Edit::Length { list, steps } => {
                    if let Some(list) = nth(lists, list).and_then(|key| lists.get_mut(&key)) {
                        set_length(&mut list.feature, steps);
                    }
                }
                Edit::Lengths { steps } => {
                    lists.values_mut().for_each(|list| set_length(&mut list.feature, steps));
                    context.insert("steps".to_owned(), Feature::ints(vec![steps.into()]));
                }
                Edit::Spec { height, width, channels, actions } => {
                    let image = format!(
                        r#""kind": "image", "height": {height}, "width": {width}, "channels": {channels}"#
                    );
                    let spec = format!(
                        r#"{{"id": "Golden-v0", "observation_space": {{{image}}}, "action_space":
                        {{"kind": "discrete", "n": {actions}}}, "max_episode_steps": null,
                        "rules": ""}}"#
                    );
                    let shape = vec![height.into(), width.into(), channels.into()];
                    context
                        .insert("environment_spec".to_owned(), Feature::bytes(spec.into_bytes()));
                    context.insert("observation_shape".to_owned(), Feature::ints(shape));
                }
                Edit::RemoveContext { which } => {
                    nth(context, which).and_then(|key| context.remove(&key));
                }
                Edit::RemoveList { list } => {
                    nth(lists, list).and_then(|key| lists.remove(&key));
                }
            }
        }
        example.encode_to_vec()
    }
}

libfuzzer_sys::fuzz_target!(|plan: Plan| {
    let record = plan.record();
    rl755_data_fuzz::check(&fuzzing::RECORD, &record);
    rl755_data_fuzz::check(&fuzzing::ROLLOUT, &record);
});
