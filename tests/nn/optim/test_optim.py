"""Optimizers: their numbers against closed forms, groups, state, errors; those of MindSpore are in test_recorded_optimizers.py."""

import copy
import math
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType

import msjax as ms
import msjax.experimental.optim as eo
from msjax import Parameter, Tensor, nn
from msjax.nn.optim import engine, optimizer as optimizer_module, settings
from tests.accelerators.devices import eight_devices
from tests.expected.source import texts_of


def one(values=(1.0, -2.0), name="w"):
    return Parameter(Tensor(np.array(values, np.float32)), name=name)


def test_adafactor_decays_all_groups_alike():
    found = []
    for decay in (0.0, 0.5):
        w = one()
        optimizer = nn.AdaFactor([{"params": [w], "weight_decay": decay}], 0.1, relative_step=False)
        optimizer((Tensor([0.5, 0.25]),))
        found.append(w.asnumpy())
    np.testing.assert_array_equal(*found)


def test_nesterov_momentum_looks_ahead():
    w, g = one(), np.array([0.5, 0.25], np.float32)
    optimizer = nn.Momentum([w], 0.1, 0.9, use_nesterov=True)
    value, v = np.array([1.0, -2.0]), np.zeros(2)
    for _ in range(3):
        optimizer((Tensor(g),))
        v = 0.9 * v + g
        value = value - 0.1 * (g + 0.9 * v)
    np.testing.assert_allclose(w.asnumpy(), value, rtol=1e-5)


def test_ftrl_shrinks_both_signs():
    w = one((0.0, 0.0, 0.0))
    nn.FTRL([w], initial_accum=1.0, learning_rate=1.0, lr_power=0.0, l1=0.5)((Tensor([2.0, -2.0, 0.25]),))
    np.testing.assert_allclose(w.asnumpy(), [-1.5, 1.5, 0.0], rtol=1e-6)


def test_adagrad_without_update_slots_keeps_the_sum():
    w = one()
    optimizer = nn.Adagrad([w], accum=4.0, learning_rate=1.0, update_slots=False)
    optimizer((Tensor([2.0, 4.0]),))
    np.testing.assert_allclose(w.asnumpy(), [0.0, -4.0], rtol=1e-6)
    assert optimizer.accum[0].asnumpy().tolist() == [4.0, 4.0]


def test_lamb_scales_the_move_to_the_norm():
    w, g = one((3.0, 4.0)), np.array([0.5, -1.0])
    nn.Lamb([w], 0.1, weight_decay=0.01)((Tensor(g.astype(np.float32)),))
    move = g / (np.abs(g) + 1e-6) + 0.01 * np.array([3.0, 4.0])
    np.testing.assert_allclose(w.asnumpy(), np.array([3.0, 4.0]) - 0.1 * 5 / np.linalg.norm(move) * move, rtol=1e-5)


def test_lars_scales_the_gradient_and_takes_over_the_decay():
    w, b, g = one((3.0, 4.0)), one((1.0,), "bias"), np.array([0.3, -0.4])
    optimizer = nn.LARS(nn.SGD([w, b], 0.1, weight_decay=0.01, loss_scale=2.0), epsilon=1e-5, coefficient=0.02)
    optimizer((Tensor((2 * g).astype(np.float32)), Tensor([2.0])))
    trust = 0.02 * 5 / (0.5 + 0.01 * 5 + 1e-5)
    np.testing.assert_allclose(w.asnumpy(), [3, 4] - 0.1 * trust * (g + 0.01 * np.array([3.0, 4.0])), rtol=1e-5)
    np.testing.assert_allclose(b.asnumpy(), [0.9], rtol=1e-6)


