"""Forward pre hooks and forward hooks of cells."""

import pytest

import msjax as ms
from msjax import Tensor, nn, ops


class Scale(nn.Cell):
    def __init__(self, factor=2.0):
        super().__init__()
        self.w = ms.Parameter(Tensor(factor))

    def construct(self, x, bias=0.0, *, power=1):
        return (x * self.w) ** power + bias


class Two(nn.Cell):
    def construct(self, x, y):
        return x * y, x + y


X = Tensor([1.0, 2.0])


def numbers(value):
    """Tensors in containers as lists."""
    if isinstance(value, Tensor):
        return value.tolist()
    if isinstance(value, (tuple, list)):
        return type(value)(numbers(v) for v in value)
    if isinstance(value, dict):
        return {k: numbers(v) for k, v in value.items()}
    return value


# ---- what hooks get


def test_arguments():
    seen = []
    net = Scale()
    net.register_forward_pre_hook(lambda cell, args: seen.append(("pre", cell, numbers(args))))
    net.register_forward_hook(lambda cell, args, out: seen.append(("post", cell, numbers(args), numbers(out))))
    net(X, 1.0, power=2)
    assert seen == [("pre", net, ([1.0, 2.0], 1.0)), ("post", net, ([1.0, 2.0], 1.0), [5.0, 17.0])]
    assert seen[0][1] is net


def test_arguments_with_kwargs():
    seen = []
    net = Scale()
    net.register_forward_pre_hook(lambda cell, args, kwargs: seen.append((numbers(args), kwargs)), with_kwargs=True)
    net.register_forward_hook(
        lambda cell, args, kwargs, out: seen.append((numbers(args), kwargs, numbers(out))), with_kwargs=True
    )
    net(X, bias=1.0, power=2)
    assert seen == [(([1.0, 2.0],), {"bias": 1.0, "power": 2}), (([1.0, 2.0],), {"bias": 1.0, "power": 2}, [5.0, 17.0])]


def test_output_is_bare_unless_construct_made_a_tuple():
    seen = []
    for net, args in [(nn.ReLU(), (X,)), (Two(), (X, X))]:
        net.register_forward_hook(lambda cell, args, out: seen.append(type(out)))
        net(*args)
    assert seen == [Tensor, tuple]


def test_any_callable_will_do():
    class Notes:
        def __init__(self):
            self.n = 0

        def __call__(self, *args):
            self.n += 1

        def method(self, *args):
            self.n += 10

    notes = Notes()
    log = []
    net = nn.ReLU()
    net.register_forward_hook(notes)
    net.register_forward_hook(notes.method)
    net.register_forward_pre_hook(lambda *args: log.append(args))
    net(X)
    assert notes.n == 11 and len(log) == 1 and log[0][0] is net


@pytest.mark.parametrize("name", ["forward_pre", "forward"])
@pytest.mark.parametrize("bad", [3, None, "print", [print]], ids=str)
def test_registration_refuses_what_can_not_be_called(name, bad):
    with pytest.raises(TypeError, match=f"register_{name}_hook.*must be callable"):
        getattr(nn.ReLU(), f"register_{name}_hook")(bad)


@pytest.mark.parametrize("name", ["forward_pre", "forward"])
def test_options_are_keyword_only(name):
    with pytest.raises(TypeError):
        getattr(nn.ReLU(), f"register_{name}_hook")(print, True)


# ---- what they return

PRE_RETURNS = [
    ("None keeps", None, ([1.0, 2.0],), {}),
    ("tuple", (X * 10,), ([10.0, 20.0],), {}),
    ("longer tuple", (X * 10, 1.0), ([10.0, 20.0], 1.0), {}),
    ("Tensor is wrapped", X * 10, ([10.0, 20.0],), {}),
    ("list is one argument", [1.0, 2.0], ([1.0, 2.0],), {}),
    ("number is one argument", 3.0, (3.0,), {}),
    ("False is one argument", False, (False,), {}),
]


@pytest.mark.parametrize("returned, args", [r[1:3] for r in PRE_RETURNS], ids=[r[0] for r in PRE_RETURNS])
def test_pre_hook_replaces_positional_arguments(returned, args):
    seen = []

    class Notes(nn.Cell):
        def construct(self, *args, **kwargs):
            seen.append((numbers(args), kwargs))

    net = Notes()
    net.register_forward_pre_hook(lambda cell, args: returned)
    net(X, key="kept")
    assert seen == [(args, {"key": "kept"})]


