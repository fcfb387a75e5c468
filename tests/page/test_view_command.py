"""``msjax view``."""

import webbrowser

import pytest

import msjax as ms
from msjax import nn, tools
from msjax.cli import main
from msjax.core.page.page import Page


@pytest.fixture
def opened(monkeypatch):
    addresses = []
    monkeypatch.setattr(webbrowser, "open", addresses.append)
    return addresses


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    network = nn.SequentialCell(nn.Dense(1, 1, "ones", "zeros"), nn.ReLU())
    with tools.watch(network, every=1, what="activation", statistics=("norm", "mean"), to=["a.html", "b.csv"]):
        for i in range(2):
            network(ms.Tensor([[i + 1.0]], ms.float32))
    return tmp_path


def test_one_page_is_opened_as_it_is(files, opened, capsys):
    assert main(["view", "a.html"]) == 0
    assert capsys.readouterr().out == "a.html\n" and opened == [(files / "a.html").as_uri()]


def test_runs_side_by_side(files, opened):
    assert main(["view", "a.html", "b.csv", "--no-open", "-o", "both.html"]) == 0
    assert not opened
    (view,) = Page.read("both.html").views
    assert [run["name"] for run in view["runs"]] == ["a", "b"]
    one, other = (run["kinds"]["activation"] for run in view["runs"])
    assert one["names"] == other["names"] == ["0", "1", ""]
    assert one["planes"]["norm"].tolist() == other["planes"]["norm"].tolist() == [[1, 2]] * 3
    assert "zeros" not in other["planes"]


@pytest.mark.parametrize(
    "name, reason",
    [
        ("no.html", "There is no file 'no.html'"),
        ("x.html", "is no page of msjax"),
        ("x.csv", "is no CSV file of tools.watch"),
        ("x.npz", "is no crash bundle"),
    ],
)
def test_files_that_show_nothing(files, name, reason, capsys):
    for suffix in ("html", "csv", "npz"):
        (files / f"x.{suffix}").write_text("x")
    assert main(["view", name]) == 2
    assert reason in capsys.readouterr().err
