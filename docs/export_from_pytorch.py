"""Turns weights of PyTorch into a file that rl755 starts from, with --init-weights.

    python docs/export_from_pytorch.py WEIGHTS.pt OURS.safetensors --model mdn-rnn
    rl755-train-sequence --model mdn-rnn --init-weights OURS.safetensors …

WEIGHTS.pt is a state dictionary saved by torch.save, of modules named as in load_in_pytorch.py, or of a safetensors
file. `--rename OLD=NEW`, as often as needed, renames beginnings of names. The layers of nn.TransformerEncoderLayer
(`self_attn.in_proj_weight`, `norm1`, `linear1`, …) are understood, too. Import `from_pytorch` to convert in memory.
"""

import argparse
import re

import torch
from load_in_pytorch import load_file
from safetensors.numpy import save_file

ENCODER_LAYER = {
    "self_attn.out_proj": "projection",
    "norm1": "attention_norm",
    "norm2": "feed_forward_norm",
    "linear1": "expansion",
    "linear2": "contraction",
}


def from_pytorch(model, state):
    """Our tensors, by our names, of the model called `model` from a state dictionary of PyTorch."""
    prefix = "network." if model in ("vae-64", "vae-96") else ""
    ours = {}
    for name, tensor in state.items():
        for theirs, own in ENCODER_LAYER.items():
            name = re.sub(rf"(^|\.){re.escape(theirs)}\.", rf"\g<1>{own}.", name)
        layer, _, kind = name.rpartition(".")
        at = f"{prefix}{layer}." if layer else prefix
        if in_projection := re.fullmatch(r"(.*?)self_attn\.in_proj_(weight|bias)", name):
            # Query, key and value one below another.
            at, kind = prefix + in_projection[1], in_projection[2]
            for part, rows in zip(("query", "key", "value"), tensor.chunk(3)):
                ours[f"{at}{part}.{kind}"] = rows.T if kind == "weight" else rows
        elif kind in ("weight_ih_l0", "weight_hh_l0"):
            ours[at + ("input_weight" if kind == "weight_ih_l0" else "hidden_weight")] = tensor.T
        elif kind in ("bias_ih_l0", "bias_hh_l0"):
            # The two only ever add up.
            ours[f"{at}bias"] = ours.get(f"{at}bias", 0) + tensor
        elif layer.endswith("norm"):
            ours[at + {"weight": "gamma", "bias": "beta"}[kind]] = tensor
        elif kind == "weight" and tensor.dim() == 2:
            ours[at + kind] = tensor.T
        else:
            # Convolutions, biases, positions.
            ours[at + kind] = tensor
    return {name: tensor.detach().float().contiguous() for name, tensor in ours.items()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weights", help="a state dictionary, .pt or .safetensors")
    parser.add_argument("out", help="the safetensors file to write")
    parser.add_argument("--model", required=True, help="an encoder, mdn-rnn, lstm or transformer")
    parser.add_argument("--rename", action="append", default=[], metavar="OLD=NEW")
    arguments = parser.parse_args()
    if arguments.weights.endswith(".safetensors"):
        theirs = load_file(arguments.weights)
    else:
        theirs = torch.load(arguments.weights, map_location="cpu", weights_only=True)
    for old, new in (pair.split("=") for pair in arguments.rename):
        theirs = {new + name.removeprefix(old) if name.startswith(old) else name: t for name, t in theirs.items()}
    tensors = from_pytorch(arguments.model, theirs)
    save_file({name: tensor.numpy() for name, tensor in tensors.items()}, arguments.out)
    print(f"{arguments.out}: {sum(tensor.numel() for tensor in tensors.values())} parameters, {', '.join(sorted(tensors))}")
