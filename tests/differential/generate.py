"""Random cases.

A case is a dict of plain values, so that the shrinker can change it:

cells    a list; cell 0 is the network, and a cell calls only cells behind it. Each is a dict:
         inputs (kinds of the positional arguments), keywords (number of Tensors passed by name), output (kind), returns
         (variables), body (statements), weights (shapes and whether they require a gradient), states (number of Parameters
         that construct writes to), norms (number of BatchNorm layers), modules (for each nnx module, whether it has an inner one),
         recompute (whether its inner values are computed again), bprop (None, or a factor).
hooks    a list of dicts: on (["cell", i], ["every"] for hooks of all cells, ["weight", i, k], ["input", i], ["module", i, k, path],
         or ["inside"] for those that statements name), kind, action, options, since and until (numbers of stages).
same     whether the first two inputs are one Tensor.
         Actions: observe, modify, print (and modify), cut (return a constant), raise (after it was noted), remove (itself).
stages   "grad" or "forward", one call of the network each.
wanted   positions of the inputs whose gradients are asked for, and whether those of the weights are.

Kinds of values: "f" float Tensor, "i" integer Tensor, "n" number, "t" tuple of two float Tensors, "d" dict of two.
A statement is [results, operation, operands, detail]; all float Tensors have one shape, so that few programs are compiled.
"""

import random

CELL_KINDS = ("forward_pre", "forward", "backward_pre", "backward")
# What fewer cases have.
RARE = ("norm", "in_place_argument", "inner_grad", "scan", "vmap", "fail")
# What only cases with nnx modules have.
WITH_MODULES = ("module",)
STATEMENTS = (*"unary binary scale weight constant stop tap tap2 insert tensor_hook in_place int print state".split(), *RARE)
# Statements that call another cell.
LOOPS = ("scan", "vmap")
CALLS = ("call", "inner_grad", *LOOPS)
# Statements with a hook of their own.
INSIDE = ("tap", "tap2", "insert", "tensor_hook")
# What a cell called in a loop of jax's may have in its body.
PURE = ("unary", "binary", "scale", "constant", "stop", *INSIDE, "in_place", "int")


def case(seed, number, modules=False):
    """The case of this number.

    Args:
        modules: True for one whose cells call nnx modules with hooks, too.
    """
    made = _Case(random.Random(f"{seed}/{number}")).make()
    if modules:
        add_modules(made, random.Random(f"{seed}/{number}/modules"))
    return made


