"""Learning-rate schedules and tables against numbers of MindSpore 2.10."""

import numpy as np
import pytest

import msjax as ms
from msjax import Parameter, Tensor, nn
from tests.expected.source import texts_of

STEPS = (0, 1, 3, 4, 5, 9, 12)
SCHEDULES = [
    (lambda: nn.CosineDecayLR(0.01, 0.1, 6), [0.1, 0.0939711, 0.055, 0.0325, 0.0160289, 0.01, 0.01]),
    (lambda: nn.ExponentialDecayLR(0.1, 0.9, 4), [0.1, 0.0974004, 0.0924021, 0.09, 0.0876603, 0.0788943, 0.0729]),
    (lambda: nn.ExponentialDecayLR(0.1, 0.9, 4, True), [0.1, 0.1, 0.1, 0.09, 0.09, 0.081, 0.0729]),
    (lambda: nn.InverseDecayLR(0.1, 0.9, 4), [0.1, 0.0816327, 0.0597015, 0.0526316, 0.0470588, 0.0330579, 0.027027]),
    (lambda: nn.InverseDecayLR(0.1, 0.5, 4, True), [0.1, 0.1, 0.1, 0.0666667, 0.0666667, 0.05, 0.04]),
    (lambda: nn.NaturalExpDecayLR(0.1, 0.9, 4), [0.1, 0.040657, 0.00672055, 0.00273237, 0.0011109, 3.03539e-05, 2.03995e-06]),
    (lambda: nn.NaturalExpDecayLR(0.1, 0.9, 4, True), [0.1, 0.1, 0.1, 0.00273237, 0.00273237, 7.46586e-05, 2.03995e-06]),
    (lambda: nn.PolynomialDecayLR(0.1, 0.01, 4, 0.5), [0.1, 0.0879423, 0.055, 0.01, 0.01, 0.01, 0.01]),
    (lambda: nn.PolynomialDecayLR(0.1, 0.01, 4, 2.0, True), [0.1, 0.060625, 0.015625, 0.01, 0.0226563, 0.015625, 0.01]),
    (lambda: nn.WarmUpLR(0.5, 10), [0.0, 0.05, 0.15, 0.2, 0.25, 0.45, 0.5]),
]
TABLES = [
    (lambda: nn.exponential_decay_lr(0.1, 0.9, 6, 2, 2), [0.1, 0.1, 0.09486833, 0.09486833, 0.09, 0.09]),
    (lambda: nn.exponential_decay_lr(0.1, 0.9, 6, 2, 2, True), [0.1, 0.1, 0.1, 0.1, 0.09, 0.09]),
    (lambda: nn.natural_exp_decay_lr(0.1, 0.9, 6, 2, 2), [0.1, 0.1, 0.040656966, 0.040656966, 0.016529889, 0.016529889]),
    (lambda: nn.natural_exp_decay_lr(0.1, 0.9, 6, 2, 2, True), [0.1, 0.1, 0.1, 0.1, 0.016529889, 0.016529889]),
    (lambda: nn.inverse_decay_lr(0.1, 0.5, 6, 1, 2), [0.1, 0.08, 0.066666667, 0.057142857, 0.05, 0.044444444]),
    (lambda: nn.inverse_decay_lr(0.1, 0.5, 6, 1, 2, True), [0.1, 0.1, 0.066666667, 0.066666667, 0.05, 0.05]),
    (lambda: nn.cosine_decay_lr(0.01, 0.1, 8, 2, 2), [0.1, 0.1, 0.055, 0.055, 0.01, 0.01, 0.01, 0.01]),
    (lambda: nn.polynomial_decay_lr(0.1, 0.01, 8, 2, 2, 0.5), [0.1, 0.1, 0.07363961, 0.07363961, 0.01, 0.01, 0.01, 0.01]),
    (
        lambda: nn.polynomial_decay_lr(0.1, 0.01, 8, 1, 2, 2.0, True),
        [0.1, 0.0325, 0.01, 0.015625, 0.01, 0.0125, 0.01, 0.01140625],
    ),
    (lambda: nn.warmup_lr(0.1, 8, 2, 2), [0.0, 0.0, 0.05, 0.05, 0.1, 0.1, 0.1, 0.1]),
    (lambda: nn.piecewise_constant_lr([2, 5, 6], [0.1, 0.05, 0.01]), [0.1, 0.1, 0.05, 0.05, 0.05, 0.01]),
]