def test_empty_tuple_takes_all_arguments_away():
    net = Scale()
    net.register_forward_pre_hook(lambda cell, args: ())
    with pytest.raises(TypeError, match="construct"):
        net(X)


def test_wrong_count_is_the_error_of_a_wrong_call():
    net = nn.ReLU()
    net.register_forward_pre_hook(lambda cell, args: (X, X))
    with pytest.raises(TypeError, match="construct"):
        net(X)


def test_pre_hook_with_kwargs_replaces_both():
    net = Scale()
    handle = net.register_forward_pre_hook(lambda cell, args, kwargs: ((args[0] + 1,), {"power": 2}), with_kwargs=True)
    assert net(X, bias=7.0).tolist() == [16.0, 36.0]
    handle.remove()
    net.register_forward_pre_hook(lambda cell, args, kwargs: ([args[0] * 0], {}), with_kwargs=True)
    assert net(X, bias=7.0).tolist() == [0.0, 0.0]


POST_RETURNS = [X * 10, (X, X, X), [X], {"a": X}, False, 0, "text", ()]


@pytest.mark.parametrize("returned", POST_RETURNS, ids=lambda v: type(v).__name__)
def test_forward_hook_replaces_the_output_by_anything_but_none(returned):
    net = nn.ReLU()
    net.register_forward_hook(lambda cell, args, out: returned)
    assert net(X) is returned


def test_forward_hook_returning_none_keeps_the_object():
    out = []
    net = nn.ReLU()
    net.register_forward_hook(lambda cell, args, y: out.append(y))
    assert net(X) is out[0]


# ---- order


def test_order_of_registration_and_prepend():
    seen = []

    def note(name):
        return lambda *args: seen.append(name)

    net = nn.ReLU()
    net.register_forward_pre_hook(note("pre 1"))
    net.register_forward_pre_hook(note("pre 2"))
    net.register_forward_pre_hook(note("pre 0"), prepend=True)
    net.register_forward_hook(note("post 1"))
    net.register_forward_hook(note("post 2"))
    net.register_forward_hook(note("post 0"), prepend=True)
    net.register_forward_hook(note("post -1"), prepend=True)
    net(X)
    assert seen == ["pre 0", "pre 1", "pre 2", "post -1", "post 0", "post 1", "post 2"]


def test_each_hook_sees_what_the_one_before_made():
    seen = []
    net = Scale()
    for step in (1.0, 2.0):
        net.register_forward_pre_hook(lambda cell, args, step=step: (args[0] + step,))
        net.register_forward_hook(lambda cell, args, out, step=step: seen.append((numbers(args), numbers(out))) or out * 10)
    assert net(X).tolist() == [800.0, 1000.0]
    assert seen == [(([4.0, 5.0],), [8.0, 10.0]), (([4.0, 5.0],), [80.0, 100.0])]


def test_nested_cells_are_in_call_order():
    seen = []
    net = nn.SequentialCell(nn.ReLU(), nn.SequentialCell(nn.Tanh()))
    for path, cell in net.cells_and_names():
        cell.register_forward_pre_hook(lambda cell, args, path=path: seen.append("pre " + path))
        cell.register_forward_hook(lambda cell, args, out, path=path: seen.append("post " + path))
    net(X)
    assert seen == ["pre ", "pre 0", "post 0", "pre 1", "pre 1.0", "post 1.0", "post 1", "post "]


def test_once_per_call_under_gradient_functions():
    seen = []
    net = Scale()
    net.register_forward_pre_hook(lambda cell, args: seen.append("pre"))
    net.register_forward_hook(lambda cell, args, out: seen.append("post"))
    runs = [
        lambda: ms.grad(net)(X),
        lambda: ms.value_and_grad(net, None, net.trainable_params())(X),
        lambda: ops.GradOperation(get_all=True)(net)(X),
        lambda: ms.vjp(net, X)[1](X),
        lambda: ms.jvp(net, X, X),
    ]
    for run in runs:
        seen.clear()
        run()
        assert seen == ["pre", "post"]


# ---- gradients


def test_operators_of_hooks_are_differentiated():
    net = Scale(3.0)
    net.register_forward_pre_hook(lambda cell, args: (args[0] * args[0],))
    net.register_forward_hook(lambda cell, args, out: out * out)
    dx, dw = ms.grad(net, 0, net.w)(Tensor(2.0))
    assert dx.item() == 4 * 2.0**3 * 3.0**2 and dw.item() == 2 * 3.0 * 2.0**4


