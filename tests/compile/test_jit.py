"""ms.jit: values, gradients, state, caching, and what can't be compiled."""

import threading

import numpy as np
import pytest

import msjax as ms
from msjax import nn, ops


def f32(*values):
    return ms.Tensor(np.array(values, np.float32))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(3, 2, weight_init="ones", bias_init="zeros")
        self.relu = nn.ReLU()
        self.scale = 2.0

    def construct(self, x):
        return self.relu(self.fc(x)) * self.scale


def test_function_of_tensors_and_static_arguments():
    calls = []

    @ms.jit
    def f(x, n, *, negative=False):
        calls.append(n)
        y = x * n
        return -y if negative else y

    np.testing.assert_array_equal(f(f32(1, 2), 3).asnumpy(), [3, 6])
    np.testing.assert_array_equal(f(f32(1, 2), 3).asnumpy(), [3, 6])
    np.testing.assert_array_equal(f(f32(1, 2), 4, negative=True).asnumpy(), [-4, -8])
    assert f.compilations() == 2 and len(calls) == 2
    f(f32(1, 2, 3), 3)
    assert f.compilations() == 3


def test_decorator_forms_and_name():
    @ms.jit
    def one(x):
        """Doc."""
        return x + 1

    @ms.ms_function
    def two(x):
        return x + 2

    @ms.jit(jit_level="O0")
    def three(x):
        return x + 3

    assert [float(g(f32(0))[0]) for g in (one, two, three)] == [1, 2, 3]
    assert one.__name__ == "one" and one.__doc__ == "Doc."
    with pytest.raises(TypeError, match="function or a Cell"):
        ms.jit(3)


def test_structured_arguments_and_results():
    @ms.jit
    def f(pair, options):
        a, b = pair
        return {"sum": a + b, "none": None, "n": 3, "list": [a, options["k"] * b]}

    out = f((f32(1), f32(2)), {"k": 5})
    assert out["none"] is None and out["n"] == 3 and isinstance(out["list"], list)
    assert float(out["sum"][0]) == 3 and float(out["list"][1][0]) == 10


def test_method_of_a_cell_has_programs_for_each_cell():
    class Scale(nn.Cell):
        def __init__(self, k):
            super().__init__()
            self.k = k

        @ms.jit
        def construct(self, x):
            return x * self.k

    a, b = Scale(2), Scale(3)
    assert float(a(f32(1))[0]) == 2 and float(b(f32(1))[0]) == 3
    assert Scale.construct.compilations() == 2
    a.k = 5
    assert float(a(f32(1))[0]) == 5


def test_parameters_are_read_and_written_however_they_are_reached():
    attribute, closed = ms.Parameter(f32(1), name="a"), ms.Parameter(f32(10), name="b")
    plain = f32(100)

    class Holder:
        pass

    holder = Holder()
    holder.inner = attribute

    @ms.jit
    def f(x):
        ops.assign(closed, closed + x)
        holder.inner.set_data(holder.inner * 2)
        plain[0] = plain[0] + 1
        return closed + holder.inner + plain

    for step in range(1, 4):
        expected = (10 + step) + 2**step + (100 + step)
        assert float(f(f32(1))[0]) == expected
    assert float(closed[0]) == 13 and float(attribute[0]) == 8 and float(plain[0]) == 103
    assert f.compilations() == 1
    closed.set_data(f32(0))
    assert float(f(f32(1))[0]) == 1 + 16 + 104


def test_global_names_are_looked_at_again():
    @ms.jit
    def f(x):
        return x * FACTOR

    global FACTOR
    FACTOR = 2.0
    assert float(f(f32(1))[0]) == 2
    FACTOR = 3.0
    assert float(f(f32(1))[0]) == 3
    FACTOR = 2.0
    f(f32(1))
    assert f.compilations() == 2


def test_attributes_hooks_and_train_flags_choose_the_program():
    net = Net()
    jitted = ms.jit(net)
    x = f32(1, 2, 3).reshape(1, 3)
    assert float(jitted(x).sum()) == 24
    net.scale = 3.0
    assert float(jitted(x).sum()) == 36
    net.scale = 2.0
    assert float(jitted(x).sum()) == 24
    assert jitted.compilations() == 2
    handle = net.relu.register_forward_hook(lambda cell, args, out: out * 10)
    assert float(jitted(x).sum()) == 240
    handle.remove()
    assert float(jitted(x).sum()) == 24
    assert jitted.compilations() == 3
    net.set_train()
    jitted(x)
    net.set_train(False)
    jitted(x)
    assert jitted.compilations() == 4


def test_batch_norm_statistics_and_dropout_move_on():
    bn, drop = nn.BatchNorm1d(2), nn.Dropout(p=0.5)
    net = nn.SequentialCell(bn, drop).set_train()
    jitted = ms.jit(net)
    x = ms.Tensor(np.arange(8, dtype=np.float32).reshape(4, 2))
    first, before = jitted(x), bn.moving_mean.asnumpy()
    second = jitted(x)
    assert not np.array_equal(bn.moving_mean.asnumpy(), before)
    assert not np.array_equal(first.asnumpy(), second.asnumpy())
    ms.set_seed(3)
    a = jitted(x)
    ms.set_seed(3)
    np.testing.assert_array_equal(a.asnumpy(), jitted(x).asnumpy())


def test_what_others_hold_survives_donation():
    weight = ms.Parameter(f32(1), name="w")

    @ms.jit
    def step():
        ops.assign(weight, weight + 1)
        return weight * 1

    held = weight.value()
    step()
    step()
    assert float(held[0]) == 1 and float(weight[0]) == 3


