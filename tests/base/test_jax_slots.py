"""What msjax/core/base/jax_slots.py expects of jax where jax promises nothing."""

import runpy

import jax
import jax.extend.core
import jax.numpy as jnp
import numpy as np
import pytest
from jax.interpreters import mlir
from jax.sharding import NamedSharding, PartitionSpec

from msjax.core.base import jax_slots


@pytest.fixture(autouse=True)
def versions(request):
    """Add to a failure what msjax/core/base/jax_slots.py was checked with. If it still works otherwise, add the version to its `CHECKED`."""
    failed = request.session.testsfailed
    yield
    if request.session.testsfailed > failed:
        print(f"msjax/core/base/jax_slots.py was checked with jax {' and '.join(jax_slots.CHECKED)}; here is {jax.__version__}")


X = jnp.arange(3.0)
MESH = jax.sharding.Mesh(np.array(jax.devices()[:2]), ("x",))


def eqn_of(fn, *args):
    """The last equation of a function's jaxpr."""
    return jax.make_jaxpr(fn)(*args).jaxpr.eqns[-1]


def test_an_absent_name_says_which_versions_were_checked(monkeypatch):
    monkeypatch.delattr(jax, "make_user_context")
    with pytest.raises(ImportError, match=r"no 'make_user_context' in jax, .* checked with jax 0\.\d+\.\d+"):
        runpy.run_path(jax_slots.__file__)


@pytest.mark.parametrize("transformation", [jax.jit, jax.vmap, lambda f: jax.grad(lambda x: f(x).sum())])
def test_a_transformation_has_a_state_and_a_trace(transformation):
    assert jax_slots.trace_state() == jax_slots.NO_TRACE and jax_slots.trace_of(X) is None
    seen = []

    def f(x):
        seen.append((jax_slots.trace_state(), jax_slots.trace_state()))
        # Under vmap and grad, jax enters the trace of its operands only while an operation runs.
        assert isinstance(jax_slots.trace_of(x), jax.core.Trace) and jax_slots.trace_of(x * 2) is jax_slots.trace_of(x)
        return x * 2

    transformation(f)(X)
    (pair,) = seen
    assert pair[0] == pair[1]


def test_the_state_differs_within_jit_and_within_each_program_in_it():
    states = []

    @jax.jit
    def inner(x):
        states.append(jax_slots.trace_state())
        return x + 1

    @jax.jit
    def outer(x):
        states.append(jax_slots.trace_state())
        return inner(x)

    outer(X)
    first, second = states
    assert first != second and jax_slots.NO_TRACE not in states


def test_values_of_an_enclosing_trace_are_made_within_an_inner_one():
    made = []

    @jax.jit
    def f(x):
        trace = jax_slots.current_trace()
        assert jax_slots.trace_of(x) is trace

        def body(carry, _):
            assert jax_slots.current_trace() is not trace
            with jax_slots.within_trace(trace):
                made.append(x * 3)
            assert jax_slots.trace_of(made[0]) is trace
            return carry, None

        jax.lax.scan(body, x, length=2)
        return made[0]

    assert f(X).tolist() == [0.0, 3.0, 6.0]


@pytest.mark.parametrize("kind", ["jit", "jvp", "vjp", "converted"])
def test_a_rule_may_not_use_what_is_around_it(kind):
    found = []

    def within(x):
        outer = x * 2

        def looks(y):
            found.append((jax_slots.outside_of_rule(outer), jax_slots.outside_of_rule(y)))
            return y * 1

        if kind == "jit":
            return jax.jit(looks)(x)
        if kind == "converted":
            return jax.closure_convert(looks, x)[0](x)
        f = jax.custom_jvp(lambda y: y) if kind == "jvp" else jax.custom_vjp(lambda y: y)
        if kind == "jvp":
            f.defjvp(lambda p, t: (looks(*p), *t))
        else:
            f.defvjp(lambda y: (looks(y), None), lambda _, ct: (ct,))
        return jax.jit(f)(x)

    jax.make_jaxpr(jax.grad(within))(1.0)
    assert set(found) == {(kind != "jit", False)}


def test_a_function_is_traced_for_each_value_of_a_user_context(monkeypatch):
    context, traced = jax_slots.user_context(None), []
    f = jax.jit(lambda x: traced.append(context.value) or x + 1)
    for value in (1, 2, 1):
        with context(value):
            assert f(X)[0] == 1
    assert traced == [1, 2] and context.value is None


