"""Writes cartpole.json: episodes of Gymnasium's CartPole-v1, to compare ours with.

Needs gymnasium 1.4.0 and numpy 2.4. The policy keeps the pole up for a while, then pushes right
until it falls; actions are stored, so that the comparison needs no policy.
"""

import json
import pathlib

import gymnasium

EVERY = 10  # steps between two stored states


def episode(env, seed, balanced_steps):
    """One episode, and the state that a second reset without a seed gives."""
    env.reset(seed=seed)
    inner = env.unwrapped
    states, actions = [inner.state.tolist()], ""
    terminated = truncated = False
    while not (terminated or truncated):
        x, x_dot, theta, theta_dot = inner.state
        lean = theta + 0.5 * theta_dot + 0.02 * x + 0.05 * x_dot
        action = int(lean > 0) if len(actions) < balanced_steps else seed % 2
        observation, reward, terminated, truncated, _ = env.step(action)
        assert reward == 1.0 and observation.dtype == "float32"
        actions += str(action)
        if len(actions) % EVERY == 0 or terminated or truncated:
            states.append(inner.state.tolist())
    env.reset()
    return {
        "seed": seed,
        "actions": actions,
        "states": states,
        "terminated": terminated,
        "truncated": truncated,
        "next_start": inner.state.tolist(),
    }


env = gymnasium.make("CartPole-v1")
cases = [(0, 0), (1, 0), (2, 40), (3, 120), (2**32 + 5, 25), (2**64 - 1, 7), (4, 1000)]
golden = {
    "made_by": f"gymnasium {gymnasium.__version__}",
    "every": EVERY,
    "episodes": [episode(env, seed, steps) for seed, steps in cases],
}
path = pathlib.Path(__file__).with_suffix(".json")
path.write_text(json.dumps(golden) + "\n")
