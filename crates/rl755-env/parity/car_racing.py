"""Compares our CarRacing with Gymnasium's, frame by frame, and exits with 1 when a bar is missed.

    python car_racing.py PATH_OF_THE_EXAMPLE_car_racing_parity

Needs gymnasium 1.4.0, box2d 2.3.10 and pygame 2.6.1 (not pygame-ce, whose frames differ). Both are
driven by the same actions, which look at Gymnasium's state: on the road, at random, on the grass,
off the field; each episode includes the first second's zoom, the indicators and the score. Rewards
and ends must be equal, bit for bit.
"""

import argparse
import math
import os
import struct
import subprocess
import sys

os.environ["SDL_VIDEODRIVER"] = "dummy"
os.environ["SDL_AUDIODRIVER"] = "dummy"
os.environ["PYGAME_HIDE_SUPPORT_PROMPT"] = "1"

import numpy as np
import pygame
from gymnasium.envs.box2d.car_racing import CarRacing

MEAN_BAR = 1.0  # mean absolute difference, of 255
NEAR, NEAR_BAR = 8, 0.99  # share of bytes that differ by no more
FRAME_BAR = 3.0  # mean absolute difference of the worst frame
PEOPLE_BAR = 3.0  # the same, of pictures for people
MEMORY_BAR = 1_000_000  # bytes of an environment
PEOPLE_EVERY = 25  # steps between two pictures for people
SCORE = np.s_[350:, :70]  # rows and columns of the score in such a picture
HOLD = 8  # steps for which a random action is held


class Ours:
    """Our environment, in the process of the example."""

    def __init__(self, program):
        self.process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def _ask(self, command, size):
        self.process.stdin.write(command)
        self.process.stdin.flush()
        answer = self.process.stdout.read(size)
        if len(answer) < size:
            sys.exit(f"{self.process.args[0]} ended early with {self.process.wait()}")
        return answer

    def make(self, name):
        self._ask(b"m" + struct.pack("<I", len(name)) + name.encode(), 0)

    def reset(self, seed=None):
        command = b"n" if seed is None else b"r" + struct.pack("<Q", seed)
        return np.frombuffer(self._ask(command, 96 * 96 * 3), np.uint8).reshape(96, 96, 3)

    def step(self, action):
        command = b"s" + struct.pack(f"<I{len(action)}f", len(action), *action)
        answer = self._ask(command, 96 * 96 * 3 + 9)
        frame = np.frombuffer(answer[:-9], np.uint8).reshape(96, 96, 3)
        return frame, *struct.unpack("<d?", answer[-9:])

    def render(self):
        return np.frombuffer(self._ask(b"p", 400 * 600 * 3), np.uint8).reshape(400, 600, 3)

    def memory(self):
        return struct.unpack("<Q", self._ask(b"b", 8))[0]


# Drivers: functions of Gymnasium's environment, the step and a generator.


def on_the_road(env, step, rng):
    """Steers to a point a few tiles ahead, at different speeds."""
    track = np.array(env.track)[:, 2:]
    position = np.array(env.car.hull.position)
    nearest = int(np.argmin(((track - position) ** 2).sum(axis=1)))
    dx, dy = track[(nearest + 4) % len(track)] - position
    angle = env.car.hull.angle
    ahead = -math.sin(angle) * dx + math.cos(angle) * dy
    aside = math.cos(angle) * dx + math.sin(angle) * dy
    turn = math.atan2(aside, ahead)
    speed = math.hypot(*env.car.hull.linearVelocity)
    target = (60 if step < 250 else 35) - 60 * abs(turn)
    return [1.5 * turn, 0.6 * (speed < target), 0.4 * (speed > target + 12)]


def at_random(env, step, rng):
    """Any action, held for a while."""
    if step % HOLD == 0 or not hasattr(env, "held"):
        env.held = rng.uniform([-1, 0, 0], [1, 1, 0.5])
    return env.held


def on_the_grass(env, step, rng):
    """Follows the road, then leaves it and spins; brakes now and then."""
    if step < 120:
        return on_the_road(env, step, rng)
    side = 1 if step % 200 < 100 else -1
    return [0.7 * side, 0.8, 0.9 if step % 50 < 6 else 0]


def off_the_field(env, step, rng):
    """Straight on until the field ends."""
    return [0.02 * math.sin(step / 20), 0.5, 0]


