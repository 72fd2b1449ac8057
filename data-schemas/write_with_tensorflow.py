"""Writes the golden files of crates/rl755-data/tests/golden with TensorFlow (2.21.0 wrote the committed ones).

Usage: python write_with_tensorflow.py DIR
Step t of the raw rollout has a 2x3 frame of bytes 10 t + i, the action [t / 4, -t] and the reward t / 2.
The encoded one has the means [t, -t, 0.5] and the standard deviations [1, 2, t].
"""
import json
import sys
import numpy as np
import tensorflow as tf

STEPS = 3
SPEC = {
    "id": "Golden-v0",
    "observation_space": {"kind": "image", "height": 2, "width": 3, "channels": 3},
    "action_space": {"kind": "box", "low": [0.0, None], "high": [1.0, None]},
    "max_episode_steps": None,
    "rules": "written by TensorFlow",
}


def blob(*values):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))


def ints(*values):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def floats(*values):
    return tf.train.Feature(float_list=tf.train.FloatList(value=values))


def write(path, form, shape, sequences, **more):
    context = {
        "schema_version": ints(1), "environment": blob(b"Golden-v0"),
        "environment_spec": blob(json.dumps(SPEC).encode()), "seed": ints(-1), "policy": blob(b"uniform"),
        "steps": ints(STEPS), "terminated": ints(1), "truncated": ints(0),
        "observation_format": blob(form), "observation_shape": ints(*shape), **more,
    }
    sequences |= {
        "actions": [floats(t / 4, -t) for t in range(STEPS)],
        "rewards": [floats(t / 2) for t in range(STEPS)],
    }
    lists = {key: tf.train.FeatureList(feature=steps) for key, steps in sequences.items()}
    example = tf.train.SequenceExample(
        context=tf.train.Features(feature=context), feature_lists=tf.train.FeatureLists(feature_list=lists))
    with tf.io.TFRecordWriter(path) as writer:
        writer.write(example.SerializeToString())


frames = [np.arange(18, dtype=np.uint8).reshape(2, 3, 3) + 10 * t for t in range(STEPS)]
write(f"{sys.argv[1]}/raw_by_tensorflow.tfrecord", b"png", [2, 3, 3],
      {"observations": [blob(tf.io.encode_png(f).numpy()) for f in frames]})
write(f"{sys.argv[1]}/encoded_by_tensorflow.tfrecord", b"latent", [3],
      {"observations": [floats(t, -t, 0.5) for t in range(STEPS)],
       "observation_std_devs": [floats(1, 2, t) for t in range(STEPS)]},
      encoder=blob(b"0123456789abcdef" * 4))