def test_constant_cuts_its_own_path_only():
    net = Two()
    net.register_forward_pre_hook(lambda cell, args: (Tensor([5.0, 5.0]), args[1]))
    dx, dy = ms.grad(lambda x, y: net(x, y)[0], (0, 1))(X, X)
    assert dx.tolist() == [0.0, 0.0] and dy.tolist() == [5.0, 5.0]


def test_hook_may_change_the_structure():
    net = nn.ReLU()
    net.register_forward_hook(lambda cell, args, out: (out, out * 2))
    assert ms.grad(lambda x: net(x)[1])(X).tolist() == [2.0, 2.0]


def test_hook_may_call_cells_and_gradients():
    inner = Scale(5.0)
    seen = []
    net = nn.ReLU()
    net.register_forward_hook(lambda cell, args, out: seen.append(ms.grad(inner)(args[0]).tolist()) or inner(out))
    assert ms.grad(net)(X).tolist() == [5.0, 5.0] and seen == [[5.0, 5.0]]


# ---- changes while running


def test_hooks_added_while_running_take_effect_next_time():
    seen = []
    net = nn.ReLU()

    def adds(cell, args, out):
        seen.append("adds")
        if len(seen) == 1:
            cell.register_forward_hook(lambda *args: seen.append("new"))

    net.register_forward_hook(adds)
    net(X)
    assert seen == ["adds"]
    net(X)
    assert seen == ["adds", "adds", "new"]


def test_pre_hook_adds_a_forward_hook_for_this_call():
    seen = []
    net = nn.ReLU()
    net.register_forward_pre_hook(lambda cell, args: net.register_forward_hook(lambda *args: seen.append("new")) and None)
    net(X)
    assert seen == ["new"]


def test_hook_removes_itself():
    seen = []
    net = nn.ReLU()

    def once(cell, args):
        seen.append("once")
        handle.remove()

    handle = net.register_forward_pre_hook(once)
    net.register_forward_pre_hook(lambda cell, args: seen.append("other"))
    net(X)
    net(X)
    assert seen == ["once", "other", "other"]


# ---- always_call


def fails(*args):
    raise KeyError("no")


class Fails(nn.Cell):
    construct = fails


def test_always_call_runs_when_construct_fails():
    seen = []
    net = Fails()
    net.register_forward_hook(lambda cell, args, out: seen.append("skipped"))
    net.register_forward_hook(lambda cell, args, out: seen.append((numbers(args), out)), always_call=True)
    net.register_forward_hook(lambda cell, args, kwargs, out: seen.append(kwargs), always_call=True, with_kwargs=True)
    with pytest.raises(KeyError, match="no"):
        net(X)
    assert seen == [(([1.0, 2.0],), None), {}]


def test_always_call_runs_when_a_hook_fails():
    seen = []
    net = nn.ReLU()
    net.register_forward_hook(lambda cell, args, out: seen.append("ran before"), always_call=True)
    net.register_forward_hook(fails)
    net.register_forward_hook(lambda cell, args, out: seen.append("skipped"))
    net.register_forward_hook(lambda cell, args, out: seen.append(numbers(out)), always_call=True)
    with pytest.raises(KeyError):
        net(X)
    assert seen == ["ran before", [1.0, 2.0]]


def test_always_call_runs_when_a_pre_hook_fails():
    seen = []
    net = nn.ReLU()
    net.register_forward_pre_hook(fails)
    net.register_forward_hook(lambda cell, args, out: seen.append(out), always_call=True)
    with pytest.raises(KeyError):
        net(X)
    assert seen == [None]


def test_error_of_an_always_called_hook():
    net = Fails()
    net.register_forward_hook(lambda cell, args, out: 1 / 0, always_call=True)
    with pytest.raises(KeyError, match="no"), pytest.warns(UserWarning, match=r"always_call=True\).*ZeroDivisionError"):
        net(X)
    fine = nn.ReLU()
    fine.register_forward_hook(lambda cell, args, out: 1 / 0, always_call=True)
    with pytest.raises(ZeroDivisionError):
        fine(X)


def test_always_call_does_nothing_else_when_all_is_well():
    seen = []
    net = nn.ReLU()
    net.register_forward_hook(lambda cell, args, out: seen.append(1), always_call=True)
    net(X)
    assert seen == [1]
