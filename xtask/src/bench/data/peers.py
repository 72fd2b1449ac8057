"""TensorFlow writing, verifying and sampling rollouts, for `cargo xtask bench data`.

Usage: python peers.py write DATASET OUT_DIR
       python peers.py verify DATASET THREADS
       python peers.py sample png|tensor VARIANT DATASET

DATASET is a directory of shards that rl755 packed. VARIANT is `unbatch`, which takes apart what a
rollout gave and batches it anew, as the original project does; `rollout`, whose batches are what a
rollout gave; or `interleave`, which decodes frame by frame. Once `{"ready": true}` is printed, each
line of stdin is a number of seconds, answered by a line with the frames or bytes of that time.
"""

import glob
import os
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf

SHAPE = (96, 96, 3)
PER_ROLLOUT = 100
BATCH = 256
# Frames of a rollout that is written.
STEPS = 200


def shards(dataset):
    return sorted(glob.glob(os.path.join(dataset, "*.tfrecord-*")))


def rounds(work):
    print('{"ready": true}', flush=True)
    for line in sys.stdin:
        seconds, steps, start = float(line), 0, time.perf_counter()
        while time.perf_counter() - start < seconds:
            steps += work()
        elapsed = time.perf_counter() - start
        print(f'{{"steps": {steps}, "seconds": {elapsed}, "resets": 0}}', flush=True)


def parse(record):
    features = {"observations": tf.io.FixedLenSequenceFeature([], tf.string)}
    return tf.io.parse_single_sequence_example(record, sequence_features=features)[1]["observations"]


def writing(dataset, out_dir):
    """The original's layout: each frame as a serialized tensor."""
    record = next(iter(tf.data.TFRecordDataset(shards(dataset))))
    frames = [tf.io.decode_png(png, 3).numpy() for png in parse(record)[:STEPS]]
    os.makedirs(out_dir, exist_ok=True)

    def feature_list(features):
        return tf.train.FeatureList(feature=features)

    def floats(values):
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))

    def work():
        with tf.io.TFRecordWriter(os.path.join(out_dir, "rollout.tfrecord")) as writer:
            frame = lambda f: tf.train.BytesList(value=[tf.io.serialize_tensor(f).numpy()])
            lists = {
                "observations": feature_list([tf.train.Feature(bytes_list=frame(f)) for f in frames]),
                "actions": feature_list([floats([0.0, 0.5, 1.0]) for _ in frames]),
                "rewards": feature_list([floats([1.0]) for _ in frames]),
            }
            lists = tf.train.FeatureLists(feature_list=lists)
            writer.write(tf.train.SequenceExample(feature_lists=lists).SerializeToString())
        return len(frames)

    return work


def verifying(dataset, threads):
    """TensorFlow checks the framing and the checksums of what it reads."""
    files = shards(dataset)
    size = sum(os.path.getsize(file) for file in files)
    records = tf.data.TFRecordDataset(files, num_parallel_reads=threads)

    def work():
        records.reduce(0, lambda count, _: count + 1)
        return size

    return work


def sampling(kind, variant, dataset):
    decode = {
        "png": lambda frame: tf.io.decode_png(frame, 3),
        "tensor": lambda frame: tf.io.parse_tensor(frame, tf.uint8),
    }[kind]
    auto = tf.data.AUTOTUNE

    def choose(record):
        frames = parse(record)
        chosen = tf.random.uniform([PER_ROLLOUT], 0, tf.shape(frames)[0], tf.int32)
        return tf.gather(frames, chosen)

    def unit(frames, *count):
        return tf.cast(tf.reshape(frames, [*count, *SHAPE]), tf.float32) / 255.0

    def whole(record):
        frames = tf.map_fn(decode, choose(record), fn_output_signature=tf.uint8)
        return unit(frames, PER_ROLLOUT)

    files = shards(dataset)
    records = tf.data.TFRecordDataset(files, num_parallel_reads=auto).repeat()
    if variant == "unbatch":
        batches = records.map(whole, num_parallel_calls=auto).unbatch().batch(BATCH)
    elif variant == "rollout":
        batches = records.map(whole, num_parallel_calls=auto)
    else:
        slices = lambda record: tf.data.Dataset.from_tensor_slices(choose(record))
        frames = records.interleave(slices, num_parallel_calls=auto).shuffle(1000)
        batches = frames.map(lambda f: unit(decode(f)), num_parallel_calls=auto).batch(BATCH)
    batches = iter(batches.prefetch(2))
    return lambda: next(batches).shape[0]


def main():
    match sys.argv[1:]:
        case ["write", dataset, out_dir]:
            rounds(writing(dataset, out_dir))
        case ["verify", dataset, threads]:
            rounds(verifying(dataset, int(threads)))
        case ["sample", kind, variant, dataset]:
            rounds(sampling(kind, variant, dataset))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
