"""What PyTorch's layers give for a small infilling U-Net and its discriminator, for src/infilling/parity.rs (2.13.0
wrote the committed file).

Our layers over several steps are linear in them side by side; here they are convolutions.
"""

import sys
from pathlib import Path

import torch
from torch import nn
from torch.func import functional_call
from torch.nn.functional import gelu, softplus

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "rl755-nn/tests/pytorch"))
from golden_file import GoldenFile, normal, randomise

# Lengths that do not halve evenly.
BATCH, LENGTH, LATENT, ACTION, CHANNELS, DEPTH, NOISE = 3, 7, 3, 2, 3, 2, 2
GAN_WEIGHT, MODE_SEEKING_WEIGHT = 0.5, 0.1


def over_steps(layer, x):
    """A convolution of `x`, [batch, length, channels]."""
    return layer(x.transpose(1, 2)).transpose(1, 2)


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.LayerNorm(channels)
        self.first = nn.Conv1d(channels, channels, 3, padding=1)
        self.second = nn.Conv1d(channels, channels, 3, padding=1)

    def forward(self, x):
        inner = gelu(over_steps(self.first, self.norm(x)), approximate="tanh")
        return x + over_steps(self.second, inner)


class Double(nn.Module):
    """A transposed convolution with a bias for each of its two steps."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.convolution = nn.ConvTranspose1d(inputs, outputs, 2, stride=2, bias=False)
        self.bias = nn.Parameter(torch.empty(2, outputs))

    def forward(self, x, length):
        return (over_steps(self.convolution, x) + self.bias.repeat(x.shape[1], 1))[:, :length]


class UNet(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        width = [CHANNELS << level for level in range(DEPTH + 1)]
        below = list(zip(width, width[1:]))
        self.input = nn.Conv1d(inputs, CHANNELS, 3, padding=1)
        self.down_blocks = nn.ModuleList(Block(w) for w in width)
        self.downs = nn.ModuleList(nn.Conv1d(w, b, 2, stride=2) for w, b in below)
        self.ups = nn.ModuleList(Double(b, w) for w, b in below)
        self.merges = nn.ModuleList(nn.Linear(2 * w, w) for w, _ in below)
        self.up_blocks = nn.ModuleList(Block(w) for w, _ in below)
        self.norm = nn.LayerNorm(CHANNELS)
        self.output = nn.Linear(CHANNELS, outputs)

    def forward(self, x):
        """Features and outputs."""
        x, passed = over_steps(self.input, x), []
        for block, down in zip(self.down_blocks, self.downs):
            passed.append(block(x))
            odd = passed[-1].shape[1] % 2
            x = over_steps(down, nn.functional.pad(passed[-1], (0, 0, 0, odd)))
        x = self.down_blocks[-1](x)
        for up, merge, block, level in reversed(list(zip(self.ups, self.merges, self.up_blocks, passed))):
            x = block(merge(torch.cat([up(x, level.shape[1]), level], 2)))
        features = self.norm(x)
        return features, self.output(features)

    def put(self, file, prefix):
        for name, layer in self.named_modules():
            name = f"{prefix}.{name}"
            if isinstance(layer, nn.Conv1d):
                # [out, in, steps] to [steps · in, out].
                file.parameter(f"{name}.weight", layer.weight, lambda x: x.permute(2, 1, 0).flatten(0, 1))
                file.parameter(f"{name}.bias", layer.bias)
            elif isinstance(layer, Double):
                # [in, out, steps] to [in, steps · out].
                weight = layer.convolution.weight
                file.parameter(f"{name}.weight", weight, lambda x: x.permute(0, 2, 1).flatten(1))
                file.parameter(f"{name}.bias", layer.bias, lambda x: x.flatten())
            elif isinstance(layer, (nn.Linear, nn.LayerNorm)):
                file.layer(name, layer)


generator = randomise(UNet(LATENT + ACTION + 2 + NOISE, LATENT), 71)
discriminator = randomise(UNet(LATENT + ACTION + 2, 1), 72)
file = GoldenFile()
latents, actions = normal((BATCH, LENGTH, LATENT), 73), normal((BATCH, LENGTH, ACTION), 74)
noises = [normal((BATCH, LENGTH, NOISE), seed) for seed in (75, 76)]
# The last latent; the same, with nothing told of the first two; spans.
known = torch.tensor([[1, 1, 1, 1, 1, 1, 0], [0, 0, 1, 1, 1, 1, 0], [1, 0, 0, 1, 1, 0, 1]])[..., None].double()
asked = torch.tensor([[0, 0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0, 1], [0, 1, 1, 0, 0, 1, 0]])[..., None].double()
for name, tensor in [("latents", latents), ("actions", actions), ("known", known), ("asked", asked)]:
    file.input(name, tensor)
file.input("noise", noises[0])
file.input("other_noise", noises[1])

told = [actions * (known + asked), known, asked]
(features, filled), (_, filled_again) = (generator(torch.cat([latents * known, *told, n], 2)) for n in noises)


def masked_mean(loss):
    """Over what is asked for in each sequence, then over sequences."""
    return ((loss.mean(2, keepdim=True) * asked).sum(1) / asked.sum(1)).mean()


def score(parameters, masked):
    sequence = torch.cat([latents * known + masked * asked, *told], 2)
    return functional_call(discriminator, parameters, sequence)[1]


own = dict(discriminator.named_parameters())
fixed = {name: parameter.detach() for name, parameter in own.items()}
apart = (filled - filled_again).abs().mean(2, keepdim=True)
losses = {
    "latent_loss": masked_mean((filled - latents) ** 2),
    "generator_loss": masked_mean(softplus(-score(fixed, filled))),
    "discriminator_loss": masked_mean(softplus(-score(own, latents)) + softplus(score(own, filled.detach()))),
    "mode_seeking_loss": masked_mean((noises[0] - noises[1]).abs().mean(2, keepdim=True) / (apart + 0.1)),
}
fooling = losses["generator_loss"] + MODE_SEEKING_WEIGHT * losses["mode_seeking_loss"]
total = losses["latent_loss"] + GAN_WEIGHT * fooling + losses["discriminator_loss"]
total.backward()
generator.put(file, "generator")
discriminator.put(file, "discriminator")
for name, loss in losses.items():
    file.value(name, loss[None])
file.value("loss", total[None])
file.value("features", features)
file.value("filled", filled)
file.write(HERE / "infilling.safetensors")
