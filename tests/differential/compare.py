"""What differs between the ways of one program, and what kind of difference it is."""

import re
from collections import Counter

import jax
import numpy as np

from msjax.common.tensor_hooks import LateHookError
from tests.differential import kit
from tests.differential.generate import INSIDE, LOOPS
from tests.differential.ways import WAYS, run

REFERENCE = "pynative"
REFERENCES = (REFERENCE, "everything", "inputs")
# What runs under jax's own transformations, on arrays.
BY_JAX = ("functional", "functional_jit", "objects", "objects_jit")


def differences(case, source, ways):
    """A list of (way, cause, detail); the reference is PyNative mode with `ms.value_and_grad`."""
    expected, found = run(source, REFERENCE), []
    for way in ways:
        if way == "without":
            # Writes to an argument that construct has returned: see docs/limits.md.
            if all(hook["action"] == "observe" for hook in case["hooks"]) and "in_place_argument" not in _statements(case):
                found += _differ(case, way, expected, run(source, REFERENCE, hooked=False), logs=False)
        elif way == "backward" and not case["same"] and not _statements(case) & {"inner_grad", "in_place_argument"}:
            # One Tensor at two positions is one leaf here, what gradient functions return is apart from .backward(), and leaves
            # can't be written to.
            found += _differ(case, way, run(source, "everything"), run(source, way))
        elif way in ("jit", "graph", *BY_JAX) and _has_constant_gradients(case):
            pass
        elif way.startswith("objects"):
            if _can_run_as_objects(case):
                found += _differ(case, way, run(source, "inputs"), run(source, way))
        elif way != "backward" and (not way.startswith("functional") or _can_be_functional(case)):
            found += _differ(case, way, expected, run(source, way))
    return found


def _statements(case):
    return {s[1] for cell in case["cells"] for s in cell["body"]}


def _can_be_functional(case):
    """Arrays have no hooks, and no identity: one at two positions is two. Hooks of modules are jax's business: jax sees where a result
    is a constant; for the tape, what is lifted is an operator whose results carry gradients."""
    if any(hook["on"][0] == "module" for hook in case["hooks"]) and any(_cuts_within_jax(case, hook) for hook in case["hooks"]):
        return False
    if any(hook["on"][0] == "input" for hook in case["hooks"]):
        return False
    if case["same"] and (case["dialect"] == "mindspore-2.10" or _statements(case) & {"in_place_argument", "inner_grad"}):
        return False
    return True


def _can_run_as_objects(case):
    """Weights are constants there, and state is no result; jax sees that what is lifted has a constant result."""
    looped = [cell for cell in case["cells"] if cell["looped"]]
    if any(s[1] == "stop" for cell in looped for s in cell["body"]):
        return False
    if any(
        hook["on"][0] == "weight" or (looped and hook["action"] == "cut") or _cuts_within_jax(case, hook)
        for hook in case["hooks"]
    ):
        return False
    return bool(_can_be_functional(case) and case["wanted"][0] and not _statements(case) & {"state", "norm"})


def _has_constant_gradients(case):
    """Whether a gradient of what is lifted may be differentiated again: jax sees where it is a constant; for the tape, it carries one."""
    return {"module", "inner_grad"} <= _statements(case)


def _cuts_within_jax(case, hook):
    """Whether a hook puts a constant in the place of a value within a function that is lifted."""
    on = hook["on"]
    if hook["action"] != "cut" or not hook["kind"].startswith("forward"):
        return False
    return on[0] == "module" or any(cell["looped"] and on in (["cell", i], ["every"]) for i, cell in enumerate(case["cells"]))


def show(way, path):
    """Print what the program at a path gives in the reference and in a way, stage by stage."""
    with open(path) as file:
        source = file.read()
    for name in _reference(way), way:
        for number, stage in enumerate(run(source, name)):
            print(
                f"---- {name}, stage {number}",
                *stage.outputs or (),
                "gradients:",
                *stage.grads or (),
                "log:",
                *stage.log,
                sep="\n",
            )
            print(*stage.warnings, *filter(None, [stage.error]))


def _reference(way):
    return "everything" if way == "backward" else "inputs" if way.startswith("objects") else REFERENCE


ALL = [*(way for way in WAYS if way not in REFERENCES), "without"]


COMPILED = ("jit", "graph", "functional_jit", "objects_jit")


def in_turn(ways, number):
    """The ways for the case of this number: of the compiled ones only one."""
    return [way for way in ways if way not in COMPILED or way == COMPILED[number % len(COMPILED)]]


