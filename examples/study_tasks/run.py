"""Run the tasks of one tool: lines of code, the seconds of the first call and the milliseconds of a later one, by the clock.

python run.py with_nnsight              all its tasks; what they compute goes to with_nnsight.npz, the figures to with_nnsight.json
python run.py with_nnsight lens splice  these; the figures of the others stay
"""

import dis
import importlib
import inspect
import json
import os
import sys
import time
from pathlib import Path

import numpy as np

TASKS = (
    "cache", "parts", "patterns", "steer", "sweep", "attribute", "gradients", "compiled", "heads", "lens", "direct", "tune", "ablate",
    "splice", "transcoder", "transplant", "integrated", "paths", "edges", "edges_integrated", "circuit", "faithfulness", "collect", "probe",
    "occlusion", "conductance", "shap", "smoothed", "gaps", "features", "monitor",
)  # fmt: skip


def array(value):
    """What a task has returned as one array; of edges those that every tool has: from embeddings, heads and MLPs."""
    if hasattr(value, "senders"):
        kept = [i for i, name in enumerate(value.senders) if name == "wte" or " head " in name or name.endswith("mlp")]
        value = np.nan_to_num(np.asarray(value.values)[kept])
    value = [array(each) for each in value] if isinstance(value, (list, tuple)) else value
    return np.asarray(value.detach().numpy() if hasattr(value, "detach") else value, "float32")


def names_in(code):
    """The globals that a function, and those within it, look up."""
    found = {each.argval for each in dis.get_instructions(code) if each.opname == "LOAD_GLOBAL"}
    return found.union(*(names_in(each) for each in code.co_consts if inspect.iscode(each)))


def lines(function):
    """Lines of the function's body, and of those of its file that it calls, but for those that the file shares among its tasks."""
    module, found, pending = vars(inspect.getmodule(function)), {}, [function]
    while pending:
        each = inspect.unwrap(pending.pop())
        body = inspect.getsource(each).split("):\n", 1)[1]
        found[each.__name__] = sum(bool(line.strip()) for line in body.split("\n"))
        named = [module.get(name) for name in names_in(each.__code__) - {*module.get("SHARED", ()), *found}]
        own = [helper for helper in named if getattr(helper, "__module__", None) == function.__module__]
        pending += [helper for helper in own if inspect.isfunction(inspect.unwrap(helper))]
    return sum(found.values())


def measured(function, *given):
    """What the first call returns, and the seconds of calls: six, or as many as fit in 2 s, but at least two."""
    results, times, began = [], [], time.perf_counter()
    while len(times) < 2 or (len(times) < 6 and time.perf_counter() - began < 2):
        start = time.perf_counter()
        results.append(array(function(*given)))
        times.append(time.perf_counter() - start)
    return results[0], times


def main(tool, *tasks):
    module, found = importlib.import_module(tool), {}
    model, given = module.setup()
    for task in tasks or TASKS:
        function = getattr(module, task, None)
        if function is None:
            continue
        try:
            found[task], times = measured(function, model, *given)
        except Exception as error:  # what one tool can't do should not hide what others can
            print(f"{task}: {type(error).__name__}: {str(error)[:300]}", flush=True)
            continue
        count, later = lines(function), np.median(times[1:])
        (values, figures), path = ({}, {}), Path(f"{tool}.json")
        if path.exists():
            values, figures = dict(np.load(f"{tool}.npz")), json.loads(path.read_text())
        figures[task] = {"lines": count, "first": times[0], "later": later, "load": os.getloadavg()[0]}
        path.write_text(json.dumps(figures, indent=1))
        np.savez(f"{tool}.npz", **{**values, task: found[task]})
        print(f"{task}: {count} lines, first call {times[0]:.2f} s, later {1e3 * later:.1f} ms", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
