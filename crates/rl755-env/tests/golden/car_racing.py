"""Records what Gymnasium's CarRacing-v3 does, for tests/car_racing_parity.rs.

Needs gymnasium 1.4.0, box2d 2.3.10, pygame and numpy. Writes beside itself, or into the folder
given: car_racing.json (versions, cases, tracks, last states) and car_racing.bin.

Each case is one environment: reset with a seed, then stepped; an episode that ends is followed by
a reset without a seed. car_racing.bin holds for each case in order its actions, 3 bytes a step
(steer as i8 / 127, gas and brake as u8 / 255, each divided in float32), then its checks, 8 bytes a
step: the low bytes of the running 64-bit FNV-1a hashes of what `groups` gives, which start anew
with each case. Cases with `full_steps` have in the JSON every bit of so many first
steps, so that a difference can be followed to a field.
"""

import json
import math
import os
import platform
import struct
import sys
from pathlib import Path

os.environ["SDL_VIDEODRIVER"] = "dummy"

import Box2D  # noqa: E402
import gymnasium  # noqa: E402
import numpy as np  # noqa: E402
from gymnasium.envs.box2d import car_racing  # noqa: E402

FNV_START, FNV_PRIME, MASK = 0xCBF29CE484222325, 0x100000001B3, (1 << 64) - 1
GROUPS = [
    "hull.place",
    "hull.motion",
    "wheels.place",
    "wheels.motion",
    "wheels.rolling",
    "wheels.tiles",
    "rewards",
    "tiles",
]


def fnv(state, data):
    for byte in data:
        state = (state ^ byte) * FNV_PRIME & MASK
    return state


def place(body):
    """All float32 in Box2D, as are the velocities."""
    return struct.pack("<3f", *body.position, body.angle)


def motion(body):
    return struct.pack("<3f", *body.linearVelocity, body.angularVelocity)


def groups(env, step_reward, terminated):
    """The bytes of each group of the state after a step."""
    hull, wheels = env.car.hull, env.car.wheels
    rolling = (struct.pack("<f3d", w.joint.angle, w.omega, w.phase, w.gas) for w in wheels)
    grey = sum(int(c[0]) == 102 for _, c in env.road_poly)
    return [
        place(hull),
        motion(hull),
        b"".join(map(place, wheels)),
        b"".join(map(motion, wheels)),
        b"".join(rolling),
        struct.pack("<4I", *(len(w.tiles) for w in wheels)),
        struct.pack("<3dI", step_reward, env.reward, env.t, terminated),
        struct.pack("<2I", env.tile_visited_count, grey),
    ]


def road_hash(env):
    """The track's points and the polygons drawn, with their colours."""
    state = FNV_START
    for point in env.track:
        state = fnv(state, struct.pack("<4d", *map(float, point)))
    for corners, color in env.road_poly:
        state = fnv(state, struct.pack("<8d", *(float(c) for p in corners for c in p)))
        state = fnv(state, bytes(int(c) for c in color))
    return state


# Policies: functions of the environment, the step and a generator, giving steer, gas, brake.


def changes(env, t, rng, memory):
    """Random actions held for 13 steps; full stop in steps 300 to 400, long enough to sleep."""
    if t % 13 == 0:
        memory["a"] = [
            rng.choice([-1, 0, 1]) if rng.integers(3) == 0 else rng.uniform(-1, 1),
            rng.uniform(0, 1) if rng.integers(4) else 0,
            rng.uniform(0, 1) if rng.integers(4) == 0 and t > 200 else 0,
        ]
    return [0, 0, 1] if 300 <= t < 400 else memory["a"]


def uniform(env, t, rng, memory):
    """A new action at each step, the whole action space."""
    return rng.uniform([-1, 0, 0], [1, 1, 1])


