"""Experimental optimizers: groups, errors; their learning-rate schedulers against numbers of MindSpore 2.10."""

import json
from pathlib import Path

import numpy as np
import pytest

import msjax as ms
import msjax.experimental.optim as eo
from msjax import Parameter, Tensor
from msjax.experimental.optim import lr_scheduler
from tests.expected.source import texts_of


def test_groups_can_be_changed():
    w, b = (Parameter(Tensor([1.0, -2.0]), name=name) for name in "wb")
    optimizer = eo.SGD([{"params": w}], lr=0.5)
    optimizer.param_groups[0]["weight_decay"] = 1.0
    optimizer.param_groups[0]["lr"].set_data(Tensor(1.0))
    optimizer((Tensor([0.0, 0.0]),))
    assert w.asnumpy().tolist() == [0.0, 0.0]
    optimizer.add_param_group({"params": [b], "lr": 0.25})
    optimizer((Tensor([0.0, 0.0]), Tensor([4.0, 4.0])))
    assert b.asnumpy().tolist() == [0.0, -3.0]
    assert [q.name for q in optimizer.accum] == ["accum.w", "accum.b"]
    assert "Parameter Group 1\n    dampening: 0.0\n    grad_centralization: False\n    lr: 0.25" in repr(optimizer)


def optimizer():
    w, b = Parameter(Tensor([1.0, 2.0]), name="w"), Parameter(Tensor([1.0]), name="b")
    return eo.SGD([{"params": [w]}, {"params": [b], "lr": 0.2}], 0.05)


SCHEDULERS = json.loads((Path(__file__).parent / "data" / "lr_schedulers.json").read_text())["cases"]


def rates(o):
    return [float(group["lr"].asnumpy()) for group in o.param_groups]


MAKES = [
    lambda o: lr_scheduler.StepLR(o, 3, 0.5),
    lambda o: lr_scheduler.LinearLR(o),
    lambda o: lr_scheduler.LinearLR(o, 0.5, 0.8, 3),
    lambda o: lr_scheduler.ExponentialLR(o, 0.9),
    lambda o: lr_scheduler.PolynomialLR(o),
    lambda o: lr_scheduler.PolynomialLR(o, 4, 2.0),
    lambda o: lr_scheduler.MultiplicativeLR(o, lambda e: 0.95),
    lambda o: lr_scheduler.MultiplicativeLR(o, [lambda e: 0.95, lambda e: 0.9]),
    lambda o: lr_scheduler.ConstantLR(o),
    lambda o: lr_scheduler.ConstantLR(o, 0.5, 2),
    lambda o: lr_scheduler.MultiStepLR(o, [2, 4], 0.5),
    lambda o: lr_scheduler.LambdaLR(o, lambda e: 0.95**e),
    lambda o: lr_scheduler.LambdaLR(o, [lambda e: 0.95**e, lambda e: 1.0 / (e + 1)]),
    lambda o: lr_scheduler.SequentialLR(o, [lr_scheduler.ConstantLR(o, 0.1, 2), lr_scheduler.ExponentialLR(o, 0.9)], [3]),
    lambda o: lr_scheduler.CyclicLR(o, 0.01, 0.1, 3),
    lambda o: lr_scheduler.CyclicLR(o, 0.01, 0.1, 2, 4, "triangular2"),
    lambda o: lr_scheduler.CyclicLR(o, 0.01, 0.1, 2, 3, "exp_range", 0.9),
    lambda o: lr_scheduler.CosineAnnealingLR(o, 4),
    lambda o: lr_scheduler.CosineAnnealingLR(o, 4, 0.01),
    lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 3),
    lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 2, 2, 0.01),
]
RATES = {case["make"]: case["lr"] for case in SCHEDULERS if "kw" not in case}


def test_all_schedulers_that_were_recorded_are_made():
    assert texts_of(MAKES) == list(RATES)


@pytest.mark.parametrize("make, wanted", list(zip(MAKES, RATES.values())), ids=list(RATES))
def test_schedulers(make, wanted):
    o = optimizer()
    scheduler = make(o)
    got = [[float(lr.asnumpy()) for lr in scheduler.get_last_lr()]]
    for _ in wanted[1:]:
        scheduler.step()
        got.append(rates(o))
    np.testing.assert_allclose(got, wanted, rtol=3e-5, atol=1e-8)


