"""Gymnasium and EnvPool under random actions, for `cargo xtask bench env`.

    python peers.py rounds gymnasium|envpool ID ENVS THREADS HOLD
    python peers.py memory gymnasium|envpool ID ENVS

The protocol is that of crates/rl755-env-mujoco/examples/env_speed.rs, and so are the actions: 64 rows drawn
beforehand, taken in turn, each held for HOLD steps. An environment that the peer does not have is
answered with {"ready": false}.

Gymnasium steps one environment in its own process; with more than one thread, as many processes with
an environment each. EnvPool steps ENVS environments on THREADS threads. Both reset by themselves;
where a step is spent on that, it is not counted.
"""

import json
import os
import sys
import time
import warnings

os.environ["SDL_VIDEODRIVER"] = "dummy"
os.environ["PYGAME_HIDE_SUPPORT_PROMPT"] = "1"
os.environ["OMP_NUM_THREADS"] = "1"
warnings.filterwarnings("ignore")

import numpy as np

ACTIONS = 64
MEMORY_STEPS = 60


def say(**answer):
    print(json.dumps(answer), flush=True)


class Single:
    """One environment of Gymnasium's."""

    count = 1

    def __init__(self, name):
        import gymnasium

        self.env = gymnasium.make(name)
        self.env.reset(seed=0)
        self.env.action_space.seed(0)

    def actions(self):
        return [self.env.action_space.sample() for _ in range(ACTIONS)]

    def step(self, action):
        """Steps taken, and resets."""
        _, _, terminated, truncated, _ = self.env.step(action)
        if terminated or truncated:
            self.env.reset()
            return 1, 1
        return 1, 0


class Batch:
    """Environments that are stepped together, and reset by themselves in the step after their end."""

    def __init__(self, env, count):
        self.env = env
        self.count = count
        self.ended = 0
        env.reset()

    def actions(self):
        space = getattr(self.env, "single_action_space", self.env.action_space)
        rng = np.random.default_rng(0)
        if hasattr(space, "n"):
            return list(rng.integers(space.n, size=(ACTIONS, self.count)).astype(np.int32))
        shape = (ACTIONS, self.count, *space.shape)
        return list(rng.uniform(space.low, space.high, size=shape).astype(np.float32))

    def step(self, action):
        _, _, terminated, truncated, _ = self.env.step(action)
        resets = self.ended
        self.ended = int(np.count_nonzero(terminated | truncated))
        return self.count - resets, resets


def make(peer, name, envs, threads):
    """The environments, or None when the peer does not know the name."""
    if peer == "envpool":
        import envpool

        if name not in envpool.list_all_envs():
            return None
        env = envpool.make(name, env_type="gymnasium", num_envs=envs, num_threads=threads, seed=0)
        return Batch(env, envs)
    import gymnasium

    if name not in gymnasium.registry:
        return None
    if threads == 1:
        return Single(name)
    return Batch(gymnasium.make_vec(name, num_envs=threads, vectorization_mode="async"), threads)


def rounds(peer, name, envs, threads, hold):
    env = make(peer, name, envs, threads)
    if env is None:
        say(ready=False)
        return
    actions = env.actions()
    say(ready=True)
    turn = 0
    for line in sys.stdin:
        seconds = float(line)
        steps = resets = 0
        start = time.perf_counter()
        while True:
            action = actions[turn]
            turn = (turn + 1) % ACTIONS
            for _ in range(hold):
                stepped, reset = env.step(action)
                steps += stepped
                resets += reset
            elapsed = time.perf_counter() - start
            if elapsed >= seconds:
                break
        say(steps=steps, seconds=elapsed, resets=resets)


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def memory(peer, name, envs):
    def drive(count):
        if peer == "envpool":
            driven = [make(peer, name, count, 1)]
        else:
            driven = [make(peer, name, 1, 1) for _ in range(count)]
        if None in driven:
            return None
        for env in driven:
            for action in env.actions()[:MEMORY_STEPS]:
                env.step(action)
        return driven

    first = drive(1)
    if first is None:
        say(bytes=None)
        return
    before = resident_bytes()
    others = drive(envs)
    say(bytes=max(0, resident_bytes() - before) // envs)
    del first, others


def main():
    mode, peer, name, *numbers = sys.argv[1:]
    {"rounds": rounds, "memory": memory}[mode](peer, name, *map(int, numbers))


if __name__ == "__main__":
    main()
