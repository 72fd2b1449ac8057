"""Updates of policies by TRPO and PPO, for src/policy_gradient/parity.rs, with PyTorch's
distributions and derivatives in 64 bits; advantages by their definitions as sums.

Usage: python policy_gradient_by_pytorch.py [FOLDER]     (needs torch and numpy)
"""

import json
import os
import sys

import numpy as np
import torch
from torch.distributions import Categorical, Independent, Normal, kl_divergence

folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
torch.set_default_dtype(torch.float64)
random = np.random.default_rng(755)
OBSERVED, HIDDEN, ROWS = 3, [5, 4], 30


def normal(*shape):
    return random.normal(size=shape).round(3)


def network(parameters, inputs, widths):
    """Also returns the parameters that are left."""
    values = inputs
    for index, (i, o) in enumerate(zip(widths[:-1], widths[1:])):
        weights, parameters = parameters[: i * o].reshape(i, o), parameters[i * o :]
        values, parameters = values @ weights + parameters[:o], parameters[o:]
        if index + 2 < len(widths):
            values = torch.tanh(values)
    return values, parameters


def trpo(distribution, parameters, actions, advantages, config):
    old = distribution(parameters.detach())
    old_log = old.log_prob(actions)

    def surrogate(parameters):
        return (torch.exp(distribution(parameters).log_prob(actions) - old_log) * advantages).mean()

    def divergence(parameters):
        return kl_divergence(old, distribution(parameters)).mean()

    (gradient,) = torch.autograd.grad(surrogate(parameters), parameters)

    def product(v):
        (slope,) = torch.autograd.grad(divergence(parameters), parameters, create_graph=True)
        (product,) = torch.autograd.grad(slope @ v, parameters)
        return product + config["damping"] * v

    step, residual, direction = torch.zeros_like(gradient), gradient.clone(), gradient.clone()
    square = residual @ residual
    for _ in range(config["cg_iterations"]):
        along = product(direction)
        length = square / (direction @ along)
        step, residual = step + length * direction, residual - length * along
        before, square = square, residual @ residual
        direction = residual + square / before * direction
    step *= torch.sqrt(2 * config["max_kl"] / (step @ product(step)))
    with torch.no_grad():
        for backtracks in range(config["max_backtracks"]):
            new = parameters + config["backtrack_ratio"] ** backtracks * step
            gain = surrogate(new) - surrogate(parameters)
            if gain > 0 and divergence(new) <= config["max_kl"]:
                break
        v = torch.tensor(normal(len(parameters)))
    return {"config": config, "direction": v.tolist(),
            "fisher_product": (product(v) - config["damping"] * v).tolist(),
            "parameters": new.tolist(), "gain": float(gain),
            "divergence": float(divergence(new)), "backtracks": backtracks,
            "entropy": float(old.entropy().mean())}


def ppo(distribution, parameters, actions, advantages, config):
    """Every minibatch is the whole batch."""
    old_log = distribution(parameters).log_prob(actions).detach()
    parameters = parameters.detach().clone().requires_grad_()
    adam = torch.optim.Adam([parameters], lr=config["learning_rate"], eps=1e-5, maximize=True)

    def objective():
        now = distribution(parameters)
        ratio = torch.exp(now.log_prob(actions) - old_log)
        clipped = ratio.clamp(1 - config["clip"], 1 + config["clip"])
        return torch.minimum(ratio * advantages, clipped * advantages).mean(), now.entropy().mean()

    for _ in range(config["epochs"]):
        gain, entropy = objective()
        adam.zero_grad()
        (gain + config["entropy"] * entropy).backward()
        norm = parameters.grad.norm()
        if norm > config["max_gradient_norm"]:
            parameters.grad *= config["max_gradient_norm"] / norm
        adam.step()
    return {"config": config, "parameters": parameters.tolist(),
            "gain": float(objective()[0].detach() - advantages.mean())}