def test_gradients_are_centralized_where_mindspore_does():
    w = Parameter(Tensor(np.zeros((2, 16), np.float32)), name="w")
    v = Parameter(Tensor(np.zeros((2, 3), np.float32)), name="v")
    optimizer = nn.SGD([{"params": [w, v], "grad_centralization": True}], 1.0)
    gw, gv = np.arange(32, dtype=np.float32).reshape(2, 16), np.arange(6, dtype=np.float32).reshape(2, 3)
    optimizer((Tensor(gw), Tensor(gv)))
    np.testing.assert_allclose(w.asnumpy(), gw.mean(1, keepdims=True) - gw, rtol=1e-5)
    np.testing.assert_allclose(v.asnumpy(), -gv)


def test_decay_leaves_beta_and_gamma_alone_unless_in_groups():
    ps = [one(name="w"), one(name="bn.gamma"), one(name="bn.beta")]
    assert nn.SGD(ps, 0.1, weight_decay=0.1).decay_flags == (True, False, False)
    assert nn.SGD([{"params": ps}], 0.1, weight_decay=0.1).decay_flags == (True, True, True)


def test_learning_rates():
    w, b = one(), one(name="b")
    assert float(nn.SGD([w], 0.1).get_lr().asnumpy()) == np.float32(0.1)
    grouped = nn.SGD([{"params": [w], "lr": [0.1, 0.2]}, {"params": [b], "lr": nn.WarmUpLR(1.0, 2)}], 0.3)
    np.testing.assert_allclose([float(lr.asnumpy()) for lr in grouped.get_lr()], [0.1, 0.0])
    grouped((Tensor([0.0, 0.0]), Tensor([0.0, 0.0])))
    np.testing.assert_allclose([float(lr.asnumpy()) for lr in grouped.get_lr()], [0.2, 0.5])
    assert grouped.get_lr_parameter(w).name == "learning_rate_group_0"
    assert isinstance(grouped.get_lr_parameter([b])[0], nn.WarmUpLR)
    static = nn.SGD([{"params": [w], "lr": 0.2}, {"params": [b]}], 0.3)
    static.get_lr_parameter(w).set_data(Tensor(0.5))
    static((Tensor([1.0, 1.0]), Tensor([1.0, 1.0])))
    np.testing.assert_allclose(w.asnumpy(), [0.5, -2.5])
    np.testing.assert_allclose(b.asnumpy(), [0.7, -2.3], rtol=1e-6)


def test_settings_changed_later_count():
    w = one()
    optimizer = nn.AdaMax([w], 0.1, eps=1e-8)
    optimizer((Tensor([1.0, 1.0]),))
    optimizer.eps = 1e30
    before = w.asnumpy()
    optimizer((Tensor([1.0, 1.0]),))
    np.testing.assert_allclose(w.asnumpy(), before)


def test_state_that_stays_is_not_copied():
    optimizer = nn.SGD([one()], 0.1)
    (accum,) = optimizer.accum
    before = jnp.asarray(accum.value())
    optimizer((Tensor([1.0, 1.0]),))
    assert jnp.asarray(accum.value()) is before


def test_optimizers_alike_share_one_program():
    first, second = nn.Adam([one()], 0.1), nn.Adam([one()], 0.2)
    first((Tensor([1.0, 1.0]),))
    misses = engine.compiled_step.cache_info().misses
    second((Tensor([1.0, 1.0]),))
    assert engine.compiled_step.cache_info().misses == misses


@pytest.mark.parametrize("dtype", [ms.float16, ms.bfloat16, ms.float64])
def test_types_of_parameters_are_kept(dtype):
    w = Parameter(Tensor([1.0, 2.0], dtype), name="w")
    optimizer = nn.Adam([w], 0.1)
    optimizer((Tensor([1.0, 1.0], ms.float32),))
    assert w.dtype == dtype and optimizer.moment1[0].dtype == dtype
    np.testing.assert_allclose(w.astype(ms.float32).asnumpy(), [0.9, 1.9], rtol=1e-2)


