"""What PyTorch's layers give for small sequence models, for tests/sequence/parity.rs (2.13.0 wrote the committed
files).

Inputs are latents and actions side by side. Predictions are those that sessions give: of the MDN-RNN, the mean of the
heaviest mixture.
"""

import sys
from pathlib import Path

import torch
from torch import nn
from torch.distributions import Categorical, MixtureSameFamily, Normal

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "rl755-nn/tests/pytorch"))
from golden_file import GoldenFile, normal, randomise

BATCH, LENGTH, LATENT, ACTION, HIDDEN, MIXTURES = 3, 6, 4, 2, 16, 3


def begin(seed):
    """A file with a batch."""
    file = GoldenFile()
    file.input("latents", normal((BATCH, LENGTH, LATENT), seed))
    file.input("actions", normal((BATCH, LENGTH, ACTION), seed + 1))
    file.input("targets", normal((BATCH, LENGTH, LATENT), seed + 2))
    latents, actions, targets = (file.tensors[f"input/{n}"] for n in ("latents", "actions", "targets"))
    return file, torch.cat([latents, actions], 2), targets


def finish(file, name, loss, hidden, predictions):
    file.value("loss", loss[None])
    file.value("hidden", hidden)
    file.value("predictions", predictions)
    file.write(HERE / f"{name}.safetensors")


def mdn_rnn():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(LATENT + ACTION, HIDDEN, batch_first=True)
            self.head = nn.Linear(HIDDEN, 3 * LATENT * MIXTURES)

    model = randomise(Model(), 11)
    file, inputs, targets = begin(12)
    hidden, _ = model.lstm(inputs)
    logits, means, log_std_devs = model.head(hidden).unflatten(2, (3, LATENT, MIXTURES)).unbind(2)
    mixture = MixtureSameFamily(Categorical(logits=logits), Normal(means, log_std_devs.exp()))
    loss = -mixture.log_prob(targets).mean()
    loss.backward()
    file.layer("lstm", model.lstm)
    file.layer("head", model.head)
    heaviest = logits.argmax(-1, keepdim=True)
    finish(file, "mdn-rnn", loss, hidden, means.gather(-1, heaviest)[..., 0])


class Transformer(nn.Module):
    """With normalisation before each part."""

    def __init__(self, outputs, layers=2, heads=2, wide=24):
        super().__init__()
        self.input, self.output = nn.Linear(LATENT + ACTION, HIDDEN), nn.Linear(HIDDEN, outputs)
        self.positions = nn.Parameter(torch.empty(LENGTH, HIDDEN))
        gelu = lambda x: nn.functional.gelu(x, approximate="tanh")
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(HIDDEN, heads, wide, 0.0, gelu, batch_first=True, norm_first=True)
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(HIDDEN)

    def forward(self, inputs):
        """What the last feed-forward network takes in, and the output."""
        kept = []
        hook = self.layers[-1].norm2.register_forward_hook(lambda _module, _input, output: kept.append(output))
        mask = nn.Transformer.generate_square_subsequent_mask(LENGTH, dtype=torch.float64)
        x = self.input(inputs) + self.positions
        for layer in self.layers:
            x = layer(x, src_mask=mask, is_causal=True)
        hook.remove()
        return kept[0], self.output(self.norm(x))

    def put(self, file):
        file.layer("input", self.input)
        file.parameter("positions", self.positions)
        for index, layer in enumerate(self.layers):
            name, attention = f"blocks.{index}", layer.self_attn
            # One matrix in PyTorch, three in ours.
            for part, part_name in enumerate(("query", "key", "value")):
                rows = lambda x, part=part: x[part * HIDDEN :][:HIDDEN].t()
                file.parameter(f"{name}.{part_name}.weight", attention.in_proj_weight, rows)
                file.parameter(f"{name}.{part_name}.bias", attention.in_proj_bias, rows)
            file.layer(f"{name}.projection", attention.out_proj)
            file.layer(f"{name}.attention_norm", layer.norm1)
            file.layer(f"{name}.feed_forward_norm", layer.norm2)
            file.layer(f"{name}.expansion", layer.linear1)
            file.layer(f"{name}.contraction", layer.linear2)
        file.layer("norm", self.norm)
        file.layer("output", self.output)


def transformer():
    model = randomise(Transformer(LATENT), 21)
    file, inputs, targets = begin(22)
    hidden, predictions = model(inputs)
    loss = nn.functional.mse_loss(predictions, targets)
    loss.backward()
    model.put(file)
    finish(file, "transformer", loss, hidden, predictions)


mdn_rnn()
transformer()