class Tally:
    """What is known of a group of frames."""

    def __init__(self):
        self.frames, self.total, self.near, self.size, self.worst = 0, 0, 0, 0, 0.0

    def add(self, ours, theirs):
        difference = np.abs(ours.astype(np.int16) - theirs)
        self.frames += 1
        self.size += difference.size
        self.total += int(difference.sum())
        self.near += int((difference <= NEAR).sum())
        self.worst = max(self.worst, float(difference.mean()))

    def row(self, name):
        mean, near = self.total / self.size, 100 * self.near / self.size
        return f"{name:<28} {self.frames:>7} {mean:>8.3f} {near:>11.2f} % {self.worst:>8.3f}"


def drive(ours, theirs, driver, seed, steps, tallies, people):
    """One seed's frames into the tallies; after an episode's end another one follows."""
    rng = np.random.default_rng(seed)
    frames = ours.reset(seed), theirs.reset(seed=seed)[0]
    for step in range(steps):
        for tally in tallies:
            tally.add(*frames)
        if step % PEOPLE_EVERY == 0:
            pictures = ours.render().copy(), theirs.render()
            people[0].add(*pictures)
            for picture in pictures:
                picture[SCORE] = 0
            people[1].add(*pictures)
        action = np.clip(driver(theirs, step, rng), [-1, 0, 0], [1, 1, 1]).astype(np.float32)
        frame, reward, terminated = ours.step(action)
        their_frame, their_reward, their_end, _, _ = theirs.step(action)
        if (reward, terminated) != (float(their_reward), bool(their_end)):
            sys.exit(
                f"{driver.__name__}, seed {seed}, step {step}: reward and end are "
                f"{(reward, terminated)} instead of {(their_reward, their_end)}"
            )
        frames = frame, their_frame
        if terminated:
            for tally in tallies:
                tally.add(*frames)
            frames = ours.reset(), theirs.reset()[0]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", help="the example car_racing_parity, built")
    parser.add_argument("--seeds", type=int, default=6, help="of each way to drive")
    parser.add_argument("--steps", type=int, default=500, help="of each seed, at most 1000")
    args = parser.parse_args()

    pygame.init()
    pygame.transform.set_smoothscale_backend("GENERIC")
    ours, whole, people = Ours(args.program), Tally(), [Tally(), Tally()]
    print(f"{'frames of 96×96':<28} {'frames':>7} {'mean':>8} {f'within {NEAR}':>13} {'worst':>8}")
    drivers = [on_the_road, at_random, on_the_grass, off_the_field]
    for offset, driver in enumerate(drivers):
        theirs, tally = CarRacing(render_mode="rgb_array"), Tally()
        ours.make("CarRacing-v3")
        for seed in range(args.seeds):
            drive(ours, theirs, driver, 100 * offset + seed, args.steps, [tally, whole], people)
        print(tally.row(driver.__name__.replace("_", " ")), flush=True)
    print(whole.row("together"))

    theirs, drawn = CarRacing(render_mode="rgb_array", domain_randomize=True), Tally()
    ours.make("CarRacing-v3:domain_randomize=true")
    for seed in range(args.seeds):
        drive(ours, theirs, on_the_grass, 1000 + seed, args.steps // 2, [drawn], people)
    print(drawn.row("domain_randomize"))
    print(people[0].row("pictures of 600×400"))
    print(people[1].row("the same without the score"))
    ours.make("CarRacing-v3")
    memory = ours.memory()
    print(f"an environment takes {memory / 1000:.0f} kB")

    bars = [
        (f"a mean of at most {MEAN_BAR}", whole.total <= MEAN_BAR * whole.size),
        (f"{NEAR_BAR:.0%} of bytes within {NEAR}", whole.near >= NEAR_BAR * whole.size),
        (f"no frame's mean above {FRAME_BAR}", whole.worst <= FRAME_BAR),
        (
            f"a mean of at most {PEOPLE_BAR} for people",
            people[0].total <= PEOPLE_BAR * people[0].size,
        ),
        ("the same bytes for people, but for the score", people[1].total == 0),
        (f"at most {MEMORY_BAR // 1000} kB an environment", memory <= MEMORY_BAR),
    ]
    missed = [bar for bar, met in bars if not met]
    print("missed: " + "; ".join(missed) if missed else "every bar is met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
