"""How many evaluations pycma needs: golden data for tests/cma_es.rs.

Usage: python cma_es.py [FOLDER]     (needs cma and numpy)
"""

import json
import os
import sys

import cma

folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
counts = {}
for name in ("sphere", "elli", "rosen"):
    counts[name] = []
    for seed in range(1, 12):
        options = {"verbose": -9, "seed": seed, "ftarget": 1e-9}
        es = cma.CMAEvolutionStrategy(10 * [0.5], 0.3, options)
        es.optimize(getattr(cma.ff, name))
        counts[name].append(es.result.evaluations)

golden = {"peer": f"cma {cma.__version__}", "dimension": 10, "mean": 0.5, "sigma": 0.3,
          "target": 1e-9, "evaluations": counts}
with open(os.path.join(folder, "cma_es.json"), "w") as file:
    json.dump(golden, file, indent=1)
    file.write("\n")
