"""PyTorch training and encoding on the CPU, for `cargo xtask bench models`.

Usage: python peers.py train-vae-64|encode-1|encode-64|train-transformer|train-mdn-rnn THREADS LAYOUT

LAYOUT is `contiguous` or `channels-last`, PyTorch's two memory layouts of images. Once
`{"ready": true}` is printed, each line of stdin is a number of seconds, answered by a line with the
frames of that time.
"""

import sys
import time

import torch
from torch import nn

# As in tests/examples/model_speed: frames or sequences in a step, and sizes of a step.
FRAMES, SEQUENCES, LENGTH, LATENT, ACTION, MIXTURES = 64, 32, 32, 32, 3, 5


class Vae(nn.Module):
    """The VAE of World Models for 64x64 frames."""

    def __init__(self):
        super().__init__()
        down = lambda i, o: nn.Sequential(nn.Conv2d(i, o, 4, 2), nn.ReLU())
        up = lambda i, o, k: nn.ConvTranspose2d(i, o, k, 2)
        self.encoder = nn.Sequential(down(3, 32), down(32, 64), down(64, 128), down(128, 256))
        self.mean, self.log_variance = nn.Linear(1024, LATENT), nn.Linear(1024, LATENT)
        self.decode = nn.Linear(LATENT, 1024)
        self.decoder = nn.Sequential(
            up(1024, 128, 5), nn.ReLU(), up(128, 64, 5), nn.ReLU(), up(64, 32, 6), nn.ReLU(), up(32, 3, 6)
        )

    def posterior(self, x):
        x = self.encoder(x).flatten(1)
        return self.mean(x), self.log_variance(x)

    def loss(self, x):
        mean, log_variance = self.posterior(x)
        z = mean + (0.5 * log_variance).exp() * torch.randn_like(mean)
        y = torch.sigmoid(self.decoder(self.decode(z)[:, :, None, None]))
        kl = 0.5 * (mean**2 + log_variance.exp() - log_variance - 1).sum(1)
        return ((y - x) ** 2).sum((1, 2, 3)).mean() + kl.clamp_min(0.5 * LATENT).mean()


class Transformer(nn.Module):
    """Normalisation before each part and dropout in the same places as in rl755's, which leaves out
    the one that PyTorch has inside the feed-forward network and has one on the embedding."""

    def __init__(self, layers=6, width=256, heads=4):
        super().__init__()
        self.input, self.output = nn.Linear(LATENT + ACTION, width), nn.Linear(width, LATENT)
        self.positions = nn.Parameter(torch.randn(LENGTH, width) * 0.02)
        gelu = lambda x: nn.functional.gelu(x, approximate="tanh")
        layer = nn.TransformerEncoderLayer(
            width, heads, 4 * width, 0.1, gelu, batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(
            layer, layers, nn.LayerNorm(width), enable_nested_tensor=False
        )
        for layer in self.layers.layers:
            layer.dropout = nn.Identity()
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(LENGTH))

    def loss(self, x, y):
        placed = nn.functional.dropout(self.input(x) + self.positions, 0.1)
        predicted = self.output(self.layers(placed, mask=self.mask, is_causal=True))
        return ((predicted - y) ** 2).mean()


class MdnRnn(nn.Module):
    def __init__(self, hidden=256):
        super().__init__()
        self.lstm = nn.LSTM(LATENT + ACTION, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 3 * LATENT * MIXTURES)

    def loss(self, x, y):
        raw = self.head(self.lstm(x)[0]).view(*y.shape[:2], 3, LATENT, MIXTURES)
        log_weights, means, log_std_devs = raw.unbind(2)
        normal = torch.distributions.Normal(means, log_std_devs.exp(), validate_args=False)
        log_densities = log_weights.log_softmax(-1) + normal.log_prob(y[..., None])
        return -log_densities.logsumexp(-1).mean()


def training(model, frames, *batch, max_norm=None):
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)

    def work():
        loss = model.loss(*batch)
        optimizer.zero_grad()
        loss.backward()
        if max_norm is not None:
            nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        optimizer.step()
        loss.item()
        return frames

    return work


def encoding(model, frames):
    model.eval()

    def work():
        with torch.no_grad():
            mean, log_variance = model.posterior(frames)
            (0.5 * log_variance).exp()
        return len(frames)

    return work


def job(name, layout):
    layout = {"contiguous": torch.contiguous_format, "channels-last": torch.channels_last}[layout]
    if name == "train-vae-64" or name.startswith("encode-"):
        model = Vae().to(memory_format=layout)
        count = FRAMES if name == "train-vae-64" else int(name.removeprefix("encode-"))
        frames = torch.rand(count, 3, 64, 64).to(memory_format=layout)
        if name == "train-vae-64":
            return training(model, count, frames)
        return encoding(model, frames)
    x = torch.randn(SEQUENCES, LENGTH, LATENT + ACTION)
    y = torch.randn(SEQUENCES, LENGTH, LATENT)
    if name == "train-transformer":
        return training(Transformer(), SEQUENCES * LENGTH, x, y)
    if name == "train-mdn-rnn":
        return training(MdnRnn(), SEQUENCES * LENGTH, x, y, max_norm=1.0)
    sys.exit(__doc__)


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    name, threads, layout = sys.argv[1:]
    torch.set_num_threads(int(threads))
    torch.manual_seed(0)
    work = job(name, layout)
    print('{"ready": true}', flush=True)
    for line in sys.stdin:
        seconds, steps, start = float(line), 0, time.perf_counter()
        while time.perf_counter() - start < seconds:
            steps += work()
        elapsed = time.perf_counter() - start
        print(f'{{"steps": {steps}, "seconds": {elapsed}, "resets": 0}}', flush=True)


if __name__ == "__main__":
    main()
