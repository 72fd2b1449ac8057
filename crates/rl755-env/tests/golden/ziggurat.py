"""Makes src/numpy/ziggurat_tables.rs, and prints what src/numpy/ziggurat.rs is tested with.

The tables are NumPy's, asked of NumPy itself: a PCG64 is put in a state from which it gives chosen
bits, and `standard_normal` tells what it makes of them. The method is Marsaglia and Tsang's ("The
ziggurat method for generating random variables", 2000), with 256 layers and 52 bits.

    python ziggurat.py
"""

import math
import os

import numpy as np

LAYERS = 256
BITS = 1 << 52
MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645
MODULUS = 1 << 128
INVERSE = pow(MULTIPLIER, -1, MODULUS)

pcg = np.random.PCG64(0)
generator = np.random.Generator(pcg)
state = pcg.state


def draw(layer, magnitude, uniform=0):
    """What comes of `magnitude` in `layer`, and whether more bits were taken; `uniform` is the next
    draw of random() times 2^53."""
    first = magnitude << 9 | layer
    # A state whose upper half is 0 gives its lower half. The increment, which must be odd, leads
    # from the first to the second, of whose lowest 11 bits nothing depends.
    increment = ((uniform << 11) - first * MULTIPLIER) % MODULUS
    increment += 1 - increment % 2
    state["state"] = {"state": (first - increment) * INVERSE % MODULUS, "inc": increment}
    pcg.state = state
    value = generator.standard_normal()
    return value, pcg.state["state"]["state"] != first


def first_that(holds, low, high):
    """The least whole number in low..high for which `holds`, which then holds for all above."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


widths = [draw(layer, 1)[0] for layer in range(LAYERS)]
inside = [first_that(lambda m: draw(layer, m)[1], 0, BITS - 1) for layer in range(LAYERS)]
heights = [1.0] + [math.exp(-0.5 * (width * BITS) ** 2) for width in widths[1:]]

# The heights show only in what is refused. Up to a rounding NumPy's are these: one draw in 2^50 may be
# refused where NumPy takes it.
for layer in range(1, LAYERS):
    for uniform in (1 << 51, 1 << 52, 3 << 51):
        height = (heights[layer - 1] - heights[layer]) * (uniform / (1 << 53)) + heights[layer]

        def ours(magnitude):
            x = magnitude * widths[layer]
            return not height < math.exp(-0.5 * x * x)

        def numpys(magnitude):
            return draw(layer, magnitude, uniform)[0] != magnitude * widths[layer]

        found = [first_that(refused, inside[layer], BITS - 1) for refused in (ours, numpys)]
        assert abs(found[0] - found[1]) <= 16, (layer, uniform, found)


def rows(values, each):
    words = [f"{value}," for value in values]
    return "\n".join("    " + " ".join(words[i : i + each]) for i in range(0, LAYERS, each))


here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "../../src/numpy/ziggurat_tables.rs"), "w") as file:
    file.write(
        f"""//! NumPy's tables of a ziggurat of 256 layers, made by tests/golden/ziggurat.py.

/// A draw of 52 bits below this lies within the layer above as well, and is taken at once.
#[rustfmt::skip]
pub(super) const INSIDE: [u64; {LAYERS}] = [
{rows([f"0x{value:014x}" for value in inside], 5)}
];

/// The width of each layer in units of 2⁻⁵².
#[rustfmt::skip]
pub(super) const WIDTHS: [f64; {LAYERS}] = [
{rows([repr(value) for value in widths], 4)}
];

/// The density at the edge of each layer.
#[rustfmt::skip]
pub(super) const HEIGHTS: [f64; {LAYERS}] = [
{rows([repr(value) for value in heights], 4)}
];
"""
    )

print("first", np.random.default_rng(0).standard_normal(4).tolist())
draws = np.random.default_rng(1).standard_normal(1_000_000).view(np.uint64).tolist()
hashed = 0xCBF29CE484222325
for bits in draws:
    hashed = ((hashed ^ bits) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
print(f"a million of seed 1: 0x{hashed:016x}")