def test_a_copy_goes_its_own_way():
    w = one()
    optimizer = nn.Momentum([w], 0.1, 0.9)
    other = copy.deepcopy(optimizer)
    optimizer((Tensor([1.0, 1.0]),))
    assert other.parameters[0].asnumpy().tolist() == [1.0, -2.0] and int(other.global_step.asnumpy()[0]) == 0


@pytest.mark.parametrize("make", [nn.Adam, eo.Adam])
def test_a_pickled_optimizer_goes_on_where_it_was(make):
    optimizer = make([one()], 0.1)
    grads = (Tensor([1.0, -0.5]),)
    optimizer(grads)
    other = pickle.loads(pickle.dumps(optimizer))
    for each in (optimizer, other):
        each(grads)
    np.testing.assert_array_equal(optimizer.parameters[0].asnumpy(), other.parameters[0].asnumpy())
    assert optimizer.parameters[0].asnumpy()[0] < 0.85


def test_optimizers_of_ones_own():
    class Heavy(nn.Optimizer):
        def __init__(self, params, lr, weight_decay=0.0):
            super().__init__(lr, params, weight_decay, loss_scale=2.0)
            self.moments = self.parameters.clone(prefix="moments", init="zeros")

        def construct(self, gradients):
            gradients = self.scale_grad(self.gradients_centralization(self.flatten_gradients(gradients)))
            lr = self.get_lr()
            self.assignadd(self.global_step, self.global_step_increase_tensor)

            def move(p, m, g):
                m.set_data(m * 0.5 + g)
                p.set_data(p - lr * m)
                return True

            return self.hyper_map(move, self.parameters, self.moments, gradients)

    w = one()
    optimizer = Heavy([w], 0.5)
    assert optimizer((Tensor([2.0, 4.0]),)) == (True,)
    np.testing.assert_allclose(w.asnumpy(), [0.5, -3.0])
    assert int(optimizer.global_step.asnumpy()[0]) == 1
    assert [q.name for q in optimizer.get_parameters()] == ["global_step", "learning_rate", "w", "moments.w"]


MAKERS = {
    "adam": lambda ps: nn.Adam(ps, nn.WarmUpLR(0.1, 3), weight_decay=0.01),
    "table": lambda ps: nn.Momentum(ps, [0.1, 0.2], 0.9),
    "decay cell": lambda ps: nn.AdamWeightDecay(ps, 0.1, weight_decay=nn.ExponentialDecayLR(0.1, 0.5, 2)),
    "lars": lambda ps: nn.LARS(nn.SGD(ps, 0.1)),
    "experimental": lambda ps: eo.NAdam(ps, 0.1),
}


@pytest.mark.parametrize("name", MAKERS)
def test_compiled_steps_give_the_same(name):
    values = {}
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        ms.set_seed(0)
        net = nn.Dense(2, 1)
        train = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), MAKERS[name](net.trainable_params()))
        ms.set_context(mode=mode)
        for _ in range(3):
            train(Tensor([[1.0, 2.0]]), Tensor([[3.0]]))
        values[mode] = net.weight.asnumpy()
    np.testing.assert_allclose(values[ms.PYNATIVE_MODE], values[ms.GRAPH_MODE], rtol=1e-5)


