"""Makes a case smaller as long as it differs in the same way."""

import copy

from tests.differential.generate import CALLS, INSIDE


def shrink(case, differs, limit=400):
    """The smallest case found.

    Args:
        differs: a function of a case, whether it still shows the difference.
        limit: how many cases to try.
    """
    tried, progress = 0, True
    while progress:
        progress = False
        for smaller in _smaller(case):
            if tried >= limit:
                return case
            tried += 1
            try:
                fits = differs(smaller)
            except Exception:  # what was dropped is needed: not a case
                fits = False
            if fits:
                case, progress = smaller, True
                break
    return case


def _changed(case, change):
    case = copy.deepcopy(case)
    return None if change(case) is False else case


def _smaller(case):
    """Cases that are one step smaller, the largest steps first."""
    changes = []
    cells = case["cells"]
    for s in range(len(case["stages"])):
        if len(case["stages"]) > 1:
            changes.append(lambda c, s=s: _drop_stage(c, s))
    used = _used(case)
    for i in reversed(range(1, len(cells))):
        if i not in used:
            changes.append(lambda c, i=i: _drop_cell(c, i))
    for number, hook in enumerate(case["hooks"]):
        if hook["on"][0] != "inside":
            changes.append(lambda c, n=number: _drop_hook(c, n))
    for i, cell in enumerate(cells):
        for k in reversed(range(len(cell["body"]))):
            changes.append(lambda c, i=i, k=k: _drop_statement(c, i, k))
    for number, hook in enumerate(case["hooks"]):
        for name in hook["options"]:
            changes.append(lambda c, n=number, o=name: c["hooks"][n]["options"].pop(o) and None)
        if hook["action"] in ("raise", "remove"):
            changes.append(lambda c, n=number: c["hooks"][n].update(action="observe"))
        if hook["action"] in ("print", "cut"):
            changes.append(lambda c, n=number: c["hooks"][n].update(action="modify"))
        if hook["action"] in ("print", "cut", "modify"):
            changes.append(lambda c, n=number: c["hooks"][n].update(action="observe"))
        if hook["since"] or hook["until"] is not None:
            changes.append(lambda c, n=number: c["hooks"][n].update(since=0, until=None))
    for i, cell in enumerate(cells):
        if cell["bprop"] is not None:
            changes.append(lambda c, i=i: c["cells"][i].update(bprop=None))
        if cell["recompute"]:
            changes.append(lambda c, i=i: c["cells"][i].update(recompute=False))
        if cell["keywords"] and not any(f"k{cell['keywords'] - 1}" in s[2] for s in cell["body"]):
            changes.append(lambda c, i=i: _drop_keyword(c, i))
        if len(cell["inputs"]) > 1:
            changes.append(lambda c, i=i: _drop_input(c, i))
        if cell["output"] != "f":
            changes.append(lambda c, i=i: _one_output(c, i))
    if case["dialect"] != "tutorial":
        changes.append(lambda c: c.update(dialect="tutorial"))
    if case["wanted"][1]:
        changes.append(lambda c: False if not c["wanted"][0] else c["wanted"].__setitem__(1, False))
    if case["same"]:
        changes.append(lambda c: c.update(same=False))
    for p in case["wanted"][0]:
        changes.append(lambda c, p=p: False if len(c["wanted"][0]) == 1 and not c["wanted"][1] else c["wanted"][0].remove(p))
    for change in changes:
        smaller = _changed(case, change)
        if smaller is not None:
            yield smaller


def _used(case):
    return {s[3] for cell in case["cells"] for s in cell["body"] if s[1] in CALLS}


def _calls(case, i):
    return [s for cell in case["cells"] for s in cell["body"] if s[1] in CALLS and s[3] == i]


def _width(kind):
    return {"f": 1, "i": 1, "n": 0, "t": 2, "d": 2}[kind]


def _drop_stage(case, s):
    del case["stages"][s]
    for hook in case["hooks"]:
        if hook["since"] > s:
            hook["since"] -= 1
        if hook["until"] is not None and hook["until"] > s:
            hook["until"] -= 1
    if "grad" not in case["stages"] and "forward" not in case["stages"]:
        return False
    return None