def _differ(case, way, expected, found, logs=True):
    for number, (a, b) in enumerate(zip(expected, found)):
        difference = _stage(case, way, a, b, logs)
        if difference is not None:
            return [(way, difference[0], f"stage {number}: {difference[1]}")]
        if type(a.error) is not type(b.error) or (a.error is not None and _went_on(way, a.log, b.log)):
            break  # a documented difference: what comes later starts from another state
    return []


def _went_on(way, a, b):
    """Whether a program called further hooks behind one that failed, or a trace that failed none of those before: they may have removed
    themselves."""
    return (way in BY_JAX and len(b) > len(a)) or (way in ("functional_jit", "objects_jit") and len(b) < len(a))


def _stage(case, way, a, b, logs):
    functional = way in BY_JAX
    # What is printed of traced values under someone else's jit is jax's business.
    log, found = ([e for e in stage.log if not functional or e[0] != "print"] for stage in (a, b))
    if a.error is not None or b.error is not None:
        if b.error is None and way in COMPILED and log and log[-1][0] in _in_loops(case, log):
            return None  # the hook that fails is in a loop that the program lacks
        if b.error is None and (way == "backward" or functional) and log and _unreached(case, log[-1]):
            return None  # the hook that fails isn't called
        if b.error is None and way.startswith("objects") and log and _nothing_arrived(log[-1]):
            return None
        if way.startswith("objects") and isinstance(b.error, LateHookError):
            return None  # a documented difference: jax itself differentiates, and has seen a part of the gradient pass
        if way in COMPILED and str(b.error).startswith("register_hook was called") and isinstance(a.error, kit.Failed):
            return None  # tracing finds it, before any hook of the program is called
        if type(a.error) is not type(b.error):
            return f"error: {_head(b.error)} instead of {_head(a.error)}", f"{b.error!r}"
        # In a program, a hook that fails brings no calls by always_call; under jax.jit, what fails while jax traces calls no hooks, and a
        # program runs to its end, with the hooks behind the one that failed.
        if (way in COMPILED or way.startswith("objects")) and log and log[-1][0] in _in_loops(case, log):
            return None  # which call fails first depends on the loops that the program lacks
        always = any(hook["options"].get("always_call") for hook in case["hooks"])
        if (
            not logs
            or way == "backward"
            or (way in COMPILED and always)
            or (way in ("functional_jit", "objects_jit") and not found)
        ):
            return None
        if way.startswith("objects"):
            log, found = ([entry for entry in entries if not _nothing_arrived(entry)] for entries in (log, found))
        if functional:
            log, found = _without_dropped(case, log, found)
            found = found[: len(log)]
        return _log(case, way, log, found)
    for w in b.warnings:
        if w not in a.warnings:
            return "warning: " + re.sub(r"C\d+|h\d+|v\d+|line \d+", "_", w)[:140], w
    for what in ("outputs", "grads", "state", "arguments")[: 3 if functional else 4]:
        x, y = getattr(a, what), getattr(b, what)
        if not same(x, y):
            return f"{what} differ", f"expected {x}\nfound {y}"
    return _log(case, way, log, found) if logs else None


def _log(case, way, a, b):
    if way == "backward":
        a, b = (_as_backward(case, log) for log in (a, b))
    functional = way in BY_JAX
    if functional:
        a, b = ([entry for entry in log if not _unreached(case, entry)] for log in (a, b))
    if way.startswith("objects"):
        # Whether a gradient that doesn't arrive is None or zeros is jax's decision.
        a, b = ([_without_zeros(entry) for entry in log if not _nothing_arrived(entry)] for log in (a, b))
    if way in COMPILED or functional:
        a, b = _without_dropped(case, a, b)
    names = [[entry[0] for entry in log] for log in (a, b)]
    # Under someone else's jit, loops that don't use one another's results have no order between them; nor have a loop and its gradient,
    # if that is the same for all values.
    unordered = way in ("functional_jit", "objects_jit") and bool(_statements(case) & set(LOOPS))
    if way.startswith("objects") and names[0] != names[1]:
        # A Tensor's hook comes where it was registered, not where its Tensor was computed.
        a, b = ([*(e for e in log if _kind(e[0]) != "tensor"), *sorted(_tensor_hooks(log), key=_rounded_entry)] for log in (a, b))
        names = [[entry[0] for entry in log] for log in (a, b)]
    if unordered and names[0] == names[1]:
        a, b = (sorted(log, key=_rounded_entry) for log in (a, b))
    if names[0] == names[1]:
        wrong = [i for i, (x, y) in enumerate(zip(a, b)) if not same(x, y)]
        if not wrong:
            return None
        x, y = a[wrong[0]], b[wrong[0]]
        kinds = sorted({_kind(a[i][0]) for i in wrong})
        what = "None entries" if _nones(x) != _nones(y) else "values"
        return f"log: {what} of {', '.join(kinds)} hooks", f"expected {x}\nfound {y}"
    detail = f"expected {names[0]}\nfound {names[1]}"
    more, less = (Counter(y) - Counter(x) for x, y in (names, names[::-1]))
    if not more and not less:
        return None if unordered else ("log: order", detail)
    return (
        "log: "
        + ", ".join(
            f"{word} {_kind(kind)} calls"
            for word, c in (("missing", less), ("extra", more))
            for kind in sorted({_kind(n) for n in c})
        ),
        detail,
    )


