"""Writes wrappers.json: what Gymnasium's wrappers make of CartPole-v1 and of synthetic frames.

Needs gymnasium 1.4.0, numpy 2.4 and opencv-python-headless 4.13. Gymnasium's RecordVideo runs with
a stand-in for moviepy that keeps the frames instead of writing a film.

`Pattern` below is written again in tests/wrappers/pattern.rs, and tests/wrappers/gymnasium.rs has
the same stacks by name. Observations of frames are stored as 64-bit FNV-1a hashes, with the axes in our order.
"""

import json
import pathlib
import sys
import tempfile
import types

import cv2
import gymnasium
import numpy as np
from gymnasium.wrappers import (
    ClipReward,
    FrameStackObservation,
    GrayscaleObservation,
    RecordEpisodeStatistics,
    RecordVideo,
    RepeatAction,
    ResizeObservation,
    TimeLimit,
    TransformReward,
)

films = []


class Film:
    def __init__(self, frames, fps):
        self.frames = frames

    def write_videofile(self, path, logger):
        films.append([pathlib.Path(path).stem, [fnv(frame) for frame in self.frames]])


moviepy = types.ModuleType("moviepy.video.io.ImageSequenceClip")
moviepy.ImageSequenceClip = Film
for name in ["moviepy", "moviepy.video", "moviepy.video.io", moviepy.__name__]:
    sys.modules[name] = moviepy


