"""A small run of the benchmark: all contenders of jax and msjax compute the same losses, and the table is printed."""

import re

import pytest

from tests.bench import __main__ as bench, kernels
from tests.bench.rows import ROWS, Row

# One row for each way to run a step; the other rows are the same ways with more in them, and run in `python -m tests.bench --quick`.
CHOSEN = (
    "compiled / jax.jit by hand",
    "PyNative with hooks / PyNative",
    "PyNative / PyTorch eager",
)


def test_quick_run_compares_losses(capsys, monkeypatch):
    monkeypatch.delenv("MSJAX_BENCH_TORCH", raising=False)
    bench.main(["--quick", "--cases", "LeNet", "--rows", *CHOSEN])
    printed = capsys.readouterr().out
    assert "LeNet-5" in printed and "ResNet" not in printed and "jax 0." in printed
    for row in CHOSEN[:-1]:
        assert re.search(rf"^{row} +the same losses$", printed, re.M)
    assert "left out: torch: MSJAX_BENCH_TORCH is not set" in printed


def test_networks_by_hand_are_the_cells(capsys):
    bench.main(["--quick", "--cases", "ResNet", "MobileNet", "Transformer", "--rows", "by hand, plain kernels"])
    assert capsys.readouterr().out.count("the same losses") == 3


def test_a_table_has_a_line_for_each_row(capsys):
    row = next(row for row in ROWS if row.name == "PyNative with hooks / PyNative")
    bench.steps("LeNet-5, 2x1x32x32", [row], 1, None, bench.Table(markdown=True))
    title, _, rule, line = capsys.readouterr().out.strip().splitlines()[-4:]
    assert title == "" and rule.startswith("| --- | ---: ") and line.startswith(f"| {row.name} | ")


def test_a_contender_that_computes_something_else_is_found():
    same, other = (None, [1.0, 0.5]), (None, [1.0, 0.6])
    bench.check("case", {"jax.jit": same, "compiled": same})
    with pytest.raises(AssertionError, match=r"case: losses of 'compiled' against those of 'jax.jit'"):
        bench.check("case", {"jax.jit": same, "compiled": other})


def test_kernels_are_compared_with_xlas_where_they_are_others():
    parts = dict(kernels.pairs("lenet", 1))
    assert [name.rpartition(": ")[2] for name in parts][:2] == ["_few_columns", "_rows"] and len(parts) == 4
    # For the result, msjax has chosen XLA's own here.
    assert kernels.ratio(*parts["6x14x14 by 16x6x5x5, stride 1: _rows"]["result"], {}, 1) is None
    assert kernels.ratio(*list(parts.values())[-1]["result"], {}, 1)[0] > 0


def test_ratios():
    times = {"a": [4.0, 6.0], "b": [2.0, 2.0], "a0": [1.0, 2.0], "b0": [0.5, 1.0]}
    assert Row("", "a", "b").ratios(times) == [2.0, 3.0]
    assert Row("", "a", "b", a0="a0", b0="b0").ratios(times) == [2.0, 4.0]
    assert Row("", "a", "b", 1.1, small=1.25).target_of("LeNet-5, batch 1") == 1.25
