"""Takes golden files of our models through docs/load_in_pytorch.py and docs/export_from_pytorch.py: outputs must be those
in the files, and what comes back the tensors that went in."""

import sys
import tempfile
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "docs"), str(ROOT / "crates/rl755-nn/tests/pytorch")]
from export_from_pytorch import from_pytorch
from golden_file import numbers
from load_in_pytorch import Block, check, load_file, plain_module, to_pytorch
from safetensors.numpy import save_file


def weights(golden):
    tensors = load_file(golden)
    return {name.removeprefix("weight/"): t for name, t in tensors.items() if name.startswith("weight/")}


def there_and_back(config, golden):
    """The plain module with the golden file's weights."""
    name, ours = config["model"], weights(golden)
    model = plain_module(config, ours)
    model.load_state_dict(to_pytorch(model, ours))
    back = from_pytorch(name, model.state_dict())
    assert back.keys() == ours.keys(), back.keys() ^ ours.keys()
    assert all(torch.equal(back[key], ours[key]) for key in ours)
    print(f"{name}: {len(ours)} tensors there and back")
    return model.eval()


for size in (64, 96):
    golden = ROOT / f"crates/rl755-encoder/tests/golden/vae-{size}.safetensors"
    model = there_and_back({"model": f"vae-{size}", "model_config": {}}, golden)
    values = load_file(golden)
    reference = {"input/observations": numbers(6 * size * size).view(2, size, size, 3).float() / 255, "value/mean": values["value/mean"]}
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "reference.safetensors"
        save_file({name: tensor.numpy() for name, tensor in reference.items()}, file)
        check(model, file)

for name in ("vae", "autoencoder"):
    golden = ROOT / f"crates/rl755-encoder/tests/golden/{name}.safetensors"
    settings = {"strides": [2], "std_dev": "log_variance"}
    space = {"height": 21, "width": 28}
    model = there_and_back({"model": name, "model_config": settings, "input_space": space}, golden)
    values = load_file(golden)
    frames = numbers(2 * 21 * 28 * 3).view(2, 21, 28, 3).float() / 255
    with torch.no_grad():
        mean, _ = model.encode(frames)
        painted = model.reconstruct(mean).flatten()[::41]
    torch.testing.assert_close(mean, values["value/mean"], rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(painted, values["value/reconstruction"].flatten(), rtol=1e-4, atol=1e-4)

for name, settings in (
    ("mdn-rnn", {"hidden_size": 16, "mixtures": 3}),
    ("transformer", {"layers": 2, "heads": 2, "feed_forward_size": 24}),
):
    golden = ROOT / f"crates/rl755-sequence/tests/golden/{name}.safetensors"
    config = {"model": name, "model_config": settings, "sizes": {"latent": 4, "action": 2}}
    check(there_and_back(config, golden), golden)

# A layer of PyTorch's own, by the names that it has there.
theirs = torch.nn.TransformerEncoderLayer(
    16, 2, 24, 0.0, lambda x: torch.nn.functional.gelu(x, approximate="tanh"), batch_first=True, norm_first=True
).eval()
ours = from_pytorch("transformer", theirs.state_dict())
block = Block(16, 2, 24)
block.load_state_dict(to_pytorch(block, ours))
x, mask = torch.randn(3, 6, 16), torch.nn.Transformer.generate_square_subsequent_mask(6)
torch.testing.assert_close(block(x)[1], theirs(x, src_mask=mask, is_causal=True), rtol=1e-4, atol=1e-5)
print("nn.TransformerEncoderLayer: the same outputs")