def _drop_cell(case, i):
    for number in reversed(range(len(case["hooks"]))):
        on = case["hooks"][number]["on"]
        if on[0] in ("cell", "weight", "module") and on[1] == i:
            _drop_hook(case, number)
    for s in [s for s in case["cells"][i]["body"] if s[1] in INSIDE]:
        _drop_inside_hook(case, s)
    del case["cells"][i]
    for cell in case["cells"]:
        for s in cell["body"]:
            if s[1] in CALLS and s[3] > i:
                s[3] -= 1
    for hook in case["hooks"]:
        if hook["on"][0] in ("cell", "weight", "module") and hook["on"][1] > i:
            hook["on"][1] -= 1


def _drop_inside_hook(case, statement):
    number = statement[3]
    statement[1], statement[3] = "scale", 1.0
    _drop_hook(case, number)


def _drop_hook(case, number):
    del case["hooks"][number]
    for cell in case["cells"]:
        for s in cell["body"]:
            if s[1] in INSIDE and s[3] > number:
                s[3] -= 1


def _drop_statement(case, i, k):
    cell = case["cells"][i]
    statement = cell["body"][k]
    results, what, operands, detail = statement
    if what == "to_int":
        if any(results[0] in s[2] for s in cell["body"]):
            return False
    elif results:
        instead = operands[0]
        for s in cell["body"][k + 1 :]:
            s[2] = [instead if v in results else v for v in s[2]]
        cell["returns"] = [instead if v in results else v for v in cell["returns"]]
    if what in ("state", "norm"):
        cell[f"{what}s"] -= 1
        for s in cell["body"]:
            if s[1] == what and s[3] > detail:
                s[3] -= 1
    if what == "module" and sum(s[1] == what and s[3] == detail for s in cell["body"]) == 1:
        for number in reversed(range(len(case["hooks"]))):
            on = case["hooks"][number]["on"]
            if on[0] == "module" and on[1] == i:
                if on[2] == detail:
                    _drop_hook(case, number)
                elif on[2] > detail:
                    on[2] -= 1
        del cell["modules"][detail]
        for s in cell["body"]:
            if s[1] == what and s[3] > detail:
                s[3] -= 1
    if what == "weight":
        for number in reversed(range(len(case["hooks"]))):
            on = case["hooks"][number]["on"]
            if on[0] == "weight" and on[1] == i:
                if on[2] == detail:
                    _drop_hook(case, number)
                elif on[2] > detail:
                    on[2] -= 1
        del cell["weights"][detail]
        for s in cell["body"]:
            if s[1] == "weight" and s[3] > detail:
                s[3] -= 1
    del cell["body"][k]
    if what in INSIDE:
        _drop_hook(case, detail)
    return None


def _drop_keyword(case, i):
    cell = case["cells"][i]
    if f"k{cell['keywords'] - 1}" in cell["returns"]:
        return False
    for s in _calls(case, i):
        s[2].pop()
    cell["keywords"] -= 1
    return None


def _drop_input(case, i):
    """Drop the last positional argument, if it isn't used."""
    if (i == 0 and case["same"]) or any(hook["on"] == ["input", len(case["cells"][i]["inputs"]) - 1] for hook in case["hooks"]):
        return False
    cell = case["cells"][i]
    k, kind = len(cell["inputs"]) - 1, cell["inputs"][-1]
    names = {f"a{k}", f"a{k}_0", f"a{k}_1"}
    if names & {*cell["returns"], *(v for s in cell["body"] for v in s[2])}:
        for name in names:
            for s in cell["body"]:
                s[2] = ["a0" if v == name and kind != "i" else v for v in s[2]]
            cell["returns"] = ["a0" if v == name else v for v in cell["returns"]]
        if kind == "i":
            return False
    start = sum(map(_width, cell["inputs"][:-1]))
    for s in _calls(case, i):
        del s[2][start : start + _width(kind)]
    cell["inputs"].pop()
    if i == 0 and k in case["wanted"][0]:
        case["wanted"][0].remove(k)
        if not case["wanted"][0] and not case["wanted"][1]:
            return False
    return None


def _one_output(case, i):
    cell = case["cells"][i]
    cell["output"] = "f"
    cell["returns"].pop()
    for parent in case["cells"]:
        for s in parent["body"]:
            if s[1] in CALLS and s[3] == i:
                first, dropped = s[0][0], s[0].pop()
                for t in parent["body"]:
                    t[2] = [first if v == dropped else v for v in t[2]]
                parent["returns"] = [first if v == dropped else v for v in parent["returns"]]
    return None
