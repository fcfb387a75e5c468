"""Hooked models that call other models: a hook is called for the modules of its own model, and for no others at the same paths."""

import equinox
import flax.linen as linen
import haiku
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import msjax as ms
from msjax import hooks, nn

X = jnp.ones((1, 2), "float32")
ONES = linen.initializers.ones


class Inner(linen.Module):
    @linen.compact
    def __call__(self, x):
        return linen.Dense(2, kernel_init=ONES, name="d")(x)


class Student(linen.Module):
    """Applies a frozen teacher, whose module has the path of one of its own."""

    teacher: object
    variables_of_teacher: object

    @linen.compact
    def __call__(self, x):
        return Inner.__call__.__wrapped__(self, x) + self.teacher.apply(self.variables_of_teacher, x)


def linen_model(hooked_teacher=False):
    teacher = hooks.hooked(Inner()) if hooked_teacher else Inner()
    student = hooks.hooked(Student(teacher, teacher.init(jax.random.key(0), X)))
    params = student.init(jax.random.key(0), X)
    return student, teacher, lambda x: student.apply(params, x)


def haiku_model(hooked_teacher=False):
    def plain(x):
        return haiku.Linear(2, w_init=haiku.initializers.Constant(1.0), name="d")(x)

    teacher = haiku.without_apply_rng(haiku.transform(plain))
    teacher = hooks.hooked(teacher) if hooked_teacher else teacher
    of_teacher = teacher.init(None, X)
    student = hooks.hooked(haiku.without_apply_rng(haiku.transform(lambda x: plain(x) + teacher.apply(of_teacher, x))))
    params = student.init(None, X)
    return student, teacher, lambda x: student.apply(params, x)


class EquinoxStudent(equinox.Module):
    d: equinox.nn.Linear
    call_teacher: object = equinox.field(static=True)

    def __call__(self, x):
        return self.d(x[0])[None] + self.call_teacher(x[0])[None]


def ones_of_equinox():
    linear = equinox.nn.Linear(2, 2, key=jax.random.key(0))
    return equinox.tree_at(lambda m: (m.weight, m.bias), linear, (jnp.ones((2, 2)), jnp.zeros(2)))


def equinox_model(hooked_teacher=False):
    class Teacher(equinox.Module):
        d: equinox.nn.Linear

        def __call__(self, x):
            return self.d(x)

    teacher = Teacher(ones_of_equinox())
    teacher = hooks.hooked(teacher) if hooked_teacher else teacher
    student = hooks.hooked(EquinoxStudent(ones_of_equinox(), lambda x: teacher(x)))
    return student, teacher, student


class NnxStudent(nnx.Module):
    def __init__(self, teacher):
        self.d = nnx.Linear(2, 2, kernel_init=ONES, rngs=nnx.Rngs(0))
        self.call_teacher = nnx.static(lambda x: teacher(x))

    def __call__(self, x):
        return self.d(x) + self.call_teacher(x)


def nnx_model(hooked_teacher=False):
    class Teacher(nnx.Module):
        def __init__(self):
            self.d = nnx.Linear(2, 2, kernel_init=ONES, rngs=nnx.Rngs(0))

        def __call__(self, x):
            return self.d(x)

    teacher = Teacher()
    student = NnxStudent(teacher)
    return student, teacher, student


MODELS = {"linen": linen_model, "haiku": haiku_model, "equinox": equinox_model, "nnx": nnx_model}
JITS = {"eager": lambda fn: fn, "hooks.jit": hooks.jit, "jax.jit": jax.jit}


@pytest.mark.parametrize("jit", JITS)
@pytest.mark.parametrize("framework", MODELS)
def test_a_hook_leaves_a_teacher_within_alone(framework, jit):
    student, _, call = MODELS[framework]()
    with hooks.register_forward_hook(student, lambda module, args, output: output * 10, "d"):
        np.testing.assert_allclose(JITS[jit](lambda x: call(x))(X), [[22, 22]])
    np.testing.assert_allclose(call(X), [[4, 4]])