def _without_dropped(case, a, b):
    """The logs without the hooks in loops of jax's that are called more often in one than in the other: a program, or PyNative
    mode's own of a loop, lacks what no result depends on."""
    first, second = (Counter(entry[0] for entry in log) for log in (a, b))
    dropped = _in_loops(case, [*a, *b]) & {name for name in (*first, *second) if first[name] != second[name]}
    return ([entry for entry in log if entry[0] not in dropped] for log in (a, b))


def _in_loops(case, log):
    """The names of those hooks in a log that may be called in a loop of jax's."""
    looped = [i for i, cell in enumerate(case["cells"]) if cell["looped"]]
    inside = {s[3] for i in looped for s in case["cells"][i]["body"] if s[1] in INSIDE}
    on = {h for h, hook in enumerate(case["hooks"]) if hook["on"][0] == "every" or hook["on"] in [["cell", i] for i in looped]}
    names = {entry[0] for entry in log if entry[0][0] == "h"} if looped else ()
    return {name for name in names if int(name.partition(" ")[0][1:]) in on | inside}


def _as_backward(case, log):
    """What `.backward()` and `ms.grad` have in common.

    Gradients accumulate in PyTorch's order, so no order is compared, not even of one hook's calls, which may be on several
    Tensors; and where no gradient arrives at a Parameter, `ms.grad` calls its hooks with zeros, `.backward()` doesn't call them.
    What hooks print may be such a call's and is left out.
    """
    return sorted((e for e in log if e[0] != "print" and not _unreached(case, e)), key=_rounded_entry)


def _tensor_hooks(log):
    return [entry for entry in log if _kind(entry[0]) == "tensor"]


def _rounded_entry(entry):
    return entry[0], _rounded(entry)


def _rounded(entry):
    """A text that sorts entries alike which differ by rounding only, as a rule."""
    return str(
        [np.round(np.asarray(v, float), 2).tolist() for v in jax.tree.leaves(entry[1:]) if isinstance(v, (np.ndarray, float))]
    )


def _nothing_arrived(entry):
    """Whether an entry is of a hook of gradients that got zeros or None only, of all outputs or of all inputs: whether jax calls it is
    decided by what else passes the same node."""
    kind = _kind(entry[0])
    if kind in ("tensor", "gradients", "backward_pre"):
        return not _any(entry[1:])
    return kind == "backward" and not all(map(_any, entry[2:]))


def _without_zeros(entry):
    """The entry of a hook of gradients with None for those that are zeros."""
    if _kind(entry[0]) not in ("tensor", "gradients", "backward", "backward_pre"):
        return entry
    return jax.tree.map(lambda v: None if isinstance(v, np.ndarray) and not v.any() else v, entry)


def _any(value):
    """Whether there is a number other than zero among nested values."""
    return any(np.any(v) for v in jax.tree.leaves(value) if isinstance(v, np.ndarray))


def _unreached(case, entry):
    """Whether an entry is of a Parameter's hook that got zeros, as where no gradient arrives."""
    if entry[0] == "print":
        return False
    number = int(entry[0].partition(" ")[0][1:])
    return case["hooks"][number]["on"][0] == "weight" and not entry[1].any()


def _kind(name):
    return name.rpartition(" ")[2]


def _nones(value):
    if isinstance(value, (list, tuple)):
        return [_nones(v) for v in value]
    return value is None


def same(a, b):
    """Whether two logged values are equal, but for rounding."""
    if isinstance(a, (list, tuple)):
        return isinstance(b, (list, tuple)) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (np.ndarray, np.generic)):
        return (
            isinstance(b, (np.ndarray, np.generic))
            and a.shape == b.shape
            and a.dtype == b.dtype
            and bool(np.allclose(a, b, rtol=2e-4, atol=1e-5, equal_nan=True))
        )
    return type(a) is type(b) and a == b


def _head(error):
    if error is None:
        return "none"
    return f"{type(error).__name__}: " + re.sub(r"[Ch]\d+|v\d+|\d+|<[^>]*>", "_", str(error))[:90]
