"""Writes vector_env.json: SyncVectorEnv over CartPole-v1 in each autoreset mode.

Needs gymnasium 1.4.0 and numpy 2.4. Episodes are cut off after 17 steps, so that some are
terminated and some truncated. In the mode Disabled, environments are reset by a mask right after
their episodes' ends, with a seed or without by turns.
"""

import json
import pathlib

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv

COUNT, STEPS, LIMIT, SEEDS = 3, 70, 17, [3, 1, 4]


def numbers(observations):
    return [[float(str(value)) for value in row] for row in observations]


def trace(mode):
    make = lambda: gymnasium.make("CartPole-v1", max_episode_steps=LIMIT)
    envs = SyncVectorEnv([make] * COUNT, autoreset_mode=mode)
    observations, _ = envs.reset(seed=SEEDS)
    first, steps, resets = numbers(observations), [], 0
    policy = np.random.default_rng(755)
    for _ in range(STEPS):
        actions = [int(policy.random() < share) for share in (0.5, 0.15, 0.8)]
        observations, rewards, terminated, truncated, infos = envs.step(np.array(actions))
        step = {
            "actions": actions,
            "observations": numbers(observations),
            "rewards": rewards.tolist(),
            "terminated": terminated.tolist(),
            "truncated": truncated.tolist(),
        }
        if mode == AutoresetMode.SAME_STEP:
            final = infos.get("final_obs", [None] * COUNT)
            step["final"] = [None if row is None else numbers([row])[0] for row in final]
        over = terminated | truncated
        if mode == AutoresetMode.DISABLED and over.any():
            seeds = [None] * COUNT
            for index in np.flatnonzero(over):
                resets += 1
                seeds[index] = 100 + resets if resets % 2 else None
            observations, _ = envs.reset(seed=seeds, options={"reset_mask": over})
            step["reset"] = [[int(i), seeds[i]] for i in np.flatnonzero(over)]
            step["after_reset"] = numbers(observations)
        steps.append(step)
    return {"mode": mode.value, "first": first, "steps": steps}


golden = {
    "made_by": f"gymnasium {gymnasium.__version__}",
    "limit": LIMIT,
    "seeds": SEEDS,
    "traces": [trace(mode) for mode in AutoresetMode],
}
path = pathlib.Path(__file__).with_suffix(".json")
path.write_text(json.dumps(golden) + "\n")