@pytest.mark.parametrize("case", [c for c in SCHEDULERS if "kw" in c], ids=lambda c: str(c["kw"]))
def test_reduce_on_plateau(case):
    o = optimizer()
    scheduler = lr_scheduler.ReduceLROnPlateau(o, **case["kw"])
    got = []
    for measure in (1.0, 0.9, 0.95, 0.96, 0.97, 0.8, 0.85, 0.9, 0.95, 1.0):
        scheduler.step(measure)
        got.append(rates(o))
    np.testing.assert_allclose(got, case["lr"], rtol=3e-5)


JUMPING = [
    lambda o: lr_scheduler.StepLR(o, 3, 0.5),
    lambda o: lr_scheduler.ExponentialLR(o, 0.9),
    lambda o: lr_scheduler.LinearLR(o),
    lambda o: lr_scheduler.CosineAnnealingLR(o, 4, 0.01),
]


@pytest.mark.parametrize("make", JUMPING, ids=texts_of(JUMPING))
def test_a_jump_ends_where_steps_do(make):
    values = []
    for jump in (False, True):
        o = optimizer()
        scheduler = make(o)
        if jump:
            scheduler.step(4)
        else:
            for _ in range(4):
                scheduler.step()
        values.append(rates(o))
    np.testing.assert_allclose(*values, rtol=1e-5, atol=1e-7)


def test_schedulers_of_ones_own():
    class Halving(lr_scheduler.LRScheduler):
        def get_lr(self):
            return [group["lr"] * 0.5 for group in self.optimizer.param_groups]

    o = optimizer()
    Halving(o).step()
    np.testing.assert_allclose(rates(o), [0.0125, 0.05])


def test_mints_optimizers_have_schedulers():
    w = Parameter(Tensor([1.0]), name="w")
    o = ms.mint.optim.SGD([w], lr=0.5)
    lr_scheduler.StepLR(o, 1, 0.5).step()
    o((Tensor([1.0]),))
    assert w.asnumpy().tolist() == [0.75]


ERRORS = [
    (lambda w: eo.SGD([], 0.1), ValueError, "empty"),
    (lambda w: eo.SGD([w], -0.1), ValueError, "lr"),
    (lambda w: eo.SGD([w], "a"), TypeError, "lr"),
    (lambda w: eo.SGD([{"p": [w]}], 0.1), KeyError, "params"),
    (lambda w: eo.Adam([w], betas=(1.0, 0.9)), ValueError, "betas"),
    (lambda w: eo.Adam([w], eps=-1.0), ValueError, "eps"),
    (lambda w: eo.SGD([{"params": w}, {"params": w}], 0.1), ValueError, "two groups"),
    (lambda w: lr_scheduler.StepLR(1, 3), TypeError, "optimizer"),
    (lambda w: lr_scheduler.StepLR(optimizer(), 3.0), TypeError, "step_size"),
    (lambda w: lr_scheduler.LinearLR(optimizer(), start_factor=0.0), ValueError, "start_factor"),
    (lambda w: lr_scheduler.MultiStepLR(optimizer(), [2.0]), TypeError, "milestone"),
    (lambda w: lr_scheduler.LambdaLR(optimizer(), [lambda e: 1]), ValueError, "2 entries"),
    (lambda w: lr_scheduler.SequentialLR(optimizer(), [], [1]), ValueError, "one scheduler more"),
    (lambda w: lr_scheduler.ReduceLROnPlateau(optimizer(), factor=1.0), ValueError, "factor"),
    (lambda w: lr_scheduler.ReduceLROnPlateau(optimizer(), mode="a"), ValueError, "mode"),
    (lambda w: lr_scheduler.CyclicLR(optimizer(), 0.01, 0.1, mode="a"), ValueError, "mode"),
    (lambda w: lr_scheduler.CosineAnnealingWarmRestarts(optimizer(), 0), ValueError, "T_0"),
]


@pytest.mark.parametrize("call, kind, words", ERRORS, ids=texts_of(e[0] for e in ERRORS))
def test_errors(call, kind, words):
    with pytest.raises(kind, match=words):
        call(Parameter(Tensor([1.0]), name="w"))