def test_settings_are_those_of_the_thread():
    on = jax.config.jax_enable_x64
    assert jax_slots.settings()["jax_enable_x64"] is on
    with jax.enable_x64(not on):
        assert jax_slots.settings()["jax_enable_x64"] is not on
    assert {"jax_default_device", "jax_debug_nans", "jax_compilation_cache_dir"} <= set(jax_slots.settings())


def test_the_token_of_settings_is_the_same_for_the_same_settings():
    usual, context = jax_slots.settings_token(), jax_slots.user_context(None)
    usual = jax_slots.settings_token()  # jax forgets the earlier one when a context is added
    with jax.default_matmul_precision("highest"):
        other = jax_slots.settings_token()
        assert other is not usual and jax_slots.settings_token() is other
    with context(1):
        assert jax_slots.settings_token() not in (usual, other)
    assert jax_slots.settings_token() is usual


def test_jaxprs_within_equations_and_effects():
    eqn = eqn_of(lambda x: jax.lax.cond(True, jnp.sin, jnp.cos, x), X)
    inner = [eqn.primitive.name for jaxpr in jax_slots.inner_jaxprs(eqn) for eqn in jaxpr.eqns]
    assert sorted(inner) == ["cos", "sin"] and not list(jax_slots.inner_jaxprs(eqn_of(jnp.sin, X)))
    assert not jax_slots.NO_EFFECTS and eqn_of(jnp.sin, X).effects == jax_slots.NO_EFFECTS
    assert eqn_of(lambda: jax.debug.callback(lambda: None)).effects == jax_slots.debug_effects() != jax_slots.NO_EFFECTS


def test_a_value_is_read_from_memory_on_cpus_in_loops_and_branches_too():
    def f(mark, x):
        def body(carry, _):
            carry = mark(carry * 2)
            return mark(jnp.sin(carry)), carry

        carry, steps = jax.lax.scan(body, mark(x + 1), length=3)
        return jax.lax.cond(carry.sum() > 0, lambda c: mark(c + 1) * 2, lambda c: mark(c - 1) * 3, carry), steps

    marked = jax.jit(lambda x: f(jax_slots.from_memory, x))
    lowered = marked.lower(X)
    assert lowered.compile().as_text().count('inlineable="false"') == 5
    assert "inlineable" not in marked.trace(X).lower(lowering_platforms=("tpu",)).as_text()
    for got, expected in zip(marked(X), jax.jit(lambda x: f(lambda v: v, x))(X)):
        np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_jaxprs_of_equations_and_of_constants():
    jaxpr = jax.make_jaxpr(lambda x: jnp.cos(jnp.sin(x) + 1))(X).jaxpr
    first = jax_slots.jaxpr_of(jaxpr.invars, jaxpr.eqns[1].outvars, jaxpr.eqns[:2], "first")
    (out,) = jax.extend.core.jaxpr_as_fun(jax.extend.core.ClosedJaxpr(first, ()))(X)
    np.testing.assert_allclose(out, np.sin(X) + 1, rtol=1e-6)
    constant = np.asarray([5.0, 6.0, 7.0])
    closed = jax.make_jaxpr(lambda x: x + constant)(X)
    opened = jax.extend.core.ClosedJaxpr(jax_slots.with_constants_as_inputs(closed.jaxpr), ())
    assert jax.extend.core.jaxpr_as_fun(opened)(*closed.consts, X)[0].tolist() == [5.0, 7.0, 9.0]


def test_an_equation_knows_its_lines_scopes_and_settings():
    usual = jax.config.jax_threefry_partitionable

    @jax.named_scope("here")
    def f(x):
        with jax.threefry_partitionable(not usual):
            return jnp.sin(x)

    eqn = eqn_of(f, X)
    frame = next(frame for frame in jax_slots.traceback_of(eqn).frames if frame.file_name == __file__)
    assert (frame.function_name.rpartition(".")[2], frame.line_num) == ("f", f.__wrapped__.__code__.co_firstlineno + 3)
    assert hash(jax_slots.traceback_of(eqn)) and jax_slots.name_stack_of(eqn) == "here"

    def again(x):
        with jax_slots.context_of(eqn):
            assert jax.config.jax_threefry_partitionable is not usual
            return jnp.cos(x)

    copy = eqn_of(jax.named_scope("around")(again), X)
    assert jax_slots.name_stack_of(copy) == "around/here" and jax_slots.traceback_of(copy) == jax_slots.traceback_of(eqn)
    assert jax.config.jax_threefry_partitionable is usual