class _Case:
    def __init__(self, rng):
        self.rng = rng
        self.hooks = []
        self.names = 0

    def chance(self, p):
        return self.rng.random() < p

    def make(self):
        rng = self.rng
        count = rng.choice([1, 2, 2, 3, 3, 4])
        stages = ["grad"] + [rng.choice(["grad", "grad", "forward"]) for _ in range(rng.choice([0, 1, 1, 2]))]
        self.stages = len(stages)
        self.cells = [self.signature(i) for i in range(count)]
        # In a loop of jax's, a cell may have neither weights nor state.
        looped = rng.randrange(1, count) if count > 1 and self.chance(0.15) else None
        if looped is not None:
            self.cells[looped].update(inputs=["f"], keywords=0, output="f", looped=rng.choice(LOOPS))
        parents = {j: rng.choice([i for i in range(j) if i != looped]) for j in range(1, count)}
        for i in reversed(range(count)):
            self.fill(i, [j for j in parents if parents[j] == i], count)
        for _ in range(rng.choice([0, 1, 2, 3, 4, 6])):
            self.cell_hook(rng.randrange(count))
        for i, cell in enumerate(self.cells):
            for k, (_, requires_grad) in enumerate(cell["weights"]):
                if requires_grad and self.chance(0.25):
                    self.hook(["weight", i, k], "tensor")
        floats = [i for i, kind in enumerate(self.cells[0]["inputs"]) if kind == "f"]
        if self.chance(0.1):
            kind = rng.choice(CELL_KINDS)
            self.hook(["every"], kind)
        if self.chance(0.1):
            self.hook(["input", rng.choice(floats)], "tensor")
        self.settle_removals()
        weights = any(requires_grad for cell in self.cells for _, requires_grad in cell["weights"]) and self.chance(0.8)
        wanted = sorted(rng.sample(floats, rng.randint(0 if weights else 1, len(floats))))
        return {
            "dialect": rng.choice(["tutorial", "tutorial", "mindspore-2.10", "mindspore-1"]),
            "cells": self.cells,
            "hooks": self.hooks,
            "stages": stages,
            "wanted": [wanted, weights],
            "same": len(floats) > 1 and floats[1] == 1 and self.chance(0.2),
        }

    def signature(self, i):
        rng = self.rng
        return {
            "inputs": ["f"] + rng.choices(["f", "i", "n", "t", "d"], [5, 1, 1, 1, 1], k=rng.choice([0, 0, 1, 1, 2])),
            "keywords": rng.choice([0, 0, 0, 1]),
            "output": rng.choice(["f", "f", "f", "t", "d"]),
            "weights": [],
            "states": 0,
            "norms": 0,
            "modules": [],
            "recompute": False,
            "looped": None,
            "bprop": None,
        }

    # ---- hooks

    def hook(self, on, kind, options=None):
        """Add a hook; its number."""
        rng = self.rng
        inside = on[0] == "inside"
        since = 0 if inside or self.chance(0.7) else rng.randrange(self.stages)
        until = None if inside or self.chance(0.7) else rng.randint(since + 1, self.stages)
        action = rng.choice(["observe", "observe", "modify", rng.choice(["modify", "print", "cut"])])
        if not inside and on[0] != "input" and self.chance(0.06):
            action = rng.choice(["raise", "remove"])
        if action == "print" and any(cell["looped"] for cell in self.cells):
            # Prints within jax's loops are jax's.
            action = "modify"
        self.hooks.append({"on": on, "kind": kind, "action": action, "options": options or {}, "since": since, "until": until})
        return len(self.hooks) - 1

    def cell_hook(self, i):
        kind = self.rng.choice(CELL_KINDS)
        options = {}
        if kind.startswith("forward"):
            options = {name: True for name in ("prepend", "with_kwargs") if self.chance(0.25)}
            if kind == "forward" and self.chance(0.15):
                options["always_call"] = True
        number = self.hook(["cell", i], kind, options)
        if self.chance(0.15):
            options["observe" if self.hooks[number]["action"] in ("observe", "raise", "remove") else "traced"] = True

    def settle_removals(self):
        """Let hooks remove themselves only where that is their only call of a stage: compiled programs go on to its end."""
        calls = [1] + [0] * (len(self.cells) - 1)
        for i, cell in enumerate(self.cells):
            for _, what, _, j in cell["body"]:
                if what in CALLS:
                    calls[j] += calls[i] * (2 if what in LOOPS else 1)
        for hook in self.hooks:
            on = hook["on"]
            if hook["action"] == "remove" and (on[0] == "every" or (on[0] == "cell" and calls[on[1]] != 1)):
                hook["action"] = "observe"

    # ---- cells

    def new(self):
        self.names += 1
        return f"v{self.names}"

    def fill(self, i, must_call, count):
        """The body of a cell."""
        rng, cell = self.rng, self.cells[i]
        scope = {"f": [], "i": []}
        for k, kind in enumerate(cell["inputs"]):
            if kind in "fi":
                scope[kind].append(f"a{k}")
            elif kind in "td":
                scope["f"] += [f"a{k}_0", f"a{k}_1"]
        scope["f"] += [f"k{k}" for k in range(cell["keywords"])]
        if (
            not must_call
            and i
            and not cell["looped"]
            and set(cell["inputs"]) == {"f"}
            and not cell["keywords"]
            and self.chance(0.25)
        ):
            cell["bprop"], cell["output"] = rng.choice([0.5, 2.0]), "f"
        body = []
        todo = [("call", j) for j in must_call] + [("any", None)] * rng.randint(1, 4)
        rng.shuffle(todo)
        for what, j in todo:
            if what == "any" and i + 1 < count and not cell["looped"] and self.chance(0.15):
                what, j = "call", rng.randrange(i + 1, count)
            if what == "call":
                body += self.call(scope, j)
            else:
                body += self.statement(scope, cell)
        cell["body"] = body
        # The second run prints and writes again, and calls the hooks of the cells inside.
        cell["recompute"] = self.chance(0.08) and not {s[1] for s in body} & {*CALLS, "print", "in_place_argument", "norm"}
        cell["returns"] = [self.recent(scope) for _ in range(1 if cell["output"] == "f" else 2)]

    def recent(self, scope):
        return self.rng.choice(scope["f"][-3:])

    def call(self, scope, j):
        operands, before = [], []
        for kind in self.cells[j]["inputs"]:
            if kind == "f":
                operands.append([self.recent(scope)])
            elif kind == "i":
                if not scope["i"]:
                    before.append(self.integer(scope))
                operands.append([self.rng.choice(scope["i"])])
            elif kind == "n":
                operands.append([])
            else:
                operands.append([self.recent(scope), self.recent(scope)])
        operands += [[self.recent(scope)] for _ in range(self.cells[j]["keywords"])]
        how = self.cells[j]["looped"] or "call"
        if how == "call" and set(self.cells[j]["inputs"]) == {"f"} and not self.cells[j]["keywords"] and self.chance(0.1):
            how = "inner_grad"
        results = [self.new() for _ in range(1 if how == "inner_grad" or self.cells[j]["output"] == "f" else 2)]
        scope["f"] += results
        return [*before, [results, how, [name for names in operands for name in names], j]]

    def integer(self, scope):
        name = self.new()
        statement = [[name], "to_int", [self.recent(scope)], None]
        scope["i"].append(name)
        return statement

    def statement(self, scope, cell):
        rng = self.rng
        if cell["bprop"] is not None:
            what = rng.choice(("unary", "binary", "scale", "constant"))
        elif cell["looped"]:
            what = rng.choice(PURE)
        else:
            what = rng.choice((*STATEMENTS[: -len(RARE)], "weight"))
        if not cell["looped"] and self.chance(0.05):
            what = rng.choice(
                ["in_place_argument"] if cell["bprop"] is not None else ["in_place_argument", "norm", "norm", "fail"]
            )
        if what == "print":
            return [[[], what, [self.recent(scope)], None]]
        if what == "fail":
            return [[[], what, [self.recent(scope)], rng.randrange(self.stages)]]
        if what == "in_place_argument":
            return [[[], what, ["a0", self.recent(scope)], rng.choice("+*-")]]
        if what == "tensor_hook":
            return [[[], what, [self.recent(scope)], self.hook(["inside"], "tensor")]]
        if what == "int":
            if not scope["i"]:
                return [self.integer(scope)]
            operands, detail = [self.recent(scope), rng.choice(scope["i"])], None
        elif what in ("binary", "in_place", "tap2"):
            operands, detail = [self.recent(scope), self.recent(scope)], rng.choice("+*-")
        else:
            operands, detail = [self.recent(scope)], rng.choice([0.5, 1.5])
        if what == "unary":
            detail = rng.choice(["tanh", "sin"])
        elif what == "weight":
            detail = len(cell["weights"])
            cell["weights"].append([rng.choice([[3], [3, 3]]), self.chance(0.85)])
        elif what == "constant":
            detail = rng.choice(["inside", "attribute", "global"])
        elif what == "state":
            detail = cell["states"]
            cell["states"] += 1
        elif what == "norm":
            detail = cell["norms"]
            cell["norms"] += 1
        elif what in ("tap", "tap2"):
            detail = self.hook(["inside"], "gradients")
        elif what == "insert":
            detail = self.hook(["inside"], "tensor")
        results = [self.new() for _ in range(2 if what == "tap2" else 1)]
        scope["f"] += results
        return [[results, what, operands, detail]]


