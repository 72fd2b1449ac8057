"""What PyTorch gives for small encoders of frames of any size, `vae` and `autoencoder`, for src/parity.rs (2.13.0 wrote
the committed files). Frames are 21×28: a kernel of the decoder is then 5×6. Features are flattened with the channel last.
"""

import sys
from pathlib import Path

import torch
from torch import nn

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "rl755-nn/tests/pytorch"))
from golden_file import GoldenFile, normal, numbers, randomise

BATCH, LATENT, SIZE, FEATURES = 2, 3, (21, 28), (3, 5, 6)


class Network(nn.Module):
    def __init__(self, *heads):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv2d(3, 4, 5, 2), nn.Conv2d(4, 6, 4, 2)])
        flat = FEATURES[0] * FEATURES[1] * FEATURES[2]
        self.heads = nn.ModuleDict({name: nn.Linear(flat, LATENT) for name in heads})
        self.expand = nn.Linear(LATENT, flat)
        self.deconvs = nn.ModuleList([nn.ConvTranspose2d(6, 4, (5, 4), 2), nn.ConvTranspose2d(4, 3, (5, 6), 2)])

    def encode(self, x):
        features = self.convs[1](self.convs[0](x).relu()).relu()
        return [head(features.permute(0, 2, 3, 1).flatten(1)) for head in self.heads.values()]

    def reconstruct(self, z):
        x = self.expand(z).relu().unflatten(1, FEATURES).permute(0, 3, 1, 2)
        return self.deconvs[1](self.deconvs[0](x).relu()).sigmoid()

    def put(self, file):
        for index in range(2):
            file.layer(f"encoder.convs.{index}", self.convs[index])
            file.layer(f"decoder.deconvs.{index}", self.deconvs[index])
        file.layer("decoder.expand", self.expand)
        for name, head in self.heads.items():
            file.layer(name, head)


def frames():
    return (numbers(BATCH * SIZE[0] * SIZE[1] * 3).view(BATCH, *SIZE, 3).float() / 255).double().permute(0, 3, 1, 2)


def squared_error(found, x):
    return nn.functional.mse_loss(found, x, reduction="sum") / BATCH


def finish(file, name, network, mean, loss):
    loss.backward()
    file.value("loss", loss[None])
    file.value("mean", mean)
    file.value("reconstruction", network.reconstruct(mean).permute(0, 2, 3, 1).flatten()[::41])
    network.put(file)
    file.write(HERE / f"{name}.safetensors")


def autoencoder():
    network, file, x = randomise(Network("latent"), 31), GoldenFile(), frames()
    (mean,) = network.encode(x)
    finish(file, "autoencoder", network, mean, squared_error(network.reconstruct(mean), x))


def vae():
    network, file, x, noise = randomise(Network("mean", "spread"), 32), GoldenFile(), frames(), normal((BATCH, LATENT), 33)
    mean, log_variance = network.encode(x)
    posterior = torch.distributions.Normal(mean, (0.5 * log_variance).exp())
    prior = torch.distributions.Normal(torch.zeros_like(mean), torch.ones_like(mean))
    kl = torch.distributions.kl_divergence(posterior, prior).sum(1)
    file.input("noise", noise)
    file.value("std_dev", posterior.stddev)
    file.value("kl", kl.mean()[None])
    loss = squared_error(network.reconstruct(mean + posterior.stddev * noise), x) + 0.7 * kl.mean()
    finish(file, "vae", network, mean, loss)


autoencoder()
vae()
