"""How many evaluations pycma needs, for tests/cma_es.rs, and where it goes with given random
numbers, for src/cma_es/parity.rs.

Usage: python cma_es.py [FOLDER]     (needs cma and numpy)
"""

import json
import os
import sys

import cma
import numpy as np

folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
counts = {}
for name in ("sphere", "elli", "rosen"):
    counts[name] = []
    for seed in range(1, 12):
        options = {"verbose": -9, "seed": seed, "ftarget": 1e-9}
        es = cma.CMAEvolutionStrategy(10 * [0.5], 0.3, options)
        es.optimize(getattr(cma.ff, name))
        counts[name].append(es.result.evaluations)



def draws(state):
    """Numbers with mean 0 and variance 1 that any language can make."""
    while True:
        state = (1664525 * state + 1013904223) % 2**32
        yield 12**0.5 * (state / 2**32 - 0.5)


def trajectory(name, dimension, population, generations):
    options = {"verbose": -9, "seed": 1, "popsize": population}
    es = cma.CMAEvolutionStrategy(dimension * [0.5], 0.3, options)
    model = es.sm
    # pycma begins with a covariance that is a little off the identity.
    model.C, model.B, model.D = np.eye(dimension), np.eye(dimension), np.ones(dimension)
    numbers = draws(dimension)

    def randn(members, n):
        z = np.array([[next(numbers) for _ in range(n)] for _ in range(members)])
        # Steps are C^(1/2) z, which does not depend on the signs of eigenvectors.
        return z @ model.B

    model.randn = randn
    sigma = []
    for _ in range(generations):
        members = es.ask()
        assert len(members) == population
        es.tell(members, [getattr(cma.ff, name)(x) for x in members])
        sigma.append(float(es.sigma))
    return {"function": name, "dimension": dimension, "population": population,
            "sigma": sigma, "mean": es.mean.tolist()}


trajectories = [trajectory("elli", 5, 8, 60), trajectory("rosen", 12, 11, 60),
                trajectory("elli", 100, 17, 24)]
golden = {"trajectories": trajectories, "peer": f"cma {cma.__version__}", "dimension": 10, "mean": 0.5, "sigma": 0.3,
          "target": 1e-9, "evaluations": counts}
with open(os.path.join(folder, "cma_es.json"), "w") as file:
    json.dump(golden, file, indent=1)
    file.write("\n")