ERRORS = [
    (lambda w, v: nn.SGD([], 0.1), ValueError, "empty"),
    (lambda w, v: nn.SGD(None, 0.1), ValueError, "None"),
    (lambda w, v: nn.SGD([1], 0.1), TypeError, "Parameters only"),
    (lambda w, v: nn.SGD(w, 0.1), TypeError, "should be a list"),
    (lambda w, v: nn.SGD([w, w], 0.1), ValueError, "two Parameters have the name 'w'"),
    (lambda w, v: nn.SGD([{"params": [w]}, {"params": [w]}], 0.1), RuntimeError, "in two groups"),
    (lambda w, v: nn.SGD([{"param": [w]}], 0.1), KeyError, "param"),
    (lambda w, v: nn.SGD([{"params": [w], "lrs": 1}], 0.1), KeyError, "lrs"),
    (lambda w, v: nn.SGD([{"params": []}], 0.1), ValueError, "empty"),
    (lambda w, v: nn.SGD([{"params": [w]}, v], 0.1), TypeError, "dict"),
    (lambda w, v: nn.SGD([{"params": [w]}, {"order_params": [w, v]}], 0.1), ValueError, "order_params"),
    (lambda w, v: nn.SGD([{"params": [w], "order_params": [w]}], 0.1), ValueError, "order_params"),
    (lambda w, v: nn.SGD([{"params": [w], "grad_centralization": 1}], 0.1), TypeError, "grad_centralization"),
    (lambda w, v: nn.SGD([w], -0.1), ValueError, "not be negative"),
    (lambda w, v: nn.SGD([w], nn.ReLU()), TypeError, "learning rate"),
    (lambda w, v: nn.SGD([w], []), ValueError, "empty"),
    (lambda w, v: nn.SGD([w], Tensor([[0.1]])), ValueError, "axes"),
    (lambda w, v: nn.SGD([w], 0.1, weight_decay=-1.0), ValueError, "weight_decay"),
    (lambda w, v: nn.SGD([w], 0.1, weight_decay="a"), TypeError, "weight_decay"),
    (lambda w, v: nn.SGD([w], 0.1, loss_scale=0), ValueError, "loss_scale"),
    (lambda w, v: nn.SGD([w], 0.1, loss_scale="a"), TypeError, "loss_scale"),
    (lambda w, v: nn.SGD([w], 0.1, nesterov=True), ValueError, "nesterov"),
    (lambda w, v: nn.SGD([w], 0.1, momentum="a"), TypeError, "momentum"),
    (lambda w, v: nn.Momentum([w], 0.1, 1), TypeError, "momentum"),
    (lambda w, v: nn.Momentum([w], 0.1, -0.5), ValueError, "momentum"),
    (lambda w, v: nn.Adam([w], beta1=1.0), ValueError, "beta1"),
    (lambda w, v: nn.Adam([w], beta1=1), TypeError, "beta1"),
    (lambda w, v: nn.Adam([w], eps=0.0), ValueError, "eps"),
    (lambda w, v: nn.Adam([w], use_nesterov=1), TypeError, "use_nesterov"),
    (lambda w, v: nn.Adam([w], use_lazy=True, use_offload=True), ValueError, "use_lazy"),
    (lambda w, v: nn.Adam([w], foo=1), KeyError, "foo"),
    (lambda w, v: nn.FTRL([w], lr_power=1.0), ValueError, "lr_power"),
    (lambda w, v: nn.FTRL([w], learning_rate=[0.1, 0.2]), ValueError, "one for all steps"),
    (lambda w, v: nn.Rprop([w], etas=0.5), TypeError, "etas"),
    (lambda w, v: nn.Rprop([w], step_sizes=(1.0, 0.5)), ValueError, "step_sizes"),
    (lambda w, v: nn.AdaFactor([w], 0.1), ValueError, "relative_step"),
    (lambda w, v: nn.AdaFactor([w], relative_step=False, warmup_init=True), ValueError, "warmup_init"),
    (lambda w, v: nn.LARS(1), TypeError, "optimizer"),
    (lambda w, v: nn.SGD([w], 0.1)((Tensor([1.0]), Tensor([1.0]))), ValueError, "1 gradients"),
    (lambda w, v: nn.SGD([w], 0.1)((Tensor([1.0, 2.0]),)), ValueError, "gradient 0 has shape"),
    (lambda w, v: nn.SGD([w], 0.1)((1.0,)), TypeError, "Tensor"),
    (lambda w, v: nn.Optimizer(0.1, [w])((Tensor([1.0]),)), NotImplementedError, "update"),
]


@pytest.mark.parametrize("call, kind, words", ERRORS, ids=texts_of(e[0] for e in ERRORS))
def test_errors(call, kind, words):
    with pytest.raises(kind, match=words):
        call(one((1.0,)), one((1.0,), "v"))