def test_an_operation_and_its_derivatives_are_of_one_place():
    def f(x):
        return (jnp.sin(x) + jnp.sin(x)).sum()

    eqns = [eqn for eqn in jax.make_jaxpr(jax.grad(f))(X).eqns if eqn.primitive.name in ("sin", "cos")]
    assert [eqn.primitive.name for eqn in eqns] == ["sin", "cos"] * 2
    places = [jax_slots.place_of(eqn) for eqn in eqns]
    assert places[0] == places[1] != places[2] == places[3] and hash(places[0])


def test_lines_of_its_own_where_jax_gives_those_of_another_equation():
    first = eqn_of(jnp.sin, X)

    def again(x):
        with jax_slots.context_of(first), jax_slots.own_lines():
            return jnp.cos(x)

    lines = [frame.function_name.rpartition(".")[2] for frame in jax_slots.traceback_of(eqn_of(again, X)).frames]
    assert "again" in lines and jax_slots.traceback_of(first) is not None

    def failing(x):
        with jax_slots.own_lines():
            raise ValueError("as it is")

    with pytest.raises(ValueError, match="as it is"):
        eqn_of(failing, X)


def test_a_jaxpr_knows_the_file_of_its_function():
    own = eqn_of(jax.jit(lambda x: x + 1), X).params["jaxpr"]
    library = eqn_of(lambda x: jnp.linalg.norm(x), X).params["jaxpr"]
    assert jax_slots.file_of(own).startswith(__file__)
    assert jax_slots.file_of(library).startswith(jax.__file__.removesuffix("__init__.py"))


def test_values_of_a_shard_map_vary_over_its_axes():
    varying = []

    def f(x):
        varying.append(jax_slots.varying_axes(jax.typeof(x)))
        return x

    jax.jit(jax.shard_map(f, mesh=MESH, in_specs=PartitionSpec("x"), out_specs=PartitionSpec("x")))(jnp.ones(2))
    assert varying == [{"x"}] and not jax_slots.varying_axes(jax.typeof(X))


# ---- lowering


@pytest.fixture
def lowered():
    """A function that lowers `rule` for an operand: (the contexts that the rule got, the jitted function)."""
    made = iter(range(100))

    def lower(rule, wrap=lambda f: f, **options):
        contexts = []
        p = jax.extend.core.Primitive(f"test_{next(made)}_{id(contexts)}")
        p.def_abstract_eval(lambda x: x)
        mlir.register_lowering(p, lambda ctx, x: contexts.append(ctx) or rule(ctx, x), cacheable=False)
        return contexts, jax.jit(wrap(lambda x: p.bind(p.bind(x) if options.get("twice") else x)))

    return lower


def test_a_program_is_lowered_for_a_platform_and_a_number_of_devices(lowered):
    found = []

    def rule(ctx, x):
        found.append((jax_slots.platform_of(ctx), jax_slots.device_count(ctx), jax_slots.manual_axes(ctx)))
        return [x]

    _, f = lowered(rule)
    f(X)
    f(jax.device_put(jnp.ones(2), NamedSharding(MESH, PartitionSpec("x"))))
    spec = PartitionSpec("x")
    _, mapped = lowered(rule, lambda f: jax.shard_map(f, mesh=MESH, in_specs=spec, out_specs=spec, check_vma=False))
    mapped(jnp.ones(2))
    assert found[:2] == [("cpu", 1, None), ("cpu", 2, None)] and found[2][2] == (("x",), ("x",))


def test_callbacks_and_platforms_that_are_not_here(lowered):
    here = []

    def rule(ctx, x):
        ctx, is_here = jax_slots.lowering_here(ctx)
        here.append(is_here)
        return jax_slots.emit_callback(ctx, lambda v: (v + 1,), [x])

    _, f = lowered(rule)
    assert f(X).tolist() == [1.0, 2.0, 3.0]
    text = f.trace(X).lower(lowering_platforms=("tpu",)).as_text()
    assert here == [True, False] and "send" in text and "recv" in text


def test_a_compiler_without_devices_is_not_here(lowered, monkeypatch):
    here = []

    def rule(ctx, x):
        here.append(jax_slots.lowering_here(ctx)[1])
        return [x]

    def none(backend=None):
        raise RuntimeError(f"Unknown backend {backend}")

    _, f = lowered(rule)
    with monkeypatch.context() as patched:
        patched.setattr(jax, "local_devices", none)
        f.trace(X).lower()
    assert here == [False]


