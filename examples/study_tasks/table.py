"""Print the table of docs/others.md from what `run.py` has written of each tool, and how far their values are from msjax's.

python table.py           the table
python table.py record    write fingerprints of the values to tests/data/study_tasks.json, with which a test compares msjax's
"""

import ast
import json
import sys
from pathlib import Path

import numpy as np

TOOLS = {
    "TransformerLens 4.3.0": "with_transformer_lens",
    "nnsight 0.8.1": "with_nnsight",
    "pyvene 0.1.8": "with_pyvene",
    "torchlens 2.36.1": "with_torchlens",
    "Captum 0.9.0": "with_captum",
    "penzai 0.2.5": "with_penzai",
    "msjax": "with_msjax",
}
ROWS = {
    "cache": "the value after each block",
    "compiled": "the same in a compiled model",
    "gradients": "the gradient after each block",
    "attribute": "gradient x value after each block",
    "parts": "what each module has added",
    "heads": "what each head adds to the logits",
    "direct": "what each head adds directly to a number",
    "patterns": "attention patterns",
    "lens": "logit lens",
    "tune": "tuned lens, 8 steps",
    "steer": "a vector added",
    "ablate": "one head, at its mean",
    "splice": "an autoencoder's feature, steered",
    "transcoder": "a transcoder in an MLP's place, a feature steered",
    "transplant": "a position of another prompt, at another block",
    "sweep": "a sweep of layer and position, 64 runs",
    "paths": "path patching, all heads and MLPs to all readers",
    "edges": "attribution of edges",
    "edges_integrated": "the same by integrated gradients, 8 steps",
    "circuit": "a circuit of the 16 strongest edges, its faithfulness",
    "faithfulness": "faithfulness and completeness of a given circuit",
    "collect": "one place of 8 batches, kept in a store",
    "probe": "a linear probe",
    "integrated": "integrated gradients of the embeddings, 50 steps",
    "occlusion": "occlusion of the embeddings",
    "conductance": "conductance of a layer",
    "shap": "gradient SHAP, 32 samples",
    "smoothed": "gradients averaged over noise, 16 samples",
    "monitor": "the size of each block's gradient, in a training step",
}
# Their values are of other samples, or of another quantity: see the page.
NOT_COMPARED = {"conductance", "shap", "smoothed", "probe", "paths", "circuit", "gaps"}


def numbers(tool):
    path = Path(f"{tool}.npz")
    return dict(np.load(path)) if path.exists() else {}


def excuses(tool):
    """The `NO` of a tool's file, which is read and not run."""
    text = Path(__file__).with_name(f"{tool}.py").read_text()
    return ast.literal_eval(text.split("\nNO = ", 1)[1].split("\n}", 1)[0] + "\n}") if "\nNO = " in text else {}


def cell(figures, no, task):
    if task not in figures:
        return f"no: {no[task]}" if task in no else ""
    lines, first, later = (figures[task][name] for name in ("lines", "first", "later"))
    later = f"{later:.1f} s" if later > 1 else f"{1e3 * later:.{int(later < 0.001)}f} ms"
    return f"{lines}, {first:.{1 + (first < 0.1)}f} s, {later}"


def distance(value, other):
    """The largest difference, relative to the largest value."""
    return float(np.abs(value - other).max() / np.abs(value).max()) if value.shape == other.shape else np.nan


def fingerprint(value):
    """The shape, the sum, and the product with numbers by chance."""
    by_chance = np.random.default_rng(0).normal(size=value.size)
    return [list(value.shape), float(value.sum(dtype="float64")), float(value.ravel().astype("float64") @ by_chance)]


def main(*words):
    found = {tool: numbers(name) for tool, name in TOOLS.items()}
    if words:
        known = {task: found[tool][task] for task in ROWS for tool in TOOLS if tool != "msjax" and task in found[tool]}
        kept = {task: fingerprint(value) for task, value in known.items() if task not in NOT_COMPARED}
        (Path(__file__).parent.parent.parent / "tests" / "data" / "study_tasks.json").write_text(
            json.dumps(kept, indent=1) + "\n"
        )
        return
    figures = {
        tool: json.loads(Path(f"{name}.json").read_text()) for tool, name in TOOLS.items() if Path(f"{name}.json").exists()
    }
    print("| |", " | ".join(TOOLS), "|")
    print("| --- |", " | ".join("---" for _ in TOOLS), "|")
    for task, row in ROWS.items():
        print(f"| {row} |", " | ".join(cell(figures.get(tool, {}), excuses(name), task) for tool, name in TOOLS.items()), "|")
    print()
    for tool in (tool for tool in TOOLS if tool != "msjax"):
        for task in ROWS:
            if task in found[tool] and task in found["msjax"] and task not in NOT_COMPARED - {"conductance"}:
                gap = distance(found["msjax"][task], found[tool][task])
                shapes = found["msjax"][task].shape, found[tool][task].shape
                print(f"{tool} {task}: {gap:.1e}", *(shapes if np.isnan(gap) else ()))
    loads = [each["load"] for tool in figures.values() for each in tool.values()]
    print(
        f"\nload {min(loads):.1f} to {max(loads):.1f}; gaps of conductances:",
        {tool: each["gaps"] for tool, each in found.items() if "gaps" in each},
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
