"""Reads rollouts of rl755 in TensorFlow, as NumPy arrays. Usage: python read_with_tensorflow.py 'DIR/NAME.tfrecord*'"""
import sys
import tensorflow as tf
PARSE_FRAME = {"png": tf.io.decode_png, "tensor": lambda frame: tf.io.parse_tensor(frame, tf.uint8)}
def rollouts(pattern):
    for record in tf.data.TFRecordDataset(sorted(tf.io.gfile.glob(pattern))):
        context, _ = tf.io.parse_single_sequence_example(record, {"observation_format": tf.io.FixedLenFeature([], tf.string)})
        kind = context["observation_format"].numpy().decode()  # png, tensor, float or latent
        keys = dict.fromkeys(["observations", "actions", "rewards", "observation_std_devs"][: 4 if kind == "latent" else 3], tf.float32)
        features = {k: tf.io.VarLenFeature(tf.string if k == "observations" and kind in PARSE_FRAME else v) for k, v in keys.items()}
        steps = {k: tf.sparse.to_dense(v) for k, v in tf.io.parse_single_sequence_example(record, None, features)[1].items()}
        yield {k: (tf.stack([PARSE_FRAME[kind](frame) for frame in v[:, 0]]) if v.dtype == tf.string else v).numpy() for k, v in steps.items()}
if __name__ == "__main__":
    for steps in rollouts(sys.argv[1]):
        print({key: (values.shape, values.dtype.name, float(values.mean())) for key, values in steps.items()})
