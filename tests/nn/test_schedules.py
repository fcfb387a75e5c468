"""Learning-rate schedules, tables and schedulers against numbers of MindSpore 2.10."""

import json
from pathlib import Path

import numpy as np
import pytest

import msjax as ms
import msjax.experimental.optim as eo
from msjax import Parameter, Tensor, nn
from msjax.experimental.optim import lr_scheduler

STEPS = (0, 1, 3, 4, 5, 9, 12)
SCHEDULES = [
    ("nn.CosineDecayLR(0.01, 0.1, 6)", [0.1, 0.0939711, 0.055, 0.0325, 0.0160289, 0.01, 0.01]),
    ("nn.ExponentialDecayLR(0.1, 0.9, 4)", [0.1, 0.0974004, 0.0924021, 0.09, 0.0876603, 0.0788943, 0.0729]),
    ("nn.ExponentialDecayLR(0.1, 0.9, 4, True)", [0.1, 0.1, 0.1, 0.09, 0.09, 0.081, 0.0729]),
    ("nn.InverseDecayLR(0.1, 0.9, 4)", [0.1, 0.0816327, 0.0597015, 0.0526316, 0.0470588, 0.0330579, 0.027027]),
    ("nn.InverseDecayLR(0.1, 0.5, 4, True)", [0.1, 0.1, 0.1, 0.0666667, 0.0666667, 0.05, 0.04]),
    ("nn.NaturalExpDecayLR(0.1, 0.9, 4)", [0.1, 0.040657, 0.00672055, 0.00273237, 0.0011109, 3.03539e-05, 2.03995e-06]),
    ("nn.NaturalExpDecayLR(0.1, 0.9, 4, True)", [0.1, 0.1, 0.1, 0.00273237, 0.00273237, 7.46586e-05, 2.03995e-06]),
    ("nn.PolynomialDecayLR(0.1, 0.01, 4, 0.5)", [0.1, 0.0879423, 0.055, 0.01, 0.01, 0.01, 0.01]),
    ("nn.PolynomialDecayLR(0.1, 0.01, 4, 2.0, True)", [0.1, 0.060625, 0.015625, 0.01, 0.0226563, 0.015625, 0.01]),
    ("nn.WarmUpLR(0.5, 10)", [0.0, 0.05, 0.15, 0.2, 0.25, 0.45, 0.5]),
]
TABLES = [
    ("nn.exponential_decay_lr(0.1, 0.9, 6, 2, 2)", [0.1, 0.1, 0.09486833, 0.09486833, 0.09, 0.09]),
    ("nn.exponential_decay_lr(0.1, 0.9, 6, 2, 2, True)", [0.1, 0.1, 0.1, 0.1, 0.09, 0.09]),
    ("nn.natural_exp_decay_lr(0.1, 0.9, 6, 2, 2)", [0.1, 0.1, 0.040656966, 0.040656966, 0.016529889, 0.016529889]),
    ("nn.natural_exp_decay_lr(0.1, 0.9, 6, 2, 2, True)", [0.1, 0.1, 0.1, 0.1, 0.016529889, 0.016529889]),
    ("nn.inverse_decay_lr(0.1, 0.5, 6, 1, 2)", [0.1, 0.08, 0.066666667, 0.057142857, 0.05, 0.044444444]),
    ("nn.inverse_decay_lr(0.1, 0.5, 6, 1, 2, True)", [0.1, 0.1, 0.066666667, 0.066666667, 0.05, 0.05]),
    ("nn.cosine_decay_lr(0.01, 0.1, 8, 2, 2)", [0.1, 0.1, 0.055, 0.055, 0.01, 0.01, 0.01, 0.01]),
    ("nn.polynomial_decay_lr(0.1, 0.01, 8, 2, 2, 0.5)", [0.1, 0.1, 0.07363961, 0.07363961, 0.01, 0.01, 0.01, 0.01]),
    (
        "nn.polynomial_decay_lr(0.1, 0.01, 8, 1, 2, 2.0, True)",
        [0.1, 0.0325, 0.01, 0.015625, 0.01, 0.0125, 0.01, 0.01140625],
    ),
    ("nn.warmup_lr(0.1, 8, 2, 2)", [0.0, 0.0, 0.05, 0.05, 0.1, 0.1, 0.1, 0.1]),
    ("nn.piecewise_constant_lr([2, 5, 6], [0.1, 0.05, 0.01])", [0.1, 0.1, 0.05, 0.05, 0.05, 0.01]),
]


@pytest.mark.parametrize("text, want", SCHEDULES, ids=[s[0] for s in SCHEDULES])
def test_schedules(text, want):
    schedule = eval(text)
    got = [float(schedule(Tensor(step, ms.int32)).asnumpy()) for step in STEPS]
    np.testing.assert_allclose(got, want, rtol=2e-5)
    assert schedule(3).dtype == ms.float32 and schedule(3).shape == ()


@pytest.mark.parametrize("text, want", TABLES, ids=[t[0] for t in TABLES])
def test_tables(text, want):
    np.testing.assert_allclose(eval(text), want, rtol=1e-7)