def idle(env, t, rng, memory):
    """Nothing for 100 steps (the car sleeps), then full gas and full lock by turns."""
    if t < 100:
        return [0, 0, 0]
    return [1 - 2 * (t // 70 % 2), 1, 0] if t % 200 < 150 else [0, 0, 0.5]


def steer_towards(env, tx, ty):
    """The steering that turns the car to a place, beyond its bounds when that lies aside."""
    hull = env.car.hull
    error = math.atan2(-(tx - hull.position[0]), ty - hull.position[1]) - hull.angle
    return -2.5 * ((error + math.pi) % (2 * math.pi) - math.pi)


def leave(env, t, rng, memory):
    """Straight away from the middle over the grass until the field ends."""
    x, y = env.car.hull.position
    steer = steer_towards(env, 1000 * x, 1000 * y)
    return [max(-1, min(1, steer)), 0.5 if abs(steer) < 0.5 else 0.1, 0]


def follow(env, t, rng, memory, offset=0.0):
    """Follows the road, `offset` metres right of its middle; fast enough to finish laps."""
    hull = env.car.hull
    x, y = hull.position
    n = len(env.track)
    nearest = min(range(n), key=lambda i: math.hypot(env.track[i][2] - x, env.track[i][3] - y))
    speed = math.hypot(*hull.linearVelocity)
    ahead = 4 + int(speed / 15)
    _, beta, tx, ty = env.track[(nearest + ahead) % n]
    tx, ty = tx + offset * math.cos(beta), ty + offset * math.sin(beta)
    betas = [env.track[(nearest + k) % n][1] for k in range(4, 26)]
    turn = max(
        abs((b - a + math.pi) % (2 * math.pi) - math.pi) for a, b in zip(betas, betas[4:])
    )
    limit = 75 if turn < 0.15 else 55 if turn < 0.45 else 38
    steer = max(-1, min(1, steer_towards(env, tx, ty)))
    gas = 0.6 if speed < limit and abs(steer) < 0.6 else 0.1 if speed < 25 else 0
    brake = 0.3 if speed > limit + 8 else 0
    return [steer, gas, brake]


def weave(env, t, rng, memory):
    """Follows the road from one verge to the other, with wheels on the grass."""
    return follow(env, t, rng, memory, 9 * math.sin(t / 35))


def first_attempt_fails(seed):
    env = car_racing.CarRacing()
    attempts = []
    create = env._create_track
    env._create_track = lambda: attempts.append(1) or create()
    env.reset(seed=seed)
    return len(attempts) > 1


def main():
    out = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent)
    # Dynamics only: the picture has its own golden files.
    car_racing.CarRacing._render = lambda self, mode: np.zeros((96, 96, 3), np.uint8)

    failing = [s for s in range(100, 160) if first_attempt_fails(s)][:2]
    cases = [
        *((changes, s, 1000, 40 if s == 0 else 0) for s in range(6)),
        *((uniform, s, 1000, 0) for s in (20, 21, 2**32 + 5, 2**64 - 1)),
        *((idle, s, 1000, 0) for s in (30, 31)),
        *((leave, s, 1000, 0) for s in (40, 41, 42)),
        *((follow, s, 2000, 40 if s == 50 else 0) for s in range(50, 55)),
        *((weave, s, 1000, 0) for s in (60, 61)),
        *((changes, s, 1000, 0) for s in failing),
    ]
    records, blob = [], bytearray()
    for policy, seed, steps, full_steps in cases:
        env = car_racing.CarRacing()
        rng = np.random.default_rng([1000, seed])
        memory, actions, checks = {}, bytearray(), bytearray()
        episodes, full = [], []
        hashes = [FNV_START] * len(GROUPS)

        def begin(**kwargs):
            env.reset(**kwargs)
            road = f"{road_hash(env):016x}"
            episodes.append({"first_step": t, "tiles": len(env.track), "road": road})

        t = 0
        begin(seed=seed)
        ended = False
        for t in range(steps):
            if ended:
                begin()
            steps_of_action = np.array([127, 255, 255], np.float32)
            action = np.round(np.float32(policy(env, t, rng, memory)) * steps_of_action)
            actions += struct.pack("<bBB", *map(int, action))
            _, reward, ended, _, info = env.step(action / steps_of_action)
            ended = bool(ended)
            parts = groups(env, reward, ended)
            hashes = [fnv(h, p) for h, p in zip(hashes, parts)]
            checks += bytes(h & 255 for h in hashes)
            if t < full_steps:
                full.append([p.hex() for p in parts])
            if ended:
                episodes[-1]["end"] = "lap" if info["lap_finished"] else "left the field"
        blob += actions + checks
        print(policy.__name__, seed, [e.get("end") for e in episodes], round(env.reward, 2))
        records.append({
            "policy": policy.__name__,
            # A string: JSON readers that use doubles would round it.
            "seed": str(seed),
            "steps": steps,
            "first_track_attempt_fails": seed in failing,
            "episodes": episodes,
            "last": [p.hex() for p in parts],
            "full": full,
        })
    header = {
        "made_by": "car_racing.py",
        "versions": {
            "python": platform.python_version(),
            "gymnasium": gymnasium.__version__,
            "box2d": Box2D.__version__,
            "numpy": np.__version__,
            "libc": " ".join(platform.libc_ver()),
            "machine": platform.machine(),
        },
        "groups": GROUPS,
    }
    lines = ",\n".join(json.dumps(r) for r in records)
    text = json.dumps(header)[:-1] + ', "cases": [\n' + lines + "\n]}\n"
    (out / "car_racing.json").write_text(text)
    (out / "car_racing.bin").write_bytes(blob)


if __name__ == "__main__":
    main()
