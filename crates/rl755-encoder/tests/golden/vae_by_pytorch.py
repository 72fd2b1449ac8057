"""What PyTorch gives for small VAEs of the shapes of vae-64 and vae-96, for src/parity.rs (2.13.0 wrote the committed
files).

The frames are made of `numbers`, the noise is in the files. Of reconstructions, of the mean, every 41st number is kept.
"""

import sys
from pathlib import Path

import torch
from torch import nn

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "rl755-nn/tests/pytorch"))
from golden_file import GoldenFile, normal, numbers, randomise

BATCH, LATENT, CHANNELS = 2, 3, (4, 8, 8, 4)


class Vae(nn.Module):
    def __init__(self, first, last):
        super().__init__()
        a, b, c, d = CHANNELS
        self.convolutions = nn.ModuleList(
            nn.Conv2d(*args)
            for args in ((3, a, *first), (a, b, 4, 2), (b, c, 4, 2), (c, d, 4, 2))
        )
        self.mean, self.spread = nn.Linear(4 * d, LATENT), nn.Linear(4 * d, LATENT)
        self.decode = nn.Linear(LATENT, 4 * d)
        self.deconvolutions = nn.ModuleList(
            nn.ConvTranspose2d(*args)
            for args in ((4 * d, c, 5, 2), (c, b, 5, 2), (b, a, 6, 2), (a, 3, *last))
        )

    def encode(self, x):
        for convolution in self.convolutions:
            x = torch.relu(convolution(x))
        return self.mean(x.flatten(1)), self.spread(x.flatten(1))

    def reconstruct(self, z):
        x = self.decode(z).unflatten(1, (-1, 1, 1))
        for deconvolution in self.deconvolutions[:-1]:
            x = torch.relu(deconvolution(x))
        return torch.sigmoid(self.deconvolutions[-1](x))


def write(name, size, first, last, std_dev, beta, free_nats, seed):
    vae = randomise(Vae(first, last), seed)
    frames = numbers(BATCH * size * size * 3).view(BATCH, size, size, 3)
    x = (frames.float() / 255).double().permute(0, 3, 1, 2)
    noise = normal((BATCH, LATENT), seed + 1)
    mean, spread = vae.encode(x)
    posterior = torch.distributions.Normal(mean, std_dev(spread))
    prior = torch.distributions.Normal(torch.zeros_like(mean), torch.ones_like(mean))
    kl = torch.distributions.kl_divergence(posterior, prior).sum(1)
    floor = free_nats * LATENT
    print(f"{name}: kl {kl.tolist()}, floor {floor}")
    assert floor == 0 or kl.min() < floor < kl.max(), "one frame on either side of the floor"
    error = nn.functional.mse_loss(vae.reconstruct(mean + posterior.stddev * noise), x, reduction="sum")
    loss = error / BATCH + beta * kl.clamp_min(floor).mean()
    loss.backward()

    file = GoldenFile()
    file.input("noise", noise)
    file.value("mean", mean)
    file.value("std_dev", posterior.stddev)
    file.value("reconstruction", vae.reconstruct(mean).permute(0, 2, 3, 1).flatten()[::41])
    file.value("loss", loss[None])
    file.value("reconstruction_error", error[None] / BATCH)
    file.value("kl", kl.mean()[None])
    for index in range(4):
        file.layer(f"network.conv{index + 1}", vae.convolutions[index])
        file.layer(f"network.deconv{index + 1}", vae.deconvolutions[index])
    for part in ("mean", "spread", "decode"):
        file.layer(f"network.{part}", getattr(vae, part))
    file.write(HERE / f"{name}.safetensors")


write("vae-64", 64, (4, 2), (6, 2), lambda x: (0.5 * x).exp(), beta=1.5, free_nats=0.1, seed=1)
write("vae-96", 96, (6, 3), (9, 3), nn.functional.softplus, beta=4.0, free_nats=0.0, seed=2)
