"""Rollouts written with TensorFlow, in every layout that is read (2.21.0 wrote the committed ones).

Ours (3 steps): step t has the action [t / 4, -t] and the reward t / 2; frames of 2x3 pixels with the bytes
10 t + i, vectors [t, -t, 0.5], or latents of these means and the standard deviations [1, 2, t].

The original project's: the same frames and latents, and the actions [t / 4, t, 0.5] and a fourth value that nobody
uses, or integers t % 3. The later ones have 4 steps, one more observation, and `done_step`.
"""
import json
from pathlib import Path

import numpy as np
import tensorflow as tf

HERE = Path(__file__).parent
IMAGE = {"kind": "image", "height": 2, "width": 3, "channels": 3}
VECTOR = {"kind": "box", "low": [None] * 3, "high": [None] * 3}


def blobs(*values):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))


def ints(*values):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def floats(*values):
    return tf.train.Feature(float_list=tf.train.FloatList(value=values))


def write(name, sequences, context=None):
    lists = {key: tf.train.FeatureList(feature=steps) for key, steps in sequences.items()}
    example = tf.train.SequenceExample(feature_lists=tf.train.FeatureLists(feature_list=lists))
    if context:
        example.context.CopyFrom(tf.train.Features(feature=context))
    with tf.io.TFRecordWriter(str(HERE / f"{name}.tfrecord")) as writer:
        writer.write(example.SerializeToString(deterministic=True))


def frames(steps):
    return [np.arange(18, dtype=np.uint8).reshape(2, 3, 3) + 10 * t for t in range(steps)]


def tensors(steps):
    return [blobs(tf.io.serialize_tensor(frame).numpy()) for frame in frames(steps)]


def vectors(steps):
    return [floats(t, -t, 0.5) for t in range(steps)]


def std_devs(steps):
    return [floats(1, 2, t) for t in range(steps)]


def rewards(steps):
    return [floats(t / 2) for t in range(steps)]


def ours(name, space, form, sequences, **more):
    spec = {
        "id": "Golden-v0", "observation_space": space,
        "action_space": {"kind": "box", "low": [0.0, None], "high": [1.0, None]},
        "max_episode_steps": None, "rules": "written by TensorFlow",
    }
    context = {
        "schema_version": ints(1), "environment": blobs(b"Golden-v0"),
        "environment_spec": blobs(json.dumps(spec).encode()), "seed": ints(-1), "policy": blobs(b"uniform"),
        "steps": ints(3), "terminated": ints(1), "truncated": ints(0), "observation_format": blobs(form),
        "observation_shape": ints(*([3] if form in (b"float", b"latent") else [2, 3, 3])), **more,
    }
    actions = [floats(t / 4, -t) for t in range(3)]
    write(f"our_{name}", sequences | {"actions": actions, "rewards": rewards(3)}, context)


def original(name, steps, sequences, actions):
    write(f"original_{name}", sequences | {"actions": actions, "rewards": rewards(steps)})


ours("png", IMAGE, b"png", {"observations": [blobs(tf.io.encode_png(f).numpy()) for f in frames(3)]})
ours("tensor", IMAGE, b"tensor", {"observations": tensors(3)})
ours("float", VECTOR, b"float", {"observations": vectors(3)})
ours("latent", IMAGE, b"latent", {"observations": vectors(3), "observation_std_devs": std_devs(3)},
     encoder=blobs(b"0123456789abcdef" * 4))

three = [floats(t / 4, t, 0.5) for t in range(3)]
four = [floats(t / 4, t, 0.5, 9) for t in range(3)]
original("raw_3_actions", 3, {"observations": tensors(3)}, three)
original("raw_4_actions", 3, {"observations": tensors(3)}, four)
original("encoded", 3, {"observations": vectors(3), "observation_std_devs": std_devs(3)}, four)
original("encoded_obs_std_devs", 3, {"observations": vectors(3), "obs_std_devs": std_devs(3)}, three)

# `done_step` is how many steps the first episode has; what comes after them is of others. Where no episode ended, it
# is the number of steps.
integers = [ints(t % 3) for t in range(4)]
original("integer_actions", 4, {"observations": tensors(5), "done_step": [ints(3)]}, integers)
original("integer_actions_encoded", 4,
         {"observations": vectors(5), "obs_std_devs": std_devs(5), "done_step": [ints(4)]}, integers)
original("integer_actions_deterministic", 4, {"observations": vectors(5), "done_step": [ints(3)]}, integers)
