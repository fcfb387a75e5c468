"""Optimizers: their state and their numbers against those of MindSpore (tests/data/optim.json)."""

import json
from pathlib import Path

import numpy as np
import pytest

import msjax.experimental.optim as eo
from msjax import Parameter, Tensor, nn
from tests.expected.source import texts_of

DATA = json.loads((Path(__file__).parents[2] / "data" / "optim.json").read_text())
CASES = {case["make"]: case for case in DATA["cases"]}
START = {name: np.array(value, np.float32) for name, value in DATA["params"].items()}
GRADS = [{name: np.array(value, np.float32) for name, value in step.items()} for step in DATA["grads"]]


def parameters():
    return {name: Parameter(Tensor(value), name=name) for name, value in START.items()}


def step(optimizer, grads):
    return optimizer(tuple(Tensor(grads[q.name]) for q in optimizer.parameters))


OPTIMIZERS = [
    lambda p, ps: nn.SGD(ps, 0.1),
    lambda p, ps: nn.SGD(ps, 0.1, momentum=0.9),
    lambda p, ps: nn.SGD(ps, 0.1, momentum=0.9, dampening=0.3),
    lambda p, ps: nn.SGD(ps, 0.1, momentum=0.9, nesterov=True),
    lambda p, ps: nn.SGD(ps, 0.1, weight_decay=0.1),
    lambda p, ps: nn.SGD(ps, 0.1, momentum=0.9, weight_decay=0.1, loss_scale=4.0),
    lambda p, ps: nn.SGD(
        [{"params": [p["w"], p["bn.gamma"]], "weight_decay": 0.1, "lr": 0.02}, {"params": [p["b"]]}], 0.1, momentum=0.5
    ),
    lambda p, ps: nn.SGD([{"params": [p["w"], p["bn.gamma"]], "lr": 0.02}, {"params": [p["b"]]}], 0.1, weight_decay=0.2),
    lambda p, ps: nn.SGD(ps, [0.1, 0.2, 0.3, 0.4], weight_decay=0.1),
    lambda p, ps: nn.SGD(ps, nn.ExponentialDecayLR(0.1, 0.5, 2)),
    lambda p, ps: nn.Momentum(ps, 0.1, 0.9),
    lambda p, ps: nn.Momentum(ps, 0.1, 0.9, weight_decay=0.1, loss_scale=2.0),
    lambda p, ps: nn.Momentum(
        [
            {"params": [p["w"]], "grad_centralization": True},
            {"params": [p["b"], p["bn.gamma"]], "lr": [0.1, 0.2, 0.3, 0.4]},
            {"order_params": ps},
        ],
        0.1,
        0.9,
        weight_decay=0.1,
    ),
    lambda p, ps: nn.Momentum(ps, 0.1, 0.9, weight_decay=nn.ExponentialDecayLR(0.5, 0.5, 2)),
    lambda p, ps: nn.Momentum(
        [{"params": [p["w"]], "weight_decay": nn.ExponentialDecayLR(0.5, 0.5, 2)}, {"params": [p["b"], p["bn.gamma"]]}], 0.1, 0.9
    ),
    lambda p, ps: nn.Adam(ps, 0.1),
    lambda p, ps: nn.Adam(ps, 0.1, beta1=0.8, beta2=0.9, eps=0.001, weight_decay=0.1, loss_scale=2.0),
    lambda p, ps: nn.Adam(ps, 0.1, use_nesterov=True),
    lambda p, ps: nn.Adam(ps, 0.1, use_amsgrad=True),
    lambda p, ps: nn.Adam(ps, 0.1, use_lazy=True),
    lambda p, ps: nn.Adam(ps, 0.1, use_offload=True),
    lambda p, ps: nn.AdamWeightDecay(ps, 0.1),
    lambda p, ps: nn.AdamWeightDecay(ps, 0.1, weight_decay=0.1),
    lambda p, ps: nn.AdamWeightDecay([{"params": [p["w"], p["bn.gamma"]], "weight_decay": 0.1}, {"params": [p["b"]]}], 0.1),
    lambda p, ps: nn.AdamWeightDecay(ps, 0.1, weight_decay=nn.ExponentialDecayLR(0.5, 0.5, 2)),
    lambda p, ps: nn.LazyAdam(ps, 0.1, weight_decay=0.1),
    lambda p, ps: nn.LazyAdam(ps, 0.1, use_nesterov=True),
    lambda p, ps: nn.AdamOffload(ps, 0.1, weight_decay=0.1),
    lambda p, ps: nn.AdamOffload(ps, 0.1, use_nesterov=True),
    lambda p, ps: nn.AdaMax(ps, 0.1),
    lambda p, ps: nn.AdaMax(ps, 0.1, beta1=0.8, beta2=0.9, eps=0.001, weight_decay=0.1, loss_scale=2.0),
    lambda p, ps: nn.Adagrad(ps),
    lambda p, ps: nn.Adadelta(ps),
    lambda p, ps: nn.Adadelta(ps, learning_rate=0.5, rho=0.8, epsilon=0.001, loss_scale=2.0, weight_decay=0.1),
    lambda p, ps: nn.ASGD(ps),
    lambda p, ps: nn.ASGD(ps, learning_rate=0.1, lambd=0.01, alpha=0.5, t0=2.0, weight_decay=0.1),
    lambda p, ps: nn.Rprop(ps),
    lambda p, ps: nn.Rprop(ps, learning_rate=0.1, etas=(0.4, 1.3), step_sizes=(0.01, 0.5), weight_decay=0.1),
    lambda p, ps: nn.RMSProp(ps),
    lambda p, ps: nn.RMSProp(ps, 0.1, decay=0.8, momentum=0.5, epsilon=0.001, centered=True, loss_scale=2.0, weight_decay=0.1),
    lambda p, ps: nn.RMSProp(ps, 0.1, decay=0.8, momentum=0.5, epsilon=0.001, loss_scale=2.0, weight_decay=0.1),
    lambda p, ps: nn.FTRL(ps),
    lambda p, ps: nn.ProximalAdagrad(ps),
    lambda p, ps: nn.ProximalAdagrad(ps, accum=0.3, learning_rate=0.1, l1=0.05, l2=0.1, loss_scale=2.0, weight_decay=0.1),
    lambda p, ps: nn.AdaFactor(ps),
    lambda p, ps: nn.AdaFactor(ps, learning_rate=0.1, scale_parameter=False, relative_step=False),
    lambda p, ps: nn.AdaFactor(
        ps, learning_rate=0.1, scale_parameter=True, relative_step=False, weight_decay=0.1, clip_threshold=0.5, decay_rate=0.6
    ),
    lambda p, ps: nn.AdaFactor(ps, learning_rate=0.1, scale_parameter=False, relative_step=False, compression=True),
    lambda p, ps: nn.AdaFactor(ps, warmup_init=True),
    lambda p, ps: nn.AdaFactor(ps, relative_step=True, scale_parameter=False),
    lambda p, ps: eo.SGD(ps, 0.1),
    lambda p, ps: eo.SGD(ps, 0.1, momentum=0.9, dampening=0.3, weight_decay=0.1, maximize=True),
    lambda p, ps: eo.SGD(
        [{"params": [p["w"]], "lr": 0.2}, {"params": [p["b"], p["bn.gamma"]], "weight_decay": 0.1}],
        0.1,
        momentum=0.9,
        nesterov=True,
    ),
    lambda p, ps: eo.Adam(ps, 0.1),
    lambda p, ps: eo.AdamW(ps, 0.1),
    lambda p, ps: eo.AdamW(ps, 0.1, betas=(0.8, 0.9), eps=0.001, weight_decay=0.1, amsgrad=True, maximize=True),
    lambda p, ps: eo.Adadelta(ps),
    lambda p, ps: eo.Adadelta(ps, 0.5, rho=0.8, eps=0.001, weight_decay=0.1, maximize=True),
    lambda p, ps: eo.Adagrad(ps),
    lambda p, ps: eo.Adagrad(ps, 0.1, lr_decay=0.1, weight_decay=0.1, initial_accumulator_value=0.5, eps=0.001, maximize=True),
    lambda p, ps: eo.ASGD(ps),
    lambda p, ps: eo.ASGD(ps, 0.1, lambd=0.01, alpha=0.5, t0=2.0, weight_decay=0.1, maximize=True),
    lambda p, ps: eo.Adamax(ps),
    lambda p, ps: eo.Adamax(ps, 0.1, betas=(0.8, 0.9), eps=0.001, weight_decay=0.1, maximize=True),
    lambda p, ps: eo.RMSprop(ps),
    lambda p, ps: eo.RMSprop(ps, 0.1, alpha=0.8, eps=0.001, weight_decay=0.1, momentum=0.5, centered=True, maximize=True),
    lambda p, ps: eo.RMSprop(ps, 0.1, alpha=0.8, eps=0.001, weight_decay=0.1, momentum=0.5),
    lambda p, ps: eo.Rprop(ps),
    lambda p, ps: eo.Rprop(ps, 0.1, etas=(0.4, 1.3), step_sizes=(0.01, 0.5), maximize=True),
    lambda p, ps: eo.RAdam(ps),
    lambda p, ps: eo.RAdam(ps, 0.1, betas=(0.5, 0.6), eps=0.001, weight_decay=0.1),
    lambda p, ps: eo.NAdam(ps),
    lambda p, ps: eo.NAdam(ps, 0.1, betas=(0.8, 0.9), eps=0.001, weight_decay=0.1, momentum_decay=0.1),
]
NAMES = texts_of(OPTIMIZERS)


def test_all_that_was_recorded_is_made():
    assert NAMES == list(CASES)


@pytest.mark.parametrize("text, make", list(zip(NAMES, OPTIMIZERS)), ids=NAMES)
def test_numbers_are_mindspores(text, make):
    p = parameters()
    optimizer = make(p, list(p.values()))
    own = [[q.name, list(q.shape)] for q in optimizer.get_parameters() if q.name not in p]
    # The learning rates of experimental optimizers are Parameters of the cell here, so that compiled programs see them.
    own = [q for q in own if not (text.startswith("eo.") and q[0].startswith("learning_rate_group"))]
    assert own == CASES[text]["state"]
    wanted = dict(zip((0, 1, 3), CASES[text]["values"]))
    for number, grads in enumerate(GRADS):
        step(optimizer, grads)
        for q, value in zip(p.values(), wanted.get(number, ())):
            np.testing.assert_allclose(q.asnumpy().ravel(), value, rtol=2e-4, atol=1e-5)