class Decay(nn.Cell):
    def construct(self, step):
        return step.astype(ms.float32).reshape(()) * 0.1 + 0.5


@pytest.mark.parametrize(
    "decay, groups, expected, gradients",
    [
        (0.01, None, 0.02, [[1.02, 1.04], 1.06]),
        (0.01, 0.1, [0.2, 0.02], [[1.2, 1.4], 1.06]),
        (Decay(), None, 1.0, [[2.0, 3.0], 4.0]),
        (0.25, Decay(), [1.0, 0.5], [[2.0, 3.0], 2.5]),
    ],
    ids=["number", "groups", "cell", "cell in groups"],
)
def test_an_optimizer_of_ones_own_decays_by_the_loss_scale(decay, groups, expected, gradients):
    # Recorded from MindSpore: the gradients still have the loss scale, and scale_grad divides both by it.
    w, b = Parameter(Tensor([1.0, 2.0]), name="w"), Parameter(Tensor(3.0), name="b")
    parameters = [w, b] if groups is None else [{"params": [w], "weight_decay": groups}, {"params": [b]}]
    optimizer = nn.Optimizer(0.1, parameters, decay, 2.0)
    shown = optimizer.get_weight_decay()
    np.testing.assert_allclose([s.asnumpy() for s in shown] if isinstance(shown, tuple) else shown.asnumpy(), expected, rtol=1e-6)
    for got, wanted in zip(optimizer.decay_weight((Tensor([1.0, 1.0]), Tensor(1.0))), gradients, strict=True):
        np.testing.assert_allclose(got.asnumpy(), wanted, rtol=1e-6)


def test_an_optimizer_after_mindspores_pattern():
    opt = ms.ops.MultitypeFuncGraph("opt")

    @opt.register("Tensor", "Tensor", "Tensor", "Tensor", "Tensor", "Bool", "Bool")
    def _(lr, decay, p, moment, g, decays, filtered):
        if not filtered:
            return g
        moment = ms.ops.assign(moment, 0.5 * moment + (g + decay * p if decays else g))
        return ms.ops.assign(p, p - lr * moment)

    class Own(nn.Optimizer):
        def __init__(self, params, rate, decay):
            super().__init__(rate, params, decay)
            self.moments = self.parameters.clone(prefix="moments", init="zeros")
            self.hyper_map = ms.ops.HyperMap()

        @ms.jit
        def construct(self, gradients):
            lr = self.get_lr()
            if self._is_dynamic_lr_or_weight_decay():
                self.assignadd(self.global_step, self.global_step_increase_tensor)
            gradients = self._grad_sparse_indices_deduplicate(self.flatten_gradients(gradients))
            step_of = ms.ops.partial(opt, lr, self.weight_decay)
            done = self.hyper_map(step_of, self.parameters, self.moments, gradients, self.decay_flags, self.optim_filter)
            if self.use_parallel:
                self.broadcast_params(done)
            return done

    w, b = Parameter(Tensor([1.0, 2.0]), name="w"), Parameter(Tensor(3.0), name="beta")
    own = Own([w, b], [0.5, 0.25], 0.1)
    expected, moments, rates = [np.array([1.0, 2.0]), np.array(3.0)], [0.0, 0.0], [0.5, 0.25]
    for rate in rates:
        own((Tensor([1.0, -1.0]), Tensor(2.0)))
        for i, (g, decay) in enumerate(((np.array([1.0, -1.0]), 0.1), (2.0, 0.0))):
            moments[i] = 0.5 * moments[i] + g + decay * expected[i]
            expected[i] = expected[i] - rate * moments[i]
    np.testing.assert_allclose(w.asnumpy(), expected[0], rtol=1e-6)
    np.testing.assert_allclose(b.asnumpy(), expected[1], rtol=1e-6)
    assert own.global_step.asnumpy() == 2


