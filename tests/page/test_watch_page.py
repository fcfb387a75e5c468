"""The page that `watch` writes while training goes on."""

import threading

import jax.numpy as jnp
import numpy as np
import pytest

import msjax as ms
from msjax import nn, tools
from msjax.core.page.document import PageSink
from msjax.core.page.page import Page
from msjax.core.tools.watching.sinks import Behind
from tests.page.made_runs import row


def net():
    return nn.SequentialCell(nn.Dense(2, 2, "ones"), nn.ReLU())


def run_in(path):
    return Page.read(path).views[0]["runs"][0]


def test_a_watched_training_run(tmp_path):
    path, network = tmp_path / "run.html", net()
    step = ms.jit(nn.TrainOneStepCell(network, nn.SGD(network.trainable_params(), 0.01)))
    with tools.watch(network, every=2, to=str(path)) as watched:
        for _ in range(6):
            watched.note(loss=step(ms.Tensor([[1.0, 2.0]], ms.float32)).mean())
    run = run_in(path)
    assert run["name"] == "run" and list(run["kinds"]) == ["activation", "gradient", "parameter", "update"]
    kind = run["kinds"]["activation"]
    assert kind["names"] == ["0", "1", ""] and kind["first"].tolist() == [2, 4, 6]
    norms = [r.norm for r in watched.rows if r.kind == "activation" and r.name == "1"]
    np.testing.assert_array_equal(kind["planes"]["norm"][1], np.float32(norms))
    loss = run["numbers"]["loss"]
    assert loss["first"].tolist() == [1, 2, 3, 4, 5, 6] and (np.diff(loss["planes"]["value"][0]) < 0).all()
    ratio = run["kinds"]["update"]["planes"]["ratio"]
    by_hand = {r.kind: r.norm for r in watched.rows if r.step == 4 and r.name == "0.weight"}
    assert ratio[run["kinds"]["update"]["names"].index("0.weight"), 1] == pytest.approx(by_hand["update"] / by_hand["parameter"])


def test_the_page_of_a_watch_is_the_one_that_it_writes(tmp_path):
    path, network = tmp_path / "run.html", net()
    with tools.watch(network, every=1, what="activation", to=str(path)) as watched:
        for i in range(3):
            network(ms.Tensor([[1.0, i]], ms.float32))
            watched.note(loss=i / 2)
    told, written = tools.page(watched).views[0]["runs"][0], run_in(path)
    assert told["numbers"]["loss"]["first"].tolist() == [1, 2, 3] == written["numbers"]["loss"]["first"].tolist()
    np.testing.assert_array_equal(told["kinds"]["activation"]["planes"]["norm"], written["kinds"]["activation"]["planes"]["norm"])
    np.testing.assert_array_equal(
        told["kinds"]["activation"]["histograms"]["shares"], written["kinds"]["activation"]["histograms"]["shares"]
    )


def test_a_module_whose_steps_the_user_counts(tmp_path):
    from flax import nnx

    model = nnx.Sequential(nnx.Linear(2, 2, rngs=nnx.Rngs(0)), nnx.relu)
    with tools.watch(model, every=1, what="activation", to=str(tmp_path / "run.html")) as watched:
        for i in range(3):
            model(jnp.ones((1, 2)))
            watched.next_step(loss=jnp.float32(i))
    loss = run_in(tmp_path / "run.html")["numbers"]["loss"]
    assert loss["first"].tolist() == [1, 2, 3] and loss["planes"]["value"].tolist() == [[0, 1, 2]]


def test_what_rules_say_is_on_the_page(tmp_path):
    network = nn.SequentialCell(nn.Dense(2, 2, "zeros", "zeros"), nn.ReLU())
    rule = tools.rules.dead(steps=2, then=lambda *said: None)
    with tools.watch(
        network, every=1, what="activation", where="1", to=[str(tmp_path / "a.html"), lambda *_, **__: None], rules=[rule]
    ) as watched:
        for _ in range(3):
            network(ms.Tensor([[1.0, 2.0]], ms.float32))
    said = {"rule": "dead", "kind": "activation", "name": "1", "step": 2, "last": 2, "count": 1}
    assert run_in(tmp_path / "a.html")["warnings"] == [{**said, "message": "100% of the values are 0, at 2 steps in a row"}]
    assert [tuple(b)[:4] for b in watched.broken] == [("dead", "activation", "1", 2)]


def test_a_note_that_is_no_number():
    with (
        tools.watch(net(), every=1, what="activation") as watched,
        pytest.raises(TypeError, match=r"note\(loss=...\) should be a number"),
    ):
        watched.note(loss=jnp.ones(3))


def test_a_file_that_cannot_be_written_is_known_before_training(tmp_path):
    with pytest.raises(OSError):
        tools.watch(net(), every=1, to=str(tmp_path / "no" / "run.html"))


@pytest.fixture
def written(monkeypatch):
    """The threads that have written a page, in order."""
    threads = []
    monkeypatch.setattr(
        "msjax.core.page.document.write", lambda path, text, complete: threads.append((threading.current_thread().name, complete))
    )
    return threads


def test_a_step_does_not_write_and_pages_are_a_second_apart(written):
    page = PageSink("run.html")
    sink, page._due = Behind(page), float("inf")  # never due again
    for step in range(1, 50):
        sink(step, [row(step, "activation", "a", 1.0)])
        sink.number(step, "loss", 1.0)
    sink.close()
    assert written == [("MainThread", False), ("MainThread", True)]
    assert page._run.data()["kinds"]["activation"]["first"].tolist() == list(range(1, 50))


def test_a_page_that_is_due_is_written_by_a_thread(written):
    sink = Behind(PageSink("run.html"))
    for step in (1, 2):
        sink(step, [row(step, "activation", "a", 1.0)])
    sink.close()
    assert written == [("MainThread", False), ("msjax-watch", False), ("MainThread", True)]


def test_a_failure_in_the_thread_is_told(written, monkeypatch):
    sink = Behind(PageSink("run.html"))

    def fails(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr("msjax.core.page.document.as_html", fails)
    sink(1, [row(1, "activation", "a", 1.0)])
    with pytest.raises(OSError, match="full"):
        sink.wait()
    sink.close()