@pytest.mark.parametrize("make, want", SCHEDULES, ids=texts_of(s[0] for s in SCHEDULES))
def test_schedules(make, want):
    schedule = make()
    got = [float(schedule(Tensor(step, ms.int32)).asnumpy()) for step in STEPS]
    np.testing.assert_allclose(got, want, rtol=2e-5)
    assert schedule(3).dtype == ms.float32 and schedule(3).shape == ()


@pytest.mark.parametrize("make, want", TABLES, ids=texts_of(t[0] for t in TABLES))
def test_tables(make, want):
    np.testing.assert_allclose(make(), want, rtol=1e-7)


ERRORS = [
    (lambda: nn.ExponentialDecayLR(-0.1, 0.9, 4), ValueError, "learning_rate"),
    (lambda: nn.ExponentialDecayLR(1, 0.9, 4), TypeError, "learning_rate"),
    (lambda: nn.ExponentialDecayLR(0.1, 0.9, 4.0), TypeError, "decay_steps"),
    (lambda: nn.ExponentialDecayLR(0.1, 0.9, 0), ValueError, "decay_steps"),
    (lambda: nn.ExponentialDecayLR(0.1, 0.9, 4, 1), TypeError, "is_stair"),
    (lambda: nn.CosineDecayLR(0.1, 0.01, 4), ValueError, "max_lr"),
    (lambda: nn.PolynomialDecayLR(0.1, 0.01, 4, 0.0), ValueError, "power"),
    (lambda: nn.WarmUpLR(0.1, 0), ValueError, "warmup_steps"),
    (lambda: nn.WarmUpLR(0.1, 2)("a"), TypeError, "step"),
    (lambda: nn.LearningRateSchedule()(Tensor(1)), NotImplementedError, "construct"),
    (lambda: nn.piecewise_constant_lr([2, 5], [0.1]), ValueError, "one learning rate for each"),
    (lambda: nn.piecewise_constant_lr([5, 2], [0.1, 0.05]), ValueError, "grow"),
    (lambda: nn.piecewise_constant_lr(2, [0.1]), TypeError, "milestone"),
    (lambda: nn.piecewise_constant_lr([2], [1]), TypeError, "learning_rates"),
    (lambda: nn.warmup_lr(0.1, 6, 2, 0), ValueError, "warmup_epoch"),
    (lambda: nn.cosine_decay_lr(0.1, 0.01, 6, 2, 2), ValueError, "max_lr"),
]


@pytest.mark.parametrize("call, kind, words", ERRORS, ids=texts_of(e[0] for e in ERRORS))
def test_errors(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


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


def test_the_rate_of_an_optimizer_s_list_has_the_shape_of_the_step():
    w, v = (Parameter(Tensor([1.0]), name=name) for name in "wv")
    o = nn.SGD([w], [0.5, 0.25])
    assert o.learning_rate(Tensor([1])).tolist() == [0.25] and o.learning_rate(o.global_step).shape == (1,)
    assert o.learning_rate(Tensor(7)).shape == () and o.get_lr().item() == 0.5
    o = nn.SGD([{"params": [w, v], "lr": [0.5, 0.25]}], 0.1)
    assert [rate(Tensor([1])).tolist() for rate in o.learning_rate] == [[0.25], [0.25]]
    o((Tensor([1.0]), Tensor([2.0])))
    assert w.tolist() == [0.5] and v.tolist() == [0.0]
