"""Writes frames of Gymnasium's CarRacing-v3, to compare ours with.

Needs gymnasium 1.4.0 with box2d 2.3.10 and pygame 2.6.1 (not pygame-ce, whose frames differ), and
pillow. In car_racing_picture.png the observations stand side by side; car_racing_picture.json says
how each is reached: a seed, and actions in sixteenths with the number of steps each is held; and
the 64-bit FNV-1a hashes of the pictures for people (render_mode="rgb_array") at the same steps,
whose score is blackened. The last of them, with its score, is car_racing_people.png.
"""

import json
import math
import os
import pathlib

os.environ["SDL_VIDEODRIVER"] = "dummy"
os.environ["SDL_AUDIODRIVER"] = "dummy"

import gymnasium
import numpy as np
import pygame
from gymnasium.envs.box2d.car_racing import CarRacing
from PIL import Image

HOLD = 4  # steps for which each action is held
SCORE = np.s_[350:, :70]  # rows and columns of the score in a picture for people


def follow_road(env, step):
    """Steers to a point a few tiles ahead."""
    track = np.array(env.track)[:, 2:]
    position = np.array(env.car.hull.position)
    nearest = int(np.argmin(((track - position) ** 2).sum(axis=1)))
    dx, dy = track[(nearest + 4) % len(track)] - position
    angle = env.car.hull.angle
    ahead = -math.sin(angle) * dx + math.cos(angle) * dy
    aside = math.cos(angle) * dx + math.sin(angle) * dy
    turn = math.atan2(aside, ahead)
    speed = math.hypot(*env.car.hull.linearVelocity)
    target = 55 - 60 * abs(turn)
    return [1.5 * turn, 0.6 * (speed < target), 0.4 * (speed > target + 12)]


def spin(env, step):
    """Speeds up, then turns on the grass."""
    return [-0.8 * (step > 80), 0.8, 0.9 * (150 < step < 170)]


def straight(env, step):
    """Leaves the field."""
    return [0, 0.3, 0]


def people_hash(picture):
    """Of a picture for people, without the score."""
    picture = picture.copy()
    picture[SCORE] = 0
    state = 0xCBF29CE484222325
    for byte in picture.tobytes():
        state = (state ^ byte) * 0x100000001B3 & (1 << 64) - 1
    return f"{state:016x}"


pygame.init()
pygame.transform.set_smoothscale_backend("GENERIC")
env = CarRacing(render_mode="rgb_array")
# Of each case, the frames after these numbers of steps; 0 is what reset returns.
cases = [
    (0, follow_road, [0, 24, 308]),
    (4, straight, [290]),
    (2, spin, [88, 320]),
]
frames, recorded = [], []
for seed, policy, wanted in cases:
    frame, _ = env.reset(seed=seed)
    actions, people = [], []
    for step in range(wanted[-1] + 1):
        if step in wanted:
            frames.append(frame)
            picture = env.render()
            people.append(people_hash(picture))
        if step % HOLD == 0:
            action = np.clip(np.round(np.array(policy(env, step)) * 16), -16, 16)
            if actions and actions[-1][:3] == action.tolist():
                actions[-1][3] += HOLD
            else:
                actions.append([*map(int, action), HOLD])
        frame, _, terminated, _, _ = env.step(action.astype(np.float32) / np.float32(16))
        assert not terminated
    recorded.append({"seed": seed, "actions": actions, "frames": wanted, "people": people})

path = pathlib.Path(__file__)
Image.fromarray(np.concatenate(frames, axis=1)).save(path.with_suffix(".png"), optimize=True)
Image.fromarray(picture).save(path.with_name("car_racing_people.png"), optimize=True)
golden = {
    "made_by": f"gymnasium {gymnasium.__version__}, pygame {pygame.version.ver}",
    "cases": recorded,
}
path.with_suffix(".json").write_text(json.dumps(golden) + "\n")