def case(kind, outputs, trpo_config, ppo_config):
    widths = [OBSERVED, *HIDDEN, outputs]
    count = sum((i + 1) * o for i, o in zip(widths[:-1], widths[1:]))
    observations, advantages = normal(ROWS, OBSERVED), normal(ROWS)
    if kind == "gaussian":
        parameters, actions = normal(count + outputs), normal(ROWS, outputs)
    else:
        parameters, actions = normal(count), random.integers(outputs, size=(ROWS, 1))

    def distribution(parameters):
        values, log_std = network(parameters, torch.tensor(observations), widths)
        if kind == "gaussian":
            return Independent(Normal(values, log_std.exp().expand(values.shape)), 1)
        return Categorical(logits=values)

    start = torch.tensor(parameters, requires_grad=True)
    taken = torch.tensor(actions if kind == "gaussian" else actions[:, 0])
    weights = torch.tensor(advantages)
    return {"kind": kind, "outputs": outputs, "observations": observations.tolist(),
            "actions": actions.tolist(), "advantages": advantages.tolist(),
            "parameters": parameters.tolist(),
            "trpo": trpo(distribution, start, taken, weights, trpo_config),
            "ppo": ppo(distribution, start, taken, weights, ppo_config)}


def advantages(steps, terminated, discount, gae_lambda):
    """Generalised advantage estimation as Schulman et al. (2016) define it, without recursion."""
    rewards, values = normal(steps), normal(steps + 1)
    if terminated:
        values[-1] = 0
    surprises = rewards + discount * values[1:] - values[:-1]
    powers = lambda base, begin: base ** np.arange(steps - begin)
    advantages = [float(powers(discount * gae_lambda, t) @ surprises[t:]) for t in range(steps)]
    returns = [float(powers(discount, t) @ rewards[t:] + discount ** (steps - t) * values[-1])
               for t in range(steps)]
    return {"rewards": rewards.tolist(), "values": values.tolist(), "discount": discount,
            "gae_lambda": gae_lambda, "advantages": advantages, "returns": returns}


def baseline():
    """Ridge regression by least squares on the system with the ridge's rows below."""
    episodes = [3 * normal(steps, OBSERVED) for steps in (20, 35)]
    episodes[0][3, 1] = 25.0
    features = []
    for seen in episodes:
        seen = np.clip(seen, -10, 10)
        time = np.arange(len(seen))[:, None] / 100
        features.append(np.hstack([seen, seen**2, time, time**2, time**3, np.ones_like(time)]))
    every = np.vstack(features)
    returns = normal(len(every))
    ridge = np.sqrt(1e-5) * np.eye(every.shape[1])
    target = np.concatenate([returns, np.zeros(len(ridge))])
    coefficients = np.linalg.lstsq(np.vstack([every, ridge]), target, rcond=None)[0]
    return {"episodes": [seen.tolist() for seen in episodes], "returns": returns.tolist(),
            "predictions": (every @ coefficients).tolist()}


TRPO = {"max_kl": 0.01, "cg_iterations": 10, "damping": 0.1, "backtrack_ratio": 0.8,
        "max_backtracks": 15}
PPO = {"clip": 0.2, "epochs": 10, "minibatch_size": ROWS, "learning_rate": 0.01, "entropy": 0.01,
       "max_gradient_norm": 0.5}
golden = {
    "peer": f"torch {torch.__version__.split('+')[0]}, numpy {np.__version__}",
    "hidden": HIDDEN,
    "cases": [
        case("gaussian", 2, TRPO, PPO),
        # So long a step, by so rough a model, that it must be shortened.
        case("categorical", 3, {**TRPO, "max_kl": 0.5, "cg_iterations": 5, "damping": 1e-3}, PPO),
    ],
    "advantages": [advantages(12, True, 0.99, 0.97), advantages(9, False, 0.9, 0.5),
                   advantages(1, False, 1.0, 0.0)],
    "baseline": baseline(),
}
with open(os.path.join(folder, "policy_gradient_by_pytorch.json"), "w") as file:
    json.dump(golden, file)
    file.write("\n")
