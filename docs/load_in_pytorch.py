"""Loads a checkpoint of rl755 into plain PyTorch modules.

    python docs/load_in_pytorch.py RUN/checkpoints/model-001
    python docs/load_in_pytorch.py RUN/checkpoints/model-001 --reference FILE.safetensors

Needs the packages torch and safetensors. Import `load` to work with the model. docs/pytorch.md says how tensors are
named and laid out. A reference file holds inputs and the outputs that are expected, to 1e-4: `input/observations`
([batch, height, width, channel] in 0..1) and `value/mean` for encoders, `input/latents`, `input/actions` and
`value/hidden` for sequence models.
"""

import argparse
import json
import pathlib

import torch
from safetensors import safe_open
from torch import nn


def load_file(path):
    """The tensors in a safetensors file, by name."""
    with safe_open(path, framework="pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}


class Vae(nn.Module):
    """vae-64 and vae-96; `size` says which."""

    def __init__(self, size, latent, channels=(32, 64, 128, 256), colours=3):
        super().__init__()
        self.size = size
        a, b, c, d = channels
        first, last = {64: ((4, 2), (6, 2)), 96: ((6, 3), (9, 3))}[size]
        self.conv1, self.conv2 = nn.Conv2d(colours, a, *first), nn.Conv2d(a, b, 4, 2)
        self.conv3, self.conv4 = nn.Conv2d(b, c, 4, 2), nn.Conv2d(c, d, 4, 2)
        self.mean, self.spread = nn.Linear(4 * d, latent), nn.Linear(4 * d, latent)
        self.decode = nn.Linear(latent, 4 * d)
        self.deconv1, self.deconv2 = nn.ConvTranspose2d(4 * d, c, 5, 2), nn.ConvTranspose2d(c, b, 5, 2)
        self.deconv3 = nn.ConvTranspose2d(b, a, 6, 2)
        self.deconv4 = nn.ConvTranspose2d(a, colours, *last)

    def encode(self, frames):
        """Mean and standard deviation of the latents of frames [batch, height, width, channel] in 0..1."""
        x = frames.permute(0, 3, 1, 2)
        for conv in (self.conv1, self.conv2, self.conv3, self.conv4):
            x = torch.relu(conv(x))
        mean, spread = self.mean(x.flatten(1)), self.spread(x.flatten(1))
        return mean, (0.5 * spread).exp() if self.size == 64 else nn.functional.softplus(spread)

    def reconstruct(self, latents):
        x = self.decode(latents).unflatten(1, (-1, 1, 1))
        for deconv in (self.deconv1, self.deconv2, self.deconv3):
            x = torch.relu(deconv(x))
        return torch.sigmoid(self.deconv4(x)).permute(0, 2, 3, 1)

    def reference(self, inputs):
        return {"mean": self.encode(inputs["observations"])[0]}


class Frames(nn.Module):
    """vae, autoencoder and simclr: frames of any size. `convs` and `deconvs` are (from, to, kernel, stride) each, `heads`
    linear layers on features that are flattened with the channel last, `expanded` the height, width and channels that the
    decoder begins with. simclr has `hidden` and `projection` for training beside."""

    def __init__(self, convs, deconvs, features, heads, expanded=None, projections=(), spread="log_variance"):
        super().__init__()
        self.encoder, self.decoder, self.expanded, self.spread_is = nn.Module(), None, expanded, spread
        self.encoder.convs = nn.ModuleList(nn.Conv2d(*conv) for conv in convs)
        for name, width in heads:
            self.add_module(name, nn.Linear(features, width))
        for name, shape in projections:
            self.add_module(name, nn.Linear(*shape))
        if deconvs:
            self.decoder = nn.Module()
            self.decoder.expand = nn.Linear(heads[0][1], features)
            self.decoder.deconvs = nn.ModuleList(nn.ConvTranspose2d(*deconv) for deconv in deconvs)

    def encode(self, frames):
        """Mean and, of vae, standard deviation of the latents of frames [batch, height, width, channel] in 0..1."""
        x = frames.permute(0, 3, 1, 2)
        for conv in self.encoder.convs:
            x = torch.relu(conv(x))
        features = x.permute(0, 2, 3, 1).flatten(1)
        if not hasattr(self, "spread"):
            return self.latent(features), None
        spread = self.spread(features)
        deviation = (0.5 * spread).exp() if self.spread_is == "log_variance" else nn.functional.softplus(spread)
        return self.mean(features), deviation

    def reconstruct(self, latents):
        x = torch.relu(self.decoder.expand(latents)).unflatten(1, self.expanded).permute(0, 3, 1, 2)
        for deconv in self.decoder.deconvs[:-1]:
            x = torch.relu(deconv(x))
        return torch.sigmoid(self.decoder.deconvs[-1](x)).permute(0, 2, 3, 1)

    def reference(self, inputs):
        return {"mean": self.encode(inputs["observations"])[0]}


class Mlp(nn.Module):
    """mlp. `widths` are those of the observation and the hidden layers; `center` and `scale` are not trained."""

    def __init__(self, widths, latent, variational, normalize, spread="log_variance"):
        super().__init__()
        back = [latent, *reversed(widths[1:])]
        self.encoder = nn.ModuleList(nn.Linear(*pair) for pair in zip(widths, widths[1:]))
        self.mean, self.spread = nn.Linear(widths[-1], latent), None
        if variational:
            self.spread = nn.Linear(widths[-1], latent)
        self.decoder = nn.ModuleList(nn.Linear(*pair) for pair in zip(back, back[1:]))
        self.output = nn.Linear(back[-1], widths[0])
        self.center, self.scale = nn.Parameter(torch.zeros(widths[0])), nn.Parameter(torch.ones(widths[0]))
        self.normalize_by, self.spread_is = normalize, spread

    def normalize(self, x):
        if self.normalize_by == "standardize":
            return ((x - self.center) / self.scale).clamp(-10, 10)
        return x.sign() * x.abs().log1p() if self.normalize_by == "symlog" else x

    def encode(self, observations):
        """Mean and, of a variational one, standard deviation of the latents of observations [batch, width]."""
        x = self.normalize(observations)
        for layer in self.encoder:
            x = torch.relu(layer(x))
        if self.spread is None:
            return self.mean(x), None
        spread = self.spread(x)
        deviation = (0.5 * spread).exp() if self.spread_is == "log_variance" else nn.functional.softplus(spread)
        return self.mean(x), deviation

    def reconstruct(self, latents):
        x = latents
        for layer in self.decoder:
            x = torch.relu(layer(x))
        x = self.output(x)
        if self.normalize_by == "standardize":
            return x * self.scale + self.center
        return x.sign() * x.abs().expm1() if self.normalize_by == "symlog" else x

    def reference(self, inputs):
        return {"mean": self.encode(inputs["observations"])[0]}


class Recurrent(nn.Module):
    """mdn-rnn, and lstm with `mixtures` 0. The head gives the next latent, or for each of its dimensions logits,
    means and logarithms of standard deviations. `outcome` has the heads `reward` and `done`, where there are any."""

    def __init__(self, latent, action, hidden, mixtures, outcome=()):
        super().__init__()
        self.shape = (3, latent, mixtures) if mixtures else (latent,)
        self.lstm = nn.LSTM(latent + action, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 3 * latent * mixtures if mixtures else latent)
        self.outcome = nn.ModuleDict({name: nn.Linear(hidden, 1) for name in outcome})

    def forward(self, latents, actions):
        """Hidden states [batch, length, hidden] and the head's output [batch, length, 3, latent, mixtures]."""
        hidden, _ = self.lstm(torch.cat([latents, actions], 2))
        return hidden, self.head(hidden).unflatten(2, self.shape)

    def reference(self, inputs):
        return {"hidden": self(inputs["latents"], inputs["actions"])[0]}


class Block(nn.Module):
    """A layer of the transformer, with normalisation before each part."""

    def __init__(self, width, heads, wide):
        super().__init__()
        self.heads = heads
        self.attention_norm, self.feed_forward_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key, self.value, self.projection = (nn.Linear(width, width) for _ in range(4))
        self.expansion, self.contraction = nn.Linear(width, wide), nn.Linear(wide, width)

    def forward(self, x):
        normed = self.attention_norm(x)
        split = lambda layer: layer(normed).unflatten(2, (self.heads, -1)).transpose(1, 2)
        attended = nn.functional.scaled_dot_product_attention(
            split(self.query), split(self.key), split(self.value), is_causal=True
        )
        x = x + self.projection(attended.transpose(1, 2).flatten(2))
        hidden = self.feed_forward_norm(x)
        fed = self.contraction(nn.functional.gelu(self.expansion(hidden), approximate="tanh"))
        return hidden, x + fed


class Transformer(nn.Module):
    """transformer. `outputs` is the latent's width unless it has a mixture head."""

    def __init__(self, latent, action, length, width, layers, heads, wide, outputs=None):
        super().__init__()
        self.input, self.output = nn.Linear(latent + action, width), nn.Linear(width, outputs or latent)
        self.positions = nn.Parameter(torch.empty(length, width))
        self.blocks = nn.ModuleList(Block(width, heads, wide) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, latents, actions):
        """Hidden states [batch, length, width] and outputs [batch, length, outputs]."""
        x = self.input(torch.cat([latents, actions], 2)) + self.positions[: latents.shape[1]]
        for block in self.blocks:
            hidden, x = block(x)
        return hidden, self.output(self.norm(x))

    def reference(self, inputs):
        return {"hidden": self(inputs["latents"], inputs["actions"])[0]}


def to_pytorch(model, ours):
    """The state dictionary for the plain module `model` from tensors of ours: transposed weights of linear layers,
    gamma and beta, an LSTM's one bias, a prefix `network.`."""
    ours = {name.removeprefix("network."): tensor for name, tensor in ours.items()}
    state = {}
    for name, layer in model.named_modules():
        at = f"{name}." if name else ""
        if isinstance(layer, nn.Linear):
            state[f"{at}weight"], state[f"{at}bias"] = ours[f"{at}weight"].T, ours[f"{at}bias"]
        elif isinstance(layer, (nn.Conv2d, nn.ConvTranspose2d)):
            state[f"{at}weight"], state[f"{at}bias"] = ours[f"{at}weight"], ours[f"{at}bias"]
        elif isinstance(layer, nn.LayerNorm):
            state[f"{at}weight"], state[f"{at}bias"] = ours[f"{at}gamma"], ours[f"{at}beta"]
        elif isinstance(layer, nn.LSTM):
            state[f"{at}weight_ih_l0"] = ours[f"{at}input_weight"].T
            state[f"{at}weight_hh_l0"] = ours[f"{at}hidden_weight"].T
            state[f"{at}bias_ih_l0"] = ours[f"{at}bias"]
            state[f"{at}bias_hh_l0"] = torch.zeros_like(ours[f"{at}bias"])
    for name, _ in model.named_parameters():
        if name not in state:
            state[name] = ours[name]
    return {name: tensor.contiguous() for name, tensor in state.items()}


def frames_module(settings, ours, space):
    """A module of the layers that these tensors are of, for frames of `space`; strides are settings."""

    def shapes(layers):
        """The shapes of the weights of layers `LAYERS.0`, `LAYERS.1`, …"""
        found = sum(name.startswith(f"{layers}.") and name.endswith(".weight") for name in ours)
        return [tuple(ours[f"{layers}.{index}.weight"].shape) for index in range(found)]

    convs, deconvs = shapes("encoder.convs"), shapes("decoder.deconvs")
    strides = settings["strides"] * len(convs) if len(settings["strides"]) == 1 else settings["strides"][: len(convs)]
    convs = [(a, b, (h, w), stride) for (b, a, h, w), stride in zip(convs, strides)]
    deconvs = [(a, b, (h, w), stride) for (a, b, h, w), stride in zip(deconvs, reversed(strides))]
    heads = [name for name in ("latent", "mean", "spread") if f"{name}.weight" in ours]
    features, latent = ours[f"{heads[0]}.weight"].shape
    size = [space["height"], space["width"]]
    for _, _, kernel, stride in convs:
        size = [(side - k) // stride + 1 for side, k in zip(size, kernel)]
    projections = [(name, ours[f"{name}.weight"].shape) for name in ("hidden", "projection") if f"{name}.weight" in ours]
    return Frames(
        convs,
        deconvs,
        features,
        [(name, latent) for name in heads],
        (*size, convs[-1][1]),
        projections,
        settings.get("std_dev", "log_variance"),
    )


def plain_module(config, ours):
    """A module of the architecture that the checkpoint's config.json describes."""
    name, settings = config["model"], config["model_config"]
    if name in ("vae-64", "vae-96"):
        convs = [ours[f"network.conv{index}.weight"].shape for index in range(1, 5)]
        size, latent = int(name.removeprefix("vae-")), ours["network.mean.weight"].shape[1]
        return Vae(size, latent, [shape[0] for shape in convs], convs[0][1])
    if name in ("vae", "autoencoder", "simclr"):
        return frames_module(settings, ours, config["input_space"])
    if name == "mlp":
        hidden = [ours[f"encoder.{index}.weight"].shape[1] for index in range(len(settings["hidden"]))]
        widths, variational = [len(ours["center"]), *hidden], "spread.weight" in ours
        latent = ours["mean.weight"].shape[1]
        return Mlp(widths, latent, variational, settings["normalize"], settings["std_dev"])
    if name in ("mdn-rnn", "lstm"):
        sizes, mixtures = config["sizes"], settings.get("mixtures", 0)
        outcome = [head for head in ("reward", "done") if f"outcome.{head}.weight" in ours]
        return Recurrent(sizes["latent"], sizes["action"], settings["hidden_size"], mixtures, outcome)
    if name == "transformer":
        sizes, (length, width) = config["sizes"], ours["positions"].shape
        shape = (length, width, settings["layers"], settings["heads"], settings["feed_forward_size"])
        return Transformer(sizes["latent"], sizes["action"], *shape, ours["output.weight"].shape[1])
    if not ours:
        raise SystemExit(f"{name} has no weights")
    raise SystemExit(f"no plain module for {name} here: write one with the names in docs/pytorch.md, and use to_pytorch")


def load(checkpoint):
    """The model in the directory of a checkpoint, as a plain module."""
    checkpoint = pathlib.Path(checkpoint)
    config = json.loads((checkpoint / "config.json").read_text())
    ours = load_file(checkpoint / "model.safetensors")
    model = plain_module(config, ours)
    model.load_state_dict(to_pytorch(model, ours))
    return model.eval()


@torch.no_grad()
def check(model, reference):
    """Compares the model's outputs with those in a file; says by how much they differ at most."""
    tensors = load_file(reference)
    inputs = {name.removeprefix("input/"): tensor for name, tensor in tensors.items() if name.startswith("input/")}
    for name, found in model.reference(inputs).items():
        expected = tensors[f"value/{name}"]
        difference = (found - expected).abs().max().item()
        print(f"{name}: differs by {difference:.1e} at most")
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint", help="a directory with model.safetensors and config.json")
    parser.add_argument("--reference", help="a safetensors file with inputs and outputs")
    arguments = parser.parse_args()
    loaded = load(arguments.checkpoint)
    print(loaded)
    print(f"{sum(parameter.numel() for parameter in loaded.parameters())} parameters")
    if arguments.reference:
        check(loaded, arguments.reference)