def fnv(array):
    state = 0xCBF29CE484222325
    for byte in np.ascontiguousarray(array, dtype=np.uint8).tobytes():
        state = ((state ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{state:016x}"


class Pattern(gymnasium.Env):
    """Frames that look like noise; an episode ends with its 9th step."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 50}

    def __init__(self, height=96, width=96):
        self.observation_space = gymnasium.spaces.Box(0, 255, (height, width, 3), np.uint8)
        self.action_space = gymnasium.spaces.Discrete(3)
        self.render_mode = "rgb_array"

    def frame(self):
        shape = self.observation_space.shape
        i = np.arange(np.prod(shape), dtype=np.uint32)
        t, seed = np.uint32(self.time), np.uint32(self.seed)
        mixed = i * i * np.uint32(31) + i * np.uint32(17) * (t + np.uint32(1)) + seed * np.uint32(101)
        return (mixed >> np.uint32(7)).astype(np.uint8).reshape(shape)

    def reset(self, *, seed=None, options=None):
        self.seed = self.seed + 1 if seed is None else seed
        self.time = 0
        return self.frame(), {}

    def step(self, action):
        self.time += 1
        reward = ((self.time * 7 + self.seed + int(action)) % 11 - 5) / 4
        return self.frame(), reward, self.time == 9, False, {}

    def render(self):
        return self.frame()[::2, ::2]


def cartpole():
    return gymnasium.make("CartPole-v1")


CARTPOLE = {
    "time_limit": lambda: TimeLimit(cartpole(), 7),
    "frame_stack": lambda: FrameStackObservation(cartpole(), 3),
    "repeat_action": lambda: RepeatAction(cartpole(), 3),
    "scale_reward": lambda: TransformReward(cartpole(), lambda reward: reward * 0.1),
    "clip_reward": lambda: ClipReward(cartpole(), None, 0.25),
    "limit, repeat, scale, stack": lambda: FrameStackObservation(
        TransformReward(RepeatAction(TimeLimit(cartpole(), 9), 2), lambda reward: reward * 0.3), 2
    ),
    "stack, stack, clip, repeat": lambda: RepeatAction(
        ClipReward(FrameStackObservation(FrameStackObservation(cartpole(), 2), 2), -1, 0.7), 3
    ),
}
PATTERN = {
    "resize 64": lambda: ResizeObservation(Pattern(), (64, 64)),
    "resize 84": lambda: ResizeObservation(Pattern(), (84, 84)),
    "resize 48": lambda: ResizeObservation(Pattern(), (48, 48)),
    "resize 32 by 24": lambda: ResizeObservation(Pattern(), (32, 24)),
    "resize large": lambda: ResizeObservation(Pattern(400, 600), (64, 64)),
    "resize same": lambda: ResizeObservation(Pattern(), (96, 96)),
    "grayscale": lambda: GrayscaleObservation(Pattern(), keep_dim=True),
    "frame_stack": lambda: FrameStackObservation(Pattern(), 4),
    "clip_reward": lambda: ClipReward(Pattern(), -0.5, 0.75),
    "gray, resize, stack": lambda: FrameStackObservation(
        ResizeObservation(GrayscaleObservation(Pattern(), keep_dim=True), (64, 64)), 4
    ),
    "resize, gray, repeat": lambda: RepeatAction(
        GrayscaleObservation(ResizeObservation(Pattern(), (64, 64)), keep_dim=True), 2
    ),
    "repeat, stack, limit": lambda: TimeLimit(
        FrameStackObservation(RepeatAction(Pattern(), 2), 2), 4
    ),
}


def numbers(observation):
    return [float(str(value)) for value in observation.ravel()]


def hashed(observation):
    if observation.ndim == 4:  # [stack, height, width, channel]
        observation = np.moveaxis(observation, 0, 2).reshape(*observation.shape[1:3], -1)
    return fnv(observation)


def play(name, make, store):
    """Two episodes, the second without a seed."""
    env, seed, episodes, observations, steps = make(), 5, [], [], []
    policy = np.random.default_rng(len(name))
    for start in [seed, None]:
        observations.append(store(env.reset(seed=start)[0]))
        actions, over = "", False
        while not over:
            action = int(policy.integers(2))
            observation, reward, terminated, truncated, _ = env.step(action)
            observations.append(store(observation))
            steps.append([float(reward), bool(terminated), bool(truncated)])
            actions += str(action)
            over = terminated or truncated
        episodes.append(actions)
    return {"stack": name, "seed": seed, "actions": episodes, "steps": steps,
            "observations": observations}


def statistics():
    env = RecordEpisodeStatistics(TransformReward(cartpole(), lambda reward: reward * 0.1))
    episodes = []
    for seed in range(4):
        env.reset(seed=seed)
        over = False
        while not over:
            *_, terminated, truncated, info = env.step(seed % 2)
            over = terminated or truncated
        episodes.append([float(info["episode"]["r"]), int(info["episode"]["l"])])
    return episodes


def recorded():
    """Every third of seven episodes; the fourth is left by a reset after its second step."""
    with tempfile.TemporaryDirectory() as folder:
        env = RecordVideo(Pattern(8, 6), folder, episode_trigger=lambda episode: episode % 3 == 0)
        for episode in range(7):
            env.reset(seed=episode)
            for _ in range(2 if episode == 3 else 9):
                env.step(1)
        env.close()
    return films


def every_grey():
    """All 2^24 colours, red slowest."""
    env = GrayscaleObservation(Pattern(256, 256), keep_dim=True)
    state = bytearray()
    frame = np.zeros((256, 256, 3), np.uint8)
    frame[:, :, 1] = np.arange(256)[:, None]
    frame[:, :, 2] = np.arange(256)[None, :]
    for red in range(256):
        frame[:, :, 0] = red
        state += env.observation(frame).tobytes()
    return fnv(np.frombuffer(bytes(state), np.uint8))


def resized(height, width, to):
    """The first frame of seed 5, in another size."""
    frame, _ = ResizeObservation(Pattern(height, width), to).reset(seed=5)
    return {"from": [height, width], "to": to, "levels": frame.ravel().tolist()}


golden = {
    "made_by": f"gymnasium {gymnasium.__version__}, opencv {cv2.__version__}",
    "cartpole": [play(name, make, numbers) for name, make in CARTPOLE.items()],
    "pattern": [play(name, make, hashed) for name, make in PATTERN.items()],
    "statistics": statistics(),
    "films": recorded(),
    "every_grey": every_grey(),
    "resized": [
        resized(8, 6, (12, 9)),
        resized(9, 9, (18, 27)),
        resized(20, 16, (8, 7)),
        resized(15, 13, (12, 10)),
        resized(21, 16, (1, 1)),
    ],
}
path = pathlib.Path(__file__).with_suffix(".json")
path.write_text(json.dumps(golden) + "\n")
