"""A small run of the benchmark: all contenders of jax and msjax compute the same losses, and the table is printed."""

import re

import pytest

from tests.bench import __main__ as bench, growth, kernels
from tests.bench.data import TESTED
from tests.bench.rows import ROWS, Row

# One row for each way to run a step; all rows of all networks run in `python -m tests.commands`.
CHOSEN = (
    "compiled / jax.jit by hand",
    "PyNative with hooks / PyNative",
    "PyNative / PyTorch eager",
)


@pytest.mark.long
def test_quick_run_compares_losses(capsys, monkeypatch):
    monkeypatch.delenv("MSJAX_BENCH_TORCH", raising=False)
    bench.main(["--quick", "--cases", "LeNet", "--rows", *CHOSEN])
    printed = capsys.readouterr().out
    assert "LeNet-5" in printed and "ResNet" not in printed and "jax 0." in printed
    for row in CHOSEN[:-1]:
        assert re.search(rf"^{row} +the same losses$", printed, re.M)
    assert "left out: torch: MSJAX_BENCH_TORCH is not set" in printed


@pytest.mark.long
@pytest.mark.parametrize("row", ["compiled / jax.jit by hand", "compiled / jax.jit by hand, plain kernels"])
def test_networks_that_a_quick_run_leaves_out_are_the_same_by_hand(capsys, row):
    (case,) = TESTED
    bench.losses(case, [r for r in ROWS if r.name == row], None)
    assert re.search(rf"^{row} +the same losses$", capsys.readouterr().out, re.M)


def test_pages_have_a_column_for_each_case_and_say_where_a_target_is_missed(capsys):
    page = bench.Page()
    page.heading("LeNet-5, batch 1")
    page.row("compiled / by hand", [1.3, 1.0, 1.2], [1e-3, 1e-3], 1.25)
    page.row("compiled / PyTorch", [0.5], [1e-3, 1e-3], None)
    page.heading("LeNet-5, batch 32")
    page.row("compiled / by hand", [1.2], [1e-3, 1e-3], 1.1)
    page.heading(bench.SMALL)
    page.row("nn.Cell(), microseconds", [1.75], (), 10)
    page.first("LeNet-5, batch 1", "compiled", {"first": 0.918, "memory": 380.2})
    page.end()
    assert capsys.readouterr().out.split("\n\n") == [
        "\n| ratios | LeNet-5, batch 1 | LeNet-5, batch 32 | target |\n| --- | ---: | ---: | ---: |\n"
        "| compiled / by hand | 1.20 | **1.20** | 1.1 or 1.25 |\n| compiled / PyTorch | 0.50 |  |  |",
        "|  | median | target |\n| --- | ---: | ---: |\n| nn.Cell(), microseconds | 1.750 | 10 |",
        "| first step, s, and memory, MiB | compiled |\n| --- | ---: |\n| LeNet-5, batch 1 | 0.92, 380 |\n",
    ]


def test_tables_have_a_line_for_each_row(capsys):
    row = next(row for row in ROWS if row.name == "PyNative with hooks / PyNative")
    bench.steps("LeNet-5, 2x1x32x32", [row], 1, None, bench.Table())
    title, columns, line = capsys.readouterr().out.strip().splitlines()
    assert title == "LeNet-5, 2x1x32x32" and columns.split()[0] == "median" and line.startswith(row.name)


def test_a_contender_that_computes_something_else_is_found():
    same, other = (None, [1.0, 0.5]), (None, [1.0, 0.6])
    bench.check("case", {"jax.jit": same, "compiled": same})
    with pytest.raises(AssertionError, match=r"case: losses of 'compiled' against those of 'jax.jit'"):
        bench.check("case", {"jax.jit": same, "compiled": other})


def test_kernels_are_compared_with_xlas_where_they_are_others():
    parts = dict(kernels.pairs("lenet", 1))
    assert [name.rpartition(": ")[2] for name in parts][:2] == ["_few_columns", "_rows"] and len(parts) == 4
    _, xlas, operands = parts["6x14x14 by 16x6x5x5, stride 1: _rows"]["result"]
    assert kernels.ratio(xlas, xlas, operands, {}, 1) is None  # one program
    assert kernels.ratio(*list(parts.values())[-1]["result"], {}, 1)[0] > 0


def test_a_cost_that_grows_faster_than_the_others_is_told():
    linear, quadratic = {10: 1.0, 100: 10.0}, {10: 1.0, 100: 100.0}
    assert growth.verdict(linear, [linear]) == growth.verdict(linear, []) == ""
    assert growth.verdict(quadratic, [quadratic]) == "quadratic"
    assert growth.verdict({10: 1.0, 100: 25.0}, [linear]) == "steeper"


def test_ratios():
    times = {"a": [4.0, 6.0], "b": [2.0, 2.0], "a0": [1.0, 2.0], "b0": [0.5, 1.0]}
    assert Row("", "a", "b").ratios(times) == [2.0, 3.0]
    assert Row("", "a", "b", a0="a0", b0="b0").ratios(times) == [2.0, 4.0]
    assert Row("", "a", "b", 1.1, small=1.25).target_of("LeNet-5, batch 1") == 1.25