def test_arguments_of_an_optimizer_are_kept():
    class Patient(nn.SGD):
        @optimizer_module.opt_init_args_register
        def __init__(self, params, learning_rate=0.1, patience=3, *, name="p"):
            super().__init__(params, learning_rate)

    w = Parameter(1.0, name="w")
    patient = Patient([w], patience=5)
    assert patient.init_params == {"params": [w]} and patient.init_learning_rate == 0.1
    assert patient.init_args == {"patience": 5, "name": "p"}
    assert [p.name for p in patient.get_parameters()].count("w") == 1


@pytest.mark.parametrize(
    ("make_with", "programs"),
    [
        (lambda ps, v: nn.Adam(ps, beta1=v, eps=v, weight_decay=v, loss_scale=1 + v), 1),
        (lambda ps, v: nn.RMSProp(ps, decay=v, momentum=v, centered=True), 1),
        (lambda ps, v: eo.SGD(ps, 0.1, momentum=v - 0.4, dampening=v, weight_decay=v), 2),  # none without momentum
        (lambda ps, v: nn.Rprop(ps, etas=(v, 1 + v)), 1),
    ],
)
def test_other_settings_need_no_other_program(make_with, programs, monkeypatch):
    made = []

    def results(constants):
        # Nothing public says which settings are constants of a step's program, and how many programs there are.
        def trace(self, args, own=settings._StepProgram.trace):
            self.constants = constants
            own(self, args)
            made.append(self)

        monkeypatch.setattr(settings._StepProgram, "trace", trace)
        engine.compiled_step.cache_clear(), engine._step_of.cache_clear()
        for value in (0.4, 0.6, 0.7):
            w = Parameter(Tensor(np.linspace(-1, 1, 6, dtype=np.float32)), name="w")
            optimizer = make_with([w], value)
            for _ in range(2):
                optimizer((Tensor(np.linspace(2, -1, 6, dtype=np.float32)),))
            yield w.asnumpy()

    found = list(results(False))
    assert len(made) == programs
    # XLA may round a product and a sum once or twice, whichever of them a constant is in.
    np.testing.assert_allclose(found, list(results(True)), rtol=3e-7)


def test_a_formula_that_takes_floats_only_is_compiled_for_them():
    class Clipped(nn.Optimizer):
        constants = ("limit",)

        def __init__(self, params, limit):
            super().__init__(0.5, params)
            self.limit = limit

        @staticmethod
        def update(c, u):
            return (u.value - u.rate * jnp.clip(u.grad, -c.limit, math.sqrt(c.limit)),)

    for limit, expected in ((4.0, 0.0), (1.0, 0.5)):
        w = Parameter(Tensor([1.0]), name="w")
        Clipped([w], limit)((Tensor([2.0]),))
        assert w.asnumpy() == expected


def test_training_under_one_mesh_after_another():
    losses = []
    for kind in (AxisType.Auto, AxisType.Explicit):
        with jax.set_mesh(jax.make_mesh((8,), ("d",), axis_types=(kind,), devices=eight_devices())):
            net = nn.Dense(2, 1, weight_init="ones", bias_init="zeros")
            optimizer = nn.Adam(net.trainable_params(), 0.1)
            for _ in range(2):
                loss = net(ms.Tensor(np.ones((1, 2), np.float32))).sum()
                loss.backward()
                optimizer([p.grad for p in net.trainable_params()])
                net.zero_grad()
            losses.append(loss.item())
    assert losses[0] == losses[1] == pytest.approx(1.7, rel=1e-5)


def test_rates_that_are_refused():
    first, second = (ms.Parameter(ms.Tensor([1.0]), name=name) for name in "ab")
    with pytest.raises(ValueError, match="as many steps in all groups"):
        nn.SGD([{"params": [first], "lr": [0.1, 0.2, 0.3]}, {"params": [second]}], [0.1, 0.2])
    with pytest.raises(TypeError, match="should be a number, Tensor, list"):
        nn.SGD([first], np.array(0.1))
