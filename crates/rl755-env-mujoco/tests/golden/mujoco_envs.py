"""What Gymnasium's MuJoCo environments give, for tests/mujoco/golden.rs: mujoco_envs.json.

For each environment and seed a hash of all observations and one of all rewards and ends so far, every
100 of 1,000 steps of random actions; and where the geoms are after the first three steps. The episodes
are those of parity/beside_gymnasium.py, which compares every number.

    python mujoco_envs.py
"""

import json
import os
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "../../parity"))
# MuJoCo writes its warnings to a file in the working directory.
os.chdir(tempfile.mkdtemp())

import beside_gymnasium  # before NumPy: it chooses NumPy's BLAS
import gymnasium
import mujoco
import numpy as np

SEEDS = 5
STEPS = 1000
EVERY = 100
BEGIN = 0xCBF29CE484222325


def add(hashed, values):
    """Fowler, Noll and Vo's hash, on words of 64 bits."""
    for word in np.asarray(values, dtype=np.float64).view(np.uint64).tolist():
        hashed = ((hashed ^ word) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return hashed


def hashes(name, seed):
    observations, outcomes, found, steps = BEGIN, BEGIN, [], 0
    width = None
    for values in beside_gymnasium.play(name, seed, STEPS):
        width = width or len(values)
        if len(values) == width:  # a first observation
            observations = add(observations, values)
            continue
        outcomes = add(outcomes, values[:2])
        observations = add(observations, values[2:])
        steps += 1
        if steps % EVERY == 0:
            found.append([f"{observations:016x}", f"{outcomes:016x}"])
    return found


def poses(name):
    """Position and quaternion of each geom that is not hidden, after three steps of the least action."""
    env = gymnasium.make(name, disable_env_checker=True)
    env.reset(seed=0)
    for _ in range(3):
        env.step(env.action_space.low)
    model, data = env.unwrapped.model, env.unwrapped.data
    found = []
    for geom in range(model.ngeom):
        if model.geom_group[geom] < 3:
            quaternion = np.zeros(4)
            mujoco.mju_mat2Quat(quaternion, data.geom_xmat[geom])
            found.append([round(float(x), 5) for x in [*data.geom_xpos[geom], *quaternion]])
    return found


golden = {
    "gymnasium": gymnasium.__version__,
    "mujoco": mujoco.__version__,
    "numpy": np.__version__,
    "every": EVERY,
    "environments": {
        name: {
            "hashes": [hashes(name, seed) for seed in range(SEEDS)],
            "poses": poses(name),
        }
        for name in beside_gymnasium.IDS
    },
}
with open(os.path.join(here, "mujoco_envs.json"), "w") as file:
    lines = json.dumps(golden).replace('"hashes"', '\n"hashes"').replace('"poses"', '\n"poses"')
    file.write(lines + "\n")
