"""Records variants of Gymnasium's CarRacing-v3, for tests/car_racing_variants.rs.

Needs gymnasium 1.4.0, box2d 2.3.10, pygame 2.6.1 and pillow. Writes beside itself
car_racing_variants.json, and car_racing_variants.png with the frames in it side by side.

The config of a case is what our CarRacingConfig takes. Its `random_start` is not Gymnasium's: here
the car is put on a tile drawn from the environment's stream when the track is done. Actions are
the discrete ones, as digits. Every 25 steps there is the running 64-bit FNV-1a hash of what `bits`
gives after each step.
"""

import json
import math
import os
import pathlib
import struct

os.environ["SDL_VIDEODRIVER"] = "dummy"
os.environ["SDL_AUDIODRIVER"] = "dummy"

import gymnasium
import numpy as np
import pygame
from gymnasium.envs.box2d import car_racing
from PIL import Image

FNV_START, FNV_PRIME, MASK = 0xCBF29CE484222325, 0x100000001B3, (1 << 64) - 1
EVERY = 25
HOLD = 5  # steps for which an action is held


def fnv(state, data):
    for byte in data:
        state = (state ^ byte) * FNV_PRIME & MASK
    return state


def bits(env, reward, terminated):
    hull = env.car.hull
    place = [*hull.position, hull.angle, *hull.linearVelocity, hull.angularVelocity]
    return struct.pack(
        "<6f2d2I", *place, reward, env.reward, terminated, env.tile_visited_count
    )


def road_hash(env):
    """The polygons drawn, with their colours."""
    state = FNV_START
    for corners, color in env.road_poly:
        state = fnv(state, struct.pack("<8d", *(float(c) for p in corners for c in p)))
        state = fnv(state, bytes(int(c) for c in color))
    return f"{state:016x}"


def make(config):
    """An environment whose car starts where the config says."""
    options = {k: v for k, v in config.items() if k != "random_start"}
    env = car_racing.CarRacing(**options)
    env.random_start = config.get("random_start", False)
    return env


class Car(car_racing.Car):
    def __init__(self, world, *pose):
        if env.random_start:
            env.start = int(env.np_random.integers(len(env.track)))
            pose = env.track[env.start][1:4]
        super().__init__(world, *pose)


car_racing.Car = Car


def mixed(step):
    """Some of everything."""
    if step % HOLD == 0:
        mixed.action = int(rng.choice(5, p=[0.15, 0.2, 0.2, 0.35, 0.1]))
    return mixed.action


def follow(step):
    """Steers along the road."""
    track = np.array(env.track)[:, 2:]
    position = np.array(env.car.hull.position)
    nearest = int(np.argmin(((track - position) ** 2).sum(axis=1)))
    dx, dy = track[(nearest + 4) % len(track)] - position
    angle = env.car.hull.angle
    ahead = -math.sin(angle) * dx + math.cos(angle) * dy
    aside = math.cos(angle) * dx + math.sin(angle) * dy
    turn = math.atan2(aside, ahead)
    if abs(turn) > 0.12:
        return 1 if turn > 0 else 2
    return 3 if math.hypot(*env.car.hull.linearVelocity) < 35 else 0


discrete = {"continuous": False}
colored = {"domain_randomize": True}
start = {"random_start": True}
# Config, seed, then for each episode the policy, the number of steps, and when a frame is kept;
# 0 is what reset returns.
cases = [
    (discrete, 3, [(mixed, 400, []), (mixed, 100, [])]),
    (discrete, 4, [(follow, 600, [])]),
    (colored, 0, [(None, 0, [])] * 4),
    (colored, 2**32 + 5, [(None, 0, [])] * 3),
    (discrete | colored, 1, [(mixed, 75, [75]), (mixed, 50, [0, 50]), (follow, 100, [100])]),
    (discrete | colored | start, 2, [(follow, 75, [75]), (follow, 75, [])]),
    (discrete | start, 5, [(mixed, 50, []), (mixed, 50, [])]),
    (discrete | {"lap_complete_percent": 0.0}, 6, [(mixed, 1, [])]),
    # The start is a few tiles before tile 0, which then closes the lap.
    (discrete | start | {"lap_complete_percent": 0.02}, None, [(follow, 300, [])]),
]

pygame.init()
pygame.transform.set_smoothscale_backend("GENERIC")
frames, recorded = [], []
for config, seed, plan in cases:
    rng = np.random.default_rng(9)
    env = make(config)
    if seed is None:
        for seed in range(1000):
            env.reset(seed=seed)
            if 6 <= len(env.track) - env.start <= 14:
                break
    episodes = []
    for index, (policy, steps, wanted) in enumerate(plan):
        frame, _ = env.reset(seed=seed if index == 0 else None)
        episode = {
            "colors": [[int(c) for c in x] for x in (env.road_color, env.bg_color, env.grass_color)],
            "road": road_hash(env),
            "actions": "",
            "hashes": [],
            "frames": wanted,
        }
        if 0 in wanted:
            frames.append(frame)
        state, terminated = FNV_START, False
        while len(episode["actions"]) < steps and not terminated:
            action = policy(len(episode["actions"]))
            frame, reward, terminated, _, _ = env.step(action)
            episode["actions"] += str(action)
            state = fnv(state, bits(env, reward, terminated))
            if len(episode["actions"]) % EVERY == 0:
                episode["hashes"].append(f"{state:016x}")
            if len(episode["actions"]) in wanted:
                frames.append(frame)
        episode |= {"last": f"{state:016x}", "terminated": bool(terminated)}
        episode["road_after"] = road_hash(env)
        episodes.append(episode)
    print(config, seed, [(len(e["actions"]), e["terminated"]) for e in episodes], env.reward)
    # A string: JSON readers that use doubles would round it.
    recorded.append({"config": config, "seed": str(seed), "episodes": episodes})

path = pathlib.Path(__file__)
Image.fromarray(np.concatenate(frames, axis=1)).save(path.with_suffix(".png"), optimize=True)
header = {"made_by": f"gymnasium {gymnasium.__version__}, pygame {pygame.version.ver}"}
lines = ",\n".join(json.dumps(case) for case in recorded)
path.with_suffix(".json").write_text(
    json.dumps(header)[:-1] + ', "cases": [\n' + lines + "\n]}\n"
)