@pytest.mark.parametrize("framework", MODELS)
def test_a_hooked_model_within_another_has_hooks_of_its_own(framework):
    student, teacher, call = MODELS[framework](hooked_teacher=True)
    log = []
    with (
        hooks.register_forward_hook(student, lambda module, args, output: log.append("student"), "d"),
        hooks.register_forward_hook(teacher, lambda module, args, output: log.append("teacher"), "d"),
        hooks.register_backward_hook(teacher, lambda module, gi, go: log.append("gradient"), "d"),
    ):
        jax.grad(lambda x: call(x).sum())(X)
    assert sorted(log) == ["gradient", "student", "teacher"]


@pytest.mark.parametrize("make", [linen_model, haiku_model], ids=["linen", "haiku"])
def test_places_are_those_of_the_model(make):
    _, _, call = make()
    _, found = hooks.capture(lambda x: call(x), "*")(X)
    assert [name for name in found.activations if name.startswith("d")] == ["d"]


def test_a_model_that_applies_itself():
    class Twice(linen.Module):
        def setup(self):
            self.d = linen.Dense(2)

        def __call__(self, x, again=True):
            if again:
                x = self.clone(parent=None).apply({"params": self.variables["params"]}, x, again=False)
            return self.d(x)

    model, log = hooks.hooked(Twice()), []
    params = model.init(jax.random.key(0), X, again=False)
    with hooks.register_forward_hook(model, lambda module, args, output: log.append(hooks.path(module)), "*"):
        model.apply(params, X)
        assert log == ["d", "", "d", ""]
        bound = model.bind(params)
        del log[:]
        bound.d(X)  # a module that is there before the model runs
        assert log == ["d"]
        bound(X, again=False)
    assert log == ["d", "d", ""]


def test_a_teacher_within_scan_and_remat():
    teacher = Inner()
    of_teacher = teacher.init(jax.random.key(0), X)

    class Block(linen.Module):
        @linen.compact
        def __call__(self, x, _):
            return linen.Dense(2, name="d")(x) + teacher.apply(of_teacher, x), None

    class Stack(linen.Module):
        @linen.compact
        def __call__(self, x):
            blocks = linen.scan(linen.remat(Block), variable_axes={"params": 0}, split_rngs={"params": True}, length=2)
            return blocks(name="blocks")(x, None)[0]

    model, log = hooks.hooked(Stack()), []
    params = model.init(jax.random.key(0), X)
    assert list(hooks.paths(model)) == ["", "blocks", "blocks.d"]
    with hooks.register_forward_hook(model, lambda module, args, output: log.append(hooks.path(module)), "*"):
        hooks.jit(jax.grad(lambda x: model.apply(params, x).sum()))(X)
    assert log == ["blocks.d", "blocks", "blocks.d", "blocks", ""]


def test_layers_that_haiku_stacks_are_part_of_the_model():
    teacher = haiku.without_apply_rng(haiku.transform(lambda x: haiku.Linear(2, name="s")(x)))
    of_teacher = teacher.init(jax.random.key(0), X)

    def stacked(x):
        return haiku.experimental.layer_stack(2, name="l")(lambda x: haiku.Linear(2, name="s")(x) + teacher.apply(of_teacher, x))(
            x
        )

    model, log = hooks.hooked(haiku.without_apply_rng(haiku.transform(stacked))), []
    params = model.init(jax.random.key(0), X)
    with hooks.register_forward_hook(model, lambda module, args, output: log.append(hooks.path(module)), "l.s"):
        model.apply(params, X)
        hooks.barrier()
    assert log == ["l.s", "l.s"]


