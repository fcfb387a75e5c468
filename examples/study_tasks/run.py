"""Run the tasks of one tool: lines of code, and seconds of the processor of the first call and of a later one.

python run.py with_nnsight        # the first one must be one with PyTorch, which writes gpt2.npz
"""

import importlib
import inspect
import sys
import time

import numpy as np

TASKS = (
    "cache", "parts", "heads", "lens", "patterns", "ablate", "steer", "splice", "sweep", "attribute", "integrated", "paths", "features",
    "collect", "probe", "circuit", "occlusion", "conductance", "shap", "smoothed",
)  # fmt: skip


def array(value):
    value = [array(each) for each in value] if isinstance(value, (list, tuple)) else value
    return np.asarray(value.detach().numpy() if hasattr(value, "detach") else value, "float32")


module, results = importlib.import_module(sys.argv[1]), {}
model, given = module.setup()
for task in TASKS:
    function = getattr(module, task, None)
    if function is None:
        continue
    times = []
    for _ in range(6):
        start = time.process_time()
        results[task] = array(function(model, *given))
        times.append(time.process_time() - start)
    lines = sum(bool(line.strip()) for line in inspect.getsource(function).split("\n")[1:])
    print(f"{task}: {lines} lines, first call {times[0]:.2f} s, later {1e3 * np.median(times[1:]):.1f} ms", flush=True)
np.savez(f"{sys.argv[1]}.npz", **results)
