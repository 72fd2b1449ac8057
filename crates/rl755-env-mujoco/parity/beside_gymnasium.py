"""Our MuJoCo environments beside Gymnasium's: every bit of observations, rewards and ends.

    python beside_gymnasium.py PROGRAM [--env ID]... [--seeds N] [--steps N] [--pictures]

PROGRAM is the example `mujoco_parity`. Ends with 1 when a bit differs. With --pictures it compares
pictures drawn through EGL as well, byte by byte.
"""

import argparse
import os
import subprocess
import sys
import tempfile

# NumPy's BLAS must add in order, without fused multiplications: which kernels do depends on the
# processor. It matters for the norms in Reacher and Pusher.
os.environ["OPENBLAS_CORETYPE"] = "Haswell"
os.environ["MUJOCO_GL"] = "egl"

import gymnasium
import mujoco
import numpy as np

IDS = [
    "Ant-v5",
    "HalfCheetah-v5",
    "Hopper-v5",
    "Humanoid-v5",
    "InvertedDoublePendulum-v5",
    "InvertedPendulum-v5",
    "Pusher-v5",
    "Reacher-v5",
    "Swimmer-v5",
    "Walker2d-v5",
]


def play(name, seed, steps):
    """What examples/mujoco_parity.rs describes, by Gymnasium: arrays of doubles, one for each step and
    each first observation."""
    env = gymnasium.make(name, disable_env_checker=True)
    space = env.action_space
    low, high = space.low.astype(np.float64), space.high.astype(np.float64)
    rng = np.random.default_rng(1000 + seed)
    yield env.reset(seed=seed)[0]
    for _ in range(steps):
        action = rng.uniform(low, high).astype(np.float32)
        observation, reward, terminated, truncated, _ = env.step(action)
        yield np.concatenate([[float(reward), float(terminated)], observation])
        if terminated or truncated:
            yield env.reset()[0]


def picture(name):
    """Gymnasium's picture after 20 steps."""
    env = gymnasium.make(name, render_mode="rgb_array", disable_env_checker=True)
    low, high = (np.float64(bound) for bound in (env.action_space.low, env.action_space.high))
    rng = np.random.default_rng(1000)
    env.reset(seed=0)
    for _ in range(20):
        _, _, terminated, truncated, _ = env.step(rng.uniform(low, high).astype(np.float32))
        if terminated or truncated:
            env.reset()
    return env.render()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--env", action="append", dest="ids", choices=IDS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--pictures", action="store_true")
    arguments = parser.parse_args()
    arguments.program = os.path.abspath(arguments.program)
    # Where MuJoCo's MUJOCO_LOG.TXT may lie.
    scratch = tempfile.TemporaryDirectory()
    os.chdir(scratch.name)
    print(f"Gymnasium {gymnasium.__version__}, MuJoCo {mujoco.__version__}, NumPy {np.__version__}")
    print(f"{arguments.seeds} seeds of {arguments.steps} steps; numbers that differ in a bit:")
    equal = True
    for name in arguments.ids or IDS:
        compared = differing = episodes = 0
        for seed in range(arguments.seeds):
            command = [arguments.program, name, str(seed), str(arguments.steps)]
            ours = np.frombuffer(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
            theirs = list(play(name, seed, arguments.steps))
            episodes += len(theirs) - arguments.steps
            theirs = np.concatenate(theirs)
            compared += len(theirs)
            if len(ours) != len(theirs):
                print(f"  {name}, seed {seed}: {len(ours)} numbers, Gymnasium's are {len(theirs)}")
                differing += abs(len(ours) - len(theirs))
            least = min(len(ours), len(theirs))
            wrong = ours[:least].view(np.uint64) != theirs[:least].view(np.uint64)
            differing += int(np.count_nonzero(wrong))
            if wrong.any():
                at = int(np.argmax(wrong))
                print(f"  {name}, seed {seed}: first number {at}, {ours[at]!r} not {theirs[at]!r}")
        print(f"{name:26} {differing} of {compared:,}, {episodes} episodes", flush=True)
        if arguments.pictures:
            command = [arguments.program, name, "0", "20", "picture"]
            ours = np.frombuffer(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout, np.uint8)
            theirs = picture(name)
            wrong = int(np.count_nonzero(ours != theirs.ravel()))
            print(f"{'':26} {wrong} of {theirs.size:,} bytes of a picture", flush=True)
            differing += wrong
        equal = equal and differing == 0
    sys.exit(0 if equal else 1)


if __name__ == "__main__":
    main()
