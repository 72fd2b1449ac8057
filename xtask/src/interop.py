"""Compares what TensorFlow reads in rollouts of rl755 with what was written.

Usage: python interop.py DIR, which the example write_layouts of rl755-data filled: NAME.tfrecord in each layout, and
written.json with the arrays of its rollouts. Reads with docs/read_with_tensorflow.py.
"""
import json
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "docs"))
import read_with_tensorflow  # noqa: E402

directory = Path(sys.argv[1])
differences = 0
print(f"{'layout':8}{'sequence':27}{'shape':18}{'type':9}{'mean':>14}  difference")
for layout, written in json.loads((directory / "written.json").read_text()).items():
    prefix = "observation_extras/"
    extras = [key.removeprefix(prefix) for key in written[0] if key.startswith(prefix)]
    read = list(read_with_tensorflow.rollouts(str(directory / f"{layout}.tfrecord*"), extras))
    if len(read) != len(written):
        print(f"{layout:8}{len(read)} rollouts are read, {len(written)} were written")
        differences += 1
    for found, rollout in zip(read, written):
        for key in sorted(found.keys() | rollout.keys()):
            values, expected = found.get(key), rollout.get(key)
            if values is None or expected is None:
                verdict = "was not written" if expected is None else "is not read"
                shape, kind, mean = "", "", ""
            else:
                expected = np.array(expected["values"], expected["type"]).reshape(expected["shape"])
                shape, kind, mean = str(values.shape), values.dtype.name, f"{values.mean(dtype='f8'):.6g}"
                if (values.shape, values.dtype) != (expected.shape, expected.dtype):
                    verdict = f"{expected.shape} of {expected.dtype} were written"
                else:
                    other = int(np.count_nonzero(values != expected))
                    verdict = f"{other} values" if other else "none"
            print(f"{layout:8}{key:27}{shape:18}{kind:9}{mean:>14}  {verdict}")
            differences += verdict != "none"
sys.exit(f"error: {differences} differences" if differences else 0)
