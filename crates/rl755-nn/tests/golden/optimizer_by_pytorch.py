"""Writes optimizer_by_pytorch.json: what PyTorch's Adam and learning rate schedules give.

Made with PyTorch 2.13.0 on the CPU.
"""

import json
import pathlib

import torch

torch.manual_seed(755)


def numbers(tensor):
    return [float(value) for value in tensor.detach().flatten()]


def adam():
    """Two parameters, whose gradients are given at each step and clipped together to norm 1."""
    weight = torch.nn.Parameter(torch.randn(3, 4))
    bias = torch.nn.Parameter(torch.randn(4))
    optimizer = torch.optim.Adam([weight, bias], lr=0.02, betas=(0.8, 0.98), eps=1e-7)
    start = {"weight": numbers(weight), "bias": numbers(bias)}
    steps = []
    for step in range(6):
        # Some are clipped, some are not.
        weight.grad = torch.randn(3, 4) * 10.0 ** (1 - step)
        bias.grad = torch.randn(4) * 10.0 ** (-step)
        gradients = {"weight_gradient": numbers(weight.grad), "bias_gradient": numbers(bias.grad)}
        norm = torch.nn.utils.clip_grad_norm_([weight, bias], 1.0)
        optimizer.step()
        steps.append({**gradients, "norm": float(norm), "weight": numbers(weight), "bias": numbers(bias)})
    state = optimizer.state[weight]
    moments = {"exp_avg": numbers(state["exp_avg"]), "exp_avg_sq": numbers(state["exp_avg_sq"])}
    return {"start": start, "steps": steps, "moments": moments}


def schedules():
    """Rates of steps 1 to 40, with 5 steps of warm-up or none, from 0.5 to 0.01."""
    schedulers = torch.optim.lr_scheduler
    total, peak, final, every, factor = 40, 0.5, 0.01, 6, 0.3

    def decays(optimizer, warmup):
        left = total - max(warmup, 1)
        return {
            "constant": lambda: schedulers.ConstantLR(optimizer, 1.0),
            "linear": lambda: schedulers.LinearLR(optimizer, 1.0, final / peak, left),
            "cosine": lambda: schedulers.CosineAnnealingLR(optimizer, left, final),
            "exponential": lambda: schedulers.ExponentialLR(optimizer, (final / peak) ** (1 / left)),
            "step": lambda: schedulers.StepLR(optimizer, every, factor),
            # Vaswani et al. 2017, section 5.3: min(step^-0.5, step · warmup^-1.5).
            "inverse-sqrt": lambda: schedulers.LambdaLR(
                optimizer, lambda epoch: (max(warmup, 1) / (epoch + max(warmup, 1))) ** 0.5
            ),
        }

    found = {}
    for warmup in (0, 5):
        for name in decays(None, warmup):
            optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=peak)
            if warmup:
                rise = schedulers.LinearLR(optimizer, 1 / warmup, 1.0, warmup - 1)
                parts = [rise, decays(optimizer, warmup)[name]()]
                scheduler = schedulers.SequentialLR(optimizer, parts, [warmup - 1])
            else:
                scheduler = decays(optimizer, warmup)[name]()
            rates = []
            for _ in range(total):
                rates.append(optimizer.param_groups[0]["lr"])
                optimizer.step()
                scheduler.step()
            found[f"{name} {warmup}"] = rates
    return found


target = pathlib.Path(__file__).with_suffix(".json")
target.write_text(json.dumps({"adam": adam(), "schedules": schedules()}, indent=0) + "\n")
