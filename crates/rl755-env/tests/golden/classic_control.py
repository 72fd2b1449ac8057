"""Records what Gymnasium's classic control does, for tests/classic_control.rs.

Needs gymnasium 1.4.0, numpy 2.4, pygame 2.6.1 and pillow. Writes beside itself classic_control.json,
the traces, and classic_control.png, a few pictures.

Each case is one environment: reset with a seed, then stepped; an episode that ends, by itself or by
the time limit, is followed by a reset without a seed. Actions, rewards and ends are stored for every
step, states and observations for the first ones and every few steps, and after each reset. The
pictures stand one above another, each shrunk to a quarter of its width and height by means.
"""

import json
import os
import pathlib

os.environ["SDL_VIDEODRIVER"] = "dummy"

import gymnasium
import numpy as np
import pygame
from PIL import Image

SHRINK = 4
WIDTH = 600 // SHRINK

# Policies: functions of the environment, the observation and a generator.


def uniform(env, observation, rng):
    """A new action at each step, the whole action space."""
    space = env.action_space
    if isinstance(space, gymnasium.spaces.Discrete):
        return int(rng.integers(space.n))
    return rng.uniform(space.low, space.high).astype(np.float32)


def extremes(env, observation, rng):
    """Mostly the action that adds energy: along the velocity of the last joint."""
    space = env.action_space
    if rng.random() < 0.1:
        return uniform(env, observation, rng)
    forward = observation[-1] >= 0
    if isinstance(space, gymnasium.spaces.Discrete):
        return (int(space.n) - 1) * int(forward)
    return space.high if forward else space.low


def balance(env, observation, rng):
    """Keeps the pole up for a while."""
    x, x_dot, theta, theta_dot = observation
    if rng.random() < 0.06:
        return int(rng.integers(2))
    return int(theta + 0.5 * theta_dot + 0.02 * x + 0.05 * x_dot > 0)


def record(env_id, options, policy, seed, steps, every, picture_steps):
    env = gymnasium.make(env_id, render_mode="rgb_array", **options)
    rng = np.random.default_rng([1000, seed])
    case = {
        "id": env_id,
        "options": options,
        "seed": seed,
        "every": every,
        "actions": [],
        "rewards": [],
        "ends": [],
        "checks": [],
        "pictures": [],
    }
    pictures = []

    def check(observation):
        assert observation.dtype == np.float32
        state = [float(v) for v in env.unwrapped.state]
        case["checks"].append({"state": state, "observation": [float(str(v)) for v in observation]})

    observation, _ = env.reset(seed=seed)
    check(observation)
    lowest = highest = observation
    for step in range(steps):
        if step in picture_steps:
            frame = env.render()
            height, width, _ = frame.shape
            cells = frame.reshape(height // SHRINK, SHRINK, width // SHRINK, SHRINK, 3)
            small = np.full((height // SHRINK, WIDTH, 3), 255, np.uint8)
            small[:, : width // SHRINK] = np.round(cells.mean(axis=(1, 3)))
            pictures.append(small)
            case["pictures"].append(step)
        action = policy(env, observation, rng)
        case["actions"].append(action if isinstance(action, int) else float(str(action[0])))
        observation, reward, terminated, truncated, _ = env.step(action)
        lowest = np.minimum(lowest, observation)
        highest = np.maximum(highest, observation)
        case["rewards"].append(int(reward) if reward == int(reward) else float(reward))
        done = terminated or truncated
        if done:
            case["ends"].append([step, "terminated" if terminated else "truncated"])
            assert not (terminated and truncated)
        if step < 10 or step % every == 0 or done:
            check(observation)
        if done:
            observation, _ = env.reset()
            check(observation)
    if isinstance(action, int):
        case["actions"] = "".join(map(str, case["actions"]))
    print(env_id, options, policy.__name__, seed, case["ends"], lowest, highest)
    return case, pictures


LARGE = [2**32 + 5, 2**64 - 1]
CASES = [
    *(("CartPole-v1", {}, uniform, seed, 200, 20, [0, 12]) for seed in (0, LARGE[0])),
    ("CartPole-v1", {}, balance, 1, 600, 20, [60]),
    ("CartPole-v1", {"sutton_barto_reward": True}, uniform, 2, 100, 10, []),
    *(("Pendulum-v1", {}, uniform, seed, 250, 20, [0, 120]) for seed in (0, LARGE[0], LARGE[1])),
    ("Pendulum-v1", {}, extremes, 3, 450, 25, [1, 190]),
    ("Pendulum-v1", {"g": 9.81}, extremes, 4, 210, 20, []),
    *(("MountainCar-v0", {}, uniform, seed, 250, 20, [0]) for seed in (0, LARGE[1])),
    ("MountainCar-v0", {}, extremes, 5, 450, 25, [40, 110]),
    ("MountainCar-v0", {}, extremes, 12, 250, 25, []),  # reaches the wall
    ("MountainCar-v0", {"goal_velocity": 0.05}, extremes, 6, 450, 25, []),
    *(("MountainCarContinuous-v0", {}, uniform, seed, 250, 20, [0]) for seed in (0, LARGE[0])),
    ("MountainCarContinuous-v0", {}, extremes, 7, 450, 25, [60]),
    ("MountainCarContinuous-v0", {"goal_velocity": 0.06}, extremes, 8, 300, 25, []),
    *(("Acrobot-v1", {}, uniform, seed, 250, 20, [0, 150]) for seed in (0, LARGE[0])),
    ("Acrobot-v1", {}, extremes, 9, 600, 25, [80]),
    ("Acrobot-v1", {}, extremes, 10, 300, 25, []),
]
recorded, pictures = [], []
for case in CASES:
    trace, shots = record(*case)
    recorded.append(trace)
    pictures += shots
path = pathlib.Path(__file__)
golden = {
    "made_by": f"gymnasium {gymnasium.__version__}, pygame {pygame.version.ver}",
    "cases": recorded,
}
path.with_suffix(".json").write_text(json.dumps(golden, separators=(",", ":")) + "\n")
Image.fromarray(np.concatenate(pictures)).save(path.with_suffix(".png"), optimize=True)
