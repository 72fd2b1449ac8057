"""What PyTorch's layers give for small sequence models, for tests/sequence/parity.rs (2.13.0 wrote the committed
files).

Inputs are latents and actions side by side. Predictions are those that sessions give: of a mixture, the mean of its
heaviest normal distribution.
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


def mixture(raw, targets):
    """The negative log-likelihood, and the mean of the heaviest normal distribution."""
    logits, means, log_std_devs = raw.unflatten(2, (3, LATENT, MIXTURES)).unbind(2)
    density = MixtureSameFamily(Categorical(logits=logits), Normal(means, log_std_devs.exp()))
    heaviest = logits.argmax(-1, keepdim=True)
    return -density.log_prob(targets).mean(), means.gather(-1, heaviest)[..., 0]


class Recurrent(nn.Module):
    def __init__(self, outputs):
        super().__init__()
        self.lstm = nn.LSTM(LATENT + ACTION, HIDDEN, batch_first=True)
        self.head = nn.Linear(HIDDEN, outputs)
        self.reward, self.done = nn.Linear(HIDDEN, 1), nn.Linear(HIDDEN, 1)


def recurrent(name, mixtures, outcomes, seed):
    """An LSTM with a mixture or a value for each latent number; `outcomes`: with rewards and ends, too."""
    model = randomise(Recurrent(3 * LATENT * MIXTURES if mixtures else LATENT), seed)
    file, inputs, targets = begin(seed + 1)
    hidden, _ = model.lstm(inputs)
    raw = model.head(hidden)
    if mixtures:
        loss, predictions = mixture(raw, targets)
    else:
        loss, predictions = nn.functional.mse_loss(raw, targets), raw
    if outcomes:
        file.input("rewards", normal((BATCH, LENGTH), seed + 4))
        file.input("terminals", (normal((BATCH, LENGTH), seed + 5) > 0.8).double())
        rewards, ends = model.reward(hidden)[..., 0], model.done(hidden)[..., 0]
        loss = loss + nn.functional.mse_loss(rewards, file.tensors["input/rewards"])
        weight = torch.tensor(10.0, dtype=torch.float64)
        loss = loss + nn.functional.binary_cross_entropy_with_logits(
            ends, file.tensors["input/terminals"], pos_weight=weight
        )
        file.value("rewards", rewards)
        # The weight makes the odds of an end ten times what they are.
        odds = ends.exp() / 10
        file.value("dones", odds / (1 + odds))
    loss.backward()
    file.layer("lstm", model.lstm)
    file.layer("head", model.head)
    if outcomes:
        file.layer("outcome.reward", model.reward)
        file.layer("outcome.done", model.done)
    finish(file, name, loss, hidden, predictions)


class Transformer(nn.Module):
    """With normalisation before each part."""

    def __init__(self, outputs, length=LENGTH, layers=2, heads=2, wide=24):
        super().__init__()
        self.input, self.output = nn.Linear(LATENT + ACTION, HIDDEN), nn.Linear(HIDDEN, outputs)
        self.positions = nn.Parameter(torch.empty(length, HIDDEN))
        gelu = lambda x: nn.functional.gelu(x, approximate="tanh")
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(HIDDEN, heads, wide, 0.0, gelu, batch_first=True, norm_first=True)
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(HIDDEN)

    def features(self, inputs):
        """What the last feed-forward network takes in, and what the last linear layer does."""
        kept, length = [], inputs.shape[1]
        hook = self.layers[-1].norm2.register_forward_hook(lambda _module, _input, output: kept.append(output))
        mask = nn.Transformer.generate_square_subsequent_mask(length, dtype=torch.float64)
        x = self.input(inputs) + self.positions[:length]
        for layer in self.layers:
            x = layer(x, src_mask=mask, is_causal=True)
        hook.remove()
        return kept[0], self.norm(x)

    def forward(self, inputs):
        """What the last feed-forward network takes in, and the output."""
        hidden, features = self.features(inputs)
        return hidden, self.output(features)

    def put(self, file, prefix=""):
        file.layer(f"{prefix}input", self.input)
        file.parameter(f"{prefix}positions", self.positions)
        for index, layer in enumerate(self.layers):
            name, attention = f"{prefix}blocks.{index}", layer.self_attn
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
        file.layer(f"{prefix}norm", self.norm)
        file.layer(f"{prefix}output", self.output)


def transformer(name, mixtures, seed):
    model = randomise(Transformer(3 * LATENT * MIXTURES if mixtures else LATENT), seed)
    file, inputs, targets = begin(seed + 1)
    hidden, raw = model(inputs)
    if mixtures:
        loss, predictions = mixture(raw, targets)
    else:
        loss, predictions = nn.functional.mse_loss(raw, targets), raw
    loss.backward()
    model.put(file)
    finish(file, name, loss, hidden, predictions)


class Retrieval(nn.Module):
    """A transformer that sees two steps, forgets one at a time, and retrieves windows of two, a step apart."""

    CONTEXT, WINDOW, TOP_K, KEY = 2, 2, 2, 5

    def __init__(self):
        super().__init__()
        encoding = lambda size: nn.Sequential(
            nn.Linear(self.WINDOW * (LATENT + ACTION), HIDDEN), nn.GELU("tanh"), nn.Linear(HIDDEN, size)
        )
        self.transformer = Transformer(LATENT, self.CONTEXT)
        self.query, self.key, self.value = nn.Linear(HIDDEN, self.KEY), encoding(self.KEY), encoding(HIDDEN)
        self.join = nn.Sequential(nn.Linear(2 * HIDDEN, 24), nn.GELU("tanh"), nn.Linear(24, HIDDEN))

    def retrieve(self, history, hidden):
        """The weighted values of the windows of `history`, [batch, steps, input], with the highest scores."""
        if history.shape[1] < self.WINDOW:
            return torch.zeros_like(hidden)
        windows = history.unfold(1, self.WINDOW, 1).transpose(2, 3).flatten(2)
        scores = (self.key(windows) @ self.query(hidden)[..., None])[..., 0] / self.KEY**0.5
        scores, best = scores.topk(min(self.TOP_K, scores.shape[1]), 1)
        values = self.value(windows).gather(1, best[..., None].expand(-1, -1, HIDDEN))
        return (scores.softmax(1)[..., None] * values).sum(1)

    def forward(self, inputs):
        """The hidden state after each step, and the predictions."""
        states = []
        for step in range(inputs.shape[1]):
            first = max(0, step + 1 - self.CONTEXT)
            hidden, features = (x[:, -1] for x in self.transformer.features(inputs[:, first : step + 1]))
            retrieved = self.retrieve(inputs[:, :first], hidden)
            states.append(features + self.join(torch.cat([features, retrieved], 1)))
        states = torch.stack(states, 1)
        return states, self.transformer.output(states)


def retrieval(seed):
    model = randomise(Retrieval(), seed)
    file, inputs, targets = begin(seed + 1)
    hidden, predictions = model(inputs)
    loss = nn.functional.mse_loss(predictions, targets)
    loss.backward()
    model.transformer.put(file, "transformer.")
    file.layer("query", model.query)
    for name, encoding in (("key", model.key), ("value", model.value)):
        file.layer(f"{name}.first", encoding[0])
        file.layer(f"{name}.second", encoding[2])
    file.layer("expansion", model.join[0])
    file.layer("contraction", model.join[2])
    finish(file, "retrieval", loss, hidden, predictions)


recurrent("mdn-rnn", mixtures=True, outcomes=False, seed=11)
recurrent("mdn-rnn-outcomes", mixtures=True, outcomes=True, seed=41)
recurrent("lstm", mixtures=False, outcomes=False, seed=51)
transformer("transformer", mixtures=False, seed=21)
transformer("transformer-mixture", mixtures=True, seed=61)
retrieval(seed=81)
