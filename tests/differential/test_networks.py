"""The same random cases at every run; `python -m tests.differential --cases 10000` runs more of them, in all ways."""

import copy

import pytest

from msjax.core.hooks import protocol
from tests.differential import compare, generate, render, shrink, ways

# So many cases have everything in them; the first few of them run here.
CASES, RUN, BLOCK = 150, 8, 2


@pytest.mark.parametrize("block", range(RUN // BLOCK))
def test_same_outputs_gradients_and_hook_calls_in_every_way(block):
    for number in range(block * BLOCK, (block + 1) * BLOCK):
        case = generate.case(0, number)
        source = render.program(case)
        found = compare.differences(case, source, compare.in_turn(compare.ALL, number))
        for way, cause, detail in found:
            pytest.fail(f"Case {number}, {way}: {cause}\n{detail}\n\n{source}")


def test_the_cases_have_everything_in_them():
    cases = [generate.case(0, number) for number in range(CASES)]
    cells = [cell for case in cases for cell in case["cells"]]
    hooks = [hook for case in cases for hook in case["hooks"]]
    assert {s[1] for cell in cells for s in cell["body"]} == set(generate.STATEMENTS) | {"call", "to_int"}
    assert {kind for cell in cells for kind in cell["inputs"]} == set("fintd")
    assert {hook["kind"] for hook in hooks} == {*generate.CELL_KINDS, "tensor", "gradients"}
    assert {name for hook in hooks for name in hook["options"]} == {"prepend", "with_kwargs", "always_call", "observe", "traced"}
    assert {case["dialect"] for case in cases} == {"tutorial", "mindspore-2.10", "mindspore-1"}
    assert any(hook["since"] for hook in hooks) and any(hook["until"] not in (None, 0) for hook in hooks)
    assert any(len([s for cell in case["cells"] for s in cell["body"] if s[1] == "call" and s[3] == 1]) > 1 for case in cases)
    assert any(cell["bprop"] is not None for cell in cells)


@pytest.mark.long
def test_a_difference_is_found_and_shrunk(monkeypatch):
    class Forgetful(ways.Grad):
        """Calls no backward hooks of cells."""

        def grad(self, args, kwargs):
            monkeypatch.setattr(protocol.CallFrame, "call_hooks", lambda self, grads: list(grads[: self.n_inputs]))
            try:
                return super().grad(args, kwargs)
            finally:
                monkeypatch.undo()

    before = dict(ways.WAYS)
    ways.WAYS["forgetful"] = Forgetful
    try:

        def differs(case):
            return any(
                "missing backward" in cause for _, cause, _ in compare.differences(case, render.program(case), ["forgetful"])
            )

        case = next(c for c in (generate.case(0, number) for number in range(20)) if differs(c))
        small = shrink.shrink(copy.deepcopy(case), differs)
        assert differs(small)
        assert [hook["kind"] for hook in small["hooks"]] == ["backward"] and small["stages"] == ["grad"]
        assert sum(len(cell["body"]) for cell in small["cells"]) <= len(small["cells"])
    finally:
        ways.WAYS.clear()
        ways.WAYS.update(before)