@pytest.mark.long
def test_layers_that_haiku_stacks_have_the_paths_of_their_parameters():
    def layer(x):
        return haiku.Linear(2, name="s")(x)

    class Stacks(haiku.Module):
        def __call__(self, x):
            return haiku.experimental.layer_stack(3)(layer)(x)

    def stacked(x):
        for _ in range(2):  # two without names of their own
            x = haiku.experimental.layer_stack(2)(layer)(x)
        x = Stacks(name="m")(x)
        x = haiku.experimental.layer_stack(2, name="outer")(lambda x: haiku.experimental.layer_stack(2, name="inner")(layer)(x))(
            x
        )
        return layer(x)

    model, log = hooks.hooked(haiku.without_apply_rng(haiku.transform(stacked))), []
    params = model.init(jax.random.key(0), X)
    paths = [path for path in hooks.paths(model) if path != "m"]
    assert sorted(paths) == sorted(name.replace("/", ".") for name in params)
    for path, times in zip(paths, (2, 2, 3, 4, 1), strict=True):
        with hooks.register_forward_hook(model, lambda module, args, output: log.append(hooks.path(module)), path):
            hooks.jit(model.apply)(params, X)
        assert log == [path] * times
        del log[:]


class Outer(nnx.Module):
    def __init__(self):
        self.body = nn.SequentialCell(nn.Dense(2, 2, "ones", "zeros"), nn.ReLU())
        self.last = nnx.Linear(2, 1, rngs=nnx.Rngs(0))

    def __call__(self, x):
        return self.last(self.body(ms.Tensor(x))._value)


@pytest.mark.parametrize("jit", [lambda fn: fn, hooks.jit, nnx.jit], ids=["eager", "hooks.jit", "nnx.jit"])
def test_hooks_on_cells_within_an_nnx_model_are_hooks_of_the_cells(jit):
    model, log = Outer(), []
    run = jit(lambda model, x: model(x))
    plain = run(model, X)

    def forward(module, args, output):
        log.append((type(module).__name__, isinstance(output, ms.Tensor), output.shape))

    handle = hooks.register_forward_hook(model, forward, "*")
    assert [(row.path, row.kind) for row in hooks.registered(model)] == [
        ("", "forward"),
        ("body", "forward"),
        ("body.0", "forward"),
        ("body.1", "forward"),
        ("last", "forward"),
    ]
    np.testing.assert_allclose(run(model, X), plain, rtol=1e-6)
    hooks.barrier()
    assert [name for name, *_ in log] == ["Dense", "ReLU", "SequentialCell", "Linear", "Outer"]
    assert [is_tensor for _, is_tensor, _ in log] == [True] * 3 + [False] * 2
    with hooks.without(model):
        del log[:]
        run(model, X)
        hooks.barrier()
        assert log == []
    handle.remove()
    assert hooks.registered(model) == [] and not model.body._hooks
    with hooks.register_backward_hook(model, lambda cell, gi, go: (gi[0] * 0,), "body.0"):
        assert not np.any(jax.grad(lambda x: model(x).sum())(X))
        assert hooks.remove_all(model) == 1
    assert np.any(jax.grad(lambda x: model(x).sum())(X))
    with pytest.raises(ValueError, match=r"hooks of a cell are around its call, not around 'construct'"):
        hooks.register_forward_hook(model, print, ["*", "body.0.construct"])
    assert hooks.registered(model) == []


def test_a_fault_in_a_cell_within_a_hooked_module_is_told_by_its_path():
    class Log(nn.Cell):
        def construct(self, x):
            return ms.ops.log(x)

    class Around(nnx.Module):
        def __init__(self):
            self.outer = Outer()
            self.outer.body = nn.SequentialCell(nn.ReLU(), Log())

        def __call__(self, x):
            return self.outer.body(x)

    model = Around()
    with hooks.register_forward_hook(model, lambda *_: None, ["", "outer*"]):
        fault = ms.tools.find_nan(lambda x: model(x), ms.Tensor([0.0, 1.0]), on="inf", show=False)
    assert fault.path == "outer.body.1" and fault.operation == "log"
