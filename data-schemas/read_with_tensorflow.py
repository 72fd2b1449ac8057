"""Reads rollouts of rl755 in TensorFlow. Usage: python read_with_tensorflow.py 'DIR/NAME.tfrecord*' ACTION_WIDTH"""
import sys
import tensorflow as tf

floats = lambda n: tf.io.FixedLenSequenceFeature([n], tf.float32)
context = {"environment": tf.io.FixedLenFeature([], tf.string), "observation_format": tf.io.FixedLenFeature([], tf.string),
           "observation_shape": tf.io.VarLenFeature(tf.int64), "terminated": tf.io.FixedLenFeature([], tf.int64)}
for record in tf.data.TFRecordDataset(sorted(tf.io.gfile.glob(sys.argv[1]))):
    c, _ = tf.io.parse_single_sequence_example(record, context_features=context)
    kind, shape = c["observation_format"].numpy().decode(), tf.sparse.to_dense(c["observation_shape"]).numpy().tolist()
    steps = {"actions": floats(int(sys.argv[2])), "rewards": floats(1)}
    steps["observations"] = tf.io.FixedLenSequenceFeature([], tf.string) if kind == "png" else floats(shape[0])
    steps |= {"observation_std_devs": floats(shape[0])} if kind == "latent" else {}
    _, x = tf.io.parse_single_sequence_example(record, sequence_features=steps)
    if kind == "png":
        x["observations"] = tf.map_fn(tf.io.decode_png, x["observations"], fn_output_signature=tf.uint8)
    print(c["environment"].numpy().decode(), "terminated" if c["terminated"] else "truncated",
          {k: (*v.shape, v.dtype.name, float(tf.reduce_mean(tf.cast(v, tf.float64)))) for k, v in x.items()})
