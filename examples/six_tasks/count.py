"""Print a table of the lines of code of each task: those of the function's body, and of helpers that only the tasks need."""

import ast
from pathlib import Path

TASKS = ("read", "gradients", "ablate", "pattern", "sweep", "train")
TOOLS = {
    "PyTorch hooks": "pytorch_hooks",
    "TransformerLens": "with_transformer_lens",
    "nnsight": "with_nnsight",
    "penzai": "with_penzai",
    "nnx.capture": "flax_nnx",
    "linen's own": "flax_linen",
    "oryx harvest": "with_oryx",
    "msjax": "with_msjax",
}


def lines(node, text):
    """The lines of a function's body, without comments and empty lines."""
    body = text[node.body[0].lineno - 1 : node.end_lineno]
    return sum(1 for line in body if line.strip() and not line.strip().startswith("#"))


print("| |", " | ".join(TOOLS), "|")
print("| --- |", " | ".join("---" for _ in TOOLS), "|")
found = {}
for tool, name in TOOLS.items():
    text = Path(__file__).with_name(f"{name}.py").read_text()
    functions = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
    found[tool] = {task: lines(functions[task], text.splitlines()) if task in functions else "-" for task in TASKS}
for task in TASKS:
    print(f"| {task} |", " | ".join(str(found[tool][task]) for tool in TOOLS), "|")