ERRORS = [
    ("nn.ExponentialDecayLR(-0.1, 0.9, 4)", ValueError, "learning_rate"),
    ("nn.ExponentialDecayLR(1, 0.9, 4)", TypeError, "learning_rate"),
    ("nn.ExponentialDecayLR(0.1, 0.9, 4.0)", TypeError, "decay_steps"),
    ("nn.ExponentialDecayLR(0.1, 0.9, 0)", ValueError, "decay_steps"),
    ("nn.ExponentialDecayLR(0.1, 0.9, 4, 1)", TypeError, "is_stair"),
    ("nn.CosineDecayLR(0.1, 0.01, 4)", ValueError, "max_lr"),
    ("nn.PolynomialDecayLR(0.1, 0.01, 4, 0.0)", ValueError, "power"),
    ("nn.WarmUpLR(0.1, 0)", ValueError, "warmup_steps"),
    ("nn.WarmUpLR(0.1, 2)('a')", TypeError, "step"),
    ("nn.LearningRateSchedule()(Tensor(1))", NotImplementedError, "construct"),
    ("nn.piecewise_constant_lr([2, 5], [0.1])", ValueError, "one learning rate for each"),
    ("nn.piecewise_constant_lr([5, 2], [0.1, 0.05])", ValueError, "grow"),
    ("nn.piecewise_constant_lr(2, [0.1])", TypeError, "milestone"),
    ("nn.piecewise_constant_lr([2], [1])", TypeError, "learning_rates"),
    ("nn.warmup_lr(0.1, 6, 2, 0)", ValueError, "warmup_epoch"),
    ("nn.cosine_decay_lr(0.1, 0.01, 6, 2, 2)", ValueError, "max_lr"),
    ("lr_scheduler.StepLR(1, 3)", TypeError, "optimizer"),
    ("lr_scheduler.StepLR(optimizer(), 3.0)", TypeError, "step_size"),
    ("lr_scheduler.LinearLR(optimizer(), start_factor=0.0)", ValueError, "start_factor"),
    ("lr_scheduler.MultiStepLR(optimizer(), [2.0])", TypeError, "milestone"),
    ("lr_scheduler.LambdaLR(optimizer(), [lambda e: 1])", ValueError, "2 entries"),
    ("lr_scheduler.SequentialLR(optimizer(), [], [1])", ValueError, "one scheduler more"),
    ("lr_scheduler.ReduceLROnPlateau(optimizer(), factor=1.0)", ValueError, "factor"),
    ("lr_scheduler.ReduceLROnPlateau(optimizer(), mode='a')", ValueError, "mode"),
    ("lr_scheduler.CyclicLR(optimizer(), 0.01, 0.1, mode='a')", ValueError, "mode"),
    ("lr_scheduler.CosineAnnealingWarmRestarts(optimizer(), 0)", ValueError, "T_0"),
]


@pytest.mark.parametrize("text, kind, words", ERRORS, ids=[e[0] for e in ERRORS])
def test_errors(text, kind, words):
    with pytest.raises(kind, match=words):
        eval(text)


def optimizer():
    w, b = Parameter(Tensor([1.0, 2.0]), name="w"), Parameter(Tensor([1.0]), name="b")
    return eo.SGD([{"params": [w]}, {"params": [b], "lr": 0.2}], 0.05)


SCHEDULERS = json.loads((Path(__file__).parent.parent / "data" / "lr_schedulers.json").read_text())["cases"]


def rates(o):
    return [float(group["lr"].asnumpy()) for group in o.param_groups]


@pytest.mark.parametrize("case", [c for c in SCHEDULERS if "kw" not in c], ids=lambda c: c["make"])
def test_schedulers(case):
    o = optimizer()
    scheduler = eval(case["make"], {"S": lr_scheduler, "o": o})
    got = [[float(lr.asnumpy()) for lr in scheduler.get_last_lr()]]
    for _ in case["lr"][1:]:
        scheduler.step()
        got.append(rates(o))
    np.testing.assert_allclose(got, case["lr"], rtol=3e-5, atol=1e-8)


@pytest.mark.parametrize("case", [c for c in SCHEDULERS if "kw" in c], ids=lambda c: str(c["kw"]))
def test_reduce_on_plateau(case):
    o = optimizer()
    scheduler = lr_scheduler.ReduceLROnPlateau(o, **case["kw"])
    got = []
    for measure in (1.0, 0.9, 0.95, 0.96, 0.97, 0.8, 0.85, 0.9, 0.95, 1.0):
        scheduler.step(measure)
        got.append(rates(o))
    np.testing.assert_allclose(got, case["lr"], rtol=3e-5)


@pytest.mark.parametrize("text", ["StepLR(o, 3, 0.5)", "ExponentialLR(o, 0.9)", "LinearLR(o)", "CosineAnnealingLR(o, 4, 0.01)"])
def test_a_jump_ends_where_steps_do(text):
    values = []
    for jump in (False, True):
        o = optimizer()
        scheduler = eval("lr_scheduler." + text, {"lr_scheduler": lr_scheduler, "o": o})
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


def test_a_users_schedule_in_an_optimizer():
    class Late(nn.LearningRateSchedule):
        def construct(self, global_step):
            return ms.ops.where(global_step < 1, Tensor(0.0), Tensor(1.0))

    w = Parameter(Tensor([1.0]), name="w")
    o = nn.SGD([w], Late())
    values = []
    for _ in range(2):
        o((Tensor([0.25]),))
        values.append(float(w.asnumpy()[0]))
    assert values == [1.0, 0.75]
