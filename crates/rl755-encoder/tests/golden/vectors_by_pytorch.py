"""What PyTorch gives for a small `mlp`, and for the contrastive loss of `simclr`, for src/parity.rs (2.13.0 wrote the
committed files).
"""

import sys
from pathlib import Path

import torch
from torch import nn

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "rl755-nn/tests/pytorch"))
from golden_file import GoldenFile, normal, randomise


class Mlp(nn.Module):
    def __init__(self, width, hidden, latent):
        super().__init__()
        self.encoder = nn.ModuleList([nn.Linear(width, hidden[0]), nn.Linear(*hidden)])
        self.mean = nn.Linear(hidden[1], latent)
        self.decoder = nn.ModuleList([nn.Linear(latent, hidden[1]), nn.Linear(*hidden[::-1])])
        self.output = nn.Linear(hidden[0], width)

    def encode(self, x):
        return self.mean(self.encoder[1](self.encoder[0](x).relu()).relu())

    def decode(self, z):
        return self.output(self.decoder[1](self.decoder[0](z).relu()).relu())


def mlp():
    network, file = randomise(Mlp(5, (8, 6), 3), 71), GoldenFile()
    x, center, scale = 3 * normal((4, 5), 72), normal((5,), 73), normal((5,), 74).abs()
    normalised = ((x - center) / scale).clamp(-10, 10)
    latents = network.encode(normalised)
    decoded = network.decode(latents)
    loss = nn.functional.mse_loss(decoded, normalised, reduction="sum") / len(x)
    loss.backward()
    file.input("observations", x)
    file.value("mean", latents)
    file.value("reconstruction", decoded * scale + center)
    file.value("loss", loss[None])
    file.tensors["weight/center"], file.tensors["weight/scale"] = center, scale
    for name in ("encoder", "decoder"):
        for index, layer in enumerate(getattr(network, name)):
            file.layer(f"{name}.{index}", layer)
    file.layer("mean", network.mean)
    file.layer("output", network.output)
    file.write(HERE / "mlp.safetensors")


def contrast(frames=4, temperature=0.5):
    """Rows i and frames + i are views of one frame."""
    views = normal((2 * frames, 6), 81).requires_grad_()
    similarity = nn.functional.cosine_similarity(views[:, None], views[None], dim=2) / temperature
    similarity = similarity.masked_fill(torch.eye(2 * frames, dtype=torch.bool), -torch.inf)
    other = torch.arange(2 * frames).roll(frames)
    loss = nn.functional.cross_entropy(similarity, other)
    loss.backward()
    file = GoldenFile()
    file.input("views", views.detach())
    file.value("loss", loss[None])
    file.value("top_1", (similarity.argmax(1) == other).double().mean()[None])
    file.value("gradient", views.grad)
    file.write(HERE / "simclr-loss.safetensors")


mlp()
contrast()