def test_tensor_made_an_attribute():
    class Recurrent(nn.Cell):
        def __init__(self):
            super().__init__()
            self.state = None

        def construct(self, x):
            self.state = x if self.state is None else self.state + x
            return self.state * 1

    net = Recurrent()
    jitted = ms.jit(net)
    assert [float(jitted(f32(1))[0]) for _ in range(4)] == [1, 2, 3, 4]
    assert float(net.state[0]) == 4
    assert jitted.compilations() == 2


def test_gradient_of_a_compiled_function():
    net = Net()
    jitted = ms.jit(net)
    x = f32(1, 2, 3).reshape(1, 3)
    np.testing.assert_array_equal(ms.grad(jitted)(x).asnumpy(), ms.grad(net)(x).asnumpy())

    def loss(x):
        return (jitted(x) * jitted(x)).sum()

    def plain(x):
        return (net(x) * net(x)).sum()

    weights = net.trainable_params()
    for a, b in zip(ms.grad(loss, 0, weights)(x)[1], ms.grad(plain, 0, weights)(x)[1]):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-6)
    np.testing.assert_allclose(ms.grad(loss)(x).asnumpy(), ms.grad(plain)(x).asnumpy(), rtol=1e-6)


def test_backward_through_a_compiled_function():
    net = Net()
    out = ms.jit(net)(f32(1, 2, 3).reshape(1, 3))
    out.sum().backward()
    np.testing.assert_array_equal(net.fc.weight.grad.asnumpy(), [[2, 4, 6], [2, 4, 6]])


def test_backward_inside_is_an_error():
    @ms.jit
    def f(x):
        y = (x * x).sum()
        y.backward()
        return y

    with pytest.raises(RuntimeError, match="compiled"):
        f(f32(1))


def test_recompute_and_no_grad_inside():
    net = Net()
    net.fc.recompute()

    @ms.jit
    def f(x):
        with ms.no_grad():
            scale = net(x).sum()
        return (net(x) * scale).sum()

    x = f32(1, 2, 3).reshape(1, 3)
    np.testing.assert_array_equal(ms.grad(f)(x).asnumpy(), [[96, 96, 96]])


def test_second_order_inside_and_around():
    @ms.jit
    def second(x):
        return ms.grad(ms.grad(lambda v: v * v * v))(x)

    assert float(second(f32(2))[0]) == 12

    @ms.jit
    def cube(x):
        return x * x * x

    assert float(ms.grad(ms.grad(lambda v: cube(v)))(f32(2))[0]) == 12


def test_values_that_are_needed_run_in_pynative_with_a_warning():
    @ms.jit
    def f(x):
        return x * 2 if float(x[0]) > 0 else -x

    with pytest.warns(UserWarning, match="runs in PyNative mode"):
        assert float(f(f32(1))[0]) == 2
    assert float(f(f32(-1))[0]) == 1

    @ms.jit(fullgraph=True)
    def g(x):
        return x * float(x[0])

    with pytest.raises(TypeError, match="needs the value"):
        g(f32(1))


def test_exceptions_have_their_own_type_and_leave_everything_clean():
    weight = ms.Parameter(f32(5), name="w")

    @ms.jit
    def f(x, fail):
        ops.assign(weight, weight + x)
        if fail:
            raise KeyError("mine")
        return weight + x

    with pytest.raises(KeyError, match="mine"):
        f(f32(1), True)
    assert float(weight[0]) == 6  # as far as it came in PyNative mode
    assert float(f(f32(1), False)[0]) == 8


def test_printing_happens_at_each_run_with_values(capsys):
    @ms.jit
    def f(x):
        print("x is", x, "and", [x], f"{x.sum():.2f}")
        return x

    f(f32(1, 2))
    f(f32(3, 4))
    assert capsys.readouterr().out == (
        "x is [1. 2.] and [Tensor(shape=[2], dtype=Float32, value= [ 1.00000000e+00,  2.00000000e+00])] 3.00\n"
        "x is [3. 4.] and [Tensor(shape=[2], dtype=Float32, value= [ 3.00000000e+00,  4.00000000e+00])] 7.00\n"
    )


@pytest.mark.parametrize("turn", range(5))
def test_two_threads_call_two_jitted_nets(hasty_threads, turn):
    results, errors = {}, []

    def work(k):
        try:
            net = nn.Dense(4, 4, weight_init="ones", bias_init="zeros")
            net.register_forward_hook(lambda cell, args, out: results[k].append(float(out.sum())))
            results[k] = []
            jitted = ms.jit(net)
            for i in range(30):
                jitted(ms.Tensor(np.full((1, 4), k + i, np.float32)))
                ops.standard_normal((2,))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in (1, 100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    for k in (1, 100):
        assert results[k] == [16.0 * (k + i) for i in range(30)]


@pytest.mark.parametrize(
    "lazy", [lambda x: (x * i for i in (1, 2)), lambda x: [iter([x, x * 2])][0], lambda x: {"a": x, "b": x * 2}.values()]
)
def test_a_function_that_returns_an_iterator_runs_in_pynative_mode(lazy):
    compiled = ms.jit(lazy)
    with pytest.warns(UserWarning, match="it returns an iterator, or a view of a dict; return a list of its items"):
        assert [float(v) for v in compiled(ms.Tensor(1.0))] == [1, 2]
    assert [float(v) for v in compiled(ms.Tensor(1.0))] == [1, 2]


def test_arguments_that_hold_themselves():
    held, table = [1], {"a": 1}
    held.append(held)
    table["b"] = [table]
    run = ms.jit(lambda x: x)
    for argument in (held, table, (held, 2)):
        with pytest.raises(RuntimeError, match="holds itself"):
            run(argument)
    assert run([1, {"a": 2}]) == [1, {"a": 2}]