# Statements in which one float Tensor can stand for another.
_ANY_OPERAND = (
    "unary",
    "binary",
    "scale",
    "weight",
    "constant",
    "stop",
    "call",
    "to_int",
    "int",
    "tap",
    "tap2",
    "insert",
    "module",
)


def add_modules(case, rng):
    """Let cells call nnx modules, and put hooks on these."""
    for i, cell in enumerate(case["cells"]):
        while not cell["looped"] and cell["bprop"] is None and not cell["recompute"] and rng.random() < (0.5 if i else 0.7):
            _add_module(case, i, rng)


def _add_module(case, i, rng):
    cell = case["cells"][i]
    at = rng.randint(0, len(cell["body"]))
    operand, result = rng.choice(_floats(cell, at)), f"u{sum(s[1] == 'module' for c in case['cells'] for s in c['body'])}"
    k = len(cell["modules"])
    if k and rng.random() < 0.3:
        k = rng.randrange(k)  # a second call of the same module
    else:
        cell["modules"].append(rng.random() < 0.5)
        for _ in range(rng.choice([0, 1, 1, 2, 3])):
            case["hooks"].append(_hook_of_module(case, i, k, rng))
    later = [(s[2], n) for s in cell["body"][at:] if s[1] in _ANY_OPERAND for n, v in enumerate(s[2]) if v == operand]
    later += [(cell["returns"], n) for n, v in enumerate(cell["returns"]) if v == operand]
    # Where the operand isn't used any more, a result of the cell is the module's.
    for names, n in [place for place in later if rng.random() < 0.7] or [(cell["returns"], -1)]:
        names[n] = result
    cell["body"].insert(at, [[result], "module", [operand], k])


def _floats(cell, at):
    """The float variables before a statement."""
    names = [f"a{k}" for k, kind in enumerate(cell["inputs"]) if kind == "f"]
    names += [f"a{k}_{half}" for k, kind in enumerate(cell["inputs"]) if kind in "td" for half in (0, 1)]
    names += [f"k{k}" for k in range(cell["keywords"])]
    return (names + [v for s in cell["body"][:at] if s[1] != "to_int" for v in s[0]])[-4:]


def _hook_of_module(case, i, k, rng):
    stages, kind = len(case["stages"]), rng.choice(CELL_KINDS)
    since = 0 if rng.random() < 0.7 else rng.randrange(stages)
    options = {name: True for name in ("prepend", "with_kwargs") if kind.startswith("forward") and rng.random() < 0.25}
    return {
        "on": ["module", i, k, rng.choice(["", "inner"]) if case["cells"][i]["modules"][k] else ""],
        "kind": kind,
        "action": rng.choice(["observe", "observe", "modify", rng.choice(["modify", "cut"])]),
        "options": options,
        "since": since,
        "until": None if rng.random() < 0.7 else rng.randint(since + 1, stages),
    }
