"""Golden files of PyTorch's layers for Rust tests: safetensors with weights and their gradients under the names and
in the layout that ours have (docs/pytorch.md), and what goes in and comes out.

All is computed with 64-bit floats from numbers that 32-bit floats can hold.
"""

import json
import math
import struct

import torch
from torch import nn


def randomise(module, seed):
    """Gives every parameter normal numbers, of a size that keeps signals alive; and 64 bits."""
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in module.named_parameters():
        shape = parameter.shape
        fan_in = math.prod(shape[1:]) if len(shape) > 1 else 100
        numbers = torch.randn(shape, generator=generator) * 2 / fan_in**0.5
        # Scales of normalisation are around 1.
        parameter.data = numbers + 1 if len(shape) == 1 and "norm" in name and "weight" in name else numbers
    return module.double()


def normal(shape, seed):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).double()


def numbers(count):
    """Numbers from 0 to 255 that any language can make."""
    index = torch.arange(count)
    return (31 * index * index + 7 * index + index // 97) % 256


class GoldenFile:
    """What is written, by name."""

    def __init__(self):
        self.tensors = {}

    def input(self, name, tensor):
        self.tensors[f"input/{name}"] = tensor

    def value(self, name, tensor):
        self.tensors[f"value/{name}"] = tensor.detach()

    def parameter(self, name, parameter, layout=lambda x: x):
        """A parameter and its gradient, each in the layout that `layout` gives it."""
        self.tensors[f"weight/{name}"] = layout(parameter.detach())
        self.tensors[f"gradient/{name}"] = layout(parameter.grad)

    def layer(self, name, layer):
        """The parameters of a layer."""
        if isinstance(layer, nn.LayerNorm):
            self.parameter(f"{name}.gamma", layer.weight)
            self.parameter(f"{name}.beta", layer.bias)
        elif isinstance(layer, nn.LSTM):
            self.parameter(f"{name}.input_weight", layer.weight_ih_l0, lambda x: x.T)
            self.parameter(f"{name}.hidden_weight", layer.weight_hh_l0, lambda x: x.T)
            # PyTorch's two biases add up, and have the same gradient.
            self.tensors[f"weight/{name}.bias"] = (layer.bias_ih_l0 + layer.bias_hh_l0).detach()
            self.tensors[f"gradient/{name}.bias"] = layer.bias_ih_l0.grad
        else:
            layout = (lambda x: x.T) if isinstance(layer, nn.Linear) else (lambda x: x)
            self.parameter(f"{name}.weight", layer.weight, layout)
            self.parameter(f"{name}.bias", layer.bias)

    def write(self, path):
        header, blobs, offset = {"__metadata__": {"torch": torch.__version__.split("+")[0]}}, [], 0
        for name, tensor in sorted(self.tensors.items()):
            blob = tensor.float().contiguous().numpy().tobytes()
            header[name] = {
                "dtype": "F32",
                "shape": list(tensor.shape),
                "data_offsets": [offset, offset + len(blob)],
            }
            blobs.append(blob)
            offset += len(blob)
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        with open(path, "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))
        print(f"{path}: {offset + len(text) + 8} bytes")
