"""PyTorch trains the VAE of World Models on what `vae_beside_pytorch` wrote: the same weights to begin with, the same
batches, the loss and Adam of rl755-train-encoder's defaults; noise of its own.

Usage: python pytorch.py DIR SEED...     (a training for each seed of the noise; needs torch, numpy and safetensors)
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import load_file
from torch import nn

SIZE, LATENT, FREE_NATS, LEARNING_RATE = 64, 32, 0.5, 1e-3


def area(size):
    """The matrix that resizes a line of pixels to SIZE: each new pixel is the mean of what it covers."""
    edges = np.arange(size + 1) * SIZE / size
    new = np.arange(SIZE)[:, None]
    covered = np.clip(np.minimum(edges[None, 1:], new + 1) - np.maximum(edges[None, :-1], new), 0, None)
    return torch.tensor(covered, dtype=torch.float32)


class Vae(nn.Module):
    def __init__(self):
        super().__init__()
        channels = (3, 32, 64, 128, 256)
        for index in range(4):
            setattr(self, f"conv{index + 1}", nn.Conv2d(*channels[index : index + 2], 4, 2))
        self.mean, self.spread = nn.Linear(1024, LATENT), nn.Linear(1024, LATENT)
        self.decode = nn.Linear(LATENT, 1024)
        for index, (i, o, kernel) in enumerate(((1024, 128, 5), (128, 64, 5), (64, 32, 6), (32, 3, 6))):
            setattr(self, f"deconv{index + 1}", nn.ConvTranspose2d(i, o, kernel, 2))

    def losses(self, x):
        h = x
        for index in range(4):
            h = getattr(self, f"conv{index + 1}")(h).relu()
        mean, log_variance = self.mean(h.flatten(1)), self.spread(h.flatten(1))
        y = self.decode(mean + (0.5 * log_variance).exp() * torch.randn_like(mean))[:, :, None, None]
        for index in range(3):
            y = getattr(self, f"deconv{index + 1}")(y).relu()
        error = (self.deconv4(y).sigmoid() - x).square().sum((1, 2, 3)).mean()
        kl = 0.5 * (mean.square() + log_variance.exp() - log_variance - 1).sum(1)
        return error + kl.clamp_min(FREE_NATS * LATENT).mean(), error, kl.mean()

    def load(self, path):
        """Our weights: linear layers are the other way around."""
        tensors = {name.removeprefix("network."): torch.tensor(t) for name, t in load_file(path).items()}
        for name in ("mean", "spread", "decode"):
            tensors[f"{name}.weight"] = tensors[f"{name}.weight"].T
        self.load_state_dict(tensors)


def main(directory, seeds):
    shape = json.loads((directory / "shape.json").read_text())
    height, width, channels = shape["frame"]
    rows, columns = area(height), area(width)

    def batches(name, batch):
        frames = np.memmap(directory / name, np.uint8, "r").reshape(-1, batch, height, width, channels)
        for frame in frames:
            pixels = torch.from_numpy(frame / np.float32(255)).permute(0, 3, 1, 2)
            yield (rows @ pixels @ columns.T).contiguous(memory_format=torch.channels_last)

    for seed in seeds:
        torch.manual_seed(seed)
        vae = Vae()
        vae.load(directory / "initial.safetensors")
        vae = vae.to(memory_format=torch.channels_last)
        adam = torch.optim.Adam(vae.parameters(), LEARNING_RATE)
        for step, batch in enumerate(batches("batches.bin", shape["batch"]), 1):
            loss = vae.losses(batch)[0]
            adam.zero_grad()
            loss.backward()
            adam.step()
            if step % 50 == 0 or step == 1:
                print(f"seed {seed}, step {step}: loss {loss.item():.2f}", flush=True)
        with torch.no_grad():
            measured = torch.tensor([vae.losses(batch) for batch in batches("validation.bin", 64)]).mean(0)
        names = ("validation_loss", "validation_reconstruction", "validation_kl")
        values = ", ".join(f"{name} {value:.2f}" for name, value in zip(names, measured.tolist()))
        print(f"seed {seed}, after {shape['steps']} steps: {values}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), [int(seed) for seed in sys.argv[2:]])
