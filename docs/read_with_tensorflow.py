"""Reads rollouts of rl755 in TensorFlow, as NumPy arrays. Usage: python read_with_tensorflow.py 'DIR/NAME.tfrecord*' [EXTRA ...]"""
import sys
import tensorflow as tf
PARSE_FRAME = {"png": tf.io.decode_png, "tensor": lambda frame: tf.io.parse_tensor(frame, tf.uint8)}
KEYS = ["observations", "observation_std_devs", "actions", "rewards"]
def rollouts(pattern, extras=()):  # names of extras, as the manifest lists them for `latent`
    for record in tf.data.TFRecordDataset(sorted(tf.io.gfile.glob(pattern))):
        context, _ = tf.io.parse_single_sequence_example(record, {"observation_format": tf.io.FixedLenFeature([], tf.string)})
        parse_frame = PARSE_FRAME.get(context["observation_format"].numpy().decode())  # None for `float` and `latent`
        features = {key: tf.io.VarLenFeature(tf.string if parse_frame and key == "observations" else tf.float32) for key in [*KEYS, *(f"observation_extras/{name}" for name in extras)]}
        _, steps = tf.io.parse_single_sequence_example(record, sequence_features=features)
        steps = {key: tf.sparse.to_dense(values) for key, values in steps.items() if values.shape[0]}  # [step, value]
        yield {k: (tf.stack([parse_frame(frame) for frame in v[:, 0]]) if v.dtype == tf.string else v).numpy() for k, v in steps.items()}
if __name__ == "__main__":
    for steps in rollouts(sys.argv[1], sys.argv[2:]): print({k: (v.shape, v.dtype.name, float(v.mean())) for k, v in steps.items()})