def test_a_callback_runs_on_the_device_that_its_sharding_says(lowered):
    attribute = "sdy.sharding" if jax.config.jax_use_shardy_partitioner else "mhlo.sharding"
    text = "#sdy.sharding_per_value<[<mesh<[], device_ids=[0]>, []>]>" if attribute[0] == "s" else '"{maximal device=0}"'
    calls = []

    def rule(ctx, x):
        ctx, _ = jax_slots.lowering_here(ctx)
        run = lambda v: calls.append(v.shape) or (v,)  # noqa: E731
        return jax_slots.emit_callback(ctx, run, [x], (attribute, text))

    _, f = lowered(rule)
    jax.block_until_ready(f(jax.device_put(jnp.ones(2), NamedSharding(MESH, PartitionSpec("x")))))
    assert calls == [(2,)]


# ---- executables


class OtherCall(Exception):
    pass


@pytest.fixture
def without_cache():
    """jax compiles: what it reads from its cache on disk can't be serialized once more."""
    before = jax.config.jax_enable_compilation_cache
    jax.config.update("jax_enable_compilation_cache", False)
    jax_slots.forget_cache_folder()
    yield
    jax.config.update("jax_enable_compilation_cache", before)
    jax_slots.forget_cache_folder()


def test_an_executable_is_read_and_its_calls_are_checked(without_cache):
    compiled = jax.jit(lambda x, n: (x * 2 + n, x)).lower(X, 1.0).compile()
    payload, out_tree = jax_slots.serialized(compiled)
    calls = []

    def check(*operands):
        calls.append([getattr(v, "shape", v) for v in operands])
        if len(calls) > 1:
            raise OtherCall

    in_tree = jax.tree.structure(((X, 1.0), {}))
    program, executable = jax_slots.deserialized(payload, in_tree, out_tree, jax.devices()[0], check)
    assert executable.fast_path() is None and not executable.checked
    assert [v.tolist() for v in program(X, 1.0)] == [[1.0, 3.0, 5.0], [0.0, 1.0, 2.0]]
    fast = executable.fast_path()
    assert executable.checked and calls == [[(3,), 1.0]] and fast is not None
    # The fast path doesn't come to the check for what it knows, and comes to it for everything else.
    assert fast(X + 1, 2.0)[0].tolist() == [4.0, 6.0, 8.0] and len(calls) == 1
    for other in ((X.astype(jnp.float16), 1.0), (jnp.ones((3, 1), X.dtype), 1.0), (X, 1)):
        with pytest.raises((OtherCall, TypeError)):
            fast(*other)


def test_events_of_the_cache_on_disk_and_its_folder(tmp_path):
    names = ("jax_compilation_cache_dir", "jax_enable_compilation_cache", "jax_persistent_cache_min_compile_time_secs")
    before = {name: jax_slots.settings()[name] for name in names}
    events, count = [], lambda event, **_: events.append(event)
    jax.monitoring.register_event_listener(count)
    try:
        for folder in ("a", "b", "a"):
            for name, value in zip(names, (str(tmp_path / folder), True, 0.0)):
                jax.config.update(name, value)
            jax_slots.forget_cache_folder()
            jax.jit(lambda x: x * 3 + 41)(X)
    finally:
        jax.monitoring.unregister_event_listener(count)
        for name, value in before.items():
            jax.config.update(name, value)
        jax_slots.forget_cache_folder()
    request, hit = jax_slots.CACHE_REQUEST, jax_slots.CACHE_HIT
    assert [event for event in events if event in (request, hit)] == [request, request, request, hit]


def test_zeros_of_a_value_that_varies():
    mesh = jax.make_mesh((1,), ("d",), devices=jax.devices()[:1])

    def zeros(x):
        made = jax_slots.zeros_of(jax.typeof(x))
        assert jax_slots.varying_axes(jax.typeof(made)) == jax_slots.varying_axes(jax.typeof(x)) == {"d"}
        return made

    x = jax.device_put(jnp.ones((2, 3), "bfloat16"), NamedSharding(mesh, PartitionSpec("d")))
    made = jax.jit(jax.shard_map(zeros, mesh=mesh, in_specs=PartitionSpec("d"), out_specs=PartitionSpec("d")))(x)
    assert made.dtype == "bfloat16" and made.tolist() == [[0.0] * 3] * 2
